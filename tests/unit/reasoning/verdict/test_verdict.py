"""When a question is declined, and what is said about it. The verdict is a function of the trace alone."""

from __future__ import annotations

from typing import Any

import pytest

from atomr_local.language.question import read_question
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.reasoning.verdict.judge import AnswerVerdict, AvailableSources, conclusion, judge, repeats
from atomr_local.reasoning.verdict.reasons import mentioned

QUESTION = "How many people visit the Louvre?"
PAGE = EvidenceTrace("e1", "text", "Louvre", "The Louvre is a museum in Paris.", 0.5, "", {})
ROWS = EvidenceTrace("e2", "graph", "Louvre", "Louvre — country: France.", 1.0, "", {"sparql": "", "rows": []})
OTHER = EvidenceTrace("e3", "text", "Versailles", "Versailles is a palace near Paris.", 0.4, "", {})


def node(node_id: int, kind: str = "relate", **given: Any) -> NodeTrace:
    given.setdefault("question", QUESTION)
    given.setdefault("resolved_question", given["question"])
    answers = given.setdefault("answers", [])
    given.setdefault("answer", ", ".join(answers) or "Unknown")
    given.setdefault("outcome", "found" if answers else None if given.get("error") else "not found")
    return NodeTrace(node_id, None if kind == "root" else given.pop("parent", 0), kind=kind, **given)


def root(*answers: str, method: str | None = "child", confidence: float | None = 0.9, **given: Any) -> NodeTrace:
    return node(0, "root", answers=list(answers), method=method if answers else None, confidence=confidence, **given)


def search(**given: Any) -> NodeTrace:
    given = {
        "arguments": ["Louvre"],
        "answers": ["Louvre"],
        "method": "operator",
        "evidence": ["e2"],
        "linked": ["Louvre"],
    } | given
    return node(1, "search", question="Who or what is the Louvre?", **given)


def relate(*answers: str, **given: Any) -> NodeTrace:
    given = {"sources": ["text", "graph"], "evidence": ["e1", "e2"], "linked": ["Louvre"]} | given
    return node(2, arguments=[[1], "visitors per year"], refs=[1], answers=list(answers), **given)


def trace(
    *nodes: NodeTrace,
    question: str = QUESTION,
    evidence: tuple[EvidenceTrace, ...] = (PAGE, ROWS),
    strategy: str = "atomr",
) -> Trace:
    return Trace(question, strategy, {}, nodes=list(nodes), evidence=list(evidence))


def judged(*nodes: NodeTrace, accept: float = 0.5, **given: Any) -> AnswerVerdict:
    options = {key: given.pop(key) for key in ("kind", "retrieves", "decline", "at_hand") if key in given}
    return judge(trace(*nodes, **given), accept=accept, **options)


def test_an_answer_that_its_steps_carry_stands() -> None:
    assert judged(root("8.9 million"), search(), relate("8.9 million", method="operator")) == AnswerVerdict("answered")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (["1759-04-27"], "The answer is 27 April 1759."),
        (["1759-04-27", "-0043"], "The answers are 27 April 1759 and 44 BC."),
        (["1759"], "The answer is 1759."),
        (["2020-13-45"], "The answer is 2020-13-45."),
    ],
)
def test_dates_of_the_graph_are_told_as_they_are_said(answers: list[str], said: str) -> None:
    told = conclusion(trace(root(*answers), search()), AnswerVerdict("answered"))
    assert (told.answer, told.answers) == (said, tuple(answers))


def test_the_reason_tells_where_the_trail_ends() -> None:
    verdict = judged(root("8.9 million", method="closed_book", outcome="memory"), search(), relate())
    reason = "The Louvre is in the graph, but nothing there or in its page says how many people visit the Louvre."
    assert (verdict.status, verdict.reason) == ("unknown", reason)
    assert verdict.guess is not None
    assert (verdict.guess.answers, verdict.guess.basis) == (["8.9 million"], "model")
    assert verdict.nodes == {2: ("not found", reason), 0: ("not found", reason)}


