"""Messages and confirmations of downloads: sizes, times and progress, on standard error."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from atomr_local.cli.output import note_text
from atomr_local.cli.progress import Pace, line_every
from atomr_local.errors import AtomrError
from atomr_local.fetching.client import FetchError
from atomr_local.fetching.estimates import duration
from atomr_local.indexing.builds.space import human_size
from atomr_local.sanitize import sanitize_line

CONTACT = "ATOMR_CONTACT"
_CONTACT = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|https?://[\w.-]+(?::\d+)?(?:/[\w./~%+:@-]*)?", re.ASCII)
_SCREEN_EVERY = 0.2
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def size_argument(text: str) -> int:
    """Bytes, from a command line: 500MB, 1.5 GB, 2000000.

    Raises:
        ValueError: it is no size.
    """
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)b?", text.strip(), re.IGNORECASE | re.ASCII)
    if match is None or not float(match[1]):
        raise ValueError(f"{text!r} is not a size such as 500MB or 1.5GB")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def checked_contact(text: str) -> str:
    """A contact as it may stand in a header.

    Raises:
        FetchError: it is no e-mail address and no web page.
    """
    contact = text.strip()
    if len(contact) > 120 or not _CONTACT.fullmatch(contact):
        raise FetchError(
            f"{sanitize_line(text)[:120]!r} is not a contact",
            hint="Give an e-mail address such as you@example.org, or a page such as https://example.org/about.",
        )
    return contact


def given_contact(option: str | None) -> str:
    """The contact of the option --contact, else of the environment variable ATOMR_CONTACT, else "".

    Raises:
        FetchError: what is given is none.
    """
    text = os.environ.get(CONTACT, "") if option is None else option
    return checked_contact(text) if text.strip() else ""


def contact_of(option: str | None) -> str:
    """The user's contact, or "" with a warning.

    Raises:
        FetchError: what is given is none.
    """
    contact = given_contact(option)
    if not contact:
        note_text(
            "No contact is given. Servers, Wikimedia's above all, may slow or refuse requests without one: "
            f"add --contact you@example.org, or set {CONTACT}."
        )
    return contact


@contextmanager
def interruptible() -> Iterator[None]:
    """Around a download: at Ctrl-C, say that it can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        note_text("\nInterrupted. The downloaded data is kept. Run the same command again to resume.")
        raise


def agreed(yes: bool) -> bool:
    """Whether the user wants to continue.

    Raises:
        AtomrError: there is nobody to ask.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise AtomrError(
            "no terminal to confirm on", hint="Add --yes to download without confirmation.", title="Not started"
        )
    print("Download it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


@dataclass
class TransferProgress:
    """Shows how far something is: one line that changes on a terminal, else a line now and then. A context manager.

    Args:
        words: from (done, total) to text, such as "3.0 of 9.0 MB".
    """

    name: str
    words: Callable[[int, int], str]
    rate: Callable[[float], str] | None = None

    def __post_init__(self) -> None:
        self._pace = Pace()
        self._last = ("", 0.0)
        self._open = False

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._pace.take(stage, done, total, done)
        terminal, now = sys.stderr.isatty(), time.monotonic()
        stage_changed = stage != self._last[0]
        if not stage_changed and done < total and now - self._last[1] < (_SCREEN_EVERY if terminal else line_every()):
            return
        self._last = (stage, now)
        parts = [f"{sanitize_line(self.name)}: {stage}", self.words(done, total)]
        if self.rate is not None and self._pace.rate is not None:
            parts.append(self.rate(self._pace.rate))
        if self._pace.remaining is not None and done < total:
            parts.append(f"about {duration(self._pace.remaining)} left")
        line = ", ".join(parts)
        if terminal:
            sys.stderr.write(f"\r\x1b[K{line}")
            self._open = True
        else:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def __enter__(self) -> TransferProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:  # end the line that changes
            sys.stderr.write("\n")


def bytes_progress(name: str) -> TransferProgress:
    return TransferProgress(
        name,
        lambda done, total: f"{human_size(done)} of {human_size(total)}",
        lambda rate: f"{human_size(int(rate))}/s",
    )
