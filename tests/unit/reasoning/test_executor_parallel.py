"""Nodes that run together: what waits for what, answers as one at a time gives them, failures, cancelling, events."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import random
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource, entity, passage, passages, reply, rows, toolbox

from atomr_local.errors import AtomrError, Cancelled, ModelError, SourceError
from atomr_local.models.protocol import Generation, GenerationRequest, Token
from atomr_local.reasoning.executor import dependencies
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import (
    Event,
    EvidenceFound,
    ModelCalled,
    NodeFinished,
    NodeStarted,
    RetrievalStarted,
    SourcesSelected,
    TextGenerated,
)
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.sources.protocol import Evidence, Request, Retrieval, Value
from atomr_local.strategies.atomr import AtomR
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.validation import check

PATIENCE = 120.0  # seconds; only what fails lasts so long
QUESTION = "What brings Ann and Bob together?"
JOBS = '1. What is the job of Ann? = Relate("Ann", "job")\n2. What is the job of Bob? = Relate("Bob", "job")\n'


NAMES = ["Ann", "Bob", "Cyd", "Dov", "Eve", "Fay"]
ALL_JOBS = "".join(f'{i}. What is the job of {n}? = Relate("{n}", "job")\n' for i, n in enumerate(NAMES, 1))


class AnsweringBackbone(FakeBackbone):
    """Answers by what it is asked, from any thread."""

    def __init__(self, answer: Callable[[str], str], context_tokens: int = 100_000) -> None:
        super().__init__(context_tokens=context_tokens)
        self._answer = answer

    def generate(self, request: GenerationRequest) -> Generation:
        if request.cancellation is not None:
            request.cancellation.check()
        asked = request.prompt.messages[-1].content
        text, probability = self.say(asked, request.max_tokens, request.seed)
        if request.on_text is not None:
            request.on_text(text)
        count = self.count_tokens(request.prompt)
        return Generation(text, (Token(text, math.log(probability)),), "stop", count, count, 0.0)

    def say(self, asked: str, max_tokens: int, seed: int) -> tuple[str, float]:
        return self._answer(asked), 0.8


class HookedSource(FakeSource):
    """Calls `hook` with every request before it finds anything."""

    def __init__(self, name: str, found: dict[str, Any], hook: Callable[[str], None]) -> None:
        super().__init__(name, found)
        self._hook = hook

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        self._hook(request.query)
        return super().retrieve(request, cancellation)


class ParallelRun:
    """A plan run on fakes; an error of the whole is kept, not raised."""

    def __init__(
        self,
        plan: str | Tree,
        backbone: FakeBackbone,
        *sources: FakeSource,
        parallel: int = 4,
        question: str = QUESTION,
        sink: Callable[[Event], None] = lambda _event: None,
        **settings: Any,
    ) -> None:
        self.events: list[Event] = []

        def keep(event: Event) -> None:
            self.events.append(event)
            sink(event)

        self.tools = toolbox(question, backbone, *sources, sink=keep, llm={"parallel": parallel}, **settings)
        self.tree = plan if isinstance(plan, Tree) else parse_compact(plan, question)
        self.result: Result | None = None
        self.error: Exception | None = None
        try:
            self.result = AtomR().run(question, self.tree, "user", self.tools)
        except (AtomrError, Cancelled) as error:
            self.error = error

    @property
    def trace(self) -> Trace:
        return self.tools.recorder.trace

    def node(self, number: int) -> NodeTrace:
        return self.trace.node(number)

    def of(self, number: int) -> list[Event]:
        return [event for event in self.events if getattr(event, "node_id", None) == number]


def jobs(*names: str) -> dict[str, Any]:
    return {f"{name} job": passages((name, f"{name} is a painter.")) for name in names}


# What waits for what


def needs(plan: str, *, beam: bool = False) -> dict[int, set[int]]:
    tree = parse_compact(plan, QUESTION)
    check(tree)
    return dependencies(tree, [node.id for node in tree.bottom_up()], beam=beam)


def test_a_node_waits_for_its_references_and_its_children() -> None:
    plan = (
        '1. one?\n 4. a? = Search("a")\n 5. b? = Relate([4], "p")\n'
        '2. two? = Search("c")\n3. Of [1] and [2], which? = Filter([1], "like [2]")\n'
    )
    assert needs(plan) == {4: set(), 5: {4}, 1: {4, 5}, 2: set(), 3: {1, 2}, 0: {1, 2, 3}}


def test_a_node_waits_for_those_that_its_question_or_its_instruction_alone_names() -> None:
    plan = '1. a? = Search("a")\n2. What is [1] to us? = Search("b")\n3. c? = Direct("Say more of [2].")\n'
    found = needs(plan)
    assert (found[2], found[3]) == ({1}, {2})


def test_a_number_that_is_not_in_the_plan_is_not_waited_for() -> None:
    tree = parse_compact('1. a? = Search("a")\n', "What does [7] mean, says [1]?")
    assert dependencies(tree, [1, 0], beam=True) == {1: set(), 0: {1}}


CHANGE = '1. a? = Relate("x", "p")\n2. b? = Relate([1], "q")\n3. c? = Relate([1], "r")\n4. d? = Search("other")\n'


def test_without_the_beam_two_steps_on_one_answer_run_together() -> None:
    assert needs(CHANGE)[3] == {1}


def test_with_the_beam_whoever_rests_on_an_answer_waits_for_the_earlier_step_that_may_change_it() -> None:
    found = needs(CHANGE, beam=True)
    assert found[2] == {1}
    assert found[3] == {1, 2}
    assert found[4] == set()


def test_with_the_beam_one_that_rests_on_the_answer_by_others_waits_too() -> None:
    plan = (
        '1. a? = Relate("x", "p")\n2. What of [1]?\n3. b? = Relate([1], "q")\n'
        "4. And what of [2]?\n5. c? = Relate([4], [2])\n"
    )
    found = needs(plan, beam=True)
    assert 3 in found[4]
    assert 3 in found[5]


@pytest.mark.parametrize(
    "reader", ["2. What of [1]?", '2. b? = Relate([1], [9], "q")', '2. b? = Relate("x", "is it [1] or [9]?")']
)
def test_with_the_beam_a_step_does_not_change_an_answer_under_one_that_comes_earlier_and_reads_it(reader: str) -> None:
    plan = f'9. z? = Search("z")\n1. a? = Relate("x", "p")\n{reader}\n3. c? = Relate([1], "r")\n'
    assert 2 in needs(plan, beam=True)[3]
    assert 2 not in needs(plan, beam=False)[3]


def test_a_step_with_two_references_changes_neither() -> None:
    plan = '1. a? = Search("x")\n2. b? = Search("y")\n3. c? = Relate([1], [2])\n4. d? = Relate([1], [2])\n'
    assert needs(plan, beam=True)[4] == {1, 2}


@pytest.mark.parametrize("beam", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_dependencies_point_backwards_and_two_that_touch_one_answer_are_in_order(seed: int, beam: bool) -> None:
    tree = random_tree(random.Random(seed))
    order = [node.id for node in tree.bottom_up()]
    found = dependencies(tree, order, beam=beam)
    assert list(found) == order
    at = {node_id: i for i, node_id in enumerate(order)}
    after: dict[int, set[int]] = {}  # all that has surely ended when a node begins
    for node_id in order:
        assert all(at[other] < at[node_id] for other in found[node_id])
        after[node_id] = found[node_id].union(*(after[i] for i in found[node_id]))
        node = tree.node(node_id)
        assert {*node.references, *(child.id for child in node.children)} <= found[node_id]
    if beam:
        for changer in order:
            node = tree.node(changer)
            if node.call is None or len(node.references) != 1:
                continue
            earlier = tree.node(node.references[0])  # only a step of its own carries other answers
            for reader in order:
                if reader != changer and earlier.call is not None and earlier.id in after_references(tree, reader):
                    first, then = sorted((changer, reader), key=at.__getitem__)
                    assert first in after[then]


def after_references(tree: Tree, node_id: int) -> set[int]:
    node = tree.node(node_id)
    direct = {*node.references, *(child.id for child in node.children)}
    return direct.union(*(after_references(tree, i) for i in direct))


# The same as one at a time

WORDS = ["Ann", "Bob", "Cyd", "Dov", "1950", "3 March 1948", "painter", "York", "12"]
CONDITIONS = ["is a painter", "was born in York", "born after 1940"]
QUESTIONS = ["Who of {} was born first?", "How many are in {}?", "What of {}?", "Are {} the same?", "Why {}?"]


def random_tree(chance: random.Random) -> Tree:
    """A valid tree of up to some twenty nodes: chains, several children, every operator, direct nodes."""
    answered: list[int] = []
    count = 0

    def argument() -> Literal | References:
        known = chance.sample(answered, min(len(answered), chance.choice([0, 1, 1, 1, 2])))
        if not known:
            return Literal(chance.choice(NAMES))
        return References(tuple(known)) if chance.random() < 0.8 else Literal(f"all of [{known[0]}]")

    def leaf(number: int) -> Node:
        kind = chance.random()
        if kind < 0.2 and answered:
            named = " and ".join(f"[{i}]" for i in chance.sample(answered, min(len(answered), chance.randint(1, 3))))
            return Node(number, chance.choice(QUESTIONS).format(named))
        if kind < 0.4:
            return Node(number, f"Who is {number}?", OperatorCall(Operator.SEARCH, (Literal(chance.choice(NAMES)),)))
        if kind < 0.6 and answered:
            arguments = (argument(), Literal(chance.choice(CONDITIONS)))
            return Node(number, f"Which {number}?", OperatorCall(Operator.FILTER, arguments))
        head, relation = argument(), Literal(chance.choice(["father", "job", "date of birth"]))
        asked = f"What is the {relation.text} of {number}?"
        if isinstance(head, References):
            asked = f"What is the {relation.text} of [{head.ids[0]}]?"
        tail = argument() if chance.random() < 0.2 else relation
        return Node(number, asked, OperatorCall(Operator.RELATE, (head, tail)))

    def build(depth: int) -> Node:
        nonlocal count
        count += 1
        number = count
        if depth < 2 and count < 14 and chance.random() < 0.35:
            children = tuple(build(depth + 1) for _ in range(chance.randint(1, 4)))
            node = Node(number, f"And what of {number}?", children=children)
        else:
            node = leaf(number)
        answered.append(number)
        return node

    tree = Tree(
        Node(0, chance.choice(QUESTIONS).format("Ann"), children=tuple(build(0) for _ in range(chance.randint(1, 5))))
    )
    check(tree)
    return tree


def number_of(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "big")


def a_moment() -> None:
    """Let threads interleave otherwise in every run."""
    time.sleep(random.random() * 0.002)


class DrawnBackbone(AnsweringBackbone):
    """Answers drawn by the prompt: the same words get the same answer, whenever they come."""

    def __init__(self, seed: int, failing: float) -> None:
        super().__init__(lambda _asked: "")
        self._seed = seed
        self._failing = failing

    def say(self, asked: str, max_tokens: int, seed: int) -> tuple[str, float]:
        a_moment()
        chance = random.Random(number_of(self._seed, asked, max_tokens, seed))
        if chance.random() < self._failing:
            raise ModelError("it broke")
        probability = chance.uniform(0.2, 0.95)
        if max_tokens < 20:
            return chance.choice(["text", "graph", "graph, text", "text, graph"]), probability
        if chance.random() < 0.2:
            return reply(), probability
        answers = chance.sample(WORDS, chance.choice([1, 1, 1, 2, 3]))
        return reply(*answers, evidence=[chance.randint(1, 3)]), probability


class DrawnSource(FakeSource):
    """Finds what is drawn by the query, from passages that other queries find too."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name)
        self._seed = seed

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        a_moment()
        chance = random.Random(number_of(self._seed, self.name, request.query, request.operator))
        kind = chance.random()
        if kind < 0.1:
            raise SourceError(f"no answer on {request.query}")
        if kind < 0.3:
            return Retrieval()
        if self.name == "graph":
            values = [entity(name) for name in chance.sample(NAMES, chance.choice([0, 1, 1, 1, 3]))]
            if request.operator is Operator.FILTER:
                values = [request.arguments[0]] if chance.random() < 0.5 else []
            elif "birth" in request.query:
                values = [Value(chance.choice(["1950", "1948-03-03"]))]
            return rows(
                chance.choice(NAMES), *values, link=chance.choice([1.0, 0.6]), relation=chance.choice([1.0, 0.5])
            )
        found = [
            passage(f"{chance.choice(NAMES)}", f"{chance.choice(NAMES)} {chance.choice(CONDITIONS)}.", chance.random())
            for _ in range(chance.randint(1, 3))
        ]
        return Retrieval(tuple(found))


