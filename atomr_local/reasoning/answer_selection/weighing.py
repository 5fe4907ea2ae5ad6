"""How sure an answer is, and whether another way to the whole question is asked and goes before it."""

from __future__ import annotations

from collections.abc import Mapping

from atomr_local.reasoning.answer_selection.answer_signals import step_signals, tree_signals, whole_signals
from atomr_local.reasoning.answer_selection.candidates import agree, standing
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.confidence.calibration import Calibration
from atomr_local.reasoning.operators import Operators
from atomr_local.reasoning.results import Result, add_evidence
from atomr_local.tree.nodes import Tree

_TOLD = frozenset({names.READING, names.LINK, names.RELATION})


class Weighing:
    """Gives the results of one question their confidence."""

    def __init__(self, operators: Operators, calibration: Calibration, *, rival: bool = True) -> None:
        """Make one.

        Args:
            rival: whether a direct answer may rival the tree's.
        """
        self._operators = operators
        self._calibration = calibration
        self._rival = rival

    def step(self, result: Result) -> None:
        """Of a step that was looked up or read; what can tell nothing of itself stays without confidence."""
        if result.values and not _TOLD.isdisjoint(result.signals):
            result.signals = step_signals(result)
            result.confidence = self._calibration.of_step(result.signals)

    def instead(self, tree: Tree, asked: str, result: Result) -> Result:
        """A direct answer to the whole question where the tree has come to none.

        Args:
            asked: the question in the person's own words, as far as it stands alone.
        """
        if not self._rival or not tree.root.children:
            return result
        direct = self._direct(tree, asked)
        evidence = list(result.evidence)
        add_evidence(evidence, direct.evidence)
        result.evidence = direct.evidence = evidence
        if not direct.values:
            return result
        direct.dropped = [*result.dropped, *direct.dropped]
        return direct

    def root(self, tree: Tree, question: str, result: Result, results: Mapping[int, Result], asked: str = "") -> Result:
        """Of the root: its answer, or that of a rival which is likelier right. Both are in the trace.

        Args:
            asked: what the rival is asked, where it is not `question`: the person's own words, as far as they stand
                alone.
        """
        if not result.values:
            return result
        if result.method in {"direct_rag", "closed_book"}:  # a direct answer already
            result.signals = whole_signals(question, result)
            result.confidence = self._calibration.of_whole(result.signals)
            return result
        if tree.is_direct and result.method == "operator":  # a topic's own page, quoted
            return result
        calibration = self._calibration
        result.signals = tree_signals(tree, question, result, results)
        result.confidence = calibration.of_tree(result.signals)
        if not self._rival or not tree.root.children or result.confidence >= calibration.sure:
            return result
        rival = self._direct(tree, asked or question)
        return self._settled(result, rival) if rival.values else result

    def _direct(self, tree: Tree, question: str) -> Result:
        """An answer to the whole question by direct RAG."""
        rival = self._operators.direct_rag(tree.root.id, question, everywhere=True)
        if rival.values:
            rival.signals = whole_signals(question, rival)
        return rival

    def _settled(self, result: Result, rival: Result) -> Result:
        """The one that stands, its confidence with regard to the other's answer."""
        same = agree(result.texts, rival.texts)
        verdict = standing(self._calibration, result.signals, rival.signals, same)
        result.confidence, rival.confidence = verdict.tree, verdict.rival
        result.signals, rival.signals = (
            _beside(result.signals, rival.signals, same),
            _beside(rival.signals, result.signals, same),
        )
        evidence = list(result.evidence)
        add_evidence(evidence, rival.evidence)
        result.evidence = rival.evidence = evidence
        if same:
            return result
        told = f"tree: {result.answer} ({verdict.tree:.2f}); direct: {rival.answer} ({verdict.rival:.2f})"
        if not verdict.rival_stands:
            result.dropped.append(told)
            return result
        rival.computation = told
        rival.dropped = [*result.dropped, *rival.dropped]
        return rival


def _beside(own: Mapping[str, float], others: Mapping[str, float], same: bool) -> dict[str, float]:
    """The signals of one answer, whether the other way came to the same, and the other's, named as such."""
    return {**own, names.RIVAL: float(same), **{names.OTHER + name: value for name, value in others.items()}}
