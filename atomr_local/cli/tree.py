"""`atomr tree`: check and convert reasoning trees in either notation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from atomr_local.errors import InputError
from atomr_local.sanitize import sanitize_line
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tree.paper import parse_paper, to_paper
from atomr_local.tree.validation import check as check_rules

_LONGEST_FILE = 256 * 1024 * 1024
_BLOCKS = re.compile(r"\n(?:[ \t]*\n)+")


@dataclass(frozen=True)
class _Read:
    """One tree of a file, or the reason why it is none; `line` is 1-based."""

    line: int
    tree: Tree | None
    reason: str = ""


@click.group()
def tree() -> None:
    """Check and convert reasoning trees.

    Two notations are read: JSON lines with "question" and "reasoning_tree" (the published one), and the compact
    outline, whose first line is "0. question"; blank lines separate several outlines.

    Example: atomr tree check plans.jsonl
    """


@tree.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def check(files: tuple[Path, ...]) -> int:
    """Check each tree of the files; one line for every rejected one, then the counts.

    Example: atomr tree check plans.jsonl
    """
    accepted = rejected = 0
    for file in files:
        for read in _trees(file):
            if read.tree is not None:
                accepted += 1
            else:
                rejected += 1
                click.echo(f"{sanitize_line(str(file))}:{read.line}: {sanitize_line(read.reason)}")
    click.echo(f"{accepted} accepted, {rejected} rejected")
    return 1 if rejected else 0


@tree.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "notation", type=click.Choice(["compact", "paper"]), required=True, help="Notation to write.")
def convert(file: Path, notation: str) -> int:
    """Write the file's trees in the other notation to standard output.

    Example: atomr tree convert plans.jsonl --to compact
    """
    rejected = 0
    written = 0
    for read in _trees(file):
        if read.tree is None:
            rejected += 1
            click.echo(f"{sanitize_line(str(file))}:{read.line}: {sanitize_line(read.reason)}", err=True)
            continue
        if notation == "paper":
            click.echo(json.dumps({"question": read.tree.question, "reasoning_tree": to_paper(read.tree)}, ensure_ascii=False))
        else:
            click.echo(("\n" if written else "") + to_compact(read.tree, with_root=True), nl=False)
        written += 1
    return 1 if rejected else 0


def _trees(file: Path) -> Iterator[_Read]:
    try:
        if file.stat().st_size > _LONGEST_FILE:
            raise InputError(f"{file} is larger than {_LONGEST_FILE >> 20} MiB", hint="Split the file.")
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="Give the path of a text file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text (byte {error.start})", hint="Save it as UTF-8.") from error
    if text.lstrip().startswith("{"):
        yield from _json_lines(text)
    else:
        yield from _outlines(text)


def _json_lines(text: str) -> Iterator[_Read]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict) or "reasoning_tree" not in row:
                raise TreeError('the line is no JSON object with "question" and "reasoning_tree"')
            question = row.get("question")
            tree = parse_paper(row["reasoning_tree"], question if isinstance(question, str) else None)
            check_rules(tree)
        except TreeError as error:
            yield _Read(number, None, error.message)
        except (ValueError, RecursionError) as error:
            yield _Read(number, None, f"not JSON: {error}")
        else:
            yield _Read(number, tree)


def _outlines(text: str) -> Iterator[_Read]:
    start = 0
    for gap in [*_BLOCKS.finditer(text), None]:
        block = text[start : gap.start() if gap else len(text)]
        first = text.count("\n", 0, start) + 1
        if block.strip():
            try:
                tree = parse_compact(block)
                check_rules(tree)
            except TreeError as error:
                yield _Read(first + (error.line or 1) - 1, None, error.message)
            else:
                yield _Read(first, tree)
        start = gap.end() if gap else len(text)
