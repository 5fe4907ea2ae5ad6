"""Validation of a tree beyond its notation. Messages are for people and for repair by a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atomr_local.tree.calls import NO_QUESTION
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import ROOT_ID, Literal, Node, NodeKind, Operator, OperatorCall, Tree
from atomr_local.tree.operations import call_problems

# How many arguments each operator takes (AtomR, section 3.1). Published plans also give Relate a third one that
# narrows the relation: Relate([1], "played against", [2]).
ARITY = {Operator.SEARCH: (1, 2), Operator.RELATE: (2, 3), Operator.FILTER: (2, 2)}


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a tree may be: questions in all, levels below the root, children of one node."""

    nodes: int = 40
    depth: int = 8
    fan_out: int = 12


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken rule. A plan whose problems are not `fatal` is poor but can run."""

    node_id: int
    message: str
    fatal: bool = True


def check(tree: Tree, limits: Limits = DEFAULT_LIMITS) -> None:
    """Refuse a tree that breaks a rule.

    Raises:
        TreeError: the fatal problems of :func:`validate`, joined by semicolons, at most five.
    """
    fatal = [problem.message for problem in validate(tree, limits) if problem.fatal]
    if fatal:
        more = f"; and {len(fatal) - 5} more" if len(fatal) > 5 else ""
        raise TreeError("; ".join(fatal[:5]) + more)


def validate(tree: Tree, limits: Limits = DEFAULT_LIMITS) -> list[Problem]:
    """All problems of the tree."""
    return [
        *_size_problems(tree, limits),
        *_number_problems(tree),
        *_node_problems(tree),
        *_expectation_problems(tree),
        *_reference_problems(tree),
        *_operand_problems(tree),
    ]


def _size_problems(tree: Tree, limits: Limits) -> Iterator[Problem]:
    count, depth, level = 0, -1, [tree.root]
    while level:
        count += len(level)
        depth += 1
        for node in level:
            if len(node.children) > limits.fan_out:
                yield Problem(
                    node.id, f"node {node.id} has {len(node.children)} children; at most {limits.fan_out} are allowed"
                )
        level = [child for node in level for child in node.children]
    if count > limits.nodes:
        yield Problem(ROOT_ID, f"the plan has {count} nodes; at most {limits.nodes} are allowed")
    if depth > limits.depth:
        yield Problem(ROOT_ID, f"the plan is {depth} levels deep; at most {limits.depth} are allowed")


def _number_problems(tree: Tree) -> Iterator[Problem]:
    if tree.root.id != ROOT_ID:
        yield Problem(tree.root.id, f"the root is numbered {tree.root.id}, not {ROOT_ID}")
    seen: set[int] = set()
    for node in tree.nodes():
        if node.id in seen:
            yield Problem(node.id, f"number {node.id} stands for two nodes")
        if node.id < 0:
            yield Problem(node.id, f"number {node.id} is negative")
        seen.add(node.id)


def _node_problems(tree: Tree) -> Iterator[Problem]:
    for node in tree.nodes():
        if not node.question.strip():
            yield Problem(node.id, f"node {node.id} has no question")
        if node.children and (node.call is not None or node.operation is not None or node.instruction):
            yield Problem(node.id, f"node {node.id} has an operator and also questions below it")
        if sum((node.call is not None, node.operation is not None, bool(node.instruction))) > 1:
            yield Problem(node.id, f"node {node.id} has more than one operator, operation or instruction")
        if node.operation is not None:
            for message in call_problems(node.operation):
                yield Problem(node.id, f"node {node.id}: {message}")
        elif node.call is not None:
            yield from _call_problems(node, node.call)
        elif node.kind is NodeKind.DIRECT and not node.references:
            message = f"node {node.id} has no operator, no questions below it and refers to no earlier node"
            yield Problem(node.id, message, fatal=False)


def _call_problems(node: Node, call: OperatorCall) -> Iterator[Problem]:
    least, most = ARITY[call.operator]
    if not least <= len(call.arguments) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        message = f"node {node.id}: {call.operator} takes {wanted} arguments, not {len(call.arguments)}"
        yield Problem(node.id, message)
    for position, argument in enumerate(call.arguments, 1):
        if not (argument.text.strip() if isinstance(argument, Literal) else argument.ids):
            yield Problem(node.id, f"node {node.id}: argument {position} of {call.operator} is empty")


def _expectation_problems(tree: Tree) -> Iterator[Problem]:
    for node in tree.nodes():
        if node.expects is not None and node is not tree.root:
            yield Problem(node.id, f"node {node.id} states the expected answer, which only the question itself may")
    root = tree.root
    if root.expects is None:
        return
    if root.call is not None or root.operation is not None or root.instruction:
        yield Problem(root.id, "the question has an operator and also states the expected answer")
    if root.expects.type in NO_QUESTION and root.children:
        yield Problem(root.id, f"a plan that expects {root.expects.type} has no steps")


def _operand_problems(tree: Tree) -> Iterator[Problem]:
    """Operands of a kind that the operation cannot take, as far as the kind is known."""
    giving = {node.id: node.operation for node in tree.nodes() if node.operation is not None}
    for node in tree.nodes():
        if node.operation is None:
            continue
        for reference in node.operation.references:
            operand = giving.get(reference)
            if operand is not None and operand.signature.gives in node.operation.signature.refuses:
                kind = operand.signature.gives
                message = f"node {node.id}: {node.operation.operation} cannot take [{reference}], which gives {kind}"
                yield Problem(node.id, message)


def _reference_problems(tree: Tree) -> Iterator[Problem]:
    """References must point to nodes that are answered before: children before parents, earlier siblings first."""
    position = {node.id: index for index, node in enumerate(tree.bottom_up())}
    for node in tree.nodes():
        # The root is the user's own question: a bracketed number in it is text, unless it is an operator's argument.
        written = node if node is not tree.root else node.call or node.operation
        for reference in written.references if written is not None else ():
            if reference == node.id:
                yield Problem(node.id, f"node {node.id} refers to itself")
            elif reference not in position:
                yield Problem(node.id, f"node {node.id} refers to [{reference}], which is not in the plan")
            elif position[reference] > position[node.id]:
                yield Problem(node.id, f"node {node.id} refers to [{reference}], which is answered only later")