def told(run: ParallelRun, node: NodeTrace) -> dict[str, Any]:
    """A node without what may differ: times, and ids of evidence, which become titles and texts."""
    titles = {item.id: f"{item.title}: {item.text}" for item in run.trace.evidence}
    data = dataclasses.asdict(node)
    del data["seconds"]
    data["evidence"] = [titles[item] for item in node.evidence]
    data["cited"] = [titles[item] for item in node.cited]
    data["dropped"] = [re.sub(r"^e\d+\b", lambda match: titles[match[0]], note) for note in node.dropped]
    data["asked"] = sorted(
        (event.purpose, event.prompt, event.completion.text)
        for event in run.of(node.id)
        if isinstance(event, ModelCalled)
    )
    data["queries"] = sorted((e.source, e.query) for e in run.of(node.id) if isinstance(e, RetrievalStarted))
    if node.error is not None:  # what of its runs began before the first failed is left to chance
        for key in ("llm", "asked"):
            del data[key]
    return data


def whole(run: ParallelRun, *, failing: bool) -> dict[str, Any]:
    nodes = [told(run, node) for node in run.trace.nodes]
    if failing:  # the evidence of a node that failed comes in the order in which it was found
        for node in nodes:
            node["evidence"] = sorted(node["evidence"])
    evidence = sorted((e.source, e.title, e.text) for e in run.trace.evidence)
    result = run.result
    return {
        "nodes": nodes,
        "evidence": evidence,
        "error": str(run.error),
        "values": result and result.values,
        "confidence": result and result.confidence,
        "method": result and result.method,
        "warnings": sorted(run.trace.warnings),
    }


