from __future__ import annotations

import json
import pickle
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_embedder import FakeEmbedder
from support.starter_parts import embedder_directory
from support.text_indexes import corpus

from atomr_local.indexing import store
from atomr_local.indexing.embedding.embedder import TokenCounts, token_counts
from atomr_local.indexing.readers.base import Section
from atomr_local.indexing.text_index.chunking import passage_heading, passages
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.language.sentences import size_in_words
from atomr_local.models.catalog.find import starter_embedder_path

TEXTS = st.text(st.sampled_from("ab Z.!?\"')]\n\t 。é😀"), max_size=400) | st.text(max_size=200)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 12))
def test_passages_cover_the_text_in_order(text: str, budget: int) -> None:
    end = 0
    for passage in passages(text, budget):
        assert end <= passage.start < passage.end <= len(text)
        assert passage.text == text[passage.start : passage.end]
        assert not text[end : passage.start].strip(), "what lies between two passages is white space"
        assert not passage.text[0].isspace()
        assert len(passage.text.split()) <= budget
        end = passage.end
    assert not text[end:].strip()


def test_passages_end_between_sentences() -> None:
    text = "One two three. Four five six? Seven (eight nine.) Ten."
    assert [p.text for p in passages(text, 7)] == ["One two three. Four five six?", "Seven (eight nine.) Ten."]


def test_a_sentence_over_the_budget_is_split_between_words() -> None:
    assert [p.text for p in passages("a b c d e. f", 2)] == ["a b", "c d", "e. f"]


def test_lines_end_a_sentence_too() -> None:
    assert [p.text for p in passages("a heading\nb c d", 4)] == ["a heading", "b c d"]


@pytest.mark.parametrize("text", ["", " ", "\n\t\u2028"])
def test_no_passage_of_nothing(text: str) -> None:
    assert list(passages(text)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "." * 1_000_000, "a." + " " * 1_000_000, '."' * 500_000, "\n" * 1_000_000 + "a", "a " * 500_000],
    ids=["one word", "full stops", "spaces", "quotes", "lines", "no sentence"],
)
def test_a_hostile_megabyte_is_bounded_and_quick(text: str) -> None:
    started = time.process_time()
    found = list(passages(text, 120))
    assert time.process_time() - started < 5
    assert max(len(p.text) for p in found) <= 120 * 501
    assert "".join("".join(p.text.split()) for p in found) == "".join(text.split())


# With sections.

LONG = (
    "One two three four five six seven eight nine ten. Eleven twelve thirteen fourteen fifteen sixteen seventeen. " * 2
)


def test_a_passage_ends_where_a_section_begins_and_knows_its_heading() -> None:
    text = LONG + LONG
    found = list(passages(text, 120, [Section(len(LONG), "History > Early")]))
    assert [(p.start, p.section) for p in found] == [(0, ""), (len(LONG), "History > Early")]
    assert found[0].text == LONG.strip()


def test_a_long_section_makes_several_passages_of_its_heading() -> None:
    found = list(passages("Lead. " + LONG, 20, [Section(6, "History")]))
    assert [p.section for p in found] == ["", "History", "History"]
    assert all(len(p.text.split()) <= 20 for p in found)


def test_sections_too_short_to_stand_alone_go_with_the_one_before() -> None:
    text = LONG + "Born here.\n\nDied there."
    at = len(LONG)
    sections = [Section(at, "Birth"), Section(text.index("Died"), "Death")]
    (found,) = passages(text, 120, sections)
    assert (found.text, found.section) == (text, "")
    found, last = passages(text, 35, sections)
    assert (found.text, last.text, last.section) == (LONG.strip(), "Born here.\n\nDied there.", "Birth")


def test_a_text_that_begins_with_a_heading_has_no_lead() -> None:
    (found,) = passages("All of it.", 120, [Section(0, "Plot")])
    assert found.section == "Plot"


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab .!\n é"), max_size=300), st.integers(1, 12), st.sets(st.integers(0, 300), max_size=8)
)
def test_passages_cover_a_text_with_sections_in_order(text: str, budget: int, starts: set[int]) -> None:
    sections = [Section(start, f"s{start}") for start in sorted(starts) if start <= len(text)]
    headings = {"": 0} | {section.heading: section.start for section in sections}
    end = 0
    for passage in passages(text, budget, sections):
        assert end <= passage.start < passage.end
        assert passage.text == text[passage.start : passage.end]
        assert not text[end : passage.start].strip()
        assert len(passage.text.split()) <= budget
        assert headings[passage.section] <= passage.start
        assert not any(headings[passage.section] < section.start <= passage.start for section in sections)
        end = passage.end
    assert not text[end:].strip()


def test_what_is_no_prose_has_passages_of_its_own_between_lines() -> None:
    rows = [f"Name: Number {n}. Yes; Born: {n}" for n in range(9)]
    text = "Short lead.\n\nShort end.\n\n" + "\n".join(rows) + "\n\nA: 1"
    table = text.index(rows[0])
    sections = [
        Section(13, "Life"),
        Section(table, "Life > People", "table", "1"),
        Section(len(text) - 4, "", "infobox", "film"),
    ]
    prose, *kinds = passages(text, 14, sections)
    assert (prose.text, prose.kind, prose.lines) == ("Short lead.\n\nShort end.", "", None)
    assert [(p.text, p.lines) for p in kinds] == [
        ("\n".join(rows[:2]), (1, 2)),
        ("\n".join(rows[2:4]), (3, 4)),
        ("\n".join(rows[4:6]), (5, 6)),
        ("\n".join(rows[6:8]), (7, 8)),
        (rows[8], (9, 9)),
        ("A: 1", (1, 1)),
    ]
    assert {(p.section, p.kind, p.name) for p in kinds[:-1]} == {("Life > People", "table", "1")}
    assert (kinds[-1].kind, kinds[-1].name) == ("infobox", "film")


