"""Text indexes of folders of documents: built, and brought up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import Ledger, read_ledger, would_be_lost
from atomr_local.indexing.builds.space import something_done, write_error
from atomr_local.indexing.readers.documents.folder import Folder
from atomr_local.indexing.text_index.build import PASSAGE_WORDS, TextBuildProgress, tokens_of
from atomr_local.indexing.text_index.chunking import CHUNKER
from atomr_local.indexing.text_index.document_catalog import ListedDocument, listed_documents
from atomr_local.indexing.text_index.document_sizes import text_bytes
from atomr_local.indexing.text_index.documents_build import (
    DocumentsBuild,
    as_settings,
    differs,
    digest_text,
    folders_of,
    prefixed,
    report_of,
)
from atomr_local.indexing.text_index.index import (
    EMBEDDED_AT_ONCE,
    LAYOUT,
    WORDS_FIRST,
    Vectors,
    changeable,
    decided_later,
    link,
    now,
    outcome,
)
from atomr_local.indexing.text_index.kept_vectors import made_before, take_over
from atomr_local.indexing.text_index.reading import ArticleSelection
from atomr_local.indexing.text_index.vector_state import SETTING, noted
from atomr_local.indexing.text_index.verify import after_failed_write, check_before_publishing

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

Progress = Callable[[TextBuildProgress], None]
_UNREAD_KEPT = 1_000  # files whose problem the manifest tells
_SCANNED = 100_000  # passages; an index with more is not read through after a sync


@dataclass(frozen=True)
class SyncReport:
    """What a sync changed, by the paths of files.

    Attributes:
        moved: (from, to) of files with the same content under another path.
        lost: files that are in the index no more because they, or a folder above them, cannot be read any more.
        unread: (path, reason) of all files and folders that could not be read.
        newly_unread: those of them that did not stand there with this reason before.
    """

    manifest: store.Manifest
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    newly_unread: tuple[tuple[str, str], ...] = ()

    @property
    def quiet(self) -> bool:
        """Whether nothing changed."""
        return not (self.added or self.changed or self.removed or self.moved or self.lost or self.newly_unread)


def build_documents_index(
    roots: Sequence[Path],
    name: str,
    *,
    embedder: Embedder,
    exclude: Sequence[str] = (),
    hidden: bool = False,
    vectors: Vectors = "auto",
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Build the text index `name` from folders of documents, replacing an older one when all is done.

    A build that was stopped goes on with the files that it has not read. Files that cannot be read are left out; the
    manifest's settings ("documents") say which, and why.

    Args:
        roots: folders, or single documents.
        exclude: patterns as in a .gitignore file.
        hidden: take hidden files too.
        vectors: as of :func:`build_text_index`; a sync leaves the index in the state that it is in.

    Raises:
        InputError: a folder cannot be read, or there is no document in any; the old index stays as it was.
        KnowledgeIndexError: the index cannot be written, or another process builds it.
        MissingPartError: patterns are given, and the extra `documents` is not installed.
        Cancelled: `cancellation` was thrown.
    """
    store.check_name(name)
    folders = tuple(Folder(Path(root), tuple(exclude), hidden) for root in roots)
    prefixed(folders)  # what is wrong with them is told before anything is loaded
    return _run(name, folders, embedder, None, vectors, progress, tell, cancellation)


