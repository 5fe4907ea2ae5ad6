"""Work on a thread whose result comes back to the screen or app that wanted it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual.dom import DOMNode

from atomr_local.errors import AtomrError
from atomr_local.tui.internal_errors import internal_error

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
        from atomr_local.tui.screens.error import ErrorScreen

        node.app.push_screen(ErrorScreen(error))

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            node.call_later(failed or show, error if isinstance(error, AtomrError) else internal_error(error))
        else:
            node.call_later(then, result)

    node.run_worker(run, thread=True, exit_on_error=False, group=group, exclusive=exclusive)
