"""Indexes that are removed and built while the program runs: their source goes off, and on again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError
from atomr_local.indexing.store import KINDS
from atomr_local.sources.registry import SOURCES
from atomr_local.tui.background import in_background
from atomr_local.tui.jobs import Job, JobState

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexKind
    from atomr_local.tui.app import AtomrApp


class IndexChanges:
    """Follows the jobs that change indexes."""

    def __init__(self, app: AtomrApp, load: Callable[[], object]) -> None:
        """Follow them; `load` loads what has changed."""
        self._app, self._load = app, load
        self._off: set[str] = set()  # sources that went off with their index

    def job_ended(self, job: Job) -> None:
        """Look whether the index in use is still there, once such a job is done."""
        if job.state is not JobState.DONE or "--unfinished" in job.arguments:
            return
        match job.arguments:
            case ("indexes", "remove", "text" | "graph" as kind, *_) | (
                "text" | "graph" as kind,
                "build" | "sync",
                *_,
            ):
                self._look(kind)
            case ("indexes", "import", *_):
                for one in KINDS:
                    self._look(one)

    def _look(self, kind: IndexKind) -> None:
        settings = self._app.assistant.settings
        chosen = settings.text_index if kind == "text" else settings.graph_index
        in_background(self._app, partial(_problem, kind, chosen), partial(self._looked, kind), group="indexes")

    def _looked(self, kind: IndexKind, problem: str) -> None:
        app, label = self._app, SOURCES[kind].label
        sources = app.assistant.settings.sources
        if problem:
            left = tuple(name for name in sources if name != kind)
            if kind not in sources or not (left or app.assistant.web_enabled):
                return
            told = f"{label} is off: {problem}. It comes back when the index is built again."
            self._change(left, told)
            self._off.add(kind)
        elif kind in self._off:
            self._off.discard(kind)
            if kind not in sources:
                order = dict.fromkeys((*SOURCES, *sources))  # those of other packages too
                self._change(tuple(name for name in order if name == kind or name in sources), f"{label} is on again.")
        elif kind in sources and not app.ask_screen.state.running:
            self._load()  # another index of the kind may be the one in use now

    def _change(self, sources: tuple[str, ...], told: str) -> None:
        """Not remembered: the setting is what the user chose."""
        app = self._app
        try:
            app.assistant.reconfigure(sources=sources)
        except AtomrError:  # a question runs; the next one leaves the source out, and says so
            app.ask_screen.show_notice(told)
            return
        app.ask_screen.show_switches()
        app.ask_screen.show_notice(told)
        self._load()


def _problem(kind: IndexKind, chosen: str) -> str:
    """Why the index that is chosen cannot be used; empty if it can. It reads the disk."""
    from atomr_local.indexing.store import resolve

    try:
        resolve(kind, chosen)
    except AtomrError as error:
        return error.message
    return ""
