"""Normal forms of names, so that two spellings match: case, accents, punctuation, qualifiers."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import groupby

from rapidfuzz import fuzz

from atomr_local.language.sentences import gathered, spread, terms
from atomr_local.language.words import english, without_suffix

# Combining marks: which of them are an accent or a point that may be left out, and which are part of the letter.
#
# In Latin, Greek and Cyrillic a mark is an accent; in Hebrew and Arabic it is a vowel that is mostly not written. In
# the scripts of South and South-East Asia marks are the vowels themselves, and in Japanese they make another syllable:
# "राम" and "रमा", "カラス" and "ガラス" are different words.

_LEFT_OUT = (
    (0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F),  # of any letter
    (0x0483, 0x0489), (0x2DE0, 0x2DFF), (0xA66F, 0xA69F),  # Cyrillic
    (0x0591, 0x05C7), (0xFB1E, 0xFB1E),  # Hebrew
    (0x0610, 0x061A), (0x064B, 0x0670), (0x06D6, 0x06ED), (0x0898, 0x089F), (0x08CA, 0x08FF),  # Arabic
    (0x0711, 0x0711), (0x0730, 0x074A), (0x0816, 0x082D),  # Syriac, Samaritan
    (0x0951, 0x0954), (0x1CD0, 0x1CFF), (0xA8E0, 0xA8F1),  # Vedic accents
    (0x135D, 0x135F), (0x302A, 0x302F),  # length in Ethiopic; tones of Chinese and old Korean
    (0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF),  # choice among glyphs
)  # fmt: skip
_NUKTA = 7  # combining class
_VIRAMA = 9


def _marks(first: int, last: int) -> list[str]:
    return [mark for mark in map(chr, range(first, last + 1)) if unicodedata.category(mark).startswith("M")]


_ACCENTS = frozenset(mark for first, last in _LEFT_OUT for mark in _marks(first, last))
_VIRAMAS = "".join(mark for mark in _marks(0x0900, 0x1C37) if unicodedata.combining(mark) == _VIRAMA)
# They choose how letters are joined; where a virama joins them, neither parts a word.
_JOINERS = re.compile(f"\u200d|(?<=[{_VIRAMAS}])\u200c")


def without_joiners(text: str) -> str:
    """The text without invisible characters that only choose how letters are joined."""
    return _JOINERS.sub("", text)


def is_accent(mark: str) -> bool:
    """Whether a combining mark may be left out of a name. So may the dot of nuktas: it is often not typed."""
    if mark in _ACCENTS:
        return True
    return unicodedata.combining(mark) == _NUKTA and "NUKTA" in unicodedata.name(mark, "")


class KeyCharacters(dict[int, str]):
    """Characters of a decomposed name → characters of its key, for `str.translate`; learnt as they are met.

    Args:
        letters: characters that are written otherwise in a key.
    """

    def __init__(self, letters: dict[int, str]) -> None:
        super().__init__(letters)

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character).startswith("M"):
            found = "" if is_accent(character) else character
        else:
            found = character if character.isalnum() else " "
        self[code] = found
        return found


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

    Marks that are part of a letter stay (:mod:`atomr_local.language.names`).
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
    """The result of :func:`name_forms` for keys of version 0."""
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


def telling_stems(text: str) -> list[str]:
    """The stems of the words of a search that say something by themselves; of all of them where none does."""
    found = words(text)
    telling = [word for word in found if word not in english().stop]
    return [without_suffix(word) for word in telling or found]


def comparable(text: str) -> list[str]:
    """Units for comparing two texts: the words of the key, and pairs of characters where words are not marked."""
    return terms(name_key(text))


def phrase(tokens: Sequence[str]) -> str:
    """The key that some of `words` are of, beside each other."""
    return gathered(" ".join(tokens))


# Names in running text, as far as capital letters tell them.

# Adjacent capitalised words, with small words between them: "Kingdom of Prussia".
_SMALL = "|".join(sorted(english().small))
_NAME = re.compile(rf"[A-Z\u00C0-\u00DE]\S*(?: (?:(?:{_SMALL}) )*[A-Z\u00C0-\u00DE]\S*)*")


def capitalised(texts: Sequence[str]) -> list[str]:
    """Runs of capitalised words in the texts, each once, in order."""
    return list(dict.fromkeys(match[0] for text in texts for match in _NAME.finditer(text)))


def names_in(texts: Sequence[str]) -> list[str]:
    """Capitalised names, without words such as "She" at the beginning of a sentence."""
    return [name for name in capitalised(texts) if not english().stop.issuperset(words(name))]


# Whether two names may be of one person, place or thing, as far as their words tell.

# Words that are at least this similar, in %, may be misspellings of one another.
_ALIKE = 80
POSSESSIVE = re.compile(r"(?<=\w)['’]s?(?!\w)")
POSSESSIVE_END = re.compile(r"['’]s$|(?<=s)['’]$")
_WORD = re.compile(r"\w[\w'’]*")


def alike(word: str, other: str) -> bool:
    """Whether two keys of words are equal, or differ by no more than a slip or two."""
    if word == other:
        return True
    short, long = sorted((len(word), len(other)))
    return short > 3 and long - short < 3 and word[0] == other[0] and fuzz.ratio(word, other) >= _ALIKE


def name_parts(name: str) -> list[str]:
    """The keys of a name's words, without its qualifier and small words unless there are no others."""
    keys = [name_key(word) for word in _WORD.findall(POSSESSIVE.sub("", split_qualifier(name)[0]))]
    return [key for key in keys if key not in english().small and key not in english().stop] or keys


