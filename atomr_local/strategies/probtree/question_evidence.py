"""Evidence for the questions of a tree: for a question itself, and for the ones below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomr_local.reasoning.results import Result, add_evidence
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.searching import searched


class QuestionEvidence:
    """Asks all sources, and knows what each question has found."""

    def __init__(self, tools: Toolbox, question: str, k: int, k_below: int) -> None:
        """Begin.

        Args:
            question: the whole question, whose words may go to the web.
            k: pieces of evidence per source for a question.
            k_below: the most of them that it lends to each question above it.
        """
        self._tools = tools
        self._question = question
        self._k = k
        self._k_below = k_below
        self._found: dict[int, list[Evidence]] = {}

    def collect(self, step: Step, below: Sequence[int], results: Mapping[int, Result], into: Result) -> None:
        """Add evidence for the step's question, then what the questions below have found, best first each."""
        problems = self._ask(step, results, into)
        self._found[step.id] = list(into.evidence)
        for node_id in below:
            known = self._found.get(node_id, results[node_id].evidence)
            for source in dict.fromkeys(item.source for item in known):
                add_evidence(into.evidence, [item for item in known if item.source == source][: self._k_below])
        if problems and not into.evidence:
            into.error = {"title": "Source failed", "message": "; ".join(problems)}

    def _ask(self, step: Step, results: Mapping[int, Result], into: Result) -> list[str]:
        """What failed, in words."""
        shown = [text for known in results.values() for text in known.texts]
        request = Request(step.question, step.question, top_k=self._k)
        found = searched(self._tools, step.id, request, self._question, answers=shown)
        add_evidence(into.evidence, found.evidence)
        into.dropped.extend([*found.dropped, *found.problems])
        return found.problems
