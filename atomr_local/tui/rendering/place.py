"""The location of a piece of evidence: a place in an article, a graph query, or a web address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
        names, rows = table_of(locator.get("rows", ()))
        query = highlighted(str(locator["sparql"]))
        return Group(query, _table(names, rows)) if rows else query
    return Text()


def table_of(rows: Iterable[object]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a locator's rows, in the order in which the names appear."""
    kept = [row for row in rows if isinstance(row, Mapping)]
    names = list(dict.fromkeys(str(name) for row in kept for name in row))
    return names, [[str(row.get(name, "")) for name in names] for row in kept]


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    table = Table(show_edge=False, pad_edge=False)
    for name in names:
        table.add_column(Text(sanitize_line(name)), overflow="fold")
    for row in rows[:_ROWS_SHOWN]:
        table.add_row(*(Text(sanitize_line(value)) for value in row))
    if len(rows) > _ROWS_SHOWN:
        return Group(table, Text(f"… and {len(rows) - _ROWS_SHOWN} more rows", "dim"))
    return table