def test_what_the_graph_has_instead_is_told() -> None:
    assert judged(root(), search(), relate(near=["architect", "country"])).reason.endswith(
        "The most similar properties in the graph: architect and country."
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"evidence": ["e2"]}, "The Louvre is in the graph, but nothing there says how many"),
        (
            {"evidence": ["e2", "e3"]},
            "The Louvre is in the graph, but nothing there or in the passages found says how many",
        ),
        (
            {"evidence": ["e1"], "linked": []},
            "There is a page about the Louvre, but nothing in it or in the other passages",
        ),
        ({"evidence": ["e3"], "linked": [], "sources": ["text"]}, "Nothing in the text mentions the Louvre."),
        (
            {"evidence": [], "linked": [], "signals": {"link": 0.0}, "sources": ["text"]},
            "Nothing in the text or the graph mentions",
        ),
        ({"question": "How many visitors has [1]?"}, "nothing there or in its page says anything about “visitors per"),
    ],
)
def test_the_reason_is_made_of_what_happened(given: dict[str, Any], reason: str) -> None:
    found = judged(root(), search(), relate(**given), evidence=(PAGE, ROWS, OTHER)).reason
    assert reason in found


def test_the_first_step_that_fails_is_told_and_not_those_that_wait_for_it() -> None:
    first = search(answers=[], evidence=["e3"], sources=["text"], outcome="not found")
    first.linked = []
    verdict = judged(root("Paris", method="direct_rag", confidence=0.2), first, relate(), evidence=(OTHER,))
    assert verdict.reason == "Nothing in the text is about the Louvre."
    assert verdict.advice[0] == "Check the spelling of “Louvre”."


def test_an_unsure_answer_is_declined_and_its_weakest_step_named() -> None:
    unsure = relate("9", method="operator", confidence=0.3)
    verdict = judged(root("9", confidence=0.3), search(), unsure, accept=0.5)
    assert verdict.reason.startswith("The Louvre is in the graph, but nothing there or in its page clearly says")
    assert verdict.nodes.keys() == {0, 2}
    assert judged(root("9", confidence=0.3), search(), unsure, accept=0.3).status == "answered"
    assert judged(root("9", confidence=None), search(), unsure).status == "answered"


def test_the_answer_goes_with_a_step_that_it_rests_on_and_no_other() -> None:
    lost = relate()
    assert judged(root("9"), search(), lost).status == "unknown"
    around = {"method": "direct_rag", "evidence": ["e1"]}
    assert judged(root("9", confidence=0.8, **around), search(), lost).status == "answered"
    assert judged(root("9", confidence=0.7, **around), search(), lost).status == "unknown"
    assert judged(root("9", confidence=0.7, **around), search(), relate("9", method="operator")).status == "answered"
    verdict = judged(root("9"), search(), relate("9", signals={"guess": 1.0}, outcome="not found"))
    assert verdict.status == "unknown"
    assert "clearly says" in verdict.reason


def test_a_name_that_stands_nowhere_is_not_found_whatever_was_read() -> None:
    read = node(1, arguments=["Zorblax Palace", "ceiling"], answers=["Ann"], method="operator", evidence=["e3"])
    verdict = judged(root("Ann"), read, evidence=(OTHER,))
    assert verdict.reason == "Nothing available mentions Zorblax Palace."
    read.linked = ["Zorblax Palace"]
    assert judged(root("Ann"), read, evidence=(OTHER,)).status == "answered"


def test_an_answer_read_where_nobody_speaks_of_the_step_is_not_found() -> None:
    step = relate("7", method="operator", cited=["e3"], evidence=["e1", "e3"])
    verdict = judged(root("7"), search(), step, evidence=(PAGE, OTHER))
    assert verdict.status == "unknown"
    assert verdict.nodes.keys() == {0, 2}
    step.arguments[1] = "visitors of Versailles"  # what the relation names may be what is spoken of
    assert judged(root("7"), search(), step, evidence=(PAGE, OTHER)).status == "answered"
    step.arguments[1], step.cited = "visitors per year", ["e1"]
    assert judged(root("7"), search(), step, evidence=(PAGE, OTHER)).status == "answered"


