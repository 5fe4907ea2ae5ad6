"""Normal forms of names, so that two spellings match: case, accents, punctuation, qualifiers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby

from atomr_local.language.marks import KeyCharacters, without_joiners
from atomr_local.language.scripts import gathered, spread, terms

# Raised when keys change, by indexes that hold keys.
KEYS = 1
# Letters that compatibility decomposition leaves whole although readers take them for a base letter.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d", "ħ": "h"})
_APOSTROPHES = re.compile(r"['’‘ʼʻ`´]")
# Soft hyphens, marks of direction and the like: a screen does not show them, and who types the name leaves them out.
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_NOT_WORD = re.compile(r"[\W_]+")
# "U.S." and "US", "J. R. R." and "J.R.R." are the same initials.
_INITIALS = re.compile(r"\b[^\W\d_](?: [^\W\d_]\b)+")
_QUALIFIER = re.compile(r"^(?P<name>.*\S)\s*\((?P<qualifier>[^()]+)\)\s*$", re.DOTALL)
_ARTICLE = re.compile(r"^(?:the|an?) (?=\S)")
_CHARACTERS = KeyCharacters(_LETTERS)


def name_key(text: str) -> str:
    """`text` casefolded, accents stripped, punctuation as single spaces; never empty for a text with a mark in it.

    Marks that are part of a letter stay (:mod:`atomr_local.language.marks`).
    """
    bare = text.casefold()
    if bare.isascii():
        return _plain_key(bare) or " ".join(bare.split())
    folded = without_joiners(_INVISIBLE.sub("", unicodedata.normalize("NFKD", bare)))
    key = _APOSTROPHES.sub("", folded).replace("&", " and ").translate(_CHARACTERS)
    return " ".join(_initials_joined(key.split())) or " ".join(bare.split())


def _plain_key(bare: str) -> str:
    """The key of a casefolded text without marks; "" for one without a letter or number."""
    parts = bare.split()
    letters = "".join(parts)
    if not (letters.isascii() and letters.isalnum()):  # as of few names
        parts = _NOT_WORD.sub(" ", _APOSTROPHES.sub("", bare).replace("&", " and ")).split()
    key = " ".join(parts)
    return _INITIALS.sub(lambda match: match[0].replace(" ", ""), key) if 1 in map(len, parts) else key


def _initials_joined(parts: Sequence[str]) -> Iterator[str]:
    for initials, run in groupby(parts, lambda part: len(part) == 1 and not part.isdecimal()):
        if initials:
            yield "".join(run)
        else:
            yield from run


def former_name_key(text: str) -> str:
    """The key of version 0, which indexes built by earlier versions hold: without any mark. Today's key gives it too,
    but for names with invisible joiners.
    """
    bare = text.casefold()
    if not bare.isascii():
        folded = _INVISIBLE.sub("", unicodedata.normalize("NFKD", bare))
        bare = "".join(character for character in folded if not unicodedata.combining(character)).translate(_LETTERS)
    return _plain_key(bare) or " ".join(text.casefold().split())


def former_name_forms(text: str) -> tuple[str, str, str]:
    """What :func:`name_forms` was for keys of version 0."""
    name, qualifier = split_qualifier(text)
    return former_name_key(text), _ARTICLE.sub("", former_name_key(name)), qualifier


def split_qualifier(text: str) -> tuple[str, str]:
    """("Get Low", "song") for "Get Low (song)"; the qualifier is empty if there is none."""
    match = _QUALIFIER.match(text)
    return (match["name"], match["qualifier"]) if match else (text.strip(), "")


def base_key(text: str) -> str:
    """The key without a parenthetical qualifier and without a leading English article."""
    return _ARTICLE.sub("", name_key(split_qualifier(text)[0]))


def name_forms(text: str) -> tuple[str, str, str]:
    """(key, base key, qualifier): what the three functions above give."""
    key = name_key(text)
    if not text.endswith(")") and not text[-1:].isspace():  # no qualifier, so the base is the key without its article
        return key, _ARTICLE.sub("", key), ""
    name, qualifier = split_qualifier(text)
    return key, _ARTICLE.sub("", name_key(name)), qualifier


def words(text: str) -> list[str]:
    """The words of the text's key; where words are not marked by spaces, its characters."""
    return spread(name_key(text)).split()


def comparable(text: str) -> list[str]:
    """What two texts are compared by: the words of the key, and pairs of characters where words are not marked."""
    return terms(name_key(text))


def phrase(tokens: Sequence[str]) -> str:
    """The key that some of `words` are of, beside each other."""
    return gathered(" ".join(tokens))
