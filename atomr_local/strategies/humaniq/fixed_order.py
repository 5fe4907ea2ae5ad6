"""The tools of `humaniq` in a fixed order: to verify an answer, and where a small model cannot choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.asking.pairs import BAR
from atomr_local.reasoning.candidates import UNKNOWN
from atomr_local.reasoning.question_names import named_in
from atomr_local.reasoning.results import Action, Result
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Value
from atomr_local.strategies.humaniq.response import Side, same
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.closing import CALLS_USED
from atomr_local.strategies.shared.human_tools import HumanTools
from atomr_local.strategies.shared.loop import Observed
from atomr_local.tree.nodes import ROOT_ID

_SEARCHES, _PAGES, _QUERIES, _HOPS = 3, 3, 2, 4
_ASKING = frozenset({"read", "query"})  # tools that the model is asked for
STEPS_USED = "all {0} steps are used: answered from what had been found"


class FixedOrder:
    """Search and read; find the entity, query and run. Every use of a tool is a step, and their number is limited.

    Attributes:
        notes: what was left undone.
        taken: steps so far.
        page: the one that the text was last found on, or looked for on first.
    """

    def __init__(self, question: str, tools: Toolbox, at_hand: HumanTools, steps: int) -> None:
        """Begin.

        Args:
            steps: the most.
        """
        self.notes: list[str] = []
        self.taken = 0
        self.page = ""
        self._most = steps
        self._question = question
        self._tools = tools
        self._at_hand = at_hand

    def text(self, question: str, label: str = "text") -> Side:
        """What the text answers: the page that the question names is read, and others if it has nothing."""
        if not self._at_hand.has_text:
            return Side("text")
        known, pages = len(self._at_hand.read), list[str]()
        for name in _names(question)[:_SEARCHES]:
            seen = self._use(question, label, "search", name)
            if seen is None:
                break  # a source that fails, fails for other names too
            if seen.names:
                pages = list(seen.names)
                self.page = pages[0]
                break
        for page in pages[:_PAGES]:
            self._use(question, label, "read", f"{page}{BAR}{question}")
            if len(self._at_hand.read) > known:
                self.page = page
                return Side("text", *self._at_hand.read[-1])
        return Side("text")

    def graph(self, question: str, label: str = "graph", names: Sequence[str] = ()) -> Side:
        """What the graph answers: a query about an entity is written and run; once more if it gives nothing.

        Args:
            names: pages or entities that it is about; by default what the question names.
        """
        if not self._at_hand.has_graph:
            return Side("graph")
        known, entity = len(self._at_hand.rows), ""
        for name in [name for name in (*names, *_names(question)) if name][:_SEARCHES]:
            seen = self._use(question, label, "id", name)
            if seen is None:
                break
            if seen.names:
                entity = seen.names[0]
                break
        entity = entity or _names(question)[0]
        for _ in range(_QUERIES):
            sketches = len(self._at_hand.sketches)
            self._use(question, label, "query", f"{entity}{BAR}{question}")
            if len(self._at_hand.sketches) == sketches:
                break
            self._use(question, label, "run", next(reversed(self._at_hand.sketches)))
            if len(self._at_hand.rows) > known:
                return Side("graph", *self._at_hand.rows[-1])
        return Side("graph")

    def hops(self) -> tuple[Side, Side]:
        """What text and graph answer, one question of one hop after another, for a model that has learnt to ask on."""
        told: list[tuple[str, tuple[Value, ...]]] = []
        found: list[tuple[Side, Side]] = []
        while len(told) < _HOPS and self._spares() and self._spares_steps():
            try:
                known = [(asked, _shown(values)) for asked, values in told]
                asked = self._tools.reader.follow_ups(ROOT_ID, self._question, known)
            except Cancelled:
                raise
            except AtomrError as error:
                self.notes.append(f"no further question: {error.message}")
                break
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
            return self.text(self._question), self.graph(self._question, names=[self.page])
        with self._tools.asking.concluding():
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
        try:
            reading = self._tools.reader.from_steps(ROOT_ID, self._question, shown)
        except Cancelled:
            raise
        except AtomrError as error:
            self.notes.append(f"the answers of the steps were not combined: {error.message}")
            return replace(last, leans=leans)
        known = {value.text: value for side in found for value in side.values}
        combined = tuple(known.get(text, Value(text)) for text in reading.answers)
        return Side(last.origin, combined, [item for side in found for item in side.evidence], leans)

    def _use(self, question: str, label: str, action: str, given: str) -> Observed | None:
        """What the tool gives, in a step of its own; None if it failed, or if no step is left."""
        asks = action in _ASKING
        if not self._spares_steps() or (asks and not self._spares()):
            return None
        self.taken += 1
        seen = None
        with self._tools.steps.open(question, label=label) as step:
            step.result = Result(action=Action(action, given))
            seen = self._at_hand.use(step.id, action, given)
            told = f"{sanitize_line(seen.title)}: {seen.text}" if seen.title else seen.text
            step.result = Result(
                evidence=list(seen.evidence), action=Action(action, given), observation=sanitize_line(told)
            )
        return seen

    def _spares(self) -> bool:
        return bool(self._tools.asking.calls_left) or self._ended(CALLS_USED)

    def _spares_steps(self) -> bool:
        return self.taken < self._most or self._ended(STEPS_USED.format(self._most))

    def _ended(self, why: str) -> bool:
        if why not in self.notes:
            self.notes.append(why)
        return False


def _gives(values: Sequence[Value], told: Sequence[Value]) -> bool:
    """Whether all that was told is among these values."""
    return same(values, told) or all(any(same([value], [one]) for value in values) for one in told)


def _shown(values: Sequence[Value]) -> str:
    return ", ".join(value.text for value in values) or UNKNOWN


def _names(question: str) -> list[str]:
    """What the question names, without the mark behind it."""
    bare = (name.strip(" ?!.,;:") for name in named_in(question))
    return list(dict.fromkeys(filter(None, bare))) or [question]
