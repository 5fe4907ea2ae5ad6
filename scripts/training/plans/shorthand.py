"""Plans in shorthand, as an adapter writes them (`atomr_local/reasoning/planning/coverage.py`)."""

from __future__ import annotations

from dataclasses import replace

from atomr_local.reasoning.planning.coverage import find_name
from atomr_local.reasoning.planning.planner import SUB_STEPS, TOP_LEVEL
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import REFERENCE, Literal, Node, Operator, OperatorCall, References, Tree, renumbered
from atomr_local.tree.validation import Limits, validate
from training.plans.typed import told_kind


def _filled(question: str, node_id: int, name: str) -> str:
    """The question with the name in place of references to the node."""
    return REFERENCE.sub(lambda match: name if int(match[1]) == node_id else match[0], question)


def in_shorthand(tree: Tree) -> Tree:
    """The tree without the Searches that the program puts back: what an adapter learns to write.

    A kind or a year that the question tells of a name goes along with it, in parentheses.
    """

    def users(found: Node) -> list[Node]:
        return [node for node in tree.nodes() if node is not tree.root and found.id in node.references]

    def without(node: Node) -> Node:
        children = list(node.children)
        for found in node.children:
            name = found.call.arguments[0] if found.call and found.call.operator is Operator.SEARCH else None
            if not isinstance(name, Literal) or name.references or find_name(name.text, tree.question) < 0:
                continue
            using = users(found)
            if len(using) != 1 or using[0] not in children or not (call := using[0].call):
                continue
            if call.operator is Operator.RELATE and call.arguments[0] == References((found.id,)):
                kind = "" if "(" in name.text else told_kind(name.text, tree.question)
                full = Literal(f"{name.text} ({kind})" if kind else name.text)
                lean = OperatorCall(call.operator, (full, *call.arguments[1:]))
                asked = Node(using[0].id, _filled(using[0].question, found.id, name.text), lean)
                children[children.index(using[0])] = asked
                children.remove(found)
        if len(children) == 1 and node is not tree.root and children[0].call is not None:
            return Node(node.id, node.question, children[0].call)
        return replace(node, children=tuple(map(without, children)))

    return renumbered(Tree(without(tree.root)))


def writable(tree: Tree) -> bool:
    """Whether the grammar of plans (`planning/planner.py`) lets the tree through, as far as its shape goes."""
    steps = tree.root.children
    for place, step in enumerate(steps, 1):
        drawn = step.call is None and step.operation is None and not step.children
        if drawn and (place < len(steps) or place == 1):
            return False
        if len(step.children) > SUB_STEPS or any(below.call is None for below in step.children):
            return False
        if step.children and place == len(steps) > 2:
            return False
    return len(steps) <= TOP_LEVEL


def valid_plan(compact: str, question: str) -> str | None:
    """The plan, if it breaks no rule."""
    try:
        return None if validate(parse_compact(compact, question), Limits()) else compact
    except (TreeError, ValueError):
        return None
