"""The tools of `humaniq` in a fixed order: to verify an answer, and where a small model cannot choose them."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.asking.pairs import BAR
from atomr_local.reasoning.question_names import named_in
from atomr_local.reasoning.results import Action, Result
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.closing import CALLS_USED
from atomr_local.strategies.shared.human_tools import HumanTools
from atomr_local.strategies.shared.loop import Observed
from atomr_local.tree.nodes import ROOT_ID

_SEARCHES, _PAGES, _QUERIES, _HOPS = 3, 3, 2, 4
Found = tuple[tuple[Value, ...], list[Evidence]]
NOTHING: Found = ((), [])


class FixedOrder:
    """Search and read; find the entity, query and run. Every use of a tool is a step.

    Attributes:
        notes: what was left undone.
        page: the one that the text was last found on, or looked for on first.
    """

    def __init__(self, question: str, tools: Toolbox, at_hand: HumanTools) -> None:
        self.notes: list[str] = []
        self.page = ""
        self._question = question
        self._tools = tools
        self._at_hand = at_hand

    def text(self, question: str, label: str = "text") -> Found:
        """What the text answers: the page that the question names is read, and others if it has nothing."""
        if not self._at_hand.has_text:
            return NOTHING
        known, pages = len(self._at_hand.read), list[str]()
        for name in _names(question)[:_SEARCHES]:
            seen = self._use(question, label, "search", name)
            if seen is not None and seen.names:
                pages = list(seen.names)
                self.page = pages[0]
                break
        for page in pages[:_PAGES]:
            if not self._spares():
                break
            self._use(question, label, "read", f"{page}{BAR}{question}")
            if len(self._at_hand.read) > known:
                self.page = page
                return self._at_hand.read[-1]
        return NOTHING

    def graph(self, question: str, label: str = "graph", names: Sequence[str] = ()) -> Found:
        """What the graph answers: a query about an entity is written and run; once more if it gives nothing.

        Args:
            names: pages or entities that it is about; by default what the question names.
        """
        if not self._at_hand.has_graph:
            return NOTHING
        known, entity = len(self._at_hand.rows), ""
        for name in [name for name in (*names, *_names(question)) if name][:_SEARCHES]:
            seen = self._use(question, label, "id", name)
            if seen is not None and seen.names:
                entity = seen.names[0]
                break
        entity = entity or _names(question)[0]
        for _ in range(_QUERIES):
            if not self._spares():
                break
            sketches = len(self._at_hand.sketches)
            self._use(question, label, "query", f"{entity}{BAR}{question}")
            if len(self._at_hand.sketches) == sketches:
                break
            self._use(question, label, "run", next(reversed(self._at_hand.sketches)))
            if len(self._at_hand.rows) > known:
                return self._at_hand.rows[-1]
        return NOTHING

    def hops(self) -> tuple[Found, Found]:
        """What text and graph answer, one question of one hop after another, for a model that has learnt to ask on."""
        told: list[tuple[str, str]] = []
        found: list[tuple[Found, Found]] = []
        while len(told) < _HOPS and self._spares():
            try:
                asked = self._tools.reader.follow_ups(ROOT_ID, self._question, told)
            except Cancelled:
                raise
            except AtomrError as error:
                self.notes.append(f"no further question: {error.message}")
                break
            if not asked:
                break
            text = self.text(asked[0])
            graph = self.graph(asked[0], names=[self.page])
            values = text[0] or graph[0]
            told.append((asked[0], ", ".join(value.text for value in values) or "Unknown"))
            found.append((text, graph))
            if not values:
                break
        if not found:
            return self.text(self._question), self.graph(self._question, names=[self.page])
        with self._tools.asking.concluding():
            texts, graphs = zip(*found, strict=True)
            return self._combined(told, texts), self._combined(told, graphs)

    def _combined(self, told: Sequence[tuple[str, str]], found: Sequence[Found]) -> Found:
        """The answer of one source: its last one, or what the model makes of all, the other's where it has none."""
        if len(found) == 1 or not found[-1][0]:
            return found[-1]
        shown = [
            (asked, ", ".join(v.text for v in values) or said)
            for (asked, said), (values, _) in zip(told, found, strict=True)
        ]
        try:
            reading = self._tools.reader.from_steps(ROOT_ID, self._question, shown)
        except Cancelled:
            raise
        except AtomrError as error:
            self.notes.append(f"the answers of the steps were not combined: {error.message}")
            return found[-1]
        known = {value.text: value for values, _ in found for value in values}
        values = tuple(known.get(text, Value(text)) for text in reading.answers)
        return values, [item for _, items in found for item in items]

    def _use(self, question: str, label: str, action: str, given: str) -> Observed | None:
        """What the tool gives, in a step of its own; None if it failed."""
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
        if self._tools.asking.calls_left:
            return True
        if CALLS_USED not in self.notes:
            self.notes.append(CALLS_USED)
        return False


def _names(question: str) -> list[str]:
    """What the question names, without the mark behind it."""
    bare = (name.strip(" ?!.,;:") for name in named_in(question))
    return list(dict.fromkeys(filter(None, bare))) or [question]
