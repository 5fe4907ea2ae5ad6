"""The themes: readable by measure, chosen as the settings and the terminal say."""

from __future__ import annotations

import re

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Static

from atomr_local.tui import colours as themes
from atomr_local.tui.widgets.reasoning_view import MARKS

LEAST = {themes.DARK: 4.5, themes.LIGHT: 4.5, themes.HIGH_CONTRAST: 7.0}  # WCAG 2.1: AA and AAA


def luminance(colour: str) -> float:
    def linear(part: int) -> float:
        value = part / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = Color.parse(colour).rgb
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", themes.THEMES, ids=lambda theme: theme.name)
def test_every_colour_is_readable_on_every_ground(theme: Theme) -> None:
    ansi = themes.ANSI_DARK if theme.dark else themes.ANSI_LIGHT
    named = [Color(*ansi.ansi_colors[number]).hex for number in range(1, 7)]
    inks = [theme.foreground, theme.primary, theme.secondary, theme.accent, theme.success, theme.warning, theme.error]
    for ground in (theme.background, theme.surface, theme.panel):
        low = {
            ink: round(contrast(ink, ground), 2) for ink in [*inks, *named] if contrast(ink, ground) < LEAST[theme.name]
        }
        assert not low, f"on {ground}"


@pytest.mark.parametrize("theme", themes.THEMES, ids=lambda theme: theme.name)
def test_frames_scrollbars_and_the_line_under_the_cursor_stand_out(theme: Theme) -> None:
    colours = theme.to_color_system().generate()
    for ground in (theme.background, theme.surface):
        for name in ("border-blurred", "accent", "block-cursor-background"):
            assert contrast(colours[name], ground) >= 3, f"{name} on {ground}"
    assert contrast(colours["scrollbar"], colours["scrollbar-background"]) >= 3
    assert contrast(colours["input-selection-background"], colours["input-selection-foreground"]) >= LEAST[theme.name]


@pytest.mark.parametrize(
    ("name", "environment", "chosen"),
    [
        ("", {}, themes.DARK),
        ("", {"COLORFGBG": "0;15"}, themes.LIGHT),
        ("", {"COLORFGBG": "15;0"}, themes.DARK),
        ("", {"COLORFGBG": "nonsense"}, themes.DARK),
        ("", {"NO_COLOR": "1"}, themes.HIGH_CONTRAST),
        ("", {"NO_COLOR": "", "COLORFGBG": "0;15"}, themes.HIGH_CONTRAST),
        (themes.LIGHT, {"NO_COLOR": "1"}, themes.LIGHT),
        ("nord", {}, "nord"),
        ("no such theme", {}, themes.DARK),
    ],
)
def test_choose(name: str, environment: dict[str, str], chosen: str) -> None:
    assert themes.choose(name, environment) == chosen


async def test_every_name_can_be_shown() -> None:
    app: App[None] = App()
    themes.register(app)
    assert set(themes.names()) == set(app.available_themes)
    async with app.run_test() as pilot:
        for theme in themes.THEMES:
            app.theme = theme.name
            await pilot.pause()
            assert app.current_theme is theme


async def test_without_colour_only_greys_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    class Coloured(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("[$error on $success]alarm[/]")

    app = Coloured()
    themes.register(app)
    app.theme = themes.choose("")
    async with app.run_test():
        shown = app.export_screenshot()
    styles = set(re.findall(r"-r\d+ \{[^}]*fill: (#[0-9a-fA-F]{6})", shown)) - {"#c5c8c6"}  # of the picture's frame
    assert styles
    assert all(len(set(Color.parse(style).rgb)) == 1 for style in styles), styles


def test_no_two_states_of_a_step_share_a_mark() -> None:
    marks = [mark for mark, _ in MARKS.values()]
    assert len(set(marks)) == len(marks)
