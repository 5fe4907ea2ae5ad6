"""A question asked of a strategy on fakes; and for each strategy, scripts of all that the model says to a question.

The scripts hold every kind of call that the strategy makes, for a model that follows instructions and for an adapter
that has learnt the closed tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from atomr_local.models.protocol import Generation, GenerationRequest
from atomr_local.reasoning.confidence import Calibration, LogisticModel, LogisticTerm
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.registry import find_strategy
from support.fake_facts import fact
from support.fake_graph_tools import FakeGraphWithFacts
from support.fake_pages import FakePages
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Reply, passages, reply, toolbox
from support.small_graph import FakeGraphTools


class Bare(FakeBackbone):
    """Tells no log-probabilities, as some servers."""

    def generate(self, request: GenerationRequest) -> Generation:
        return replace(super().generate(request), tokens=())


def asked(
    strategy: str, question: str, backbone: FakeBackbone, *sources: FakeSource, **given: Any
) -> tuple[Result, Trace]:
    """The question answered by a strategy. Every reply must be asked for.

    Args:
        given: options of the strategy, and what `toolbox` takes.
    """
    chosen = find_strategy(strategy)
    options = {name: given.pop(name) for name in list(given) if name in chosen.options.model_fields}
    tools = toolbox(question, backbone, *sources, options=chosen.options(**options), **{"llm": {"parallel": 1}} | given)
    result = chosen.run(question, None, "model", tools)
    assert not backbone.replies, "the model was asked less often than expected"
    return result, tools.recorder.trace


def weighed(trace: Trace, node_id: int) -> list[tuple[str, str, float | None]]:
    """The candidates of a step: where each is from, what it is, and its score."""
    return [
        (one["origin"], one["answer"], None if one["score"] is None else round(one["score"], 3))
        for one in trace.node(node_id).candidates
    ]


def hops(trace: Trace) -> list[NodeTrace]:
    return [node for node in trace.nodes if node.label.startswith("hop")]


def titles(trace: Trace, ids: Sequence[str]) -> list[str]:
    by_id = {item.id: item.title for item in trace.evidence}
    return [by_id[found] for found in ids]


def told(trace: Trace) -> list[tuple[str, str]]:
    """What was done with tools, and what was seen then."""
    return [(f"{node.action['name']}[{node.action['input']}]", node.observation) for node in trace.nodes if node.action]


def notes(trace: Trace) -> str:
    """What is told beside the answers, of all steps: notes, and failures."""
    noted = [note for node in trace.nodes for note in node.dropped]
    return "\n".join([*noted, *((node.error or {}).get("message", "") for node in trace.nodes)])


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


def act(name: str, given: str, thought: str = "so") -> str:
    """A round of a strategy with tools."""
    return f"Thought: {thought}\nAction: {name}\nInput: {given}"


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

    def backbone(self, *replies: Reply) -> FakeBackbone:
        return (Bare if self.bare else FakeBackbone)(*replies)

    def context(self, backbone: FakeBackbone, *sources: FakeSource, **given: Any) -> QuestionContext:
        """What the question is answered with; without `sources`, with the script's own."""
        options = find_strategy(self.strategy).options(**self.options)
        return toolbox(
            QUESTION, backbone, *(sources or self.sources()), options=options, calibration=PLAIN,
            **{"llm": {"parallel": 1}} | dict(self.given) | given,
        )  # fmt: skip

    def run(self, tools: QuestionContext) -> Result:
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
DO = "Action: search\nInput: "
CHAINED = f'0. {QUESTION}\n1. {DIRECTOR} = Relate("Emma Road", "director")\n2. Who is the mother of [1]? = Relate([1], "mother")'
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
        ("Query: Emma Road", "Query: Emma Road director", "Summary: By Ann Lee.\nQuery: Ann Lee", "Summary: A film.\nQuery: Ann Lee",
         *map(REASONED.format, ("Eve Lee", "Ann Lee", "Eve Lee"))),
        options={"queries": 2, "chains": 3, "demonstrations": 0},
        concluding=3,
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
    "react, closed tasks": Script(
        "react", (DIRECTOR, DO + "Emma Road", "Ann Lee [1]", MOTHER, DO + "Ann Lee", "Eve Lee [1]", "Done", "Eve Lee",
                  "Action: finish\nInput: Eve Lee"),
        lambda: (FakePages(PAGES),), {"votes": 1}, LEAN, concluding=3,
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
        "detllm", (HOP, HOP.replace(DIRECTOR, "Where was Emma Road made?"), *[HOP_2] * 2, "Reasons: so.\nAnswer: Eve Lee"), options={"queries": 2, "sparql": False}
    ),
    "detllm, closed tasks": Script(
        "detllm", (DIRECTOR, DIRECTOR_QUERY, "Ann Lee [1]", MOTHER, MOTHER_QUERY, "Eve Lee [1]"),
        lambda: (text(), graph()), {"queries": 1}, LEAN,
    ),
    "roht, parts combined": Script(
        "roht", (PLAN, ANN, UNKNOWN, reply("York", evidence=[1]), UNKNOWN, reply("Eve Lee")),
        options={"samples": 1, "children_only": True},
    ),
    "roht, the question read as well": Script(
        "roht", (CHAINED, ANN, UNKNOWN, EVE, UNKNOWN, UNKNOWN), options={"samples": 1}, concluding=1
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
    "humaniq, closed tasks": Script(
        "humaniq",
        (DIRECTOR, "Ann Lee [1]", DIRECTOR_QUERY, MOTHER, "Eve Lee [1]", MOTHER_QUERY, "Done", *["Eve Lee"] * 2, "Unknown"),
        lambda: (FakePages(PAGES), FakeGraphTools(PROPERTIES)),
        {"examples": 0},
        LEAN,
        concluding=3,
    ),
}  # fmt: skip
