"""Normal forms of names, so that two spellings match: case, accents, punctuation, qualifiers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from atomr_local.language.scripts import gathered, spread, terms

# Letters that compatibility decomposition leaves whole although readers take them for a base letter.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d", "ħ": "h"})
_APOSTROPHES = re.compile(r"['’‘ʼʻ`´]")
_NOT_WORD = re.compile(r"[\W_]+")
# "U.S." and "US", "J. R. R." and "J.R.R." are the same initials.
_INITIALS = re.compile(r"\b[^\W\d_](?: [^\W\d_]\b)+")
_QUALIFIER = re.compile(r"^(?P<name>.*\S)\s*\((?P<qualifier>[^()]+)\)\s*$", re.DOTALL)
_ARTICLE = re.compile(r"^(?:the|an?) (?=\S)")


def name_key(text: str) -> str:
    """`text` casefolded, accents stripped, punctuation as single spaces; never empty for a text with a mark in it."""
    bare = text.casefold()
    if not bare.isascii():  # what follows changes nothing in ASCII
        folded = unicodedata.normalize("NFKD", bare)
        bare = "".join(character for character in folded if not unicodedata.combining(character)).translate(_LETTERS)
    key = _NOT_WORD.sub(" ", _APOSTROPHES.sub("", bare).replace("&", " and ")).strip()
    joined = _INITIALS.sub(lambda match: match[0].replace(" ", ""), key)
    return joined or " ".join(text.casefold().split())


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
