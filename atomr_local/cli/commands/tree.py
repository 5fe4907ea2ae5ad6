"""`atomr tree`: checks and converts reasoning trees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from atomr_local.assistant.wishes import argument, option
from atomr_local.cli.options import command
from atomr_local.errors import InputError
from atomr_local.system.files import read_text
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.compact import parse_compact, split_compact, to_compact
from atomr_local.tree.errors import TreeError, is_hidden
from atomr_local.tree.nodes import Tree
from atomr_local.tree.paper import load_json, parse_paper, to_paper
from atomr_local.tree.validation import check as check_rules

_MAX_BYTES = 256 * 1024 * 1024


@click.group()
def tree() -> None:
    """Check and convert reasoning trees.

    Two notations are read: JSON lines with "question" and "reasoning_tree" (the published one), and the compact
    outline, in which each tree begins with a line "0. question".

    Example: atomr tree check plans.jsonl
    """


@command(tree)
def check(files: tuple[Path, ...] = argument(required=True, metavar="FILE...")) -> int:
    """Check each tree of the files; one line for every rejected one, then the counts.

    Example: atomr tree check plans.jsonl
    """
    from atomr_local.cli.main import report

    accepted = rejected = unread = 0
    for file in files:
        try:
            found = list(_trees(file))
        except InputError as error:  # the other files are looked at all the same
            report(error)
            unread += 1
            continue
        if not found:
            click.echo(f"{sanitize_line(str(file))} contains no tree", err=True)
        for line, tree in found:
            if isinstance(tree, TreeError):
                rejected += 1
                click.echo(_complaint(file, line, tree))
            else:
                accepted += 1
    click.echo(f"{accepted} accepted, {rejected} rejected")
    return 1 if rejected or unread else 0


@command(tree)
def convert(
    file: Path = argument(),
    notation: Literal["compact", "paper"] = option("Notation to write.", "--to", required=True),
) -> int:
    """Write the trees of a file in the other notation to standard output.

    Rejected trees are left out and reported on standard error.

    Example: atomr tree convert plans.jsonl --to compact
    """
    written = rejected = 0
    for line, tree in _trees(file):
        try:
            if isinstance(tree, TreeError):
                raise tree
            text = _paper_line(tree) if notation == "paper" else to_compact(tree, with_root=True)
        except TreeError as error:
            rejected += 1
            click.echo(_complaint(file, line, error), err=True)
        else:
            click.echo(f"\n{text}" if written and notation == "compact" else text)
            written += 1
    return 1 if rejected else 0


def _complaint(file: Path, line: int, error: TreeError) -> str:
    return f"{sanitize_line(str(file))}:{line}: {sanitize_line(error.message)}"


def _paper_line(tree: Tree) -> str:
    """One JSON line; characters that a terminal would act on or hide are escaped, so nothing is lost."""
    line = json.dumps({"question": tree.question, "reasoning_tree": to_paper(tree)}, ensure_ascii=False)
    if line.isascii() and line.isprintable():
        return line
    return "".join(json.dumps(c)[1:-1] if is_hidden(c) else c for c in line)


def _trees(file: Path) -> Iterator[tuple[int, Tree | TreeError]]:
    """Every tree of a file, or what is wrong with it, with its line.

    Raises:
        InputError: the file cannot be read, is too large, or is not UTF-8.
    """
    try:
        text = read_text(file, _MAX_BYTES)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="Give the path of a text file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text (byte {error.start})", hint="Save it as UTF-8.") from error
    parts = _json_texts(text) if text.lstrip().startswith("{") else split_compact(text)
    read = _parse_row if text.lstrip().startswith("{") else parse_compact
    for line, part in parts:
        try:
            tree = read(part)
            check_rules(tree)
        except TreeError as error:
            yield line + (error.line or 1) - 1, error
        else:
            yield line, tree


def _json_texts(text: str) -> list[tuple[int, str]]:
    """The JSON lines of a file, or the whole of it where it is one object over several lines."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if lines[0][1].strip() == "{":
        return [(lines[0][0], text)]
    return lines


def _parse_row(text: str) -> Tree:
    row = load_json(text)
    if not isinstance(row, dict) or "reasoning_tree" not in row:
        raise TreeError('not an object with "question" and "reasoning_tree"')
    question = row.get("question")
    return parse_paper(row["reasoning_tree"], question if isinstance(question, str) else None)
