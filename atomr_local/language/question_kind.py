"""The kind of question that a text is, and the kind of answer that it expects."""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from atomr_local.language.words import english

# What a question for a definition asks about: "Who was Marie Curie?", "What is a black hole?".
#
# Retrieval evaluations call these definition questions (TREC 2003 question answering track). Their answer describes
# what they name, so they need no steps.

# "What is …": what opens the question, its verb, and what that is said of.
COPULAR = re.compile(r"(?P<asks>who|what|which)(?:['’]?s|\s+(?P<verb>is|are|was|were))\s+(?P<rest>\S.*)", re.IGNORECASE)
_MEANS = re.compile(r"(?P<asks>what)\s+(?P<verb>does|do)\s+(?P<rest>\S.*?)\s+mean", re.IGNORECASE)
# "Define osmosis", "Frida Kahlo, who is she?": the same without its usual form.
_DEFINE = re.compile(
    r"(?:(?P<asks>define|explain|(?:the )?(?:definition|meaning) of|tell me about|teach me about|"
    r"i(?:['’]d| would)? (?:want|like) to (?:learn|know|hear) about)\s+(?P<rest>\S.*)"
    r"|(?P<named>\S.*?),? (?:who|what) (?:is|was|are|were) (?:she|he|it|that|they|this))",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r",? (?:in (?:simple|plain|easy|other|a few) (?:words|terms|language|english)|please|pls)$", re.IGNORECASE
)
_ARTICLE = re.compile(r"(?:an?|(?P<the>the))\s+(?=\S)", re.IGNORECASE)
_EDGES = " \t?!.\"“”'‘’"
_MOST_CHARACTERS = 100


def defined_topic(question: str) -> str:
    """The name that the question wants described; "" if it asks for anything else.

    "Who is the president?" asks for a name, and "What is the capital of France?" for a value: descriptions of others.
    A function word may only stand inside a name, which capitals show ("Joan of Arc").
    """
    asked = _MANNER.sub("", question.strip(_EDGES)).strip(_EDGES)
    if len(asked) > _MOST_CHARACTERS:
        return ""
    if found := _DEFINE.fullmatch(asked):
        asks, verb, rest = "define", "", found["rest"] or found["named"]
    elif found := COPULAR.fullmatch(asked) or _MEANS.fullmatch(asked):
        asks, verb, rest = found["asks"].casefold(), (found["verb"] or "is").casefold(), found["rest"]
    else:
        return ""
    article = None if found.re is _MEANS else _ARTICLE.match(rest)
    topic = rest[article.end() if article else 0 :].strip(_EDGES)
    parts = topic.split()
    said = [part for part in parts if part.casefold() not in english().stop]
    if not said:
        return ""  # "Who is he?"
    is_name = all(part[:1].isupper() for part in said)
    by_office = asks == "who" and verb in ("is", "was") and article is not None and article["the"] is not None
    return topic if (is_name or said == parts) and asks != "which" and not by_office else ""


