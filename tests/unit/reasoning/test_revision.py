"""A corrected question: what the correction does not touch keeps its result, everything that rests on it runs again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Said, entity, passages, reply, rows

from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.errors import InputError, SourceError
from atomr_local.reasoning.confidence import Calibration, LogisticModel
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.events import (
    EvidenceFound,
    Finished,
    NodeFinished,
    NodeStarted,
    RetrievalStarted,
    SourcesSelected,
)
from atomr_local.reasoning.trace.schema import LlmUse, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Evidence, Retrieval, SourceName, Value, ValueKind
from atomr_local.tree.compact import parse_compact

QUESTION = "Where was the director of Metropolis born?"
PLAN = """1. What is Metropolis? = Search("Metropolis")
2. Who directed [1]? = Relate([1], "director")
3. Where was [2] born? = Relate([2], "place of birth")
"""


def world() -> tuple[FakeSource, FakeSource]:
    graph = FakeSource(
        "graph",
        {
            "Metropolis": rows("Metropolis", entity("Metropolis")),
            "Metropolis director": rows("Metropolis", entity("Fritz Lang")),
            "Metropolis writer": rows("Metropolis", entity("Thea von Harbou")),
            "Fritz Lang place of birth": rows("Fritz Lang", entity("Vienna")),
            "Fritz Lang spouse": rows("Fritz Lang", entity("Thea von Harbou")),
            "Thea von Harbou place of birth": rows("Thea von Harbou", entity("Tauperlitz")),
            "Thea place of birth": rows("Thea", entity("Tauperlitz")),
        },
    )
    text = FakeSource("text", {"Metropolis director": passages(("Metropolis", "Metropolis was directed by Lang."))})
    return graph, text


class Session:
    """An assistant on fakes, and what it does from one question to the next."""

    def __init__(self, *replies: Any, **settings: Any) -> None:
        self.graph, self.text = world()
        self.backbone = FakeBackbone(*replies)
        chosen = load_settings(**{"features": {"rival": False, "beam": False, "guess": False}} | settings)
        self.assistant = Assistant(chosen, self.backbone)  # type: ignore[arg-type]
        self.assistant.parts.sources = {source.name: source for source in (self.graph, self.text)}  # type: ignore[misc]
        self.events: list[Any] = []

    def ask(self, plan: str | None = PLAN, **options: Any) -> Trace:
        tree = None if plan is None else parse_compact(plan, QUESTION)
        self.graph.requests.clear()
        self.text.requests.clear()
        self.events = list(self.assistant.ask(options.pop("question", QUESTION), plan=tree, **options))
        assert isinstance(self.events[-1], Finished)
        return self.events[-1].trace

    def weigh_with(self, calibration: Calibration) -> None:
        parts = self.assistant.parts
        parts.skills = replace(parts.skills, calibration=calibration)

    def revise(self, base: Trace, plan: str | None = PLAN, *, sources: Any = None, **changes: Any) -> Trace:
        changes["sources"] = sources or {}
        return self.ask(plan, revision=Revision(base, **changes))

    @property
    def kept(self) -> set[int]:
        return {event.node_id for event in self.events if isinstance(event, NodeFinished) and event.kept}

    @property
    def ran(self) -> set[int]:
        return {event.node_id for event in self.events if isinstance(event, NodeFinished) and not event.kept}


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def base(session: Session) -> Trace:
    """The first answer of the session."""
    return session.ask()


def told(trace: Trace) -> list[dict[str, Any]]:
    """Every node but for what it cost."""
    nodes = trace.to_dict()["nodes"]
    return [{key: value for key, value in node.items() if key not in {"seconds", "llm"}} for node in nodes]


def elsewhere(trace: Trace) -> Trace:
    """The trace as another installation reads it from a file."""
    return parse_trace(json.loads(json.dumps(trace.to_dict())))


def test_nothing_changed_keeps_everything_and_the_trace_says_the_same(session: Session, base: Trace) -> None:
    trace = session.revise(base)
    assert session.kept == {0, 1, 2, 3} and not session.ran
    assert session.graph.requests == session.text.requests == []
    assert told(trace) == told(base)
    assert trace.evidence == base.evidence
    assert (trace.answers, trace.answer, trace.confidence) == (base.answers, base.answer, base.confidence)
    assert all(node.seconds == 0 and node.llm == LlmUse() for node in trace.nodes)
    assert trace.totals.retrievals == {"text": 0, "graph": 0, "web": 0}
    assert not [event for event in session.events if isinstance(event, RetrievalStarted)]


@pytest.mark.parametrize(
    ("old", "new", "kept", "asked"),
    [
        ('"director"', '"writer"', {1}, ["Metropolis writer", "Thea von Harbou place of birth"]),
        ("place of birth", "spouse", {1, 2}, ["Fritz Lang spouse"]),
        ("Who directed [1]?", "Whose film is [1]?", {1}, ["Metropolis director", "Fritz Lang place of birth"]),
    ],
    ids=["a step in the middle", "the last step", "other words for a question"],
)
def test_a_changed_step_runs_with_what_rests_on_it_and_nothing_else(
    session: Session, base: Trace, old: str, new: str, kept: set[int], asked: list[str]
) -> None:
    trace = session.revise(base, PLAN.replace(old, new))
    assert session.kept == kept and session.ran == {0, 1, 2, 3} - kept
    assert session.graph.queries == asked
    assert trace.answers == [{"writer": "Tauperlitz", "spouse": "Thea von Harbou"}.get(new.strip('"'), "Vienna")]
    first = session.graph.requests[0].arguments[0].iri  # the entity is remembered
    assert first == f"https://example.org/{'Fritz_Lang' if 2 in kept else 'Metropolis'}"


def test_a_kept_step_is_told_whole_with_its_evidence_first(session: Session, base: Trace) -> None:
    session.revise(base, PLAN.replace('"director"', '"writer"'))
    mine = [event for event in session.events if getattr(event, "node_id", None) == 1]
    assert [type(event) for event in mine] == [NodeStarted, SourcesSelected, EvidenceFound, NodeFinished]
    assert mine[1].sources == (SourceName.GRAPH,)
    assert [item.id for item in mine[2].evidence] == list(mine[3].evidence) == ["e1"]
    assert mine[3].to_dict()["kept"] is True


def test_renumbering_and_moving_keeps_results_and_notes_follow(session: Session, base: Trace) -> None:
    moved = """7. What is Metropolis? = Search("Metropolis")
