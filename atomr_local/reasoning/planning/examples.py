"""The library of example plans, and the choice of examples for a prompt.

A plan depends on the shape of the question, "Who is the father of the director of NAME?", and not on the name. So
similarity is the cosine of IDF vectors over words and word pairs with names masked, combined with the cosine of the
plans' operator sequences. Examples are chosen as the greedy maximum of a determinantal point process: relevant to the
question and different from each other (for examples of decompositions: HumanIQ, section 2).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.language.names import name_key
from atomr_local.system.files import KeptLines
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.validation import Limits, validate

# The greedy maximum of a determinantal point process: items of high quality that differ from each other.
#
# Kulesza and Taskar, 2012; by incremental Cholesky factors: Chen, Zhang and Zhou, NeurIPS 2018.

_LEAST_GAIN = 1e-9


def greedy(
    diagonal: Sequence[float],
    kernel: Callable[[int, int], float],
    count: int,
    take: Callable[[int], bool] = lambda _index: True,
) -> list[int]:
    """At most `count` indices Y, each the one that adds most to log det of the kernel restricted to Y.

    Ends early where every further item would make the determinant zero. Of equal items the first is taken.

    Args:
        diagonal: kernel[i, i] of every item.
        kernel: symmetric and positive semidefinite; called for two different items.
        take: called with the best index of each step; returns False to skip it.
    """
    gains = list(diagonal)
    factors: list[list[float]] = [[] for _ in gains]
    waiting = set(range(len(gains)))
    chosen: list[int] = []
    while waiting and len(chosen) < count:
        best = max(waiting, key=lambda i: (gains[i], -i))
        if gains[best] < _LEAST_GAIN:
            break
        waiting.remove(best)
        if not take(best):
            continue
        chosen.append(best)
        root = math.sqrt(gains[best])
        for i in waiting:
            shared = sum(a * b for a, b in zip(factors[best], factors[i], strict=True))
            factor = (kernel(best, i) - shared) / root
            factors[i].append(factor)
            gains[i] -= factor * factor
    return chosen


_WORD = re.compile(r"\w+", re.UNICODE)
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'’.-]*(?:[ ,]+(?:(?:of|the|de|von|van|in|a|to) )*[A-Z0-9(][\w'’.)-]*)*")
_MASK = "_name_"
_FILE_BYTES = 64 << 20
_MOST_INDEXES = 100
_OPERATOR = re.compile(r"= ?([A-Z][a-z]+)\(|(\n)")
# Quality of an example: exp(SHARPNESS · relevance). Larger values favour relevance over diversity.
_SHARPNESS = 3.0
_SHAPE_SHARE = 0.7
# Kinds of questions, each with its menu of examples: few, so that the prefix cache can keep what was read of each.
_KINDS = 12
_ARTICLES = frozenset({"a", "an", "the"})
_Vector = dict[str, float]


@dataclass(frozen=True)
class Example:
    """A question and its plan in compact notation.

    Attributes:
        indexes: names of the indexes that either may quote; None if that is not known.
    """

    question: str
    plan: str
    indexes: tuple[str, ...] | None = ()

    def may_quote(self, indexes: Collection[str]) -> bool:
        """Whether its words may come from one of these indexes."""
        return bool(indexes) if self.indexes is None else not set(self.indexes).isdisjoint(indexes)

    @cached_property
    def terms(self) -> Counter[str]:
        return shape_terms(self.question)

    @cached_property
    def operators(self) -> Counter[str]:
        """Counts of the plan's operators, of their pairs in order, and of its lines."""
        sequence = [match[1] or "line" for match in _OPERATOR.finditer(self.plan)]
        return Counter(sequence) + Counter(f"{a} {b}" for a, b in pairwise(sequence))


def _characters(example: Example) -> int:
    return len(example.question) + len(example.plan)


def shape_terms(question: str) -> Counter[str]:
    """The terms of the question's shape, each once: words and word pairs with names masked, the first word, and the
    number of names, at most three."""
    words = [word.lower() for word in _WORD.findall(_NAME.sub(_MASK, question))]
    opening = [f"^ {word}" for word in words[:1]]
    names = f"names: {min(words.count(_MASK), 3)}"
    return Counter({*words, *(f"{a} {b}" for a, b in pairwise(words)), *opening, names})


