"""The sentences of an English chain of thought: which of them only conclude, and which give the answer."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

_ARITHMETIC = re.compile(r"\d[\d.,]*\s*[-+*/×÷−–]\s*\d[\d.,]*\s*=\s*-?\d")


@cache
def _words(name: str) -> tuple[str, ...]:
    text = files("atomr_local.language").joinpath("en", "chains.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)[name])


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{'|'.join(_words('conclude'))})\b(?! far)", re.IGNORECASE)


def only_concludes(sentence: str) -> bool:
    """Whether the sentence draws a conclusion or calculates, and so tells nothing that could be looked up."""
    return _opening().match(sentence) is not None or _ARITHMETIC.search(sentence) is not None


def gives_answer(sentence: str) -> bool:
    """Whether the sentence says what the answer is."""
    told = sentence.casefold()
    return any(mark in told for mark in _words("answer"))


def search_words(text: str) -> str:
    """The text without words that only ask."""
    asking = frozenset(_words("ask"))
    return " ".join(word for word in text.split() if word.strip("\"'“”‘’.,;:!?()").casefold() not in asking)
