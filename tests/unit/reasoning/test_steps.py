"""Steps: the one place that tells a node's beginning, failure and end."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import atomr_local
from atomr_local.errors import Cancelled, ModelError
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.results import Action, Result
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace.events import Event, EvidenceFound, NodeAdded, NodeFinished, NodeStarted, PlanReady
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.reasoning.verdict.judge import AnswerVerdict, conclusion
from atomr_local.sources.protocol import Evidence, Quote, Value
from atomr_local.system.cancellation import Cancellation

PASSAGE = Evidence("text", "Ann Lee", "Ann Lee was born in York.", 1.0, "ann", {"passage": "1", "span": [0, 25]})


class Scene:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.cancellation = Cancellation()
        self.recorder = Recorder("Where was Ann Lee born?", "test", {}, self.events.append)
        self.steps = Steps(self.recorder, self.cancellation)

    def told(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.steps.begin("Where was Ann Lee born?")
    return scene


def test_without_a_plan_the_tree_is_the_root(scene: Scene) -> None:
    [plan] = scene.told(PlanReady)
    assert isinstance(plan, PlanReady)
    assert plan.origin == "steps"
    assert [(node.id, node.kind) for node in scene.recorder.trace.nodes] == [(0, "root")]


def test_a_step_is_added_begun_and_ended_in_this_order(scene: Scene) -> None:
    with scene.steps.open("Who is Ann Lee?", label="follow-up") as step:
        evidence = scene.recorder.take_in([PASSAGE])
        scene.recorder.emit(EvidenceFound(node_id=step.id, source="text", evidence=evidence))
        step.result = Result((Value("York"),), "operator", 0.5, list(evidence), cited=[evidence[0].id])
    kinds = [type(event) for event in scene.events if getattr(event, "node_id", None) == step.id]
    assert kinds == [NodeAdded, NodeStarted, EvidenceFound, NodeFinished]
    node = scene.recorder.trace.node(step.id)
    assert (node.kind, node.parent, node.label, node.answers, node.supported) == (
        "step",
        0,
        "follow-up",
        ["York"],
        True,
    )
    assert node.seconds >= 0


def test_ids_follow_the_order_of_opening_and_children_hang_below_their_step(scene: Scene) -> None:
    first = scene.steps.open("one")
    below = scene.steps.open("two", first.id)
    assert (first.id, below.id) == (1, 2)
    assert scene.recorder.trace.node(2).parent == 1


def test_ids_are_not_used_twice_side_by_side(scene: Scene) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = [step.id for step in pool.map(lambda number: scene.steps.open(str(number)), range(200))]
    assert sorted(ids) == list(range(1, 201))


def test_a_step_below_one_that_is_not_there_is_refused(scene: Scene) -> None:
    with pytest.raises(KeyError):
        scene.steps.open("one", parent=7)


def test_the_failure_of_a_step_is_its_own(scene: Scene) -> None:
    with scene.steps.open("one") as step:
        evidence = scene.recorder.take_in([PASSAGE])
        scene.recorder.emit(EvidenceFound(node_id=step.id, source="text", evidence=evidence))
        raise ModelError("it broke")
    node = scene.recorder.trace.node(step.id)
    assert node.error == {"title": ModelError.title, "message": "it broke"}
    assert node.evidence == ["e1"]
    assert step.result.evidence and not step.result.values


def test_the_failure_of_the_root_is_told_and_goes_on(scene: Scene) -> None:
    with pytest.raises(ModelError), scene.steps.root("q"):
        raise ModelError("it broke")
    assert scene.recorder.trace.node(0).error is not None


@pytest.mark.parametrize("error", [Cancelled("stop"), RuntimeError("a defect")])
def test_cancellation_and_defects_are_not_swallowed(scene: Scene, error: Exception) -> None:
    with pytest.raises(type(error)), scene.steps.open("one"):
        raise error
    assert not scene.told(NodeFinished)


def test_a_cancelled_question_begins_no_step(scene: Scene) -> None:
    step = scene.steps.open("one")
    scene.cancellation.cancel()
    with pytest.raises(Cancelled), step:
        pytest.fail("the step ran")


def test_thought_action_observation_and_candidates_reach_event_and_trace(scene: Scene) -> None:
    with scene.steps.open("one", label="round 1") as step:
        step.result = Result(
            thought="I should \x1b[31msearch.",
            action=Action("search", "Ann Lee"),
            observation="Ann Lee was born in York.",
            candidates=(Candidate((Value("York"),), -0.2, "text", ("e1",)),),
        )
    [event] = scene.told(NodeFinished)
    assert isinstance(event, NodeFinished)
    node = scene.recorder.trace.node(step.id)
    assert node.action == {"name": "search", "input": "Ann Lee"} == event.action
    assert "\x1b" not in node.thought and node.thought == event.thought
    assert node.observation == "Ann Lee was born in York."
    assert node.candidates == [{"answer": "York", "score": -0.2, "origin": "text", "evidence": ["e1"]}]


def test_nothing_else_builds_the_end_of_a_node() -> None:
    package = Path(atomr_local.__file__).parent
    built = [
        str(path.relative_to(package))
        for path in sorted(package.rglob("*.py"))
        if "NodeFinished" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and "NodeFinished" in ast.unparse(node.func)
    ]
    assert built == ["reasoning/steps.py"]


def _answered(scene: Scene, answer: str, *quotes: str) -> Trace:
    with scene.steps.root("Where was Ann Lee born?") as step:
        [piece] = scene.recorder.take_in([PASSAGE])
        scene.recorder.emit(EvidenceFound(node_id=0, source="text", evidence=(piece,)))
        spans = [(PASSAGE.text.index(quote), PASSAGE.text.index(quote) + len(quote)) for quote in quotes]
        step.result = Result(
            (Value(answer),),
            "direct_rag",
            0.5,
            [piece],
            cited=[piece.id],
            quotes=tuple(Quote("e1", *span) for span in spans),
        )
    return scene.recorder.trace


def test_what_an_answer_quotes_is_in_the_event_and_in_the_trace(scene: Scene) -> None:
    trace = _answered(scene, "York", "born in York.")
    [ended] = scene.told(NodeFinished)
    assert isinstance(ended, NodeFinished)
    assert trace.node(0).quotes == list(ended.quotes) == [{"evidence": "e1", "span": [12, 25]}]
    assert ended.to_dict()["quotes"] == [{"evidence": "e1", "span": [12, 25]}]


@pytest.mark.parametrize(
    ("answer", "quotes", "kind", "told"),
    [
        ("York", ("born in York.",), "value", "The answer is York."),
        ("Ann Lee was born in York.", ("Ann Lee was", "born in York."), "quotation", "Ann Lee was born in York."),
        ("Ann Lee\nwas born", ("Ann Lee was born",), "quotation", "Ann Lee\nwas born"),
        ("York", (), "value", "The answer is York."),
    ],
)
def test_an_answer_that_is_what_it_quotes_is_a_quotation(
    scene: Scene, answer: str, quotes: tuple[str, ...], kind: str, told: str
) -> None:
    ready = conclusion(_answered(scene, answer, *quotes), AnswerVerdict("answered"))
    assert (ready.answer_kind, ready.answer, ready.answers) == (kind, told, (answer,))