def check_example(question: str, plan: str, indexes: Iterable[str] | None = ()) -> Example:
    """The example, if the program can run its plan.

    Args:
        indexes: those that question and plan may quote; None if that is not known.

    Raises:
        InputError: the question is empty, or the plan cannot be read or breaks a rule.
    """
    question = " ".join(question.split())
    if not question:
        raise InputError("the example has no question")
    try:
        f"{question}{plan}".encode()
    except UnicodeEncodeError as error:
        raise InputError("the example holds bytes that are not text in UTF-8") from error
    try:
        problems = validate(parse_compact(plan, question), Limits())
    except TreeError as error:
        raise InputError(f"the plan of {question!r} cannot be read: {error}") from error
    if problems:
        raise InputError(f"the plan of {question!r} is not valid: {problems[0].message}")
    return Example(question, plan.strip("\n"), None if indexes is None else tuple(sorted(set(indexes))))


def question_key(question: str) -> str:
    """What the wordings of one question share: its words in order, without case, accents, punctuation and articles."""
    return " ".join(word for word in name_key(question).split() if word not in _ARTICLES)


def read_examples(path: Path) -> tuple[list[Example], list[str]]:
    """The user's examples, and the problems of the lines that hold none; both are empty if there is no file.

    Raises:
        InputError: the file cannot be read.
    """
    return _kept(path).items()


def _kept(path: Path) -> KeptLines[Example]:
    return KeptLines(path, read_example, _FILE_BYTES)


@lru_cache(1024)  # the user's file is read for each question
def read_example(line: str) -> Example:
    """The example on a line of the user's file.

    Raises:
        InputError: the line holds no example that the program can run.
    """
    try:
        data = json.loads(line)
        question, plan, indexes = data["question"], data["plan"], data.get("indexes")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("not an object with a question and a plan") from error
    if not isinstance(question, str) or not isinstance(plan, str):
        raise InputError("its question or its plan is not text")
    if indexes is not None and not _are_names(indexes):
        raise InputError(f"its indexes are not a list of at most {_MOST_INDEXES} names")
    return check_example(question, plan, indexes)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_INDEXES and all(isinstance(name, str) for name in value)


def keep_example(path: Path, example: Example) -> None:
    """Add the example to the user's file, replacing one with the same question.

    Raises:
        InputError: the file cannot be read or written.
    """
    _kept(path).change(lambda one: one.question == example.question, lambda lines: [*lines, example_line(example)])


def drop_example(path: Path, question: str) -> None:
    """Remove the example with this question from the user's file.

    Raises:
        InputError: the file cannot be read or written.
    """
    _kept(path).change(lambda one: one.question == question)


def example_line(example: Example) -> str:
    """The example as a line of the file."""
    return json.dumps(asdict(example), ensure_ascii=False)


