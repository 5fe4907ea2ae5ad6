"""Questions as they come in: checked, in their turn, limited in time, kept in the history, and known for a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, Unpack

from atomr_local.asked import Asked, QuestionOptions
from atomr_local.assistant import Assistant
from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError
from atomr_local.history.pending import PendingNote, pending_question
from atomr_local.history.recording import record_trace
from atomr_local.history.store import History, history_file
from atomr_local.http_server.options import ServeOptions
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.trace.events import Event, Finished, WarningRaised
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.serving.desk import Desk
from atomr_local.serving.lookup_desk import LookupDesk
from atomr_local.serving.refused import Refused

_REMEMBERED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued(Event):
    """The question waits for its turn; comes before all events of the question itself."""

    ahead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped(Event):
    """The server has cancelled the question; comes before `Finished`."""

    cause: Literal["timeout", "shutdown"]
    reason: str


class Questions:
    """Asks the assistant. Belongs to one event loop."""

    def __init__(
        self, assistant: Assistant, options: ServeOptions, lookups: LookupDesk, allowed: Callable[[], None]
    ) -> None:
        self._assistant = assistant
        self._options = options
        self._lookups = lookups
        self._allowed = allowed
        self.desk = Desk("questions", assistant.settings.llm.parallel, options.queue)
        self._running: dict[Cancellation, Stopped | None] = {}  # with why the server cancelled it
        self._recent: OrderedDict[str, Trace] = OrderedDict()

    async def stream(
        self, question: str, *, keep: bool = True, **options: Unpack[QuestionOptions]
    ) -> AsyncGenerator[Event, None]:
        """The events of the question; the first comes as soon as it is known to be served.

        Raises (with the first event):
            AtomrError: what :meth:`Assistant.ask` raises.
            Refused: the queue is full, or the server stops.
        """
        settings = self._assistant.settings
        if self.desk.full or not self._options.local:  # else the question itself is checked as soon
            await asyncio.to_thread(self._check, question, options)
        keep = keep and self._options.keep and settings.history.keep
        ticket = self.desk.take()
        try:
            async for ahead in ticket.turn():
                yield Queued(ahead=ahead)
            with pending_question(question, options.get("strategy") or settings.strategy, keep=keep) as note:
                try:
                    async with aclosing(self._run(question, note, options, keep=keep)) as events:
                        async for event in events:
                            yield event
                except (asyncio.CancelledError, GeneratorExit):  # the client has gone: it is not interrupted
                    if note is not None:
                        note.remove()
                    raise
        finally:
            ticket.leave()

    def _check(self, question: str, options: QuestionOptions) -> None:
        self._allowed()
        Asked.checked(question, self._assistant.settings, self._assistant.web_enabled, **options)

    async def _run(
        self, question: str, note: PendingNote | None, options: QuestionOptions, *, keep: bool
    ) -> AsyncGenerator[Event, None]:
        cancellation = Cancellation()
        self._running[cancellation] = None
        seconds = self._options.question_seconds
        late = Stopped(cause="timeout", reason=f"It took longer than {seconds:g} seconds.")
        timer = asyncio.get_running_loop().call_later(seconds, self._stop, cancellation, late)
        try:
            async with aclosing(self._assistant.astream(question, cancellation=cancellation, **options)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._remember(event.trace)
                        if stopped := self._running[cancellation]:
                            yield stopped
                        if keep:
                            for remark in (await asyncio.to_thread(record_trace, event.trace, note))[1]:
                                yield WarningRaised(message=remark)
                    yield event
        finally:
            timer.cancel()
            del self._running[cancellation]

    def stop_all(self) -> None:
        """Cancel what runs, for the server stops; the streams come to their end."""
        for cancellation in tuple(self._running):
            self._stop(cancellation, Stopped(cause="shutdown", reason="The server was stopped."))

    def _stop(self, cancellation: Cancellation, why: Stopped) -> None:
        self._running[cancellation] = why
        cancellation.cancel()

    def _remember(self, trace: Trace) -> None:
        self._recent[trace.id] = trace
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    def forget(self, name: str) -> None:
        """The trace with this id was deleted."""
        self._recent.pop(name, None)

    def recent(self) -> list[Trace]:
        """The last traces of this server, the latest first."""
        return list(reversed(self._recent.values()))

    def check_history(self) -> None:
        """
        Raises:
            Refused: other machines can ask, and earlier questions may have read a private index.
        """
        privacy = self._assistant.settings.privacy
        if not self._options.local and privacy.indexes and not privacy.share:
            raise Refused(
                403,
                "the history may hold what was read in a private index",
                hint="Ask on the machine itself, or let it leave the machine: --share-private.",
            )

    async def trace(self, name: str) -> Trace:
        """The trace with this id, or of the history's question with this number.

        Raises:
            Refused: there is none.
            HistoryError: the history cannot be read.
        """
        found = self._recent.get(name)
        if found is None:
            self.check_history()
            found = await self._lookups.run(lambda _: _kept_trace(name))
        if found is None:
            raise Refused(404, "there is no such trace", hint="GET /api/traces lists those that are kept.")
        return found

    async def conversation(self, names: Sequence[str]) -> Conversation | None:
        """The conversation of the traces with these ids, oldest first; None if there are none.

        Raises:
            Refused: one of them is not known.
        """
        return Conversation.of([await self.trace(name) for name in names]) if names else None


def _kept_trace(name: str) -> Trace | None:
    if not history_file().exists():
        return None
    with History.open() as history:
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 16 else history.number_of(name)
        try:
            return history.get(number).trace if number is not None else None
        except InputError:  # no such question
            return None