def test_a_source_that_fails_is_not_not_found() -> None:
    error = {"title": "Source failed", "message": "web: no connection"}
    verdict = judged(root(), search(evidence=[]), relate(error=error, evidence=[], outcome=None), evidence=())
    assert verdict.status == "failed"
    assert "could not be looked up in every source: web: no connection." in verdict.reason
    partly = judged(root(), search(), relate(error=error, outcome=None))
    assert partly.status == "unknown"
    assert partly.nodes.keys() == {0}


def test_what_is_no_question_gets_a_friendly_word() -> None:
    verdict = judged(root("North Macedonia"), kind="nothing")
    assert (verdict.status, verdict.guess) == ("unknown", None)
    assert verdict.advice == ("Ask something like: Who is the mother of the author of Frankenstein?",)
    assert judged(root("Goethe"), kind="language").reason.startswith("Only English is supported so far")


def test_the_models_own_knowledge_stands_only_where_it_was_asked_for() -> None:
    known = root("Paris", method="closed_book", outcome="memory")
    assert judged(known, evidence=()).status == "unknown"
    assert judged(known, evidence=(), retrieves=False).status == "answered"


def test_a_method_that_asked_no_source_is_told_as_such() -> None:
    known = root("Paris", method="closed_book", outcome="memory")
    verdict = judged(known, evidence=(), strategy="self-ask")
    assert verdict.reason == "self-ask searched no source, and no evidence supports what the model knows by itself."
    assert verdict.advice == ("Use --strategy atomr.",), "more sources would not have helped"
    assert verdict.guess is not None and verdict.guess.basis == "model"
    repeated = judged(root("Louvre", method="closed_book", outcome="memory"), evidence=(), strategy="self-ask")
    assert "repeats the question" in repeated.reason and repeated.advice == verdict.advice
    unknown = judged(root(), evidence=(), strategy="self-ask")
    assert unknown.reason == "self-ask searched no source, and the model does not know the answer by itself."
    without = judged(known, evidence=(), strategy="self-ask", at_hand=lambda: AvailableSources(local=()))
    assert without.reason.startswith("No source was searched") and "web search" in without.advice[0]


def test_a_search_that_found_no_page_was_a_search() -> None:
    asked = trace(root("Paris", method="closed_book", outcome="memory"), evidence=())
    asked.totals.retrievals["text"] = 1
    assert judge(asked, accept=0.5).reason == f"Nothing was found for “{QUESTION}”."


def test_memory_that_won_over_the_evidence_is_a_guess_only() -> None:
    verdict = judged(root("8.9 million", method="aggregate", outcome="memory"), search(), relate())
    reason = "The surest answer is the model's own knowledge, and no evidence supports it."
    assert (verdict.status, verdict.reason) == ("unknown", reason)
    assert verdict.guess is not None and verdict.guess.basis == "model"
    assert verdict.nodes[0] == ("not found", reason)


def test_declining_can_be_switched_off() -> None:
    assert judged(root("9", confidence=0.1), search(), relate(), decline=False).status == "answered"
    assert judged(root(), search(), relate(), decline=False).status == "unknown"


def test_the_advice_names_what_is_at_hand() -> None:
    at_hand = AvailableSources(False, ("text",), (("text", "wiki"), ("graph", "wiki")))
    advice = judged(root(), search(), relate(), at_hand=lambda: at_hand).advice
    assert advice[:3] == (
        "Turn web search on: --web.",
        "Search the graph too: --sources text,graph.",
        "Search another index: --text-index wiki.",
    )
    assert "web" not in " ".join(judged(root(), search(), relate(), at_hand=lambda: AvailableSources(web=True)).advice)


def test_what_is_known_to_be_nothing_is_told_as_such_and_can_be_counted() -> None:
    none = node(3, "operation", reason="no value of step 2 is earlier than 1800", refs=[2], outcome="computed")
    verdict = judged(root(outcome="computed", reason=none.reason), search(), relate("1818"), none)
    assert (verdict.status, verdict.reason) == ("unknown", "No value of step 2 is earlier than 1800.")
    counted = node(4, "operation", answers=["0"], method="computed", refs=[3], outcome="computed")
    assert judged(root("0", outcome="computed"), search(), relate("1818"), none, counted).status == "answered"


