"""Bounds on the text of settings, checked before parsing.

tomllib and json call themselves for each level of nesting, tomllib takes quadratic time for a key of many dots, and
Python refuses numbers of more than 4,300 digits with an error of another kind. No setting needs any of that.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atomr_local.errors import SettingsError
from atomr_local.input_files import read_regular

MOST_BYTES = 1 << 20
_MOST_VARIABLE = 1 << 16
_DEEPEST = 32
_LONGEST_WORD = 1000  # characters of a key or a number that stands in no quotes
_MOST_NAMES = 4  # a group, a setting and an item of it, and one to spare for a better message
_DOT = re.compile(r"(?<![ \t])[ \t]*+\.[ \t]*+")
_WORD_ENDS = re.compile(r"""[^\w".'+:-]+""")
_MARKS = re.compile(r"[\[{\]}\n]")
# Strings and comments of TOML, and the strings of JSON, with or without their end. Possessive: each is read once.
_QUOTED = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+(?:""")?'
    r"|'''[^']*+(?:'(?!'')[^']*+)*+(?:''')?"
    r'|"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)


def read_settings_text(path: Path) -> str | None:
    """The text of a settings file, checked as far as it can be before it is parsed; None if there is no file.

    Raises:
        SettingsError: it is no regular file, longer than 1 MiB, not UTF-8, cannot be read, or is beyond all bounds.
    """
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path} is not valid TOML: byte {error.start} is not UTF-8", hint="Correct the file or delete it."
        ) from None
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}",
            hint="Settings are a text file in TOML of at most 1 MiB.",
        ) from error
    check_bounds(text, str(path))
    return text


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The values of a settings file.

    Raises:
        SettingsError: it is not valid TOML.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib's own error, or one of a date or number that is none
        raise SettingsError(f"{where} is not valid TOML: {error}", hint="Correct the file or delete it.") from None


def check_bounds(text: str, where: str) -> None:
    """Refuse a text that a parser would choke on.

    Raises:
        SettingsError: something is nested too deeply, or a key or number is too long; the line is named.
    """
    bare = _QUOTED.sub(lambda match: '""' + "\n" * match[0].count("\n"), text)
    depth, line = 0, 1
    for mark in _MARKS.finditer(bare):
        character = mark[0]
        if character == "\n":
            line += 1
            continue
        depth += 1 if character in "[{" else -1
        if depth > _DEEPEST:
            raise _beyond(where, line, f"more than {_DEEPEST} brackets are open at once")
    for number, words in enumerate(_DOT.sub(".", bare).split("\n"), 1):
        for word in _WORD_ENDS.split(words) if len(words) > _DEEPEST else ():
            if len(word) > _LONGEST_WORD:
                raise _beyond(where, number, f"a key or number of {len(word)} characters")
            if word.count(".") > _DEEPEST:
                raise _beyond(where, number, f"a key of more than {_DEEPEST} parts")


def check_variables(variables: Mapping[str, str]) -> None:
    """Refuse ATOMR_ environment variables that are no settings of any kind.

    Raises:
        SettingsError: a value is too long or too deeply nested, or a name has too many parts.
    """
    for name, value in variables.items():
        if not name.upper().startswith("ATOMR_"):
            continue
        shown = f"the environment variable {name if len(name) <= 60 else name[:60] + '…'}"
        if name.count("__") > _MOST_NAMES:
            raise SettingsError(f"{shown} names no setting: its name has too many parts")
        if len(value) > _MOST_VARIABLE:
            raise SettingsError(f"{shown} is longer than {_MOST_VARIABLE} characters", hint="Give a shorter value.")
        if value.lstrip()[:1] in {"[", "{"}:
            check_bounds(value, shown)


def _beyond(where: str, line: int, what: str) -> SettingsError:
    return SettingsError(f"{where}, line {line}: {what}", hint="No setting needs that. Correct it or take it out.")
