"""The two ways in which `detllm` searches with words: passages, and facts as text, together or apart."""

from __future__ import annotations

from typing import Literal

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.ranking import fuse_ranks
from atomr_local.reasoning.results import Result, add_evidence
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.word_ranking import ranked_by_words
from atomr_local.sources.protocol import Evidence, Request, SearchMode, SourceName
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.searching import SearchedOnce, searched, told

Retrieval = Literal["apart-dense", "apart-words", "together-dense", "together-words"]
# Where passages and facts share a list, it is made of so many times as many of each.
_WIDER = 4
NO_FACTS = "facts are not searched: the graph index has no facts as text (`atomr graph linearise` makes them)"


class Search:
    """Searches for one question, each query once.

    Attributes:
        answers: of earlier hops, of those that the user sees, which are short and fit: their words may go to the web.
    """

    def __init__(self, question: str, tools: Toolbox, k: int, way: Retrieval, *, facts: bool) -> None:
        self.answers: list[str] = []
        self._question = question
        self._tools = tools
        self._k = k
        self._way = way
        self._facts = facts
        self._found: SearchedOnce[list[Evidence]] = SearchedOnce(tools)

    @property
    def note(self) -> str:
        """Why facts are not searched though they should be; empty if they are."""
        there = SourceName.GRAPH in self._tools.retriever.names
        return NO_FACTS if self._facts and there and self._tools.facts is None else ""

    def lists(self, parent: Step, query: str, label: str) -> list[list[Evidence]]:
        """What is found, each list best first, in a step of its own; none for a query that was searched before."""
        return self._found.found(parent, query, label, lambda below: self._searched(below, query))

    def _searched(self, step: Step, query: str) -> list[list[Evidence]]:
        together = self._way.startswith("together")
        most = self._k * _WIDER if together else self._k
        found = Result()
        step.result = found
        lists = [self._passages(step, query, most), self._statements(step, query, most)]
        if together:
            pool = [item for one in lists for item in one]
            lists = [self._one_list(query, pool)]
            found.evidence = lists[0]
        found.observation = told([item for one in lists for item in one])
        return [one for one in lists if one]

    def _passages(self, step: Step, query: str, most: int) -> list[Evidence]:
        """From every source but the graph."""
        sources = [name for name in self._tools.retriever.permitted(step.id) if name != SourceName.GRAPH]
        if not sources:
            return []
        mode: SearchMode = "words" if self._way.endswith("words") else "dense"
        request = Request(self._question, query, top_k=most, mode=mode)
        gathered = searched(self._tools, step.id, request, self._question, answers=self.answers, sources=sources)
        step.result.dropped += [*gathered.dropped, *gathered.problems]
        found = self._tools.ranking.together(query, gathered.evidence, self._tools.cancellation)
        add_evidence(step.result.evidence, found)
        return found

    def _statements(self, step: Step, query: str, most: int) -> list[Evidence]:
        """From the graph's facts as text."""
        if not self._facts or self._tools.facts is None:
            return []
        try:
            found = self._tools.facts.search(step.id, query, most)
        except Cancelled:
            raise
        except AtomrError as error:  # the passages stand without them
            step.result.dropped.append(f"{self._tools.facts.source}: {error.message}. {error.hint or ''}".strip())
            return []
        add_evidence(step.result.evidence, found)
        return found

    def _one_list(self, query: str, pool: list[Evidence]) -> list[Evidence]:
        if self._way == "together-words":
            return ranked_by_words(query, pool, self._k)
        return self._tools.ranking.nearest(query, pool, self._k, self._tools.cancellation)


def pooled(lists: list[list[Evidence]], before: list[Evidence]) -> list[Evidence]:
    """Everything once: what stands high in several lists first, and last what was found before."""
    pool = fuse_ranks(lists, sum(map(len, lists)))
    add_evidence(pool, before)
    return pool
