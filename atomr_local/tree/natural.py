"""The hierarchical tree of RoHT (Zhang et al., ACL 2023): a plan's steps, and above each chain of them a question.

Names stand in the questions that use them, operators and operations stay at the leaves, and every step that builds on
others gets a parent above it and them, whose answer is the step's. A parent that the plan lacks is worded from its
parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import count

from atomr_local.tree.calls import given_text
from atomr_local.tree.nodes import REFERENCE, Argument, Literal, Node, Operator, OperatorCall, Tree, with_references
from atomr_local.tree.operations import Operation

# A plan in natural questions, without operators: sub-questions that refer to each other's answers (ProbTree).


def natural(tree: Tree, keep: Collection[int] = ()) -> Tree:
    """The tree with every step as a question alone; numbers stay. A tree that has no operators is not changed.

    - A Search for a name melts into the questions that refer to it.
    - A question whose only part is one other question is answered like that one.
    - A last step that only computes, in words that refer to no other step, asks the question above it once more: it
      goes, for that question is answered from its parts anyway.
    - Steps that an operator refers to and the words do not are named behind the words.

    Args:
        keep: steps that stay whatever they are.
    """
    if is_natural(tree):
        return tree
    return _Natural(tree, frozenset(keep)).tree()


def is_natural(tree: Tree) -> bool:
    """Whether every step of the plan is a question alone."""
    return not any(node.call or node.operation or node.instruction for node in tree.nodes())


class _Natural:
    def __init__(self, tree: Tree, keep: frozenset[int]) -> None:
        self._root = tree.root
        self._keep = keep
        self._referred = {
            i for node in tree.nodes() for i in (() if node is tree.root else node.references) if i != node.id
        }
        self._names = {
            node.id: name
            for node in tree.nodes()
            if node.id in self._referred - keep and (name := _searched(node)) and node is not tree.root
        }

    def tree(self) -> Tree:
        root = self._root
        return Tree(replace(root, call=None, operation=None, instruction="", children=self._below(root)))

    def _below(self, node: Node) -> tuple[Node, ...]:
        left = [child for child in node.children if child.id not in self._names]
        children = tuple(Node(child.id, self._words(child), children=self._below(child)) for child in left)
        if len(children) == 1 and children[0].id not in self._referred | self._keep:
            return children[0].children
        if len(children) > 1 and self._repeats(left[-1]):
            return children[:-1]
        return children

    def _repeats(self, last: Node) -> bool:
        """Whether a last step only computes from the others, in words that refer to none."""
        computes = last.operation is not None or bool(last.instruction)
        return computes and last.id not in self._referred | self._keep and not last.references_in_words

    def _words(self, node: Node) -> str:
        said = {int(match) for match in REFERENCE.findall(node.question)}
        folded = node.question.casefold()
        unsaid = [
            i
            for i in node.references
            if i not in said and not (i in self._names and self._names[i].casefold() in folded)
        ]
        text = f"{node.question} ({', '.join(f'[{i}]' for i in unsaid)})" if unsaid else node.question
        return _named(text, self._names)


def _searched(node: Node, *, with_kind: bool = False) -> str:
    """The name that a Search looks for as the plan gives it, `with_kind` in parentheses; "" for other steps."""
    if node.call is None or node.call.operator is not Operator.SEARCH or node.children:
        return ""
    name, *kind = node.call.arguments
    text = given_text(name).strip()
    return f"{text} ({kind[0].text})" if with_kind and text and kind and isinstance(kind[0], Literal) else text


def without_searches(tree: Tree, keep: Collection[int] = ()) -> Tree:
    """The tree with the names of its Search steps in the steps that use them; numbers stay.

    A question whose only part is a step in the same words becomes that step.

    Args:
        keep: steps that stay whatever they are.
    """
    used = {i for node in tree.nodes() if node is not tree.root for i in node.references}
    operands = {i for node in tree.nodes() if node.operation is not None for i in node.operation.references}
    names = {
        node.id: name
        for node in tree.nodes()
        if node.id in used - operands - set(keep)
        and node is not tree.root
        and (name := _searched(node, with_kind=True))
    }

    def argument(one: Argument) -> Argument:
        if isinstance(one, Literal):
            return Literal(_named(one.text, names))
        return Literal(names[one.ids[0]]) if len(one.ids) == 1 and one.ids[0] in names else one

    def again(node: Node) -> Node:
        children = tuple(again(child) for child in node.children if child.id not in names)
        if node is tree.root:
            return replace(node, children=children)
        node = replace(
            node,
            question=_named(node.question, names),
            instruction=_named(node.instruction, names),
            call=node.call and OperatorCall(node.call.operator, tuple(map(argument, node.call.arguments))),
            children=children,
        )
        if len(children) == 1 and children[0].id not in used | set(keep) and not children[0].children:
            one, other = (" ".join(asked.question.split()).casefold() for asked in (children[0], node))
            return replace(children[0], id=node.id) if one == other else node
        return node

    return Tree(again(tree.root))


def _named(text: str, names: Mapping[int, str]) -> str:
    return REFERENCE.sub(lambda match: names.get(int(match[1]), match[0]), text)


def with_parents(tree: Tree) -> Tree:
    """The tree with a parent above each step that builds on siblings, and above these, unless it is the last one.

    The last part of a question gives that question's answer, so what refers to such a step refers to the parent then.
    A sibling that several others refer to stays beside them. New parents have new numbers.
    """
    numbers = count(max(node.id for node in tree.nodes()) + 1)

    def again(node: Node) -> Node:
        children = [again(child) for child in node.children]
        return replace(node, children=tuple(grouped(children)))

    def grouped(children: list[Node]) -> list[Node]:
        users: dict[int, set[int]] = {}
        for child in children:
            for i in outer_references(child):
                users.setdefault(i, set()).add(child.id)
        made: list[Node] = []
        stands: dict[int, int] = {}  # the parent that gives a step's answer
        for place, given in enumerate(children):
            child = _renamed(given, stands)
            wanted = [stands.get(i, i) for i in outer_references(given)]
            parts = [one for one in made if one.id in wanted]
            shared = any(len(users.get(i, ())) > 1 for i in outer_references(given))
            if place == len(children) - 1 or not parts or shared:
                made.append(child)
                continue
            question = _filled(child.question, {one.id: one for part in parts for one in _with_below(part)})
            parent = Node(next(numbers), question, children=(*parts, child))
            stands[child.id] = parent.id
            made = [*(one for one in made if one not in parts), parent]
        return made

    return Tree(again(tree.root))


def flattened(tree: Tree) -> Tree:
    """The tree's leaves in order, right below the root; what refers to a question refers to its last leaf."""
    if not tree.root.children:
        return tree
    last: dict[int, int] = {}
    leaves: list[Node] = []
    for node in tree.bottom_up():
        if node is tree.root:
            continue
        if node.children:
            end = node.children[-1].id
            last[node.id] = last.get(end, end)
        else:
            leaves.append(_renamed(node, last))
    return Tree(replace(tree.root, children=tuple(leaves)))


