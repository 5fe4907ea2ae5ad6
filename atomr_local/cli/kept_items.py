"""What the commands on the user's own items share: `atomr examples` and `atomr processes` number them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from atomr_local.errors import InputError
from atomr_local.sanitize import sanitize

Item = TypeVar("Item")


def told_problems(path: Path, read: Callable[[Path], tuple[list[Item], list[str]]]) -> tuple[Path, list[Item]]:
    """The file and its items; the problems of lines that hold none are told."""
    found, problems = read(path)
    for problem in problems:
        click.echo(sanitize(f"skipped: {problem}"), err=True)
    return path, found


def numbered(found: Sequence[Item], number: int, what: str, command: str) -> Item:
    """The item with this number, from 1.

    Raises:
        InputError: there are not so many.
    """
    if number > len(found):
        raise InputError(f"there is no {what} {number}", hint=f"There are {len(found)}: see `atomr {command} list`.")
    return found[number - 1]
