"""The published JSON notation: read or refused, and a tree that was read can be written in both notations."""

from __future__ import annotations

import json
from collections.abc import Iterator

from atomr_local.tree.errors import TreeError, is_hidden
from atomr_local.tree.paper import load_json, parse_paper, to_paper
from fuzz.properties import as_text, expect, repeated
from fuzz.targets.compact import use

INSTRUMENTED = ("atomr_local.tree",)
DICTIONARY = (
    b"[END]", b'"[END]"', b'": ["', b'": "', b'", "', b"1. ", b"3.1. ", b"[3.1]", b"[1]", b"[1, 2]", b"Search(",
    b"Relate(", b"Filter(", b'\\"', b"\\ud800", b"\\u0000", b"{", b"}", b"[", b"]", b"1e999", b"NaN", b"null",
    b'"reasoning_tree": {', b'"question": ', b"Given answers of [1] and [2], calculate the age ", b"9999. ", b" + ",
)  # fmt: skip

_TREE = {
    "Who is the father-in-law of Q?": ["1. Who is Q's husband?", "2. Who is the father of [1]?"],
    "1. Who is Q's husband?": ["3. Who is Q?", "4. Who is [3]'s husband?"],
    "3. Who is Q?": 'Search("Q")',
    "4. Who is [3]'s husband?": 'Relate([3], "husband")',
    "2. Who is the father of [1]?": "[END]",
}


def seeds() -> Iterator[bytes]:
    yield json.dumps(_TREE).encode()
    yield json.dumps({"question": "Q?", "reasoning_tree": _TREE}).encode()
    yield json.dumps(
        {"a?": ["3.1 b", "1. c [3.1]"], "3.1 b": 'Filter(Relate([1], "x"), "y")', "1. c [3.1]": "[END]"}
    ).encode()
    yield json.dumps({"a?": ['Search("b")', "1. c"], "1. c": "Given answers of [2], add [END]"}).encode()
    yield repeated(b'{"reasoning_tree":', 2_000)
    yield repeated(b"9", 5_000, head=b'{"a": ', tail=b"}")


def check(data: bytes) -> None:
    text = as_text(data)
    try:
        tree = parse_paper(text)
    except TreeError as error:
        expect(not any(map(is_hidden, str(error))), "messages are clean", str(error))
        return
    use(tree)
    expect(parse_paper(to_paper(tree)) == tree, "a tree in the notation can be written in it", text)
    load_json(text)
