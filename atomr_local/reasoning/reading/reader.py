"""The reader: closed tasks of the model, each with a prompt, a grammar and a structured answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Protocol

from atomr_local.models.protocol import Choice, Generation, Grammar, Prompt
from atomr_local.models.templates import in_style, render
from atomr_local.reasoning.asking.asking import Asking
from atomr_local.reasoning.asking.writer import evidence_block, shown_passages
from atomr_local.reasoning.candidates import vote
from atomr_local.reasoning.confidence import log_odds, null_score, said_yes, token_shares
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.answer_formats import (
    VERDICTS,
    AnswerFormat,
    AnswerSpec,
    Reading,
    Task,
    answer_format,
)
from atomr_local.reasoning.reading.checks import are_verdicts, mentioned_share, ranks_lower, without_dates
from atomr_local.reasoning.reading.pointing import (
    PointedPart,
    ShownPassages,
    gives_way,
    heading_of,
    parse_pointing,
    pointing_grammar,
    shown_sentences,
)
from atomr_local.sources.protocol import Evidence, Quote
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.calls import ANSWER
from atomr_local.tree.nodes import ROOT_ID, Operator
from atomr_local.tree.operations import Operation

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.span_reader import SpanVerdict

_PACKAGE = "atomr_local.reasoning.reading"
_ANSWER_TOKENS = 160
_THOUGHT_TOKENS = 120
_QUESTION_TOKENS = 120
_POINTED_TOKENS = 60
# Weight of a piece's place, against the log-odds of the span reader (`scripts/bench/passages.py`).
_FIRST, _UNLIKELY = 4.0, 1e-5
_ONE_LINE = Grammar(r"root ::= [^ \r\n\x00-\x1F\x7F] [^\r\n\x00-\x1F\x7F]{1,400}")
_DRAWS = 2
# A reading with less confidence is put to the vote, with so many samples.
_UNSURE_TO_VOTE, _VOTES, _VOTE_TEMPERATURE = 0.8, 4, 0.7
UNKNOWN = "Unknown"
NEXT = "next"  # the task, as cards of adapters name it
_WITH_UNKNOWN: frozenset[Task] = frozenset({"read", "answer", "filter", "combine"})
_VERIFIED: frozenset[Task] = frozenset({"read", "answer"})
_CHECK_TOKENS = 4
_DANGLING = " -\u2013\u2014"  # at the end of an answer that was cut inside a word
_WATCHED_VERDICTS = ("yes", "no", "Yes", "No")
_PLAN_LINE = re.compile(
    rf"= ?(?:{'|'.join((ANSWER, *Operator, *Operation))})\("
)  # small models fall into the notation of plans where they know nothing
_WROTE_PLAN = "the model wrote the notation of plans, which is no answer"
_UNKNOWN = re.compile(r"unknown|none|n/?a|not (?:known|stated|mentioned|given)|no answer", re.IGNORECASE)


class SpanJudge(Protocol):
    """Judges the model's answers by the passages. Thread-safe."""

    def judge(self, question: str, passages: Sequence[str], answers: Sequence[str]) -> SpanVerdict | None:
        """The verdict of the passages ("title: text") on the answers; None if there is nothing to read."""
        ...


