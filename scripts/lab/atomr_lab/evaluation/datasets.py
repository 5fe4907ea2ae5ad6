"""Question sets, plans given with them, and prediction files: our format, and similar published ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from atomr_lab.evaluation.metrics import Score, Summary, mean_percent, score_answer
from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader, kind_in
from atomr_local.settings.schema import SourceId, check_bounds, parse_toml, problem
from atomr_local.system.files import read_text
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits, validate

# Reads JSON lines from users: one object per line, errors with file and line number.


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """One line's object and where it stands."""

    path: Path
    line: int
    fields: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def error(self, problem: str, *, hint: str = "") -> InputError:
        return InputError(f"{self.place}: {problem}", hint=hint)

    def text(self, key: str, *, empty: bool = False) -> str:
        """The string under `key`.

        Raises:
            InputError: it is missing, not a string, or blank where `empty` is not allowed.
        """
        value = self.fields.get(key)
        if not isinstance(value, str):
            raise self.error(f'"{key}" is {"missing" if value is None else "not a string"}')
        if not empty and not value.strip():
            raise self.error(f'"{key}" is empty')
        return value

    def texts(self, key: str, *, empty: bool = False) -> tuple[str, ...]:
        """The list of strings under `key`; one string counts as a list of one.

        Raises:
            InputError: it is missing, empty where that is not allowed, or holds something else.
        """
        value = self.fields.get(key)
        if isinstance(value, str):
            value = [value]
        if empty and value == []:
            return ()
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise self.error(f'"{key}" is {"missing" if value is None else "not a list of strings with at least one"}')
        if not all(item.strip() for item in value):
            raise self.error(f'"{key}" holds an empty answer')
        return tuple(value)


def read_records(path: Path) -> Iterator[DatasetRecord]:
    """Each object of the file; blank lines are skipped.

    Raises (while iterating):
        InputError: the file cannot be read, or a line is not a JSON object in UTF-8.
    """
    for number, line in LineReader(path):
        if not line.strip():
            continue
        try:
            fields = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (UnicodeDecodeError, RecursionError, ValueError) as error:
            if number == 1 and (kind := kind_in(path)):
                raise InputError(f"{path}: {kind.name}, no lines of JSON", hint=kind.advice) from error
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "not UTF-8 text or too deeply nested"
            raise InputError(f"{path}:{number}: not valid JSON: {reason}") from error
        if not isinstance(fields, dict):
            raise InputError(f"{path}:{number}: not a JSON object")
        yield DatasetRecord(path, number, fields)


_ID_KEYS = ("id", "question_id", "index")  # 2wiki, hotpot, musique and crag say question_id; BlendQA only index
_GOLD_KEYS = ("answers", "gold")


@dataclass(frozen=True, slots=True)
class GoldFact:
    """One hop of the gold reasoning chain, with the surface forms of the data set."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a set.

    Attributes:
        id: unique within the set.
        answers: the gold answers, any of which is right; none where there is no answer to be found.
        type: the data set's own category ("bridge", "comparison", "3hop1", …); empty if it has none.
        gold_titles: titles of the pages that hold the answer.
        evidences: the gold chain, first hop first.
        answerable: False if declining is right; so is a question without gold answers.
        kind: what kind of question it is beside the data set's type, such as "list" or "follow-up".
    """

    id: str
    question: str
    answers: tuple[str, ...]
    type: str = ""
    gold_titles: tuple[str, ...] = ()
    evidences: tuple[GoldFact, ...] = ()
    answerable: bool = True
    kind: str = ""

    @property
    def gold(self) -> tuple[str, ...]:
        """The answers that count as right: none where the question has no answer."""
        return self.answers if self.answerable else ()

    def gold_fields(self) -> dict[str, Any]:
        """What a prediction line carries along so that it can be diagnosed without this file."""
        return {
            "type": self.type,
            "gold_titles": list(self.gold_titles),
            "evidences": [[fact.head, fact.relation, fact.tail] for fact in self.evidences],
            "answerable": self.answerable,
            "kind": self.kind,
        }


