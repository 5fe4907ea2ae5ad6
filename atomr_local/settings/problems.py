"""Explains invalid settings and unknown environment variables."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from atomr_local.credentials import Secret
from atomr_local.settings.old_names import OLD_GROUPS

_SHOWN = 60
_LONGEST_KEY = 120
# By the beginning of the name that pydantic gives to an error.
_WANTED = {
    "finite": "a finite number",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string_type": "a text",
    "tuple": 'a list, such as ["text"]',
    "list": "a list",
    "dict": "a table",
    "model": "a table of settings",
}
# Variables of the program that are read where they are used.
_OTHER_VARIABLES = frozenset(
    {"ATOMR_HOME", "ATOMR_CONTACT", "ATOMR_LOG_LEVEL", "ATOMR_PROGRESS_EVERY", "ATOMR_KILLS", "ATOMR_SERVE_TOKEN"}
)


def problem(error: ValidationError, model: type[BaseModel]) -> str:
    """The first thing that is wrong, with the dotted key of the setting before it."""
    first = error.errors(include_url=False)[0]
    key = _cut(".".join(str(part) for part in first["loc"]), _LONGEST_KEY)
    if first["type"] == "extra_forbidden":
        return f"{key}: there is no such setting{_near(key, list(setting_keys(model)))}"
    context: Mapping[str, Any] = first.get("ctx", {})
    if first["type"] == "value_error":
        return f"{key}: {context.get('error', first['msg'])}"
    wanted = _wanted(first["type"], context)
    if not wanted:
        return f"{key}: {first['msg']}"
    given = "" if _has_secret(first["loc"], model) else f"{_short(first['input'])} is not usable, "
    return f"{key}: {given}expected {wanted}"


def _has_secret(place: tuple[int | str, ...], model: type[BaseModel]) -> bool:
    """Whether the setting at this place is a secret, or one of a group with a secret, for which it may be mistaken."""
    field = model.model_fields.get(str(place[0])) if place else None
    kind = field.annotation if field is not None else None
    if not isinstance(kind, type):
        return False
    if issubclass(kind, Secret):
        return True
    return issubclass(kind, BaseModel) and any(_has_secret((name,), kind) for name in kind.model_fields)


def setting_keys(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """The dotted key of every setting."""
    for name, field in model.model_fields.items():
        group = field.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            yield from setting_keys(group, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def unknown_variables(model: type[BaseModel], names: Iterable[str] = os.environ) -> list[str]:
    """A line for each ATOMR_ variable that names no setting: it is not looked at."""
    fields = {name.upper() for name in (*model.model_fields, *OLD_GROUPS)}
    lines = []
    for name in sorted(names):
        upper = name.upper()
        if not upper.startswith("ATOMR_") or upper in _OTHER_VARIABLES:
            continue
        if upper.removeprefix("ATOMR_").partition("__")[0] not in fields:
            known = [f"ATOMR_{key.replace('.', '__').upper()}" for key in setting_keys(model)]
            shown = _cut(name, _SHOWN)
            near = _near(name, known) if shown == name else ""
            lines.append(f"The environment variable {shown} is not a setting{near}; it is ignored.")
    return lines


def _near(key: str, known: list[str]) -> str:
    if len(key) > _LONGEST_KEY:
        return ""
    last = key.rpartition(".")[2]
    found = [name for name in known if name.rpartition(".")[2] == last]
    found += difflib.get_close_matches(key, known, n=2, cutoff=0.7)
    return f" (did you mean {' or '.join(dict.fromkeys(found))}?)" if found else ""


def _wanted(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "literal_error":
        return str(context.get("expected", ""))
    if kind == "string_pattern_mismatch":
        return f"a text of the form {context.get('pattern', '')}"
    if kind == "string_too_long":
        return f"a text of at most {context.get('max_length', '')} characters"
    bounds = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    for name, words in bounds.items():
        if name in context:
            return f"{words} {context[name]}"
    return next((words for start, words in _WANTED.items() if kind.startswith(start)), "")


def _short(value: Any) -> str:
    try:
        return _cut(repr(value), _SHOWN)
    except (ValueError, RecursionError):  # a number of more digits than Python writes, or a deep nest
        return f"such a {type(value).__name__}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