# A linear classifier over named features, read from a JSON file: no library, no network, loaded in milliseconds.


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Multinomial logistic regression: P(class) = softmax(bias + Σ weight / √number of features).

    Attributes:
        weights: of each feature, hundredths for each class; a feature that is not here says nothing.
        options: what else the file holds (thresholds).
        pieces: common pieces of words, where the model uses them.
    """

    classes: tuple[str, ...]
    bias: tuple[float, ...]
    weights: Mapping[str, Sequence[int]]
    options: Mapping[str, Any]
    pieces: frozenset[str] = frozenset()

    def probabilities(self, features: Iterable[str]) -> dict[str, float]:
        """The probability of each class. Each feature counts once."""
        present = set(features)
        scores = list(self.bias)
        scale = 0.01 / math.sqrt(max(len(present), 1))
        for feature in sorted(present):  # sums in one order are the same sums everywhere
            for place, weight in enumerate(self.weights.get(feature, ())):
                scores[place] += weight * scale
        highest = max(scores)
        parts = [math.exp(score - highest) for score in scores]
        total = sum(parts)
        return {name: part / total for name, part in zip(self.classes, parts, strict=True)}


def from_json(data: Mapping[str, Any]) -> LinearModel:
    """A model in a file of `scripts/training/models/linear.py`; zeros at the end of weights are left out there."""
    return LinearModel(
        tuple(data["classes"]),
        tuple(data["bias"]),
        data["weights"],
        data.get("options", {}),
        frozenset(data.get("pieces", "").split()),
    )


@cache
def shipped(name: str) -> LinearModel:
    """The model `name` of this package ("en/is_question"), read once."""
    return from_json(json.loads(files("atomr_local.language").joinpath(f"{name}.json").read_text(encoding="utf-8")))


# Whether a text is an English question that can be looked up.
#
# A small linear model over letters and words, learnt by `scripts/train_is_question.py` from English questions and names
# against sentences of other languages, greetings and keyboard noise. It refuses only where it is sure: a name from
# anywhere, a foreign title, a misspelt or a mixed question is taken as a question.

Kind = Literal["question", "nothing", "language"]

_LONGEST_QUESTION = 400
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LONGEST_GRAM = 4
# "Goethe's": whoever writes so asks in English, whatever else is in the question.
_POSSESSIVE = re.compile(r"[^\W\d_]{3,}['’]s\b")
_QUESTION_EDGES = " .!?,;:¿¡"
_TITLE = re.compile(r",\s+[A-ZÀ-Þ]")
_BREAK = re.compile(r"[.!?,;:¿¡]+(?:\s|$)|\s[-–—]\s")
# Scripts that write no spaces between words.
_UNSPACED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"})


def understands(text: str) -> tuple[Kind, float]:
    """The kind of the text, and its probability, 0 to 1.

    Returns:
        "nothing": no question and no topic (a greeting, letters without sense); "language": a sentence in another
        language than English; else "question". The first two only where the model is as sure as its file demands.
    """
    shown = text.strip()[:_LONGEST_QUESTION]
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


def leaning(text: str) -> Kind:
    """The likeliest kind, however unsure."""
    kind, _ = understands(text)
    shown = text.strip()[:_LONGEST_QUESTION]
    if kind != "question" or not any(map(str.isalpha, shown)) or _POSSESSIVE.search(shown):
        return kind
    model = shipped("en/is_question")
    found = model.probabilities(features(shown, model.pieces))
    kinds: tuple[Kind, ...] = ("question", "nothing", "language")
    return max(kinds, key=lambda name: found[name])


def _is_small_talk(text: str) -> bool:
    """Whether the text is known small talk, as a whole or in each of its parts ("Hello there, how are you?").

    A capital behind a comma makes a title of it: "Hello, Goodbye".
    """
    known = small_talk()
    if " ".join(text.casefold().strip(_QUESTION_EDGES).split()) in known:
        return True
    parts = [" ".join(part.strip(_QUESTION_EDGES).split()) for part in _BREAK.split(text.casefold())]
    return not _TITLE.search(text) and all(part in known for part in parts if part)


@cache
def small_talk() -> frozenset[str]:
    """Greetings and the like, in small letters."""
    text = files("atomr_local.language").joinpath("en/small_talk.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def features(text: str, common: frozenset[str]) -> Iterator[str]:
    """Features for the model: the words, pieces of up to four letters, the script, and what surrounds them.

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


# The expected type of answer, from the words of a question, in under a millisecond.
#
# A small linear model over word n-grams, learnt by `scripts/train_answer_types.py` from questions of many sets and
# wordings, written for this project, of what people type ("can you tell me …", "… author", "name the …").

# At this probability an expectation may narrow what is read.
SURE = 0.9
_COUNTRY = "country"
_LONGEST_TYPED = 600
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[?:,;-]")
# How many words behind each question word are looked at together with it.
_REACH = 4
_ASKING = frozenset(
    ["who", "whom", "whose", "what", "which", "when", "where", "why", "how", "name", "list", "is", "was", "of"]
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected answer of a question.

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
    looked_at = list(answer_type_features(question[:_LONGEST_TYPED]))
    found = shipped("en/answer_types").probabilities(looked_at)
    country = found.pop(_COUNTRY, 0.0)
    found["place"] = found.get("place", 0.0) + country
    best = max(found, key=lambda name: found[name])
    several = shipped("en/several_answers").probabilities(looked_at)["several"]
    return Expected(best, several >= 0.5, found[best], country, found)


def answer_type_features(question: str) -> Iterator[str]:
    """Features for the model: words, pairs and triples of them, how the question opens and ends, and what follows a
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
