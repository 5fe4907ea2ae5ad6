r"""Escapes shared by both notations, so that any text fits on one line and inside quotes, without loss.

`\\` backslash, `\n` `\r` `\t`, `\"` in quoted arguments, and `\uXXXX` / `\UXXXXXXXX` for every other character that
a terminal would act on or hide (control, format, surrogate, private and unassigned code points, line and paragraph
separators). `\=`, `\[` and `\"` stand for the character after the backslash. Before any other character a backslash
stands for itself, so hand-written text such as `AC\DC` reads as it looks.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # visible in effect: Persian, Indic scripts and emoji need them
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}
_LONG = {escape[1]: character for character, escape in _SHORT.items()} | {'"': '"', "=": "=", "[": "["}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def code_point(character: str) -> str:
    r"""`character` as `\uXXXX` or `\UXXXXXXXX`."""
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def is_hidden(character: str) -> bool:
    """True for a character that must not reach a terminal as it is."""
    return unicodedata.category(character) in _HIDDEN_CATEGORIES and character not in _JOINERS


def escape(text: str) -> str:
    """`text` on one line, without hidden characters; :func:`unescape` gives it back."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(_SHORT.get(c) or (code_point(c) if is_hidden(c) else c) for c in text)


def _character(match: re.Match[str]) -> str:
    name = match.group(1)
    if len(name) > 1:
        number = int(name[1:], 16)
        return chr(number) if number <= 0x10FFFF else match.group(0)
    return _LONG.get(name, match.group(0))


def unescape(text: str) -> str:
    """The text that :func:`escape` was given; unknown escapes stay as they are."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def shown(text: str, width: int = 80) -> str:
    """`text` for a message: on one line, without hidden characters, cut after `width` characters."""
    return escape(text if len(text) <= width else text[: width - 1] + "…")


def quote(text: str) -> str:
    """`text` as a quoted argument."""
    return '"' + escape(text).replace('"', r"\"") + '"'
