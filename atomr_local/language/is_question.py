"""Whether a text is an English question that can be looked up.

A small linear model over letters and words, learnt by `scripts/train_is_question.py` from English questions and names
against sentences of other languages, greetings and keyboard noise. It refuses only where it is sure: a name from
anywhere, a foreign title, a misspelt or a mixed question is taken as a question.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from atomr_local.language.linear import shipped

Kind = Literal["question", "nothing", "language"]

_MOST_CHARACTERS = 400
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LONGEST_GRAM = 4
# "Goethe's": whoever writes so asks in English, whatever else is in the question.
_POSSESSIVE = re.compile(r"[^\W\d_]{3,}['’]s\b")
_EDGES = " .!?,;:¿¡"
_TITLE = re.compile(r",\s+[A-ZÀ-Þ]")
_BREAK = re.compile(r"[.!?,;:¿¡]+(?:\s|$)|\s[-–—]\s")
# Scripts that write no spaces between words.
_UNSPACED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"})


def understands(text: str) -> tuple[Kind, float]:
    """What the text is, and how sure that is, 0 to 1.

    Returns:
        "nothing": no question and no topic (a greeting, letters without sense); "language": a sentence in another
        language than English; else "question". The first two only where the model is as sure as its file demands.
    """
    shown = text.strip()[:_MOST_CHARACTERS]
    if not any(character.isalnum() for character in shown):
        return "nothing", 1.0
    if not any(character.isalpha() for character in shown):
        return "question", 1.0  # a year, a number
    if _is_small_talk(shown.replace("’", "'")):
        return "nothing", 1.0
    model = shipped("en/is_question")
    found = model.probabilities(features(shown, model.pieces))
    kind = max(found, key=lambda name: found[name])
    if kind == "nothing" and found[kind] >= model.options["least"]["nothing"]:
        return "nothing", found[kind]
    foreign = found["language"] >= model.options["least"]["language"] and not _POSSESSIVE.search(shown)
    if kind == "language" and foreign:
        return "language", found[kind]
    return "question", max(found["question"], 1 - found[kind])


def _is_small_talk(text: str) -> bool:
    """Whether the text is known small talk, as a whole or in each of its parts ("Hello there, how are you?").

    A capital behind a comma makes a title of it: "Hello, Goodbye".
    """
    known = small_talk()
    if " ".join(text.casefold().strip(_EDGES).split()) in known:
        return True
    parts = [" ".join(part.strip(_EDGES).split()) for part in _BREAK.split(text.casefold())]
    return not _TITLE.search(text) and all(part in known for part in parts if part)


@cache
def small_talk() -> frozenset[str]:
    """Greetings and the like, in small letters."""
    text = files("atomr_local.language").joinpath("en/small_talk.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def features(text: str, common: frozenset[str]) -> Iterator[str]:
    """What the model looks at: the words, pieces of up to four letters, the script, and what surrounds them.

    Args:
        common: pieces of three letters that real words have, of any language.
    """
    words = _WORD.findall(text)
    yield f"words:{min(len(words), 6)}"
    yield "mark" if text.rstrip().endswith(("?", "？", "؟")) else "no mark"
    if any(character.isdigit() for character in text):
        yield "digits"
    lower = [word for word in words if word[0].islower()]
    if words and len(lower) == len(words):
        yield "lower case"
    if len(words) > 1 and not lower:
        yield "capitals"
    yield from _scripts(words)
    strange = [0.0]
    for place, word in enumerate(words):
        bare = word.casefold().replace("’", "'")
        if _script(bare[0]) != "LATIN":
            yield f"={bare}"
            continue
        threes = pieces(bare, 3)
        strange.append(sum(piece not in common for piece in threes) / max(len(threes), 4))
        if place and lower and not word[0].islower():
            continue  # inside a sentence a capital opens a name, which may be of any language
        yield f"={bare}"
        for size in range(2, _LONGEST_GRAM + 1):
            yield from pieces(bare, size)
    yield f"strangest:{round(max(strange) * 5)}"
    yield f"strange:{round(sum(strange) / max(len(words), 1) * 5)}"
    for one, two in itertools.pairwise(words):
        if one[0].islower() and two[0].islower():
            yield f"={one.casefold()} {two.casefold()}"


def pieces(word: str, size: int) -> list[str]:
    """The runs of `size` letters of a word, its ends marked by "_"."""
    framed = f"_{word[:30]}_"
    return [framed[at : at + size] for at in range(len(framed) - size + 1)]


def _scripts(words: list[str]) -> Iterator[str]:
    letters: dict[str, int] = {}
    pieces: dict[str, int] = {}
    for word in words:
        script = _script(word[0])
        pieces[script] = pieces.get(script, 0) + 1
        letters[script] = letters.get(script, 0) + len(word)
    for script, count in pieces.items():
        long = letters[script] > 6 if script in _UNSPACED else count > 2
        if script != "LATIN":
            yield "other script"
            yield f"script:{script}"
            yield f"other script:{'long' if long else 'short'}"


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    """The first word of the character's Unicode name, which is its script: LATIN, CYRILLIC, CJK."""
    return unicodedata.name(character, "UNKNOWN").split(" ", 1)[0].split("-", 1)[0]
