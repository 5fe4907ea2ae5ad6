"""The sanitiser: all text from outside passes it before it reaches a terminal.

Removed: C0 and C1 control characters (escape sequences with them: CSI, OSC, DCS and the like, whole),
bidirectional overrides and isolates, other invisible format characters that can hide text, surrogates and
noncharacters. Kept: newline and tab.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, TypeVar

# ECMA-48: CSI … final byte; OSC, DCS, SOS, PM, APC … up to BEL or ST; other two-character escapes.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_JOINERS = {"\u200c", "\u200d"}  # needed to write Persian, Indic scripts and emoji
_KEPT_CONTROLS = {"\n", "\t"}
_Given = TypeVar("_Given")


def _harmless(character: str) -> bool:
    if character in _KEPT_CONTROLS or character in _JOINERS:
        return True
    if character in "\u2028\u2029":
        return False
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Cn", "Co"}


def sanitize(text: str) -> str:
    """`text` with nothing left in it that could drive or deceive a terminal; newlines and tabs stay."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text  # it holds none of the categories that are removed
    text = _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(character for character in text if _harmless(character))


def sanitize_line(text: str) -> str:
    """Like :func:`sanitize`, on one line: runs of white space become single spaces."""
    return " ".join(sanitize(text).split())


def sanitize_all(value: _Given) -> _Given:
    """`value` with every text in it passed through :func:`sanitize`: in lists, tuples, mappings and dataclasses.

    Anything else is given back as it is, and so is whatever holds nothing that had to be removed.
    """
    cleaned: Any = _cleaned(value)
    return cleaned  # type: ignore[no-any-return]


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, Mapping):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if type(value) is tuple:
        return tuple(_cleaned(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for item in dataclasses.fields(value):
            before = getattr(value, item.name)
            after = _cleaned(before) if item.init else before
            if after != before:
                changed[item.name] = after
        return dataclasses.replace(value, **changed) if changed else value
    return value
