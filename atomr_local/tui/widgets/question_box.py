"""The question box: grows with pasted text; up and down recall earlier questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable, Input, TextArea
from textual.widgets.text_area import Edit, EditResult

from atomr_local.system.sanitize import sanitize, sanitize_line

# Fields that take in nothing which could drive the terminal, and take every key in its turn.


async def run_in_turn(field: Input | TextArea, event: events.Key) -> None:
    """Run the field's own binding of this key now.

    The library looks bindings up once the key has bubbled up to the app. On a busy machine the letters typed after it
    are in the field by then: Ctrl+U deleted what was typed after it, and Enter asked it.
    """
    if event.is_printable:
        return
    bindings = field._bindings.copy()
    bindings.apply_keymap(field.app._keymap)
    for binding in bindings.key_to_bindings.get(event.key, ()):
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return


class CleanInput(Input):
    """Sanitises what comes into it, however it comes: typed, pasted or set."""

    async def _on_key(self, event: events.Key) -> None:
        await run_in_turn(self, event)

    def validate_value(self, value: str) -> str:
        return sanitize(value).replace("\t", " ").replace("\n", " ")


class CleanArea(TextArea):
    """Sanitises what comes into it, however it comes: loaded, typed, pasted or set."""

    async def _on_key(self, event: events.Key) -> None:
        await run_in_turn(self, event)

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(sanitize(text), language)

    def edit(self, edit: Edit) -> EditResult:
        clean = sanitize(edit.text)
        return super().edit(edit if clean == edit.text else replace(edit, text=clean))


_FIRST = "Ask a question and press Enter"
_LONGEST_ASKED = 300  # characters


class QuestionBox(CleanArea):
    """Where questions are typed. It keeps the focus after Enter, so that the next question can be typed at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Ask", tooltip="Ask the question", id="question.ask"),
        Binding("escape", "leave", "Steps", tooltip="Go to the steps, where letters are keys",
                id="question.leave"),
        Binding("shift+enter,ctrl+j", "newline", "New line", show=False, tooltip="Begin a new line",
                id="question.line"),
        Binding("up", "earlier", "Earlier", show=False, tooltip="The question asked before", id="question.earlier"),
        Binding("down", "later", "Later", show=False, tooltip="The question asked after", id="question.later"),
    ]  # fmt: skip

    @dataclass
    class QuestionSubmitted(Message):
        """The user wants this answered."""

        question: str

    def __init__(self) -> None:
        super().__init__(
            id="question", placeholder=_FIRST, highlight_cursor_line=False, tab_behavior="focus", compact=True
        )
        self._asked: list[str] = []
        self._place = 0

    @property
    def value(self) -> str:
        return self.text

    @value.setter
    def value(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)

    def show_asked(self, question: str) -> None:
        """Name the question on the screen while nothing is typed; "": none is there."""
        asked = sanitize_line(question[: 2 * _LONGEST_ASKED])[:_LONGEST_ASKED]
        self.placeholder = Content(f"Asked: {asked} · Type the next question") if asked else _FIRST

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "leave" or self.placeholder != _FIRST

    def action_leave(self) -> None:
        self.screen.focus_next()  # the steps are the next that can have it

    def give_back(self, question: str) -> None:
        """Put back a question that was not asked, unless another one is typed."""
        if not self.value.strip():
            self.value = question

    def recall(self, asked: Sequence[str]) -> None:
        """Questions of before, the oldest first, to go back to."""
        self._asked = [*asked, *self._asked]
        self._place = len(self._asked)

    def remember(self, question: str) -> None:
        if not self._asked or self._asked[-1] != question:
            self._asked.append(question)
        self._place = len(self._asked)

    def go_to(self) -> None:
        """Take the focus at once; what is typed is selected in its turn among the keys that are on their way."""
        self.screen.set_focus(self)
        self.call_later(self.select_all)

    def action_submit(self) -> None:
        self.post_message(self.QuestionSubmitted(self.text))
        self.value = ""

    def action_newline(self) -> None:
        self.insert("\n")

    def action_earlier(self) -> None:
        if self.cursor_at_first_line:
            self._go(self._place - 1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        if self.cursor_at_last_line:
            self._go(self._place + 1)
        else:
            self.action_cursor_down()

    def _go(self, place: int) -> None:
        if not self._asked:
            return
        self._place = max(0, min(place, len(self._asked)))
        self.value = self._asked[self._place] if self._place < len(self._asked) else ""


# Tables that always draw rows at their current width, and a table of query rows.

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
