"""An unsure step is looked up in the other local source as well.

The same answer is then surer; of two answers the surer one stands.
"""

from __future__ import annotations

from dataclasses import replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.answer_selection.answer_signals import agree, step_signals
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.confidence.calibration import LogisticModel
from atomr_local.reasoning.operators import Operators, compared
from atomr_local.reasoning.results import Result, add_evidence
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.sources.protocol import SourceName, Value
from atomr_local.tree.nodes import Node

# A step with this probability is not looked up again.
_SETTLED = 0.75
# The most model calls of a reading: of the page and of all passages, with alternatives, a vote and verification.
_MOST_CALLS = 12
_OTHER = {SourceName.GRAPH: SourceName.TEXT, SourceName.TEXT: SourceName.GRAPH}


def beside_other_source(
    operators: Operators,
    calibrated: LogisticModel,
    node: Node,
    question: str,
    arguments: tuple[Value, ...],
    result: Result,
) -> Result:
    """The answer of a step that one source gave, weighed against what the other one has.

    Args:
        calibrated: the probability of a step.
        arguments: of the step's one run.

    Raises:
        Cancelled: the question was cancelled.
    """
    source = _only_source(result)
    if node.call is None or source is None:
        return result
    sure = _probability(calibrated, result)
    other_source = _OTHER[source]
    if sure is None or sure >= _SETTLED or other_source not in operators.retriever.permitted(node.id):
        return result
    if other_source is SourceName.TEXT and not operators.reader.asking.spares(_MOST_CALLS):
        return _noted(result, "not looked up in the text as well: the question's model calls are used")
    try:
        other = operators.from_source(node.id, node.call.operator, question, arguments, other_source)
    except Cancelled:
        raise
    except AtomrError as error:  # the answer that there is stands
        return _noted(result, f"not looked up in the {other_source} as well: {error.message}")
    both = SourcesSelected(node_id=node.id, sources=(source, other_source), reason=f"the {source} was not sure")
    operators.retriever.recorder.emit(both)
    if not other.values:
        add_evidence(result.evidence, other.evidence)
        return result
    return _surer(calibrated, result, sure, other)


def _surer(calibrated: LogisticModel, result: Result, sure: float, other: Result) -> Result:
    """The surer of two answers; of the same answer the form in which the graph has it."""
    same = agree(result.texts, other.texts)
    surer = _probability(calibrated, other) or 0.0
    note = f"{result.answer} ({sure:.2f}); the other source: {other.answer} ({surer:.2f})"
    evidence = list(result.evidence)
    add_evidence(evidence, other.evidence)
    stands = other if surer > sure else result
    values = stands.values
    if same:
        values = max((result.values, other.values), key=lambda found: sum(value.iri is not None for value in found))
    cited = list(dict.fromkeys([*result.cited, *other.cited])) if same else stands.cited
    weighed = replace(
        result,
        values=values,
        method=stands.method,
        confidence=stands.confidence,
        evidence=evidence,
        cited=cited,
        others=stands.others,
        signals=stands.signals | {names.RIVAL: float(same)},
        dropped=[*result.dropped, *other.dropped, note],
    )
    compared(weighed)
    return weighed


def _only_source(result: Result) -> SourceName | None:
    """The local source that the answer rests on alone; None if the model read both, or if it is neither."""
    cited = {item.source for item in result.evidence if item.id in result.cited}
    read = {item.source for item in result.evidence} if names.READING in result.signals else cited
    [source, *more] = cited or {""}
    return SourceName(source) if not more and read == cited and source in _OTHER else None


def _probability(calibrated: LogisticModel, result: Result) -> float | None:
    """How probable the step's answer is; None without one, and for the title of a page, which nothing was read in."""
    cited = {item.source for item in result.evidence if item.id in result.cited}
    if not result.values or (names.READING not in result.signals and cited != {SourceName.GRAPH}):
        return None
    return calibrated.probability(step_signals(result))


def _noted(result: Result, note: str) -> Result:
    result.dropped.append(note)
    return result
