"""Characters of fonts of symbols, such as Wingdings, soft hyphens, readings above characters, and numbers as shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from atomr_local.indexing.readers.known import known

_FONTS: dict[str, dict[int, str]] = {
    font: {int(first, 16) + i: sign for first, signs in rows.items() for i, sign in enumerate(signs)}
    for font, rows in known("documents/symbols.toml").items()
}
_FONTS["symbolmt"] = _FONTS["symbol"]
# Programs put the 256 characters of such a font where no other characters are, or leave them where letters are.
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_ANY = re.compile("[!-~\xa0-\xff\uf000-\uf0ff]")
# Stand before raised and lowered letters and fractions; XML holds no such characters.
RAISED, LOWERED, FRACTION, LEVEL = "\0", "\x01", "\x02", "\x03"  # the last behind raised and lowered letters
_AFTER_DIGITS = re.compile("(?<=\\d)(?:(\0)(?=[-+−–]?\\d)|(\x01)(?=\\d)|\x02|\x03(?=\\d))")
_MARKS = re.compile("[\0-\x03]")
_SOFT_HYPHEN = re.compile("(?<=\\d)\xad(?=\\d)")


def symbol(font: str, code: int) -> str:
    """The character that stands for a code in a font; the code's own character where the font is not known."""
    table = _FONTS.get(font.casefold())
    if table is None or not (code < 0x100 or 0xF000 <= code <= 0xF0FF):
        return chr(code)
    return table.get(code & 0xFF, chr(code))


def in_font(text: str, font: str, *, private: bool = False) -> str:
    """The text as it looks in a font, if that is one of symbols: in Symbol, m is μ.

    Args:
        private: letters stay; only codes that mean nothing without a font are looked up.
    """
    if font.casefold() not in _FONTS:
        return text
    return (_PRIVATE if private else _ANY).sub(lambda one: symbol(font, ord(one[0])), text)


def joined(pieces: Iterable[str]) -> str:
    """The pieces of a paragraph as text, without soft hyphens.

    No number changes: raised or lowered digits, fractions and what follows a soft hyphen do not go on with its digits.
    """
    text = _AFTER_DIGITS.sub(lambda mark: "^" if mark[1] else "_" if mark[2] else " ", "".join(pieces))
    return _SOFT_HYPHEN.sub("-", _MARKS.sub("", text)).replace("\xad", "")


def mark_of(place: str) -> str:
    """The mark before letters by their place: "super", "superscript" or a number above 0 is raised."""
    if place.startswith(("sub", "-")):
        return LOWERED
    return RAISED if place and not place.startswith(("0", "baseline")) else ""


def with_reading(base: str, reading: str) -> str:
    """Characters with their reading in brackets, as in 智(ち)."""
    reading = " ".join(reading.split())
    return f"{base}({reading})" if reading else base


_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_MOST_LETTERED = 780  # z 30 times


def numeral(number: int, kind: str) -> str:
    """The number of an item of a list: in letters for "a", in Roman numbers for "i", else in digits, two for "01".

    Behind z come aa, bb, as Word and LibreOffice count.
    """
    shown = ""
    if kind.lower() == "i" and 0 < number < 4000:
        for value, letters in _ROMAN:
            shown += letters * (number // value)
            number %= value
    elif kind.lower() == "a" and 0 < number <= _MOST_LETTERED:
        shown = chr(96 + (number - 1) % 26 + 1) * ((number - 1) // 26 + 1)
    return (shown.upper() if kind.isupper() else shown) or f"{number:0{len(kind)}}"


# Numbers in the formats of Excel.

_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.')  # of a format: what stands there as it is, or is a space
# Of a format: what stands there as it is, the place of the digits, and other signs.
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|[_*].|(General|[#0?.,]*[#0?](?:E\+0+)?)|(.)')
_BRACKETS = re.compile(r"\[(?:\$([^\]-]*))?[^\]]*\]")  # around a currency, a colour or a condition
_NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300})?(?:[eE][-+]?\d{1,2})?")
_ZEROS = re.compile("0{2,20}")  # a format that shows the zeros in front, such as of postal codes
_DAY = re.compile(r"y|d|mmm", re.I)
FIRST_DAY = datetime(1899, 12, 30)
_MOST_DAYS = 2_958_465  # up to the end of 9999


def shown_number(text: str, shape: str) -> str:
    """A number in a format of Excel: with its unit, its currency and the sign of percent, but with all its digits.

    Args:
        text: the number; what is none stays as it is.
    """
    if not _NUMBER.fullmatch(text):
        return text
    value = float(text)
    shape = _BRACKETS.sub(lambda at: f'"{at[1]}"' if at[1] else "", shape.partition(";")[0])
    plain = _LITERAL.sub("", shape)
    if _DAY.search(plain) and 0 < value < _MOST_DAYS and "General" not in shape:
        return (FIRST_DAY + timedelta(days=int(value))).date().isoformat()
    if "%" in plain:
        return f"{_number(round(value * 100, 6))}%"
    number = _number(int(text) if text.lstrip("-").isdecimal() else value)
    if _ZEROS.fullmatch(plain) and value.is_integer():
        number = f"{int(value):0{len(plain)}d}"
    sides = [""]
    for quoted, escaped, digits, other in _TOKEN.findall(shape):
        if digits:
            sides.append("")
        elif other == ",":  # it is shown in thousands
            return number
        sides[-1] += quoted or escaped or (other if other in "$€£¥ " else "")
    if len(sides) != 2:
        return number
    first, last = (side.strip() for side in sides)
    return f"{first}{' ' if first[-1:].isalpha() else ''}{number}{' ' if last[:1].isalpha() else ''}{last}"


def _number(value: float) -> str:
    """A number as Excel keeps it: with 15 digits, so that sums show no traces of binary fractions."""
    if isinstance(value, float):
        value = float(f"{value:.15g}")
    return str(int(value)) if not isinstance(value, float) or value.is_integer() else str(value)
