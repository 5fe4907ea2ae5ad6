"""From a question as it is meant to one as it is typed: politeness, commands, fragments, small letters, slips."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any

from training.natural_questions.plans import is_name_mark
from training.natural_questions.tables import read

_WORD = re.compile(r"[A-Za-z]+")
_KEYS = "qwertyuiop asdfghjkl zxcvbnm"


@cache
def _table() -> dict[str, Any]:
    return read("surface")


def typed(style: str, text: str, clause: str, rng: random.Random) -> tuple[str, str]:
    """One way to put it, names still marked, and the template that it was made by.

    Args:
        style: a key of `surface.toml`.
        text: the question, noun phrase or name.
        clause: the indirect clause of a question, what is asked of a topic; "" where there is none.
    """
    if style == "question" and clause and rng.random() < 0.36:
        style = "indirect"
    template = rng.choice(_table()[style])
    if template.startswith("Name "):
        text = text.removeprefix("the name of ")
    bare = text.removeprefix("the ") if style in ("phrase", "list") else text
    order = _small(text.rstrip("."))
    pieces = {
        "q": text, "l": _small(text), "i": clause, "n": text, "f": bare, "F": _large(bare), "x": text, "t": clause,
        "T": _large(clause), "k": order,
    }  # fmt: skip
    if template.endswith((", please", " Please.", " Thanks.")):
        pieces["q"] = text.rstrip(".") if template.endswith(", please") else text
    made = template.format(**pieces)
    return made.replace(".?", "?").replace("??", "?").replace("..", "." if "..." not in made else ".."), template


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _large(text: str) -> str:
    return text[:1].upper() + text[1:]


def styled(text: str, rng: random.Random) -> tuple[str, bool]:
    """The text with the case and the marks of the hurried, and whether its names are to be small too."""
    chance = rng.random()
    if chance < 0.47:
        return _large(text), False
    if chance < 0.72:
        return text.lower().rstrip("?.! "), True
    if chance < 0.80:
        return text.lower(), True
    if chance < 0.91:
        return text.rstrip("?."), False
    if chance < 0.96:
        return _small(text), False
    return text.rstrip("?.") + rng.choice(("??", " ?", "?!", " ???")), False


def with_slips(text: str, rng: random.Random) -> str:
    """The text with one or two common words misspelt; names stay marked."""
    table = _table()["typos"]
    words = [match for match in _WORD.finditer(text) if match[0].lower() in table]
    for match in sorted(rng.sample(words, min(len(words), rng.choice((1, 1, 2)))), key=lambda m: -m.start()):
        wrong = rng.choice(table[match[0].lower()])
        wrong = _large(wrong) if match[0][0].isupper() else wrong
        text = text[: match.start()] + wrong + text[match.end() :]
    return text


def misspelt(name: str, rng: random.Random) -> str:
    """The name with one slip inside a longer word, its first letter kept; as it is where no word is long enough."""
    words = name.split(" ")
    long = [i for i, word in enumerate(words) if len(word) > 5 and word.isalpha()]
    if not long:
        return name
    index = rng.choice(long)
    word = words[index]
    place = rng.randrange(1, len(word) - 2)
    match rng.randrange(4):
        case 0:
            word = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        case 1:
            word = word[:place] + word[place + 1 :]
        case 2:
            word = word[:place] + word[place] + word[place:]
        case _:
            row = next((row for row in _KEYS.split() if word[place] in row), "")
            near = [row[i] for i in (row.find(word[place]) - 1, row.find(word[place]) + 1) if row and 0 <= i < len(row)]
            word = word[:place] + (rng.choice(near) if near else word[place]) + word[place + 1 :]
    words[index] = word
    return " ".join(words)


def plain_letters(name: str) -> str:
    """The name as typed on a keyboard without accents; as it is where that is not simple."""
    table = str.maketrans(
        "áàâäãåçéèêëíìîïñóòôöõøúùûüýÿłśžšćčřěąęńőűŁÉÁÖÜØ", "aaaaaaceeeeiiiinoooooouuuuyylszsccreaenouLEAOUO"
    )
    return name.translate(table)


def name_in_plan(proper: str, shown: str) -> str:
    """The name as a plan may write it: each word as typed, or with a capital where the name has one."""
    pairs = zip(proper.split(" "), shown.split(" "), strict=True)
    return " ".join(_large(word) if model[:1].isupper() else word for model, word in pairs)


def filled(text: str, names: list[str]) -> str:
    """The text with its name marks replaced."""
    return "".join(names[ord(one) - 0xE000] if is_name_mark(one) else one for one in text)
