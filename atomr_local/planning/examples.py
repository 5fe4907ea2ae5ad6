"""The library of worked plans, and the choice of a few of them for a question.

Similarity is the cosine of TF-IDF vectors over word unigrams and bigrams of the question's shape, names masked:
what matters for a plan is "Who is the father of the director of NAME?", not the name. The choice trades
relevance for diversity by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import pairwise

_WORD = re.compile(r"\w+", re.UNICODE)
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'’.-]*(?:[ ,]+(?:(?:of|the|and|de|von|van|in|a|to) )*[A-Z0-9(][\w'’.)-]*)*")
_DIVERSITY = 0.3


@dataclass(frozen=True)
class Example:
    """A question and its plan in compact notation."""

    question: str
    plan: str

    @cached_property
    def terms(self) -> Counter[str]:
        return shape_terms(self.question)


def shape_terms(question: str) -> Counter[str]:
    """Counts of word unigrams and bigrams of the question with its names masked."""
    words = [word.lower() for word in _WORD.findall(_NAME.sub("_name_", question))]
    return Counter(words) + Counter(f"{a} {b}" for a, b in pairwise(words))


class ExampleLibrary:
    def __init__(self, examples: Iterable[Example]) -> None:
        self._examples = tuple(examples)
        frequency = Counter(term for example in self._examples for term in example.terms)
        total = len(self._examples)
        self._weights = {term: math.log(1 + total / count) for term, count in frequency.items()}

    @classmethod
    def shipped(cls) -> ExampleLibrary:
        """The examples that come with the program."""
        text = files("atomr_local.planning").joinpath("examples.jsonl").read_text(encoding="utf-8")
        return cls(Example(**json.loads(line)) for line in text.splitlines() if line.strip())

    def __len__(self) -> int:
        return len(self._examples)

    def select(self, question: str, count: int) -> tuple[Example, ...]:
        """At most `count` examples for the question, the most relevant last, next to the question."""
        asked = shape_terms(question)
        relevance = [self._cosine(asked, example.terms) for example in self._examples]
        chosen: list[int] = []
        while len(chosen) < min(count, len(self._examples)):
            best = max(
                (i for i in range(len(self._examples)) if i not in chosen),
                key=lambda i: (self._marginal(i, relevance, chosen), -i),
            )
            chosen.append(best)
        return tuple(self._examples[i] for i in reversed(chosen))

    def _marginal(self, candidate: int, relevance: Sequence[float], chosen: Sequence[int]) -> float:
        terms = self._examples[candidate].terms
        redundancy = max((self._cosine(terms, self._examples[i].terms) for i in chosen), default=0.0)
        return (1 - _DIVERSITY) * relevance[candidate] - _DIVERSITY * redundancy

    def _cosine(self, a: Counter[str], b: Counter[str]) -> float:
        weight = self._weights
        dot = sum(a[term] * b[term] * weight.get(term, 0.0) ** 2 for term in a.keys() & b.keys())
        norm = math.sqrt(self._norm(a) * self._norm(b))
        return dot / norm if norm else 0.0

    def _norm(self, terms: Counter[str]) -> float:
        return sum((count * self._weights.get(term, 0.0)) ** 2 for term, count in terms.items())
