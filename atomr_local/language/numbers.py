"""Numbers and months as words, from `en/numbers.json`: the one place that knows them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class NumberWords:
    """English words of numbers, in small letters.

    Attributes:
        numbers: "seven" → 7, up to ninety.
        scales: "hundred" → 100, "million" → 1,000,000.
        amounts: words that a count may open with and that are no number by themselves ("several", "dozen").
        ordinals: "third" → 3.
        months: names and abbreviations → 1 to 12.
    """

    numbers: dict[str, int]
    scales: dict[str, int]
    amounts: frozenset[str]
    ordinals: dict[str, int]
    months: dict[str, int]

    def opens_number(self, word: str) -> bool:
        """Whether a number may begin with the word: digits, or a word such as "seven", "twenty-one" or "several"."""
        bare = word.strip("\"'([{,.;:!?)]}").casefold()
        if any(character.isdigit() for character in bare):
            return True
        first = bare.split("-", 1)[0]
        return first in self.numbers or first in self.scales or first in self.amounts


@cache
def number_words() -> NumberWords:
    """The shipped words, read once."""
    text = files("atomr_local.language").joinpath("en/numbers.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return NumberWords(data["numbers"], data["scales"], frozenset(data["amounts"]), data["ordinals"], data["months"])
