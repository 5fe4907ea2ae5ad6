from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomr_local.language.sentences import sentences, words

TEXTS = {
    "Chinese": ["东京是日本的首都。", "人口约1400万人！", "“他说：‘好。’”", "然后走了。"],
    "Japanese": ["東京は日本の首都である。", "「はい。」", "富士山は3.5kmだ。"],
    "Arabic": ["القاهرة هي عاصمة مصر. ", "هل تعرف؟ ", "عدد سكانها 10.2 مليون، وهي كبيرة. ", "نعم!"],
    "Urdu": ["لاہور ایک شہر ہے۔ ", "یہ بڑا ہے۔"],
    "Hebrew": ["מתמטיקה היא תחום דעת. ", "היא עוסקת במושגים? ", "כן."],
    "Hindi": ["दिल्ली भारत की राजधानी है। ", "यह बड़ा शहर है॥"],
    "Amharic": ["አዲስ አበባ ዋና ከተማ ናት። ", "ትልቅ ከተማ ናት።"],
    "Armenian": ["Երևանը մայրաքաղաքն է։ ", "Մեծ է։"],
    "Burmese": ["ရန်ကုန်မြို့သည် မြို့ဖြစ်သည်။ ", "ကြီးသည်။"],
    "Tibetan": ["ལྷ་ས། ", "བོད་ཀྱི་རྒྱལ་ས།"],
    "English": ["The lake is deep. ", "Is it? ", "(It is.) ", "So."],
}


@pytest.mark.parametrize("language", TEXTS)
def test_sentences_of_every_script(language: str) -> None:
    text = "".join(TEXTS[language])
    assert [text[begin:end].strip() for begin, end in sentences(text)] == [part.strip() for part in TEXTS[language]]


def test_words_are_found_where_no_spaces_stand_between_them() -> None:
    thai = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"
    found = [thai[begin:end] for begin, end in words(thai, 0, len(thai))]
    assert found[:2] == ["กรุงเทพมหานคร", "เป็น"] and "".join(found) == thai
    mixed = "Mt. 富士山は高い。 3,776 m"
    assert [mixed[begin:end] for begin, end in words(mixed, 0, len(mixed))] == [
        "Mt.", "富士山", "は", "高い。", "3,776", "m",
    ]  # fmt: skip


def test_characters_beyond_the_first_plane_and_halves_of_them_keep_their_places() -> None:
    text = "a😀b。 C𠀀。x\ud800y。Z"
    assert [text[begin:end] for begin, end in sentences(text)] == ["a😀b。", "C𠀀。", "x\ud800y。", "Z"]


SCRIPTS = st.text(st.sampled_from("ab .!?。「」\n 字かกา؟۔།։😀\ud800(\u200f"), max_size=60)


@given(SCRIPTS)
def test_nothing_is_lost_and_order_is_kept(text: str) -> None:
    for spans in (list(sentences(text)), list(words(text, 0, len(text)))):
        at = 0
        for begin, end in spans:
            assert at <= begin <= end <= len(text)
            assert not text[at:begin].strip()
            at = end
        assert not text[at:].strip()


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["字", "😀。", "ก", "「", "。"])
def test_a_hostile_text_is_quick(unit: str) -> None:
    text = unit * 100_000
    started = time.process_time()
    assert sum(1 for _ in sentences(text)) <= len(text)
    assert sum(1 for _ in words(text, 0, len(text))) <= len(text)
    assert time.process_time() - started < 5