class ExampleLibrary:
    """Worked examples to show to the planner, and plans of the user's own to take as they are."""

    def __init__(
        self, examples: Iterable[Example], own: Iterable[Example] = (), withheld: Iterable[Example] = ()
    ) -> None:
        """Make the library.

        Args:
            own: those of the examples that the user has kept.
            withheld: others that the user has kept, and that may not be used now; see :meth:`withholds`.
        """
        self._examples = tuple(examples)
        self._withheld = {question_key(example.question) for example in withheld}
        self._own = {question_key(example.question): example for example in own}
        self._menus: dict[tuple[int, int, int], tuple[Example, ...]] = {}

    @classmethod
    def shipped(cls) -> ExampleLibrary:
        """The examples that come with the program."""
        return cls(_shipped())

    @classmethod
    def load(cls, path: Path, withheld: Collection[str] = ()) -> ExampleLibrary:
        """The shipped examples and the user's, which replace shipped ones with the same question.

        Lines of the file that hold no example are skipped; `atomr examples list` reports them.

        Args:
            withheld: indexes that nothing may be quoted of; the user's examples that may quote one are left out.

        Raises:
            InputError: the file cannot be read.
        """
        kept, _ = read_examples(path)
        own = [example for example in kept if not example.may_quote(withheld)]
        hidden = [example for example in kept if example.may_quote(withheld)]
        return cls({example.question: example for example in (*_shipped(), *own)}.values(), own, hidden)

    def withholds(self, question: str) -> bool:
        """Whether the user has kept a plan for this very question that may not be used now."""
        return question_key(question) in self._withheld

    @cached_property
    def shapes(self) -> Shapes:
        return _shapes(self._examples)

    def kept(self, question: str) -> Example | None:
        """The user's own example for this very question, in these or nearly these words."""
        return self._own.get(question_key(question))

    def __len__(self) -> int:
        return len(self._examples)

    def select(
        self, question: str, count: int, *, budget: int | None = None, measure: Callable[[Example], int] = _characters
    ) -> tuple[Example, ...]:
        """At most `count` examples for the question, the most relevant last, next to the question.

        Args:
            budget: the total size of the chosen examples, in the unit of `measure`; None: no limit. An example that
                does not fit is skipped for the next best.
            measure: returns the size of an example, by default in characters; called for candidates only.
        """
        quality = [math.exp(_SHARPNESS * value) for value in self.shapes.relevance(question)]
        left = budget

        def take(index: int) -> bool:
            nonlocal left
            if left is None:
                return True
            cost = measure(self._examples[index])
            if cost > left:
                return False
            left -= cost
            return True

        chosen = self.shapes.greedy(quality, count, take)
        return tuple(self._examples[i] for i in sorted(chosen, key=lambda i: (quality[i], -i)))

    def menu(
        self, question: str, count: int, *, budget: int, measure: Callable[[Example], int] = _characters
    ) -> tuple[Example, ...]:
        """At most `count` examples for the question's kind; similar questions get exactly the same ones.

        That way the prefix cache can keep them. Each of the most diverse examples of the library stands for a kind. A
        question belongs to the most similar one, and its menu is what `select` chooses for that example.
        """
        if not self._examples:
            return ()
        relevance = self.shapes.relevance(question)
        kind = max(self.shapes.kinds, key=lambda i: (relevance[i], -i))
        if (kind, count, budget) not in self._menus:
            chosen = self.select(self._examples[kind].question, count, budget=budget, measure=measure)
            self._menus[kind, count, budget] = chosen
        return self._menus[kind, count, budget]


class Shapes:
    """What follows from the examples alone: how similar they are to a question and to each other."""

    def __init__(self, examples: tuple[Example, ...]) -> None:
        frequency = Counter(term for example in examples for term in example.terms)
        total = len(examples)
        self._weights = {term: math.log(1 + total / count) for term, count in frequency.items()}
        # Question shape and operator sequence of each example.
        self._vectors = tuple((self._vector(example.terms), _unit(example.operators)) for example in examples)

    def relevance(self, question: str) -> list[float]:
        """The similarity of the question's shape to that of each example."""
        asked = self._vector(shape_terms(question))
        return [_dot(asked, vector) for vector, _ in self._vectors]

    @cached_property
    def kinds(self) -> list[int]:
        """The most diverse examples, by index."""
        return self.greedy([1.0] * len(self._vectors), _KINDS)

    def greedy(
        self, quality: Sequence[float], count: int, take: Callable[[int], bool] = lambda _index: True
    ) -> list[int]:
        """Indices that greedily maximise det(L) for L[i, j] = quality[i] · similarity[i, j] · quality[j].

        Args:
            take: called with the best index of each step; returns False to skip it.
        """
        squares = [value * value for value in quality]
        return greedy(squares, lambda i, j: quality[i] * self.similarity(i, j) * quality[j], count, take)

    def similarity(self, one: int, other: int) -> float:
        """Of two examples, by index; 1 for the same."""
        (shape, operators), (other_shape, other_operators) = self._vectors[one], self._vectors[other]
        return _SHAPE_SHARE * _dot(shape, other_shape) + (1 - _SHAPE_SHARE) * _dot(operators, other_operators)

    def _vector(self, terms: Counter[str]) -> _Vector:
        return _unit({term: count * self._weights[term] for term, count in terms.items() if term in self._weights})


@lru_cache(4)  # a library is made for each question, nearly always of the same examples
def _shapes(examples: tuple[Example, ...]) -> Shapes:
    return Shapes(examples)


def _unit(weights: Mapping[str, float]) -> _Vector:
    """The vector scaled to length 1; a zero vector as it is."""
    norm = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / norm for term, weight in weights.items()}


def _dot(a: _Vector, b: _Vector) -> float:
    if len(b) < len(a):
        a, b = b, a
    return sum(weight * b[term] for term, weight in a.items() if term in b)


@lru_cache(1)
def _shipped() -> tuple[Example, ...]:
    text = files("atomr_local.reasoning.planning").joinpath("examples.jsonl").read_text(encoding="utf-8")
    return tuple(Example(**json.loads(line)) for line in text.splitlines() if line.strip())