FEATURES = [
    {"beam": True, "rival": True, "guess": True},
    {"beam": True, "rival": False, "guess": True},
    {"beam": False, "rival": False, "guess": False, "symbolic": False},
]


@pytest.mark.parametrize(
    ("seed", "failing"), [*((seed, 0.0) for seed in range(60)), *((seed, 0.1) for seed in range(1000, 1025))]
)
def test_a_tree_run_together_comes_to_what_it_comes_to_one_node_at_a_time(seed: int, failing: float) -> None:
    """Also where the model fails now and then."""
    tree = random_tree(random.Random(seed))
    features = {"beam": True, "rival": seed % 2 == 0, "guess": False} if failing else FEATURES[seed % 3]
    limits = {"references": 5} if failing else {"references": 5, "evidence_tokens": 64}

    def run(parallel: int) -> dict[str, Any]:
        sources = [DrawnSource("text", seed), DrawnSource("graph", seed)][: 2 if failing else 1 + seed % 2]
        backbone = DrawnBackbone(seed, failing)
        made = ParallelRun(
            tree, backbone, *sources, parallel=parallel, question=tree.question, features=features, limits=limits
        )
        return whole(made, failing=failing > 0)

    one = run(1)
    assert run(2) == one
    assert run(4) == one


def test_a_step_that_changes_an_earlier_answer_does_not_change_what_one_before_it_reads() -> None:
    """Step 3 finds the other reading of step 1 the better; step 2, slow by its step 9, still reads the first one."""

    def run(parallel: int) -> ParallelRun:
        changed = threading.Event()

        class Unsure(AnsweringBackbone):
            def say(self, asked: str, max_tokens: int, seed: int) -> tuple[str, float]:
                if "Zoe sings" in asked:
                    if parallel > 1:
                        changed.wait(0.3)  # a wrong order has the time to show
                    return reply("song", evidence=[1]), 0.9
                if "Ann sings" in asked:
                    return (reply("Carl", evidence=[1]), 0.35) if seed else (reply("Bob", evidence=[1]), 0.4)
                if "Carl dances" in asked:
                    return reply("Paris", evidence=[1]), 0.99
                return reply("Rome", evidence=[1]), 0.61

        def sink(event: Event) -> None:
            if isinstance(event, NodeFinished) and event.node_id == 3:
                changed.set()

        queries = {"Zoe p": ("Zoe", "Zoe sings"), "Ann p": ("Ann", "Ann sings"), "Carl r": ("Carl", "Carl dances")}
        queries |= {"Bob r": ("Bob", "Bob dances"), "Bob song": ("Song", "of Bob"), "Carl song": ("Song", "of Carl")}
        text = FakeSource("text", {query: passages(found) for query, found in queries.items()})
        plan = (
            '9. What of Zoe? = Relate("Zoe", "p")\n1. Who is with Ann? = Relate("Ann", "p")\n'
            '2. What of [1] and [9]? = Relate([1], [9])\n3. Where is [1]? = Relate([1], "r")\n'
        )
        features = {"beam": True, "rival": False, "guess": False}
        return ParallelRun(plan, Unsure(lambda _asked: ""), text, parallel=parallel, sink=sink, features=features)

    one = run(1)
    assert one.node(1).answer == "Carl"
    assert one.node(2).resolved_question == "What of Bob and song?"
    assert one.node(3).answer == "Paris"
    assert whole(run(4), failing=False) == whole(one, failing=False)


