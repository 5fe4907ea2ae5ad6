r"""Escapes shared by both notations, so that any text fits on one line and inside quotes, without loss.

`\\` backslash, `\n` `\r` `\t`, `\"` in quoted arguments, and `\uXXXX` / `\UXXXXXXXX` for every other character that
a terminal would act on or hide (control, format, surrogate, private and unassigned code points, line and paragraph
separators). `\=`, `\[` and `\"` stand for the character after the backslash. Before any other character a backslash
stands for itself, so hand-written text such as `AC\DC` reads as it looks.
"""

from __future__ import annotations

import re
import unicodedata

# The error of parsing and validating a tree, and the fixed bounds of the parsers.
#
# The bounds are independent of the limits of validation.

MAX_CHARACTERS = 200_000
MAX_NODES = 1_000
MAX_DEPTH = 64  # below any recursion limit, also that of comparing and printing nested nodes
MAX_ID = 9_999


class TreeError(ValueError):
    """A text is not a reasoning tree, or the tree breaks a rule.

    Attributes:
        message: what is wrong, in one line.
        line: 1-based line of the text at fault, or None if the notation has no lines.
    """

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.message = message
        self.line = line


def check_size(characters: int) -> None:
    if characters > MAX_CHARACTERS:
        raise TreeError(f"the plan is {characters:,} characters long; at most {MAX_CHARACTERS:,} are read")


def check_count(nodes: int, *, line: int | None = None) -> None:
    if nodes > MAX_NODES:
        raise TreeError(f"the plan has more than {MAX_NODES:,} questions", line=line)


def check_depth(depth: int, *, line: int | None = None) -> None:
    if depth > MAX_DEPTH:
        raise TreeError(f"the plan is more than {MAX_DEPTH} levels deep", line=line)


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
