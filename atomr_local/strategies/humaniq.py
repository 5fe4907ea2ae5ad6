"""HumanIQ: solution processes of people as examples for tools over text and graph (Lehmann et al., TACL 2024).

The tools are used in a fixed order to verify an answer, and where a small model cannot choose them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from pydantic import Field

from atomr_local.reasoning.asking.forms import BAR, Form, Line, halves
from atomr_local.reasoning.asking.writer import FilledForm
from atomr_local.reasoning.candidates import UNKNOWN, Candidate, mean
from atomr_local.reasoning.reading.checks import holds, named_in
from atomr_local.reasoning.results import Action, Result
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.processes.process import Choice, at_hand, chosen
from atomr_local.strategies.shared.closing import CALLS_USED, final_values, noting, result_of, same
from atomr_local.strategies.shared.loop import THOUGHT, Loop, Observation
from atomr_local.strategies.shared.tasks import PROMPTS, Tasks
from atomr_local.strategies.shared.tools import HumanTools
from atomr_local.strategies.shared.work import StepwiseStrategy, Work
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.nodes import ROOT_ID

# The final response: text, graph and the model's own knowledge in one call, and whether they agree.

OWN_ALONE = "neither the text nor the graph has an answer: this is the model's own knowledge"
OF_NONE = "the answer is none of those that were found: it is the model's own"
_NAMES = {"text": "the text", "graph": "the graph", "model": "the model's own knowledge"}


@dataclass
class Side:
    """The answer of one origin.

    Attributes:
        leans: whether its answer rests on one of the other source, which it then cannot confirm.
    """

    origin: str
    values: tuple[Value, ...] = ()
    evidence: list[Evidence] = field(default_factory=list)
    leans: bool = False

    @property
    def answer(self) -> str:
        return ", ".join(value.text for value in self.values) or UNKNOWN

    @property
    def shown_by(self) -> list[Evidence]:
        """The evidence that holds the answer; all that it was concluded from, where none does."""
        held = [item for item in self.evidence if any(holds(value.text, item) for value in self.values)]
        return held or self.evidence


def responded(question: str, text: Side, graph: Side, tasks: Tasks) -> Result:
    """The answer to the question from its three sides.

    Its confidence is the mean of how surely the response was written and the share of the three sides that agree
    independently of each other.
    """
    own = Side("model")
    recalled, notes = Result(), list[str]()
    with noting(notes, "the model's own knowledge was not asked"):
        recalled = result_of(tasks.tools.reader.from_memory(ROOT_ID, question), "closed_book", ())
        own.values = recalled.values
    sides = (text, graph, own)
    known = [side for side in (text, graph) if side.values]
    if not known:
        recalled.dropped += [*notes, *([OWN_ALONE] if recalled.values else [])]
        return recalled
    values, sure, told = tasks.respond(ROOT_ID, text.values, graph.values, own.values)
    notes += told
    agreeing = [side for side in sides if side.values and same(side.values, values)]
    found = [side for side in agreeing if side is not own]
    if values and not found:
        notes.append(OF_NONE)
    share = len(independent(agreeing)) / len(sides)
    result = Result(
        tuple(values),
        "tool" if found else "closed_book",
        mean((sure, share)) if values else None,
        cited=[item.id for side in found for item in side.shown_by],
        dropped=[agreement(sides, values), *notes],
        candidates=tuple(
            Candidate(side.values, None, side.origin, tuple(item.id for item in side.shown_by if item.id))
            for side in sorted(sides, key=lambda side: side not in agreeing)
        ),
    )
    result.cited = list(dict.fromkeys(result.cited))
    result.computed = bool(found) and not any(
        holds(value.text, item) for value in values for side in found for item in side.evidence
    )
    return result if values else Result(dropped=result.dropped, candidates=result.candidates)


def independent(agreeing: Sequence[Side]) -> list[Side]:
    """Those of sides that say the same whose answer does not rest on another's."""
    by_source = [side for side in agreeing if side.origin != "model"]
    own = [side for side in by_source if not side.leans] or by_source[:1]
    return [side for side in agreeing if side in own or side.origin == "model"]


