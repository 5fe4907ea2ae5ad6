"""Settings by the names of earlier versions: they are still read, and a note gives the new name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# Old name of a group of settings: its name now.
OLD_GROUPS = {"means": "features"}
_LONGEST = 60


def renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one place by today's names. Where it has both names of one, today's counts."""
    made = dict(values)
    for old, new in OLD_GROUPS.items():
        if old in made:
            former, present = made.pop(old), made.get(new, {})
            both = isinstance(former, Mapping) and isinstance(present, Mapping)
            made[new] = {**former, **present} if both else present or former
    return made


def renamed_key(key: str) -> str:
    """A dotted key by today's name."""
    group, dot, rest = key.partition(".")
    return f"{OLD_GROUPS[group]}.{rest}" if dot and group in OLD_GROUPS else key


def notes(variables: Iterable[str], groups: Iterable[str]) -> list[str]:
    """A line for each old name among environment variables and the groups of a settings file."""
    lines = [f"The settings group [{old}] is now [{new}]" for old, new in OLD_GROUPS.items() if old in groups]
    for name in sorted(variables):
        old, _, rest = name.upper().removeprefix("ATOMR_").partition("__")
        if name.upper().startswith("ATOMR_") and old.lower() in OLD_GROUPS:
            now = "__".join(filter(None, (OLD_GROUPS[old.lower()].upper(), rest[:_LONGEST])))
            lines.append(f"The environment variable {name[:_LONGEST]} is now ATOMR_{now}")
    return [f"{line}; the old name is still read." for line in lines]
