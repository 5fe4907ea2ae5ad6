"""References: what `[i]` stands for, which node waits for which, and what a changed answer touches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from atomr_local.tree.nodes import REFERENCE, Argument, Literal, Tree


def references_in(text: str) -> tuple[int, ...]:
    """Ids that a text refers to, in order, each once."""
    return tuple(dict.fromkeys(int(match) for match in REFERENCE.findall(text)))


def fill(text: str, answers: Mapping[int, str]) -> str:
    """`text` with each `[i]` replaced by `answers[i]`; ids without an answer stay. Answers are not filled in turn."""
    return REFERENCE.sub(lambda match: answers.get(int(match.group(1)), match.group()), text)


def fill_all(texts: Iterable[str], answers: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(fill(text, answers) for text in texts)


def fill_argument(argument: Argument, answers: Mapping[int, str], *, separator: str = ", ") -> str:
    """An operator's argument as text; several references are joined by `separator`."""
    if isinstance(argument, Literal):
        return fill(argument.text, answers)
    return separator.join(answers.get(i, f"[{i}]") for i in argument.ids)


def dependencies(tree: Tree) -> dict[int, frozenset[int]]:
    """For each node, the nodes whose answers it uses directly: its children and those it refers to.

    References to nodes outside the tree are left out.
    """
    known = {node.id for node in tree.nodes()}
    return {
        node.id: frozenset({child.id for child in node.children} | (known.intersection(node.references) - {node.id}))
        for node in tree.nodes()
    }


def dependents(tree: Tree, node_id: int) -> set[int]:
    """Every node whose answer depends on this one, directly or not: ancestors and all that refer to it.

    Raises:
        KeyError: the tree has no such node.
    """
    tree.node(node_id)
    users: dict[int, set[int]] = {}
    for user, used in dependencies(tree).items():
        for i in used:
            users.setdefault(i, set()).add(user)
    found: set[int] = set()
    waiting = [node_id]
    while waiting:
        for user in users.get(waiting.pop(), set()) - found:
            found.add(user)
            waiting.append(user)
    return found - {node_id}


def ready_order(tree: Tree) -> list[tuple[int, ...]]:
    """Ids in waves: every node of a wave depends only on earlier waves, so the nodes of one may run side by side.

    Within a wave, execution order (:meth:`Tree.bottom_up`). The root is the last. Nodes that wait for each other,
    which validation refuses, come last, one wave each, so that every node appears exactly once.
    """
    waiting = dependencies(tree)
    order = [node.id for node in tree.bottom_up()]
    waves: list[tuple[int, ...]] = []
    done: set[int] = set()
    while order:
        wave = tuple(i for i in order if waiting[i] <= done) or (order[0],)
        waves.append(wave)
        done.update(wave)
        order = [i for i in order if i not in done]
    return waves
