"""Questions asked on a thread: what happens to each is posted to the screen, and its trace goes into the history."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.tui.background import in_background

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.screen import Screen

    from atomr_local.assistant.assistant import Assistant
    from atomr_local.assistant.history.pending import PendingNote
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.reasoning.trace.events import Event
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.tui.question.conversation import QuestionRequest


@dataclass
class EventReceived(Message):
    """An event of the running question, the `number`th of this program's run."""

    number: int
    event: Event


@dataclass
class QuestionFailed(Message):
    """The question could not be asked."""

    number: int
    error: AtomrError


@dataclass
class HistoryRefused(Message):
    """The question could not be kept in the history, or not as it should; `notes` say why."""

    notes: Sequence[str]


class QuestionSession:
    """Asks the assistant, one question at a time."""

    def __init__(self, screen: Screen[None], assistant: Assistant) -> None:
        self._screen = screen
        self.assistant = assistant
        self._stopped = 0  # the number of the question that was stopped last

    def ask(
        self, number: int, asked: QuestionRequest, conversation: Conversation | None, within: Sequence[str] = ()
    ) -> None:
        """Ask the question, in this part of the text index; the screen receives each event."""

        def failed(error: AtomrError) -> None:
            self._screen.post_message(QuestionFailed(number, error))

        work = partial(self._ask, number, asked, conversation, within)
        in_background(self._screen, work, lambda _: None, failed=failed, group="ask")

    def stop(self, number: int) -> None:
        """Stop the question, also where the assistant has not heard of it yet."""
        self._stopped = number
        self.assistant.cancel()

    def _ask(
        self, number: int, asked: QuestionRequest, conversation: Conversation | None, within: Sequence[str]
    ) -> None:
        from atomr_local.assistant.history.pending import pending_question

        settings = self.assistant.settings
        with pending_question(
            asked.question, asked.strategy or settings.strategy, keep=settings.history.keep
        ) as pending:
            try:
                trace = self._follow(number, asked, conversation, within)
            except Cancelled:
                return
            if trace is not None and settings.history.keep:
                self._keep(trace, pending)

    def _follow(
        self, number: int, asked: QuestionRequest, conversation: Conversation | None, within: Sequence[str]
    ) -> Trace | None:
        from atomr_local.reasoning.trace.events import Finished, TextGenerated

        end: Finished | None = None
        for event in self.assistant.ask(
            asked.question,
            plan=asked.plan,
            plan_origin=asked.origin,
            strategy=asked.strategy,
            revision=asked.revision,
            conversation=conversation,
            understood=asked.understood,
            within=within,
        ):
            if self._stopped == number:
                self.assistant.cancel()
            if isinstance(event, Finished):
                end = event
            # Of what the model writes only the answer is shown as it comes: a step's state says that it reasons.
            elif not isinstance(event, TextGenerated) or event.node_id == 0:
                self._screen.post_message(EventReceived(number, event))
        if end is None:
            return None
        self._screen.post_message(EventReceived(number, end))  # once the assistant is free for the next question
        return end.trace

    def _keep(self, trace: Trace, pending: PendingNote | None) -> None:
        # On the thread that asked: the program's end waits for it, so that a question that quitting stopped is kept.
        from atomr_local.assistant.history.store import record_trace

        if notes := record_trace(trace, pending)[1]:
            self._screen.post_message(HistoryRefused(notes))
