from __future__ import annotations

from atomr_local.indexing.text_index.chunking import passages
from atomr_local.language.names import comparable, phrase, words
from atomr_local.language.sentences import first_words, pieces, sentences, size_in_words, terms, unspaced
from atomr_local.models.gbnf import word_runs
from atomr_local.reasoning.asking.asking import cut_passage
from atomr_local.reasoning.operators import overlap_coefficient
from atomr_local.reasoning.reading.checks import holds
from atomr_local.reasoning.verdict.judge import repeats
from atomr_local.sources.protocol import Evidence, SourceName

TOKYO = "東京は日本の首都である。人口は約1400万人である。富士山は日本で最も高い山である。"
THAI = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"


def test_characters_are_words_where_none_are_marked() -> None:
    assert words("東京 Tokyo") == ["東", "京", "tokyo"]
    assert phrase(["東", "京"]) == "東京"
    assert phrase(["new", "york"]) == "new york"
    assert phrase(["jr", "東", "日", "本"]) == "jr 東日本"
    assert comparable("東京都") == ["東京", "京都"]
    assert terms("Mount Fuji 富") == ["Mount", "Fuji", "富"]
    assert not unspaced("Köln, Москва, 서울") and unspaced(THAI)


def test_sizes_and_beginnings() -> None:
    assert size_in_words("one two three") == 3
    assert size_in_words("東京都庁 is 5") == 4
    assert first_words("東京都庁 is 5", 2) == "東京都庁"
    assert first_words("one  two three", 2) == "one two"
    assert 10 < size_in_words(THAI) < len(THAI)


def test_a_chinese_or_japanese_article_is_cut_into_sentences_and_passages() -> None:
    assert [TOKYO[begin:end] for begin, end in sentences(TOKYO)] == [
        "東京は日本の首都である。", "人口は約1400万人である。", "富士山は日本で最も高い山である。",
    ]  # fmt: skip
    found = list(passages(TOKYO * 20, budget=60))
    assert len(found) > 5
    assert "".join(passage.text for passage in found) == TOKYO * 20
    assert max(size_in_words(passage.text) for passage in found) <= 60


def test_a_passage_is_cut_to_the_sentence_that_tells() -> None:
    cut = cut_passage("日本で最も高い山は何ですか", "東京", TOKYO * 2, 20)
    assert "富士山" in cut
    assert size_in_words(cut) <= 22
    assert size_in_words(cut_passage("人口", "東京", "東京" * 500, 20)) <= 20


def test_overlap_is_partial() -> None:
    assert overlap_coefficient("日本の首都", TOKYO) == 1.0
    assert 0 < overlap_coefficient("日本の大学", TOKYO) < 1
    assert overlap_coefficient("黄河", TOKYO) == 0.0


def test_support_and_repetition() -> None:
    evidence = Evidence(SourceName.TEXT, "東京", TOKYO, 1.0, "", {})
    assert holds("富士山", evidence)
    assert holds("日本の首都", evidence)
    assert not holds("首都の日本", evidence)
    assert repeats("東京はどこですか", ["東京"])
    assert not repeats("東京はどこですか", ["日本"])


def test_an_answer_may_be_a_run_of_characters() -> None:
    assert pieces("東京 is 大") == [("東", ""), ("京", " "), ("is", " "), ("大", " ")]
    rules: dict[str, str] = {}
    word_runs(rules, "run", ["富士山は高い"])
    starts = rules["run"].split(" | ")
    assert len(starts) == 6  # every character may open an answer
    body = rules[starts[0]]
    assert '"\\u5BCC"' in body and '"\\u5BCC" run-0-1' in body  # ends here, or goes on without a space
