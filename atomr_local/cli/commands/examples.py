"""`atomr examples`: your own example plans for the planner."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import click

from atomr_local import paths
from atomr_local.cli.kept_items import numbered, told_problems
from atomr_local.cli.output import print_json
from atomr_local.errors import InputError
from atomr_local.planning.examples import (
    Example,
    check_example,
    drop_example,
    keep_example,
    read_examples,
)
from atomr_local.sanitize import sanitize


@click.group()
def examples() -> None:
    """Keep plans of your own.

    When the question of a kept plan comes again, in the same or nearly the same words, the plan is used as it is. For
    other questions, a model without an adapter is shown the most similar kept plans, beside the ones that ship.

    Example: atomr examples list
    """


def _read() -> tuple[Path, list[Example]]:
    return told_problems(paths.examples_file(), read_examples)


@examples.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List your examples, numbered. Invalid lines of the file are reported and skipped.

    Example: atomr examples list
    """
    path, found = _read()
    if as_json:
        print_json([{"number": i, "question": e.question, "plan": e.plan} for i, e in enumerate(found, 1)])
        return
    if not found:
        click.echo(f"No examples of your own yet ({path}).", err=True)
    for number, example in enumerate(found, 1):
        click.echo(sanitize(f"{number}. {example.question}"))


@examples.command()
@click.argument("number", type=click.IntRange(min=1))
def show(number: int) -> None:
    """Print an example's question and plan.

    Example: atomr examples show 1
    """
    _, found = _read()
    example = _numbered(found, number)
    click.echo(sanitize(f"{example.question}\n{example.plan}"))


@examples.command()
@click.option("--question", required=True, help="The question.")
@click.option(
    "--plan", "plan_file", type=click.File(encoding="utf-8"), required=True, help="Its plan; - for standard input."
)
def add(question: str, plan_file: TextIO) -> None:
    """Add an example; its plan, in compact notation, must be one that the program would run.

    An example with the same question is replaced.

    Example: atomr examples add --question "Who wrote Hamlet?" --plan plan.txt
    """
    try:
        plan = plan_file.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{plan_file.name} is not UTF-8 text: {error}") from error
    example = check_example(question, plan)
    path, _ = _read()
    keep_example(path, example)
    click.echo(f"Added to {path}.", err=True)


@examples.command()
@click.argument("number", type=click.IntRange(min=1))
def remove(number: int) -> None:
    """Remove an example by its number in the list.

    Example: atomr examples remove 1
    """
    path, found = _read()
    gone = _numbered(found, number)
    drop_example(path, gone.question)
    click.echo(sanitize(f"Removed: {gone.question}"), err=True)


def _numbered(found: list[Example], number: int) -> Example:
    return numbered(found, number, "example", "examples")
