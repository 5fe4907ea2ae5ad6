"""The ids of all key bindings, for `ui.keys`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

from textual.binding import Binding
from textual.dom import DOMNode

from atomr_local import tui


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
