"""The expected type of answer, from the words of a question, in under a millisecond.

A small linear model over word n-grams, learnt by `scripts/train_answer_types.py` from questions of many sets and
wordings, written for this project, of what people type ("can you tell me …", "… author", "name the …").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from atomr_local.language.linear import shipped

# At this probability an expectation may narrow what is read.
SURE = 0.9
_COUNTRY = "country"
_MOST_CHARACTERS = 600
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[?:,;-]")
# How many words behind each question word are looked at together with it.
_REACH = 4
_ASKING = frozenset(
    ["who", "whom", "whose", "what", "which", "when", "where", "why", "how", "name", "list", "is", "was", "of"]
)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a question asks for.

    Attributes:
        type: as in plans: person, place, organisation, work, event, date, year, number, quantity, yes/no, phrase,
            summary, thing.
        several: whether more than one answer is asked for.
        probability: of the type, 0 to 1.
        by_type: the probability of each type.
        country: probability that a country or a nationality is asked for; part of that of a place.
    """

    type: str
    several: bool
    probability: float
    country: float = 0.0
    by_type: Mapping[str, float] = field(default_factory=dict, compare=False)

    def surely(self, *types: str) -> bool:
        """Whether it is one of the types for sure; which of them may be open."""
        return self.type in types and sum(self.by_type.get(kind, 0.0) for kind in types) >= SURE


@lru_cache(maxsize=512)
def expected_type(question: str) -> Expected:
    """The most likely type of the question's answer; the probability tells how likely."""
    if not any(map(str.isalpha, question)):
        return Expected("thing", False, 0.0)
    looked_at = list(features(question[:_MOST_CHARACTERS]))
    found = shipped("en/answer_types").probabilities(looked_at)
    country = found.pop(_COUNTRY, 0.0)
    found["place"] = found.get("place", 0.0) + country
    best = max(found, key=lambda name: found[name])
    several = shipped("en/several_answers").probabilities(looked_at)["several"]
    return Expected(best, several >= 0.5, found[best], country, found)


def features(question: str) -> Iterator[str]:
    """What the model looks at: words, pairs and triples of them, how the question opens and ends, and what follows a
    question word. Digits are all alike.
    """
    tokens = [_plain(token) for token in _TOKEN.findall(question)]
    words = [token for token in tokens if token[0].isalnum()]
    yield f"words:{min(len(words), 6)}"
    yield "mark" if tokens[-1:] == ["?"] else "no mark"
    if words and not any(word in _ASKING for word in words):
        yield "nothing asks"
    if "or" in words[1:]:
        yield "or"
        yield f"{words[0]} … or"
    framed = ["^", *tokens, "$"]
    for size in (1, 2, 3):
        for at in range(len(framed) - size + 1):
            yield " ".join(framed[at : at + size])
    for at, word in enumerate(words):
        if word in _ASKING:
            for further in range(2, _REACH + 1):
                if at + further < len(words):
                    yield f"{word} … {words[at + further]}"


def _plain(token: str) -> str:
    return "0" * min(len(token), 4) if token.isdigit() else token.casefold().replace("’", "'")
