"""Words of conditions ("at least", "directed by …"), from `en/conditions.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class ConditionWords:
    """Words and phrases in small letters; what each list is for is said in the file.

    Attributes:
        comparisons: by sign, one of ≥ ≤ > < =.
    """

    comparisons: dict[str, tuple[str, ...]]
    or_more: tuple[str, ...]
    or_less: tuple[str, ...]
    measures: dict[str, str]
    of_time: tuple[str, ...]
    people: tuple[str, ...]
    pronouns: tuple[str, ...]
    auxiliaries: tuple[str, ...]
    superlatives: tuple[str, ...]
    prepositions: tuple[str, ...]
    participles: tuple[str, ...]
    choice: tuple[str, ...]
    into_unit: tuple[str, ...]
    having: tuple[str, ...]


@cache
def condition_words() -> ConditionWords:
    """The shipped words, read once."""
    data = json.loads(files("atomr_local.language").joinpath("en/conditions.json").read_text(encoding="utf-8"))
    lists = {name: tuple(words) for name, words in data.items() if isinstance(words, list)}
    comparisons = {sign: tuple(words) for sign, words in data["comparisons"].items()}
    return ConditionWords(comparisons=comparisons, measures=data["measures"], **lists)


def any_of(phrases: Iterable[str]) -> str:
    """A regular expression for one of the phrases, the longest first."""
    return "(?:" + "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda text: (-len(text), text))) + ")"
