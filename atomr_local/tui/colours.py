"""Colours as the terminal has them: the nearest of its 256 or 16, and never a text that its ground swallows.

Rich rounds a colour to the nearest corner of the cube of 256, so that a dark grey becomes navy, and to one of 16
without a look at what lies behind it. Here ground and text are chosen together, and a text whose contrast is too low
goes towards black or white until it can be read. Themes are measured without this; `scripts/contrast.py` does both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from rich._palettes import EIGHT_BIT_PALETTE, STANDARD_PALETTE
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual import constants
from textual.app import App
from textual.color import Color as TextualColor
from textual.filter import LineFilter

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
