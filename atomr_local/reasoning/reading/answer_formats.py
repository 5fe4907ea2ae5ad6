"""Answer formats: prompt template, grammar and parser of each task, in two styles.

`full` prompts have instructions and examples and are answered by a JSON object; any instruction-tuned model understands
them. `lean` prompts are a tag and the facts, answered by a line `answer; answer [1]`. They suffice for an adapter
trained on them (see `scripts/train_adapter.py`) and save time, most of which goes into reading prompts. Both formats
carry the answer, further answers, and the numbers of the evidence used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Protocol

from atomr_local.language.literals import between_dates, dates_in
from atomr_local.language.names import capitalised, countries_in
from atomr_local.language.question_kind import SURE, expected_type
from atomr_local.language.words import number_words
from atomr_local.models.gbnf import literal, word_runs
from atomr_local.models.protocol import Prompt
from atomr_local.models.templates import Style
from atomr_local.reasoning import confidence as names
from atomr_local.sources.protocol import Evidence, Quote

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.span_reader import SpanVerdict


Task = Literal["read", "answer", "filter", "combine", "closed_book", "conclude"]

MOST_ANSWERS = 6
_MOST_CITED = 4
_LONGEST_COUNTRY = 5
VERDICTS = ("yes", "no")
# Questions for these types are not answered by words of a date.
UNDATED = ("place", "person")
# Only these tasks answer with words of the texts in the prompt.
_EXTRACTIVE: frozenset[Task] = frozenset({"read", "answer", "combine"})


@dataclass(frozen=True)
class AnswerSpec:
    """One request for an answer.

    Attributes:
        question: as the prompt has it.
        texts: the sources of the answer's words, best first; () if the model answers freely.
        bodies: the texts without the titles. Dates, numbers and countries are taken from them if they contain any, so
            that a title cannot be the answer.
        evidence: number of pieces of evidence in the prompt.
        candidates: if given, the only answers allowed.
        spans: whether answers must be runs of the texts' words.
        guess: whether Unknown is not allowed.
    """

    task: Task
    question: str
    texts: tuple[str, ...] = ()
    evidence: int = 0
    candidates: tuple[str, ...] | None = None
    spans: bool = True
    guess: bool = False
    bodies: tuple[str, ...] = ()


class AnswerFormat(Protocol):
    """A style of answers.

    Attributes:
        before: the output before the first answer.
        json_schema: of the output; None if it is not JSON.
        check: the next turn, which asks the model about its own answer; it says yes or no.
    """

    before: str
    json_schema: Mapping[str, Any] | None
    check: str

    def template(self, task: Task) -> str:
        """Name of the prompt template."""
        ...

    def grammar(self, asked: AnswerSpec) -> str:
        """GBNF, rule `root`."""
        ...

    def parse(self, text: str) -> tuple[list[str], list[int]]:
        """Answers and numbers of the evidence used.

        Raises:
            ValueError: the text is not of this format.
        """
        ...

    def written(self, answers: Sequence[str], cited: Sequence[int]) -> str:
        """The output for these answers; :meth:`parse` reads it."""
        ...


def _one(rules: dict[str, str], asked: AnswerSpec, encode: Callable[[str], str], free: str) -> int:
    """Add the rule `one`, a single answer without quotes; returns how many answers there may be.

    If the question clearly asks for a type of answer, the rule allows only that: a date or a number of the texts, a
    capitalised name for a country, yes or no. Otherwise it allows a run of the texts' words, for a place or a person
    none of a date; an answer to a whole question may also use the question's words or be yes or no.
    """
    if asked.candidates:
        rules["one"] = " | ".join(literal(encode(candidate)) for candidate in asked.candidates)
        return min(MOST_ANSWERS, len(asked.candidates))
    if not asked.spans or asked.task not in _EXTRACTIVE:
        rules["one"] = free
        return MOST_ANSWERS
    expected = expected_type(asked.question)
    whole = asked.task != "read"
    if expected.surely("yes/no") and whole:
        rules["one"] = " | ".join(map(literal, VERDICTS))
        return 1
    if expected.surely("date", "year") and (dates := dates_in(asked.bodies) or dates_in(asked.texts)):
        rules["one"] = " | ".join(literal(encode(date)) for date in dates)
        return MOST_ANSWERS if expected.several else 1
    if expected.country >= SURE and not whole and _countries(rules, asked, encode):
        return MOST_ANSWERS
    if expected.surely("number", "quantity"):
        word_runs(rules, "run", asked.bodies or asked.texts, encode, number_words().opens_number)
    if "run" not in rules:
        texts = (*asked.texts, *((asked.question,) if whole else ()))
        if expected.surely(*UNDATED):
            texts = tuple(piece for text in texts for piece in between_dates(text))
        word_runs(rules, "run", texts, encode)
    choices = ["run"] if "run" in rules else []
    if whole or not choices:
        choices += map(literal, VERDICTS)
    rules["one"] = " | ".join(choices)
    return MOST_ANSWERS


def answer_rule(rules: dict[str, str], asked: AnswerSpec) -> int:
    """Add the rule `one`, an answer as a line has it, and what it needs; returns how many answers there may be."""
    return _one(rules, asked, lambda text: text, "char{1,90}")


def _countries(rules: dict[str, str], asked: AnswerSpec, encode: Callable[[str], str]) -> bool:
    """Add the rule `one` for known countries and nationalities and for any other capitalised name.

    False, and nothing added, if the texts name no known country.
    """
    texts = next((texts for texts in (asked.bodies, asked.texts) if any(map(countries_in, texts))), ())
    if not texts:
        return False
    known = dict.fromkeys(chain(*map(countries_in, texts)))
    pieces = [piece for text in texts for piece in between_dates(text)]
    word_runs(rules, "name", capitalised(pieces), encode, longest=_LONGEST_COUNTRY)
    rules["one"] = " | ".join(
        [*(literal(encode(country)) for country in known), *(["name"] if "name" in rules else [])]
    )
    return True


def _written(rules: dict[str, str]) -> str:
    return "\n".join(f"{name} ::= {body}" for name, body in rules.items())


_ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "answers": {"type": "array", "items": {"type": "string"}},
        "evidence": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["answer", "answers", "evidence"],
    "additionalProperties": False,
}


class JsonFormat:
    """{"answer": …, "answers": […], "evidence": […]} on one line."""

    before = '{"answer": "'
    json_schema: Mapping[str, Any] | None = _ANSWER_SCHEMA
    check = "Does the evidence above say that this is the answer to that very question? Answer yes or no."

    def template(self, task: Task) -> str:
        return "read" if task == "answer" else task

    def grammar(self, asked: AnswerSpec) -> str:
        rules = {
            "root": "known" if asked.guess else "known | unknown",
            "known": "",
            "unknown": r'"{\"answer\": \"Unknown\", \"answers\": [], \"evidence\": []}"',
        }
        most = _one(rules, asked, _json_escaped, "char{1,90}")
        numbers = ""
        if asked.evidence:
            rules["number"] = " | ".join(f'"{i}"' for i in range(1, asked.evidence + 1))
            numbers = f'(number (", " number){{0,{min(asked.evidence, _MOST_CITED) - 1}}})?'
        rules["known"] = (
            r'"{\"answer\": \"" one "\", \"answers\": [" quoted'
            rf' (", " quoted){{0,{most - 1}}} "], \"evidence\": [" {numbers} "]}}"'
        )
        rules["quoted"] = r'"\"" one "\""'
        rules["char"] = r'[^"\\\x7F\x00-\x1F]'
        return _written(rules)

    def parse(self, text: str) -> tuple[list[str], list[int]]:
        try:
            data = json.loads(text)
            given = data["answers"] or [data["answer"]]
            return [str(item) for item in given], [int(number) for number in data["evidence"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError("the model's output is not the JSON object asked for") from error

    def written(self, answers: Sequence[str], cited: Sequence[int]) -> str:
        said = {"answer": ", ".join(answers), "answers": list(answers), "evidence": list(cited)}
        return json.dumps(said, ensure_ascii=False)


class LineFormat:
    """`answer; answer [1][2]`, or `Unknown`."""

    before = ""
    json_schema: Mapping[str, Any] | None = None
    check = "Check."
    _LINE = re.compile(r"(?P<answers>.+?)(?P<cited>(?: ?\[\d{1,3}\])*)", re.DOTALL)

    def template(self, task: Task) -> str:
        return f"lean_{task}"

    def grammar(self, asked: AnswerSpec) -> str:
        rules = {"root": "known" if asked.guess else 'known | "Unknown"', "known": ""}
        most = answer_rule(rules, asked)
        cited = ""
        if asked.evidence:
            rules["number"] = " | ".join(f'"[{i}]"' for i in range(1, asked.evidence + 1))
            cited = f' " " number{{1,{min(asked.evidence, _MOST_CITED)}}}'
        rules["known"] = f'one ("; " one){{0,{most - 1}}}{cited}'
        rules["char"] = r"[^\[\];\x7F\x00-\x1F]"
        return _written(rules)

    def parse(self, text: str) -> tuple[list[str], list[int]]:
        match = self._LINE.fullmatch(text.strip())
        if match is None:
            raise ValueError("the model's output is not the line asked for")
        return match["answers"].strip().split("; "), [int(n) for n in re.findall(r"\d+", match["cited"])]

    def written(self, answers: Sequence[str], cited: Sequence[int]) -> str:
        numbers = "".join(f"[{number}]" for number in cited)
        return "; ".join(answers) + (f" {numbers}" if numbers else "")


def _json_escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


FORMATS: dict[Style, AnswerFormat] = {"full": JsonFormat(), "lean": LineFormat()}


def answer_format(style: Style, task: Task) -> AnswerFormat:
    """The format of a task in a style; the task "conclude" exists in full style only."""
    return FORMATS["full"] if task == "conclude" else FORMATS[style]


# A structured answer of the model with its signals.


@dataclass(frozen=True)
class Reading:
    """A structured answer of the model.

    Attributes:
        answers: empty if the model says Unknown or its output could not be read.
        each: for each answer exp of its own tokens' mean log-probability; () if unknown.
        null: probability of Unknown against what the model began to write; None if Unknown was not possible or its
            probability is unknown.
        verified: for each answer the probability that the model says yes when asked whether the evidence supports it;
            () if it was not asked.
        cited: the evidence that the model cites.
        confidence: exp of the mean token log-probability.
        others: alternative answers, each with its confidence, best first.
        dropped: notes about evidence left out because the prompt would not fit.
        problem: why the output could not be read, or None.
        asked: the prompt, if the model can be asked about its answer.
        verdict: the span reader's verdict on the answers and the passages; None without one.
        mentioned: the share of the question's content words in the cited evidence; None without either.
        subject: whether the cited evidence is about the one asked about; None if that is not known.
        lines: for each answer the output that the model would have written for it alone.
        quotes: where the answers stand, or the sentences that tell them; only of a pointed reading.
        quoted: whether the answers are quotations, not values.
    """

    answers: tuple[str, ...] = ()
    cited: tuple[Evidence, ...] = ()
    confidence: float | None = None
    each: tuple[float, ...] = ()
    null: float | None = None
    verified: tuple[float, ...] = ()
    others: tuple[tuple[str, float], ...] = ()
    dropped: tuple[str, ...] = field(default=())
    problem: str | None = None
    asked: Prompt | None = None
    lines: tuple[str, ...] = ()
    mentioned: float | None = None
    verdict: SpanVerdict | None = None
    quotes: tuple[Quote, ...] = ()
    quoted: bool = False
    subject: bool | None = None

    @property
    def signals(self) -> dict[str, float]:
        """The signals of this reading, each 0 to 1 (see `confidence.py`)."""
        known = {
            names.READING: self.confidence,
            names.NULL: self.null,
            names.VERIFY: min(self.verified, default=None),
            names.MENTIONED: self.mentioned,
            names.SUBJECT: None if self.subject is None else float(self.subject),
        }
        if self.quotes:
            known |= {names.POINTED: 1.0, names.QUOTED: float(self.quoted)}
        if self.verdict is not None:
            shares = [share for share in self.verdict.answers if share is not None]
            known |= {names.ANSWERABLE: self.verdict.answerable, names.SPAN: min(shares, default=None)}
        return {name: value for name, value in known.items() if value is not None}
