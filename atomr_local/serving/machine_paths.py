"""What clients are told, without where this machine keeps its files: such a path tells the user's name, for one."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from atomr_local import paths

_NAME = r"[^\s/'\"`<>|:;,()\[\]{}]+"
_BEGIN = r"(?:\bfile://|(?<![\w/:.~]))"
_PATH = re.compile(rf"{_BEGIN}/({_NAME})((?:/+{_NAME})*)/*")
# Fields of events, traces and errors that hold what the program says. All others hold what it found.
SAID_FIELDS = frozenset({"warnings", "error", "message", "hint"})


def without_paths(text: str) -> str:
    """The text with the last name alone of each absolute path of this machine.

    What lies in a folder of the program or the user is found whatever signs its names hold. Elsewhere a path ends at a
    space, and begins with a folder that there is.
    """
    if "/" not in text:
        return text
    for folder, name in _folders():
        text = folder.sub(lambda found, name=name: "" if found[1] else name, text)  # type: ignore[misc]
    return _PATH.sub(_shortened, text)


def without_paths_in(data: Any) -> Any:
    """An event, a trace or an error as JSON, with :func:`without_paths` for what the program itself says in it."""
    if isinstance(data, dict):
        return {key: _all_without(item) if key in SAID_FIELDS else without_paths_in(item) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [without_paths_in(item) for item in data]
    return data


def _all_without(data: Any) -> Any:
    if isinstance(data, str):
        return without_paths(data)
    if isinstance(data, dict):
        return {key: _all_without(item) for key, item in data.items()}
    return [_all_without(item) for item in data] if isinstance(data, list | tuple) else data


def _shortened(found: re.Match[str]) -> str:
    first, rest = found[1], found[2]
    if first not in _first_names():
        return found[0]
    return (rest or first).rstrip("/").rpartition("/")[2]


@lru_cache(1)
def _first_names() -> frozenset[str]:
    """Of all paths that there can be on this machine."""
    try:
        return frozenset(entry.name for entry in Path("/").iterdir())
    except OSError:
        return frozenset({"home", "usr", "var", "etc", "opt", "root", "tmp", "srv", "mnt", "media"})


def _folders() -> list[tuple[re.Pattern[str], str]]:
    """Folders of the program and of the user, with their names; those that are inside others come first."""
    known = {paths.data_dir(), Path.home(), Path(sys.prefix), Path(tempfile.gettempdir())}
    with suppress(OSError):  # it was removed
        known.add(Path.cwd())
    return [
        (re.compile(rf"{_BEGIN}{re.escape(str(folder))}(?:(/)|(?![\w.-]))"), folder.name)
        for folder in sorted(known, key=lambda folder: -len(str(folder)))
        if len(folder.parts) > 1
    ]