def test_a_line_over_the_budget_is_cut_between_words() -> None:
    found = list(passages("a b c d e\nf", 2, [Section(0, "", "table", "1")]))
    assert [(p.text, p.lines) for p in found] == [("a b", (1, 1)), ("c d", (1, 1)), ("e\nf", (1, 2))]


# By the tokens of the embedder.

LANGUAGES = {
    "Chinese": "萬民福音部是羅馬教廷的之一，為天主教會的最高宣教機構，隸屬於教廷國務院。",
    "Japanese": "富士山は静岡県と山梨県に跨る活火山であり、標高は3776メートルである。",
    "Thai": "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย ",
    "Hebrew": "מתמטיקה היא תחום דעת העוסק במושגים כגון כמות, מבנה, מרחב ושינוי. ",
    "Arabic": "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها، وتقع على ضفاف نهر النيل. ",
    "English": "The lake lies between two valleys and is known for its clear water. ",
    "addresses": "https://example.org/" + "a1b2c3d4/" * 40 + " ",
}


@pytest.fixture(scope="module")
def tokens() -> TokenCounts:
    found = token_counts(embedder_directory())
    assert found is not None
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_passage_is_longer_than_the_embedder_reads(language: str, tokens: TokenCounts) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(starter_embedder_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    text = LANGUAGES[language] * 60
    found = list(passages(text, 120, title=language, tokens=tokens))
    assert "".join("".join(p.text.split()) for p in found) == "".join(text.split())
    for passage in found:
        assert len(tokenizer.encode(f"{passage_heading(language, '')}: {passage.text}").ids) <= 256
        assert size_in_words(passage.text) <= 120
        assert len(passage.text) <= 1200


@pytest.mark.parametrize("language", ["Chinese", "Japanese", "Hebrew", "Arabic", "English"])
def test_passages_end_with_a_sentence(language: str, tokens: TokenCounts) -> None:
    found = list(passages(LANGUAGES[language] * 60, 120, title="A title", tokens=tokens))
    assert len(found) > 3
    assert all(passage.text.endswith(LANGUAGES[language].strip()[-1]) for passage in found)


def test_a_long_heading_takes_no_more_than_half(tokens: TokenCounts) -> None:
    found = list(passages(LANGUAGES["English"] * 60, 120, title="long title " * 200, tokens=tokens))
    assert min(len(passage.text.split()) for passage in found[:-1]) > 60


def test_english_prose_is_cut_as_without_tokens(tokens: TokenCounts) -> None:
    text = LANGUAGES["English"] * 60
    assert list(passages(text, 120, title="Lake", tokens=tokens)) == list(passages(text, 120))


def test_a_counter_goes_to_another_process(tokens: TokenCounts) -> None:
    copy = pickle.loads(pickle.dumps(tokens))
    assert (copy.most, copy.of_words(["unaffable"])) == (254, tokens.of_words(["unaffable"]))
    assert copy.of_words(["\ud800"]) >= 1


def test_a_model_without_such_a_tokenizer_counts_nothing(tmp_path: Path) -> None:
    assert token_counts(tmp_path) is None


def test_an_index_of_a_former_version_is_added_to_and_tells_how_it_was_cut(tmp_path: Path) -> None:
    build_text_index([corpus(tmp_path / "a.jsonl", "Como")], "mine", embedder=FakeEmbedder())
    place = store.index_path("text", "mine") / store.MANIFEST
    manifest = json.loads(place.read_text(encoding="utf-8"))
    assert manifest["settings"].pop("chunker") == 2
    place.write_text(json.dumps(manifest), encoding="utf-8")
    (place.parent / store.DIGESTS).unlink()
    told: list[str] = []
    added = build_text_index(
        [corpus(tmp_path / "b.jsonl", "Garda")], "mine", embedder=FakeEmbedder(), add=True, tell=told.append
    )
    assert added.counts["articles"] == 2
    assert added.settings["chunkers"] == [1, 2]
    assert any("before passages were cut" in message for message in told)


COUNTED = ["lake", "Lake,", "(1912–1999),", "[SEP]", "x[CLS]y", "don't", "U.S.", "naïve", "中文字", "a\x00b", "q" * 120, "zzyzx-9", "``", "~", "A" * 199]  # fmt: skip


@pytest.mark.parametrize("word", COUNTED)
def test_a_word_is_counted_as_the_tokenizer_counts_it(word: str, tokens: TokenCounts) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(starter_embedder_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    expected = len(tokenizer.encode(word, add_special_tokens=False).ids)
    assert [tokens.of_words([word]), tokens.of_words([word, word])] == [expected, 2 * expected]


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"normalizer": None},
        {
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "lowercase": False,
            }
        },
        {"added": "lake"},
    ],
)
def test_another_tokenizer_is_asked_itself(change: dict[str, object], tokens: TokenCounts, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    found = json.loads((starter_embedder_path() / "tokenizer.json").read_text(encoding="utf-8"))
    if added := change.get("added"):
        found["added_tokens"].append({**found["added_tokens"][-1], "id": 200_000, "content": added})
    else:
        found |= change
    (tmp_path / "tokenizer.json").write_text(json.dumps(found), encoding="utf-8")
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    counts = TokenCounts(tmp_path)
    for word in ["Lake,", "slakelake", "U.S.-based", "(1912)", "don't"]:
        assert counts.of_words([word]) == len(tokenizer.encode(word, add_special_tokens=False).ids)