# Together, proved


def test_one_node_retrieves_while_the_model_still_reads_for_its_sibling() -> None:
    reading, retrieved = threading.Event(), threading.Event()

    def answer(asked: str) -> str:
        if "Ann is" in asked and "Bob is" not in asked:
            reading.set()
            assert retrieved.wait(PATIENCE), "Bob's retrieval waited for Ann's reading to end"
        return reply("painter", evidence=[1])

    def hook(query: str) -> None:
        if query == "Bob job":
            assert reading.wait(PATIENCE)
            retrieved.set()

    run = ParallelRun(JOBS, AnsweringBackbone(answer), HookedSource("text", jobs("Ann", "Bob"), hook), parallel=2)
    assert run.error is None
    assert [run.node(i).answers for i in (1, 2)] == [["painter"], ["painter"]]


def test_the_runs_of_one_operator_read_together() -> None:
    barrier = threading.Barrier(3, timeout=PATIENCE)

    def answer(_asked: str) -> str:
        barrier.wait()  # passes only where three read at once
        return reply("painter", evidence=[1])

    graph = FakeSource("graph", {"Ann child": rows("Ann", *(entity(name) for name in NAMES[1:4]))})
    text = FakeSource("text", jobs(*NAMES[1:4]))
    plan = '1. Who are the children of Ann? = Relate("Ann", "child")\n2. Their jobs, of [1]? = Relate([1], "job")\n'
    run = ParallelRun(plan, AnsweringBackbone(answer), graph, text, parallel=3)
    assert run.node(2).answers == ["painter"]
    assert run.node(2).llm.calls == 3


