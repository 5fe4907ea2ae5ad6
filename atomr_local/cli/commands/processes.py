"""`atomr processes`: worked processes for the strategies that use tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from atomr_local.assistant.wishes import argument, flag, option
from atomr_local.cli.options import AS_JSON, NUMBER, TEXT_FILE, command, numbered, told_problems
from atomr_local.cli.output import print_json
from atomr_local.errors import InputError
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.strategies.processes.process import Process

_TEXT = option("Take the process from this text instead; - for standard input.", "--text", type=TEXT_FILE)
_HEAD = """\
# Correct the steps. A line that begins with # is left out; observations are made again by the program.
# By hand: what you read on the page (several with ;), or the query that you want; none if there is nothing. Without
# it the model reads or writes. What can be named was in the question or in an earlier observation.
"""


@click.group()
def processes() -> None:
    """Keep processes that a person has corrected.

    A process is a question with the steps that solve it: thought, action, input, observation. A finished question of
    humaniq or react leaves one. Kept ones are shown to the model as examples, before those that ship.

    Example: atomr processes list
    """


@command(processes)
def list_(
    everything: bool = flag("Also those that ship, without numbers.", "--all"),
    as_json: bool = AS_JSON,
) -> None:
    """List your processes, numbered. Invalid lines of the file are reported and skipped.

    Example: atomr processes list --all
    """
    from atomr_local.strategies.processes.process import shipped

    path, found = _read()
    others = shipped() if everything else ()
    if as_json:
        own = [{"number": number, **process.model_dump()} for number, process in enumerate(found, 1)]
        print_json([*own, *({"number": None, **process.model_dump()} for process in others)])
        return
    if not found:
        click.echo(f"No processes of your own yet ({path}).", err=True)
    for number, process in enumerate(found, 1):
        click.echo(sanitize(f"{number}. {process.question}  ({process.method}, {len(process.steps)} steps)"))
    for process in others:
        click.echo(sanitize(f"–  {process.question}  ({process.method}, {len(process.steps)} steps, ships)"))


@command(processes)
def show(number: int = NUMBER) -> None:
    """Print a process as text, in the form that `edit --text` takes.

    Example: atomr processes show 1
    """
    _, found = _read()
    click.echo(sanitize(numbered(found, number, "process", "processes").as_text()), nl=False)


@command(processes)
def add(
    trace: str = argument(),
    edits: bool = flag("Correct it in your editor first.", "--edit"),
    text: TextIO | None = _TEXT,
) -> None:
    """Keep the process of TRACE: a file (`atomr history export --format json`), or a number of the history.

    Its observations are made again first; what does not hold is told, and nothing is kept then. One with the same
    question is replaced.

    Example: atomr processes add 12 --edit
    Example: atomr processes add trace.json
    """
    from atomr_local.strategies.processes.process import process_of

    process = process_of(_trace(trace))
    _keep(_changed(process, text) if edits or text is not None else process)


@command(processes)
def edit(number: int = NUMBER, text: TextIO | None = _TEXT) -> None:
    """Correct a process in your editor. Its observations are made again.

    Example: atomr processes edit 1
    Example: atomr processes edit 1 --text corrected.txt
    """
    _, found = _read()
    old = numbered(found, number, "process", "processes")
    _keep(_changed(old, text), instead_of=old.question)


@command(processes)
def remove(number: int = NUMBER) -> None:
    """Remove a process by its number in the list.

    Example: atomr processes remove 1
    """
    from atomr_local.strategies.processes.process import drop

    path, found = _read()
    gone = numbered(found, number, "process", "processes")
    drop(path, gone.question)
    click.echo(sanitize(f"Removed: {gone.question}"), err=True)


def _read() -> tuple[Path, list[Process]]:
    from atomr_local.strategies.processes.process import read_processes

    return told_problems(paths.processes_file(), read_processes)


def _trace(given: str) -> Trace:
    """The trace with this number in the history, or in this file."""
    if given.isdecimal() and len(given) < 10 and not Path(given).exists():
        from atomr_local.assistant.history.store import History

        with History.open() as opened:
            return opened.get(int(given)).trace
    from atomr_local.assistant.history.trace_import import read_traces

    if not Path(given).exists():
        raise InputError(
            f"{given} cannot be read: there is no such file",
            hint="Name a question by its number in `atomr history list`, or a file that `atomr history export "
            "--format json` has written.",
        )
    traces = read_traces(Path(given))
    if len(traces) != 1:
        raise InputError(f"{given} holds {len(traces)} traces", hint="Export the one question that you mean.")
    return traces[0]


def _changed(process: Process, text: TextIO | None) -> Process:
    """The process as the person corrects it."""
    from atomr_local.strategies.processes.process import read_text_form

    if text is not None:
        try:
            return read_text_form(text.read()).quoting(process.indexes)
        except UnicodeDecodeError as error:
            raise InputError(f"{text.name} is not UTF-8 text: {error}") from error
    edited = click.edit(f"{_HEAD}{sanitize(process.as_text())}", extension=".txt")
    if edited is None:
        raise InputError("nothing was changed, so nothing is kept", hint="Save the text in your editor to keep it.")
    return read_text_form(edited).quoting(process.indexes)


def _keep(process: Process, instead_of: str = "") -> None:
    """Do the process again, then write it."""
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.models.protocol import Nobody
    from atomr_local.settings.schema import load_settings
    from atomr_local.strategies.processes.process import keep, needs_model

    asks = needs_model(process)
    settings = load_settings() if asks else load_settings(features={"span_reader": False})
    with Assistant(settings, None if asks else Nobody()) as assistant:
        done = assistant.do_again(process)
    path = paths.processes_file()
    keep(path, done, instead_of)
    click.echo(sanitize(done.as_text()), nl=False)
    click.echo(sanitize(f"Kept in {path}: the strategy {done.method} shows it as an example."), err=True)
