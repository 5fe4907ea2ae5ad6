"""References `[i]` in texts: found and filled, and answers never filled in turn."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.tree.nodes import Literal, References
from atomr_local.tree.references import fill, fill_all, fill_argument, references_in
from fuzz.properties import as_text, expect

INSTRUMENTED = ("atomr_local.tree",)
DICTIONARY = (b"[1]", b"[12]", b"[9999]", b"[0]", b"[", b"]", b"\n", b"[1, 2]", "[\u0661]".encode(), b"[00001]", b"\\")


def seeds() -> Iterator[bytes]:
    yield b"Who is [1]'s husband and [2]?\nthe [2] of [1]\n[12]"


def check(data: bytes) -> None:
    text, *answers = as_text(data).split("\n")
    ids = references_in(text)
    expect(len(set(ids)) == len(ids), "each reference once", text)
    expect(all(0 <= i <= 9999 for i in ids), "references are small numbers", text)
    expect(fill(text, {}) == text, "without answers nothing changes", text)
    same = fill(text, {i: f"[{i}]" for i in ids})
    expect(references_in(same) == ids, "a reference for itself refers to the same", text)
    expect(references_in(fill(text, dict.fromkeys(ids, "x"))) == (), "all are filled", text)
    known = dict(zip(ids, answers, strict=False))
    filled = fill(text, known)
    longest = max(map(len, answers), default=0)
    expect(len(filled) <= len(text) + len(text) * longest, "answers are not filled in turn", text)
    expect(fill_all([text], known) == (filled,), "one way of filling", text)
    expect(fill_argument(Literal(text), known) == filled, "arguments are filled alike", text)
    fill_argument(References(ids), known)
