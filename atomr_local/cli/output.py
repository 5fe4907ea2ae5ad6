"""What every command prints: JSON on standard output; notes, progress and questions on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from atomr_local.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from atomr_local.settings.schema import Settings


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
