"""One key, one meaning, over all windows."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.widgets import Input, TextArea

from atomr_local import tui
from atomr_local.tui.keys import binding_ids, current_keys, wrong_keys
from atomr_local.tui.screens.ask.windows import BusyScreen
from atomr_local.tui.screens.dialogs import Confirm, UnsavedChanges

# Keys that mean what the window or the field does with them, everywhere in every program.
_GENERAL = {"enter", "escape", "q", "up", "down", "left", "right", "space", "tab", "shift+tab"}
_DIALOGS = {Confirm, UnsavedChanges, BusyScreen}  # the letter stands on the button
# Words for one thing: what is applied, what is taken away, what opens and closes the same window.
_SAME = [
    {"Save", "Write", "Build", "Get it", "Run"},
    {"Delete", "Remove"},
    {"Prompts", "Close"},
    {"Help", "Close"},
    {"SPARQL", "Console"},
    {"Recall", "Search"},
    {"Copy", "Copy evidence"},
]


def _kinds(kind: type[DOMNode]) -> set[type[DOMNode]]:
    return {kind}.union(*(_kinds(derived) for derived in kind.__subclasses__()))


@pytest.mark.slow
def test_no_key_means_two_things() -> None:
    for module in pkgutil.walk_packages(tui.__path__, f"{tui.__name__}."):
        importlib.import_module(module.name)
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    for kind in _kinds(DOMNode):
        if not kind.__module__.startswith("atomr_local.tui.") or kind in _DIALOGS:
            continue
        for binding in vars(kind).get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.description:
                for key in binding.key.split(","):
                    meanings[key.strip()].add(binding.description)
    double = {
        key: sorted(said)
        for key, said in meanings.items()
        if key not in _GENERAL and len(said) > 1 and not any(said <= same for same in _SAME)
    }
    assert not double


def test_settings_with_an_earlier_id_keep_their_effect() -> None:
    assert current_keys({"focus.slash": "f12", "web.toggle": "f2"}) == {"focus.question": "f12", "web.toggle": "f2"}
    assert current_keys({"focus.slash": "f12", "focus.question": "f11"}) == {"focus.question": "f11"}


@pytest.mark.slow
def test_an_earlier_id_is_not_reported() -> None:
    assert "focus.slash" not in binding_ids()
    assert wrong_keys({"focus.slash": "f12"}) == []


def test_letters_are_characters_in_fields() -> None:
    """ "/" searches; where text is typed it is a character."""
    for field in (Input, TextArea):
        keys = [binding.key for binding in field.BINDINGS if isinstance(binding, Binding)]
        assert "slash" not in ",".join(keys)
