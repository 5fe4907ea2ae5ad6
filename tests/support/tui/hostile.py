"""Hostile text, and what a screen that shows it may not hold.

Each place of the screen that shows outside text is given `hostile(tag)` with a tag of its own: that `tag[b]` is seen
proves that the place was reached, and that the text was taken for no markup.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from textual.app import App

# What drives a terminal: every piece is either gone or made harmless before it is shown.
SEQUENCES = (
    "\x1b[2J\x1b[31m\x1b[5n\x1b[?1049l\x9b31m"  # CSI, in seven bits and in eight
    "\x1b]0;evil title\x07\x1b]52;c;aGFja2Vk\x07\x9d52;c;aGFja2Vk\x9c"  # OSC: title, clipboard
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\"  # OSC 8: a link
    "\x1bP1;2q#0\x1b\\\x1b_G,s=1\x1b\\\x1bc\x1b(0\x90q\x9c\x84\x85\x8d"  # DCS, APC, reset, character set, C1
)
# What deceives the reader: bidirectional controls, invisible and private characters, what is no character at all.
DECEPTIONS = (
    "\u202eesrever\u202c\u2066x\u2069\u200e\u200f\u061c\u200b\u2060\ufeff\u00ad\U000e0041\ue000\U0010fffd\ufffe\u0378"
)
# What Rich, Textual or Markdown would read as markup, links or actions.
MARKUP = (
    "[bold red]x[/] [/nope] [@click=app.quit]y[/] [link=http://evil.example]z[/link] [#ff0000 on [ ] [[[ \\[b] "
    "**b** *i* `c` [t](http://evil.example) ![i](http://evil.example/i.png) <http://evil.example> "
    "http://evil.example www.evil.example me@evil.example <b>h</b> &#27;[2J &lt; ~~s~~ [^1] [x]: http://evil.example"
)
LINES = (
    "\x00\x07\x08\x7f\x0b\x0c\u2028\u2029\r\n# heading\n\n- item\n```\ncode\n| a | b |\n|---|---|\n\tt\rreturn\n\n---\n"
)
# A short one, and what may not be left of it.
HOSTILE = (
    "\x1b[2J\x1b]52;c;aGFja2Vk\x07\x9b31m\x1b]8;;http://evil\x1b\\click\u202eesrever\u2066"
    "[bold red]x[/][@click=app.quit]y[/]"
)
FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def hostile(tag: str, *, repeat: int = 0) -> str:
    """Text that holds everything above; `tag[b]` comes first of what is left of it.

    Args:
        repeat: so many characters more, for a place that nobody expected a long text in.
    """
    return f"\x1b[2J{tag}[b] {SEQUENCES}{DECEPTIONS} {MARKUP} {LINES}{'W' * repeat}\x1b]2;never ended"


def one_line(tag: str) -> str:
    """As `hostile`, of what can stand in the name of a file: no slash, no null, no surrogate, at most 255 bytes."""
    return f"{tag}[b] \x1b[2J\x1b]52;c;aGFja2Vk\x07\x9b31m\u202eesr\u2066\u200b\ue000[@click=app.quit]y[] **b** <i>\n\t\x7f"


def forbidden(text: str) -> list[str]:
    """The characters of a shown text that a terminal could obey, or that nobody can see."""
    kept = {"\u200c", "\u200d"}
    return sorted(
        {
            repr(character)
            for character in text
            if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} and character not in kept
        }
    )


def segments(app: App[Any]) -> Iterator[Any]:
    for strip in app.screen._compositor.render_strips():
        yield from strip


def shown(app: App[Any]) -> str:
    """The lines that a terminal would show."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def assert_harmless(app: App[Any], *tags: str) -> None:
    """Nothing of the screen drives the terminal or is a link of someone else's, and the tagged texts are there."""
    for segment in segments(app):
        assert not forbidden(segment.text), (forbidden(segment.text), segment.text)
        if segment.style is not None:
            assert segment.style.link is None, segment
            action = str(segment.style.meta.get("@click", ""))
            assert not any(word in action for word in ("quit", "evil", "http", "open_url")), segment
    text = shown(app)
    missing = [tag for tag in tags if f"{tag}[b]" not in text]
    assert not missing, f"not shown as text: {missing}"