def agreement(sides: Sequence[Side], response: Sequence[Value]) -> str:
    """Who says what, in a sentence: the agreement, or that there is none."""
    known = [side for side in sides if side.values]
    agreeing = [side for side in known if same(side.values, response)]
    others = [side for side in known if side not in agreeing]
    counted = independent(agreeing)
    leaning = [
        f"{_NAMES[side.origin]} says the same, but rests on {_NAMES['text' if side.origin == 'graph' else 'graph']}"
        for side in agreeing
        if side not in counted
    ]
    says = "; ".join([*leaning, *(f"{_NAMES[side.origin]} says {side.answer}" for side in others)])
    if not agreeing:
        return f"no agreement: {says}"
    told = " and ".join(filter(None, (", ".join(_NAMES[s.origin] for s in counted[:-1]), _NAMES[counted[-1].origin])))
    if len(counted) == 1:
        if not others:
            return f"{told} alone answers: {says or 'nothing verifies it'}"
        return f"disagreement: the answer is that of {told}; {says}"
    return f"{told} agree{'; ' + says if says else ''}"


_SEARCHES, _PAGES, _QUERIES, _HOPS = 3, 3, 2, 4
_ASKING = frozenset({"read", "query"})  # tools that the model is asked for
STEPS_USED = "all {0} steps are used: answered from what had been found"

_VERIFY = "verify"
CLOSED_TASKS = "this model has learnt closed tasks alone: the tools are used in a fixed order"
UNTOLD = "the process names an answer of the {0}, which gave none: it is left out"


class HumanIQOptions(StrategyOptions):
    """Which processes are shown, and who chooses the tools."""

    choose: Choice = Field(
        "dpp",
        description="Examples: relevant and diverse (dpp), by one of the two alone, or random; published: dpp.",
    )
    workflow: Literal["interactive", "static", "late"] = Field(
        "interactive",
        description="interactive: the model chooses each tool. static: text, then graph, in a fixed order. "
        "late: both by themselves, brought together in the final response.",
    )
    examples: int = Field(3, ge=0, le=10, description="Processes shown to the model; published: 3.")
    steps: int = Field(12, ge=1, le=30, description="The most uses of tools, those that verify included.")


