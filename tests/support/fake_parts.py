"""Fakes for what a model makes random and for what a test wants a source to find; and short ways to run a tree."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from atomr_local.models.protocol import Backbone, BackboneInfo, Generation, GenerationRequest, Prompt, Token
from atomr_local.models.templates import Style
from atomr_local.reasoning.confidence import Calibration
from atomr_local.reasoning.planning.examples import ExampleLibrary
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.reading.reader import SpanJudge
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import Event
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import (
    Evidence,
    Linked,
    PropertyOffer,
    QueryRows,
    Request,
    Retrieval,
    SourceName,
    Value,
    ValueKind,
)
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import ModelSkills, QuestionContext
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits

Reply = str | Exception | Callable[[Prompt], str]
PROBABILITY = 0.8
_WORD = re.compile(r"(?<!\s)\s*\S+(?:\s+$)?")  # not begun anew inside white space: linear


def reply(*answers: str, evidence: Iterable[int] = ()) -> str:
    """The model's structured answer; without answers: Unknown."""
    text = ", ".join(answers) or "Unknown"
    return json.dumps({"answer": text, "answers": list(answers), "evidence": list(evidence)})


UNKNOWN = reply()


class Said(str):
    """A reply that the model is this sure of."""

    probability: float

    def __new__(cls, text: str, probability: float) -> Said:
        said = super().__new__(cls, text)
        said.probability = probability
        return said


class Told(Said):
    """A reply whose watched texts have these probabilities."""

    watched: tuple[float, ...]

    def __new__(cls, text: str, probability: float, *watched: float) -> Told:
        said = super().__new__(cls, text, probability)
        assert isinstance(said, Told)
        said.watched = watched
        return said


class FakeBackbone:
    """Says what was enqueued, in order; every word, with the space before it, is a token. Asked more often than that, the test has failed."""

    def __init__(self, *replies: Reply, context_tokens: int = 100_000) -> None:
        self.replies = list(replies)
        self.prompts: list[Prompt] = []
        self.grammars: list[str | None] = []
        self.lookup_texts: list[tuple[str, ...]] = []
        self.requests: list[GenerationRequest] = []
        self.info = BackboneInfo("fake", None, context_tokens)

    def count_tokens(self, prompt: Prompt) -> int:
        return sum(len(message.content.split()) for message in prompt.messages)

    def generate(self, request: GenerationRequest) -> Generation:
        if request.cancellation is not None:
            request.cancellation.check()
        prompt = request.prompt
        count = self.count_tokens(prompt)
        assert count + request.max_tokens <= self.info.context_tokens, "the prompt does not fit"
        assert self.replies, f"unexpected call: {prompt.messages[-1].content}"
        self.prompts.append(prompt)
        self.grammars.append(request.output.gbnf if request.output is not None else None)
        self.lookup_texts.append(request.lookup_texts)
        self.requests.append(request)
        given = self.replies.pop(0)
        if isinstance(given, Exception):
            raise given
        probability = given.probability if isinstance(given, Said) else PROBABILITY
        text = given if isinstance(given, str) else given(prompt)
        if request.on_text is not None:
            request.on_text(text)
        tokens = tuple(Token(word, math.log(probability)) for word in _WORD.findall(text))
        watched = tuple(map(math.log, given.watched)) if isinstance(given, Told) else (math.nan,) * len(request.watch)
        return Generation(text, tokens, "stop", count, count, 0.0, watched)

    def close(self) -> None: ...

    @property
    def asked(self) -> list[str]:
        """The last message of every prompt."""
        return [prompt.messages[-1].content for prompt in self.prompts]


def cancelling(cancellation: Cancellation) -> Callable[[Prompt], str]:
    """A reply of :class:`FakeBackbone` in which the question is cancelled."""

    def cancel(_prompt: Prompt) -> str:
        cancellation.cancel()
        cancellation.check()
        raise AssertionError

    return cancel


class FakeSource:
    """Finds by query; an exception is raised, an unknown query finds nothing."""

    def __init__(self, name: str, found: Mapping[str, Retrieval | Exception] | None = None) -> None:
        self.name = name
        self.found = dict(found or {})
        self.requests: list[Request] = []

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        cancellation.check()
        self.requests.append(request)
        given = self.found.get(request.query, Retrieval())
        if isinstance(given, Exception):
            raise given
        return given

    def close(self) -> None: ...

    @property
    def queries(self) -> list[str]:
        return [request.query for request in self.requests]