def test_a_chain_stays_in_order() -> None:
    plan = '1. a? = Relate("Ann", "job")\n2. b? = Relate([1], "job")\n3. c? = Relate([2], "job")\n'
    names = iter(["Bob", "Cyd", "Dov"])
    text = FakeSource("text", jobs("Ann", "Bob", "Cyd"))
    run = ParallelRun(plan, AnsweringBackbone(lambda _asked: reply(next(names), evidence=[1])), text)
    assert text.queries == ["Ann job", "Bob job", "Cyd job"]
    assert run.result is not None and run.result.texts == ("Dov",)


def test_no_more_nodes_run_at_once_than_asked_for() -> None:
    lock, running, most = threading.Lock(), 0, 0

    def answer(_asked: str) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1
        return reply("painter", evidence=[1])

    ParallelRun(ALL_JOBS, AnsweringBackbone(answer), FakeSource("text", jobs(*NAMES)), parallel=2)
    assert most <= 2


# Failures and cancelling


def test_one_failing_node_does_not_take_its_siblings_down() -> None:
    both = threading.Barrier(2, timeout=PATIENCE)
    failed = threading.Event()

    def answer(asked: str) -> str:
        if "Ann is" in asked:
            both.wait()
            raise ModelError("the model broke")
        if "Bob is" in asked:
            both.wait()
            assert failed.wait(PATIENCE)  # Bob's call outlives Ann's failure
            return reply("singer", evidence=[1])
        return reply("singing")

    def sink(event: Event) -> None:
        if isinstance(event, NodeFinished) and event.node_id == 1:
            failed.set()

    text = FakeSource("text", jobs("Ann", "Bob"))
    run = ParallelRun(JOBS, AnsweringBackbone(answer), text, sink=sink)
    assert run.node(1).error == {"title": "Model not usable", "message": "the model broke"}
    assert [run.trace.evidence[int(i[1:]) - 1].title for i in run.node(1).evidence] == ["Ann"]
    assert (run.node(2).answers, run.node(2).error) == (["singer"], None)
    assert run.result is not None and run.result.texts == ("singing",)


