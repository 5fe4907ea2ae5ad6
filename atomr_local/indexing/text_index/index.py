"""Builds text indexes in LanceDB, adds articles to them and removes articles."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import Ledger, changing, read_ledger, unfinished_build_error
from atomr_local.indexing.builds.space import something_done, write_error
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.readers.detect import ReadOptions
from atomr_local.indexing.readers.wikipedia.mediawiki import page_props_beside
from atomr_local.indexing.text_index.build import (
    PASSAGE_WORDS,
    ArticleSelection,
    TextBuild,
    TextBuildProgress,
    require_one_readable,
    tokens_of,
)
from atomr_local.indexing.text_index.catalog import CATALOG, Catalog, CatalogReader
from atomr_local.indexing.text_index.chunking import CHUNKER
from atomr_local.indexing.text_index.page_worker import default_processes, page_work
from atomr_local.indexing.text_index.table import PassageTable
from atomr_local.indexing.text_index.vectors import (
    SETTING,
    copy_vectors,
    made_before,
    noted,
    take_over,
    vector_files,
    vector_state,
)
from atomr_local.indexing.text_index.verify import after_failed_write, check_before_publishing
from atomr_local.language.names import name_key
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

# What is stored and how passages are cut; an index of another layout can be searched, but not added to.
LAYOUT = 2
_MISSING_SHOWN = 5
_SCANNED = 100_000  # passages; an index with more is not read through for a few that are added
_SLOW_HASHING = 100_000_000  # bytes; less is hashed before anyone wonders
WORDS_FIRST = "words first: the passages are embedded later"
Progress = Callable[[TextBuildProgress], None]
Engine = Literal["local", "ray"]
Vectors = Literal["auto", "now", "later"]
# Bytes of text up to which "auto" embeds at once: some 14,000 passages, four minutes of two processor cores.
EMBEDDED_AT_ONCE = 10_000_000
_EMBEDDED_ARTICLES = 2_000  # where so few are asked for, the size of the input says nothing
_PACKED = {".bz2": 4, ".gz": 3, ".xz": 4, ".zst": 3, ".7z": 4, ".parquet": 2, ".zim": 3}  # text for each byte, about


def build_text_index(
    inputs: Sequence[Path],
    name: str,
    *,
    embedder: Embedder,
    add: bool = False,
    format: str = "auto",
    options: ReadOptions | None = None,
    limit: int | None = None,
    titles: Iterable[str] | None = None,
    titles_file: Path | None = None,
    engine: Engine = "local",
    vectors: Vectors = "auto",
    processes: int | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Build the text index `name` from files of articles, replacing an older one when all is done, or add to it.

    A build that was stopped, by a kill or a full disk, goes on where its ledger stands when it is called again with the
    same inputs and settings. Unusable records are skipped; the manifest's settings say how many and show the first.

    Args:
        add: add to the index, which must be whole and made with the same embedder: new articles are appended, those
            whose content has changed are replaced. An article is known by its id. The index can be searched meanwhile
            as it was.
        format: of all inputs; "auto" recognises each by its content.
        options: columns that the user names, and whether damaged files are read up to their damage.
        limit: take this many articles only.
        titles: take only articles with these titles (case, accents and punctuation aside).
        titles_file: where the titles come from, for the manifest of a new index.
        engine: "ray" reads and embeds with Ray's workers (see `ray_build.py`); the index is the same.
        vectors: "later" builds what a search by words needs and embeds nothing: searches embed what they find, and
            `filling.embed_text_index` the rest. "auto": now for small inputs, later for large ones; when adding, as the
            index is.
        processes: how many read the pages of a MediaWiki dump at the same time; the index is the same. By default one
            for each processor core, up to four. Of several files, Ray's workers read one each, in one process.
        tell: called with what the user should know, such as that an unfinished build continues.

    Raises:
        InputError: an input is missing, damaged or not what it claims; the old index stays as it was.
        KnowledgeIndexError: the index cannot be written, or another process builds it.
        MissingPartError: the engine is not installed.
        Cancelled: `cancellation` was thrown.
    """
    files = [Path(item) for item in inputs]
    if not files:
        raise InputError("no input file is given")
    store.check_name(name)
    make = _engine(engine)
    total = sum(store.input_size(file) for file in files)
    wanted = list(dict.fromkeys(titles)) if titles is not None else None
    keys = frozenset(map(name_key, wanted)) if wanted is not None else None
    work = page_work(processes or default_processes(), PASSAGE_WORDS, tokens_of(embedder))
    selection = ArticleSelection(format, limit, keys, replace(options or ReadOptions(), work=work))
    require_one_readable(files, selection)  # what cannot be read at all is told before anything is loaded
    settings: dict[str, Any] = {
        "mode": "add" if add else "build",
        "layout": LAYOUT,
        "embedder": embedder.identity,
        "passage_words": PASSAGE_WORDS,
        "passage_tokens": budget.most if (budget := tokens_of(embedder)) is not None else None,
        "chunker": CHUNKER,
        "format": format,
        "limit": limit,
        "titles": _digest(selection.titles),
        "columns": selection.options.columns.as_settings() if selection.options.columns.given else None,
        "salvage": selection.options.salvage,
    }
    base = changeable(name, embedder) if add else None
    if base is not None:
        settings["base"] = store.sha256_of(base[0] / store.MANIFEST)
    show = progress or (lambda _: None)
    slow = total > _SLOW_HASHING
    cancellation = cancellation or Cancellation()
    try:
        with publishing.resumable("text", name) as scratch:
            left = read_ledger(scratch)
            if add and left is not None and left.settings.get("mode") != "add":
                raise unfinished_build_error("text", name)
            if _is_later(vectors, base[1] if base is not None else None, left, files, limit, wanted):
                settings["vectors"] = "later"
            ledger = Ledger.open(
                scratch,
                "text",
                # Ids of pages come from the table beside a dump: without it, or with another, the index is another.
                [*files, *filter(None, map(page_props_beside, files))],
                settings,
                cancellation=cancellation,
                hashing=lambda done: show(TextBuildProgress("checking the input", 0, done, total)) if slow else None,
            )
            for message in _about_start(ledger, base[1] if base is not None else None):
                (tell or (lambda _: None))(message)
            trained = int(base[1].settings.get("trained_rows", 0)) if base is not None else 0
            later = settings.get("vectors") == "later"
            if base is not None and not ledger.resumed:
                link(base[0], scratch)
            with made_before(name, embedder) as known:
                build = make(
                    ledger, files, embedder, selection, show, cancellation,
                    trained=trained, vectors=not later, made_before=known,
                )  # fmt: skip
                _run(build, ledger)
                if base is None and later:
                    take_over(known, scratch, embedder)
            if base is not None:
                manifest = _added_to(name, base[1], build, ledger)
                copy_vectors(base[0], scratch)
            else:
                manifest = _manifest(name, build, ledger, embedder, wanted, titles_file)
            scan = not add or manifest.counts["passages"] < _SCANNED
            check_before_publishing(scratch, manifest, cancellation, scan=scan)
            return store.read_manifest(publishing.publish(scratch, manifest))
    except OSError as error:
        kept = something_done(publishing.unfinished_path("text", name))
        raise write_error(f"the text index {name!r}", error, resumable=kept) from error


