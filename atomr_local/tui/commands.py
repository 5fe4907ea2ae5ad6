"""What the command palette offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from textual.actions import parse
from textual.app import App, SystemCommand
from textual.binding import Binding

from atomr_local.sanitize import sanitize_line
from atomr_local.sources.registry import SOURCES, SourceType
from atomr_local.tui.screens.ask.keys import GROUPS

if TYPE_CHECKING:
    from textual.screen import Screen

    from atomr_local.tui.app import AtomrApp


def commands(
    app: AtomrApp, screen: Screen[Any], sources: Mapping[str, SourceType], textual: Iterable[SystemCommand]
) -> Iterable[SystemCommand]:
    """Everything that a key does now, then what every Textual program has; each title once."""
    told = set[str]()
    others = (command for command in textual if command.title not in {"Quit", "Keys"})  # ours say more
    for command in chain(_of_keys(app, screen), _of_sources(app, screen, sources), others):
        if command.title not in told:
            told.add(command.title)
            yield command


def _of_keys(app: AtomrApp, screen: Screen[Any]) -> Iterable[SystemCommand]:
    for binding in app.BINDINGS:
        if isinstance(binding, Binding) and not binding.system and app.possible(parse(binding.action)[1], screen):
            yield _command(app, binding, app)
    if screen is app.ask_screen:
        for binding in chain.from_iterable(GROUPS.values()):
            _, action, parameters = parse(binding.action)
            if screen.check_action(action, parameters):
                yield _command(app, binding, screen)


def _of_sources(app: AtomrApp, screen: Screen[Any], sources: Mapping[str, SourceType]) -> Iterable[SystemCommand]:
    """The sources of other packages, which have no key."""
    if screen is app.ask_screen:
        for name, source in sources.items():
            if name not in SOURCES:
                title = sanitize_line(f"Turn {source.label} on or off")
                yield SystemCommand(title, "A source", partial(app.action_toggle_source, name))


def _command(app: AtomrApp, binding: Binding, owner: App[Any] | Screen[Any]) -> SystemCommand:
    key = f"Key {app.get_key_display(binding)}"
    return SystemCommand(binding.tooltip or binding.description, key, partial(owner.run_action, binding.action))
