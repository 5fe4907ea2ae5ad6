"""Passages as clients show them: the place, a short excerpt, the telling sentences marked."""

from __future__ import annotations

from typing import Any

import pytest

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.reasoning.trace.telling import CLOSEST, CLOSEST_IN_DOCUMENTS, excerpt, passages_of, source_words

TEXT = "One is here. Two is there. Three is gone. Four is late.\nFive is new."


def shown(text: str, *spans: tuple[int, int], words: int = 60) -> str:
    return "".join(f"»{part}«" if telling else part for part, telling in excerpt(text, spans, words))


def test_few_telling_words_are_shown_with_the_sentences_around_them() -> None:
    assert shown(TEXT, (13, 26)) == "One is here. »Two is there.« Three is gone. …"
    assert shown(TEXT, (17, 19)) == "One is here. Two »is« there. Three is gone. …"


def test_gaps_are_marked_and_neighbours_are_one_run() -> None:
    text = " ".join(f"Sentence {number} has {'many ' * 8}words." for number in range(6))
    first, last = text.index("Sentence 1"), text.index("Sentence 4")
    ends = text.index(" Sentence 2"), text.index(" Sentence 5")
    told = shown(text, (last, ends[1]), (first, ends[0]), words=30)
    assert told.startswith("… »Sentence 1") and told.endswith("words.« …")
    assert "words.« … »Sentence 4" in told
    both = shown(text, (first, ends[0]), (ends[0] + 1, text.index(" Sentence 3")), words=30)
    assert both.count("»") == 1 and "Sentence 2" in both


def test_a_long_passage_is_short() -> None:
    long = " ".join(["word"] * 500)
    assert len(shown(long, (0, len(long))).split()) <= 62
    assert shown(long, (0, len(long))).endswith("« …")


@pytest.mark.parametrize("span", [(-5, 4), (900, 990), (5, 5), (9, 3)])
def test_spans_that_do_not_fit_the_text_do_no_harm(span: tuple[int, int]) -> None:
    assert "One is" in shown(TEXT, span).replace("»", "").replace("«", "")
    assert shown("", span) == ""


def test_lines_stay_lines_and_nothing_reaches_the_terminal_as_a_control() -> None:
    evil = "Bring:\npass\x1b[2Jport\nphoto\n\nCome early."
    found = trace(evil, quotes=[{"evidence": "e1", "span": [0, evil.index("\n\n")]}], status="answered")
    [passage] = passages_of(found)[1]
    assert passage.lines == ["»Bring:«", "»passport«", "»photo«", "Come early."]
    assert passage.marked(str.upper, "<", ">")[0] == "<BRING:>"


def trace(text: str, *, status: Any, quotes: Any = (), closest: Any = (), **locator: Any) -> Trace:
    root = NodeTrace(0, None, "Who?", "root", cited=["e1"], quotes=list(quotes))
    piece = EvidenceTrace("e1", "text", "Rules", text, 1.0, "", locator)
    return Trace("Who?", "atomr", {}, status, nodes=[root], evidence=[piece], closest=list(closest))


def test_an_answer_shows_what_it_quotes_or_what_a_step_quotes_of_what_it_cites() -> None:
    found = trace(TEXT, status="answered")
    assert passages_of(found) == ("", [])
    found.nodes.append(NodeTrace(1, 0, "Who?", "relate", quotes=[{"evidence": "e1", "span": [0, 12]}]))
    assert passages_of(found)[1][0].lines[0].startswith("»One is here.«")
    found.nodes[0].cited = []
    assert passages_of(found)[1] == []
    found.status = "cancelled"
    assert passages_of(found) == ("", [])


def test_the_heading_says_whether_the_users_documents_were_searched() -> None:
    near = [{"evidence": "e1", "spans": [[0, 12]]}, {"evidence": "e9", "spans": [[0, 1]]}]
    heading, passages = passages_of(trace(TEXT, status="unknown", closest=near, file="a.pdf", page=3))
    assert (heading, [item.source for item in passages]) == (CLOSEST_IN_DOCUMENTS, ["Rules (a.pdf, p. 3)"])
    assert passages_of(trace(TEXT, status="unknown", closest=near))[0] == CLOSEST


def test_the_source_is_title_and_place_on_one_line() -> None:
    def of(**locator: Any) -> str:
        return source_words(EvidenceTrace("e1", "web", "Ne\x1b[1mws\nnow", "", 1.0, "", locator))

    assert of() == "News now"
    assert of(url="https://example.org/\x07a") == "News now <https://example.org/a>"
    assert of(file="a.pdf", page=3, heading="Fees") == "News now (a.pdf, p. 3, Fees)"