def sync_documents_index(
    name: str,
    *,
    embedder: Embedder,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> SyncReport:
    """Bring the text index `name` up to date with its folders. It can be searched meanwhile as it was.

    Files that did not change are not read; passages whose text did not change are not embedded again.

    Raises:
        InputError: a folder is gone or has no document any more; the index stays as it was.
        KnowledgeIndexError: the index follows no folder, is not whole, cannot be written, or another process builds it.
        Cancelled: `cancellation` was thrown.
    """
    directory, manifest = changeable(name, embedder, follows_folder=True)
    folders = folders_of(manifest.settings)
    before = listed_documents(directory)
    if not differs(folders, before) and read_ledger(publishing.unfinished_path("text", name)) is None:
        publishing.clear_leftovers("text", name)
        return SyncReport(manifest, unread=_unread(before))
    new = _run(name, folders, embedder, (directory, manifest), "auto", progress, tell, cancellation)
    return _compared(new, before, listed_documents(store.index_path("text", name)))


def _run(
    name: str,
    folders: tuple[Folder, ...],
    embedder: Embedder,
    base: tuple[Path, store.Manifest] | None,
    vectors: Vectors,
    progress: Progress | None,
    tell: Callable[[str], None] | None,
    cancellation: Cancellation | None,
) -> store.Manifest:
    settings: dict[str, Any] = {
        "mode": "sync" if base is not None else "build",
        "layout": LAYOUT,
        "embedder": embedder.identity,
        "passage_words": PASSAGE_WORDS,
        "passage_tokens": budget.most if (budget := tokens_of(embedder)) is not None else None,
        "chunker": CHUNKER,
        "format": "documents",
        "folders": as_settings(folders),
    }
    if base is not None:
        settings["base"] = store.sha256_of(base[0] / store.MANIFEST)
    cancellation = cancellation or Cancellation()
    try:
        with publishing.resumable("text", name) as scratch:
            left = read_ledger(scratch)
            if base is not None and left is not None and left.settings.get("mode") != "sync":
                raise would_be_lost("text", name)
            later = decided_later(vectors, base[1] if base is not None else None, left)
            if later is None:
                later = text_bytes(folders, prefixed(folders)) > EMBEDDED_AT_ONCE
            if later:
                settings["vectors"] = "later"
            ledger = Ledger.open(scratch, "text", [], settings, cancellation=cancellation)
            if tell is not None:
                _tell_start(tell, ledger)
            if base is not None and not ledger.resumed:
                link(base[0], scratch)
            trained = int(base[1].settings.get("trained_rows", 0)) if base is not None else 0
            with made_before(name, embedder) as known:
                build = DocumentsBuild(
                    ledger, [], embedder, ArticleSelection(), progress or (lambda _: None), cancellation,
                    trained=trained, folders=folders, vectors=not later, made_before=known,
                )  # fmt: skip
                try:
                    build.run()
                except KnowledgeIndexError as error:
                    after_failed_write(scratch, error)
                    raise
                if later:
                    take_over(known, scratch, embedder)
            manifest = _manifest(name, build, ledger, embedder, folders)
            scan = base is None or manifest.counts["passages"] < _SCANNED
            check_before_publishing(scratch, manifest, cancellation, scan=scan)
            return store.read_manifest(publishing.publish(scratch, manifest))
    except OSError as error:
        kept = something_done(publishing.unfinished_path("text", name))
        raise write_error(f"the text index {name!r}", error, resumable=kept) from error


def _tell_start(tell: Callable[[str], None], ledger: Ledger) -> None:
    if ledger.note:
        tell(ledger.note)
    if ledger.resumed:
        tell(f"resuming an unfinished build after {ledger.state.get('passages', 0)} passages")
    if ledger.settings.get("vectors") == "later" and ledger.settings["mode"] == "build":
        tell(WORDS_FIRST)


def _manifest(
    name: str, build: DocumentsBuild, ledger: Ledger, embedder: Embedder, folders: Sequence[Folder]
) -> store.Manifest:
    listed = listed_documents(ledger.directory)
    inputs = []
    for number, folder in enumerate(folders):
        own = [document for document in listed if document.root == number]
        digest = hashlib.sha256(digest_text(own)).hexdigest()
        inputs.append(store.InputFile(str(folder.root.absolute()), sum(document.size for document in own), digest))
    settings = {key: value for key, value in ledger.settings.items() if key not in {"mode", "base", SETTING}} | {
        "dimensions": embedder.dimensions,
        "backend": getattr(embedder, "backend", ""),
        **outcome(build),
        "documents": report_of(listed, _UNREAD_KEPT),
        "last_sync": now(),
    }
    counts = build.counts()
    embedded = counts["passages"] if build.vectors else build.embedded()
    return store.Manifest("text", name, counts, inputs, noted(settings, counts["passages"], embedded))


def _compared(manifest: store.Manifest, before: list[ListedDocument], after: list[ListedDocument]) -> SyncReport:
    old = {document.path: document for document in before}
    new = {document.path: document for document in after}
    gone = [path for path in old if path not in new]
    added = [path for path in new if path not in old]
    by_digest = {old[path].digest: path for path in gone if old[path].digest}
    moved = []
    for path in list(added):
        origin = by_digest.pop(new[path].digest, None)
        if origin is not None:
            moved.append((origin, path))
            added.remove(path)
            gone.remove(origin)
    changed = [
        path
        for path, document in new.items()
        if path in old and (old[path].digest, old[path].problem) != (document.digest, document.problem)
    ]
    unread = _unread(after)
    closed = tuple(path for path, _ in unread if path.endswith("/"))
    return SyncReport(
        manifest,
        added=tuple(path for path in added if not new[path].problem),
        changed=tuple(path for path in changed if not new[path].problem),
        removed=tuple(path for path in gone if not path.startswith(closed) and not path.endswith("/")),
        moved=tuple(moved),
        lost=(
            *(path for path in changed if new[path].problem and not old[path].problem),
            *(path for path in gone if path.startswith(closed) and not old[path].problem),
        ),
        unread=unread,
        newly_unread=tuple(one for one in unread if one not in set(_unread(before))),
    )


def _unread(documents: Sequence[ListedDocument]) -> tuple[tuple[str, str], ...]:
    return tuple((document.path, document.problem) for document in documents if document.problem)
