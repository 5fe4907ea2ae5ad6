"""Builds text indexes in LanceDB, adds articles to them and removes articles."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import Ledger, empty, read_ledger
from atomr_local.indexing.builds.space import something_done, write_error
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.readers.detect import open_articles
from atomr_local.indexing.readers.wikipedia.page_props import page_props_beside
from atomr_local.indexing.text_index.build import PASSAGE_WORDS, ArticleSelection, TextBuild, TextBuildProgress
from atomr_local.indexing.text_index.catalog import CATALOG, Catalog, CatalogReader
from atomr_local.indexing.text_index.recovery import after_failed_write, check_before_publishing
from atomr_local.indexing.text_index.table import EXACT_ROWS, SEARCHED, TABLE, VECTOR, PassageTable, connect, nearest
from atomr_local.language.names import name_key

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

__all__ = [
    "EXACT_ROWS", "SEARCHED", "TABLE", "VECTOR", "TextBuildProgress", "add_to_text_index", "build_text_index",
    "check_embedder", "connect", "nearest", "remove_from_text_index",
]  # fmt: skip

# What is stored and how passages are cut; an index of another layout can be searched, but not added to.
LAYOUT = 2
_MISSING_SHOWN = 5
_SCANNED = 100_000  # passages; an index with more is not read through for a few that are added
_SLOW_HASHING = 100_000_000  # bytes; less is hashed before anyone wonders
Progress = Callable[[TextBuildProgress], None]
Engine = Literal["local", "ray"]


def build_text_index(
    inputs: Sequence[Path],
    name: str,
    *,
    embedder: Embedder,
    format: str = "auto",
    limit: int | None = None,
    titles: Iterable[str] | None = None,
    titles_file: Path | None = None,
    engine: Engine = "local",
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Build the text index `name` from files of articles, replacing an older one when all is done.

    A build that was stopped, by a kill or a full disk, goes on where its ledger stands when it is called again with the
    same inputs and settings. Unusable records are skipped; the manifest's settings say how many and show the first.

    Args:
        format: of all inputs; "auto" recognises each by its content.
        limit: take this many articles only.
        titles: take only articles with these titles (case, accents and punctuation aside).
        titles_file: where the titles come from, for the manifest.
        engine: "ray" reads and embeds with Ray's workers (see `ray_build.py`); the index is the same.
        tell: called with what the user should know, such as that an unfinished build continues.

    Raises:
        InputError: an input is missing, damaged or not what it claims; the old index stays as it was.
        KnowledgeIndexError: the index cannot be written, or another process builds it.
        MissingPartError: the engine is not installed.
        Cancelled: `cancellation` was thrown.
    """
    asked = {"titles": str(titles_file.absolute())} if titles_file is not None else {}
    return _run("build", inputs, name, embedder, format, limit, titles, engine, progress, tell, cancellation, asked)


