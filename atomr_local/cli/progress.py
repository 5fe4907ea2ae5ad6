"""Progress of long work on standard error: a bar on a terminal, otherwise lines, with rate and remaining time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import click

from atomr_local.cli.output import interrupt, note
from atomr_local.errors import Cancelled
from atomr_local.fetching.estimates import duration
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexKind


_LINE_EVERY = 30.0  # seconds between plain lines of one stage, unless ATOMR_PROGRESS_EVERY says otherwise
_SHORTEST_WAIT = 1.0


class Pace:
    """How fast the present stage goes, measured from its first report, so that an earlier run does not count."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.monotonic
        self._stage: str | None = None
        self._begun = self._first_done = self._first_amount = 0.0
        self._now = self._done = self._total = self._amount = 0.0

    def take(self, stage: str, done: int, total: int, amount: int) -> None:
        """Note a report: bytes of input, and the `amount` that has been taken in, such as passages."""
        self._now = self._clock()
        self._done, self._total, self._amount = done, total, amount
        if stage != self._stage:
            self._stage, self._begun = stage, self._now
            self._first_done, self._first_amount = self._done, self._amount

    @property
    def share(self) -> float:
        """Of the input, 0 to 1."""
        return min(1.0, self._done / self._total) if self._total else 0.0

    @property
    def rate(self) -> float | None:
        """Amount per second; None while it is unknown."""
        elapsed, gained = self._now - self._begun, self._amount - self._first_amount
        return gained / elapsed if elapsed > 0 and gained > 0 else None

    @property
    def remaining(self) -> float | None:
        """Seconds at the present pace; None while it is unknown."""
        elapsed, gained = self._now - self._begun, self._done - self._first_done
        if elapsed <= 0 or gained <= 0:
            return None
        return (self._total - self._done) * elapsed / gained

    def __str__(self) -> str:
        parts = []
        if self.rate is not None:
            parts.append(f"{self.rate:,.0f}/s" if self.rate >= 10 else f"{self.rate:.1f}/s")
        if self.remaining is not None and self._done < self._total:
            parts.append(f"about {duration(self.remaining)} left")
        return ", ".join(parts)


# Of a build; it has a stage, and of the input's bytes those done and the total.
State = Any


# By the kind of an index: what a build has taken in, in its state, and the word for it.
_TAKEN = {"text": ("passages", "passages"), "graph": ("triples", "facts")}


@contextmanager
def building(kind: IndexKind, name: str) -> Iterator[tuple[Callable[[State], None], Cancellation]]:
    """Around the build of an index: shows how far it is, ends it cleanly at Ctrl-C, and says if it can be resumed."""
    cancellation = Cancellation()
    try:
        with interrupt(cancellation.cancel), build_progress(kind) as progress:
            yield progress, cancellation
    except (KeyboardInterrupt, Cancelled):
        from atomr_local.indexing.builds.ledger import read_ledger
        from atomr_local.indexing.builds.publishing import unfinished_path

        if read_ledger(unfinished_path(kind, name)) is not None:
            note("Finished work is kept. Run the same command again to resume.")
        raise


@contextmanager
def build_progress(kind: IndexKind) -> Iterator[Callable[[State], None]]:
    """A callback that shows how far the build of an index is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    pace = Pace()
    counted, unit = _TAKEN[kind]

    def take(state: State) -> str:
        amount: int = getattr(state, counted)
        pace.take(state.stage, state.done, state.total, amount)
        return f"{amount} {unit}"

    if not console.is_terminal:
        last_stage, last_time = "", 0.0
        every = line_every()

        def plain(state: State) -> None:
            nonlocal last_stage, last_time
            taken, now = take(state), time.monotonic()
            if state.stage != last_stage:
                console.print(f"{state.stage} …", highlight=False)
            elif now - last_time < every:
                return
            else:
                line = ", ".join(part for part in (f"{pace.share:.0%}", taken, str(pace)) if part)
                console.print(f"{state.stage}: {line}", highlight=False, soft_wrap=True)
            last_stage, last_time = state.stage, now

        ended = Event()

        def remind() -> None:  # what takes long, such as a large file, reports nothing meanwhile
            while not ended.wait(max(_SHORTEST_WAIT, every)):
                if time.monotonic() - last_time >= every:
                    console.print(f"{last_stage or 'beginning'}: still at it", highlight=False)

        Thread(target=remind, daemon=True).start()
        try:
            yield plain
        finally:
            ended.set()
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[pace]}"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1, count="", pace="")

        def show(state: State) -> None:
            count = take(state)
            bar.update(task, description=state.stage, completed=state.done, total=max(1, state.total))
            bar.update(task, count=count, pace=str(pace))

        yield show


def line_every() -> float:
    """Seconds between plain lines."""
    try:
        return max(0.0, float(os.environ.get("ATOMR_PROGRESS_EVERY", _LINE_EVERY)))
    except ValueError:
        return _LINE_EVERY


def report_skipped(skipped: dict[str, object], kind: Callable[[str], str] = lambda _: "line") -> None:
    """Tell on standard error how many records of the input were skipped, and the first of them.

    Args:
        kind: what the records of a file are, from its path: "line", "page".
    """

    if not skipped.get("count"):
        return
    found = skipped.get("samples")
    samples = [(str(file), number, str(reason)) for file, number, reason in (found if isinstance(found, list) else ())]
    of_file = {file: kind(file) for file, _, _ in samples}
    kinds = {(file, number): of_file[file] if number else "file" for file, number, _ in samples}
    # Only the first are known one by one: where these are of several kinds, all are called by a word for any.
    each = next(iter(kinds.values())) if len(set(kinds.values())) == 1 else "record"
    single = skipped["count"] == 1
    text = f"1 {each} was skipped" if single else f"{skipped['count']} {_plural(each)} were skipped, such as"
    click.echo(f"{text}:", err=True)
    for file, number, reason in samples:
        place = f":{number}" if of_file[file] == "line" else f", {of_file[file]} {number}"
        place = place if number else ""
        click.echo(f"  {sanitize_line(file)}{place}: {sanitize_line(reason)}", err=True)


def report_lost(lost: object) -> None:
    """Tell on standard error what the limits of a reader left out of the articles, by its name in the plural."""

    if isinstance(lost, dict) and lost:
        told = ", ".join(f"{number} {sanitize_line(str(what))}" for what, number in sorted(lost.items()))
        click.echo(f"left out of tables and the like, for they are too large: {told}", err=True)


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