def _run(build: TextBuild, ledger: Ledger) -> None:
    try:
        with ledger.abandon_if_empty():
            build.run()
            ledger.check_inputs()
    except KnowledgeIndexError as error:
        after_failed_write(ledger.directory, error)
        raise


def remove_from_text_index(name: str, titles: Iterable[str]) -> tuple[store.Manifest, list[str]]:
    """Remove articles from the index `name`.

    Returns:
        The manifest as it is now, and the titles that no article has.

    Raises:
        KnowledgeIndexError: the index is not whole, cannot be written, or nothing would be left of it.
    """
    directory, manifest = changeable(name)
    try:
        with changing("text", name) as scratch:
            link(directory, scratch)
            with closing(Catalog(scratch)) as catalog:
                found = {title: catalog.titled(title) for title in dict.fromkeys(titles)}
                gone = {known.id: known for several in found.values() for known in several}
                missing = [title for title, several in found.items() if not several]
                if not gone:
                    return manifest, missing
                if len(gone) == catalog.counts()["articles"]:
                    raise KnowledgeIndexError(
                        f"nothing would be left of the text index {name!r}",
                        hint=f"Remove it as a whole with `atomr indexes remove text {name}`.",
                    )
                table = PassageTable(scratch, int(manifest.settings["dimensions"]))
                table.delete([passage for known in gone.values() for passage in known.passage_ids()])
                catalog.remove(gone)
                catalog.settle(catalog.last())
                counts = catalog.counts()
            table.forget()
            table.check_indexed()
            changed = {"last_change": {"what": "remove", "articles": len(gone), "at": now()}}
            embedded = table.embedded if SETTING in manifest.settings else counts["passages"]
            settings = noted(manifest.settings | changed, counts["passages"], embedded)
            copy_vectors(directory, scratch)
            new = store.Manifest("text", name, counts, manifest.inputs, settings)
            check_before_publishing(scratch, new, Cancellation(), scan=False)
            return store.read_manifest(publishing.publish(scratch, new)), missing
    except OSError as error:
        raise write_error(f"the text index {name!r}", error) from error


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
    titles_file: Path | None,
) -> store.Manifest:
    """The manifest of a new index."""
    settings = {key: value for key, value in ledger.settings.items() if key not in ("mode", "vectors")} | {
        "dimensions": embedder.dimensions,
        "backend": getattr(embedder, "backend", ""),
        **outcome(build),
    }
    counts = build.counts()
    settings = noted(settings, counts["passages"], counts["passages"] if build.vectors else 0)
    if titles_file is not None:  # not in the ledger: a build continues though the list of titles lies elsewhere now
        settings["asked"] = {"titles": str(titles_file.absolute())}
    if titles is not None:
        with closing(CatalogReader(ledger.directory)) as reader:
            missing = reader.missing(titles)
        settings["not_found"] = {"count": len(missing), "samples": missing[:_MISSING_SHOWN]}
    return store.Manifest("text", name, counts, list(ledger.inputs), settings)