def add_to_text_index(
    inputs: Sequence[Path],
    name: str,
    *,
    embedder: Embedder,
    format: str = "auto",
    limit: int | None = None,
    titles: Iterable[str] | None = None,
    engine: Engine = "local",
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Add articles to the index `name`: new ones are appended, those whose content has changed are replaced.

    An article is known by its id. The index can be searched meanwhile as it was. Arguments and errors as in
    :func:`build_text_index`; the index must be whole, and made with the same embedder.
    """
    return _run("add", inputs, name, embedder, format, limit, titles, engine, progress, tell, cancellation)


def remove_from_text_index(name: str, titles: Iterable[str]) -> tuple[store.Manifest, list[str]]:
    """Remove articles from the index `name`.

    Returns:
        The manifest as it is now, and the titles that no article has.

    Raises:
        KnowledgeIndexError: the index is not whole, cannot be written, or nothing would be left of it.
    """
    directory, manifest = _changeable(name)
    try:
        with publishing.resumable("text", name) as scratch:
            if read_ledger(scratch) is not None:
                raise _in_the_way(name)
            empty(scratch)  # of what a run left that was killed
            _link(directory, scratch)
            catalog = Catalog(scratch)
            found = {title: catalog.titled(title) for title in dict.fromkeys(titles)}
            gone = {known.id: known for several in found.values() for known in several}
            missing = [title for title, several in found.items() if not several]
            if not gone:
                catalog.close()
                return manifest, missing
            if len(gone) == catalog.counts()[0]:
                catalog.close()
                raise KnowledgeIndexError(
                    f"nothing would be left of the text index {name!r}",
                    hint=f"Remove it as a whole with `atomr indexes remove text {name}`.",
                )
            table = PassageTable(scratch, int(manifest.settings["dimensions"]))
            table.delete([passage for known in gone.values() for passage in known.passage_ids()])
            catalog.remove(gone)
            catalog.settle(catalog.last())
            articles, passages, aliases = catalog.counts()
            catalog.close()
            table.forget()
            table.check_indexed()
            counts = {"articles": articles, "passages": passages} | ({"aliases": aliases} if aliases else {})
            changed = {"last_change": {"what": "remove", "articles": len(gone), "at": _now()}}
            new = store.Manifest("text", name, counts, manifest.inputs, manifest.settings | changed)
            check_before_publishing(scratch, new, Cancellation(), scan=False)
            return store.read_manifest(publishing.publish(scratch, new)), missing
    except OSError as error:
        raise write_error(f"the text index {name!r}", error) from error


def _run(
    mode: str,
    inputs: Sequence[Path],
    name: str,
    embedder: Embedder,
    format: str,
    limit: int | None,
    titles: Iterable[str] | None,
    engine: Engine,
    progress: Progress | None,
    tell: Callable[[str], None] | None,
    cancellation: Cancellation | None,
    asked: dict[str, str] | None = None,
) -> store.Manifest:
    files = [Path(item) for item in inputs]
    if not files:
        raise InputError("no input file is given")
    store.check_name(name)
    make = _engine(engine)
    total = sum(store.input_size(file) for file in files)
    for file in files:  # what cannot be read at all is told before anything is loaded
        open_articles(file, format)
    wanted = list(dict.fromkeys(titles)) if titles is not None else None
    selection = ArticleSelection(format, limit, frozenset(map(name_key, wanted)) if wanted is not None else None)
    settings: dict[str, Any] = {
        "mode": mode,
        "layout": LAYOUT,
        "embedder": embedder.identity,
        "passage_words": PASSAGE_WORDS,
        "format": format,
        "limit": limit,
        "titles": _digest(selection.titles),
    }
    base: Path | None = None
    before: store.Manifest | None = None
    if mode == "add":
        base, before = _changeable(name, embedder)
        settings["base"] = store.sha256_of(base / store.MANIFEST)
    show = progress or _silent
    slow = total > _SLOW_HASHING
    cancellation = cancellation or Cancellation()
    try:
        with publishing.resumable("text", name) as scratch:
            if base is not None and _other_mode(scratch, mode):
                raise _in_the_way(name)
            ledger = Ledger.open(
                scratch,
                "text",
                # Ids of pages come from the table beside a dump: without it, or with another, the index is another.
                [*files, *filter(None, map(page_props_beside, files))],
                settings,
                cancellation=cancellation,
                hashing=lambda done: show(TextBuildProgress("checking the input", 0, done, total)) if slow else None,
            )
            _tell_how(ledger, tell)
            trained = 0
            if before is not None:
                trained = int(before.settings.get("trained_rows", 0))
                if base is not None and not ledger.resumed:
                    _link(base, scratch)
            build = make(ledger, files, embedder, selection, show, cancellation, trained=trained)
            try:
                build.run()
            except KnowledgeIndexError as error:
                after_failed_write(scratch, error)
                raise
            ledger.check_inputs()
            manifest = _manifest(name, build, ledger, embedder, wanted, before, asked or {})
            scan = mode == "build" or manifest.counts["passages"] < _SCANNED
            check_before_publishing(scratch, manifest, cancellation, scan=scan)
            return store.read_manifest(publishing.publish(scratch, manifest))
    except OSError as error:
        kept = something_done(publishing.unfinished_path("text", name))
        raise write_error(f"the text index {name!r}", error, resumable=kept) from error


def _engine(engine: Engine) -> type[TextBuild]:
    if engine == "local":
        return TextBuild
    from atomr_local.indexing.text_index.ray_build import RayTextBuild, require_ray

    require_ray()
    return RayTextBuild


def _manifest(
    name: str,
    build: TextBuild,
    ledger: Ledger,
    embedder: Embedder,
    titles: list[str] | None,
    before: store.Manifest | None,
    asked: dict[str, str],
) -> store.Manifest:
    counts = build.counts()
    state = build.state
    settings = {key: value for key, value in ledger.settings.items() if key not in ("mode", "base")}
    settings |= {
        "dimensions": embedder.dimensions,
        "backend": getattr(embedder, "backend", ""),
        "vector_index": "ivf_sq" if state.trained else "exact",
        "trained_rows": state.trained,
        "skipped": asdict(build.skipped),
    }
    if asked:  # not in the ledger: a build continues though the list of titles lies elsewhere now
        settings["asked"] = asked
    if titles is not None:
        reader = CatalogReader(ledger.directory)
        missing = list(reader.missing(titles))
        reader.close()
        settings["not_found"] = {"count": len(missing), "samples": missing[:_MISSING_SHOWN]}
    inputs = list(ledger.inputs)
    if before is not None:
        new = state.articles - state.replaced - state.unchanged
        change = {"what": "add", "articles": new, "replaced": state.replaced, "unchanged": state.unchanged}
        known = {(item.size, item.sha256) for item in before.inputs}
        inputs = [*before.inputs, *(item for item in inputs if (item.size, item.sha256) not in known)]
        settings = before.settings | {key: settings[key] for key in ("vector_index", "trained_rows", "skipped")}
        settings["last_change"] = change | {"at": _now()}
        settings.setdefault("first_inputs", len(before.inputs))
    return store.Manifest(kind="text", name=name, counts=counts, inputs=inputs, settings=settings)


def _changeable(name: str, embedder: Embedder | None = None) -> tuple[Path, store.Manifest]:
    """The directory and manifest of an index that can be added to."""
    directory = store.index_path("text", name)
    if not directory.exists():  # a run that was killed may have left it beside its place
        publishing.put_back("text", name)
    if not directory.exists():
        raise KnowledgeIndexError(
            f"there is no text index named {name!r}", hint="`atomr indexes list` shows what there is."
        )
    manifest = store.read_manifest(directory)
    if manifest.settings.get("layout") != LAYOUT or not (directory / CATALOG).is_file():
        raise KnowledgeIndexError(
            f"the text index {name!r} was built by another version and cannot be changed",
            hint="Build it again from all its files.",
        )
    if embedder is not None:
        check_embedder(manifest, embedder)
    require_unchanged("text", directory)  # damage must not be taken over into the new index
    return directory, manifest


def check_embedder(manifest: store.Manifest, embedder: Embedder) -> None:
    """Make sure that the index was built with this embedder.

    Raises:
        KnowledgeIndexError: it was built with another.
    """
    built_with = manifest.settings.get("embedder")
    if built_with != embedder.identity:
        raise KnowledgeIndexError(
            f"the text index {manifest.name!r} was built with another embedder ({built_with}, "
            f"the settings give {embedder.identity})",
            hint="Set `embedder` to the one it was built with, or build the index again.",
        )


def _other_mode(scratch: Path, mode: str) -> bool:
    ledger = read_ledger(scratch)
    return ledger is not None and ledger.settings.get("mode") != mode


def _in_the_way(name: str) -> KnowledgeIndexError:
    return KnowledgeIndexError(
        f"an unfinished build of the text index {name!r} would be lost",
        hint=f"Run the command that started it again, or drop it with `atomr indexes remove text {name} --unfinished`.",
    )


def _link(directory: Path, scratch: Path) -> None:
    """The index's files in `scratch` too. LanceDB never writes into a file that is there, so that they can be shared;
    SQLite does.
    """
    for name in sorted(item.name for item in directory.iterdir()):
        if name in (store.MANIFEST, store.DIGESTS, publishing.LEDGER, publishing.LOCK):
            continue
        source = directory / name
        if source.is_dir():
            shutil.copytree(source, scratch / name, copy_function=_share)
        else:
            shutil.copy2(source, scratch / name)


def _share(source: str, destination: str) -> None:
    try:
        os.link(source, destination)
    except OSError:  # a file system without hard links
        shutil.copy2(source, destination)


def _tell_how(ledger: Ledger, tell: Callable[[str], None] | None) -> None:
    if tell is None:
        return
    if ledger.note:
        tell(ledger.note)
    if ledger.resumed:
        tell(f"resuming an unfinished build after {ledger.state.get('passages', 0)} passages")


def _digest(titles: frozenset[str] | None) -> dict[str, Any] | None:
    if titles is None:
        return None
    return {"count": len(titles), "sha256": hashlib.sha256("\n".join(sorted(titles)).encode()).hexdigest()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _silent(_progress: TextBuildProgress) -> None:
    """No one watches the build."""
