"""Downloads in the terminal: sizes, times and progress, and what is asked before anything is downloaded."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from atomr_local.assistant.wishes import CONTACT, ModelWish, PullWish
from atomr_local.cli.output import note_text
from atomr_local.cli.progress import Pace, line_every
from atomr_local.errors import AtomrError, InputError
from atomr_local.fetching.client import Client, FetchError, shown
from atomr_local.fetching.download import (
    RemoteModel,
    checked_name,
    direct,
    download,
    is_there,
    name_of,
    pull,
    remaining,
    require_room,
)
from atomr_local.fetching.download import look_up as look_up_model
from atomr_local.fetching.download import look_up_index_file as look_up
from atomr_local.fetching.estimates import duration, transfer_time
from atomr_local.indexing.builds.space import human_size
from atomr_local.models.catalog.offered import catalogue, offered_model
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize_line

# Messages and confirmations of downloads: sizes, times and progress, on standard error.

_CONTACT = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|https?://[\w.-]+(?::\d+)?(?:/[\w./~%+:@-]*)?", re.ASCII)
_SCREEN_EVERY = 0.2


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
def connected(contact: str, *, base_url: str, rate: float = 0.0) -> Iterator[Client]:
    """A client for downloads by the user's settings; at Ctrl-C, say that they can be resumed."""
    use_proxy = load_settings().network.use_proxy
    try:
        with Client(contact=contact, rate=rate, use_proxy=use_proxy, base_url=base_url, notify=note_text) as client:
            yield client
    except KeyboardInterrupt:
        note_text("\nInterrupted. The downloaded data is kept. Run the same command again to resume.")
        raise


def require_transfer(source: str, directory: Path, left: int, rate: float = 0.0, *, unchecked: str = "") -> None:
    """Tell where `left` bytes come from and how long they take, and see to it that there is room.

    Args:
        unchecked: told beside, where the server publishes no checksum.

    Raises:
        FetchError: there is too little room.
    """
    note_text(f"From {source}, {transfer_time(left, rate)}.")
    if unchecked:
        note_text(unchecked)
    require_room(directory, left)


def agreed(yes: bool) -> bool:
    """Whether the user wants to continue; where not, that nothing was downloaded is told.

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
    return sys.stdin.readline().strip().casefold() in ("y", "yes") or _nothing()


def _nothing() -> bool:
    note_text("Nothing was downloaded.")
    return False


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


# `atomr indexes pull`: asks, and downloads the file of an index.


def fetch_index_file(wish: PullWish) -> tuple[Path, str] | None:
    """The downloaded file, and its address as it may be shown; None if the user does not want to.

    Raises:
        AtomrError: it cannot be fetched, checked or written.
    """
    directory = paths.downloads_dir()
    with connected(given_contact(None), base_url=wish.base_url) as client:
        file = look_up(client, wish.url, wish.sha256)
        left = remaining(file, directory)
        note_text(f"{file.name}: {human_size(file.size)}, of which {human_size(left)} to download into {directory}")
        unchecked = (
            "No checksum is known (--sha256): that the file is what its maker wrote cannot be checked, only that it is "
            "whole in itself."
        )
        require_transfer(shown(file.url), directory, left, unchecked="" if file.algorithm else unchecked)
        if not agreed(wish.yes):
            return None
        with bytes_progress(file.name) as progress:
            return download(client, file, directory, progress), shown(file.url)


# `atomr models pull`: shows size and time, asks, and downloads.


def pull_model(wish: ModelWish) -> str | None:
    """Get a model of the catalogue or by its address; what it is called then, None if the user does not want to.

    Raises:
        AtomrError: nothing is offered under the name, or it cannot be fetched, checked or written.
    """
    name, called = wish.name, wish.called
    if called:
        checked_name(called)
    licence = ""
    if "://" in name:
        url = direct(name)
        named = called or name_of(url)
    else:
        offered = offered_model(name)
        url, licence, named = offered.url(wish.base_url or catalogue().hub), offered.licence, called or offered.name
    directory = paths.models_dir()
    with connected(given_contact(None), base_url=wish.base_url) as client:
        model = look_up_model(client, url, named, licence)
        if is_there(model, directory):
            note_text(f"{named} is up to date: {model.target(directory)}")
            return named
        if not _wanted(model, wish):
            return None
        with bytes_progress(named) as progress:
            header = pull(client, model, directory, progress)
    parameters = f"{header.parameters / 1e6:,.0f} million parameters"
    note_text(
        f"Downloaded and checked: {parameters}, {sanitize_line(header.quantisation)}. Use it: atomr models use {named}"
    )
    click.echo(str(model.target(directory)))
    return named


def _wanted(model: RemoteModel, wish: ModelWish) -> bool:
    """Tell what it takes and ask.

    Raises:
        AtomrError: there is nobody to ask, or too little room.
    """
    directory, file = paths.models_dir(), model.file
    left = remaining(file, directory)
    licence = f", licence {model.licence}" if model.licence else ""
    note_text(f"{model.name}: {human_size(file.size)}{licence}; {human_size(left)} to download into {directory}")
    unchecked = "The server publishes no checksum: only the length and what the file says of itself can be checked."
    require_transfer(shown(file.url), directory, left, unchecked="" if file.algorithm else unchecked)
    target = model.target(directory)
    if target.exists() and not wish.replace:
        if not sys.stdin.isatty():
            raise InputError(
                f"{target} is another model of this name",
                hint="Give another name with --name, or add --replace to replace it.",
            )
        if not click.confirm(
            f"{target.name} already exists and is a different file. Replace it after the download?", err=True
        ):
            return _nothing()
    return agreed(wish.yes)
