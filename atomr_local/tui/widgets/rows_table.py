"""Tables that always draw rows at their current width, and a table of query rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text
from textual.widgets import DataTable

from atomr_local.sanitize import sanitize_line

_WIDEST = 200  # characters of one value


class MeasuredTable(DataTable[Text]):
    """A table drawn again when its columns have been measured.

    The library measures new rows when the table next idles, and keeps the lines it drew before at the old widths: rows
    that a busy machine draws in between would stay cut at the widths of their headings.
    """

    def watch_virtual_size(self) -> None:
        self.notify_style_update()


class RowsTable(MeasuredTable):
    def __init__(self, id: str) -> None:
        super().__init__(id=id, zebra_stripes=True, cursor_type="row")

    def show(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Show these rows instead of those shown."""
        self.clear(columns=True)
        for name in columns:
            self.add_column(Text(sanitize_line(name)))
        self.add_rows([Text(sanitize_line(value)[:_WIDEST]) for value in row] for row in rows)
