"""Everything that is shown can be read: in every theme, with all colours, with 256, with 16 and with none."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from support.script_loader import load_script
from support.tui.pauses import pauses_until_nothing_is_left
from textual.color import Color as TextualColor

from atomr_local.tui import colours as themes
from atomr_local.tui.colours import GRAPHIC, TEXT, ReadableColours, contrast, nearest, readable

__all__ = ["pauses_until_nothing_is_left"]  # of the windows that are measured
measuring = load_script("contrast")
OWN = [theme.name for theme in themes.THEMES]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("theme", OWN)
async def test_the_main_screen_can_be_read(theme: str) -> None:
    assert [str(one) for one in await measuring.measure([theme], whole=False)] == []


@pytest.mark.slow
async def test_every_window_can_be_read_in_our_own_themes() -> None:
    assert [str(one) for one in await measuring.measure(OWN)] == []


@pytest.mark.slow
@pytest.mark.nightly
async def test_the_main_screen_can_be_read_in_the_themes_of_textual() -> None:
    others = [name for name in themes.names() if name not in OWN]
    assert [str(one) for one in await measuring.measure(others, whole=False)] == []


async def test_what_is_too_low_is_found() -> None:
    style = Style.from_color(Color.parse("#ffffff"), Color.parse("#f1f2f0"))
    shown = measuring.Shown("a pane", style, GRAPHIC, "╭", behind=False)
    found = [one.colours for one in measuring.low("t", shown, written=True)]
    assert found == ["as written"]


@pytest.mark.parametrize("ground", ["#12161C", "#1A2029", "#252D39"])
def test_a_dark_grey_stays_grey_with_256_colours(ground: str) -> None:
    red, green, blue = nearest(TextualColor.parse(ground).rgb, ColorSystem.EIGHT_BIT).get_truecolor()
    assert red == green == blue
    assert red < 0x40


def test_grounds_of_a_theme_stay_apart_with_256_colours() -> None:
    for theme in themes.THEMES[:2]:
        grounds = [str(ground) for ground in (theme.background, theme.surface, theme.panel)]
        shown = {nearest(TextualColor.parse(ground).rgb, ColorSystem.EIGHT_BIT).number for ground in grounds}
        assert len(shown) == 3, theme.name


@pytest.mark.parametrize("system", list(measuring.SYSTEMS.values()), ids=list(measuring.SYSTEMS))
def test_any_text_is_readable_on_any_ground(system: ColorSystem) -> None:
    steps = range(0, 256, 85)
    colours = [(red, green, blue) for red in steps for green in steps for blue in steps]
    for ground in colours:
        for ink in colours[::5]:
            assert contrast(*readable(ink, ground, TEXT, system)) >= TEXT, (ink, ground)


def test_what_can_be_read_is_left_as_it_is() -> None:
    colours = ReadableColours()
    style = Style(bold=True, color="#e4e7eb", bgcolor="#12161c")
    line = [Segment("word ", style), Segment("│", Style(color="#7e8b9e", bgcolor="#12161c")), Segment("own", None)]
    assert colours.apply(line, TextualColor.parse("#12161c")) == line


def test_colours_of_the_terminal_itself_are_left_as_they_are() -> None:
    colours = ReadableColours()
    colours.system = ColorSystem.STANDARD
    line = [Segment("word", Style(color="default", bgcolor="default"))]
    assert colours.apply(line, TextualColor.parse("#000000")) == line


def test_greys_stay_greys_with_16_colours() -> None:
    for part in range(0, 256, 15):
        shown = readable((part, part, part), (255 - part,) * 3, TEXT, ColorSystem.STANDARD)
        assert all(colour.number in {0, 7, 8, 15} for colour in shown), part


def test_reversed_text_is_readable_too() -> None:
    colours = ReadableColours()
    colours.system = ColorSystem.EIGHT_BIT
    line = [Segment("word", Style(reverse=True, color="#1a2029", bgcolor="#12161c"))]
    (shown,) = colours.apply(line, TextualColor.parse("#12161c"))
    assert shown.style is not None and shown.style.reverse
    assert shown.style.color is not None and shown.style.bgcolor is not None
    assert contrast(shown.style.color, shown.style.bgcolor) >= TEXT
