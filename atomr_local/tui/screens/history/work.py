"""What the history screen has done on worker threads, and the messages that tell it. The screen owns what is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from textual import work
from textual.message import Message
from textual.screen import Screen

from atomr_local.errors import AtomrError, InputError
from atomr_local.history.share import read_shared
from atomr_local.history.store import History, Kept, Summary
from atomr_local.reasoning.trace.schema import Trace

Purpose = Literal["preview", "open", "ask", "export", "share"]


@dataclass(frozen=True, slots=True)
class HistoryChoice:
    """What the user wants: to see this trace, or to ask its question again.

    Attributes:
        conversation: all traces of its conversation, oldest first, `trace` among them.
    """

    kind: Literal["open", "ask"]
    trace: Trace
    conversation: tuple[Trace, ...] = ()


@dataclass
class Listed(Message):
    """A page of the list; `told` says in words why there is nothing."""

    turn: int
    items: list[Summary]
    first: bool
    total: int
    told: str = ""


class Read(Message):
    """A question was read; `conversation`: with all others of its conversation, where that is asked for."""

    def __init__(self, purpose: Purpose, number: int, kept: Kept, conversation: Sequence[Kept] = ()) -> None:
        super().__init__()
        self.purpose, self.number, self.kept, self.conversation = purpose, number, kept, tuple(conversation)


@dataclass
class Unreadable(Message):
    """One question cannot be shown beside the list."""

    number: int
    error: AtomrError


@dataclass
class Deleted(Message):
    number: int
    erased: bool


@dataclass
class Imported(Message):
    new: int
    known: int


@dataclass
class Failed(Message):
    error: AtomrError
    listing: bool = False


@dataclass
class Noted(Message):
    notes: list[str]


class HistoryWork(Screen[HistoryChoice | None]):
    """The history is opened for each thing anew: nothing is held open while a person looks at it."""

    def __init__(self, opened: Callable[[], History], page: int) -> None:
        super().__init__()
        self._opened, self._page = opened, page

    @work(thread=True, exit_on_error=False, group="list", exclusive=True)
    def _load(self, turn: int, search: str, before: int | None) -> None:
        try:
            with self._opened() as history:
                total = history.count()
                items, told = list[Summary](), ""
                try:
                    items = history.entries(search=search or None, limit=self._page, before=before)
                except InputError as error:
                    told = f"{error.message}."
                self._note(history)
        except AtomrError as error:
            self.post_message(Failed(error, listing=True))
            return
        self.post_message(Listed(turn, items, first=before is None, total=total, told=told))

    @work(thread=True, exit_on_error=False, group="preview", exclusive=True)
    def _read_preview(self, number: int) -> None:
        try:
            with self._opened() as history:
                self.post_message(Read("preview", number, history.get(number)))
                self._note(history)
        except AtomrError as error:
            self.post_message(Unreadable(number, error))

    @work(thread=True, exit_on_error=False, group="read", exclusive=True)
    def _read(self, purpose: Purpose, number: int) -> None:
        try:
            with self._opened() as history:
                conversation = history.conversation(number)
                kept = next(item for item in conversation if item.summary.id == number)
                self._note(history)
        except AtomrError as error:
            self.post_message(Failed(error))
        else:
            self.post_message(Read(purpose, number, kept, conversation))

    @work(thread=True, exit_on_error=False, group="change")
    def _delete(self, number: int) -> None:
        try:
            with self._opened() as history:
                _, erased = history.delete([number])
                self._note(history)
        except AtomrError as error:
            self.post_message(Failed(error))
        else:
            self.post_message(Deleted(number, erased))

    @work(thread=True, exit_on_error=False, group="change")
    def _import(self, path: Path) -> None:
        try:
            traces = read_shared(path)
            with self._opened() as history:
                new = sum(history.take_in(trace)[1] for trace in traces)
                self._note(history)
        except AtomrError as error:
            self.post_message(Failed(error))
        else:
            self.post_message(Imported(new, len(traces) - new))

    def _note(self, history: History) -> None:
        if history.notes:
            self.post_message(Noted(history.notes))
