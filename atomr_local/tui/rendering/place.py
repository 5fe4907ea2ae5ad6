"""Where a piece of evidence stands: the place in an article, a query of the graph, a web address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.rendering.sparql import highlighted

_ROWS_SHOWN = 20


def place_of(locator: Mapping[str, Any]) -> RenderableType:
    """The place in words, sanitised; of a graph query its rows too."""
    if "passage" in locator:
        place = f"passage {sanitize_line(str(locator['passage']))}"
        span = locator.get("span")
        if isinstance(span, list | tuple) and len(span) == 2:
            place += f", characters {sanitize_line(str(span[0]))}–{sanitize_line(str(span[1]))}"
        return Text(place, "dim")
    if "url" in locator:
        return Text(sanitize_line(f"{locator['url']}, retrieved {locator.get('retrieved_at', '')}"), "blue")
    if "sparql" in locator:
        rows = [row for row in locator.get("rows", ()) if isinstance(row, Mapping)]
        query = highlighted(str(locator["sparql"]))
        return Group(query, _table(rows)) if rows else query
    return Text()


def _table(rows: list[Mapping[str, Any]]) -> RenderableType:
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(show_edge=False, pad_edge=False)
    for name in names:
        table.add_column(Text(sanitize_line(str(name))), overflow="fold")
    for row in rows[:_ROWS_SHOWN]:
        table.add_row(*(Text(sanitize_line(str(row.get(name, "")))) for name in names))
    if len(rows) > _ROWS_SHOWN:
        return Group(table, Text(f"… and {len(rows) - _ROWS_SHOWN} more rows", "dim"))
    return table