@pytest.mark.parametrize("parallel", [1, 4])
def test_the_roots_failure_is_raised_and_in_the_trace(parallel: int) -> None:
    def answer(asked: str) -> str:
        if "is a painter" in asked and "1. What" not in asked:
            return reply("painter", evidence=[1])
        raise ModelError("the root broke")

    run = ParallelRun(JOBS, AnsweringBackbone(answer), FakeSource("text", jobs("Ann", "Bob")), parallel=parallel)
    assert isinstance(run.error, ModelError)
    assert run.node(0).error == {"title": "Model not usable", "message": "the root broke"}
    assert run.node(1).answers == run.node(2).answers == ["painter"]


def test_a_bug_in_one_node_is_raised_and_nothing_more_begins() -> None:
    def answer(_asked: str) -> str:
        raise ZeroDivisionError("oops")

    events: list[Event] = []
    with pytest.raises(ZeroDivisionError):
        ParallelRun(
            ALL_JOBS, AnsweringBackbone(answer), FakeSource("text", jobs(*NAMES)), parallel=2, sink=events.append
        )
    started = [event.node_id for event in events if isinstance(event, NodeStarted)]
    assert 0 not in started


def test_cancelling_while_several_nodes_run_ends_them_and_the_trace_keeps_what_was_found() -> None:
    cancellation = Cancellation()
    together = threading.Barrier(2, timeout=PATIENCE)

    def answer(asked: str) -> str:
        if "Ann is" in asked:
            return reply("painter", evidence=[1])
        together.wait()  # two calls run now
        cancellation.cancel()
        raise Cancelled()

    ann_ended = threading.Event()

    def hook(query: str) -> None:
        if query != "Ann job":
            assert ann_ended.wait(PATIENCE)

    def sink(event: Event) -> None:
        if isinstance(event, NodeFinished) and event.node_id == 1:
            ann_ended.set()

    text = HookedSource("text", jobs(*NAMES), hook)
    run = ParallelRun(ALL_JOBS, AnsweringBackbone(answer), text, parallel=2, sink=sink, cancellation=cancellation)
    assert isinstance(run.error, Cancelled)
    assert run.result is None
    assert run.node(1).answers == ["painter"]
    assert {item.title for item in run.trace.evidence} == {"Ann", "Bob", "Cyd"}
    assert all(run.node(i).evidence for i in (1, 2, 3))  # found before they were cancelled
    assert [event.node_id for event in run.events if isinstance(event, NodeFinished)] == [1]
    assert sorted(event.node_id for event in run.events if isinstance(event, NodeStarted)) == [1, 2, 3]


def test_cancelled_before_it_begins_nothing_is_asked() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    text = FakeSource("text", jobs("Ann", "Bob"))
    run = ParallelRun(JOBS, AnsweringBackbone(lambda _asked: reply("x")), text, cancellation=cancellation)
    assert isinstance(run.error, Cancelled)
    assert text.requests == []