def outer_references(node: Node) -> tuple[int, ...]:
    """References of the node and of the steps below it to others, each once."""
    inside = {one.id for one in _with_below(node)}
    found = (i for one in _with_below(node) for i in one.references if i not in inside)
    return tuple(dict.fromkeys(found))


def ends_in_last(tree: Tree, node: Node) -> bool:
    """Whether the last child rests on all others, so that its answer is the node's."""
    resting: set[int] = set()
    open_ids = [node.children[-1].id]
    while open_ids:
        current = open_ids.pop()
        if current in resting:
            continue
        resting.add(current)
        below = tree.node(current)
        open_ids.extend(below.references)
        open_ids.extend(child.id for child in below.children)
    return {child.id for child in node.children} <= resting


def program(tree: Tree, node: Node) -> list[Node]:
    """The steps that answer the node by operators alone, in order; empty if it cannot be answered so."""
    steps: list[Node] = []
    for one in node.bottom_up():
        if one.children:
            if not ends_in_last(tree, one):
                return []
        elif one.call is None and one.operation is None:
            return []
        else:
            steps.append(one)
    return steps if steps and steps[-1] is _end(node) else []


def skeleton(tree: Tree, node: Node) -> str:
    """The operators that answer the node in order, without arguments: "Search-Relate-Relate"; "" without a program.

    A name, or the answer of a step elsewhere, is searched for first.
    """
    steps = program(tree, node)
    inside = {one.id for one in _with_below(node)}
    return "-".join(word for one in steps for word in _operators(one, inside))


def _operators(node: Node, inside: Collection[int]) -> Iterator[str]:
    if (called := node.operation) is not None:
        among = called.operation is not Operation.COMPARE or len(called.operands) != 2
        yield _NAMES.get(called.operation, called.operation.value) if among else "SelectBetween"
    elif node.call is not None:
        head = node.call.arguments[0]
        if node.call.operator is not Operator.SEARCH and not set(head.references) & set(inside):
            yield Operator.SEARCH.value
        yield node.call.operator.value


# RoHT's names of operations; what it lacks keeps our name.
_NAMES = {
    Operation.COMPARE: "SelectAmong",
    Operation.TOP: "SelectAmong",
    Operation.IS: "Verify",
    Operation.INTERSECT: "Intersection",
}


def _with_below(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _with_below(child)


def _end(node: Node) -> Node:
    return _end(node.children[-1]) if node.children else node


def _renamed(node: Node, numbers: Mapping[int, int]) -> Node:
    """The node, and what is below it, with references changed."""
    if not numbers:
        return node
    return replace(with_references(node, numbers), children=tuple(_renamed(child, numbers) for child in node.children))


def _filled(text: str, parts: Mapping[int, Node]) -> str:
    """The text with a description of each part in place of its answer."""
    return REFERENCE.sub(lambda match: _described(int(match[1]), parts) or match[0], text)


def _described(node_id: int, parts: Mapping[int, Node]) -> str:
    """A noun for the step's answer: "the director of Emma Road"; "" for a step elsewhere."""
    if node_id not in parts:
        return ""
    node = _end(parts[node_id])
    known = {i: one for i, one in parts.items() if i != node_id}
    call = node.call
    if call is not None and call.operator is Operator.SEARCH:
        return _filled(_text(call.arguments[0]), known)
    if call is not None and call.operator is Operator.RELATE and len(call.arguments) == 2:
        head, relation = (_filled(_text(one), known) for one in call.arguments)
        return f"the {relation.removeprefix('the ')} of {head}"
    return f"({_filled(node.question, known).rstrip(' ?')})"


def _text(argument: Argument) -> str:
    if isinstance(argument, Literal):
        return argument.text
    return " and ".join(f"[{i}]" for i in argument.ids)
