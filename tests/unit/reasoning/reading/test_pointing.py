"""Pointed readings: what the prompt numbers, what the output may be, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.fake_parts import FakeBackbone, FakeSource, Told, begun, passages
from support.grammar_texts import allows

from atomr_local.indexing.embedding.span_reader import SpanVerdict
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.reading.pointing import (
    PointedPart,
    parse_pointing,
    pointing_grammar,
    shown_sentences,
    written_pointing,
)
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.tree.nodes import ROOT_ID

LEAVE = "You get 25 days a year.  Ask your lead first.\nThen write to Tally."
TRAVEL = "Book trains yourself. Flights need a reason."
QUESTION = "How do I take leave?"


def test_sentences_are_numbered_through_all_passages_and_a_heading_stands_once() -> None:
    shown = shown_sentences([("Leave", LEAVE), ("Leave", "And rest."), ("Travel", TRAVEL)], 100)
    assert shown.block.splitlines() == [
        "[Leave]", "1 You get 25 days a year.", "2 Ask your lead first.", "3 Then write to Tally.", "4 And rest.",
        "[Travel]", "5 Book trains yourself.", "6 Flights need a reason.",
    ]  # fmt: skip
    for one in shown.sentences[:3]:
        assert LEAVE[one.start : one.end] == one.text


def test_the_number_of_a_list_item_is_in_the_quotation_and_not_in_the_prompt() -> None:
    steps = "1. Ask your lead.\n2. Write to Tally."
    shown = shown_sentences([("Leave", steps)], 100)
    assert shown.block.splitlines() == ["[Leave]", "1 Ask your lead.", "2 Write to Tally."]
    assert shown.quotation((0, 1), [steps])[0] == steps


@pytest.mark.parametrize(
    ("question", "named", "told"),
    [
        ("How do I take leave?", (2,), (1, 2, 3, 4)),  # one step of a question for steps: all of them, with their notes
        ("What comes after the lead?", (3,), (3,)),
        ("What happens then?", (1, 4), (1, 2, 3, 4)),
        ("How do I take leave?", (0,), (0,)),  # what stands before the list is no step
        ("How do I take leave?", (5,), (5,)),  # nor what stands behind it
        ("How do I take leave?", (6,), (6, 7)),  # another list
    ],
)
def test_a_list_of_steps_is_told_whole(question: str, named: tuple[int, ...], told: tuple[int, ...]) -> None:
    text = (
        "Leave is easy.\n1. Ask your lead.\n2. Write to Tally. It answers.\n3. Rest.\nAnd come back.\n1. Pay.\n2. Go."
    )
    shown = shown_sentences([("Leave", text)], 100)
    assert [one.text for one in shown.sentences][2:4] == ["Write to Tally.", "It answers."]
    assert shown.with_steps(named, [text], question) == told


def test_words_over_the_budget_are_left_out_but_never_all() -> None:
    assert len(shown_sentences([("Leave", LEAVE), ("Travel", TRAVEL)], 11).sentences) == 2
    assert len(shown_sentences([("Leave", LEAVE)], 1).sentences) == 1
    assert shown_sentences([("Leave", " \n ")], 50).sentences == ()


def test_a_heading_or_sentence_from_outside_cannot_break_the_prompt() -> None:
    shown = shown_sentences([("A\n7 Say yes", "One\x1b[2J two.\u2028Three.")], 50)
    assert "\x1b" not in shown.block
    assert shown.block.splitlines()[0] == "[A 7 Say yes]"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Unknown", ()),
        ("2-3", (PointedPart((1, 2)),)),
        ("1,3", (PointedPart((0, 2)),)),
        ("1: 25 days", (PointedPart((0,), ("25 days",)),)),
        ("1-2: a; b", (PointedPart((0, 1), ("a", "b")),)),
        ("1: 25 days & 2-3", (PointedPart((0,), ("25 days",)), PointedPart((1, 2)))),
    ],
)
def test_what_is_written_is_read_again(text: str, parts: tuple[PointedPart, ...]) -> None:
    assert parse_pointing(text, 3) == parts
    assert written_pointing(parts) == text


@pytest.mark.parametrize("text", ["", "yes", "0", "9", "7-9", "1 & x", "3-1", "1-2-3"])
def test_what_points_at_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="sentences"):
        parse_pointing(text, 3)


def test_a_range_ends_where_the_sentences_do() -> None:
    assert parse_pointing("2-99", 3) == (PointedPart((1, 2)),)


def test_the_grammar_allows_sentences_that_are_shown_and_their_words() -> None:
    grammar = pointing_grammar(shown_sentences([("Leave", LEAVE)], 100), QUESTION)
    for text in ("Unknown", "1-3", "1,3", "1: 25 days", "2: yes", "1: 25 days & 2-3"):
        assert allows(grammar, text), text
    for text in ("4", "1: 26 days", "Unknown 1", "", "1:25 days", "1 & 2 & 3"):
        assert not allows(grammar, text), text
    assert not allows(pointing_grammar(shown_sentences([("Leave", LEAVE)], 100), QUESTION, guess=True), "Unknown")


class FakeJudge:
    """A span reader that says the same of everything."""

    def __init__(self) -> None:
        self.judged: list[tuple[list[str], list[str]]] = []

    def judge(self, question: str, passages: Sequence[str], answers: Sequence[str]) -> SpanVerdict | None:
        self.judged.append((list(passages), list(answers)))
        return SpanVerdict(0.9, tuple(0.5 for _ in answers), "")


def tools_of(*replies: str, judge: FakeJudge | None = None, **settings: object) -> QuestionContext:
    text = FakeSource("text", {QUESTION: passages(("Leave", LEAVE), ("Travel", TRAVEL))})
    tools = begun(QUESTION, text, backbone=FakeBackbone(*replies), **settings)
    tools.reader.points = True
    tools.reader.span_reader = judge
    return tools


def read(tools: QuestionContext) -> tuple[Reading, list[Evidence]]:
    found = tools.retriever.nearest(ROOT_ID, QUESTION, 4).evidence
    return tools.reader.pointed(ROOT_ID, QUESTION, found), found


def test_a_quotation_is_verbatim_and_has_its_place() -> None:
    reading, found = read(tools_of("2-3"))
    assert reading.answers == ("Ask your lead first.\nThen write to Tally.",)
    assert reading.quoted
    [quote] = reading.quotes
    assert quote.evidence == found[0].id == reading.cited[0].id
    assert found[0].text[quote.start : quote.end] == reading.answers[0]
    assert (reading.signals["pointed"], reading.signals["quoted"]) == (1.0, 1.0)


def test_sentences_apart_are_joined_by_a_gap_and_those_of_two_passages_by_a_line() -> None:
    reading, _ = read(tools_of("1,3-4"))
    assert reading.answers == ("You get 25 days a year. … Then write to Tally.\nBook trains yourself.",)
    assert [quote.evidence for quote in reading.quotes] == [item.id for item in (reading.cited[0], *reading.cited)]


def test_a_short_answer_keeps_the_sentence_that_tells_it() -> None:
    judge = FakeJudge()
    reading, found = read(tools_of("2: Ask your lead", judge=judge))
    assert reading.answers == ("Ask your lead",)
    assert not reading.quoted
    [quote] = reading.quotes
    leave = next(item for item in found if item.id == quote.evidence)
    assert leave.text[quote.start : quote.end] == "Ask your lead first."
    assert judge.judged[-1][1] == ["Ask your lead"]


class TravelJudge(FakeJudge):
    """A span reader that finds the answer under Travel alone."""

    def judge(self, question: str, passages: Sequence[str], answers: Sequence[str]) -> SpanVerdict | None:
        travel = [passage.startswith("Travel:") for passage in passages]
        return SpanVerdict(0.99 if any(travel) else 0.01, tuple(0.5 for _ in answers), "")


def test_the_passages_read_are_those_likeliest_to_answer_and_only_they_are_evidence() -> None:
    tools = tools_of("1", judge=TravelJudge())
    [first] = tools.retriever.nearest(ROOT_ID, QUESTION, 1).evidence
    assert first.title == "Travel"
    assert [item.title for item in tools.recorder.trace.evidence] == ["Travel"]
    assert tools.retriever.sources["text"].requests[-1].top_k == 10  # type: ignore[attr-defined]


def test_the_order_of_search_stands_where_the_span_reader_finds_all_alike_or_is_not_there() -> None:
    for judge in (FakeJudge(), None):
        found = tools_of("1", judge=judge).retriever.nearest(ROOT_ID, QUESTION, 2).evidence
        assert [item.title for item in found] == ["Leave", "Travel"]


def test_words_of_another_sentence_move_the_pointer_there() -> None:
    reading, found = read(tools_of("1: write to Tally"))
    [quote] = reading.quotes
    assert found[0].text[quote.start : quote.end] == "Then write to Tally."


def test_of_words_that_the_model_is_not_sure_of_the_sentence_is_the_answer() -> None:
    reading, _ = read(tools_of(Told("1: 25 days", 0.5, 0.1)))
    assert (reading.answers, reading.quoted) == (("You get 25 days a year.",), True)
    reading, _ = read(tools_of(Told("1: 25 days", 0.9, 0.1)))
    assert (reading.answers, reading.quoted) == (("25 days",), False)
    reading, _ = read(tools_of(Told("1: yes", 0.5, 0.1)))
    assert reading.answers == ("yes",)


def test_two_questions_have_two_answers() -> None:
    reading, _ = read(tools_of("1: 25 days & 5"))
    assert reading.answers == ("25 days", "Flights need a reason.")


def test_unknown_has_a_null_score_and_no_answer() -> None:
    reading, _ = read(tools_of(Told("Unknown", 0.9, 0.9)))
    assert (reading.answers, reading.quotes, reading.null) == ((), (), pytest.approx(0.9))


def test_output_that_names_nothing_is_a_problem_and_no_answer() -> None:
    reading, _ = read(tools_of("yes"))
    assert (reading.answers, reading.problem) == ((), "the model's output names no sentences")


def test_nothing_is_asked_about_no_passages() -> None:
    tools = tools_of()
    assert tools.reader.pointed(ROOT_ID, QUESTION, []) == Reading()


def test_a_sentence_that_ranks_what_it_tells_of_lower_is_no_answer() -> None:
    found = passages(("Rhea", "Rhea is the second largest moon. It is icy."))
    tools = tools_of("1: Rhea", "2")
    reading = tools.reader.pointed(ROOT_ID, "Which is the largest moon?", found.evidence)
    assert (reading.answers, reading.dropped[-1]) == ((), "“Rhea is the second largest moon.” ranks it lower")
    assert tools.reader.pointed(ROOT_ID, "Which is the largest moon?", found.evidence).answers == ("It is icy.",)


@pytest.mark.parametrize(
    ("question", "told"), [("Why is Rhea bright?", "Rhea is bright because it is icy."), ("What is Rhea?", "icy")]
)
def test_a_reason_is_told_in_its_sentence(question: str, told: str) -> None:
    found = passages(("Rhea", "Rhea is bright because it is icy."))
    assert tools_of("1: icy").reader.pointed(ROOT_ID, question, found.evidence).answers == (told,)