5. Who directed [7]? = Relate([7], "director")
2. Where was [5] born? = Relate([5], "place of birth")
"""
    trace = session.revise(base, moved)
    assert session.kept == {0, 2, 5, 7}
    assert base.node(0).computation == "answer of [3]"
    assert trace.node(0).computation == "answer of [2]"
    assert trace.node(2).resolved_question == "Where was Fritz Lang born?"
    assert trace.answers == ["Vienna"]


def test_two_steps_that_swap_their_numbers_swap_their_results() -> None:
    plan = '1. one? = Search("Metropolis")\n2. two? = Relate("Fritz Lang", "spouse")\n3. Which of [1], [2]?\n'
    swapped = '2. one? = Search("Metropolis")\n1. two? = Relate("Fritz Lang", "spouse")\n3. Which of [2], [1]?\n'
    session = Session(reply("Metropolis"), reply("Metropolis"))
    base = session.ask(plan)
    trace = session.revise(base, swapped)
    assert {1, 2, 3} <= session.kept
    assert (trace.node(1).answers, trace.node(2).answers) == (["Thea von Harbou"], ["Metropolis"])


def test_a_step_put_in_between_and_one_taken_out(session: Session, base: Trace) -> None:
    longer = PLAN.replace("3. Where was [2] born?", '4. Who is the spouse of [2]? = Relate([2], "spouse")\n3. Where?')
    longer = longer.replace('Relate([2], "place', 'Relate([4], "place').replace("Where?", "Where was [4] born?")
    trace = session.revise(base, longer)
    assert session.kept == {1, 2} and trace.answers == ["Tauperlitz"]
    shorter = session.revise(trace, "\n".join(PLAN.splitlines()[:2]))
    assert session.kept == {1, 2} and shorter.answers == ["Fritz Lang"]


def test_without_a_plan_the_earlier_one_is_taken(session: Session, base: Trace) -> None:
    trace = session.revise(base, None, rerun=frozenset({3}))
    assert trace.plan.compact == base.plan.compact
    assert session.ran == {3, 0} and session.graph.queries == ["Fritz Lang place of birth"]


def test_a_persons_answer_stands_and_what_rests_on_it_runs_again(session: Session, base: Trace) -> None:
    trace = session.revise(base, answers={2: ("Thea",)})
    assert session.kept == {1} and session.ran == {2, 3, 0}
    assert session.graph.queries == ["Thea place of birth"]
    mine = trace.node(2)
    assert (mine.answers, mine.method, mine.confidence, mine.supported) == (["Thea"], None, 1.0, None)
    assert mine.evidence == mine.cited == mine.sources == []
    assert mine.resolved_question == "Who directed Metropolis?"
    assert trace.answers == ["Tauperlitz"]

    session.revise(trace, PLAN.replace("place of birth", "spouse"))
    assert session.kept == {1, 2}  # the person's answer is a result like any other from now on

    session.revise(trace, answers={2: ("Thea",)})
    assert session.kept == {0, 1, 2, 3}  # said again: no change

    session.revise(trace, rerun=frozenset({2}))
    assert session.ran == {2, 3, 0} and session.assistant.last_trace.node(2).answers == ["Fritz Lang"]  # type: ignore[union-attr]


def test_a_persons_answer_of_the_root_stands_too() -> None:
    session = Session()
    trace = session.revise(session.ask(), answers={0: ("Linz", "Graz", "Linz")})
    assert session.ran == {0}
    assert (trace.answers, trace.status, trace.confidence) == (["Linz", "Graz"], "answered", 1.0)


def test_answers_are_cleaned_of_what_does_not_belong_on_a_screen() -> None:
    session = Session()
    trace = session.revise(session.ask(), answers={3: ("Li\x1b[31mnz\n",)})
    assert trace.answers == ["Linz"]


def test_a_step_may_be_held_to_other_sources() -> None:
    session = Session(reply("Lang", evidence=[1]), UNKNOWN, UNKNOWN)
    base = session.ask(PLAN)
    trace = session.revise(base, sources={2: ("text",)})
    assert session.kept == {1} and {2, 3, 0} == session.ran
    assert trace.node(2).sources == ["text"] and trace.node(2).answers == ["Lang"]
    assert [request.query for request in session.graph.requests] == ["Lang place of birth", *session.graph.queries[1:]]

    session.revise(trace, sources={2: ("text",)})
    assert 2 in session.kept  # the same again

    session.backbone.replies = [UNKNOWN, UNKNOWN]
    back = session.revise(trace, sources={2: ("graph",)})
    assert back.node(2).sources == ["graph"] and back.node(2).answers == ["Fritz Lang"]


def test_a_source_that_was_switched_off_takes_its_results_along() -> None:
    session = Session(reply("Lang", evidence=[1]), UNKNOWN)
    base = session.ask()
    trace = session.ask(PLAN, revision=Revision(base), sources=["text"])
    assert not session.kept
    assert not session.graph.requests
    assert trace.node(2).sources == ["text"]


def test_a_failed_step_and_one_that_never_ran_are_no_results() -> None:
    session = Session(UNKNOWN, UNKNOWN)
    session.graph.found["Fritz Lang place of birth"] = SourceError("gone")
    base = session.ask(sources=["graph"])
    assert base.node(3).error is not None
    session.graph.found |= world()[0].found
    trace = session.revise(base)
    assert session.kept == {1, 2} and trace.answers == ["Vienna"]

    for node in base.nodes:
        if node.id in {2, 3, 0}:  # as a cancelled question leaves them
            node.answer, node.answers, node.method, node.error = "", [], None, None
    session.revise(base)
    assert session.kept == {1}


def test_an_honest_unknown_is_a_result() -> None:
    plan = '1. Who? = Relate("Nobody", "child")\n2. Where was Fritz Lang born? = Relate("Fritz Lang", "place of birth")'
    session = Session(UNKNOWN, UNKNOWN, reply("Vienna"), reply("Vienna"))
    session.graph.found["Nobody child"] = rows("Nobody")
    base = session.ask(plan, sources=["graph"])
    assert base.node(1).answer == "Unknown"
    session.ask(plan, revision=Revision(base, rerun=frozenset({2})), sources=["graph"])
    assert 1 in session.kept and session.graph.queries == ["Fritz Lang place of birth"]


def test_the_wording_of_the_whole_question_counts_where_steps_are_computed() -> None:
    plan = (
        '1. a? = Relate("Fritz Lang", "spouse")\n2. b? = Relate("Metropolis", "writer")\n3. Are [1] and [2] the same?'
    )
    session = Session()
    base = session.ask(plan)
    assert base.node(3).method == "symbolic"
    tree = parse_compact(plan, "Is it the same person?")
    session.events = list(session.assistant.ask("Is it the same person?", plan=tree, revision=Revision(base)))
    assert session.kept == {1, 2}


def test_a_trace_from_elsewhere_is_revised_by_its_texts_and_its_graph_rows() -> None:
    session = Session()
    iri = "http://www.wikidata.org/entity/Q151599"
    lang = Value("Fritz Lang", ValueKind.ENTITY, iri)
    row = Evidence(
        SourceName.GRAPH, "Metropolis", "Metropolis — director: Fritz Lang.", 1.0, "Metropolis director",
        {"sparql": "SELECT DISTINCT ?value ?valueLabel WHERE { }", "rows": [{"value": iri, "valueLabel": "Fritz Lang"}]},
    )  # fmt: skip
    session.graph.found["Metropolis director"] = Retrieval((row,), (lang,), 1.0, 1.0, True)
    session.graph.found["Metropolis"] = Retrieval(
        (
            Evidence(
                SourceName.GRAPH, "Metropolis", "Metropolis: film.", 1.0, "Metropolis",
                {"sparql": "SELECT ?property ?value WHERE { <https://example.org/M> ?property ?value . }", "rows": []},
            ),
        ),
        (Value("Metropolis", ValueKind.ENTITY, "https://example.org/M"),), 1.0, 1.0, True,
    )  # fmt: skip
    base = elsewhere(session.ask())
    other = Session()
    trace = other.revise(base, rerun=frozenset({3}))
    assert other.kept == {1, 2} and trace.answers == ["Vienna"]
    assert other.graph.requests[0].arguments[0] == lang
    other.revise(base, PLAN.replace('"director"', '"writer"'))
    assert other.graph.requests[0].arguments[0].iri == "https://example.org/M"
    assert told(other.revise(base)) == told(base)


@pytest.mark.parametrize("iri", ["javascript:alert(1)", "http://x/> . ?s ?p ?o . <", "urn:x", 7, None])
def test_an_entity_that_is_no_address_is_not_taken_from_a_trace(iri: Any) -> None:
    base = Session().ask()
    rows = {"sparql": "", "rows": [{"value": iri, "valueLabel": "Fritz Lang"}]}
    base.evidence = [replace(item, locator=rows) for item in base.evidence]
    for node in base.nodes:
        node.entities = [iri for _ in node.answers]
    other = Session()
    other.revise(base, rerun=frozenset({3}))
    assert other.graph.requests[0].arguments[0].iri is None


def test_a_trace_whose_plan_does_not_fit_its_nodes_keeps_nothing(session: Session, base: Trace) -> None:
    base.plan.compact = "not a plan"
    session.revise(base)
    assert not session.kept
    with pytest.raises(InputError, match="plan cannot be read"):
        session.revise(base, None)


UNSURE = """1. Who directed it? = Relate("it", "director")
2. Where was [1] born? = Relate([1], "place of birth")
"""


def test_a_kept_steps_answer_is_not_changed_by_the_step_that_rests_on_it() -> None:
    hits = passages(("A", "Ann or Bob directed it."))
    text = {
        "it director": hits,
        "Ann place of birth": passages(("Ann", "born in Bath")),
        "Bob place of birth": passages(("Bob", "born in Bath.")),
    }

    replies = [
        Said(reply("Ann", evidence=[1]), 0.4),
        Said(reply("Bob", evidence=[1]), 0.39),
        Said(UNKNOWN, 0.9),
        Said(reply("Bath", evidence=[1]), 0.9),
        Said(UNKNOWN, 0.9),  # of Bob nothing is found
        Said(UNKNOWN, 0.9),
    ]
    session = Session(*replies, features={"rival": False, "guess": False, "beam": True})
    session.text.found = dict(text)
    base = session.ask(UNSURE, sources=["text"])
    assert session.text.queries == ["it director", "Ann place of birth", "Bob place of birth"]
    assert base.node(1).answers == ["Ann"]
    session.backbone.replies = [Said(UNKNOWN, 0.9), Said(reply("Bath", evidence=[1]), 0.9)]
    trace = session.ask(UNSURE, revision=Revision(base, rerun=frozenset({2})), sources=["text"])
    assert session.text.queries == ["Ann place of birth"]
    assert (trace.node(1).answers, trace.answers) == (["Ann"], ["Bath"])


def test_a_persons_answer_is_not_outvoted_by_a_direct_answer() -> None:
    session = Session(features={"rival": True, "beam": False, "guess": False})
    base = session.ask()
    session.weigh_with(Calibration(sure=2.0))  # from now on a direct answer always rivals
    session.text.found[QUESTION] = passages(("Vienna", "He was born in Vienna."))
    trace = session.revise(base, answers={3: ("Linz",)})
    assert trace.answers == ["Linz"] and session.backbone.asked == []
    assert [node.id for node in trace.nodes if node.by_user] == [3]


def test_what_is_read_for_the_whole_question_after_a_correction_is_weighed_as_ever() -> None:
    session = Session(UNKNOWN, features={"rival": False, "beam": False, "guess": False})
    base = session.ask()
    session.text.found[QUESTION] = passages(("Graz", "He was born in Graz."))
    session.backbone.replies = [UNKNOWN, *[Said(reply("Graz", evidence=[1]), 0.99)] * 9]
    session.weigh_with(Calibration(direct=LogisticModel(-3.0, {})))
    trace = session.revise(base, answers={2: ("Nobody",)})
    assert (trace.status, trace.answers) == ("unknown", [])
    assert trace.guess is not None and trace.guess.answers == ["Graz"]


@pytest.mark.parametrize(
    ("changes", "told_of"),
    [
        ({"rerun": frozenset({9})}, "no step 9"),
        ({"answers": {9: ("x",)}}, "no step 9"),
        ({"answers": {2: ()}}, "empty"),
        ({"answers": {2: (" \x1b[2J",)}}, "empty"),
        ({"answers": {2: ("x" * 501,)}}, "too long"),
        ({"sources": {9: ("text",)}}, "no step 9"),
        ({"sources": {2: ("library",)}}, "no source named 'library'"),
        ({"sources": {2: ("web",)}}, "may not use that"),
        ({"sources": {2: ()}}, "nothing"),
    ],
)
def test_a_revision_that_does_not_fit_is_refused_at_once(
    session: Session, base: Trace, changes: dict[str, Any], told_of: str
) -> None:
    with pytest.raises(InputError, match=told_of):
        session.revise(base, **changes)
    assert session.revise(base).answers == ["Vienna"]  # and nothing is stuck


@pytest.mark.parametrize("strategy", ["rag", "closed-book", "cot"])
def test_strategies_without_plans_refuse_a_revision(session: Session, base: Trace, strategy: str) -> None:
    with pytest.raises(InputError, match="cannot correct"):
        session.assistant.ask(QUESTION, revision=Revision(base), strategy=strategy)


def test_an_operation_that_is_changed_knows_whose_value_each_is_also_from_a_trace_of_elsewhere() -> None:
    steps = '1. Which films did Lang make? = Relate("Lang", "film")\n2. How long is [1]? = Relate([1], "length")\n'
    first = Session()
    other = Session()  # another installation, which remembers nothing
    for session in (first, other):
        session.graph.found |= {
            "Lang film": rows("Lang", entity("Metropolis"), entity("Fury")),
            "Metropolis length": rows("Metropolis", Value("153 min")),
            "Fury length": rows("Fury", Value("92 min")),
        }
    base = elsewhere(first.ask(steps + '3. Which is longer? = Compare([2], "larger")\n'))
    assert base.answers == ["Metropolis"]
    assert base.node(2).of == [["Metropolis"], ["Fury"]]
    trace = other.revise(base, steps + '3. Which is longer? = Compare([2], "smaller")\n')
    assert other.kept == {1, 2}
    assert trace.answers == ["Fury"]
    assert trace.node(3).computation == "Fury 92 min < Metropolis 153 min"


COMPARED = """0. Which of Lang and Thea was born in Vienna? = Answer(person)
1. Where was Fritz Lang born? = Relate("Fritz Lang", "place of birth")
2. Where was Thea born? = Relate("Thea", "place of birth")
3. Are they the same? = Is([1], [2], "same")
"""


def test_an_operation_is_kept_until_its_words_or_operands_change() -> None:
    session = Session(*[reply("No")] * 4)
    base = session.ask(COMPARED)
    session.revise(base, COMPARED)
    assert {1, 2, 3} <= session.kept
    session.revise(base, COMPARED.replace('"same"', '"different"'))
    assert {1, 2} <= session.kept and 3 not in session.kept
    session.revise(base, COMPARED.replace('Is([1], [2], "same")', 'Is([1], "Vienna", "same")'))
    assert {1, 2} <= session.kept and 3 not in session.kept
