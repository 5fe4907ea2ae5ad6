"""The switches of the sources: what they show without colour, and that a click asks for a change."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.color import Color

from atomr_local.tui import colours as themes
from atomr_local.tui.widgets.status_line import SourceSwitches


class Shown(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def compose(self) -> ComposeResult:
        yield SourceSwitches()

    def on_source_switches_toggled(self, message: SourceSwitches.Toggled) -> None:
        self.asked.append(message.name)

    def first_line(self) -> str:
        strips = self.screen._compositor.render_strips()
        return "".join(segment.text for segment in strips[0]).rstrip()


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ((["text", "graph"],), "[x] Text [x] Graph [ ] Web"),
        ((["text", "web"],), "[x] Text [ ] Graph  [x] WEB ON"),
        ((["graph"], False), "[ ] Text [x] Graph [ ] Web"),
        ((["text", "graph", "web"], False), "[x] Text [x] Graph [ ] Web→on"),
        ((["text", "graph"], True), "[x] Text [x] Graph  [x] WEB→off"),
    ],
)
async def test_each_state_is_told_in_words_within_its_room(state: tuple[Any, ...], told: str) -> None:
    app = Shown()
    async with app.run_test(size=(80, 24)) as pilot:
        switches = app.query_one(SourceSwitches)
        switches.show(*state)
        await pilot.pause()
        assert app.first_line().strip() == told
        assert switches.size.width <= 34
        assert app.query_one("#web").has_class("on") is ("WEB" in told)


async def test_a_click_asks_and_changes_nothing_by_itself() -> None:
    app = Shown()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(SourceSwitches).show(["text", "graph"])
        await pilot.pause()
        before = app.first_line()
        for name in ("#text", "#graph", "#web"):
            await pilot.click(name)
        assert app.asked == ["text", "graph", "web"]
        assert app.first_line() == before


async def test_the_web_is_loud_when_on_in_every_theme() -> None:
    app = Shown()
    themes.register(app)
    async with app.run_test(size=(80, 24)) as pilot:
        web = app.query_one("#web")
        for theme in themes.THEMES:
            app.theme = theme.name
            app.query_one(SourceSwitches).show(["text", "graph"])
            await pilot.pause()
            quiet = web.styles.background
            app.query_one(SourceSwitches).show(["text", "graph", "web"])
            await pilot.pause()
            assert web.styles.background != quiet
            assert (
                max(abs(a - b) for a, b in zip(web.styles.background.rgb, Color.parse(theme.warning).rgb, strict=True))
                < 2
            )
            assert abs(web.styles.color.brightness - web.styles.background.brightness) > 0.4
