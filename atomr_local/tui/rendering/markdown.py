"""Escapes outside text for Markdown."""

from __future__ import annotations

import re

from atomr_local.sanitize import sanitize_line

_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&:=$^\"'])")


def plain(text: str) -> str:
    """The text on one line, sanitised, with every character that Markdown could read escaped."""
    return _MARKUP.sub(r"\\\1", sanitize_line(text))
