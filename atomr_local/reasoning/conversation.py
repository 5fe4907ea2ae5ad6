"""Earlier turns of a conversation: what a follow-up question may refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atomr_local.language.names import name_key, words
from atomr_local.language.words import english
from atomr_local.reasoning.trace.schema import Trace

# Earlier turns that a follow-up question is read with.
MOST_TURNS = 3
_MOST_ANSWER_WORDS = 40
_UNANSWERED = "Unknown"  # as the adapters learn it
_APOSTROPHE = re.compile(r"['\u2019]")


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """One question and its answer.

    Attributes:
        trace_id: of the trace that holds it.
        question: as it was understood.
        answer: the answers, joined by semicolons; the best guess if nothing was found; "" if there is neither.
        entities: graph entity by the normal form of its name, for all answers of its steps.
        settings: those of the trace, with the indexes that it read.
    """

    trace_id: str
    question: str
    answer: str
    entities: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns of one conversation, oldest first.

    Attributes:
        id: the trace id of its first question; "" before that.
        turns: the questions with their answers.
    """

    id: str = ""
    turns: tuple[EarlierTurn, ...] = ()

    @classmethod
    def of(cls, traces: Iterable[Trace]) -> Conversation:
        """The conversation of these questions, oldest first; cancelled and failed ones are left out."""
        kept = counting(traces)
        if not kept:
            return cls()
        return cls(kept[0].conversation or kept[0].id, tuple(map(turn_of, kept)))

    def lines(self) -> list[str]:
        """The latest turns as a prompt shows them: `Q: …` and `A: …`."""
        shown = []
        for turn in self.turns[-MOST_TURNS:]:
            answer = " ".join(turn.answer.split()[:_MOST_ANSWER_WORDS]) or _UNANSWERED
            shown += [f"Q: {turn.question}", f"A: {answer}"]
        return shown

    def entity(self, name: str) -> str | None:
        """The graph entity of the name in an earlier turn, the latest first."""
        key = name_key(name)
        return next((found for turn in reversed(self.turns) if (found := turn.entities.get(key))), None)

    def taken(self, question: str, understood: str) -> tuple[str, ...]:
        """Trace ids of the turns that supplied words of the question as understood that the typed one lacks.

        The latest turn that has a word counts as its origin. Stop words are ignored.
        """
        missing = _words(understood) - _words(question) - english().stop
        taken: list[str] = []
        for turn in reversed(self.turns[-MOST_TURNS:]):
            told = missing & _words(f"{turn.question} {turn.answer}")
            if told:
                taken.append(turn.trace_id)
                missing -= told
        return tuple(reversed(taken))

    def unfounded(self, question: str, understood: str) -> tuple[str, ...]:
        """Names and numbers of the question as understood that neither the typed one nor any turn contains.

        A word counts as a name if it is capitalised and does not begin the text.
        """
        known = _words(" ".join([question, *(f"{turn.question} {turn.answer}" for turn in self.turns)]))
        written = understood.split()
        names = [
            word for place, word in enumerate(written) if (place and word[:1].isupper()) or any(map(str.isdigit, word))
        ]
        return tuple(name for name in names if words(name) and not _words(name) & (known | english().stop))


def counting(traces: Iterable[Trace]) -> list[Trace]:
    """The questions that later ones may refer to, oldest first.

    Cancelled and failed ones are left out. If a question was asked again right away, for example with a correction, the
    last answer counts.
    """
    kept: list[Trace] = []
    for trace in traces:
        if trace.status not in ("answered", "unknown"):
            continue
        if kept and " ".join(kept[-1].question.split()) == " ".join(trace.question.split()):
            kept.pop()
        kept.append(trace)
    return kept


def turn_of(trace: Trace) -> EarlierTurn:
    """A finished question as a turn for the next one."""
    answers: Sequence[str] = trace.answers or (trace.guess.answers if trace.guess is not None else ())
    entities = {
        name_key(text): iri
        for node in trace.nodes
        for text, iri in zip(node.answers, node.entities, strict=False)
        if iri
    }
    return EarlierTurn(trace.id, trace.understood_as or trace.question, "; ".join(answers), entities, trace.settings)


def _words(text: str) -> set[str]:
    """The words; a word with an apostrophe also without the part after it: "Ann's" may be Ann."""
    bare = (_APOSTROPHE.split(word, maxsplit=1)[0] for word in text.split())
    return {*words(text), *words(" ".join(bare))}
