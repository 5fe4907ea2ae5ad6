"""The one sanitiser: everything from outside passes it before it reaches a terminal.

Removed: C0 and C1 control characters (escape sequences with them: CSI, OSC, DCS and the like, whole),
bidirectional overrides and isolates, other invisible format characters that can hide text, surrogates and
noncharacters. Kept: newline and tab.
"""

from __future__ import annotations

import re
import unicodedata

# ECMA-48: CSI … final byte; OSC, DCS, SOS, PM, APC … up to BEL or ST; other two-character escapes.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_JOINERS = {"\u200c", "\u200d"}  # needed to write Persian, Indic scripts and emoji
_KEPT_CONTROLS = {"\n", "\t"}


def _harmless(character: str) -> bool:
    if character in _KEPT_CONTROLS or character in _JOINERS:
        return True
    if character in "\u2028\u2029":
        return False
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Cn", "Co"}


def sanitize(text: str) -> str:
    """`text` with nothing left in it that could drive or deceive a terminal; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(character for character in text if _harmless(character))


def sanitize_line(text: str) -> str:
    """Like :func:`sanitize`, on one line: runs of white space become single spaces."""
    return " ".join(sanitize(text).split())
