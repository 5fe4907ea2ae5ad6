"""Colours as the terminal has them: the nearest of its 256 or 16, and never a text that its ground swallows.

Rich rounds a colour to the nearest corner of the cube of 256, so that a dark grey becomes navy, and to one of 16
without a look at what lies behind it. Here ground and text are chosen together, and a text whose contrast is too low
goes towards black or white until it can be read. Themes are measured without this; `scripts/contrast.py` does both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from rich._palettes import EIGHT_BIT_PALETTE, STANDARD_PALETTE
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual import constants
from textual.app import App
from textual.color import Color as TextualColor
from textual.filter import LineFilter
from textual.theme import BUILTIN_THEMES, Theme

Rgb = tuple[int, int, int]

TEXT, GRAPHIC = 4.5, 3.0  # WCAG 2.1, level AA: text (1.4.3), and borders, marks and what shows the focus (1.4.11)
UNSEEN = 1.05  # of a line that is only there to keep its place free
_STEPS = 20  # from a colour to black or white
# By Rich's names.
_SYSTEMS = {"standard": ColorSystem.STANDARD, "windows": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT}
_BOX = range(0x2500, 0x2580)
_BLOCKS = range(0x2580, 0x25A0)

_STANDARD: tuple[Rgb, ...] = tuple((one[0], one[1], one[2]) for one in (STANDARD_PALETTE[n] for n in range(16)))
# What 16 colours look like differs from terminal to terminal; these are xterm's, Rich's are those of the Linux console.
_XTERM: tuple[Rgb, ...] = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255),
    (255, 255, 255),
)  # fmt: skip


def luminance(colour: Rgb) -> float:
    """The relative luminance of WCAG 2.1."""

    def linear(part: int) -> float:
        value = part / 255
        return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)

    red, green, blue = colour
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def rgb_contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio of WCAG 2.1: from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def looks(colour: Color) -> tuple[Rgb, ...]:
    """What the colour looks like: of the first 16 on more than one terminal."""
    if colour.triplet is not None:
        return ((colour.triplet.red, colour.triplet.green, colour.triplet.blue),)
    number = colour.number or 0
    if number < 16:
        return _STANDARD[number], _XTERM[number]
    found = EIGHT_BIT_PALETTE[number]
    return ((found[0], found[1], found[2]),)


@lru_cache(4096)
def contrast(one: Color, other: Color) -> float:
    """The contrast ratio, on the terminal where it is lowest."""
    return min(rgb_contrast(a, b) for a, b in zip(looks(one), looks(other), strict=False))


@cache
def _ground_numbers() -> tuple[int, ...]:
    """Which of 16 colours something can be read on, whichever terminal it is."""
    colours = [Color.from_ansi(number) for number in range(16)]
    return tuple(
        number for number, ground in enumerate(colours) if any(contrast(ink, ground) >= TEXT for ink in colours)
    )


def _distance(one: Rgb, other: Rgb) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@lru_cache(4096)
def nearest(colour: Rgb, system: ColorSystem, *, ground: bool = False) -> Color:
    """The colour that is nearest to this among those that the terminal has.

    Args:
        ground: whether something is to be read on it.
    """
    if system is ColorSystem.TRUECOLOR:
        return Color.from_rgb(*colour)
    if system is ColorSystem.EIGHT_BIT:  # the first 16 look different everywhere
        return Color.from_ansi(min(range(16, 256), key=lambda n: _distance(colour, looks(Color.from_ansi(n))[0])))
    numbers = _ground_numbers() if ground else range(16)
    return Color.from_ansi(min(numbers, key=lambda n: _distance(colour, _STANDARD[n])))


@lru_cache(4096)
def readable(ink: Rgb, ground: Rgb, least: float, system: ColorSystem) -> tuple[Color, Color]:
    """Both as the terminal has them; the ink as near to what it was as is readable."""
    behind = nearest(ground, system, ground=True)
    if least == GRAPHIC and rgb_contrast(ink, ground) < UNSEEN:
        return behind, behind
    shown = nearest(ink, system)
    if contrast(shown, behind) >= least:
        return shown, behind
    pole = 255 if rgb_contrast((255, 255, 255), looks(behind)[0]) > rgb_contrast((0, 0, 0), looks(behind)[0]) else 0
    for step in range(1, _STEPS + 1):
        red, green, blue = (round(part + (pole - part) * step / _STEPS) for part in ink)
        shown = nearest((red, green, blue), system)
        if contrast(shown, behind) >= least:
            break
    return shown, behind


def least_contrast(text: str) -> float:
    """What the text needs: nothing for spaces, less for lines and blocks than for letters."""
    marks = {ord(mark) for mark in text if not mark.isspace()}
    if not marks:
        return 0.0
    return GRAPHIC if all(mark in _BOX or mark in _BLOCKS for mark in marks) else TEXT


@lru_cache(4096)
def readable_style(style: Style, background: Rgb, least: float, system: ColorSystem) -> Style:
    """The style as the terminal can show it; as it is where it rests on the terminal's own colours.

    Args:
        background: what lies behind where the style says nothing.
        least: the contrast that text in it needs; 0: it holds none.
    """
    behind = background if style.bgcolor is None else style.bgcolor.triplet
    if behind is None or (style.color is not None and style.color.triplet is None):
        return style
    red, green, blue = behind
    ground: Rgb = (red, green, blue)
    if style.color is None:
        return style + Style.from_color(None, nearest(ground, system, ground=True))
    red, green, blue = style.color.triplet or (0, 0, 0)
    ink: Rgb = (red, green, blue)
    if style.reverse:
        shown, under = readable(ground, ink, least, system)
        return style + Style.from_color(under, shown)
    return style + Style.from_color(*readable(ink, ground, least, system))


class ReadableColours(LineFilter):
    """Shows every line in the colours that the terminal has, with contrast enough."""

    def __init__(self) -> None:
        super().__init__()
        self.system = ColorSystem.TRUECOLOR

    def of(self, app: App[Any]) -> Iterator[ReadableColours]:
        """This filter, for the colours of the terminal that the app runs in; nothing if it is turned off."""
        if not app.is_headless or constants.COLOR_SYSTEM != "auto":  # a picture has all colours, unless asked for less
            self.system = _SYSTEMS.get(app.console.color_system or "", ColorSystem.TRUECOLOR)
        if self.enabled:
            yield self

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:
        """The segments with other colours where that is needed."""
        ground = background.rgb
        return [
            segment
            if segment.style is None
            else Segment(
                segment.text,
                readable_style(segment.style, ground, self._least(segment.text), self.system),
                segment.control,
            )
            for segment in segments
        ]

    def _least(self, text: str) -> float:
        """Blocks make up bars and frames whose other parts are spaces: in full colour they stay one with these."""
        least = least_contrast(text)
        if self.system is ColorSystem.TRUECOLOR and any(ord(mark) in _BLOCKS for mark in text):
            return 0.0 if least == GRAPHIC else least
        return least


# The themes: dark, light and high contrast. Nothing is shown by colour alone.

DARK, LIGHT, HIGH_CONTRAST = "atomr-dark", "atomr-light", "atomr-high-contrast"

_ROLES = (
    "primary", "secondary", "accent", "success", "warning", "error", "foreground", "background", "surface", "panel",
)  # fmt: skip


def _theme(name: str, colours: str, variables: dict[str, str], **others: Any) -> Theme:
    """A theme of these colours, in the order of `_ROLES`."""
    roles: dict[str, Any] = dict(zip(_ROLES, colours.split(), strict=True))
    return Theme(name=name, **roles, variables=variables, **others)


THEMES = (
    _theme(
        DARK,
        "#6FB1FF #9D9BF4 #4FD1C5 #7BD88F #F2C14E #FF7B72 #E4E7EB #12161C #1A2029 #252D39",
        {
            "border-blurred": "#7E8B9E", "footer-key-foreground": "#4FD1C5", "input-selection-background": "#2F5C92",
            "block-cursor-foreground": "#0B0E12", "block-cursor-blurred-background": "#2B3C51",
            "scrollbar": "#7E8B9E", "scrollbar-background": "#1A2029",
        },
    ),
    _theme(
        LIGHT,
        "#0B57A4 #5246B5 #00695F #1B6B2F #7F5300 #AF1F1B #1B2129 #FBFBF9 #F1F2F0 #E2E5E6",
        {
            "border-blurred": "#6F7983", "footer-key-foreground": "#00695F", "input-selection-background": "#A9CBEE",
            "block-cursor-foreground": "#FFFFFF", "block-cursor-blurred-background": "#CBDCEE",
            "scrollbar": "#6F7983", "scrollbar-background": "#E2E5E6",
        },
        dark=False,
    ),
    _theme(
        HIGH_CONTRAST,
        "#8CC8FF #D0BCFF #FFE600 #5CFF7A #FFC400 #FF9C94 #FFFFFF #000000 #000000 #141414",
        {
            # What other themes show faint is as readable here as the rest.
            "text-muted": "auto 92%", "text-disabled": "auto 75%",
            "foreground-muted": "#EDEDED", "foreground-disabled": "#C4C4C4",
            "border": "#FFE600", "border-blurred": "#FFFFFF", "footer-key-foreground": "#FFE600",
            "block-cursor-background": "#FFE600", "block-cursor-foreground": "#000000",
            "block-cursor-text-style": "bold", "input-cursor-background": "#FFE600",
            "input-cursor-foreground": "#000000", "input-selection-background": "#0050A0",
            "scrollbar": "#FFFFFF", "scrollbar-background": "#202020",
        },
        luminosity_spread=0.1, text_alpha=1.0,
    ),
)  # fmt: skip


def _ansi(background: str, foreground: str, colours: str) -> TerminalTheme:
    def parts(colour: str) -> tuple[int, int, int]:
        return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)

    return TerminalTheme(parts(background), parts(foreground), [parts(colour) for colour in colours.split()])


# What the eight named colours are: black, red, green, yellow, blue, magenta, cyan, white. Textual's own are too pale on
# a light background.
ANSI_DARK = _ansi("#12161C", "#E4E7EB", "#5B6675 #FF8A82 #7BD88F #F2C14E #8FC1FF #E3A6F2 #5FD9CE #E4E7EB")
ANSI_LIGHT = _ansi("#FBFBF9", "#1B2129", "#1B2129 #AF1F1B #1B6B2F #7F5300 #0B57A4 #8A2A86 #00695F #59626B")


def register(app: App[Any]) -> None:
    """Make the themes known to an app, and what named colours look like in it."""
    for theme in THEMES:
        app.register_theme(theme)
    app.ansi_theme_dark = ANSI_DARK
    app.ansi_theme_light = ANSI_LIGHT


def names() -> tuple[str, ...]:
    """The names of all themes, this program's first."""
    return (*(theme.name for theme in THEMES), *sorted(BUILTIN_THEMES))


def choose(name: str, environment: Mapping[str, str] | None = None) -> str:
    """The theme to begin with.

    Args:
        name: what the settings say. Empty, or a theme that there is not: high contrast where NO_COLOR is set, because
            Textual then shows greys alone and these lie the farthest apart; light where the terminal says that its
            background is light (COLORFGBG); else dark.
        environment: the environment; None: the one of this process.
    """
    environment = os.environ if environment is None else environment
    if name in names():
        return name
    if "NO_COLOR" in environment:
        return HIGH_CONTRAST
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in {"7", "15"} else DARK
