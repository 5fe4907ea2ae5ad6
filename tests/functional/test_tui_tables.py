"""Tables show their rows whole, whatever was drawn before they were measured."""

from __future__ import annotations

from rich.text import Text
from support.tui.screens import screen_text
from textual.app import App, ComposeResult

from atomr_local.tui.widgets.question_box import MeasuredTable, RowsTable


class Table(App[None]):
    def compose(self) -> ComposeResult:
        yield MeasuredTable(id="first")
        yield RowsTable(id="second")


async def test_rows_drawn_before_they_were_measured_are_drawn_again_whole() -> None:
    app = Table()
    async with app.run_test(size=(80, 24)) as pilot:
        for table in app.query(MeasuredTable):
            table.styles.height = 5
        first, second = app.query_one("#first", MeasuredTable), app.query_one(RowsTable)
        first.add_columns("a", "b")
        second.show(["a", "b"], [])
        await pilot.pause()
        first.add_row(Text("Ada Lovelace"), Text("mathematician"))
        second.show(["a", "b"], [("Charles Babbage", "inventor")])
        for table in (first, second):  # a screen that draws now has only the widths of the headings
            assert "Ada Love" not in table.render_line(1).text
            assert "Charles B" not in table.render_line(1).text
        await pilot.pause()
        for text in ("Ada Lovelace", "mathematician", "Charles Babbage", "inventor"):
            assert text in screen_text(app)
