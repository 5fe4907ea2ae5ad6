"""Shows and removes the user's example plans."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.errors import AtomrError
from atomr_local.reasoning.planning.examples import Example, drop_example, read_examples
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.screens.dialogs import confirm
from atomr_local.tui.widgets.status_line import SteadyFooter

_ABOUT = "Plans that you kept. The same question, or one much like it, is answered with its plan again."
_EMPTY = "None yet. Correct a plan (p on the main screen) and keep it with F10."


class ExamplesScreen(Screen[None]):
    DEFAULT_CSS = """
    #examples-title { background: $panel; padding: 0 1; height: auto; }
    #own-examples { width: 1fr; height: 1fr; border: round $border-blurred; }
    #own-examples:focus { border: heavy $accent; }
    #example-plan { width: 1fr; height: 1fr; border: round $border-blurred; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="examples.close"),
        Binding("d,delete", "remove", "Remove", tooltip="Remove the example", id="examples.remove"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Example] = []

    def compose(self) -> ComposeResult:
        yield Static(Text(_ABOUT), id="examples-title")
        with Horizontal():
            yield OptionList(id="own-examples", markup=False)
            yield Static(id="example-plan", markup=False)
        yield SteadyFooter()

    def on_mount(self) -> None:
        self._read()
        self.query_one("#own-examples").focus()

    def _read(self) -> None:
        try:
            self._found, problems = read_examples(paths.examples_file())
        except AtomrError as error:
            self._found, problems = [], []
            self.app.push_screen(ErrorScreen(error))
        options = self.query_one("#own-examples", OptionList)
        options.set_options([Option(Text(sanitize_line(example.question))) for example in self._found])
        lines = [] if self._found else [_EMPTY]
        lines += [f"skipped: {problem}" for problem in problems]
        self.query_one("#example-plan", Static).update(Text(sanitize("\n".join(lines)), "dim"))
        if self._found:
            options.highlighted = 0
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._found) or None if action == "remove" else True

    @on(OptionList.OptionHighlighted, "#own-examples")
    def _show(self, message: OptionList.OptionHighlighted) -> None:
        self.query_one("#example-plan", Static).update(Text(sanitize(self._found[message.option_index].plan)))

    def action_remove(self) -> None:
        place = self.query_one("#own-examples", OptionList).highlighted
        if place is None:
            return
        question = self._found[place].question

        def remove() -> None:
            try:
                drop_example(paths.examples_file(), question)
            except AtomrError as error:
                self.app.push_screen(ErrorScreen(error))
            self._read()

        confirm(self.app, "Remove this example?", sanitize_line(question), remove, yes="Remove", no="Keep")