@dataclass(frozen=True, slots=True)
class Prediction:
    """A scored line of a predictions file.

    Attributes:
        predicted: the answer; empty if the question was declined.
        guess: the best answer, given or not; empty if there was none at all.
        score, guess_score: of these two.
        answerable: False if the question has no answer; whatever is answered then is wrong.
        confidence: of the guess, 0 to 1; None if the line has none.
        fields: the whole line.
    """

    question: str
    predicted: str
    gold: tuple[str, ...]
    score: Score
    fields: dict[str, Any] = field(default_factory=dict, compare=False)
    guess: str = ""
    guess_score: Score = field(default_factory=lambda: Score(0.0, 0.0, 0.0))
    answerable: bool = True
    confidence: float | None = None

    @property
    def id(self) -> str:
        """Its id where the line has one, else its question."""
        given = self.fields.get("id")
        return str(given) if isinstance(given, str | int) else self.question


def load_questions(path: Path, *, offset: int = 0, limit: int | None = None) -> list[Question]:
    """The questions of a JSON lines file, from `offset` on, at most `limit`.

    The whole file is checked, also what is not taken.

    Raises:
        InputError: naming the file and line of what is wrong, a repeated id included.
    """
    questions: dict[str, Question] = {}
    for record in read_records(path):
        question = question_of(record)
        if question.id in questions:
            raise record.error(f"the id {question.id!r} occurs twice", hint="Give each question an id of its own.")
        questions[question.id] = question
    if not questions:
        raise InputError(f"{path} contains no questions")
    end = None if limit is None else offset + limit
    return list(questions.values())[offset:end]


def question_of(record: DatasetRecord) -> Question:
    """The question that a line describes.

    Raises:
        InputError: a key is missing or holds something else.
    """
    gold_key = next((key for key in _GOLD_KEYS if key in record.fields), _GOLD_KEYS[0])
    kind = record.fields.get("type") or record.fields.get("question_type") or ""
    answers = record.texts(gold_key, empty=True)
    return Question(
        id=id_of(record),
        question=record.text("question").strip(),
        answers=answers,
        type=str(kind),
        gold_titles=_titles(record),
        evidences=tuple(_facts(record)),
        answerable=_answerable(record, answers),
        kind=str(record.fields.get("kind") or ""),
    )


def _answerable(record: DatasetRecord, gold: tuple[str, ...]) -> bool:
    given = record.fields.get("answerable", True)
    if not isinstance(given, bool):
        raise record.error('"answerable" is neither true nor false')
    return given and bool(gold)


def read_predictions(path: Path) -> list[Prediction]:
    """Every line of a predictions file, scored.

    Raises:
        InputError: naming the file and line of what is wrong, or that there is no line.
    """
    predictions = [prediction_of(record) for record in read_records(path)]
    if not predictions:
        raise InputError(f"{path} contains no predictions")
    return predictions


def prediction_of(record: DatasetRecord) -> Prediction:
    """The prediction that a line describes. An empty `predicted` is an honest Unknown; `guess` is then the best answer
    that was found all the same.

    Raises:
        InputError: a key is missing or holds something else.
    """
    predicted, gold = record.text("predicted", empty=True), record.texts("gold", empty=True)
    guess = predicted.strip() or (record.text("guess", empty=True) if "guess" in record.fields else "")
    answerable = _answerable(record, gold)
    confidence = record.fields.get("confidence")
    known = isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1
    golds = gold if answerable else ()
    return Prediction(
        record.text("question"),
        predicted,
        gold,
        score_answer(predicted, golds),
        record.fields,
        guess=guess,
        guess_score=score_answer(guess, golds),
        answerable=answerable,
        confidence=float(confidence) if known and confidence is not None else None,
    )


def summarize(predictions: Iterable[Prediction]) -> Summary:
    """The figures over all predictions; zeros over none. Where no question has an answer, all are counted, and
    declining is right."""
    counted = list(predictions)
    scored = [item for item in counted if item.answerable] or counted
    return Summary(
        n=len(counted),
        em=mean_percent(item.score.em for item in scored),
        cover_em=mean_percent(item.score.cover_em for item in scored),
        f1=mean_percent(item.score.f1 for item in scored),
        guess_f1=mean_percent(item.guess_score.f1 for item in scored),
        precision=mean_percent(item.score.f1 for item in counted if item.predicted.strip()),
        coverage=mean_percent(float(bool(item.predicted.strip())) for item in counted),
    )