def test_an_operation_says_itself_what_it_lacks() -> None:
    lacking = node(3, "operation", reason="step 2 gave 'Paris'; a date is needed", refs=[2])
    verdict = judged(root("Paris"), search(), relate("Paris", method="operator"), lacking)
    assert verdict.reason == "Step 2 gave 'Paris'; a date is needed."


def test_a_guess_never_looks_as_sure_as_an_answer() -> None:
    lost = judged(root("9", confidence=0.9), search(), relate())
    assert lost.guess is not None
    assert lost.guess.confidence == pytest.approx(0.45)
    unsure = judged(root("9", confidence=0.4), search(), relate("9", method="operator"))
    assert unsure.guess is not None
    assert unsure.guess.confidence == 0.4


def test_judging_changes_no_trace() -> None:
    given = trace(root("Ann"), node(1, arguments=["Zorblax", "x"], answers=["Ann"], evidence=["e3"]), evidence=(OTHER,))
    before = given.to_dict()
    assert judge(given, accept=0.5).status == "unknown"
    assert given.to_dict() == before


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Wer schrieb Faust?", ["Wer schrieb Faust"]),
        ("asdf qwer zxcv", ["qwer zxcv"]),
        ("Who is the mother of Mary Shelley?", ["Mary Shelley"]),
        ("who wrote emma?", ["Emma"]),
        ("Which is longer, the Nile or the Amazon?", ["the Nile or the Amazon"]),
    ],
)
def test_an_answer_that_repeats_the_question_is_none(question: str, answers: list[str]) -> None:
    assert repeats(question, answers)
    assert judged(root(*answers), question=question).status == "unknown"


@pytest.mark.parametrize(
    ("question", "answers", "names"),
    [
        ("Who wrote Emma?", ["Jane Austen"], ()),
        ("In which country is Mexico City?", ["Mexico"], ()),
        ("Which state is New York City in?", ["New York"], ()),
        ("which country is mexico city in?", ["Mexico"], ("mexico city",)),
        ("Which is longer, the Nile or the Amazon?", ["Nile"], ()),
        ("Of the Nile, the Rhine and the Amazon, which is the longest?", ["Rhine"], ()),
        ("Which is older, Rome and Paris?", ["Rome"], ()),
        ("Which is older, Rome vs. Paris?", ["Paris"], ()),
        ("rome versus paris: older?", ["Rome"], ()),
        ("Is Rome older than Paris?", ["yes"], ()),
        ("Who wrote Emma?", [], ()),
    ],
)
def test_choices_and_parts_of_names_are_no_repetition(question: str, answers: list[str], names: tuple[str]) -> None:
    assert not repeats(question, answers, names)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who wrote Emma?", "who wrote Emma"),
        ("What is the capital of Chad?", "what the capital of Chad is"),
        ("Which countries border Chad?", "which countries border Chad"),
        ("When was Ann born?", ""),
        ("What countries does Chad border?", ""),
        ("Who was awarded the prize?", ""),
        ("Emma", ""),
    ],
)
def test_questions_inside_a_sentence(question: str, said: str) -> None:
    assert read_question(question).clause == said


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("Louvre", True),
        ("the Louvre museum", True),
        ("Louvr", True),
        ("the woman who painted in Paris", True),
        ("Zorblax Louvre", False),
        ("prado", False),
        ("the museum of kings", True),
        ("Louvre (museum in Lens)", True),
        ("L'Ouvre", True),
    ],
)
def test_names_are_mentioned_word_by_word(name: str, there: bool) -> None:
    assert mentioned(name, [PAGE]) is there


def test_the_answers_of_a_chain_are_told_where_its_rounds_have_none() -> None:
    """Below the root stands a round, below it the query, below that the next round."""
    rounds = [node(i, "step", parent=i - 1, label=f"round {i}", thought="1. …") for i in (1, 3)]
    query = node(2, "step", parent=1, label="query 1", answers=["Rosa"], method="direct_rag")
    verdict = judged(root("Rosa", confidence=0.1), *rounds, query, strategy="searchain")
    assert verdict.reason.startswith("The answers of the earlier steps (“Rosa”) do not ")