def same_name(one: str, other: str) -> bool | None:
    """Whether two names may be of one: equal, spelt alike, with initials, or one with further words.

    Returns:
        None if one is but a word of the other ("Wagner" of "Cosima Wagner"), which alone does not tell.
    """
    if base_key(one).replace(" ", "") == base_key(other).replace(" ", ""):
        return True
    short, long = sorted((name_parts(one), name_parts(other)), key=len)
    left = list(long)
    for part in short:
        match = next((word for word in left if _may_be(part, word)), None)
        if match is None:
            return len(short) == 1 < len(long) and short[0] == "".join(word[0] for word in long)
        left.remove(match)
    return True if short and (len(short) > 1 or not left) else None


def _may_be(part: str, word: str) -> bool:
    """Whether the words are alike, or one is the other's initial."""
    return alike(part, word) or (1 in (len(part), len(word)) and not part.isdecimal() and part[0] == word[0])


# Countries and demonyms, so that "American" and "United States" match.

_MOST_WORDS = 5
_COUNTRIES_WORD = re.compile(r"[^\W_][\w'’.-]*")


@dataclass(frozen=True, slots=True)
class _CountryTable:
    """`language/en/countries.txt`, by keys.

    Attributes:
        known: names, other names and demonyms → the country's name.
        provinces: provinces and states → their country's name.
        adjectives: demonyms and other names of countries and continents → keys of what they stand for.
    """

    known: dict[str, str]
    provinces: dict[str, str]
    adjectives: dict[str, frozenset[str]]


@lru_cache(maxsize=1)
def _table() -> _CountryTable:
    known: dict[str, str] = {}
    provinces: dict[str, str] = {}
    adjectives: dict[str, frozenset[str]] = {}
    text = files("atomr_local.language").joinpath("en/countries.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        head, _, rest = line.partition(":")
        others = [word.strip() for word in rest.split(",") if word.strip()]
        if head.startswith("#"):
            continue
        if head.startswith("@"):
            provinces.update((name_key(word), head[1:]) for word in others)
            continue
        names = [name.strip() for name in head.removeprefix("+").split("=")]
        keys = frozenset(map(name_key, names))
        for word in others:
            adjectives[name_key(word)] = adjectives.get(name_key(word), frozenset()) | keys
        if not head.startswith("+"):
            known.update((name_key(word), names[0]) for word in (*names, *others))
    return _CountryTable(known, provinces, adjectives)


def adjectives() -> dict[str, frozenset[str]]:
    """Keys of demonyms and short forms → keys of the countries or continents that they stand for."""
    return _table().adjectives


def country_named(text: str) -> str | None:
    """The country that the text as a whole names or is the demonym of; None if it is neither.

    Demonyms of two countries are not distinguished: "Dominican" is taken for the Dominican Republic.
    """
    known = _table().known
    key = name_key(text)
    return known.get(key) or known.get(key.removeprefix("the "))


def country_of(place: str) -> str | None:
    """The country that a place names or, in its last part, lies in: "Perth, Western Australia" lies in Australia."""
    provinces = _table().provinces
    last = place.rsplit(",", 1)[-1]
    return country_named(place) or country_named(last) or provinces.get(name_key(last))


def countries_in(text: str) -> list[str]:
    """Names and demonyms of countries as the text writes them, capitalised, in order, longest first at each place."""
    words = list(_COUNTRIES_WORD.finditer(text))
    found: dict[str, None] = {}
    at = 0
    while at < len(words):
        for size in range(min(_MOST_WORDS, len(words) - at), 0, -1):
            written = text[words[at].start() : words[at + size - 1].end()].rstrip(".")
            if written[:1].isupper() and country_named(written.removesuffix("'s").removesuffix("’s")) is not None:
                found.setdefault(written.removesuffix("'s").removesuffix("’s"))
                at += size
                break
        else:
            at += 1
    return list(found)


# Normal form of answers, by which scorers and votes compare them.
#
# Normalisation is that of the SQuAD evaluation script (Rajpurkar et al., 2016), which HotpotQA, 2WikiMultihopQA and
# MuSiQue share: lower case, ASCII punctuation removed, the articles a, an and the removed, white space
# collapsed. There is one difference: a hyphen separates words ("fifth-generation" is two tokens) instead of vanishing.

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans({"-": " "} | {mark: None for mark in string.punctuation if mark != "-"})


def answer_key(text: str) -> str:
    """`text` as answers are compared.

    An answer made of articles and punctuation alone ("A", "The The", "?!") keeps its lower-case form, since it
    would otherwise equal an empty one.
    """
    lowered = text.lower()
    words = _ARTICLES.sub(" ", lowered.translate(_PUNCTUATION)).split()
    return " ".join(words or lowered.split())
