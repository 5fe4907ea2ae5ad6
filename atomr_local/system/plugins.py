"""Parts that other packages offer through entry points."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from atomr_local.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

NAME = r"[a-z][a-z0-9_-]{0,39}"  # of a part: commands, settings, traces and identifiers of widgets hold it
SOURCE_GROUP = "atomr_local.sources"  # named here for the settings, which hold names of sources
COMMAND_GROUP = "atomr_local.commands"
_log = logging.getLogger(__name__)
Part = TypeVar("Part")


def offered(group: str, ours: Collection[str]) -> dict[str, EntryPoint]:
    """The entry points of a group by name; none of them replaces a part of ours. A name of another form is logged."""
    from importlib.metadata import entry_points  # a hundredth of a second, which no first frame waits for

    found = {}
    for item in entry_points(group=group):
        if not re.fullmatch(NAME, item.name):
            _log.warning(
                "%s of the package %s: the name %.40r is not of the form %s", group, _package(item), item.name, NAME
            )
        elif item.name not in ours:
            found[item.name] = item
    return found


def load(part: EntryPoint, kind: str, of: type = object, *, called: bool = True) -> Any:
    """The result of the class or function that the entry point names, called without arguments.

    Args:
        kind: what it is, for messages, such as "strategy".
        of: the type that it must have.
        called: whether it is called; else the entry point names the part itself.

    Raises:
        SettingsError: its package cannot be loaded, or it is something else.
    """
    try:
        made = part.load()() if called else part.load()
        if not isinstance(made, of):
            raise TypeError(f"{type(made).__name__}, not {of.__name__}")
        return made
    except Exception as error:  # code of another package: whatever it raises is reported as an error
        raise SettingsError(
            f"the {kind} {part.name!r} cannot be loaded: {type(error).__name__}: {error}",
            hint=f"Update or remove the package {_package(part)}.",
        ) from error


def find(group: str, ours: Mapping[str, Part], name: str, kind: str, of: type = object) -> Part | None:
    """The part of this name, ours or another package's; None if there is none.

    Raises:
        SettingsError: as :func:`load`.
    """
    if name in ours:
        return ours[name]
    offer = offered(group, ours).get(name)
    found: Part | None = None if offer is None else load(offer, kind, of)
    return found


def load_all(group: str, ours: Mapping[str, Part], kind: str, of: type = object) -> dict[str, Part]:
    """All parts that can be used by name, ours first. One that cannot be loaded is logged and left out."""
    found = dict(ours)
    for name, part in offered(group, ours).items():
        try:
            found[name] = load(part, kind, of)
        except SettingsError:
            _log.warning("The %s %s of the package %s cannot be loaded", kind, name, _package(part))
    return found


def _package(part: EntryPoint) -> str:
    return part.dist.name if part.dist is not None else part.module