def id_of(record: DatasetRecord) -> str:
    """The record's id: its "id", "question_id" or "index", else its line number.

    Raises:
        InputError: the id is neither a string nor a whole number.
    """
    for key in _ID_KEYS:
        value = record.fields.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None:
            raise record.error(f'"{key}" is neither a name nor a whole number')
    return str(record.line)


def load_plans(path: Path, questions: Sequence[Question], limits: Limits) -> dict[str, Tree]:
    """The plans, by question id, of a JSON lines file of {"id", "plan": compact notation}.

    Plans for other questions are skipped, unread. A "plan" that is null says that the question has none.

    Raises:
        InputError: naming the file and line of a plan that is missing, not valid, or there twice.
    """
    asked = {question.id: question for question in questions}
    plans: dict[str, Tree] = {}
    seen: set[str] = set()
    for record in read_records(path):
        key = id_of(record)
        if key in seen:
            raise record.error(f"the id {key!r} occurs twice")
        seen.add(key)
        if key in asked and record.fields.get("plan", "") is not None:
            plans[key] = _plan(record, asked[key], limits)
    return plans


def _plan(record: DatasetRecord, question: Question, limits: Limits) -> Tree:
    try:
        tree = parse_compact(record.text("plan"), question.question)
    except TreeError as error:
        raise record.error(f"the plan is not valid: {error}") from error
    problems = validate(tree, limits)
    if problems:
        raise record.error(f"the plan is not valid: {problems[0].message}")
    return tree


def _titles(record: DatasetRecord) -> tuple[str, ...]:
    titles = record.fields.get("gold_titles") or []
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        raise record.error('"gold_titles" is not a list of strings')
    return tuple(titles)


def _facts(record: DatasetRecord) -> Iterator[GoldFact]:
    facts = record.fields.get("evidences") or []
    if not isinstance(facts, list):
        raise record.error('"evidences" is not a list')
    for fact in facts:
        if not isinstance(fact, list) or len(fact) != 3 or not all(isinstance(part, str) for part in fact):
            raise record.error('"evidences" holds something other than [head, relation, tail]')
        yield GoldFact(*fact)


# The file of `atomr eval matrix`: question sets with the indexes that they are asked of, and ablations of strategies.
#
# [[sets]]
# name = "2wiki-text"                # the run's directory has this name
# questions = "qa/questions.jsonl"   # below a --data folder, else beside this file
# last_fifth = true                  # the development split; or offset and limit
# text_index = "2wiki"               # and graph_index; at least one of them, or sources
# note = "what the set is"
#
# [[ablations]]
# name = "atomr-no-rival"            # a name as in --strategies
# strategy = "atomr"
# settings = { features = { rival = false } }
# options = {}                       # of the strategy, as in [strategies.NAME] of the settings

_MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,59}")


def _directory_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name[:40]!r} cannot name a directory: use letters, digits and . _ + -, beginning with a letter or digit"
        )
    return name


Name = Annotated[str, AfterValidator(_directory_name)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_max_length=4096, hide_input_in_errors=True)


