"""What `dsp` has the model write: queries, summaries of hops, and chains of thought.

A model that was trained on the closed tasks alone reads a hop and the passages with those; its queries are made of
words that it has seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from atomr_local.language.capitalised import capitalised
from atomr_local.language.words import english
from atomr_local.reasoning.asking.forms import Field, Form, Line, OneOf, WordsOf
from atomr_local.reasoning.asking.writer import Written, notes_of
from atomr_local.reasoning.reading.reader import UNKNOWN
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.dsp.demonstrations import PROMPTS, Demonstration, Turn
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.closing import echoes
from atomr_local.strategies.shared.listed import Listed
from atomr_local.tree.nodes import ROOT_ID

_QUERY, _SUMMARY, _REASONS, _ANSWER = "Query", "Summary", "Reasons", "Answer"
_QUERY_TOKENS = 20
_ALWAYS = ("yes", "no", "Unknown")
_NAME_CHARACTERS = 120
_MARKS = '?!.,;:()"“”«»'
_NOTHING = "(nothing)"


@dataclass(frozen=True)
class Summary:
    """A summary with its mean log-probability; None if that is not known."""

    text: str
    score: float | None


@dataclass(frozen=True)
class Hop:
    """What was written for a hop: queries, and summaries of the hop before it, the surest first."""

    queries: Sequence[str]
    summaries: Sequence[Summary] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Chain:
    """A chain of thought; `answer` is "" where it gives none. `signals`: for and against the answer, if read so."""

    answer: str
    reasons: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)


class Writing:
    """Has the model write for one question.

    Attributes:
        known: the summaries carried on.
        asked: questions of one hop with their answers, where the model has learnt to write the next one.
        listed: the lists among the answers, which stand as one text in summaries and chains.
        examples: worked examples to show.
    """

    def __init__(self, question: str, tools: Toolbox, draws: int, temperature: float) -> None:
        self.known: list[str] = []
        self.asked: list[tuple[str, str]] = []
        self.listed = Listed()
        self.examples: Sequence[Demonstration] = ()
        self._question = question
        self._tools = tools
        self._draws = draws
        self._temperature = temperature
        self._pending = ""  # the question of one hop that was searched last
        self._filled: list[tuple[str, dict[str, str], Written]] = []

    @property
    def _lean(self) -> bool:
        return self._tools.asking.lean

    @property
    def shows_examples(self) -> bool:
        """Whether any prompt has room for worked examples: those of the closed tasks, and of asking on, have none."""
        return not (self._lean and self._tools.reader.knows_next)

    def hop(self, node_id: int, passages: Sequence[Evidence]) -> Hop:
        """Queries for the next hop, after a summary of what the one before found, if there was one.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        if self._tools.reader.knows_next:
            return self._learnt(node_id, passages)
        summaries: list[Summary] = []
        first: tuple[Field, ...] = ()
        if passages and self._lean:
            summaries = self._read(node_id, passages, self._question)
            self.known += [best.text for best in summaries[:1]]
        elif passages:
            first = (Line(_SUMMARY),)
        query = OneOf(_QUERY, self._names(passages)) if self._lean else Line(_QUERY, _QUERY_TOKENS)
        template = "dsp_hop" if first else "dsp_query"
        written = self._write(node_id, template, (*first, query), self._draws, passages if first else ())
        best = written[0]
        if first:
            found = [(one, Summary(one[_SUMMARY], one.logprob(_SUMMARY))) for one in written if one[_SUMMARY]]
            found.sort(key=lambda pair: -math.inf if pair[1].score is None else pair[1].score, reverse=True)
            summaries = [summary for _, summary in found]
            best = found[0][0] if found else best
            self.known += [summary.text for summary in summaries[:1]]
        self._keep(template, best)
        queries = tuple(dict.fromkeys(one[_QUERY] for one in written if one[_QUERY]))
        return Hop(queries, summaries, notes_of(written))

    def chains(self, passages: Sequence[Evidence], draws: int) -> tuple[list[Chain], list[str]]:
        """Chains of thought over the summaries and the passages, and notes.

        Raises:
            AtomrError: the model failed, or no call is left.
            Cancelled: the question was cancelled.
        """
        if self._lean:
            readings = self._tools.reader.samples(ROOT_ID, self._question, passages, draws, self._temperature)
            notes = list(dict.fromkeys(note for reading in readings for note in reading.dropped))
            fit = [self._fit(self.listed.text(reading.answers)) for reading in readings]
            return [Chain(one, "", reading.signals) for one, reading in zip(fit, readings, strict=True)], notes
        texts = (text for item in passages for text in (item.title, item.text))
        answer = WordsOf(_ANSWER, (*texts, *self.known, self._question, *_ALWAYS))
        written = self._write(ROOT_ID, "dsp_predict", (Line(_REASONS), answer), draws, passages)
        self._keep("dsp_predict", written[0])
        return [Chain(self._fit(one[_ANSWER]), one[_REASONS]) for one in written], notes_of(
            written, "chains of thought"
        )

    def turns(self) -> tuple[Turn, ...]:
        """The forms as they were filled, for a worked example."""
        return tuple(Turn.of(template, slots, written) for template, slots, written in self._filled)

    def _learnt(self, node_id: int, passages: Sequence[Evidence]) -> Hop:
        """The next questions of one hop; the first one of the hop before is answered from what was found."""
        reader, summaries = self._tools.reader, list[Summary]()
        if self._pending and passages:
            summaries = self._read(node_id, passages, self._pending)
            self.known += [best.text for best in summaries[:1]]
            self.asked.append((self._pending, summaries[0].text if summaries else UNKNOWN))
        queries = reader.follow_ups(
            node_id, self._question, self.asked, draws=self._draws, temperature=self._temperature
        )
        self._pending = queries[0] if queries else ""
        return Hop(queries, summaries)

    def _read(self, node_id: int, passages: Sequence[Evidence], question: str) -> list[Summary]:
        """What the passages say to the question."""
        reading = self._tools.reader.from_evidence(node_id, question, passages)
        if not reading.answers:
            return []
        score = math.log(reading.confidence) if reading.confidence else None
        return [Summary(self.listed.text(reading.answers), score)]

    def _names(self, passages: Sequence[Evidence]) -> tuple[str, ...]:
        """The names seen so far: of the question, of what was carried on, and of the pages that were found."""
        opening, _, rest = self._question.partition(" ")
        asked = rest if opening.casefold() in english().stop else self._question
        own = [name.strip(_MARKS).removesuffix("'s").removesuffix("’s") for name in capitalised([asked])]
        names = (*(own or [self._question]), *self.known, *(item.title for item in passages))
        return tuple(name[:_NAME_CHARACTERS] for name in names)

    def _fit(self, answer: str) -> str:
        """The answer; "" where it only repeats the question."""
        return "" if echoes(self._question, answer) else answer

    def _write(
        self, node_id: int, template: str, fields: tuple[Field, ...], draws: int, passages: Sequence[Evidence]
    ) -> list[Written]:
        shown = (turn for example in self.examples for turn in example.turns if turn.template == template)
        form = Form(PROMPTS, template, fields, tuple(turn.as_example() for turn in shown))
        return self._tools.writer.write(
            node_id,
            "chain of thought" if node_id == ROOT_ID else "query",
            form,
            evidence=passages,
            draws=draws,
            temperature=self._temperature,
            question=self._question,
            known=self._carried,
        )

    @property
    def _carried(self) -> str:
        return " ".join(self.known) or _NOTHING

    def _keep(self, template: str, written: Written) -> None:
        if written.problem is None:
            self._filled.append((template, {"question": self._question, "known": self._carried}, written))
