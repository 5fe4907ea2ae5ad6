"""Trees whose numbering is not one integer a node: `2.1`, no number at all, or one number twice.

Such a tree still has one reading when nodes are taken in execution order: `[i]` means the node labelled i that
was answered last before it. The nodes are given numbers of their own and the references are rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LABELLED = re.compile(r"(\d{1,4}(?:\.\d{1,3})*)\.? (.*)", re.DOTALL)
_REFERENCE = re.compile(r"\[\s*(\d{1,4}(?:\.\d{1,3})*)\s*\]")
_MOST_ENTRIES = 2_000


def _split(key: str) -> tuple[str, str]:
    match = _LABELLED.fullmatch(key)
    return (match[1], match[2]) if match else ("", key)


def renumbered(entries: Mapping[str, Any], root: str) -> Mapping[str, Any]:
    """The entries with integer numbers, each once; the same object where they have them already.

    Entries that are not well formed are left for the parser to refuse.
    """
    if len(entries) > _MOST_ENTRIES:
        return entries
    order = _execution_order(entries, root)
    labels = [_split(key)[0] for key in order if key != root]
    if all(label.isdigit() for label in labels) and len(set(labels)) == len(labels):
        return entries
    numbers = _numbers([key for key in order if key != root])
    latest: dict[str, int] = {}
    result: dict[str, Any] = {}
    new_keys = {root: root}
    for key in order:
        label, question = _split(key)

        def rewritten(text: str, latest: dict[str, int] = latest) -> str:
            return _REFERENCE.sub(lambda match: f"[{latest.get(match[1], match[1])}]", text)

        if key != root:
            new_keys[key] = f"{numbers[key]}. {rewritten(question)}"
        value = entries[key]
        result[new_keys[key]] = rewritten(value) if isinstance(value, str) else value
        if label and key != root:
            latest[label] = numbers[key]
    for key, value in result.items():
        if isinstance(value, list | tuple):
            result[key] = [new_keys.get(child, child) if isinstance(child, str) else child for child in value]
    left = {key: value for key, value in entries.items() if key not in new_keys}
    return {root: result[root]} | result | left


def _numbers(keys: list[str]) -> dict[str, int]:
    """A number for every key: its own label where that is an integer not taken yet, else the next free one."""
    numbers: dict[str, int] = {}
    taken: set[int] = set()
    for key in keys:
        label = _split(key)[0]
        if label.isdigit() and int(label) not in taken:
            numbers[key] = int(label)
            taken.add(int(label))
    free = max(taken, default=0)
    for key in keys:
        if key not in numbers:
            free += 1
            numbers[key] = free
    return numbers


def _execution_order(entries: Mapping[str, Any], root: str) -> list[str]:
    """Reachable keys, children before parents; a key reached twice or on a cycle is taken once."""
    order: list[str] = []
    seen: set[str] = set()
    stack: list[tuple[str, bool]] = [(root, False)]
    while stack:
        key, expanded = stack.pop()
        if expanded:
            order.append(key)
            continue
        if key in seen or key not in entries:
            continue
        seen.add(key)
        stack.append((key, True))
        value = entries[key]
        if isinstance(value, list | tuple):
            stack.extend((child, False) for child in reversed(value) if isinstance(child, str))
    return order