def _added_to(name: str, before: store.Manifest, build: TextBuild, ledger: Ledger) -> store.Manifest:
    """The manifest of an index that was added to."""
    state = build.state
    known = {(item.size, item.sha256) for item in before.inputs}
    inputs = [*before.inputs, *(item for item in ledger.inputs if (item.size, item.sha256) not in known)]
    settings = before.settings | outcome(build)
    settings["last_change"] = {
        "what": "add",
        "articles": state.articles - state.replaced - state.unchanged,
        "replaced": state.replaced,
        "unchanged": state.unchanged,
        "at": now(),
    }
    settings.setdefault("first_inputs", len(before.inputs))
    settings["chunkers"] = sorted({*_chunkers(before), CHUNKER})
    counts = build.counts()
    passages = counts["passages"]
    embedded = passages if build.vectors and SETTING not in before.settings else build.embedded()
    return store.Manifest("text", name, counts, inputs, noted(settings, passages, embedded))


def _about_start(ledger: Ledger, base: store.Manifest | None) -> Iterator[str]:
    """What the user should know as the build begins."""
    if ledger.note:
        yield ledger.note
    if base is not None and _chunkers(base) != [CHUNKER]:
        yield (
            "this index was built before passages were cut by the sentences of every script and by the "
            "embedder's tokens; articles that are added or changed are cut so, the others stay as they are"
        )
    if ledger.resumed:
        yield f"resuming an unfinished build after {ledger.state.get('passages', 0)} passages"
    if ledger.settings.get("vectors") == "later":
        yield WORDS_FIRST


def _is_later(
    vectors: Vectors,
    before: store.Manifest | None,
    left: Ledger | None,
    files: Sequence[Path],
    limit: int | None,
    titles: Sequence[str] | None,
) -> bool:
    """Whether passages are embedded after the build; a build that goes on, `left`, does as it did."""
    if (decided := decided_later(vectors, before, left)) is not None:
        return decided
    asked = min(
        [number for number in (limit, len(titles) if titles is not None else None) if number is not None] or [-1]
    )
    if 0 <= asked <= _EMBEDDED_ARTICLES:
        return False
    text = sum(store.input_size(file) * _PACKED.get(file.suffix.casefold(), 1) for file in files)
    return text > EMBEDDED_AT_ONCE


def decided_later(vectors: Vectors, before: store.Manifest | None, left: Ledger | None) -> bool | None:
    """:func:`_is_later` where the size of the input has no say; None where it decides."""
    if vectors != "auto":
        return vectors == "later"
    if left is not None:
        return left.settings.get("vectors") == "later"
    return vector_state(before).completeness != "all" if before is not None else None


def _chunkers(manifest: store.Manifest) -> list[int]:
    """The ways in which the passages of an index were cut; indexes of former versions do not say."""
    found = manifest.settings.get("chunkers", [manifest.settings.get("chunker", 1)])
    return [item for item in found if type(item) is int] if isinstance(found, list) else [1]


def outcome(build: TextBuild) -> dict[str, Any]:
    """What a manifest says of how a build went."""
    trained = build.state.trained
    return {
        "vector_index": "ivf_sq" if trained else "exact",
        "trained_rows": trained,
        "skipped": asdict(build.skipped),
        "lost": dict(build.state.lost),
    }


def changeable(
    name: str, embedder: Embedder | None = None, *, follows_folder: bool | None = False
) -> tuple[Path, store.Manifest]:
    """The directory and manifest of an index that can be changed.

    Args:
        follows_folder: it has to follow a folder; False: it must not; None: it may.

    Raises:
        KnowledgeIndexError: it is not there, not whole, of another version or embedder, or of the other kind.
    """
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
    if follows_folder is not None and ("folders" in manifest.settings) != follows_folder:
        if follows_folder:
            raise KnowledgeIndexError(
                f"the text index {name!r} follows no folder"
                + (": it was made on another machine" if "imported" in manifest.settings else ""),
                hint=f"Build it from one: atomr text build FOLDER --name {name}",
            )
        raise KnowledgeIndexError(
            f"the text index {name!r} follows a folder, and the next sync would undo the change",
            hint=f"Change the files in the folder, then run: atomr text sync {name}",
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


def link(directory: Path, scratch: Path) -> None:
    """The index's files in `scratch` too. LanceDB never writes into a file that is there, so that they can be shared;
    SQLite does.
    """
    made_since = {file.name for file in vector_files(directory)}  # taken over when the change is done
    left_out = {store.MANIFEST, store.DIGESTS, publishing.LEDGER, publishing.LOCK, "embedding.lock"} | made_since
    for name in sorted({item.name for item in directory.iterdir()} - left_out):
        source = directory / name
        if source.is_dir():
            shutil.copytree(source, scratch / name, copy_function=publishing.share)
        else:
            shutil.copy2(source, scratch / name)


def _digest(titles: frozenset[str] | None) -> dict[str, Any] | None:
    if titles is None:
        return None
    return {"count": len(titles), "sha256": hashlib.sha256("\n".join(sorted(titles)).encode()).hexdigest()}


def now() -> str:
    """The time, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
