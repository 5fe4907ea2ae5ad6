"""Dialogs about a question: one asked before, the present one as it is meant, one asked while another runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.assistant.history.store import recall
from atomr_local.errors import AtomrError, InputError
from atomr_local.sources.text_parts import parse_within, typed_conditions, typed_line
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.rendering import short_line
from atomr_local.tui.screens.dialogs import ButtonText, ChoiceDialog
from atomr_local.tui.widgets.question_box import CleanInput

Busy = Literal["wait", "stop", "back"]
_Given = TypeVar("_Given")
_SHOWN = 50
_LONGEST = 200  # characters of a question that a window shows


class RecallScreen(ModalScreen[str | None]):
    """Searches the questions asked before."""

    DEFAULT_CSS = """
    RecallScreen { align: center top; }
    #recall { width: 90; max-width: 96%; height: 20; max-height: 80%; margin-top: 1; background: $surface; border: round $accent; }
    #recall-list { height: 1fr; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", id="recall.close"),
        Binding("down", "cursor(1)", "Next", priority=True, show=False, id="recall.next"),
        Binding("up", "cursor(-1)", "Previous", priority=True, show=False, id="recall.previous"),
        Binding("enter", "choose", "Take", priority=True, tooltip="Copy it to the question box", id="recall.take"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._questions: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="recall") as body:
            body.border_title = "Questions asked before"
            yield CleanInput(placeholder="Type words of the question", id="recall-search")
            yield OptionList(id="recall-list", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._search("")

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        self._search(message.value)

    def _search(self, containing: str) -> None:
        then = partial(self._found, containing)
        failed = partial(self._found, containing, [])
        in_background(self, partial(recall, _SHOWN, containing), then, failed=failed, group="recall", exclusive=True)

    def _found(self, containing: str, questions: list[str], error: AtomrError | None = None) -> None:
        if containing != self.query_one(Input).value:
            return
        self._questions = questions
        options = self.query_one(OptionList)
        options.set_options([Option(Text(sanitize_line(question))) for question in questions])
        if questions:
            options.highlighted = 0
        else:
            text = error.message if error is not None else "No question asked before has these words."
            options.set_options([Option(Text(sanitize_line(text), "dim"), disabled=True)])

    def action_cursor(self, by: int) -> None:
        options = self.query_one(OptionList)
        (options.action_cursor_down if by > 0 else options.action_cursor_up)()

    def action_choose(self) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None and place < len(self._questions):
            self.dismiss(self._questions[place])

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        self.action_choose()


class _LineDialog(ModalScreen[_Given]):
    """One line to edit between two texts."""

    DEFAULT_CSS = """
    _LineDialog { align: center middle; }
    _LineDialog > Vertical { width: 90; max-width: 96%; height: auto; padding: 0 1; background: $surface; border: round $accent; }
    """  # noqa: E501
    HEADING = ABOVE = BELOW = EXAMPLE = ""

    def __init__(self, line: str) -> None:
        super().__init__()
        self._first = sanitize_line(line)

    def compose(self) -> ComposeResult:
        with Vertical() as body:
            body.border_title = self.HEADING
            if self.ABOVE:
                yield Static(Text(self.ABOVE, "dim"))
            yield CleanInput(self._first, select_on_focus=False, placeholder=self.EXAMPLE)
            yield Static(Text(self.BELOW, "dim"), id="told")

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.focus()
        line.cursor_position = len(line.value)

    @on(Input.Submitted)
    def action_take(self) -> None:
        self.take(self.query_one(Input).value.strip())

    def take(self, line: str) -> None:
        """Close with what the line says."""
        raise NotImplementedError


class RewordScreen(_LineDialog[str | None]):
    """Gives the question as it is meant; None when it is left as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", priority=True, tooltip="Leave the question as it was", id="reword.close"),
        Binding("enter", "take", "Ask", priority=True, tooltip="Ask the question as it stands here", id="reword.ask"),
    ]
    HEADING = "What is meant"
    BELOW = "Enter asks again as it stands here. Escape leaves it as it was."

    def __init__(self, question: str, understood: str) -> None:
        """Edit `understood`; `question` is what was typed."""
        super().__init__(understood)
        self.ABOVE = f"Typed: {sanitize_line(question)}"

    def take(self, line: str) -> None:
        if line:
            self.dismiss(line)


class PartScreen(_LineDialog[tuple[str, ...] | None]):
    """Gives the part of the text index to ask, () for all of it; None when it is left as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", priority=True, tooltip="Leave the part as it was", id="part.close"),
        Binding("enter", "take", "Take", priority=True, tooltip="Ask in this part from now on", id="part.take"),
    ]
    HEADING = "Ask only a part of the text index"
    EXAMPLE = "hr/  *.pdf  #tag  after:2024-05  before:2024-06"
    BELOW = "File, folder, pattern, #tag, after: or before: a date. Quotes around blanks. Empty: all of it."

    def __init__(self, within: Sequence[str]) -> None:
        super().__init__(typed_line(within))

    def take(self, line: str) -> None:
        try:
            part = parse_within(typed_conditions(line))
        except InputError as error:
            self.query_one("#told", Static).update(Text(sanitize_line(f"{error.message}. {error.hint}")))
            return
        self.dismiss(part.given if part is not None else ())


class BusyScreen(ChoiceDialog[Busy]):
    """Asked when a question is asked while another one runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "dismiss('wait')", "Ask after it", tooltip="The question waits its turn", id="busy.wait"),
        Binding("s", "dismiss('stop')", "Stop and ask", tooltip="Stop the running question", id="busy.stop"),
        Binding("escape", "dismiss('back')", "Back", tooltip="Leave it in the box", id="busy.back"),
    ]
    DEFAULT_CSS = "BusyScreen > #dialog { width: 76; border: round $accent; }"

    def __init__(self, running: str, asked: str) -> None:
        text = Text.assemble((short_line(running, _LONGEST), "dim"), f"\nNext: {short_line(asked, _LONGEST)}")
        buttons: tuple[ButtonText, ...] = (
            ("wait", "Ask after it (a)", "primary"),
            ("stop", "Stop it, ask now (s)", "default"),
            ("back", "Back (Esc)", "default"),
        )
        super().__init__(
            "A question is being answered", text, {"wait": "wait", "stop": "stop", "back": "back"}, buttons
        )