class QuestionSet(_Part):
    """Questions, and what they are asked of.

    Attributes:
        questions: path of the file, below a data folder.
        sources: those that may be used; those with an index if none is named.
        last_fifth: ask the development split, the last fifth by file order.
        offset, limit: which of these questions are asked; all after the first `offset` without a limit.
        note: what the set is, for the table.
    """

    name: Name
    questions: str = Field(min_length=1)
    text_index: str = ""
    graph_index: str = ""
    sources: tuple[SourceId, ...] = ()
    last_fifth: bool = False
    offset: int = Field(0, ge=0)
    limit: int | None = Field(None, ge=1)
    note: str = ""

    @model_validator(mode="after")
    def _sources_known(self) -> QuestionSet:
        if not self.asked_sources:
            raise ValueError("name a text_index, a graph_index or sources")
        return self

    @property
    def asked_sources(self) -> tuple[str, ...]:
        """The sources that may be used."""
        indexes = {"text": self.text_index, "graph": self.graph_index}
        return self.sources or tuple(source for source, index in indexes.items() if index)

    def first(self, path: Path) -> int:
        """How many questions of the file are before the set's first.

        Raises:
            InputError: see :func:`load_questions`.
        """
        count = len(load_questions(path)) if self.last_fifth else 0
        return (count * 4 // 5 if self.last_fifth else 0) + self.offset

    def load(self, path: Path, limit: int | None = None) -> list[Question]:
        """The questions, at most `limit`.

        Raises:
            InputError: see :func:`load_questions`; or the set has no question.
        """
        limits = [number for number in (limit, self.limit) if number is not None]
        found = load_questions(path, offset=self.first(path), limit=min(limits, default=None))
        if not found:
            raise InputError(f"the set {self.name} has no question: {path} is too short")
        return found


class Ablation(_Part):
    """A strategy with other options or settings.

    Attributes:
        options: of the strategy.
        settings: others, nested as in the settings file.
        note: what is changed, for the table.
    """

    name: Name
    strategy: str = Field(min_length=1)
    options: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    note: str = ""

    @model_validator(mode="after")
    def _changes_something(self) -> Ablation:
        if not (self.options or self.settings):
            raise ValueError("give options or settings, for nothing is changed")
        if fixed := {"strategy", "strategies", "sources", "text_index", "graph_index", "web"}.intersection(
            self.settings
        ):
            raise ValueError(f"settings.{min(fixed)} cannot be changed by an ablation: the set and the strategy fix it")
        return self


Part = TypeVar("Part", QuestionSet, Ablation)


@dataclass(frozen=True)
class SetsFile:
    """What the file holds, checked; each name once."""

    path: Path
    sets: tuple[QuestionSet, ...]
    ablations: tuple[Ablation, ...]

    def questions_file(self, asked: QuestionSet, folders: Sequence[Path] = ()) -> Path:
        """The set's questions: in the first of the folders that has them, without folders beside the file.

        Raises:
            InputError: they are in none.
        """
        looked = [folder / asked.questions for folder in folders or (self.path.parent,)]
        for path in looked:
            if path.exists():
                return path
        raise InputError(
            f"the questions of the set {asked.name} are not there: {' or '.join(map(str, looked))}",
            hint="Name the folder of the data with --data; it may be given several times.",
        )


def read_sets(path: Path) -> SetsFile:
    """The file's sets and ablations.

    Raises:
        InputError: it cannot be read, has no set, or something in it is not usable; the message says which.
        SettingsError: it is not valid TOML.
    """
    try:
        text = read_text(path, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    check_bounds(text, str(path))
    values = parse_toml(text, str(path))
    if unknown := values.keys() - {"sets", "ablations"}:
        raise InputError(f"{path}: {min(unknown)[:40]!r} is unknown", hint="There are [[sets]] and [[ablations]].")
    sets = _parts(path, values, "sets", QuestionSet)
    if not sets:
        raise InputError(f"{path} has no set", hint="Begin each with [[sets]].")
    return SetsFile(path, sets, _parts(path, values, "ablations", Ablation))


def _parts(path: Path, values: dict[str, Any], key: str, kind: type[Part]) -> tuple[Part, ...]:
    given = values.get(key, [])
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise InputError(f"{path}: {key} is no list of tables", hint=f"Begin each with [[{key}]].")
    found: dict[str, Part] = {}
    for number, item in enumerate(given, 1):
        named = item.get("name")
        where = f"{path}: [[{key}]] number {number}" + (f" ({named[:40]})" if isinstance(named, str) else "")
        try:
            part = kind(**item)
        except (ValidationError, TypeError) as error:
            said = problem(error, kind) if isinstance(error, ValidationError) else str(error)
            raise InputError(f"{where}: {said.removeprefix(': ')}") from error
        if part.name in found:
            raise InputError(f"{where}: the name is there twice")
        found[part.name] = part
    return tuple(found.values())
