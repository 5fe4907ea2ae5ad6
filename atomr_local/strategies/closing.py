"""The answer to the whole question as every strategy hands it over: weighed in the same way."""

from __future__ import annotations

from atomr_local.reasoning.answer_selection.answer_signals import whole_signals
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.operators import compared
from atomr_local.reasoning.results import Result
from atomr_local.strategies.protocol import Toolbox

_DIRECT = frozenset({"direct_rag", "closed_book"})
_MEASURED = frozenset({names.READING, names.VERIFY})


def closed(tools: Toolbox, question: str, result: Result) -> Result:
    """The root's result with its confidence.

    An answer that the model read has the calibrated probability of such an answer. Any other keeps the confidence that
    its method gave it. The calibration was learnt on answers of `rag`; for other methods it is an estimate.
    """
    compared(result)
    measured = result.method in _DIRECT or not _MEASURED.isdisjoint(result.signals)
    if result.values and measured:
        result.signals = whole_signals(question, result)
        result.confidence = tools.calibration.of_whole(result.signals)
    return result