@dataclass(eq=False)
class _Process(Work[HumanIQOptions]):
    """The way to the answers of text and graph. Every use of a tool is a step, and their number is limited.

    Attributes:
        left: what was left undone; told last.
        taken: steps so far.
        page: the one that the text was last found on, or looked for on first.
    """

    left: list[str] = field(default_factory=list, init=False)
    taken: int = field(default=0, init=False)
    page: str = field(default="", init=False)

    @cached_property
    def at_hand(self) -> HumanTools:
        return HumanTools(self.question, self.tools)

    def go(self) -> None:
        self._text, self._graph = self._sides()

    def conclude(self) -> Result:
        result = responded(self.question, self._text, self._graph, self.tasks)
        result.evidence = self.at_hand.evidence
        result.dropped += self.left
        return result

    def text(self, question: str, label: str = "text") -> Side:
        """The answer of the text: the page that the question names is read, and others if it has nothing."""
        if not self.at_hand.has_text:
            return Side("text")
        known = len(self.at_hand.read)
        pages = self._seen(question, label, "search", _names(question))
        self.page = pages[0] if pages else self.page
        for page in pages[:_PAGES]:
            self._use(question, label, "read", f"{page}{BAR}{question}")
            if len(self.at_hand.read) > known:
                self.page = page
                return Side("text", *self.at_hand.read[-1])
        return Side("text")

    def graph(self, question: str, label: str = "graph", names: Sequence[str] = ()) -> Side:
        """The answer of the graph: a query about an entity is written and run; once more if it gives nothing.

        Args:
            names: pages or entities that it is about; by default what the question names.
        """
        if not self.at_hand.has_graph:
            return Side("graph")
        known = len(self.at_hand.rows)
        seen = self._seen(question, label, "id", [name for name in (*names, *_names(question)) if name])
        entity = next(iter(seen), "") or _names(question)[0]
        for _ in range(_QUERIES):
            sketches = len(self.at_hand.sketches)
            self._use(question, label, "query", f"{entity}{BAR}{question}")
            if len(self.at_hand.sketches) == sketches:
                break
            self._use(question, label, "run", next(reversed(self.at_hand.sketches)))
            if len(self.at_hand.rows) > known:
                return Side("graph", *self.at_hand.rows[-1])
        return Side("graph")

    def hops(self) -> tuple[Side, Side]:
        """The answers of text and graph, one question of one hop after another, by a model that learnt to ask on."""
        told: list[tuple[str, tuple[Value, ...]]] = []
        found: list[tuple[Side, Side]] = []
        while len(told) < _HOPS and self._spares() and self._spares_steps():
            asked: Sequence[str] = ()
            with noting(self.left, "no further question"):
                known = [(question, _shown(values)) for question, values in told]
                asked = self.tools.reader.follow_ups(ROOT_ID, self.question, known)
            if not asked:
                break
            text = self.text(asked[0])
            graph = self.graph(asked[0], names=[self.page])
            values = text.values or graph.values
            told.append((asked[0], values))
            found.append((text, graph))
            if not values:
                break
        if not found:
            return self.text(self.question), self.graph(self.question, names=[self.page])
        with self.tools.asking.concluding():
            texts, graphs = zip(*found, strict=True)
            return self._combined(told, texts), self._combined(told, graphs)

    def _combined(self, told: Sequence[tuple[str, tuple[Value, ...]]], found: Sequence[Side]) -> Side:
        """The answer of one source: its last one, or what the model makes of all, the other's where it has none.

        Each question rests on the answers that were told before. A source that gave none of its own, or another one,
        leans on the other source from there on.
        """
        last = found[-1]
        before = zip(found[:-1], told[:-1], strict=True)
        leans = any(not _gives(side.values, values) for side, (_, values) in before)
        if len(found) == 1 or not last.values:
            return replace(last, leans=leans)
        shown = [(asked, _shown(side.values or values)) for (asked, values), side in zip(told, found, strict=True)]
        reading = None
        with noting(self.left, "the answers of the steps were not combined"):
            reading = self.tools.reader.from_steps(ROOT_ID, self.question, shown)
        if reading is None:
            return replace(last, leans=leans)
        known = {value.text: value for side in found for value in side.values}
        combined = tuple(known.get(text, Value(text)) for text in reading.answers)
        return Side(last.origin, combined, [item for side in found for item in side.evidence], leans)

    def _seen(self, question: str, label: str, action: str, names: Sequence[str]) -> tuple[str, ...]:
        """The names that the tool gives for the first of these for which it gives any."""
        for name in names[:_SEARCHES]:
            seen = self._use(question, label, action, name)
            if seen is None:
                break  # a source that fails, fails for other names too
            if seen.names:
                return seen.names
        return ()

    def _use(self, question: str, label: str, action: str, given: str) -> Observation | None:
        """The tool's output, in a step of its own; None if it failed, or if no step is left."""
        asks = action in _ASKING
        if not self._spares_steps() or (asks and not self._spares()):
            return None
        self.taken += 1
        seen = None
        with self.tools.steps.open(question, label=label) as step:
            step.result = Result(action=Action(action, given))
            seen = self.at_hand.use(step.id, action, given)
            told = f"{sanitize_line(seen.title)}: {seen.text}" if seen.title else seen.text
            step.result = Result(
                evidence=list(seen.evidence), action=Action(action, given), observation=sanitize_line(told)
            )
        return seen

    def _spares(self) -> bool:
        return bool(self.tools.asking.calls_left) or self._ended(CALLS_USED)

    def _spares_steps(self) -> bool:
        return self.taken < self.options.steps or self._ended(STEPS_USED.format(self.options.steps))

    def _ended(self, why: str) -> bool:
        if why not in self.left:
            self.left.append(why)
        return False

    def _sides(self) -> tuple[Side, Side]:
        """The answers of text and graph."""
        workflow = self.options.workflow
        if workflow == "interactive" and self.tasks.chooses_tools:
            return self._interactive()
        if workflow == "interactive":
            self.left.append(CLOSED_TASKS)
            if self.tools.reader.knows_next:
                return self.hops()
        text = self.text(self.question)
        return text, self.graph(self.question, names=[] if workflow == "late" else [self.page])

    def _interactive(self) -> tuple[Side, Side]:
        """The model uses the tools as the examples do; a source that it leaves out then verifies the other."""
        form = Form(PROMPTS, "humaniq_act", (Line(THOUGHT),), self._examples())
        loop = Loop(self.question, self.tools, self.at_hand.at_hand(), form, self.options.steps)
        final = loop.run()
        self.taken = loop.taken
        self.left += loop.notes
        text, graph = self._told(final)
        if text.values and not self.at_hand.queried_at_all:
            graph = self.graph(self.question, _VERIFY, names=list(self.at_hand.pages)[-1:])
        elif graph.values and not self.at_hand.read_at_all:
            text = self.text(self.question, _VERIFY)
        return text, graph

    def _examples(self) -> tuple[str, ...]:
        """The processes that are shown, told in a step of their own."""
        options, tools = self.options, self.tools
        if not options.examples:
            return ()
        shown: tuple[str, ...] = ()
        with tools.steps.open("Which worked processes are shown?", label="examples") as step:
            processes, problems = at_hand(paths.processes_file(), HumanIQ.name, tools.withheld)
            picked = chosen(
                self.question, processes, options.examples, options.choose, tools.ranking, tools.cancellation,
                tools.settings.llm.seed,
            )  # fmt: skip
            shown = tuple(process.as_example() for process in picked)
            told = f"Shown, of {len(processes)}: {' '.join(process.question for process in picked)}"
            step.result = Result(observation=told, dropped=problems[:3])
        return shown

    def _told(self, final: FilledForm | None) -> tuple[Side, Side]:
        """The final answers of the process. An answer counts as that of a source only if the source gave something."""
        read, rows = self.at_hand.read, self.at_hand.rows
        if final is None:
            # Nothing was concluded: what was seen last stands.
            return Side("text", *(read[-1] if read else ((), []))), Side("graph", *(rows[-1] if rows else ((), [])))
        sides, given = list[Side](), list[bool]()
        for name, said, found, seen in zip(
            ("text", "graph"), halves(final.text), (read, rows), self.at_hand.by_source(), strict=True
        ):
            values = final_values(said)
            if values and not seen:
                self.left.append(UNTOLD.format(name))
                values = ()
            known = next((one for one in reversed(found) if same(one[0], values)), None)
            sides.append(Side(name, *known) if known else Side(name, values, seen if values else []))
            given.append(known is not None or any(holds(value.text, item) for value in values for item in seen))
        if same(sides[0].values, sides[1].values) and given[0] != given[1]:
            # The model names the answer of both, and one of them never gave it.
            sides[given.index(False)].leans = True
        return sides[0], sides[1]


def _gives(values: Sequence[Value], told: Sequence[Value]) -> bool:
    """Whether all that was told is among these values."""
    return same(values, told) or all(any(same([value], [one]) for value in values) for one in told)


def _shown(values: Sequence[Value]) -> str:
    return ", ".join(value.text for value in values) or UNKNOWN


def _names(question: str) -> list[str]:
    """Names in the question, without the mark behind them; the question if there are none."""
    bare = (name.strip(" ?!.,;:") for name in named_in(question))
    return list(dict.fromkeys(filter(None, bare))) or [question]


class HumanIQ(StepwiseStrategy):
    name = "humaniq"
    summary = "follow worked processes of people: find it in the text, verify it in the graph, and say if both agree"
    paper = (
        "Lehmann et al.: Beyond Boundaries: A Human-like Approach for Question Answering over Structured and "
        "Unstructured Information Sources, TACL 2024"
    )
    needs = frozenset({"pages"})
    options = HumanIQOptions
    work = _Process
