"""Fixed bounds of the parsers, independent of the validation limits."""

from __future__ import annotations

from atomr_local.tree.errors import TreeError

MAX_CHARACTERS = 200_000
MAX_NODES = 1_000
MAX_DEPTH = 64  # below any recursion limit, also that of comparing and printing nested nodes
MAX_ID = 9_999


def check_size(characters: int) -> None:
    if characters > MAX_CHARACTERS:
        raise TreeError(f"the plan is {characters:,} characters long; at most {MAX_CHARACTERS:,} are read")


def check_count(nodes: int, *, line: int | None = None) -> None:
    if nodes > MAX_NODES:
        raise TreeError(f"the plan has more than {MAX_NODES:,} questions", line=line)


def check_depth(depth: int, *, line: int | None = None) -> None:
    if depth > MAX_DEPTH:
        raise TreeError(f"the plan is more than {MAX_DEPTH} levels deep", line=line)