def texts(usual: dict[str, Any]) -> Callable[..., FakeSource]:
    """Makes text sources that find this, unless they are given something else to find."""
    return lambda found=None: FakeSource("text", usual if found is None else found)


class FakeGraphSource(FakeSource):
    """A graph to look around in that has nothing beside what it finds by query.

    Attributes:
        sets: how many requests each set had that was looked up together.
    """

    facts_missing = "it has no facts as text"

    def __init__(self, found: Mapping[str, Retrieval | Exception] | None = None) -> None:
        super().__init__("graph", found)
        self.sets: list[int] = []

    def retrieve_set(self, requests: Sequence[Request], cancellation: Cancellation) -> list[Retrieval]:
        self.sets.append(len(requests))
        return [self.retrieve(request, cancellation) for request in requests]

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        return ()

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        return None

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        return ()

    def label(self, iri: str) -> str:
        return iri

    def query_session(self) -> FakeGraphSource:
        return self

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        return QueryRows(sparql)

    def facts(self, query: str, number: int, cancellation: Cancellation) -> tuple[Evidence, ...]:
        return ()


def passage(title: str, text: str, score: float = 0.1) -> Evidence:
    return Evidence(SourceName.TEXT, title, text, score, "", {"passage": title, "span": [0, len(text)]})


def passages(*items: tuple[str, str]) -> Retrieval:
    return Retrieval(tuple(passage(title, text) for title, text in items))


def entity(name: str) -> Value:
    return Value(name, ValueKind.ENTITY, f"https://example.org/{name.replace(' ', '_')}")


def rows(head: str, *values: Value, link: float = 1.0, relation: float = 1.0, decided: bool = True) -> Retrieval:
    """What a graph finds: one piece of evidence with its query and rows, and the values."""
    names = ", ".join(value.text for value in values)
    found = Evidence(
        SourceName.GRAPH, head, f"{head}: {names}.", 1.0, head,
        {"sparql": "SELECT ?x {}", "rows": [{"x": value.text} for value in values]},
    )  # fmt: skip
    return Retrieval((found,), values, link, relation, decided)


def toolbox(
    question: str,
    backbone: Backbone,
    *sources: FakeSource,
    sink: Callable[[Event], None] = lambda _event: None,
    cancellation: Cancellation | None = None,
    calibration: Calibration | None = None,
    verifies: bool = False,
    knows_next: bool = False,
    points: bool = False,
    span_reader: SpanJudge | None = None,
    style: Style = "full",
    options: StrategyOptions | None = None,
    ranking: Ranking | None = None,
    **settings: Any,
) -> QuestionContext:
    # What adds model calls of its own is asked for by the tests that are about it.
    chosen = load_settings(
        **{"features": {"rival": False, "beam": False, "guess": False, "page_alone": False}} | settings
    )
    recorder = Recorder(question, "atomr", {"model": "fake"}, sink)
    planner = Planner(backbone, ExampleLibrary.shipped(), Limits())
    by_name = {source.name: source for source in sources}
    parts = (backbone, by_name, planner, recorder, cancellation or Cancellation(), chosen)
    return QuestionContext(
        *parts,
        skills=ModelSkills(style, calibration or Calibration(), verifies, knows_next=knows_next, points=points),
        options=options,
        span_reader=span_reader,
        ranking=ranking,
    )


def begun(
    question: str,
    *sources: FakeSource,
    backbone: Backbone | None = None,
    events: list[Event] | None = None,
    **given: Any,
) -> QuestionContext:
    """The toolbox of a question without a plan, of which steps can run; without a backbone a call of it fails the test."""
    sink = ([] if events is None else events).append
    tools = toolbox(question, backbone or FakeBackbone(), *sources, sink=sink, **given)
    tools.steps.begin(question)
    return tools


class Run:
    """A plan in compact notation, executed on fakes."""

    def __init__(
        self, question: str, plan: str | Tree, backbone: FakeBackbone, *sources: FakeSource, **settings: Any
    ) -> None:
        self.events: list[Event] = []
        self.tools = toolbox(question, backbone, *sources, sink=self.events.append, **settings)
        tree = plan if isinstance(plan, Tree) else parse_compact(plan, question)
        self.result: Result = AtomR().run(question, tree, "user", self.tools)
        assert not backbone.replies, "the model was asked less often than expected"

    @property
    def trace(self) -> Trace:
        return self.tools.recorder.trace

    def node(self, number: int) -> NodeTrace:
        return self.trace.node(number)

    def of_type(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]
