"""Chain-of-Knowledge: sampled chains vote; where they disagree, rationales are corrected one after another."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
from support.fake_graph_tools import FakeGraphWithFacts
from support.fake_parts import FakeBackbone, FakeSource, Said, passages, rows, texts
from support.strategy_scripts import Bare, asked

from atomr_local.errors import ModelError, QueryError
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.reasoning.trace.telling import is_stage
from atomr_local.reasoning.verdict.judge import judge
from atomr_local.sources.protocol import QueryRows, Value
from atomr_local.strategies.cok import AGREED, FELL_BACK, NO_CHAIN, UNCHECKED
from atomr_local.strategies.shared.closing import CALLS_USED, OWN
from atomr_local.strategies.shared.tasks import NOT_FOUND, NOT_TOLD, STANDS

QUESTION = "Where was the director of Emma Road born?"
WRONG, RIGHT = "Emma Road was directed by Bob Ray.", "Emma Road was directed by Ann Lee."
OLD, NEXT, BIRTH = "Bob Ray was born in Rome.", "Ann Lee was born in Ulm.", "Ann Lee was born in York."
FILM, LIFE = ("Emma Road", "Emma Road is a film by Ann Lee."), ("Ann Lee", "Ann Lee was born in York.")
OTHER = ("Roads", "A road leads somewhere.")
FOUND = {WRONG: passages(OTHER, FILM), NEXT: passages(LIFE), OLD: passages(OTHER)}


def chain(answer: str, *facts: str) -> str:
    labels = ("First", "Second", "Third", "Fourth")
    told = [f"{label}: {fact}" for label, fact in zip(labels, facts or (WRONG, OLD), strict=False)]
    return "\n".join([*told, f"Answer: {answer}"])


def check(passage: int | str, fact: str = "") -> str:
    return f"Passage: {passage}" + (f"\nFact: {fact}" if fact else "")


CHAINS = (chain("Rome"), chain("Oslo", "Emma Road is old.", "Oslo is a city."), chain("Unknown"))
PATH = (*CHAINS, check(2, RIGHT), f"Fact: {NEXT}", check(1, BIRTH), Said("Answer: York", 0.4))

text = texts(FOUND)

run = partial(asked, "cok", QUESTION, samples=3)


def test_the_published_path() -> None:
    """The chains disagree; each rationale is corrected, the next one written anew, and the answer follows from both."""
    source, backbone = text(), FakeBackbone(*PATH)
    result, trace = run(backbone, source)
    assert source.queries == [WRONG, NEXT], "what the chain had after the wrong rationale is not looked for"
    assert {request.top_k for request in source.requests} == {3}
    steps = [(node.parent, node.label, node.question, node.corrected_from, node.thought) for node in trace.nodes[2:]]
    assert steps == [(0, "rationale 1", WRONG, WRONG, RIGHT), (0, "rationale 2", NEXT, NEXT, BIRTH)]
    assert [node.cited for node in trace.nodes[2:]] == [["e2"], ["e3"]]
    assert all(is_stage(node, node.label, node.question) for node in trace.nodes[2:])
    root = trace.node(0)
    assert (root.answers, root.method, root.cited, root.supported) == (["York"], "child", ["e2", "e3"], True)
    assert root.confidence is not None and math.isclose(root.confidence, 0.4)
    assert trace.plan.origin == "steps" and judge(trace, accept=0.3).status == "answered"
    assert result.evidence and [node.id for node in trace.nodes] == [0, 1, 2, 3]


def test_the_samples_and_what_each_call_sees() -> None:
    backbone = FakeBackbone(*PATH)
    run(backbone, text())
    requests = backbone.requests
    assert [request.temperature for request in requests] == [0.7] * 3 + [0.0] * 4
    assert len({request.seed for request in requests[:3]}) == 3
    first, following, second, last = backbone.asked[3:]
    assert f"Fact: {WRONG}" in first and "Known: (nothing)" in first and "[2] Emma Road: " in first
    assert following == f"Question: {QUESTION}\nKnown: {RIGHT}"
    assert f"Known: {RIGHT}" in second and WRONG not in second
    assert last == f"1. {RIGHT}\n2. {BIRTH}\nQuestion: {QUESTION}", "the answer rests on the corrected ones alone"
    shown = [sum(message.role == "assistant" for message in prompt.static) for prompt in backbone.prompts[2:]]
    assert shown == [3] * 5, "worked examples of each form"
    chains, checks = backbone.grammars[0] or "", backbone.grammars[3] or ""
    assert '("\\u000AThird: " field-2)?' in chains and '("\\u000ASecond' not in chains, "two to four rationales"
    assert '"1"' in checks and '"2"' in checks and '"3"' not in checks and '"none"' in checks, "numbers of the passages"


@pytest.mark.parametrize(("threshold", "stands"), [(0.6, True), (0.61, False), (0.0, True), (1.0, False)])
def test_enough_chains_agree_or_not(threshold: float, stands: bool) -> None:
    """By hand: 3 of 5 chains say York, a share of 0.6; one of them cannot be read and has no vote."""
    said = (chain("York"), chain("Rome"), "hm", chain("york."), chain("The York"))
    source, backbone = text({}), FakeBackbone(*said, *([] if stands else [f"Fact: {NEXT}", "Answer: York"]))
    result, trace = run(backbone, source, samples=5, threshold=threshold)
    vote = trace.node(1)
    assert (vote.answers, vote.computation, vote.outcome) == (["York"], "3 of 5 chains", "memory")
    assert [(one["answer"], one["score"]) for one in vote.candidates] == [("York", 0.6), ("Rome", 0.2)]
    assert "1 of 5 chains gave no answer" in vote.dropped
    assert (AGREED in result.dropped) is stands and (source.requests == []) is stands
    assert result.texts == ("York",) and result.from_memory and trace.node(0).outcome == "memory"


def test_threshold_0_is_the_majority_of_the_samples() -> None:
    """The degenerate case: the same answer and evidence as the vote over the same chains; nothing is looked up."""
    for replies in (CHAINS, [chain("Unknown")] * 3, ["hm"] * 3):
        source = text()
        result, trace = run(FakeBackbone(*replies), source, threshold=0.0)
        assert list(result.texts) == trace.node(1).answers and trace.evidence == [] and source.requests == []
        assert [node.id for node in trace.nodes] == [0, 1]
    result, _ = run(FakeBackbone(*CHAINS), text(), threshold=0.0)
    assert result.texts == ("Rome",) and result.from_memory, "the first seen wins a tie"


def test_the_limit_is_the_length_of_the_chain() -> None:
    """A chain of four rationales: four are checked, whatever the model would go on with."""
    facts = (WRONG, OLD, "Rome is old.", "Rome is large.")
    long = [chain("Rome", *facts), chain("Oslo", *facts), chain("Ulm", *facts)]
    written = ["Ann Lee sings.", "Ann Lee moved to Ulm.", "Ann Lee was born in York."]
    later = [said for fact in written for said in (f"Fact: {fact}", check("none"))]
    source = text(dict.fromkeys((WRONG, *written), passages(LIFE)))
    _, trace = run(FakeBackbone(*long, check("none"), *later, "Answer: York"), source)
    assert [node.label for node in trace.nodes[2:]] == [f"rationale {number}" for number in range(1, 5)]
    assert source.queries == [WRONG, *written]


def test_at_once_corrects_the_chain_as_it_was_written() -> None:
    source = text({WRONG: passages(FILM), OLD: passages(LIFE)})
    backbone = FakeBackbone(*CHAINS, check(1, RIGHT), check("none"), "Answer: Rome")
    _, trace = run(backbone, source, at_once=True)
    assert source.queries == [WRONG, OLD]
    assert [node.question for node in trace.nodes[2:]] == [WRONG, OLD]
    assert backbone.asked[-1].startswith(f"1. {RIGHT}\n2. {OLD}\n") and NOT_TOLD in trace.node(3).dropped


def test_a_rationale_that_stands_is_told_as_such() -> None:
    backbone = FakeBackbone(*CHAINS, check(2, WRONG.upper()), f"Fact: {NEXT}", check(1, BIRTH), "Answer: York")
    _, trace = run(backbone, text())
    node = trace.node(2)
    assert node.corrected_from is None and STANDS in node.dropped and node.cited == ["e2"]


def test_nothing_retrieved_is_the_models_own_and_marked() -> None:
    result, trace = run(FakeBackbone(*CHAINS, f"Fact: {NEXT}", "Answer: Ulm"), text({}))
    assert [NOT_FOUND in node.dropped for node in trace.nodes[2:]] == [True, True]
    assert (result.texts, result.method, result.cited) == (("Ulm",), "closed_book", [])
    assert UNCHECKED in result.dropped and trace.node(0).outcome == "memory"
    assert judge(trace, accept=0.0).status == "unknown"


def test_what_the_passages_do_not_tell_is_left() -> None:
    backbone = FakeBackbone(*CHAINS, check("none"), f"Fact: {NEXT}", check(7, BIRTH), "Answer: Ulm")
    result, trace = run(backbone, text())
    assert all(node.corrected_from is None and node.cited == [] for node in trace.nodes)
    assert NOT_TOLD in trace.node(2).dropped and "left as it was written" in trace.node(3).dropped[-1]
    assert result.method == "closed_book" and [item.id for item in trace.evidence] == ["e1", "e2", "e3"]


@pytest.mark.parametrize("last", ["Answer: Unknown", ""])
def test_unknown_at_the_end_is_unknown_or_the_vote_as_a_guess(last: str) -> None:
    result, trace = run(FakeBackbone(*PATH[:-1], last), text())
    assert not result.values and trace.node(0).method is None
    assert (trace.node(0).error is None) is bool(last)
    result, trace = run(FakeBackbone(*PATH[:-1], last), text(), features={"guess": True})
    assert result.texts == ("Rome",) and FELL_BACK in result.dropped and trace.node(0).outcome == "memory"
    verdict = judge(trace, accept=0.0)
    assert verdict.status == "unknown" and verdict.guess is not None and verdict.guess.basis == "model"


def test_only_the_chosen_sources_are_asked() -> None:
    graph = FakeSource("graph", {WRONG: rows("Emma Road", Value("Ann Lee"))})
    source = text()
    _, trace = run(FakeBackbone(*CHAINS, "graph", check(1, RIGHT), f"Fact: {NEXT}", "Answer: York"), source, graph)
    assert source.requests == [] and graph.queries == [WRONG, NEXT]
    assert (trace.node(2).label, trace.node(2).observation) == ("where to look", "graph")


def test_a_model_that_fails_to_choose_leaves_all_sources() -> None:
    graph = FakeSource("graph")
    result, trace = run(FakeBackbone(*CHAINS, ModelError("broken"), *PATH[3:]), text(), graph)
    assert result.texts == ("York",) and trace.node(2).error is not None and graph.queries == [WRONG, NEXT]


@pytest.mark.parametrize("again", [WRONG, RIGHT, "emma road was directed by the “Ann Lee”"])
def test_a_repeated_rationale_gives_way_to_the_chains_own(again: str) -> None:
    source = text()
    result, trace = run(FakeBackbone(*PATH[:4], f"Fact: {again}", check("none"), "Answer: Rome"), source)
    assert [node.question for node in trace.nodes[2:]] == [WRONG, OLD]
    assert any(note.startswith("the model repeated “") for note in result.dropped)


def test_a_chain_that_repeats_itself_ends() -> None:
    replies = [chain("Rome", WRONG, WRONG), chain("Oslo"), chain("Ulm")]
    _, trace = run(FakeBackbone(*replies, check(2, RIGHT), f"Fact: {RIGHT}", "Answer: Ann Lee"), text())
    assert [node.question for node in trace.nodes[2:]] == [WRONG]


def test_output_that_fits_no_form_ends_nothing() -> None:
    """A missing second rationale; a check and a next rationale that cannot be read; and no chain at all."""
    short = (f"First: {WRONG}\nAnswer: Rome", "", "First: It is old.")
    backbone = FakeBackbone(*short, "", "Answer: York")
    result, trace = run(backbone, text())
    assert trace.node(1).answers == ["Rome"] and result.texts == ("York",)
    assert any(note.startswith("left as it was written: ") for note in trace.node(2).dropped)
    backbone = FakeBackbone(*CHAINS, check(2, RIGHT), "\n\n", check("none"), "Answer: Rome")
    result, trace = run(backbone, text())
    assert [node.question for node in trace.nodes[2:]] == [WRONG, OLD]
    assert any(note.startswith("not written anew: ") for note in result.dropped)


def test_without_any_chain_the_question_itself_is_looked_up() -> None:
    source = text({QUESTION: passages(LIFE)})
    result, trace = run(FakeBackbone("", "", "", check(1, BIRTH), "Answer: York"), source)
    assert (trace.node(1).observation, trace.node(1).answers) == (NO_CHAIN, [])
    assert is_stage(trace.node(1), "vote", QUESTION) and judge(trace, accept=0.0).status == "answered"
    assert (result.texts, result.cited) == (("York",), ["e1"])


def test_prose_around_the_lines_is_read() -> None:
    wordy = f"Sure!\n\n**First:** {WRONG}\n**Second:** {OLD}\n\n**Answer:** Rome.\nI hope this helps."
    checked = f"Passage [2] says so.\n**Passage:** [2]\n**Fact:** {RIGHT}"
    backbone = FakeBackbone(wordy, chain("Oslo"), chain("Ulm"), checked, *PATH[4:])
    result, trace = run(backbone, text())
    assert trace.node(1).answers == ["Rome"] and trace.node(2).thought == RIGHT
    assert result.texts == ("York",)


def test_a_model_that_fails_in_a_step_leaves_what_was_found_for_it() -> None:
    backbone = FakeBackbone(*CHAINS, ModelError("broken"), f"Fact: {NEXT}", check(1, BIRTH), "Answer: York")
    result, trace = run(backbone, text())
    assert trace.node(2).error is not None and trace.node(2).evidence == ["e1", "e2"] and trace.node(2).cited == []
    assert result.texts == ("York",)


@pytest.mark.parametrize("calls", range(1, 7))
def test_after_the_last_call_the_answer_follows_from_what_is_there(calls: int) -> None:
    """The vote alone, or the first rationale, or both."""
    source, sampled = text(), calls <= len(CHAINS)
    backbone = FakeBackbone(*PATH[:calls], *([] if sampled else [PATH[-1]]))
    result, trace = run(backbone, source, limits={"calls": calls})
    assert result.texts == (("Rome",) if sampled else ("York",))
    assert CALLS_USED in result.dropped and len(trace.nodes) == 2 + max(0, calls - 2) // 2
    assert not sampled or (result.from_memory and source.requests == [])
    assert all(set(node.cited) <= set(node.evidence) for node in trace.nodes)


def test_without_log_probabilities_nothing_is_decided_otherwise() -> None:
    result, trace = run(Bare(*map(str, PATH)), text())
    assert result.texts == ("York",) and trace.node(0).confidence is None
    assert trace.node(0).supported and trace.node(2).corrected_from == WRONG


# --- the graph in its own language


class OneFilm(FakeGraphWithFacts):
    """A graph of one film; a query gives these rows, or fails."""

    def __init__(self, answer: QueryRows | Exception | None = None) -> None:
        super().__init__([("Emma Road", "director", "Ann Lee")])
        self.answer = answer

    def query(self, sparql: str, *given: Any, **limits: Any) -> QueryRows:
        found = super().query(sparql, *given, **limits)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or found


SKETCH = "select ?x: Emma Road | director | ?x"


def test_the_graph_is_asked_in_its_own_language() -> None:
    graph = OneFilm()
    backbone = FakeBackbone(*CHAINS, f"Query: {SKETCH}", check(1, RIGHT), f"Fact: {NEXT}", "Answer: Ann Lee")
    result, trace = run(backbone, graph)
    [first] = graph.ran
    assert "https://example.org/director" in first and graph.queries == [NEXT], "the graph knows nothing that it names"
    node, [row] = trace.node(2), trace.evidence
    assert (node.corrected_from, node.cited, node.sources) == (WRONG, ["e1"], ["graph"])
    assert (row.text, row.locator["sparql"], row.query) == ("Ann Lee.", first, SKETCH)
    assert f"[1] {SKETCH}: Ann Lee." in backbone.asked[4] and f"query: {SKETCH}" in node.dropped
    assert result.cited == ["e1"] and trace.node(0).supported


@pytest.mark.parametrize(
    ("answer", "sketches", "told"),
    [
        (None, ["Query: none"], "no query was written"),
        (QueryRows("SELECT ?x", ("x",)), [f"Query: {SKETCH}", "Query: none"], "no rows"),
        (QueryError("too slow"), [f"Query: {SKETCH}", "Query: none"], "too slow"),
        (None, [ModelError("broken")], "graph: broken"),
    ],
)
def test_without_rows_the_graph_is_searched_in_words(answer: Any, sketches: list[Any], told: str) -> None:
    graph = OneFilm(answer)
    graph.found = {WRONG: rows("Emma Road", Value("Ann Lee"))}
    backbone = FakeBackbone(*CHAINS, *sketches, check(1, RIGHT), f"Fact: {NEXT}", "Answer: Ann Lee")
    _, trace = run(backbone, graph)
    assert graph.queries == [WRONG, NEXT] and trace.node(2).corrected_from == WRONG
    assert any(told in note for note in trace.node(2).dropped)


def test_a_bare_yes_tells_too_little() -> None:
    graph = OneFilm(QueryRows("ASK {}", boolean=True))
    graph.found = {WRONG: rows("Emma Road", Value("Ann Lee"))}
    backbone = FakeBackbone(*CHAINS, f"Query: {SKETCH}", check(2, RIGHT), f"Fact: {NEXT}", "Answer: x")
    _, trace = run(backbone, graph)
    assert graph.queries == [WRONG, NEXT] and len(trace.node(2).evidence) == 2
    assert trace.node(2).cited == ["e2"]


def test_queries_can_be_off_and_need_calls() -> None:
    for given in ({"queries": False}, {"limits": {"calls": 5}}):
        graph = OneFilm()
        graph.found = {WRONG: rows("Emma Road", Value("Ann Lee"))}
        last = [f"Fact: {NEXT}", "Answer: Ann Lee"]
        _, trace = run(FakeBackbone(*CHAINS, check(1, RIGHT), *last), graph, **given)
        assert graph.ran == [] and trace.node(2).corrected_from == WRONG


# --- a model that has learnt the closed tasks alone

FIRST, SECOND = "Who directed Emma Road?", "Where was Ann Lee born?"
PAIRS = {FIRST: passages(FILM), SECOND: passages(LIFE), QUESTION: passages(LIFE)}


def lean(*replies: Any, **given: Any) -> tuple[Result, Trace, FakeBackbone, FakeSource]:
    backbone, source = FakeBackbone(*replies), text(PAIRS)
    result, trace = run(backbone, source, **{"style": "lean", "knows_next": True, "samples": 2} | given)
    return result, trace, backbone, source


BOB = "Where was Bob Ray born?"
LEAN = (
    FIRST, "Bob Ray", "Carl",  # the first question, and two answers from memory
    BOB, "Where was Carl born?", "Rome", "Unknown",
    "Done", "Done", "Rome", "Unknown",  # no further question; the answers of the two chains
)  # fmt: skip


def test_a_lean_model_asks_and_reads() -> None:
    """Questions of one hop, answered from memory in the chains and from evidence where they are checked."""
    replies = (*LEAN, "Ann Lee [1]", SECOND, "Ulm", "York [1]", "Done", "York")
    result, trace, backbone, source = lean(*replies, threshold=1.0)
    assert source.queries == [FIRST, SECOND]
    steps = [(node.question, node.answers, node.corrected_from, node.cited) for node in trace.nodes[2:]]
    assert steps == [(FIRST, ["Ann Lee"], "Bob Ray", ["e1"]), (SECOND, ["York"], "Ulm", ["e2"])]
    assert (result.texts, result.method, result.cited) == (("York",), "child", ["e1", "e2"])
    assert trace.node(1).answers == ["Rome"] and trace.node(0).supported
    assert f"1. {FIRST} Ann Lee\n2. {SECOND} York" in backbone.asked[-1]
    temperatures = [request.temperature for request in backbone.requests[:11]]
    assert temperatures == [0.0, 0.7, 0.7, 0.0, 0.0, 0.7, 0.7, 0.0, 0.0, 0.0, 0.0], "only memory is sampled"
    assert judge(trace, accept=0.0).status == "answered"


def test_a_lean_model_that_finds_nothing_keeps_what_it_remembers() -> None:
    replies = (*LEAN, "Unknown", "Rome", "Rome")  # the next question is that of the chain
    result, trace, _, _ = lean(*replies, threshold=1.0)
    assert [(node.answers, node.outcome) for node in trace.nodes[2:]] == [(["Bob Ray"], "memory"), (["Rome"], "memory")]
    assert OWN in trace.node(3).dropped and any("does not tell" in note for note in trace.node(2).dropped)
    assert (result.method, result.cited) == ("closed_book", [])


def test_a_lean_model_that_has_not_learnt_to_ask_looks_the_question_up() -> None:
    parrot = f"{QUESTION} = Answer(place)"
    result, trace, backbone, source = lean("Rome", parrot, "York [1]", knows_next=False, threshold=0.6)
    assert source.queries == [QUESTION] and trace.node(1).candidates[0]["score"] == 0.5
    assert [(node.question, node.answers, node.corrected_from) for node in trace.nodes[2:]] == [
        (QUESTION, ["York"], "Rome")
    ]
    assert result.texts == ("York",) and result.cited == ["e1"] and trace.node(0).supported
    assert "[1] Ann Lee" in backbone.asked[-1]


def test_several_answers_of_a_lean_model_stay_several() -> None:
    given = {"knows_next": False, "threshold": 0.6}
    result, trace, _, _ = lean("Rome", "Paris", "Ann Lee; York [1]", **given)
    assert result.texts == ("Ann Lee", "York") and trace.node(0).supported


def test_the_question_itself_is_no_answer() -> None:
    parrot = chain(QUESTION[:-1])
    _, trace = run(FakeBackbone(parrot, parrot, chain("Rome"), *PATH[3:]), text())
    assert [(one["answer"], one["score"]) for one in trace.node(1).candidates] == [("Rome", pytest.approx(1 / 3))]
    replies = (FIRST, "Unknown", "Unknown", "Done", QUESTION[:-1], "Ann Lee [1]", "Done", "Ann Lee")
    _, trace, _, _ = lean(*replies)
    assert trace.node(1).answers == [] and trace.node(2).answers == ["Ann Lee"]


def test_a_choice_that_is_repeated_is_no_answer() -> None:
    question = "Which is older, Emma Road or Bee Lane?"
    backbone = FakeBackbone("Emma Road or Bee Lane?", question, "Emma Road")
    _, trace = asked("cok", question, backbone, text({}), samples=3, style="lean")
    assert [one["score"] for one in trace.node(1).candidates] == [pytest.approx(1 / 3)]


def test_a_lean_model_that_asks_again_goes_on_with_the_chains_question() -> None:
    replies = (*LEAN, "Ann Lee [1]", "Who directed “Emma Road”?", "Done", "Ann Lee")
    result, trace, _, _ = lean(*replies, threshold=1.0)
    assert [node.question for node in trace.nodes[2:]] == [FIRST, BOB]
    assert any(note.startswith("the model repeated “Who directed") for note in result.dropped)


def test_a_lean_model_with_few_calls_concludes() -> None:
    """Three calls for the first rationale of both chains, two for their answers, and one for the check."""
    replies = (FIRST, "Bob Ray", "Carl", "Rome", "Oslo", "Ann Lee [1]", "Ann")
    result, _, backbone, _ = lean(*replies, limits={"calls": 6}, threshold=1.0)
    assert len(backbone.requests) == 7 and CALLS_USED in result.dropped and result.texts == ("Ann",)
