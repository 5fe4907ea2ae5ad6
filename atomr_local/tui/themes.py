"""The themes: dark, light and high contrast. Nothing is shown by colour alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme

DARK, LIGHT, HIGH_CONTRAST = "atomr-dark", "atomr-light", "atomr-high-contrast"

THEMES = (
    Theme(
        name=DARK,
        primary="#6FB1FF",
        secondary="#9D9BF4",
        accent="#4FD1C5",
        success="#7BD88F",
        warning="#F2C14E",
        error="#FF7B72",
        foreground="#E4E7EB",
        background="#12161C",
        surface="#1A2029",
        panel="#252D39",
        variables={
            "border-blurred": "#7E8B9E",
            "footer-key-foreground": "#4FD1C5",
            "block-cursor-foreground": "#0B0E12",
            "block-cursor-blurred-background": "#2B3C51",
            "input-selection-background": "#2F5C92",
            "scrollbar": "#7E8B9E",
            "scrollbar-background": "#1A2029",
        },
    ),
    Theme(
        name=LIGHT,
        dark=False,
        primary="#0B57A4",
        secondary="#5246B5",
        accent="#00695F",
        success="#1B6B2F",
        warning="#7F5300",
        error="#AF1F1B",
        foreground="#1B2129",
        background="#FBFBF9",
        surface="#F1F2F0",
        panel="#E2E5E6",
        variables={
            "border-blurred": "#6F7983",
            "footer-key-foreground": "#00695F",
            "block-cursor-foreground": "#FFFFFF",
            "block-cursor-blurred-background": "#CBDCEE",
            "input-selection-background": "#A9CBEE",
            "scrollbar": "#6F7983",
            "scrollbar-background": "#E2E5E6",
        },
    ),
    Theme(
        name=HIGH_CONTRAST,
        primary="#8CC8FF",
        secondary="#D0BCFF",
        accent="#FFE600",
        success="#5CFF7A",
        warning="#FFC400",
        error="#FF9C94",
        foreground="#FFFFFF",
        background="#000000",
        surface="#000000",
        panel="#141414",
        luminosity_spread=0.1,
        text_alpha=1.0,
        variables={
            # What other themes show faint is as readable here as the rest.
            "text-muted": "auto 92%",
            "text-disabled": "auto 75%",
            "foreground-muted": "#EDEDED",
            "foreground-disabled": "#C4C4C4",
            "border": "#FFE600",
            "border-blurred": "#FFFFFF",
            "footer-key-foreground": "#FFE600",
            "block-cursor-background": "#FFE600",
            "block-cursor-foreground": "#000000",
            "block-cursor-text-style": "bold",
            "input-cursor-background": "#FFE600",
            "input-cursor-foreground": "#000000",
            "input-selection-background": "#0050A0",
            "scrollbar": "#FFFFFF",
            "scrollbar-background": "#202020",
        },
    ),
)


def _ansi(background: str, foreground: str, colours: list[str]) -> TerminalTheme:
    def parts(colour: str) -> tuple[int, int, int]:
        return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)

    return TerminalTheme(parts(background), parts(foreground), [parts(colour) for colour in colours])


# What the eight named colours are: black, red, green, yellow, blue, magenta, cyan, white. Textual's own are too pale on
# a light background.
ANSI_DARK = _ansi(
    "#12161C",
    "#E4E7EB",
    ["#5B6675", "#FF8A82", "#7BD88F", "#F2C14E", "#8FC1FF", "#E3A6F2", "#5FD9CE", "#E4E7EB"],
)
ANSI_LIGHT = _ansi(
    "#FBFBF9",
    "#1B2129",
    ["#1B2129", "#AF1F1B", "#1B6B2F", "#7F5300", "#0B57A4", "#8A2A86", "#00695F", "#59626B"],
)


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
