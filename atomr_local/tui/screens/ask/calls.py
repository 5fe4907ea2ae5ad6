"""What the model was shown for a step and what it wrote, as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from atomr_local.reasoning.trace.events import ModelCalled
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.clipboard import copy_text
from atomr_local.tui.rendering import coloured
from atomr_local.tui.widgets.bottom_line import SteadyFooter


class CallsScreen(ModalScreen[None]):
    DEFAULT_CSS = """
    CallsScreen { align: center middle; }
    #calls { width: 110; max-width: 96%; height: 90%; padding: 0 2; background: $surface; border: round $accent; scrollbar-size-vertical: 1; }
    #calls Static { width: 100%; height: auto; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,m", "dismiss", "Close", id="calls.close"),
        Binding("y", "copy", "Copy", tooltip="Copy the prompts and the output", id="calls.copy"),
    ]

    def __init__(self, title: str, calls: Sequence[ModelCalled], *, kept: bool = True) -> None:
        """Make the screen; `kept`: False if the question was opened from the history, which keeps no prompts."""
        super().__init__()
        self._title = title
        self._calls = list(calls)
        self._kept = kept

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="calls") as body:
            body.border_title = Text(sanitize_line(self._title))  # a str would be markup
            if not self._calls:
                text = (
                    "The model was not asked for this step."
                    if self._kept
                    else "Prompts are not kept in the history. Ask again to see them."
                )
                yield Static(Text(text, "dim"))
            for number, call in enumerate(self._calls, 1):
                made = call.completion
                rate = f", {made.generated_tokens / made.seconds:.0f} tokens/s" if made.seconds > 0 else ""
                yield Static(Text(f"{number}. {sanitize_line(call.purpose)}", "bold underline"))
                yield Static(
                    Text(
                        f"{made.prompt_tokens} tokens submitted, {made.evaluated_tokens} read, "
                        f"{made.generated_tokens} written, {made.seconds:.2f} s{rate}",
                        "dim",
                    )
                )
                yield Static(coloured("prompt", "cyan"))
                yield Static(Text(sanitize(call.prompt)))
                yield Static(coloured("output", "cyan"))
                yield Static(Text(sanitize(made.text) or "(nothing)", "bold"))
                yield Static(Text(""))
        yield SteadyFooter()

    def action_copy(self) -> None:
        text = "\n\n".join(f"{call.prompt}\n---\n{call.completion.text}" for call in self._calls)
        self.notify(copy_text(self.app, text), markup=False)
