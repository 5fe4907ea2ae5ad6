"""Evidence on a rationale of `cok`: each chosen source is asked in its own language, the graph by a query."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.searching import searched

_CALLS_A_QUERY = 3  # two sketches, and the check of what they give


class RationaleEvidence:
    """Asks the sources that were chosen for the question."""

    def __init__(self, tools: Toolbox, question: str, k: int, shown: tuple[str, ...], *, queries: bool) -> None:
        """Begin.

        Args:
            k: pieces of evidence per rationale and source.
            shown: answers that the user sees already; their words may go to the web.
            queries: whether the model writes queries for the graph.
        """
        self._tools = tools
        self._question = question
        self._k = k
        self._shown = shown
        self._queries = queries
        self._where: tuple[str, ...] = ()

    def choose(self) -> None:
        """Choose the sources that suit the question, in a step of its own where there is a choice."""
        names = self._where = self._tools.retriever.names
        if len(names) < 2:
            return
        sizes = range(1, len(names) + 1)
        options = [", ".join(some) for size in sizes for some in itertools.combinations(names, size)]
        with self._tools.steps.open(self._question, label="where to look") as step:
            chosen = self._tools.reader.choose(step.id, self._question, options)
            self._where = tuple(chosen.split(", "))
            step.result = Result(observation=chosen)

    def collect(self, step: Step, rationale: str, earlier: Sequence[Result]) -> tuple[list[Evidence], list[str]]:
        """What the sources have on the rationale, best first, and notes.

        Args:
            earlier: results of the rationales before it.

        Raises:
            Cancelled: the question was cancelled.
        """
        rows, told_all, notes = self._queried(step, rationale, earlier)
        where = [name for name in self._where if not told_all or name != rows[0].source]
        request = Request(rationale, rationale, top_k=self._k)
        shown = (*self._shown, *(text for result in earlier for text in result.texts))
        found = searched(self._tools, step.id, request, self._question, answers=shown, sources=where)
        told = tuple(name for name in self._tools.retriever.permitted(step.id) if name in self._where)
        self._tools.recorder.emit(SourcesSelected(node_id=step.id, sources=told, reason="set by the method"))
        evidence = self._tools.ranking.together(rationale, [*rows, *found.evidence], self._tools.cancellation)
        return evidence, [*notes, *found.dropped, *found.problems]

    def _queried(self, step: Step, rationale: str, earlier: Sequence[Result]) -> tuple[list[Evidence], bool, list[str]]:
        """The rows of a graph query that the model writes; whether they tell enough; notes.

        The graph is searched in words, too, where no query can be written, where none gives rows or it gives a bare yes
        or no, and where calls are short.
        """
        graph, writer = self._tools.graph, self._tools.sparql
        if not self._queries or graph is None or writer is None or graph.source not in self._where:
            return [], False, []
        if not self._tools.asking.spares(_CALLS_A_QUERY):
            return [], False, []
        known = [value for result in earlier for value in result.values]
        try:
            answer = writer.answer(step.id, rationale, values=known)
        except Cancelled:
            raise
        except AtomrError as error:
            return [], False, [f"{graph.source}: {error.message}"]
        notes = [f"query: {sketch.text}" for sketch in answer.tried]
        if answer.problem:
            return [], False, [*notes, f"{answer.problem}: the {graph.source} was searched in words"]
        assert answer.queried is not None
        row, found = answer.queried.evidence, answer.queried.found
        return [row] if row is not None else [], found is not None and found.boolean is None, notes
