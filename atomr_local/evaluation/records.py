"""Reads JSON lines from users: one object per line, errors with file and line number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader, kind_in


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """One line's object and where it stands."""

    path: Path
    line: int
    fields: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def error(self, problem: str, *, hint: str = "") -> InputError:
        return InputError(f"{self.place}: {problem}", hint=hint)

    def text(self, key: str, *, empty: bool = False) -> str:
        """The string under `key`.

        Raises:
            InputError: it is missing, not a string, or blank where `empty` is not allowed.
        """
        value = self.fields.get(key)
        if not isinstance(value, str):
            raise self.error(f'"{key}" is {"missing" if value is None else "not a string"}')
        if not empty and not value.strip():
            raise self.error(f'"{key}" is empty')
        return value

    def texts(self, key: str, *, empty: bool = False) -> tuple[str, ...]:
        """The list of strings under `key`; one string counts as a list of one.

        Raises:
            InputError: it is missing, empty where that is not allowed, or holds something else.
        """
        value = self.fields.get(key)
        if isinstance(value, str):
            value = [value]
        if empty and value == []:
            return ()
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise self.error(f'"{key}" is {"missing" if value is None else "not a list of strings with at least one"}')
        if not all(item.strip() for item in value):
            raise self.error(f'"{key}" holds an empty answer')
        return tuple(value)


def read_records(path: Path) -> Iterator[DatasetRecord]:
    """Each object of the file; blank lines are skipped.

    Raises (while iterating):
        InputError: the file cannot be read, or a line is not a JSON object in UTF-8.
    """
    for number, line in LineReader(path):
        if not line.strip():
            continue
        try:
            fields = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (UnicodeDecodeError, RecursionError, ValueError) as error:
            if number == 1 and (kind := kind_in(path)):
                raise InputError(f"{path}: {kind.name}, no lines of JSON", hint=kind.advice) from error
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "not UTF-8 text or too deeply nested"
            raise InputError(f"{path}:{number}: not valid JSON: {reason}") from error
        if not isinstance(fields, dict):
            raise InputError(f"{path}:{number}: not a JSON object")
        yield DatasetRecord(path, number, fields)
