"""Resolves references: replaces `[i]` by the values of step i."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping

from atomr_local.reasoning.results import Result, distinct
from atomr_local.sources.protocol import Value
from atomr_local.tree.nodes import REFERENCE, Literal, Node, Operator, References, Tree


def fill_question(tree: Tree, text: str, results: Mapping[int, Result]) -> str:
    """`text` with each `[i]` replaced by that node's answer as :attr:`Result.told` has it, or by its question in
    parentheses if it has none."""

    def replacement(match: re.Match[str]) -> str:
        number = int(match[1])
        result = results.get(number)
        if result is not None and result.values:
            return result.told
        try:
            asked = tree.node(number).question.rstrip("?")
        except KeyError:
            return match[0]
        return f"({REFERENCE.sub('it', asked)})"

    return REFERENCE.sub(replacement, text)


def resolve_arguments(
    tree: Tree, node: Node, results: Mapping[int, Result], cap: int
) -> tuple[list[tuple[Value, ...]], list[str]]:
    """The values for the operator's arguments: the product over multi-valued references, at most `cap` of them.

    Returns:
        One tuple of values for each run of the operator, none if a referenced node has no answer; and notes about
        values beyond the cap and about names used instead of missing answers.
    """
    assert node.call is not None
    missing: list[int] = []
    dropped: list[str] = []

    def values_of(node_id: int) -> tuple[Value, ...]:
        result = results.get(node_id)
        if result is not None and result.values:
            return result.values
        name = _own_name(tree, node_id)
        if name is not None:
            dropped.append(f"step {node_id} found nothing; its name {name!r} is used as it stands")
            return (Value(name),)
        missing.append(node_id)
        return ()

    columns: list[tuple[Value, ...]] = []
    for argument in node.call.arguments:
        if isinstance(argument, References):
            columns.append(distinct([value for i in argument.ids for value in values_of(i)]))
        elif not argument.references:
            columns.append((Value(argument.text),))
        else:
            columns.append(_filled_texts(argument, {i: values_of(i) for i in argument.references}))
    if missing:
        return [], dropped
    total = math.prod(map(len, columns))
    if total > cap:
        dropped.append(f"{total - cap} of {total} combinations of values left out (limit {cap})")
    return list(itertools.islice(itertools.product(*columns), cap)), dropped


def _filled_texts(argument: Literal, answers: Mapping[int, tuple[Value, ...]]) -> tuple[Value, ...]:
    """The text once for each combination of the answers it refers to."""
    ids = list(answers)
    texts = []
    for chosen in itertools.product(*(answers[i] for i in ids)):
        by_id = dict(zip(ids, chosen, strict=True))
        texts.append(Value(REFERENCE.sub(lambda match, by_id=by_id: by_id[int(match[1])].text, argument.text)))  # type: ignore[misc]
    return tuple(texts)


def _own_name(tree: Tree, node_id: int) -> str | None:
    """The name that a Search node looks for if the plan gives it."""
    node = tree.node(node_id)
    if node.call is None or node.call.operator is not Operator.SEARCH:
        return None
    name = node.call.arguments[0]
    return name.text if isinstance(name, Literal) and not name.references else None


def subjects(tree: Tree, node_id: int, results: Mapping[int, Result]) -> tuple[Value, ...]:
    """What a node's answer is about, nearest first: the chain of heads back to a name given in the plan."""
    chain: list[Value] = []
    seen: set[int] = set()
    current: int | None = node_id
    while current is not None and current not in seen:
        seen.add(current)
        node = tree.node(current)
        if node.call is None:
            if node.children:
                current = node.children[-1].id
                continue
            break
        head = node.call.arguments[0]
        if isinstance(head, Literal) and not head.references:
            chain.append(Value(head.text))
            break
        current = head.references[0] if head.references else None
        if current is not None and node.call.operator is not Operator.SEARCH and current in results:
            chain.extend(results[current].values[:1])
    return distinct(chain)
