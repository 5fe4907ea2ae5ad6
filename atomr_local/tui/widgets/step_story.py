"""What a step thought, did, saw and weighed, as it stands in its pane: untrusted, so sanitised and bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from atomr_local.reasoning.trace.step_details import bounded, corrected_text
from atomr_local.reasoning.trace.words import RATING_MEANS, action_text, origin_text, rating_text
from atomr_local.sanitize import sanitize
from atomr_local.tui.rendering import short_line
from atomr_local.tui.widgets.step_text import field

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.events import NodeFinished

_THOUGHT = 600  # characters
_OBSERVATION = 4_000
_HEAD = 100
_CANDIDATES = 20


def thought_and_action(result: NodeFinished) -> list[Text]:
    """A line for each that there is; of a statement that was corrected, what it was too."""
    lines = []
    if new := corrected_text(result):
        lines += [
            field("corrected", new, "bold"),
            field("first written", bounded(result.corrected_from or ""), "strike"),
        ]
    elif result.thought:
        lines.append(field("thought", bounded(result.thought, _THOUGHT)))
    if result.action:
        lines.append(field("action", action_text(result.action), "bold"))
    return lines


def observation_head(text: str) -> str:
    """The line that the observation folds to."""
    return f"observation: {bounded(text, _HEAD)}"


def observation_body(text: str) -> Text:
    """The observation as the model saw it, up to a bound."""
    shown = Text(sanitize(text[:_OBSERVATION]))
    if (left := len(text) - _OBSERVATION) > 0:
        shown.append(f"\n… and {left:,} more characters", "dim")
    return shown


def weighed_head(candidates: Sequence[Mapping[str, Any]]) -> str:
    """The line that the answers fold to."""
    return f"answers weighed: {len(candidates)}"


def weighed_body(candidates: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The answers as a table, best first, and what the ratings mean."""
    table = Table(show_edge=False, pad_edge=False)
    for name in ("answer", "rating", "from", "evidence"):
        table.add_column(Text(name), overflow="fold", justify="right" if name == "rating" else "left")
    for place, item in enumerate(candidates[:_CANDIDATES]):
        style = "bold" if place == 0 else ""
        table.add_row(
            Text(short_line(str(item.get("answer", ""))), style),
            Text(rating_text(item.get("score"))),
            Text(origin_text(str(item.get("origin", "")))),
            Text(", ".join(short_line(str(name), 12) for name in item.get("evidence", ())[:_CANDIDATES]) or "–"),
        )
    notes = [Text(f"rating: {RATING_MEANS}", "dim")]
    if (left := len(candidates) - _CANDIDATES) > 0:
        notes.insert(0, Text(f"… and {left:,} more", "dim"))
    return Group(table, *notes)