# Events


@pytest.mark.parametrize("seed", range(12))
def test_a_nodes_events_come_in_order_though_nodes_interleave(seed: int) -> None:
    tree = random_tree(random.Random(2000 + seed))
    run = ParallelRun(
        tree, DrawnBackbone(seed, 0.0), DrawnSource("text", seed), DrawnSource("graph", seed), question=tree.question
    )
    at = {
        (type(event), event.node_id): i
        for i, event in enumerate(run.events)
        if isinstance(event, NodeStarted | NodeFinished)
    }
    for node in tree.nodes():
        events = run.of(node.id)
        inner = [event for event in events if not (node.id == 0 and isinstance(event, TextGenerated))]
        assert isinstance(inner[0], NodeStarted)
        assert isinstance(inner[-1], NodeFinished)
        assert [type(event) for event in events].count(NodeStarted) == 1
        assert [type(event) for event in events].count(NodeFinished) == 1
        opened = 0
        for event in events:
            opened += isinstance(event, RetrievalStarted) - isinstance(event, EvidenceFound)
            assert opened >= 0
        for below in (*node.references, *(child.id for child in node.children)):
            assert at[NodeFinished, below] < at[NodeStarted, node.id]
    assert max(at.values()) == at[NodeFinished, 0]


def test_sources_are_chosen_before_the_model_reads() -> None:
    run = ParallelRun(
        JOBS, AnsweringBackbone(lambda _asked: reply("painter", evidence=[1])), FakeSource("text", jobs("Ann", "Bob"))
    )
    for number in (1, 2):
        kinds = [type(event) for event in run.of(number)]
        wanted = [
            NodeStarted,
            SourcesSelected,
            RetrievalStarted,
            EvidenceFound,
            TextGenerated,
            ModelCalled,
            NodeFinished,
        ]
        assert kinds == wanted


def test_the_consumer_gets_one_event_at_a_time() -> None:
    inside = threading.Lock()
    overlaps: list[Event] = []

    def sink(event: Event) -> None:
        if not inside.acquire(blocking=False):
            overlaps.append(event)
            return
        a_moment()
        inside.release()

    tree = random_tree(random.Random(3))
    ParallelRun(tree, DrawnBackbone(3, 0.0), DrawnSource("text", 3), question=tree.question, sink=sink)
    assert overlaps == []


def test_a_recorder_used_from_eight_threads_has_every_piece_of_evidence_once_and_every_call() -> None:
    seen: list[Event] = []
    recorder = Recorder(QUESTION, "atomr", {}, seen.append)
    tools = ParallelRun(JOBS, AnsweringBackbone(lambda _asked: reply("x")))  # for its plan
    for event in tools.events:
        if type(event).__name__ == "PlanReady":
            recorder.emit(event)
    begin = threading.Barrier(8, timeout=PATIENCE)
    made = Generation("x", (Token("x", 0.0),), "stop", 3, 2, 0.0)

    def work(number: int) -> list[tuple[str, str, float]]:
        chance = random.Random(number)
        begin.wait()
        taken: list[Evidence] = []
        for _ in range(100):
            found = [passage(f"page {i}", f"text {i}", score=number) for i in chance.sample(range(40), 3)]
            taken.extend(recorder.take_in(found))
            recorder.emit(ModelCalled(node_id=number % 3, purpose="read", prompt="", completion=made))
            recorder.evidence_of(number % 3)
        return [(item.id, item.title, item.score) for item in taken]

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(work, range(8)))
    ids = [item.id for item in recorder.trace.evidence]
    assert ids == [f"e{i}" for i in range(1, len(ids) + 1)]
    titles = [item.title for item in recorder.trace.evidence]
    assert sorted(titles) == sorted({title for part in taken for _, title, _ in part})
    by_id = dict(zip(ids, titles, strict=True))
    for number, part in enumerate(taken):
        assert all(by_id[given] == title and score == number for given, title, score in part)
    assert sum(recorder.use_of(i).calls for i in range(3)) == 800
    assert recorder.finish().totals.llm_calls == 800
    assert sum(isinstance(event, ModelCalled) for event in seen) == 800
