"""Dialogs about a question: one asked before, the present one as it is meant, one asked while another runs."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.errors import AtomrError
from atomr_local.history.recording import recall
from atomr_local.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.rendering import short_line
from atomr_local.tui.screens.choice_dialog import ChoiceDialog
from atomr_local.tui.widgets.clean_text import CleanInput

Busy = Literal["wait", "stop", "back"]
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


class RewordScreen(ModalScreen[str | None]):
    """Gives the question as it is meant; None when it is left as it was."""

    DEFAULT_CSS = """
    RewordScreen { align: center middle; }
    #reword { width: 90; max-width: 96%; height: auto; padding: 0 1; background: $surface; border: round $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", priority=True, tooltip="Leave the question as it was", id="reword.close"),
        Binding("enter", "ask", "Ask", priority=True, tooltip="Ask the question as it stands here", id="reword.ask"),
    ]

    def __init__(self, question: str, understood: str) -> None:
        """Edit `understood`; `question` is what was typed."""
        super().__init__()
        self._question, self._understood = question, understood

    def compose(self) -> ComposeResult:
        with Vertical(id="reword") as body:
            body.border_title = "What is meant"
            yield Static(Text(f"Typed: {sanitize_line(self._question)}", "dim"))
            yield CleanInput(sanitize_line(self._understood), id="reword-line", select_on_focus=False)
            yield Static(Text("Enter asks again as it stands here. Escape leaves it as it was.", "dim"))

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.focus()
        line.cursor_position = len(line.value)

    @on(Input.Submitted)
    def action_ask(self) -> None:
        meant = self.query_one(Input).value.strip()
        if meant:
            self.dismiss(meant)


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
        super().__init__(
            "A question is being answered",
            text,
            {"wait": "wait", "stop": "stop", "back": "back"},
            (
                ("wait", "Ask after it (a)", "primary"),
                ("stop", "Stop it, ask now (s)", "default"),
                ("back", "Back (Esc)", "default"),
            ),
        )
