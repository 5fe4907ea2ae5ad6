"""Work on a thread whose result, or error, comes back to the screen or app that wanted it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import ClassVar, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Static

from atomr_local.errors import AtomrError
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize, sanitize_line


class ErrorScreen(ModalScreen[None]):
    """An error as a panel: title, message, what to do."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "dismiss", "Close")]

    def __init__(self, error: AtomrError) -> None:
        super().__init__()
        self._error = error

    def compose(self) -> ComposeResult:
        # A named colour is the theme's only where the style is not that of the whole text.
        with VerticalScroll(id="error"):
            yield Static(Text.assemble((sanitize(self._error.title), "bold red")))
            yield Static(Text(sanitize(self._error.message)))
            if self._error.hint:
                yield Static(Text.assemble((f"→ {sanitize(self._error.hint)}", "cyan")))
            yield Static(Text("\nEscape closes this.", "dim"))


def internal_error(error: BaseException, kept: str = "What was asked is kept in the history.") -> AtomrError:
    """A fault of this program as an error that can be read, with its traceback in a file.

    Args:
        kept: what the user need not fear for, in a sentence.
    """
    text = f"{kept} Please report it.".strip()
    try:
        file = paths.data_dir() / "fault.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="replace")
        text = f"The details are in {file}. {text}"
    except (OSError, AtomrError):
        pass
    message = sanitize_line(f"{type(error).__name__}: {error}")
    return AtomrError(message, title="Internal error", hint=text)


_Result = TypeVar("_Result")


def in_background(
    node: DOMNode,
    work: Callable[[], _Result],
    then: Callable[[_Result], object],
    *,
    failed: Callable[[AtomrError], object] | None = None,
    group: str,
    exclusive: bool = False,
) -> None:
    """Run `work` on a thread; `then` takes its result where messages of the node are handled, if it is still there.

    Args:
        failed: takes the error that `work` raised, an internal one as an AtomrError; None: a panel shows it.
        exclusive: whether this takes the place of what runs in the same group.
    """

    def show(error: AtomrError) -> None:
        node.app.push_screen(ErrorScreen(error))

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            node.call_later(failed or show, error if isinstance(error, AtomrError) else internal_error(error))
        else:
            node.call_later(then, result)

    node.run_worker(run, thread=True, exit_on_error=False, group=group, exclusive=exclusive)
