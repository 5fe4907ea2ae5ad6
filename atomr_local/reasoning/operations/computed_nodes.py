"""Nodes computed from the results of other nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from atomr_local.reasoning.arguments import fill_question, subjects
from atomr_local.reasoning.operations import compute as operations
from atomr_local.reasoning.operations import symbolic
from atomr_local.reasoning.operations.compute import Computed
from atomr_local.reasoning.operations.operands import Operand
from atomr_local.reasoning.results import Result, add_evidence, product_confidence
from atomr_local.reasoning.trace.schema import Method
from atomr_local.sources.protocol import Evidence
from atomr_local.tree.nodes import Literal, Node, References, Tree


def evidence_of(known: Iterable[Result]) -> tuple[list[Evidence], list[str]]:
    """All evidence of the results, and the ids of what they cite."""
    evidence: list[Evidence] = []
    cited: list[str] = []
    for result in known:
        add_evidence(evidence, result.evidence)
        cited.extend(item for item in result.cited if item not in cited)
    return evidence, cited


def computed_node(tree: Tree, node: Node, results: Mapping[int, Result]) -> Result:
    """The result of a node's operation. If there is none, nothing else answers the node, not even a guess."""
    assert node.operation is not None
    operands: list[Operand | str] = []
    known: list[Result] = []
    for argument in node.operation.operands:
        if isinstance(argument, Literal):
            operands.append(argument.text)
        else:
            operands.extend(_operand(tree, i, results) for i in argument.ids)
            known.extend(results.get(i, Result()) for i in argument.ids)
    computed = operations.compute(node.operation, operands, f"{node.question} {tree.question}")
    return _result(computed, known, "computed")


def computed_question(tree: Tree, node: Node, ids: Sequence[int], results: Mapping[int, Result]) -> Result | None:
    """The result of a question over other nodes if it clearly asks for an operation; else None."""
    operands = [_operand(tree, i, results) for i in ids]
    computed = symbolic.compute(node.instruction or node.question, operands, tree.question)
    return _result(computed, [results[i] for i in ids], "symbolic") if computed is not None else None


def _operand(tree: Tree, node_id: int, results: Mapping[int, Result]) -> Operand:
    """A node's answer as an operand."""
    result = results.get(node_id, Result())
    node = tree.node(node_id)
    head = node.call.arguments[0] if node.call is not None else None
    heads = sum(len(results[i].values) for i in head.ids if i in results) if isinstance(head, References) else 1
    return Operand(
        node_id,
        fill_question(tree, node.question, results),
        result.values,
        subjects(tree, node_id, results),
        result.without,
        result.none,
        several_heads=heads > 1,
    )


def _result(computed: Computed, known: Sequence[Result], method: Method) -> Result:
    evidence, cited = evidence_of(known)
    confidence = product_confidence(*(result.confidence for result in known if result.values))
    if confidence is not None:
        confidence *= computed.share
    found = bool(computed.values)
    notes = list(computed.notes)
    if computed.computation.startswith("count("):  # what a step left out was not counted
        notes += [note for result in known for note in result.dropped if note not in notes]
    return Result(
        computed.values,
        method if found else None,
        confidence if found else None,
        evidence,
        cited if found else [],
        computed.computation or None,
        notes,
        computed=True,
        reason=computed.reason,
        none=computed.none,
        signals={"covered": round(computed.share, 4)} if computed.share < 1 else {},
    )
