"""Keys of the user's own (`ui.keys`): the ids of all bindings, and what is wrong with an entry."""

from __future__ import annotations

import importlib
import pkgutil
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

from atomr_local import tui
from atomr_local.errors import InputError

# Ids of keys (`ui.keys`) that had another name once. Settings with the earlier id keep their effect.

FORMER_IDS = {
    "focus.slash": "focus.question",  # "/" searches everywhere now
    **{f"{name}.{way}": f"dialog.{way}" for name in ("confirm", "unsaved", "busy") for way in ("previous", "next")},
}


def current_keys(table: Mapping[str, str]) -> dict[str, str]:
    """The table with present ids; an entry under the present id wins over one under the earlier."""
    return {FORMER_IDS.get(name, name): keys for name, keys in table.items() if name in FORMER_IDS} | {
        name: keys for name, keys in table.items() if name not in FORMER_IDS
    }


_LONG = 40  # characters of an id or a key that are told; the longest of ours has fewer
_MODIFIERS = {"ctrl", "shift", "alt", "super", "hyper", "meta"}
_KEY_NAMES = {key.value.rpartition("+")[2] for key in Keys} | {f"f{number}" for number in range(1, 25)}


@cache
def binding_ids() -> frozenset[str]:
    """All of them. It imports every screen, a third of a second: call it from a worker first."""
    for module in pkgutil.walk_packages(tui.__path__, f"{tui.__name__}."):
        importlib.import_module(module.name)
    bindings = (binding for kind in _kinds(DOMNode) for binding in vars(kind).get("BINDINGS", ()))
    return frozenset(binding.id for binding in bindings if isinstance(binding, Binding) and binding.id)


def _kinds(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    yield kind
    for derived in kind.__subclasses__():
        yield from _kinds(derived)


def check_keys(table: Mapping[str, str]) -> None:
    """Refuse keys that no keyboard sends, and ids that there are not.

    Raises:
        InputError: such an entry; the message names it.
    """
    for problem in wrong_keys(table):
        raise InputError(problem)


def wrong_keys(table: Mapping[str, str]) -> list[str]:
    """What is wrong with each entry that no key or no action can be found for. Call it from a worker first."""
    ids, found = binding_ids(), list[str]()
    for name, keys in table.items():
        if name not in ids and name not in FORMER_IDS:
            near = _nearest(name, ids)
            found.append(f"{_short(name)}: nothing has this id{f'; did you mean {near}?' if near else ''}")
        for key in keys.split(","):
            *modifiers, last = key.split("+")
            if not set(modifiers) <= _MODIFIERS or not _is_key(last):
                such = "f5, ctrl+n, alt+up, question_mark"
                found.append(f"{_short(name)}: there is no key {_short(key)!r}; such are {such}")
    return found


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"


def _is_key(name: str) -> bool:
    if len(name) == 1 or name in _KEY_NAMES:
        return True
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        # Textual's shorter names of a few signs.
        return name in {"slash", "backslash", "at", "minus", "plus", "underscore"}
    return True


def _nearest(name: str, ids: frozenset[str]) -> str:
    from rapidfuzz import process

    found = process.extractOne(name, sorted(ids), score_cutoff=60)
    return found[0] if found else ""
