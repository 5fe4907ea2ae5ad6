"""Characters that fonts of symbols show, such as Symbol and Wingdings, soft hyphens, and readings above characters."""

from __future__ import annotations

import re
from collections.abc import Iterable


def _table(first: int, characters: str) -> dict[int, str]:
    return {first + i: character for i, character in enumerate(characters) if character != "\0"}


# Only what says something: of the arrows, boxes and stars that differ in their drawing alone, the usual one.
_SYMBOL = (
    _table(0x20, " !∀#∃%&∋()∗+,−./0123456789:;<=>?")
    | _table(0x40, "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_")
    | _table(0x60, "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼")
    | _table(0xA0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵")
    | _table(0xC0, "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓")
    | _table(0xE0, "◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\0⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭")
)
_WINGDINGS = (
    {0x20: " ", 0x22: "✂", 0x28: "☎", 0x29: "✆", 0x2A: "✉", 0x36: "⌛", 0x3F: "✍", 0x41: "✌", 0x5C: "ॐ"}
    | _table(0x45, "☜☞☝☟\0☺\0☹\0☠\0\0✈☼\0❄")
    | _table(0x5D, "☸♈♉♊♋♌♍♎♏♐♑♒♓")
    | _table(0x6C, "●❍■□❐❑❒⬧⧫◆❖⬥⌧\0⌘")
    | _table(0x80, "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿")
    | _table(0x9E, "·•▪○\0\0◉◎\0▪☐\0✦★✶✴✹✵")
    | _table(0xDF, "←→↑↓↖↗↙↘←→↑↓↖↗↙↘⇦⇨⇧⇩⬄⇳\0\0\0\0\0\0✗✓☒☑")
)
_WINGDINGS_2 = (
    {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x97: "●", 0xA3: "☐"}
    | _table(0x69, "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿")
)  # fmt: skip
_FONTS = {
    "symbol": _SYMBOL,
    "symbolmt": _SYMBOL,
    "wingdings": _WINGDINGS,
    "wingdings 2": _WINGDINGS_2,
    "wingdings 3": _table(0x21, "←→↑↓") | {0x70: "▲", 0x71: "▼", 0x74: "◀", 0x75: "▶"},
    "webdings": _table(0x33, "◀▶▲▼") | {0x61: "✓", 0x63: "☐", 0x72: "✕"},
}
# Programs put the 256 characters of such a font where no other characters are, or leave them where letters are.
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_ANY = re.compile("[!-~\xa0-\xff\uf000-\uf0ff]")
# Stand before raised and lowered letters and fractions; XML holds no such characters.
RAISED, LOWERED, FRACTION = "\0", "\x01", "\x02"
_AFTER_DIGITS = re.compile("(?<=\\d)(?:(\0)(?=[-+−–]?\\d)|(\x01)(?=\\d)|\x02)")
_MARKS = re.compile("[\0-\x02]")
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
