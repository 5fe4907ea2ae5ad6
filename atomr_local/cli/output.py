"""Progress of long work on standard error: a bar on a terminal, otherwise lines, with rate and remaining time."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.errors import AtomrError, InputError
from atomr_local.system.files import read_text
from atomr_local.system.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from atomr_local.settings.schema import Settings
    from atomr_local.sources.protocol import Evidence


# What every command prints: JSON on standard output; notes, progress and questions on standard error.


def note(message: str) -> None:
    """A line on standard error, for the user to know; above the progress bar where one is shown."""
    # rich puts the line above its bar when it comes through sys.stderr; click.echo writes past that, into the bar.
    print(sanitize_line(message), file=sys.stderr, flush=True)


def note_sentence(message: str) -> None:
    """:func:`note` of what the program says without a capital and a full stop."""
    note(f"{message[:1].upper()}{message[1:]}.")


def note_text(text: str) -> None:
    """Lines on standard error."""
    print(sanitize(text), file=sys.stderr, flush=True)


def announce_remote(settings: Settings) -> None:
    """Name the other machine that questions go to, before the first of them does."""
    if host := settings.endpoint.url.remote_host():
        note(f"Questions and evidence leave this machine → {host} (endpoint.url in the settings).")


def print_json(data: Any) -> None:
    """JSON on standard output, nothing else; ASCII, so that no character in it can drive the terminal."""
    click.echo(json.dumps(data, indent=2, default=str))


def print_evidence(found: Sequence[Evidence], *parts: str) -> None:
    """Pieces of evidence as JSON: these parts of each, and where it stands."""
    print_json([{name: getattr(one, name) for name in parts} | {"locator": dict(one.locator)} for one in found])


# What a command is given beside its options: files, and the word of the user.


def given_text(
    file: Path, most: int, *, hint: str, refusal: type[AtomrError] = InputError, no_text: str = "it is not UTF-8"
) -> str:
    """The text of a file.

    Args:
        most: bytes that it may have.
        hint: what to give instead, where it cannot be read.
        no_text: what is said of one that is no text.

    Raises:
        AtomrError: it cannot be read; as `refusal`.
    """
    try:
        return read_text(file, most)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or no_text
        raise refusal(f"{sanitize_line(str(file))} cannot be read: {reason}", hint=hint) from error


def confirm(yes: bool, question: str, what: str) -> None:
    """Ask before something is lost; Abort where the user does not want it.

    Raises:
        UsageError: there is nobody to ask.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"confirm the {what} with --yes")
    click.confirm(question, abort=True, err=True)


# The terminal of a command: whether the terminal UI can run in it, and its Ctrl-C.

_NO_CURSOR = frozenset({"dumb", "unknown"})  # values of TERM for terminals that only print lines


def no_terminal() -> str | None:
    """Why the terminal UI cannot be shown here, None if it can. It reads keys from the standard input and draws on
    the standard error; a standard output that goes elsewhere waits for an answer that would never come."""
    streams = (("standard input", sys.stdin), ("standard output", sys.stdout), ("standard error", sys.stderr))
    for name, stream in streams:
        if stream is None or stream.closed or not stream.isatty():
            return f"the terminal UI needs a terminal, and {name} is not one"
    term = os.environ.get("TERM", "")
    if term in _NO_CURSOR:
        return f"the terminal UI cannot be drawn on a terminal of the kind {term} (TERM)"
    return None


@contextmanager
def interrupt(cancel: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `cancel`, which ends the work cleanly; the second one raises KeyboardInterrupt.

    An exception is no sure way to stop long work: raised while a library is imported or calls back, it may be lost.
    """

    def first(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancel()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
