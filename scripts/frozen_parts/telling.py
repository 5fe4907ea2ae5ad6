"""Values as lines of text, without what is another one in every run: ids, times and the places of folders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# Numbers that tell how long something took.
_DURATIONS = frozenset({"seconds", "duration", "took", "elapsed"})
_RANDOM_NAME = re.compile(
    r"\b[0-9a-f]{32}\b|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|(?<=\bchatcmpl-)[0-9a-f]{12,32}\b"
)
_MOMENT = re.compile(r"\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00|Z)?")
_WIDTH = 110
_PLACES = 6


class Masks:
    """What is hidden in texts.

    Args:
        folders: places that are written as their names, such as {"home": …}; the longest path goes first.
        texts: other texts that are written as their names, such as the version of the program.
    """

    def __init__(self, folders: Mapping[str, Path] | None = None, texts: Mapping[str, str] | None = None) -> None:
        named = {str(path): f"<{name}>" for name, path in (folders or {}).items()}
        named |= {text: f"<{name}>" for name, text in (texts or {}).items() if text}
        self._named = sorted(named.items(), key=lambda item: -len(item[0]))

    def text(self, text: str) -> str:
        """The text without ids, moments of this and later years, and the places of folders."""
        for found, name in self._named:
            text = text.replace(found, name)
        return _MOMENT.sub("<time>", _RANDOM_NAME.sub("<id>", text))

    def value(self, value: Any) -> Any:
        """The same of everything inside a value; durations by the names of their keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(str(key)): "<duration>"
                if key in _DURATIONS and isinstance(inside, int | float) and not isinstance(inside, bool)
                else self.value(inside)
                for key, inside in value.items()
            }
        if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
            return [self.value(inside) for inside in (sorted(value) if isinstance(value, set | frozenset) else value)]
        if isinstance(value, float):
            return round(value, _PLACES)
        return value if isinstance(value, int | None) else self.text(str(value))


def lines_of(value: Any, masks: Masks) -> tuple[str, ...]:
    """The value as indented lines: short parts on one line, long texts by their own lines."""
    return tuple(_lines(masks.value(value), "", ""))


def _lines(value: Any, indent: str, key: str) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        yield f"{indent}{key}|"
        yield from (f"{indent} {line}" for line in value.split("\n"))
        return
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (len(short) <= _WIDTH and _is_flat(value)):
        yield f"{indent}{key}{short}"
        return
    yield f"{indent}{key}{'{' if isinstance(value, dict) else '['}"
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _lines(inside, indent + " ", f"{name}: ")
    else:
        for inside in value:
            yield from _lines(inside, indent + " ", "")


def _is_flat(value: dict[str, Any] | list[Any]) -> bool:
    """Whether no long text is inside that has lines of its own."""
    inside = value.values() if isinstance(value, dict) else value
    return not any(
        (isinstance(one, str) and "\n" in one) or (isinstance(one, dict | list) and not _is_flat(one)) for one in inside
    )