@pytest.mark.parametrize("name", ["The", "He", "of the"])
def test_no_sentence_is_made_about_what_names_nothing(name: str) -> None:
    lost = node(1, arguments=[name, "visitors"], evidence=["e1"], sources=["text"])
    verdict = judged(root(), lost)
    assert verdict.reason == f"Nothing found answers “{QUESTION}”."
    assert not any("spelling" in text for text in verdict.advice)


def test_an_unsure_answer_about_what_names_nothing_is_not_clear() -> None:
    unsure = node(1, arguments=["The", "visitors"], answers=["7"], confidence=0.1, evidence=["e1"], method="operator")
    assert judged(root("7", confidence=0.1), unsure).reason == f"Nothing found clearly answers “{QUESTION}”."


def test_half_a_phrase_is_no_subject_and_an_acronym_is_one() -> None:
    lost = relate(question="How many visitors has [1]?")
    lost.arguments[1] = "number of"
    assert judged(root(), search(), lost).reason.endswith(
        "nothing there or in its page answers “How many visitors has [1]?”."
    )
    health = node(1, arguments=["WHO", "founder"], evidence=["e3"], sources=["text"])
    assert judged(root(), health, evidence=(OTHER,)).reason == "Nothing in the text mentions WHO."


def test_what_the_evidence_mentions_is_told_in_right_english() -> None:
    hens = EvidenceTrace("e1", "text", "Farm", "Hens live here.", 0.5, "", {})
    lost = node(1, arguments=["Hens", "food"], evidence=["e1"], sources=["text"], question="What is eaten by [2]?")
    assert judged(root(), lost, evidence=(hens,)).reason == (
        "The evidence found mentions Hens, but none of it says anything about “food”."
    )


COSIMA = EvidenceTrace(
    "e4", "text", "Cosima Wagner", "Cosima Wagner was a director. Her father was Franz Liszt. She married Richard Wagner.",
    1.0, "", {},
)  # fmt: skip
NOT_HIS = {"question": "Who was the father of Richard Wagner?", "evidence": ["e4"], "cited": ["e4"]}
OF_ANOTHER = "The passage is about Cosima Wagner, not Richard Wagner."


def test_a_step_whose_passage_is_about_another_is_not_found_and_its_answer_stays_a_guess() -> None:
    step = node(
        1, arguments=["Richard Wagner", "father"], answers=["Franz Liszt"], method="operator", signals={"subject": 0.0},
        linked=["Richard Wagner"], **NOT_HIS,
    )  # fmt: skip
    verdict = judged(root("Franz Liszt", confidence=0.98), step, evidence=(COSIMA,), question=step.question)
    assert (verdict.status, verdict.reason) == ("unknown", OF_ANOTHER)
    assert verdict.guess is not None
    assert verdict.guess.answers == ["Franz Liszt"]
    assert verdict.nodes[1] == ("not found", OF_ANOTHER)
    step.signals = {"subject": 1.0}
    assert judged(root("Franz Liszt"), step, evidence=(COSIMA,), question=step.question).status == "answered"


def test_an_answer_to_the_whole_question_about_another_is_not_found_either() -> None:
    whole = root("Franz Liszt", method="direct_rag", signals={"subject": 0.0}, **NOT_HIS)
    verdict = judged(whole, evidence=(COSIMA,), question=whole.question)
    assert (verdict.status, verdict.reason) == ("unknown", OF_ANOTHER)


def test_a_row_of_another_is_named_and_without_a_name_the_passage_alone() -> None:
    rows = "Name: Joan Carter; Phone: 555-0112\nName: Omar Haddad; Phone: 555-0147"
    table = EvidenceTrace("e4", "text", "Members", rows, 1.0, "", {})
    given = NOT_HIS | {"question": "What is the phone number of Omar Haddad?"}
    step = node(1, arguments=["Omar Haddad", "phone"], answers=["555-0112"], signals={"subject": 0.0}, **given)
    assert judged(root("555-0112"), step, evidence=(table,)).reason == "The row is about Joan Carter, not Omar Haddad."
    step.cited = []
    assert judged(root("555-0112"), step, evidence=(table,)).reason == "The passage is not about Omar Haddad."
