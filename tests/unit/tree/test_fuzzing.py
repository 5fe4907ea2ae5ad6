"""Mutated trees in both notations: a parser reads them or raises its own error, and what it reads is not lost."""

from __future__ import annotations

import json
import random

import pytest
from support.tree_examples import COMPARISON, OPERATIONS, OUTLINE, PAPER

from atomr_local.tree.compact import parse_compact, split_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tree.paper import parse_paper, published, to_paper
from atomr_local.tree.validation import validate

_SNIPPETS = [
    "[1]",
    "[END]",
    '"',
    "\\",
    "(",
    ")",
    " = ",
    "\n",
    "  ",
    "Search(",
    "0. ",
    "9999. ",
    ",",
    "\x00",
    "\ud83d",
    "{",
]
_SNIPPETS += ["}", "[", "]", ":", "1e999", "null", "\ufeff", "\u2028", "Direct(", "Filter(Search(", "3.1. ", "[3.1]"]


def _mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 1, 1, 2, 8, 40]))
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:start] + rng.choice(_SNIPPETS) + text[end:]
        elif kind == 2:
            text = text[:end] + text[start:end] + text[end:]
        elif kind == 3:
            text = text[:start] + chr(rng.choice([rng.randrange(128), rng.randrange(0x3000), 0xD800])) + text[end:]
        else:
            text = text[:start]
    return text


def _mutated_bytes(text: str, rng: random.Random) -> str:
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return data.decode("utf-8", errors=rng.choice(["replace", "surrogateescape"]))


def _mutated_entries(rng: random.Random) -> dict[object, object]:
    entries: dict[object, object] = dict(PAPER)
    keys = list(entries)
    for _ in range(rng.randint(1, 3)):
        key, other = rng.choice(keys), rng.choice(keys)
        match rng.randrange(8):
            case 0:
                entries.pop(key, None)
            case 1:
                entries[key] = entries.get(other, "[END]")
            case 2:
                entries[key] = rng.choice(
                    [None, 1, [], {}, [None], [[]], True, "", "x", "[END]", {"reasoning_tree": {}}]
                )
            case 3:
                children = entries.get(key)
                entries[key] = [*children, other] if isinstance(children, list) else [other]
            case 4:
                children = entries.get(key)
                if isinstance(children, list):
                    entries[key] = rng.sample(children, rng.randint(0, len(children)))
            case 5:
                value = entries.get(key)
                if isinstance(value, str):
                    entries[key] = _mutated(value, rng)
            case 6:
                entries[_mutated(str(key), rng)] = entries.pop(key, "[END]")
            case _:
                entries[rng.choice([7, None, "8. x", ""])] = rng.choice(["[END]", ["1. a"]])
    return entries


def _use(tree: Tree) -> None:
    assert parse_compact(to_compact(tree, with_root=True)) == tree
    validate(tree)
    try:
        entries = to_paper(tree)
    except TreeError:
        return
    assert parse_paper(entries) == published(tree)


@pytest.mark.slow
@pytest.mark.parametrize("mutate", [_mutated, _mutated_bytes])
def test_mutated_outlines(mutate: object) -> None:
    assert callable(mutate)
    rng = random.Random(20261121)
    read = 0
    for _ in range(2_000):
        text = mutate(rng.choice([OUTLINE, COMPARISON, OPERATIONS]), rng)
        split_compact(text)
        try:
            tree = parse_compact(text, "q?")
        except TreeError:
            continue
        read += 1
        _use(tree)
    assert 200 < read < 1_900


@pytest.mark.parametrize("mutate", [_mutated, _mutated_bytes])
def test_mutated_json_text(mutate: object) -> None:
    assert callable(mutate)
    rng = random.Random(20261122)
    source = json.dumps(PAPER)
    read = 0
    for _ in range(2_000):
        try:
            tree = parse_paper(mutate(source, rng))
        except TreeError:
            continue
        read += 1
        _use(tree)
    assert read < 1_500


def test_mutated_json_structure() -> None:
    rng = random.Random(20261123)
    read = 0
    for _ in range(2_000):
        try:
            tree = parse_paper(_mutated_entries(rng), "q?")
        except TreeError:
            continue
        read += 1
        _use(tree)
    assert 50 < read < 1_500
