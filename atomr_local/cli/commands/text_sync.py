"""`atomr text sync`: brings an index of a folder up to date, once or whenever the folder changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local.cancellation import Cancellation
from atomr_local.cli.completion import text_indexes
from atomr_local.cli.document_reports import report_sync
from atomr_local.cli.output import note, note_sentence
from atomr_local.settings.schema import load_settings

if TYPE_CHECKING:
    from atomr_local.indexing.text_index.documents import SyncReport

# Changes that follow each other within this time are taken in together; no change waits longer than the second.
_QUIET_MS = 1_000
_LONGEST_WAIT_MS = 10_000
_LOOK_AGAIN_MS = 60_000


@click.command()
@click.argument("name", shell_complete=text_indexes)
@click.option("--watch", is_flag=True, help="Go on: take in every change of the folder soon after it, until Ctrl-C.")
def sync(name: str, watch: bool) -> None:
    """Bring a text index up to date with the folder that it was built from.

    New and changed files are read, and removed ones leave. Files that did not change are not read. Text that stays the
    same is not embedded again, under another file name too. The index can be searched meanwhile, as it was.

    Example: atomr text sync notes --watch
    """
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.cli.progress import building
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.text_index.documents import sync_documents_index
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    embedder = SentenceEmbedder(find_embedder(load_settings().embedder), tell=note)

    def once() -> SyncReport:
        with building("text", name, lambda state: state.passages, "passages") as (progress, cancellation):
            return sync_documents_index(
                name,
                embedder=embedder,
                progress=progress,
                tell=note_sentence,
                cancellation=cancellation,
            )

    if watch:
        _follow(name, once)
    else:
        report_sync(once())


def _follow(name: str, once: Callable[[], SyncReport]) -> None:
    """Sync after every change, until the user stops it. What keeps a sync from being made is told, and tried again.

    Raises:
        Cancelled: it was stopped while it synced.
    """
    from atomr_local.cli.terminal import interrupt
    from atomr_local.errors import InputError, KnowledgeIndexError
    from atomr_local.indexing.store import index_path, read_manifest
    from atomr_local.indexing.text_index.documents_build import folders_of

    changes = _watcher()
    report_sync(once())
    directory = index_path("text", name)
    roots = [folder.root for folder in folders_of(read_manifest(directory).settings)]
    note(f"Watching {', '.join(map(str, roots))}. Ctrl-C ends it.")
    stop = Cancellation()
    told = ""
    with interrupt(stop.cancel):
        for _ in changes(roots, stop):
            if stop.cancelled:
                return
            try:
                report = once()
            # A folder that is moved or empty for a moment, or another process that builds the index just now.
            except (InputError, KnowledgeIndexError) as error:
                if not directory.exists():
                    raise
                if told != (told := error.in_full()):
                    note(told)
                continue
            told = ""
            if not report.quiet:
                report_sync(report, only_news=True)


def _watcher() -> Callable[[list[Path], Cancellation], Iterator[object]]:
    """Waits for changes below the roots.

    Raises:
        MissingPartError: the package that follows folders is not installed.
    """
    from atomr_local.errors import MissingPartError
    from atomr_local.system.installation import add_extra

    try:
        from watchfiles import watch as watch_files
    except ImportError as error:
        raise MissingPartError(
            "--watch needs the extra `documents`", hint=f"Install it with: {add_extra('documents')}"
        ) from error

    def changes(roots: list[Path], stop: Cancellation) -> Iterator[object]:
        import threading

        event = threading.Event()
        stop.on_cancel(event.set)
        try:
            yield from watch_files(
                *roots,
                watch_filter=None,
                stop_event=event,
                debounce=_LONGEST_WAIT_MS,
                step=_QUIET_MS,
                raise_interrupt=False,
                # What no event told of (a network drive, a change before the watch began) is seen then.
                rust_timeout=_LOOK_AGAIN_MS,
                yield_on_timeout=True,
                ignore_permission_denied=True,
            )
        except (OSError, RuntimeError) as error:  # more folders than the system watches, or one that has just gone
            note_sentence(
                f"the folder is looked at every {_LOOK_AGAIN_MS // 1000} seconds, because the system does not tell of "
                f"its changes: {error}"
            )
            while not stop.wait(_LOOK_AGAIN_MS / 1000):
                yield ()

    return changes
