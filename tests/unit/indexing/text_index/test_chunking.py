from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomr_local.indexing.text_index.chunking import passages

TEXTS = st.text(st.sampled_from("ab Z.!?\"')]\n\t 。é😀"), max_size=400) | st.text(max_size=200)


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
