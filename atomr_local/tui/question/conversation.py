"""What the user asks, and the conversation: its answered questions, oldest first. Widgets hold none of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atomr_local.reasoning.trace.schema import Trace
from atomr_local.tree.nodes import Tree
from atomr_local.tui.question.state import QuestionState

if TYPE_CHECKING:
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.reasoning.revision import Revision
    from atomr_local.reasoning.trace.schema import PlanOrigin


_MOST_COMPARED = 50


@dataclass(frozen=True)
class QuestionRequest:
    """One thing to ask: a question, or a question with the plan and the changes that the user made.

    Attributes:
        again: the earlier form of the question, whose place in the conversation it takes.
        understood: how the user says that it is meant.
        strategy: that answers; None: the one of the settings.
    """

    question: str
    plan: Tree | None = None
    origin: PlanOrigin = "user"
    revision: Revision | None = None
    again: Trace | None = None
    understood: str | None = None
    strategy: str | None = None


@dataclass
class ShownTurn:
    """One question that has ended: answered, not found, cancelled or failed.

    Attributes:
        state: as it is shown; None for one of the history that was not looked at yet.
        tries: runs of the same question that were cancelled or failed, so that its earlier answer stays.
    """

    trace: Trace
    state: QuestionState | None = None
    tries: list[Trace] = field(default_factory=list)

    @property
    def question(self) -> str:
        """As it was understood."""
        return self.trace.understood_as or self.trace.question

    @property
    def answer(self) -> str:
        """The answers on one line; "" where nothing was found."""
        if self.trace.status != "answered":
            return ""
        return "; ".join(self.trace.answers) or self.trace.answer

    @property
    def counts(self) -> bool:
        """Whether a later question may refer to it."""
        return self.trace.status in {"answered", "unknown"}

    @property
    def status(self) -> str:
        """How it ended, in words: "well supported", "✎ your answer", "not found", "cancelled"."""
        from atomr_local.reasoning.confidence import confidence_word, status_word
        from atomr_local.reasoning.trace.telling import OWN, warning_text

        trace = self.trace
        if trace.status != "answered":
            return status_word(trace.status)
        if trace.by_user:
            return OWN
        word = status_word(trace.status) if trace.confidence is None else confidence_word(trace.confidence)
        if any(warning_text(text) != text for text in trace.warnings):
            return f"{word} ⚠"  # it may not fit the question
        return f"{word} ✎" if any(node.by_user for node in trace.nodes) else word  # it rests on the user's own

    def shown(self) -> QuestionState:
        """The state to show; read out of the trace when that is wanted first."""
        if self.state is None:
            from atomr_local.tui.question.correction import replay

            self.state = replay(self.trace)
        return self.state


class ComparedAnswers:
    """The last answer of each strategy to each question of this run, so that they can be compared."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], Trace] = {}

    def take(self, trace: Trace) -> None:
        """Remember the answer; one that was cancelled or failed takes the place of no other."""
        key = (asked_words(trace), trace.strategy)
        known = self._answers.get(key)
        if known is None or ShownTurn(trace).counts or not ShownTurn(known).counts:
            self._answers.pop(key, None)
            self._answers[key] = trace
        while len(self._answers) > _MOST_COMPARED:
            self._answers.pop(next(iter(self._answers)))

    def of(self, trace: Trace) -> list[Trace]:
        """All answers to this question, each of another strategy, in the order in which they were asked for."""
        words = asked_words(trace)
        return [answer for (asked, _), answer in self._answers.items() if asked == words]


def asked_words(trace: Trace) -> str:
    """What tells the question from others, without case and blanks: as it was typed, and what it took from others.

    How a plan reads the question does not count: strategies would not be compared where one of them misreads it.
    """
    meant = trace.understood_as if trace.took_from else ""
    return " ".join((meant or trace.question).casefold().split())


@dataclass
class ShownConversation:
    """Turns of the conversation that the next question continues with."""

    turns: list[ShownTurn] = field(default_factory=list)
    compared: ComparedAnswers = field(default_factory=ComparedAnswers)

    def open(self, traces: Iterable[Trace]) -> None:
        """Go on with these questions, oldest first; of one that was asked again the last answer counts."""
        from atomr_local.reasoning.conversation import counting

        self.turns = [ShownTurn(trace) for trace in counting(traces)]
        for turn in self.turns:
            self.compared.take(turn.trace)

    def take(self, state: QuestionState, again: Trace | None = None) -> None:
        """Add a question that has ended.

        Args:
            again: the earlier form of it, whose place it takes if it was not cancelled and did not fail.
        """
        if state.trace is None:
            return
        self.compared.take(state.trace)
        turn, place = ShownTurn(state.trace, state), self.place(again)
        if place is not None and not turn.counts and self.turns[place].counts:
            self.turns[place].tries.append(turn.trace)
            return  # the earlier answer stays
        if place is None:
            self.turns.append(turn)
        else:
            self.turns[place] = turn

    def place(self, trace: Trace | None) -> int | None:
        """Where the question stands; None if it is none of these."""
        return next(
            (
                place
                for place, turn in enumerate(self.turns)
                if turn.trace is trace or any(one is trace for one in turn.tries)
            ),
            None,
        )

    def context(self, again: Trace | None = None) -> Conversation | None:
        """What the next question may refer to; None if nothing was answered before.

        Args:
            again: a question of this conversation that is asked again: only what came before it counts.
        """
        from atomr_local.reasoning.conversation import Conversation

        place = self.place(again)
        before = [turn for turn in (self.turns if place is None else self.turns[:place]) if turn.counts]
        return Conversation.of(turn.trace for turn in before) if before else None

    def named(self) -> dict[str, str]:
        """The questions, as they were understood, by trace id."""
        return {turn.trace.id: turn.question for turn in self.turns if turn.trace.id}
