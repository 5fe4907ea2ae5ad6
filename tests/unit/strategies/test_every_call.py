"""Every model call of a strategy, one after another: cancelled in it, and the calls used up before it.

The scripts hold every kind of call that the strategy makes, for a model that follows instructions and for an adapter
that has learnt the closed tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.fake_facts import fact
from support.fake_graph_tools import FakeGraphWithFacts
from support.fake_pages import FakePages
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, cancelling, passages, reply, toolbox
from support.small_graph import FakeGraphTools

from atomr_local.backbone.protocol import Generation, GenerationRequest, Prompt
from atomr_local.cancellation import Cancellation
from atomr_local.errors import Cancelled, QueryError
from atomr_local.reasoning.asking.asking import CALLS_TO_CONCLUDE
from atomr_local.reasoning.confidence.calibration import Calibration, LogisticModel, LogisticTerm
from atomr_local.sources.protocol import QueryRows
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.registry import find_strategy

QUESTION = "Who is the mother of the director of Emma Road?"
DIRECTOR, MOTHER = "Who directed Emma Road?", "Who is the mother of Ann Lee?"
FILM = ("Emma Road", "Emma Road is a film by Ann Lee.")
LEE = ("Ann Lee", "Ann Lee is a director, the daughter of Eve Lee.")
WRONG, RIGHT = "Emma Road was directed by Bob Ray.", "Emma Road was directed by Ann Lee."
NEXT, TOLD = "Ann Lee is the daughter of Ida Lee.", "Ann Lee is the daughter of Eve Lee."
SEARCHED = [QUESTION, DIRECTOR, MOTHER, WRONG, NEXT, "Where was Emma Road made?", "Emma Road", "Ann Lee"]
SEARCHED += ["Emma Road director", "Emma Road place"]
FOUND = {asked: passages(FILM, LEE) for asked in SEARCHED}
FACTS = {DIRECTOR: [fact("Emma Road", "director", "Ann Lee")], MOTHER: [fact("Ann Lee", "mother", "Eve Lee")]}
STATEMENTS = [("Emma Road", "director", "Ann Lee"), ("Ann Lee", "mother", "Eve Lee")]
DIRECTOR_QUERY, MOTHER_QUERY = (
    "Query: select ?x: Emma Road | director | ?x",
    "Query: select ?x: Ann Lee | mother | ?x",
)
ANN, EVE = reply("Ann Lee", evidence=[1]), reply("Eve Lee", evidence=[1])
PAGES: dict[str, Sequence[str]] = {
    "Emma Road": ("Emma Road is a film by Ann Lee.",),
    "Ann Lee": ("Ann Lee is the daughter of Eve Lee.",),
}
PROPERTIES = {"Emma Road": {"director": ["Ann Lee"]}, "Ann Lee": {"mother": ["Eve Lee"]}}


def text() -> FakeSource:
    return FakeSource("text", FOUND)


def graph() -> FakeGraphWithFacts:
    return FakeGraphWithFacts(STATEMENTS, FACTS)


def act(name: str, given: str) -> str:
    return f"Thought: so\nAction: {name}\nInput: {given}"


@dataclass(frozen=True)
class Script:
    """What the model says from the first call to the last.

    Attributes:
        bare: the model tells no log-probabilities.
        concluding: so many of the last calls conclude.
    """

    strategy: str
    replies: Sequence[str]
    sources: Callable[[], tuple[FakeSource, ...]] = lambda: (text(),)
    options: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    bare: bool = False
    concluding: int = 1

    def tools(self, backbone: FakeBackbone, **given: Any) -> Toolbox:
        options = find_strategy(self.strategy).options(**self.options)
        return toolbox(
            QUESTION, backbone, *self.sources(), options=options, calibration=PLAIN,
            **{"llm": {"parallel": 1}} | dict(self.given) | given,
        )  # fmt: skip

    def run(self, tools: Toolbox) -> Any:
        return find_strategy(self.strategy).run(QUESTION, None, "model", tools)


# The probability of a reading is how sure the model is of its tokens.
PLAIN = Calibration(step=LogisticModel(0.0, (LogisticTerm("reading", 1.0),)))
LEAN: dict[str, Any] = {"style": "lean", "knows_next": True}
CHAIN = f"Query 1: {DIRECTOR}\nAnswer 1: Bob Ray\nNext 1: the end\nFinal: Bob Ray"
CHAINS = [f"First: {WRONG}\nSecond: {WRONG[:-1]} too.\nAnswer: {name}" for name in ("Ida Lee", "Amy Ray", "Unknown")]
CHECKED = (f"Passage: 1\nFact: {RIGHT}", f"Fact: {NEXT}")
HOP = f"Reasons: so.\nQuestion: {DIRECTOR}\nName: Emma Road"
HOP_2 = f"Reasons: so.\nFound: Ann Lee\nQuestion: {MOTHER}\nName: Ann Lee"
PLAN = f'0. {QUESTION}\n1. {DIRECTOR} = Relate("Emma Road", "director")\n2. Where was Emma Road made? = Relate("Emma Road", "place")'
REASONED = "Reasons: so [1].\nAnswer: {}"
SCRIPTS = {
    "atomr, parts combined": Script("atomr", (PLAN, ANN, reply("York", evidence=[1]), reply("Eve Lee"))),
    "atomr, the question read as a whole": Script("atomr", (f"0. {QUESTION}", UNKNOWN, reply("Eve Lee")), concluding=2),
    "closed-book": Script("closed-book", (reply("Eve Lee"),)),
    "cot": Script("cot", ("Ann Lee made it.", reply("Eve Lee")), concluding=2),
    "rag, verified": Script("rag", (EVE, "yes"), given={"verifies": True}, concluding=2),
    "self-ask": Script(
        "self-ask",
        (f"Needed: yes\nFollow-up: {DIRECTOR}", ANN, f"Next: another follow-up\nFollow-up: {MOTHER}", EVE,
         "Next: the answer\nAnswer: Eve Lee"),
    ),
    "self-ask, memory, and the answer asked for": Script(
        "self-ask", (f"Needed: yes\nFollow-up: {DIRECTOR}", UNKNOWN, reply("Ann Lee"), "no form", reply("Eve Lee"))
    ),
    "self-ask, closed tasks": Script(
        "self-ask", (DIRECTOR, "Ann Lee [1]", MOTHER, "Eve Lee [1]", "Done"), given=LEAN
    ),
    "ircot": Script("ircot", (f"Next: {RIGHT}", f"Next: {TOLD}", "Next: So the answer is Eve Lee.", EVE)),
    "probtree": Script(
        "probtree",
        (PLAN, *map(REASONED.format, ("Ann Lee", "Bob", "York", "Unknown", "Ulm", "Eve Lee", "Unknown"))),
        concluding=3,
    ),
    "dsp": Script(
        "dsp",
        ("Query: Emma Road", "Summary: By Ann Lee.\nQuery: Ann Lee", *["Reasons: So.\nAnswer: Eve Lee"] * 2),
        options={"queries": 1, "chains": 2, "demonstrations": 0},
        concluding=2,
    ),
    "dsp, closed tasks": Script(
        "dsp", (DIRECTOR, "Ann Lee [1]", MOTHER, *["Eve Lee [1]"] * 2),
        options={"queries": 1, "chains": 2, "temperature": 0.0}, given=LEAN, concluding=2,
    ),
    "react, the action asked for again": Script(
        "react", (act("search", "Emma Road"), "Thought: so", act("search", "Ann Lee"), act("finish", "Eve Lee")),
        lambda: (FakePages(PAGES),),
    ),
    "react, to the vote": Script(
        "react", (act("search", "Emma Road"), *["Ann Lee made it.", reply("Eve Lee")] * 2),
        lambda: (FakePages(PAGES),), {"rounds": 1, "votes": 2}, concluding=4,
    ),
    "searchain, to the last round": Script(
        "searchain",
        (CHAIN, ANN, f"Next 1: another query\nQuery 2: {MOTHER}\nAnswer 2: unsolved\nNext 2: the end\nFinal: unsolved",
         EVE, reply("Eve Lee")),
        options={"rounds": 2},
    ),
    "searchain, samples instead of log-probabilities": Script(
        "searchain", (CHAIN, ANN, ANN, ANN, "Next 1: the end\nFinal: Ann Lee"), bare=True
    ),
    "searchain, memory": Script("searchain", ("no form", reply("Eve Lee"))),
    "searchain, closed tasks": Script(
        "searchain", (DIRECTOR, "Unknown", "Ann Lee [1]", MOTHER, "Ida Lee", "Done", "Eve Lee [1]", "Done", "Eve Lee"),
        given=LEAN,
    ),
    "searchain, closed tasks without asking on": Script(
        "searchain",
        (f"Query 1: {DIRECTOR}", "Ann Lee", f"Next 1: another query\nQuery 2: {MOTHER}", "Eve Lee", "Next 2: the end",
         "Ann Lee [1]", "Eve Lee [1]", "Eve Lee"),
        given={"style": "lean"},
    ),
    "cok, sources chosen and a query": Script(
        "cok",
        (*CHAINS, "text, graph", DIRECTOR_QUERY, *CHECKED, MOTHER_QUERY, f"Passage: 1\nFact: {TOLD}", "Answer: Eve Lee"),
        lambda: (text(), graph()),
        {"samples": 3},
    ),
    "cok, closed tasks": Script(
        "cok",
        (DIRECTOR, "Bob Ray", "Carl", "Who is the mother of Bob Ray?", "Who is the mother of Carl?", "Ida", "Unknown",
         "Done", "Done", "Ida", "Unknown", "Ann Lee [1]", MOTHER, "Ida", "Eve Lee [1]", "Done", "Eve Lee"),
        options={"samples": 2, "threshold": 1.0},
        given=LEAN,
    ),
    "detllm": Script(
        "detllm", (HOP, DIRECTOR_QUERY, HOP_2, MOTHER_QUERY, "Reasons: so.\nAnswer: Eve Lee"),
        lambda: (text(), graph()), {"queries": 1},
    ),
    "detllm, samples": Script(
        "detllm", (*[HOP] * 2, *[HOP_2] * 2, "Reasons: so.\nAnswer: Eve Lee"), options={"queries": 2, "sparql": False}
    ),
    "detllm, closed tasks": Script(
        "detllm", (DIRECTOR, DIRECTOR_QUERY, "Ann Lee [1]", MOTHER, MOTHER_QUERY, "Eve Lee [1]"),
        lambda: (text(), graph()), {"queries": 1}, LEAN,
    ),
    "roht, parts combined": Script(
        "roht", (PLAN, ANN, UNKNOWN, reply("York", evidence=[1]), UNKNOWN, reply("Eve Lee")),
        options={"samples": 1, "children_only": True},
    ),
    "roht, nothing found": Script("roht", (f"0. {QUESTION}", UNKNOWN, reply("Eve Lee")), options={"samples": 0}),
    "humaniq": Script(
        "humaniq",
        (act("search", "Emma Road"), act("read", "Emma Road | Who?"), ANN, act("id", "Ann Lee"),
         act("query", "Ann Lee | Who is the mother of Ann Lee?"), MOTHER_QUERY, act("run", "query 1"),
         act("finish", "Ann Lee | Eve Lee"), reply("Eve Lee"), "Answer: Eve Lee"),
        lambda: (FakePages(PAGES), FakeGraphTools(PROPERTIES)),
        {"examples": 0},
        concluding=2,
    ),
    "humaniq, the action asked for again, and verified": Script(
        "humaniq",
        (act("search", "Emma Road"), "Thought: so", act("read", "Emma Road | Who?"), ANN, act("finish", "Ann Lee | none"),
         DIRECTOR_QUERY, UNKNOWN, "Answer: Ann Lee"),
        lambda: (FakePages(PAGES), FakeGraphTools(PROPERTIES)),
        {"examples": 0},
        concluding=2,
    ),
}  # fmt: skip
EVERY = [(name, call) for name, script in SCRIPTS.items() for call in range(len(script.replies))]


class Bare(FakeBackbone):
    """Tells no log-probabilities."""

    def generate(self, request: GenerationRequest) -> Generation:
        given = super().generate(request)
        return Generation(given.text, (), given.finish, given.prompt_tokens, given.evaluated_tokens, 0.0, given.watched)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))


def backbone_of(script: Script, *replies: Any) -> FakeBackbone:
    return (Bare if script.bare else FakeBackbone)(*replies)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_is_the_whole_question(name: str) -> None:
    script = SCRIPTS[name]
    backbone = backbone_of(script, *script.replies)
    result = script.run(script.tools(backbone))
    assert not backbone.replies, "the model was asked less often than expected"
    assert result.values


@pytest.mark.parametrize(("name", "call"), EVERY)
def test_cancelled_in_every_call(name: str, call: int) -> None:
    cancellation, script = Cancellation(), SCRIPTS[name]

    cancel = cancelling(cancellation)
    tools = script.tools(backbone_of(script, *script.replies[:call], cancel), cancellation=cancellation)
    with pytest.raises(Cancelled):
        script.run(tools)
    root = tools.recorder.trace.node(0) if tools.recorder.trace.nodes else None
    assert root is None or (root.answers == [] and root.outcome is None), "nothing is told of a cancelled question"


@pytest.mark.parametrize(("name", "calls"), [(name, call) for name, call in EVERY if call])
def test_wherever_the_calls_end_the_question_is_concluded_and_it_is_said(name: str, calls: int) -> None:
    """What was found until then stands, with few calls more; nothing fails."""
    script = SCRIPTS[name]
    backbone = backbone_of(script, *script.replies[:calls], *[_concluding] * CALLS_TO_CONCLUDE)
    tools = script.tools(backbone, limits={"calls": calls})
    script.run(tools)
    trace = tools.recorder.trace
    notes = "\n".join(note for node in trace.nodes for note in node.dropped)
    errors = "\n".join((node.error or {}).get("message", "") for node in trace.nodes)
    ends_by_itself = calls >= len(script.replies) - script.concluding
    assert ends_by_itself or "model calls" in notes + errors, notes
    assert set(trace.node(0).cited) <= {item.id for item in trace.evidence}


def _concluding(prompt: Prompt) -> str:
    """An answer in the form that is asked for."""
    lean = prompt.static and len(prompt.static[0].content.split()) < 3
    return "Eve Lee" if lean else '{"answer": "Eve Lee", "answers": ["Eve Lee"], "evidence": []}'


QUERYING = [
    name for name, script in SCRIPTS.items() if any(text.startswith("Query: select") for text in script.replies)
]


@pytest.mark.parametrize("name", QUERYING)
def test_cancelled_while_a_query_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cancellation, script = Cancellation(), SCRIPTS[name]

    def query(_self: Any, sparql: str, given: Cancellation, **_: Any) -> QueryRows:
        cancellation.cancel()
        given.check()
        raise AssertionError

    monkeypatch.setattr(FakeGraphWithFacts, "query", query)
    monkeypatch.setattr(FakeGraphTools, "query", query)
    with pytest.raises(Cancelled):
        script.run(script.tools(backbone_of(script, *script.replies), cancellation=cancellation))


@pytest.mark.parametrize("name", QUERYING)
def test_a_query_that_is_stopped_leaves_the_rest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process was killed: told where it was asked, and the question goes on."""
    script = SCRIPTS[name]

    def query(_self: Any, _sparql: str, _given: Cancellation, **_: Any) -> QueryRows:
        raise QueryError("the query took longer than 5 seconds")

    monkeypatch.setattr(FakeGraphWithFacts, "query", query)
    monkeypatch.setattr(FakeGraphTools, "query", query)
    replies = [
        said
        for text in script.replies
        for said in ((text, "Query: none") if text.startswith("Query: select") else (text,))
    ]
    tools = script.tools(backbone_of(script, *replies))
    script.run(tools)
    said = [note for node in tools.recorder.trace.nodes for note in (*node.dropped, node.observation)]
    assert any("longer than 5 seconds" in note for note in said)
