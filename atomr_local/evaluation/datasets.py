"""Question sets, plans given with them, and prediction files: our format, and similar published ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.metrics import Score, Summary, mean_percent, score_answer
from atomr_local.evaluation.records import DatasetRecord, read_records
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits, validate

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
