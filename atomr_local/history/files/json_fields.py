"""Fields of untrusted JSON objects, taken out by type: each is checked, and an error names the path to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from atomr_local.errors import InputError

_LONGEST_TEXT = 1_000_000
MOST_ITEMS = 50_000
_DEEPEST_VALUE = 8
_LARGEST = sys.float_info.max
ABSENT: Any = object()
_Item = TypeVar("_Item")


class JsonFields:
    """A JSON object whose fields are taken out by type; `place` is the path to it, with a dot behind it."""

    def __init__(self, data: Any, place: str) -> None:
        self.place = place
        if not isinstance(data, dict):
            raise InputError(f"{place.rstrip('.') or 'the trace'}: not an object")
        self.data: dict[str, Any] = data

    def error(self, key: str, problem: str) -> InputError:
        return InputError(f"{self.place}{key}: {problem}")

    def value(self, key: str, default: Any = ABSENT) -> Any:
        found = self.data.get(key, default)
        if found is ABSENT:
            raise self.error(key, "missing")
        return found

    def text(self, key: str, default: Any = ABSENT) -> Any:
        found = self.value(key, default)
        return found if found is default else text_value(found, f"{self.place}{key}")

    def texts(self, key: str, allowed: Sequence[str] = ()) -> list[str]:
        found = self.list_of(key, text_value)
        if allowed and (odd := [item for item in found if item not in allowed]):
            raise self.error(key, f"{odd[0][:40]!r} is none of {', '.join(allowed)}")
        return found

    def one_of(self, key: str, allowed: Sequence[Any], default: Any = ABSENT) -> Any:
        found = self.value(key, default)
        if not any(found is item or (isinstance(found, str) and found == item) for item in allowed):
            raise self.error(key, f"{str(found)[:40]!r} is none of {', '.join(map(str, allowed))}")
        return found

    def number(self, key: str) -> float:
        # null stands where a number was not finite
        found = self.value(key, 0.0)
        return 0.0 if found is None else finite_number(found, f"{self.place}{key}")

    def share(self, key: str) -> float | None:
        found = self.value(key, None)
        if found is not None and not 0 <= finite_number(found, f"{self.place}{key}") <= 1:
            raise self.error(key, "not between 0 and 1")
        return found  # type: ignore[no-any-return]

    def count(self, key: str, default: Any = 0) -> Any:
        found = self.value(key, default)
        return found if found is default else whole_number(found, f"{self.place}{key}")

    def inner(self, key: str) -> JsonFields:
        return JsonFields(self.value(key, {}), f"{self.place}{key}.")

    def mapping(self, key: str) -> dict[str, Any]:
        inner = self.inner(key)
        return {name: json_value(value, f"{inner.place}{name}") for name, value in inner.data.items()}

    def items(self, key: str, read: Callable[[JsonFields], _Item], most: int) -> list[_Item]:
        return [read(JsonFields(item, f"{self.place}{key}[{i}].")) for i, item in enumerate(self._list(key, most))]

    def list_of(self, key: str, read: Callable[[Any, str], _Item]) -> list[_Item]:
        return [read(item, f"{self.place}{key}[{i}]") for i, item in enumerate(self._list(key, MOST_ITEMS))]

    def _list(self, key: str, most: int) -> list[Any]:
        found = self.value(key, [])
        if not isinstance(found, list):
            raise self.error(key, "not a list")
        if len(found) > most:
            raise self.error(key, f"{len(found)} items, more than {most}")
        return found


def text_value(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{place}: not a text")
    if len(value) > _LONGEST_TEXT:
        raise InputError(f"{place}: {len(value)} characters, more than {_LONGEST_TEXT}")
    return value


def finite_number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise InputError(f"{place}: not a number, or too large a one")
    return value


def whole_number(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise InputError(f"{place}: not a whole number from 0 on")
    return value


def text_list(value: Any, place: str) -> list[str]:
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise InputError(f"{place}: not a list of texts, or too long")
    return [text_value(item, f"{place}[{i}]") for i, item in enumerate(value)]


def fraction(value: Any, place: str) -> float:
    if not 0 <= finite_number(value, place) <= 1:
        raise InputError(f"{place}: not between 0 and 1")
    return float(value)


def json_value(value: Any, place: str, depth: int = 0) -> Any:
    """A JSON value of any kind, not too deep and of bounded texts; numbers finite."""
    if depth > _DEEPEST_VALUE:
        raise InputError(f"{place}: too deeply nested")
    if isinstance(value, str):
        return text_value(value, place)
    if isinstance(value, Mapping):
        return {
            text_value(key, place): json_value(item, f"{place}.{key[:40]}", depth + 1) for key, item in value.items()
        }
    if isinstance(value, list):
        return [json_value(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    return finite_number(value, place)
