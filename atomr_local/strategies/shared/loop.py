"""A tool loop: in each round the model thinks, uses a tool and sees what it gives (Yao et al., ICLR 2023).

The grammar holds exactly the tools at hand. What a tool gives is material: nothing in it can become an action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import answer_key, name_key, names_in
from atomr_local.models.protocol import Message, Prompt
from atomr_local.reasoning.asking.asking import cut_passage
from atomr_local.reasoning.asking.forms import Branch, Field, Form, Line
from atomr_local.reasoning.asking.writer import FilledForm, WrittenForm
from atomr_local.reasoning.reading.checks import named_in
from atomr_local.reasoning.results import Action, Result, add_evidence, product_confidence
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import CALLS_USED
from atomr_local.system.sanitize import sanitize_line

THOUGHT, ACTION, INPUT, OBSERVATION = "Thought", "Action", "Input", "Observation"
_ACTION_ALONE = "Write the action and its input alone."
_MOST_REPEATS = 2  # of tried actions, one after another: more of them only cost time
_MOST_NAMES = 120  # that an input may be made of, the last ones seen
# An old observation for which there is no room keeps this many words of its best sentences, at last none.
_SHORTENED = (25, 0)
_LEFT_OUT = "(left out)"
NO_ACTION = "no action was written"


@dataclass(frozen=True)
class Observation:
    """The output of a tool.

    Attributes:
        text: for the model; untrusted.
        title: of what the text is from.
        names: that later inputs may name, besides those in the evidence.
        more: whether the same action may give more.
    """

    text: str
    title: str = ""
    evidence: tuple[Evidence, ...] = ()
    names: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True)
class Tool:
    """One action that the model may choose in a round.

    Attributes:
        name: as the prompt explains it.
        field: the form of its argument; gets the question and the names seen so far. Its label is :data:`INPUT`. None:
            there is nothing yet that it could be used on, and it is not offered.
        use: runs it in a step; None: its argument is the answer, which ends the loop.
        key: what equal uses share; by default the argument's words.
    """

    name: str
    field: Callable[[tuple[str, ...]], Field | None]
    use: Callable[[int, str], Observation] | None = None
    key: Callable[[str], str] = answer_key


@dataclass
class Round:
    """One round, as the next ones see it."""

    thought: str
    action: Action | None = None
    seen: Observation = field(default_factory=lambda: Observation(NO_ACTION))

    @property
    def written(self) -> str:
        """The model's own lines of the round."""
        lines = [f"{THOUGHT}: {self.thought}"]
        if self.action is not None:
            lines += [f"{ACTION}: {self.action.name}", f"{INPUT}: {self.action.input}"]
        return "\n".join(lines)

    def observation(self, about: str, most: int) -> str:
        """The observation, cut to its best sentences of so many words."""
        if not most:
            return _LEFT_OUT
        text = cut_passage(f"{self.thought} {about}", self.seen.title, sanitize_line(self.seen.text), most)
        return f"{sanitize_line(self.seen.title)}: {text}" if self.seen.title else text


