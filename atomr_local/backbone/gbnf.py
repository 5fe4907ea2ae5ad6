"""Texts as GBNF terminals."""

from __future__ import annotations


def literal(text: str) -> str:
    """`text` as a quoted GBNF terminal: printable ASCII as it is, all else escaped."""
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    return f"\\U{ord(character):08X}" if ord(character) > 0xFFFF else f"\\u{ord(character):04X}"