@dataclass
class Reader:
    """Has the model do the closed tasks: read, select, combine, remember, conclude, choose, rewrite, ask on.

    Attributes:
        verify: whether :meth:`checked` asks the model if the evidence supports its answer.
        knows_next: whether the model has learnt :meth:`follow_ups`.
        points: whether the model can do :meth:`pointed`.
        span_reader: judges what is read from evidence.
    """

    asking: Asking
    _: KW_ONLY
    verify: bool = False
    knows_next: bool = False
    points: bool = False
    span_reader: SpanJudge | None = None

    def from_evidence(
        self, node_id: int | None, question: str, evidence: Sequence[Evidence], *, unsure: float = 0.0
    ) -> Reading:
        """Answer a look-up (Search, Relate) from evidence, best first.

        Args:
            unsure: an answer with less confidence gets alternatives, sampled from the model.
        """
        reading = self._read(node_id, "read", "read", evidence, question=question)
        if not reading.answers or reading.confidence is None or reading.confidence >= unsure:
            return reading
        if not self.asking.spares(_DRAWS):
            return replace(reading, dropped=(*reading.dropped, "no alternatives: the question's model calls are used"))
        others: dict[str, float] = {}

        def again(draw: int) -> Reading:
            return self._read(node_id, "read again", "read", evidence, draw=draw, question=question)

        for drawn in run_each(again, range(1, _DRAWS + 1), self.asking.settings.llm.parallel):
            if len(drawn.answers) == 1 and drawn.answers != reading.answers:
                others[drawn.answers[0]] = max(drawn.confidence or 0.0, others.get(drawn.answers[0], 0.0))
        return replace(reading, others=tuple(sorted(others.items(), key=lambda item: -item[1])))

    def whole(
        self, node_id: int | None, question: str, evidence: Sequence[Evidence], *, guess: bool = False
    ) -> Reading:
        """Answer a whole question from evidence, best first (direct RAG); `guess`: Unknown is not allowed."""
        return self._read(
            node_id, "guess" if guess else "direct rag", "answer", evidence, guess=guess, question=question
        )

    def likeliest(self, question: str, evidence: Sequence[Evidence], number: int) -> list[Evidence]:
        """The pieces that most likely answer the question, by their order and by what the span reader says of each.

        A logistic model: `_FIRST` / rank + the log-odds that the piece answers. Without a span reader the first ones.
        """
        reader = self.span_reader
        if reader is None or len(evidence) <= 1:
            return list(evidence[:number])

        def score(place: int) -> float:
            item = evidence[place]
            verdict = reader.judge(question, [f"{heading_of(item)}: {item.text}"], ())
            answerable = verdict.answerable if verdict is not None else 0.0
            return _FIRST / (1 + place) + log_odds(answerable, _UNLIKELY)

        scores = [score(place) for place in range(len(evidence))]
        return [evidence[place] for place in sorted(range(len(evidence)), key=lambda at: -scores[at])[:number]]

    def pointed(
        self, node_id: int | None, question: str, evidence: Sequence[Evidence], *, guess: bool = False
    ) -> Reading:
        """Answer a whole question in the sentences that tell it, from evidence, best first. Only for a model that
        :attr:`points`; see `pointing.py`.

        Args:
            guess: Unknown is not allowed.
        """
        words = self.asking.settings.limits.pointed_words
        template = in_style("point", self.asking.style)

        def numbered(shown: Sequence[Evidence]) -> ShownPassages:
            return shown_sentences([(heading_of(item), item.text) for item in shown], words)

        def prompt_of(shown: Sequence[Evidence]) -> Prompt:
            return render(_PACKAGE, template, (), question=question, evidence=numbered(shown).block)

        kept, prompt, dropped = self.asking.fit(prompt_of, evidence, _POINTED_TOKENS)
        shown = numbered(kept)
        if not shown.sentences:
            return Reading(dropped=dropped)
        spans = self.asking.settings.features.span_answers
        completion = self.asking.generate(
            node_id,
            "guess" if guess else "point",
            prompt,
            Grammar(pointing_grammar(shown, question, spans=spans, guess=guess)),
            _POINTED_TOKENS,
            watch=() if guess else (UNKNOWN,),
            silent=True,  # numbers of sentences tell nobody anything
        )
        null = null_score(completion, "")
        try:
            parts = parse_pointing(completion.text, len(shown.sentences))
        except ValueError as error:
            return Reading(null=null, dropped=dropped, problem=str(error))
        if not parts:
            return Reading(confidence=completion.mean_probability, null=null, dropped=dropped)
        told = [" ".join(shown.sentences[i].text for i in part.sentences) for part in parts]
        if all(ranks_lower(question, one) for one in told):
            return Reading(null=null, dropped=(*dropped, f"“{told[0]}” ranks it lower"))
        if len(parts) == 1 and gives_way(question, completion, parts[0]):
            parts = (replace(parts[0], answers=()),)
        return self._told(
            question, kept, shown, parts, completion, replace(Reading(), null=null, dropped=dropped, asked=prompt)
        )

    def _told(
        self,
        question: str,
        evidence: Sequence[Evidence],
        shown: ShownPassages,
        parts: Sequence[PointedPart],
        completion: Generation,
        begun: Reading,
    ) -> Reading:
        """The reading of what the model pointed at."""
        texts = [item.text for item in evidence]
        answers: list[str] = []
        quotes: list[Quote] = []
        wordings: list[str] = []  # as the span reader sees them
        for part in parts:
            indexes = shown.telling(part)
            if not part.answers:
                indexes = shown.with_steps(indexes, texts, question)
            quotation, spans = shown.quotation(indexes, texts)
            quotes += [Quote(evidence[passage].id, start, end) for passage, start, end in spans]
            answers += part.answers or (quotation,)
            wordings += part.answers or (" ".join(shown.sentences[i].text for i in indexes),)
        cited = dict.fromkeys(quote.evidence for quote in quotes)
        by_id = {item.id: item for item in evidence}
        verdict = None
        if self.span_reader is not None and not are_verdicts(answers):
            passages = [
                f"{heading_of(item)}: {' '.join(one.text for one in shown.sentences if one.passage == number)}"
                for number, item in enumerate(evidence)
            ]
            verdict = self.span_reader.judge(question, passages, wordings)
        return replace(
            begun,
            answers=tuple(dict.fromkeys(answers)),
            cited=tuple(by_id[item] for item in cited),
            confidence=completion.mean_probability,
            lines=(completion.text,),
            mentioned=mentioned_share(question, [by_id[item] for item in cited]),
            verdict=verdict,
            quotes=tuple(quotes),
            quoted=any(not part.answers for part in parts),
        )

    def samples(
        self,
        node_id: int | None,
        question: str,
        evidence: Sequence[Evidence],
        draws: int,
        temperature: float,
        *,
        whole: bool = True,
    ) -> list[Reading]:
        """Several answers from evidence, best first, sampled side by side in a fixed order. Fewer if no more calls are
        left, which they note.

        Args:
            whole: the question is a whole one; else a look-up.
        """
        made = min(draws, max(1, self.asking.calls_left))
        left = (f"{draws - made} of {draws} samples left out: the question's model calls are used",)

        def one(draw: int) -> Reading:
            task: Task = "answer" if whole else "read"
            reading = self._read(
                node_id, "sampled", task, evidence, draw=draw, temperature=temperature, question=question
            )
            return reading if made == draws else replace(reading, dropped=(*reading.dropped, *left))

        return run_each(one, range(1, made + 1), self.asking.settings.llm.parallel)

    def voted(
        self, node_id: int | None, question: str, evidence: Sequence[Evidence], reading: Reading, *, whole: bool = True
    ) -> Reading:
        """The reading, or if it is not sure, the most frequent answer of it and a few samples (self-consistency: Wang
        et al., 2023). In a tie the first reading stands; Unknown never wins. All votes are made, or none.

        Args:
            evidence: what was read, best first.
            whole: the question is a whole one; else a look-up.
        """
        if not reading.answers or reading.confidence is None or reading.confidence >= _UNSURE_TO_VOTE:
            return reading
        if not self.asking.spares(_VOTES):
            return replace(reading, dropped=(*reading.dropped, "no vote: the question's model calls are used"))
        drawn = self.samples(node_id, question, evidence, _VOTES, _VOTE_TEMPERATURE, whole=whole)
        written = [", ".join(one.answers) for one in (reading, *drawn)]
        counted = vote(written)
        told = "; ".join(f"{answer} {count}" for answer, count in counted.counts.items())
        note = f"{len(written)} readings: {told}"
        if counted.answer == written[0]:
            return replace(reading, dropped=(*reading.dropped, note))
        winner = drawn[written.index(counted.answer) - 1]
        shown = self._cut_all("answer" if whole else "read", evidence, {"question": question})
        return replace(
            winner,
            null=reading.null,
            others=tuple(other for other in reading.others if other[0] not in winner.answers),
            dropped=(*reading.dropped, note),
            asked=reading.asked,
            verdict=self._judge(question, shown, winner.answers),
        )

    def checked(self, node_id: int | None, reading: Reading) -> Reading:
        """The reading with its answers verified: the model is asked about each in the next turn of the same
        conversation, so that only that turn has to be read (P(True): Kadavath et al., 2022).

        A reading without evidence or without answers is returned unchanged, and so is one that no call is left for.
        """
        if not self.verify or reading.asked is None or not reading.answers:
            return reading
        if not self.asking.spares(len(reading.lines)):
            return replace(reading, dropped=(*reading.dropped, "not verified: the question's model calls are used"))
        verified: list[float] = []
        for line in reading.lines:  # of a pointed reading one, for all its answers
            prompt = reading.asked.going_on(line, answer_format(self.asking.style, "read").check)
            if not self.asking.has_room(prompt, _CHECK_TOKENS):
                return reading
            said = self.asking.generate(
                node_id, "verify", prompt, Choice(VERDICTS), _CHECK_TOKENS, watch=_WATCHED_VERDICTS
            )
            probability = said_yes(said)
            if probability is None:
                return reading
            verified.append(probability)
        return replace(reading, verified=tuple(verified))

    def select(self, node_id: int, candidates: Sequence[str], condition: str, evidence: Sequence[Evidence]) -> Reading:
        """The candidates that satisfy the condition according to the evidence."""
        return self._read(
            node_id, "filter", "filter", evidence, candidates, listed="; ".join(candidates), condition=condition
        )

    def from_steps(self, node_id: int, question: str, steps: Sequence[tuple[str, str]]) -> Reading:
        """Answer the question from earlier questions and their answers."""
        texts = tuple(text for step in steps for text in reversed(step))
        return self._read(node_id, "combine", "combine", (), texts=texts, steps=_numbered(steps), question=question)

    def follow_ups(
        self,
        node_id: int | None,
        question: str,
        steps: Sequence[tuple[str, str]],
        *,
        draws: int = 1,
        temperature: float = 0.0,
    ) -> list[str]:
        """The next question of one hop, from earlier questions and their answers; [] if no more is to be asked.

        What is no question, such as an answer, ends it too. Only for a model that :attr:`knows_next`.

        Args:
            draws: how many are sampled side by side. Equal ones are returned once.
            temperature: of the samples; 0 is greedy.

        Returns:
            Questions in the model's words, sanitised, without those of `steps`.
        """
        prompt = render(_PACKAGE, "lean_next", (), steps=_numbered(steps), question=question)

        def one(draw: int) -> str:
            written = self.asking.generate(
                node_id,
                "next question",
                prompt,
                _ONE_LINE,
                _QUESTION_TOKENS,
                temperature=temperature,
                draw=draw,
                silent=draws > 1 or node_id == ROOT_ID,  # what streams there is shown as a draft of the answer
                task=NEXT,
            )
            return sanitize_line(written.text) if written.finish == "stop" else ""

        numbers = range(1, draws + 1) if temperature else (0,)
        written = dict.fromkeys(run_each(one, numbers, self.asking.settings.llm.parallel))
        asked = {earlier for earlier, _ in steps}
        return [text for text in written if text.endswith("?") and text not in asked]

    def standalone(self, question: str, turns: Sequence[str]) -> str:
        """A follow-up question rewritten so that it can be understood alone.

        Args:
            turns: the earlier turns, a line each: `Q: …` or `A: …`.

        Returns:
            The question in the model's words, sanitised; "" if it wrote nothing usable.
        """
        template = in_style("rewrite", self.asking.style)
        prompt = render(_PACKAGE, template, turns="\n".join(map(sanitize_line, turns)), question=question)
        completion = self.asking.generate(None, "rewrite", prompt, _ONE_LINE, _QUESTION_TOKENS)
        return sanitize_line(completion.text) if completion.finish == "stop" else ""

    def from_memory(self, node_id: int | None, question: str, *, draw: int = 0, temperature: float = 0.0) -> Reading:
        """Answer from the model's own knowledge.

        Args:
            draw: number of a sample; each has a seed of its own.
            temperature: of a sample; without a number the answer is greedy.
        """
        return self._read(
            node_id, "closed book", "closed_book", (), draw=draw, temperature=temperature, question=question
        )

    def from_thoughts(self, node_id: int | None, question: str, *, draw: int = 0, temperature: float = 0.0) -> Reading:
        """Chain of thought: think first, then answer from the thoughts (Wei et al., 2022).

        Args:
            draw: number of a sample; each has a seed of its own.
            temperature: of the thoughts; 0 is greedy. The answer is always.
        """
        thinking = render(_PACKAGE, "think", question=question)
        thought = self.asking.generate(
            node_id, "think", thinking, None, _THOUGHT_TOKENS, temperature=temperature, draw=draw
        )
        thoughts = sanitize_line(thought.text)
        return self._read(node_id, "conclude", "conclude", (), question=question, thoughts=thoughts)

    def choose(self, node_id: int, question: str, options: Sequence[str]) -> str:
        """The model's choice of one of the options (combinations of sources) for the question."""
        template = in_style("choose_sources", self.asking.style)
        prompt = render(_PACKAGE, template, sources=max(options, key=len), question=question)
        chosen = self.asking.generate(node_id, "choose sources", prompt, Choice(tuple(options)), 16).text.strip()
        return chosen if chosen in options else max(options, key=len)

    def _read(
        self,
        node_id: int | None,
        purpose: str,
        task: Task,
        evidence: Sequence[Evidence],
        candidates: Sequence[str] | None = None,
        texts: tuple[str, ...] = (),
        draw: int = 0,
        temperature: float = 1.0,
        guess: bool = False,
        **slots: str,
    ) -> Reading:
        form = answer_format(self.asking.style, task)
        shown, prompt, dropped = self.asking.fit(
            lambda shown: self._prompt(form, task, shown, slots), evidence, _ANSWER_TOKENS
        )
        cut = self._cut_all(task, shown, slots)
        asked = AnswerSpec(
            task,
            slots.get("question", ""),
            texts or tuple(part for title, text in cut for part in (text, title)),
            len(shown),
            tuple(candidates) if candidates else None,
            self.asking.settings.features.span_answers,
            guess,
            bodies=tuple(text for _, text in cut),
        )
        watch = (UNKNOWN,) if task in _WITH_UNKNOWN and not draw else ()
        completion = self.asking.generate(
            node_id,
            purpose,
            prompt,
            Grammar(form.grammar(asked), form.json_schema),
            _ANSWER_TOKENS,
            temperature=temperature if draw else 0.0,
            draw=draw,
            watch=watch,
            watch_after=form.before,
            silent=draw > 1,
        )
        reading = without_dates(asked, self._parse(form, completion, shown, dropped))
        if reading.cited and asked.question:
            reading = replace(reading, mentioned=mentioned_share(asked.question, reading.cited))
        if task not in _VERIFIED or draw:
            return reading
        return replace(reading, asked=prompt, verdict=self._judge(asked.question, cut, reading.answers))

    def _judge(self, question: str, shown: Sequence[tuple[str, str]], answers: Sequence[str]) -> SpanVerdict | None:
        """The span reader's verdict; None without one, for yes/no, or without answers."""
        if self.span_reader is None or not answers or are_verdicts(answers):
            return None
        return self.span_reader.judge(question, [f"{title}: {text}" for title, text in shown], answers)

    def _prompt(self, form: AnswerFormat, task: Task, evidence: Sequence[Evidence], slots: dict[str, str]) -> Prompt:
        block = evidence_block(self._cut_all(task, evidence, slots))
        return render(_PACKAGE, form.template(task), (), **slots | {"evidence": block})

    def _cut_all(self, task: Task, evidence: Sequence[Evidence], slots: dict[str, str]) -> list[tuple[str, str]]:
        asked = slots.get("question") or slots.get("condition", "")
        passages = [(item.title, item.text) for item in evidence]
        words, cut = self.asking.settings.limits.passage_words, self.asking.settings.features.cut_evidence
        return shown_passages(asked, passages, words, whole=task != "read", cut=cut)

    @staticmethod
    def _parse(
        form: AnswerFormat,
        completion: Generation,
        shown: Sequence[Evidence],
        dropped: tuple[str, ...],
    ) -> Reading:
        try:
            given, numbers = form.parse(completion.text)
        except ValueError as error:
            return Reading(dropped=dropped, problem=str(error))
        null = null_score(completion, form.before)
        sure = token_shares(completion, given, form.before)
        answers: dict[str, tuple[str, float | None]] = {}  # with what was written for it, and how surely
        for item, share in zip(given, sure, strict=True):
            text = sanitize_line(item).rstrip(_DANGLING)
            if not shown and _PLAN_LINE.search(text):
                dropped = (*dropped, _WROTE_PLAN)
            elif text and not _UNKNOWN.fullmatch(text.strip(" .")):
                answers.setdefault(text, (item, share))
        if not answers:
            return Reading(confidence=completion.mean_probability, null=null, dropped=dropped)
        numbers = [number for number in dict.fromkeys(numbers) if 1 <= number <= len(shown)]
        shares = [share for _, share in answers.values() if share is not None]
        return Reading(
            tuple(answers),
            tuple(shown[number - 1] for number in numbers),
            completion.mean_probability,
            each=tuple(shares) if len(shares) == len(answers) else (),
            null=null,
            dropped=dropped,
            lines=tuple(form.written([item], numbers) for item, _ in answers.values())
            if len(answers) > 1
            else (completion.text,),
        )


def _numbered(steps: Sequence[tuple[str, str]]) -> str:
    """Questions with their answers, a line each."""
    return "\n".join(f"{i}. {asked} {answer}" for i, (asked, answer) in enumerate(steps, 1))
