"""SearChain: whole chains, each query checked; a correction or completion begins a new branch."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Said, passages, reply, texts
from support.strategy_scripts import PLAIN, Bare, asked

from atomr_local.errors import ModelError
from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.strategies.searchain import AGREEMENT, CONFIRMED, UNSURE
from atomr_local.strategies.shared.closing import ALL_OWN, CALLS_USED, OWN, UNTOLD

QUESTION = "Who is the mother of the director of Emma Road?"
FIRST, SECOND, WRONG = "Who directed Emma Road?", "Who is the mother of Ann Lee?", "Who is the mother of Bob Roy?"
FOUND = {
    FIRST: passages(("Emma Road", "Emma Road is a film by Ann Lee.")),
    SECOND: passages(("Ann Lee", "Ann Lee is a director, the daughter of Eve Lee.")),
    WRONG: passages(("Bob Roy", "Bob Roy is a singer.")),
}
ANN, EVE = reply("Ann Lee", evidence=[1]), reply("Eve Lee", evidence=[1])


def chain(*pairs: tuple[str, str], final: str = "unsolved", after: int = 0) -> str:
    """A chain as the model writes it, behind query `after`."""
    lines = []
    for number, (query, answer) in enumerate(pairs, after + 1):
        lines += [f"Next {number - 1}: another query"] if number > 1 else []
        lines += [f"Query {number}: {query}", f"Answer {number}: {answer}"]
    end = after + len(pairs)
    return "\n".join([*lines, *([f"Next {end}: the end"] if end < 5 else []), f"Final: {final}"])


run = partial(asked, "searchain", QUESTION, calibration=PLAIN)

text = texts(FOUND)


def told(trace: Trace) -> list[tuple[Any, ...]]:
    return [(node.id, node.parent, node.label, node.question, node.answer) for node in trace.nodes[1:]]


def node_of(trace: Trace, question: str) -> NodeTrace:
    return next(node for node in trace.nodes if node.question == question)


STANDS = (chain((FIRST, "Ann Lee"), (SECOND, "Eve Lee"), final="Eve Lee"), ANN, EVE)
CORRECTED = (
    chain((FIRST, "Bob Roy"), (WRONG, "Ida Roy"), final="Ida Roy"),
    ANN,
    chain((SECOND, "unsolved"), after=1),
    EVE,
    chain(final="Eve Lee", after=2),
)


def test_a_chain_that_stands_is_one_round_and_cites_a_passage_for_each_query() -> None:
    source, backbone = text(), FakeBackbone(*STANDS)
    result, trace = run(backbone, source)
    assert source.queries == [FIRST, SECOND] and [request.top_k for request in source.requests] == [1, 1]
    assert told(trace) == [
        (1, 0, "round 1", QUESTION, "Unknown"),
        (2, 1, "query 1", FIRST, "Ann Lee"),
        (3, 1, "query 2", SECOND, "Eve Lee"),
    ]
    assert trace.node(1).thought == f"1. {FIRST} Ann Lee; 2. {SECOND} Eve Lee; final: Eve Lee"
    assert [node.corrected_from for node in trace.nodes] == [None] * 4
    assert CONFIRMED in trace.node(2).dropped
    root = trace.node(0)
    assert (result.texts, result.method, root.cited, root.supported) == (("Eve Lee",), "child", ["e1", "e2"], True)
    assert trace.plan.origin == "steps"


def test_the_published_path_is_one_conversation_that_grows() -> None:
    """A correction, a completion, and a chain that is only the end: three branches, one below the other."""
    source, backbone = text(), FakeBackbone(*CORRECTED)
    result, trace = run(backbone, source)
    assert source.queries == [FIRST, SECOND], "the rest of a chain that was corrected is not looked up"
    assert told(trace) == [
        (1, 0, "round 1", QUESTION, "Unknown"),
        (2, 1, "query 1", FIRST, "Ann Lee"),
        (3, 2, "round 2", QUESTION, "Unknown"),
        (4, 3, "query 2", SECOND, "Eve Lee"),
        (5, 4, "round 3", QUESTION, "Unknown"),
    ]
    assert [node.corrected_from for node in trace.nodes] == [None, None, "Bob Roy", None, "", None]
    weighed = [(one["answer"], one["origin"]) for one in trace.node(2).candidates]
    assert weighed == [("Ann Lee", "text"), ("Bob Roy", "model")]
    assert (result.texts, result.cited) == (("Eve Lee",), ["e1", "e2"])
    assert [turn.content for turn in backbone.prompts[-1].continued] == [
        CORRECTED[0],
        "Query 1 is corrected by what was found: Ann Lee. Passage: Emma Road: Emma Road is a film by Ann Lee.",
        CORRECTED[2],
        "Query 2 is answered by what was found: Eve Lee. Passage: Ann Lee: Ann Lee is a director, the daughter of Eve "
        "Lee.",
    ]
    examples = [turn.content for turn in backbone.prompts[0].static if turn.content.startswith("Question: ")]
    assert len(examples) == 2


def test_the_grammar_holds_the_rest_of_the_chain() -> None:
    backbone = FakeBackbone(*CORRECTED)
    run(backbone, text(), queries=2)
    first, second, third = (backbone.grammars[place] or "" for place in (0, 2, 4))
    assert "Query 1: " in first and "Query 2: " in first and "Query 3: " not in first
    assert "Query 1: " not in second and "Next 1: " in second
    assert "Final: " in third and "Query" not in third and "Next" not in third


@pytest.mark.parametrize(
    ("sure", "threshold", "corrected"), [(0.71, 0.7, True), (0.69, 0.7, False), (0.69, 0.6, True), (0.95, 0.96, False)]
)
def test_only_what_is_surely_read_corrects(sure: float, threshold: float, corrected: bool) -> None:
    first = chain((FIRST, "Bob Roy"), final="Bob Roy")
    after = [chain(final="Ann Lee", after=1)] if corrected else []
    result, trace = run(FakeBackbone(first, Said(ANN, sure), *after), text(), sure=threshold)
    node = trace.node(2)
    assert node.answers == (["Ann Lee"] if corrected else ["Bob Roy"])
    assert (UNSURE in node.dropped) is not corrected
    if not corrected:
        assert (node.method, node.outcome, node.cited, node.corrected_from) == ("closed_book", "memory", [], None)
        assert [one["answer"] for one in node.candidates] == ["Bob Roy", "Ann Lee"]
        assert ALL_OWN in result.dropped and result.method == "closed_book"


@pytest.mark.parametrize(
    ("own", "stands"),
    [
        ("ann lee", "ann lee"),
        ("The director Ann Lee", "Ann Lee"),  # not as the passage says it: what was read stands
        ("Ann Lee.", "Ann Lee."),
    ],
)
def test_an_answer_that_contains_what_was_read_is_confirmed(own: str, stands: str) -> None:
    _, trace = run(FakeBackbone(chain((FIRST, own), final="Ann Lee"), Said(ANN, 0.2)), text())
    node = trace.node(2)
    assert (node.answers, node.cited, node.supported) == ([stands], ["e1"], True)
    assert node.corrected_from is None


def test_a_part_of_a_word_is_not_contained() -> None:
    first = chain((FIRST, "Joann Leeds"), final="Joann Leeds")
    _, trace = run(FakeBackbone(first, ANN, chain(final="Ann Lee", after=1)), text())
    assert trace.node(2).corrected_from == "Joann Leeds"


def test_what_was_checked_before_is_passed_over() -> None:
    """The new chain begins anew: the query that was corrected, in other words; its answer stays as it was found."""
    again = chain(("Who directed “Emma Road”?", "Bob Roy"), (SECOND, "Eve Lee"), final="Eve Lee", after=1)
    source = text()
    backbone = FakeBackbone(chain((FIRST, "Bob Roy"), final="Bob Roy"), ANN, again, EVE)
    result, trace = run(backbone, source)
    assert source.queries == [FIRST, SECOND]
    passed = node_of(trace, "Who directed “Emma Road”?")
    assert (passed.answers, passed.cited, passed.corrected_from) == (["Ann Lee"], ["e1"], None)
    assert passed.dropped == ["checked before, in step 2"] and passed.llm.calls == 0
    assert result.cited == ["e1", "e2"]


@pytest.mark.parametrize(("cosine", "looked_up"), [(0.91, 2), (0.89, 3)])
def test_what_is_alike_to_one_that_was_checked_is_passed_over(
    cosine: float, looked_up: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ranking, "alike", lambda _self, _text, others, _cancellation: cosine if others else None)
    alike = "Who was Emma Road directed by?"
    again = chain((alike, "Bob Roy"), (SECOND, "Eve Lee"), final="Eve Lee", after=1)
    more = [UNKNOWN] if looked_up == 3 else []
    source = text({**FOUND, alike: FOUND[FIRST]})
    run(FakeBackbone(chain((FIRST, "Bob Roy"), final="Bob Roy"), ANN, again, *more, EVE), source)
    assert len(source.queries) == looked_up


def test_an_unsolved_query_that_is_only_alike_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranking, "alike", lambda _self, _text, others, _cancellation: 0.99 if others else None)
    alike = "Who was Emma Road directed by?"
    source = text({**FOUND, alike: FOUND[FIRST]})
    again = chain((alike, "unsolved"), after=1)
    backbone = FakeBackbone(
        chain((FIRST, "Bob Roy"), final="Bob Roy"), ANN, again, ANN, chain(final="Ann Lee", after=2)
    )
    run(backbone, source)
    assert source.queries == [FIRST, alike]


def test_a_model_that_asks_the_same_again_ends() -> None:
    """Unsolved again and again: it was completed, so the chain passes, and its answer is asked for outright."""
    backbone = FakeBackbone(chain((FIRST, "unsolved")), ANN, chain((FIRST, "unsolved"), after=1), reply("Ann Lee"))
    source = text()
    result, trace = run(backbone, source)
    assert source.queries == [FIRST] and [node.label for node in trace.nodes[1:]].count("round 2") == 1
    assert (result.texts, result.cited) == (("Ann Lee",), ["e1"])


def test_nothing_retrieved_leaves_the_models_own_answers_and_says_so() -> None:
    result, trace = run(FakeBackbone(STANDS[0]), text({}))
    assert [node.method for node in trace.nodes[2:]] == ["closed_book", "closed_book"]
    assert all(OWN in node.dropped for node in trace.nodes[2:])
    assert (result.method, result.cited, trace.node(0).outcome) == ("closed_book", [], "memory")
    assert ALL_OWN in result.dropped


def test_what_was_found_and_does_not_tell_corrects_nothing() -> None:
    _, trace = run(FakeBackbone(STANDS[0], UNKNOWN, EVE), text())
    assert (trace.node(2).answers, trace.node(2).method, trace.node(2).evidence) == (["Ann Lee"], "closed_book", ["e1"])
    assert UNTOLD in trace.node(2).dropped


def test_unknown_stays_unknown() -> None:
    """Unsolved, and what is found does not tell: no answer of a step, so memory is asked at last."""
    backbone = FakeBackbone(chain((FIRST, "Unknown"), (SECOND, "[Unsolved]")), UNKNOWN, UNKNOWN, UNKNOWN)
    result, trace = run(backbone, text())
    assert (result.values, result.method, result.confidence) == ((), None, None)
    assert [(one["answer"], one["origin"]) for one in trace.node(2).candidates] == [("Unknown", "text")]
    assert [node.outcome for node in trace.nodes if node.label.startswith("query")] == ["not found", "not found"]


def test_an_unsolved_end_is_answered_from_the_steps() -> None:
    backbone = FakeBackbone(chain((FIRST, "Ann Lee"), (SECOND, "Eve Lee")), ANN, EVE, reply("Eve Lee"))
    result, _ = run(backbone, text())
    assert result.texts == ("Eve Lee",) and f"{SECOND} Eve Lee" in backbone.asked[-1]


def test_after_the_last_round_the_steps_are_concluded_from() -> None:
    backbone = FakeBackbone(*CORRECTED[:4], reply("Eve Lee"))
    result, trace = run(backbone, text(), rounds=2)
    assert result.texts == ("Eve Lee",) and result.cited == ["e1", "e2"]
    assert any("the last of 2 chains was corrected too" in note for note in result.dropped)
    assert [node.label for node in trace.nodes[1:]] == ["round 1", "query 1", "round 2", "query 2"]


def test_without_feedback_in_the_last_round_its_final_answer_stands() -> None:
    backbone = FakeBackbone(*CORRECTED[:2], chain((SECOND, "Eve Lee"), final="Eve Lee", after=1), EVE)
    result, _ = run(backbone, text(), rounds=2)
    assert result.texts == ("Eve Lee",) and not any("the last of" in note for note in result.dropped)


def test_the_final_answer_is_no_surer_than_the_least_sure_step() -> None:
    first, ann, eve = STANDS
    result, trace = run(FakeBackbone(Said(first, 0.9), ann, Said(eve, 0.6)), text())
    assert trace.node(3).confidence is not None and math.isclose(trace.node(3).confidence, 0.6)
    assert result.confidence is not None and math.isclose(result.confidence, 0.6)


@pytest.mark.parametrize("written", ["I do not know what to do.", ""])
def test_output_of_no_form_leaves_memory(written: str) -> None:
    result, trace = run(FakeBackbone(written, reply("Eve Lee")), text())
    assert (result.texts, result.method) == (("Eve Lee",), "closed_book")
    assert any(note.startswith("the chain is cut: ") for note in trace.node(1).dropped)


def test_of_a_chain_that_breaks_off_the_readable_part_is_checked() -> None:
    wordy = f"Sure!\n**Query 1:** {FIRST}\n**Answer 1:** Ann Lee\nAnd so on."
    source = text()
    result, trace = run(FakeBackbone(wordy, ANN, reply("Ann Lee")), source)
    assert source.queries == [FIRST] and result.texts == ("Ann Lee",)
    assert any("no Next 1 was written" in note for note in trace.node(1).dropped)


def test_after_the_last_call_what_was_checked_is_concluded_from() -> None:
    result, trace = run(FakeBackbone(*STANDS[:2]), text(), limits={"calls": 2})
    assert result.texts == ("Eve Lee",), "the chain's own end stands"
    assert CALLS_USED in result.dropped and "1 of 2 queries of the last chain were not checked" in result.dropped
    assert [node.id for node in trace.nodes] == [0, 1, 2]


def test_a_reading_that_fails_fails_alone() -> None:
    result, trace = run(FakeBackbone(STANDS[0], ModelError("broken"), EVE), text())
    assert trace.node(2).error is not None and trace.node(2).evidence == ["e1"]
    assert (result.texts, result.cited) == (("Eve Lee",), ["e2"])


def test_own_answers_of_the_first_chain_may_be_sent() -> None:
    """No passage has been shown to the model yet."""
    web = FakeSource("web")
    run(FakeBackbone(chain((FIRST, "Bob Roy"), (WRONG, "Ida Roy"), final="Ida Roy")), web)
    assert web.queries[1].endswith("mother of Bob Roy")


@pytest.mark.parametrize(
    ("draws", "corrected"),
    [((ANN, ANN), True), ((ANN, reply("Tim Fox")), False), ((UNKNOWN, UNKNOWN), False)],
)
def test_without_log_probabilities_samples_have_to_agree(draws: tuple[str, str], corrected: bool) -> None:
    first = chain((FIRST, "Bob Roy"), final="Bob Roy")
    after = [chain(final="Ann Lee", after=1)] if corrected else []
    backbone = Bare(first, ANN, *draws, *after)
    _, trace = run(backbone, text())
    assert (trace.node(2).corrected_from == "Bob Roy") is corrected
    assert AGREEMENT in trace.node(2).dropped


def test_an_answer_that_repeats_the_query_is_none() -> None:
    """As small models do: of memory it counts as unsolved, of a reading as nothing read."""
    backbone = FakeBackbone(chain((FIRST, FIRST), final="unsolved"), reply(FIRST, evidence=[1]), UNKNOWN)
    _, trace = run(backbone, text(), features={"span_answers": False})
    assert trace.node(2).answers == [] and trace.node(1).thought.startswith(f"1. {FIRST} unsolved")


LEAN_PATH = (FIRST, "Unknown", "Ann Lee [1]", SECOND, "Ida Lee", "Done", "Eve Lee [1]", "Done", "Eve Lee")


def test_a_model_of_closed_tasks_asks_the_next_question_and_answers_from_memory() -> None:
    """Memory does not know the first: completed. It errs in the second: corrected. Then nothing more is asked."""
    backbone, source = FakeBackbone(*LEAN_PATH), text()
    result, trace = run(backbone, source, style="lean", knows_next=True)
    assert source.queries == [FIRST, SECOND]
    assert [(node.label, node.corrected_from) for node in trace.nodes[1:]] == [
        ("round 1", None), ("query 1", ""), ("round 2", None), ("query 2", "Ida Lee"), ("round 3", None),
    ]  # fmt: skip
    assert (result.texts, result.cited) == (("Eve Lee",), ["e1", "e2"])
    assert backbone.prompts[-1].static[0].content == "Combine."


def test_without_the_task_next_a_model_of_closed_tasks_writes_queries_one_by_one() -> None:
    replies = (
        f"Query 1: {FIRST}",
        "Ann Lee",
        "Next 1: another query\nQuery 2: " + SECOND,
        "Eve Lee",
        "Next 2: the end",
    )
    backbone = FakeBackbone(*replies, "Ann Lee [1]", "Eve Lee [1]", "Eve Lee")
    result, trace = run(backbone, text(), style="lean")
    assert trace.node(1).thought == f"1. {FIRST} Ann Lee; 2. {SECOND} Eve Lee"
    assert (result.texts, result.cited) == (("Eve Lee",), ["e1", "e2"])
    assert backbone.prompts[4].continued[-1].content == "Query 2 is answered: Eve Lee."


def test_a_query_of_a_model_of_closed_tasks_ends_with_the_question_mark() -> None:
    """It has learnt to write plans, and goes on as plans do."""
    replies = (f"Query 1: {FIRST} = Answer(person)", "Ann Lee", "Next 1: the end", "Ann Lee [1]", "Ann Lee")
    _, trace = run(FakeBackbone(*replies), text(), style="lean")
    assert trace.node(2).question == FIRST


def test_a_model_that_asks_nothing_has_the_question_itself_looked_up() -> None:
    source = text({QUESTION: FOUND[SECOND]})
    _, trace = run(FakeBackbone("Done", "Unknown", "Eve Lee [1]"), source, style="lean", knows_next=True)
    assert source.queries == [QUESTION] and trace.node(2).corrected_from == ""
    assert trace.node(3).thought == "nothing more is asked"


def test_a_query_that_is_the_question_itself_ends_the_chain_and_gives_the_answer() -> None:
    source = text({QUESTION: FOUND[SECOND]})
    result, trace = run(FakeBackbone(QUESTION, "Emma Road", "Eve Lee [1]"), source, style="lean", knows_next=True)
    assert trace.node(1).thought == f"1. {QUESTION} unsolved", "a name from the question is no answer"
    assert (result.texts, result.cited, trace.node(0).computation) == (("Eve Lee",), ["e1"], "answer of [2]")
    assert trace.node(0).corrected_from is None and trace.node(2).corrected_from == ""


def test_a_query_that_repeats_ends_the_chain_of_closed_tasks() -> None:
    backbone = FakeBackbone(FIRST, "Ann Lee", "Who directed “Emma Road”?", "Ann Lee [1]", "Ann Lee")
    _, trace = run(backbone, text(), style="lean", knows_next=True)
    assert any("asked again" in note for note in trace.node(1).dropped)
