"""The line of keys: not made anew by a change of the focus alone, but by one of the keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.widgets import Input
from textual.widgets._footer import FooterKey

from atomr_local.tui.widgets.status_line import SteadyFooter


class Shown(App[None]):
    BINDINGS: ClassVar[list[tuple[str, str, str]]] = [("f5", "again", "Again")]
    busy = False

    def compose(self) -> ComposeResult:
        yield Input(id="one")
        yield Input(id="two")
        yield SteadyFooter()

    def action_again(self) -> None: ...

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if action == "again" and self.busy else True


async def test_only_other_keys_make_it_anew() -> None:
    app = Shown()
    async with app.run_test() as pilot:
        await pilot.pause()
        before = list(app.query(FooterKey))
        assert "Again" in [key.description for key in before]
        await pilot.press("tab")
        await pilot.pause()
        assert app.focused is app.query_one("#two")
        assert list(app.query(FooterKey)) == before
        app.busy = True
        app.refresh_bindings()
        await pilot.pause()
        again = next(key for key in app.query(FooterKey) if key.description == "Again")
        assert again not in before
        assert again.has_class("-disabled")
