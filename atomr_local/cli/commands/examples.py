"""`atomr examples`: your own example plans for the planner."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import click

from atomr_local.assistant.wishes import option
from atomr_local.cli.options import AS_JSON, NUMBER, TEXT_FILE, command, numbered, told_problems
from atomr_local.cli.output import print_json
from atomr_local.errors import InputError
from atomr_local.indexing.store import KINDS, STARTER, index_names, index_path
from atomr_local.reasoning.planning.examples import Example, check_example, drop_example, keep_example, read_examples
from atomr_local.settings.schema import load_settings
from atomr_local.sources.privacy import read_indexes
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize


@click.group()
def examples() -> None:
    """Keep plans of your own.

    When the question of a kept plan comes again, in the same or nearly the same words, the plan is used as it is. For
    other questions, a model without an adapter is shown the most similar kept plans, beside the ones that ship.

    Example: atomr examples list
    """


def _read() -> tuple[Path, list[Example]]:
    return told_problems(paths.examples_file(), read_examples)


@command(examples)
def list_(as_json: bool = AS_JSON) -> None:
    """List your examples, numbered. Invalid lines of the file are reported and skipped.

    Example: atomr examples list
    """
    path, found = _read()
    if as_json:
        print_json([{"number": i, **asdict(example)} for i, example in enumerate(found, 1)])
        return
    private = index_names(load_settings().privacy.indexes)
    if not found:
        click.echo(f"No examples of your own yet ({path}).", err=True)
    for number, example in enumerate(found, 1):
        quoted = private if example.indexes is None else [name for name in private if name in example.indexes]
        told = f"  (may quote what is private: {', '.join(quoted)})" if quoted else ""
        click.echo(sanitize(f"{number}. {example.question}{told}"))


@command(examples)
def show(number: int = NUMBER) -> None:
    """Print an example's question and plan.

    Example: atomr examples show 1
    """
    _, found = _read()
    example = numbered(found, number, "example", "examples")
    click.echo(sanitize(f"{example.question}\n{example.plan}"))


@command(examples)
def add(
    question: str = option("The question.", required=True),
    plan_file: TextIO = option("Its plan; - for standard input.", "--plan", type=TEXT_FILE, required=True),
    quotes: str | None = option(
        'The indexes whose words the question or the plan may hold, with commas between them; "" for none. '
        "Default: those that your questions read. Where one is private, the example is used only for questions that "
        "read it, and so never goes to another machine.",
        metavar="NAMES",
        completes="index_lists",
    ),
) -> None:
    """Add an example; its plan, in compact notation, must be one that the program would run.

    An example with the same question is replaced.

    Example: atomr examples add --question "Who wrote Hamlet?" --plan plan.txt
    """
    settings = load_settings()
    indexes = read_indexes(settings, settings.sources) if quotes is None else _built(index_names(quotes))
    try:
        plan = plan_file.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{plan_file.name} is not UTF-8 text: {error}") from error
    example = check_example(question, plan, indexes)
    path, _ = _read()
    keep_example(path, example)
    click.echo(f"Added to {path}.", err=True)


@command(examples)
def remove(number: int = NUMBER) -> None:
    """Remove an example by its number in the list.

    Example: atomr examples remove 1
    """
    path, found = _read()
    gone = numbered(found, number, "example", "examples")
    drop_example(path, gone.question)
    click.echo(sanitize(f"Removed: {gone.question}"), err=True)


def _built(names: list[str]) -> list[str]:
    """The names, if each is that of an index.

    Raises:
        InputError: one is not.
    """
    for name in names:
        if name != STARTER and not any(index_path(kind, name).exists() for kind in KINDS):
            raise InputError(f"there is no index {name!r}", hint="See `atomr indexes list`.")
    return names