@dataclass(eq=False)
class Loop:
    """Runs tools in rounds for one question.

    Attributes:
        at_hand: the tools; the form's template explains each.
        form: template and worked examples; its fields are made here.
        most: rounds.
        thinks: gives the thought of a round, by the round's step; None: the model writes it.
        evidence: everything that the tools gave.
        notes: how the loop ended, where it did not end with an answer.
        taken: rounds so far.
    """

    question: str
    tools: QuestionContext
    at_hand: Sequence[Tool]
    form: Form
    most: int
    thinks: Callable[[int], str] | None = None
    evidence: list[Evidence] = field(default_factory=list, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    taken: int = field(default=0, init=False)
    _rounds: list[Round] = field(default_factory=list, init=False)
    _names: dict[str, None] = field(default_factory=dict, init=False)
    _tried: dict[tuple[str, str], int] = field(default_factory=dict, init=False)
    _repeats: int = field(default=0, init=False)  # one after another

    def run(self) -> FilledForm | None:
        """Rounds until one ends with an answer; None if none does within the limits."""
        for number in range(1, self.most + 1):
            if not self.tools.asking.calls_left:
                self.notes.append(CALLS_USED)
                return None
            final = None
            self.taken = number
            with self.tools.steps.open(self.question, label=f"round {number}") as step:
                final = self._round(step, number)
            if final is not None:
                return final
            if step.result.error is not None and len(self._rounds) < number:
                self.notes.append(f"no further round: {step.result.error['message']}")
                return None
            if self._repeats >= _MOST_REPEATS:
                self.notes.append(f"no further round: the model repeated what it had tried {self._repeats} times")
                return None
        self.notes.append(f"no answer in {self.most} rounds")
        return None

    def _round(self, step: Step, number: int) -> FilledForm | None:
        turns, notes = self._turns()
        written, thought = self._written(step, turns, notes)
        this = Round(thought)
        final = None
        if written.problem is None:
            this.action = Action(written[ACTION], written[INPUT])
            step.result = Result(thought=thought, action=this.action)
            tool = next(one for one in self.at_hand if one.name == written[ACTION])
            if tool.use is None:
                final = written.fields[INPUT]
            else:
                this.seen = self._used(step, tool, tool.use, this.action.input, number)
        else:
            notes.append(written.problem)
        self._rounds.append(this)
        add_evidence(self.evidence, this.seen.evidence)
        self._names |= dict.fromkeys((*this.seen.names, *names_in([item.text for item in this.seen.evidence])))
        step.result = replace(
            step.result,
            evidence=list(this.seen.evidence),
            thought=thought,
            action=this.action,
            observation="" if final is not None else this.observation(self.question, self._words),
            dropped=[*step.result.dropped, *notes],
        )
        return final

    def _written(self, step: Step, turns: list[tuple[str, str]], notes: list[str]) -> tuple[WrittenForm, str]:
        """The filled form and the thought; without a readable action it is asked for once more, alone."""
        given = self.thinks(step.id) if self.thinks is not None else None
        names = (*named_in(self.question), *list(self._names)[-_MOST_NAMES:])
        fields = {tool.name: tool.field(names) for tool in self.at_hand}
        stopped = replace(self.form, stop=(OBSERVATION,))
        action = Branch(ACTION, {name: (field,) for name, field in fields.items() if field is not None})
        if given is not None:
            told = [*turns, (f"{THOUGHT}: {given}", _ACTION_ALONE)]
            alone = replace(stopped, fields=(action,))
            [written] = self.tools.writer.write(step.id, "act", alone, turns=told, question=self.question)
            return written, given
        form = replace(stopped, fields=(Line(THOUGHT), action))
        [written] = self.tools.writer.write(step.id, "act", form, turns=turns, question=self.question)
        thought = written[THOUGHT]
        self.notes += [note for note in written.dropped if note not in self.notes]  # the same in every round
        if written.problem is not None and self.tools.asking.calls_left:
            step.result = Result(thought=thought)
            notes.append(f"asked again: {written.problem}")
            turns = [*turns, (f"{THOUGHT}: {thought}", _ACTION_ALONE)]
            alone = replace(form, fields=(action,))
            [written] = self.tools.writer.write(step.id, "act again", alone, turns=turns, question=self.question)
        return written, thought

    def _used(
        self, step: Step, tool: Tool, use: Callable[[int, str], Observation], given: str, number: int
    ) -> Observation:
        """The tool's output; a failure of its source is an observation too."""
        key = (tool.name, tool.key(given))
        self._repeats = self._repeats + 1 if key in self._tried else 0
        if key in self._tried:
            return Observation(f"already tried in round {self._tried[key]}")
        try:
            seen = use(step.id, given)
        except Cancelled:
            raise
        except AtomrError as error:
            step.result.error = {"title": error.title, "message": error.message}
            seen = Observation(
                f"this failed: {error.message}", evidence=tuple(self.tools.recorder.evidence_of(step.id))
            )
        if not seen.more:
            self._tried[key] = number
        return seen

    @property
    def _words(self) -> int:
        """Of an observation: as many as of a passage that is read alone."""
        return 2 * self.tools.settings.limits.passage_words

    def _turns(self) -> tuple[list[tuple[str, str]], list[str]]:
        """The rounds so far as turns of one conversation, and notes: the oldest observations are shortened first."""
        sizes = [self._words] * len(self._rounds)
        limits, context = self.tools.settings.limits, self.tools.asking.info.context_tokens
        budget = min(limits.evidence_tokens, context // 4)
        for fewer in _SHORTENED:
            for place in range(len(sizes) - 1):
                if self._tokens(sizes) > budget:
                    sizes[place] = fewer
        whole = [one.observation(self.question, self._words) for one in self._rounds]
        shown = [one.observation(self.question, most) for one, most in zip(self._rounds, sizes, strict=True)]
        notes = [
            f"observation {place} {'left out' if text == _LEFT_OUT else 'shortened'}: no room"
            for place, (text, full) in enumerate(zip(shown, whole, strict=True), 1)
            if text != full
        ]
        told = [f"{OBSERVATION}: {text}" for text in shown]
        return [(one.written, text) for one, text in zip(self._rounds, told, strict=True)], notes

    def _tokens(self, sizes: Sequence[int]) -> int:
        texts = (one.observation(self.question, most) for one, most in zip(self._rounds, sizes, strict=True))
        return self.tools.asking.count_tokens(Prompt((), (Message("user", "\n".join(texts)),)))


# The next question of a tool loop, from a model that has learnt to ask on.

ALL_FOUND = "everything that was to be found out is known"


@dataclass(eq=False)
class NextQuestions:
    """Questions of one hop, one after another; each is answered from what the tools give.

    Attributes:
        pending: the question to be answered now; "" before the first one and once there are no more.
        answer: to the whole question, once there are no more questions; "" if they do not tell.
    """

    question: str
    tools: QuestionContext
    pending: str = field(default="", init=False)
    answer: str = field(default="", init=False)
    finished: bool = field(default=False, init=False)
    _steps: list[tuple[str, str]] = field(default_factory=list, init=False)
    _sure: list[float | None] = field(default_factory=list, init=False)

    @property
    def confidence(self) -> float | None:
        """How surely everything that the answer rests on was read; None if that is not known."""
        return product_confidence(*self._sure)

    def thought(self, node_id: int) -> str:
        """The purpose of the round: the pending question, the next one, or that there is none."""
        if not self.pending and not self.finished:
            written = self.tools.reader.follow_ups(node_id, self.question, self._steps)
            self.pending = written[0] if written else ""
            self.finished = not written
            if self.finished and self._steps:
                reading = self.tools.reader.from_steps(node_id, self.question, self._steps)
                self.answer = ", ".join(reading.answers)
                self._sure.append(reading.confidence)
        return self.pending or ALL_FOUND

    def read(self, node_id: int, evidence: Sequence[Evidence]) -> str:
        """The answer of the evidence to the pending question; "" if it has none: then the question stays pending."""
        if not self.pending or not evidence:
            return ""
        reading = self.tools.reader.from_evidence(node_id, self.pending, evidence)
        found = ", ".join(reading.answers)
        if found:
            self._sure.append(reading.confidence)
            self._steps.append((self.pending, found))
            self.pending = ""
        return found


# Whether a question that a model writes repeats an earlier one.

_ALIKE = 0.95  # cosine from which two questions are the same
_MARKS = "?!.,;:'\"“”"


def asked_before(question: str, earlier: Sequence[str], tools: QuestionContext) -> bool:
    """Whether it equals an earlier one but for case, articles and punctuation, or the embedder finds them alike."""
    return alike_before(question, earlier, tools) is not None


def alike_before(question: str, earlier: Sequence[str], tools: QuestionContext, least: float = _ALIKE) -> int | None:
    """The place of the earlier question that this one repeats; None if it repeats none.

    The embedder decides only between questions with the same question word, names and numbers: where and when, Henry IV
    and Henry V are near each other in every embedding.

    Args:
        least: cosine from which two questions are the same.
    """
    for place, asked in enumerate(earlier):
        if same_question(question, asked):
            return place
    about = [place for place, asked in enumerate(earlier) if _about(asked) == _about(question)]
    cosines = {place: tools.ranking.alike(question, [earlier[place]], tools.cancellation) for place in about}
    near = [place for place, cosine in cosines.items() if cosine is not None and cosine >= least]
    return max(near, key=lambda place: cosines[place] or 0.0, default=None)


def same_question(one: str, other: str) -> bool:
    """Whether they are equal but for case, articles and punctuation."""
    return _key(one) == _key(other)


def _key(question: str) -> str:
    return answer_key(name_key(question))


def _about(question: str) -> tuple[str, frozenset[str]]:
    """The question word, and the names and numbers."""
    first, *others = question.split() or [""]
    return first.casefold(), frozenset(word.strip(_MARKS) for word in others if not word[:1].islower())
