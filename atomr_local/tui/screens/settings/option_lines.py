"""Settings that are tables, as lines of text: `id = key`, and `NAME.OPTION = VALUE` for options of strategies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from atomr_local.errors import InputError, SettingsError
from atomr_local.strategies.names import known_names
from atomr_local.strategies.options import checked_options
from atomr_local.strategies.registry import find_strategy

OPTIONS = "strategies"

_EXAMPLE = "rag.top_k = 5"  # the name of a strategy, as it is typed


def options_in(text: str) -> dict[str, dict[str, Any]]:
    """Options of strategies by strategy; those of one that is not installed are not checked.

    Raises:
        InputError: a line is not such a line, or a strategy has no such option or refuses the value.
    """
    found: dict[str, dict[str, Any]] = {}
    for place, value in table_of(text, "NAME.OPTION = VALUE").items():
        name, _, option = (part.strip() for part in place.partition("."))
        if not (name and option):
            raise InputError(f"{place}: write it as NAME.OPTION = VALUE, such as {_EXAMPLE}")
        found.setdefault(name, {})[option] = _plain(value)
    try:
        for name in set(found).intersection(known_names()):
            checked_options(find_strategy(name), found[name])
    except SettingsError as error:
        raise InputError(error.message, hint=error.hint) from error
    return found


def options_text(options: Mapping[str, Mapping[str, Any]]) -> str:
    """The lines of :func:`options_in`."""
    return "\n".join(
        f"{name}.{option} = {value if isinstance(value, str) else json.dumps(value)}"
        for name, given in options.items()
        for option, value in given.items()
    )


def _plain(text: str) -> bool | int | float | str:
    """A truth value or a number as what it is; anything else as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text


def table_of(text: str, form: str = "id = key") -> dict[str, str]:
    """The lines `id = key` as a dictionary.

    Raises:
        InputError: a line is not such a line, or an id comes twice.
    """
    table: dict[str, str] = {}
    name_word, _, value_word = form.partition(" = ")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, sign, key = (part.strip() for part in line.partition("="))
        if not sign:
            raise InputError(f"line {number}: write it as {form}")
        if not name or not key:
            raise InputError(f"line {number}: the {value_word if name else name_word} is missing")
        if name in table:
            raise InputError(f"line {number}: {name} stands in an earlier line too")
        table[name] = key
    return table
