"""Builds text indexes in LanceDB, adds articles to them and removes articles."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
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
from atomr_local.indexing.text_index.chunking import CHUNKER, default_processes, page_work
from atomr_local.indexing.text_index.table import PassageTable, share_table
from atomr_local.indexing.text_index.vectors import (
    SETTING,
    copy_vectors,
    known_vectors,
    noted,
    take_over,
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
Mode = Literal["build", "add", "sync"]
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
    wanted = list(dict.fromkeys(titles)) if titles is not None else None
    keys = frozenset(map(name_key, wanted)) if wanted is not None else None
    work = page_work(processes or default_processes(), PASSAGE_WORDS, tokens_of(embedder))
    selection = ArticleSelection(format, limit, keys, replace(options or ReadOptions(), work=work))
    for file in files:
        store.input_size(file)
    require_one_readable(files, selection)  # what cannot be read at all is told before anything is loaded
    settings: dict[str, Any] = {
        "format": format,
        "limit": limit,
        "titles": _digest(selection.titles),
        "columns": selection.options.columns.as_settings() if selection.options.columns.given else None,
        "salvage": selection.options.salvage,
    }
    base = changeable(name, embedder) if add else None

    def described(build: TextBuild) -> tuple[list[store.InputFile], dict[str, Any]]:
        if base is not None:
            return _added_to(base[1], build)
        told = fresh_settings(build)
        if titles_file is not None:  # not in the ledger: a build continues though the list of titles lies elsewhere now
            told["asked"] = {"titles": str(titles_file.absolute())}
        if wanted is not None:
            with closing(CatalogReader(build.ledger.directory)) as reader:
                missing = reader.missing(wanted)
            told["not_found"] = {"count": len(missing), "samples": missing[:_MISSING_SHOWN]}
        return list(build.ledger.inputs), told

    # Ids of pages come from the table beside a dump: without it, or with another, the index is another.
    inputs_hashed = [*files, *filter(None, map(page_props_beside, files))]
    mode: Mode = "add" if add else "build"
    order = BuildOrder(name, mode, embedder, settings, vectors, inputs_hashed, base, progress, tell, cancellation)
    make_build = partial(make, files=files, selection=selection)
    return order.carried_out(make_build, described, lambda: _is_large(files, limit, wanted))


@dataclass(frozen=True)
class BuildOrder:
    """What one build of a text index is to do.

    Attributes:
        settings: what decides, beside the embedder and the way passages are cut, what is built.
        inputs: files whose content decides too.
        base: directory and manifest of the index that is changed; it stays as it is until the new one is whole.
    """

    name: str
    mode: Mode
    embedder: Embedder
    settings: Mapping[str, Any]
    vectors: Vectors
    inputs: Sequence[Path]
    base: tuple[Path, store.Manifest] | None
    progress: Progress | None = None
    tell: Callable[[str], None] | None = None
    cancellation: Cancellation | None = None

    def carried_out(
        self,
        make: Callable[..., TextBuild],
        described: Callable[[TextBuild], tuple[list[store.InputFile], dict[str, Any]]],
        is_large: Callable[[], bool],
    ) -> store.Manifest:
        """Build, or go on building, check and publish; the new index's manifest.

        Args:
            make: the build, of the arguments that all builds share.
            described: inputs and settings for the manifest, of a build that has run.
            is_large: whether there is so much text that it is embedded later where nobody says.

        Raises:
            InputError, KnowledgeIndexError, Cancelled: as of :func:`build_text_index`.
        """
        before = self.base[1] if self.base is not None else None
        cancellation = self.cancellation or Cancellation()
        show = self.progress or (lambda _: None)
        try:
            with publishing.resumable("text", self.name) as scratch:
                left = read_ledger(scratch)
                if before is not None and left is not None and left.settings.get("mode") != self.mode:
                    raise unfinished_build_error("text", self.name)
                later = _decided_later(self.vectors, before, left)
                if later is None or (self.mode == "sync" and left is None and not later):
                    later = is_large()
                ledger = self._ledger(scratch, later, show, cancellation)
                for message in self._about_start(ledger):
                    (self.tell or (lambda _: None))(message)
                with closing(known_vectors(self.name, self.embedder, later=later)) as known:
                    build = make(
                        ledger=ledger,
                        embedder=self.embedder,
                        progress=show,
                        cancellation=cancellation,
                        known=known,
                        base=self.base[0] if self.base is not None else None,
                        trained=int(before.settings.get("trained_rows", 0)) if before is not None else 0,
                        vectors=not later,
                    )
                    try:
                        with ledger.abandon_if_empty():
                            build.run()
                            ledger.check_inputs()
                    except KnowledgeIndexError as error:
                        after_failed_write(scratch, error)
                        raise
                if self.mode == "add" and self.base is not None:
                    copy_vectors(self.base[0], scratch)
                elif later:
                    take_over(self.name, scratch, self.embedder)
                inputs, settings = described(build)
                counts = build.counts
                whole = build.vectors and (before is None or SETTING not in before.settings)
                embedded = counts["passages"] if whole else build.embedded()
                settings = noted(settings, counts["passages"], embedded)
                manifest = store.Manifest("text", self.name, counts, inputs, settings)
                scan = self.base is None or counts["passages"] < _SCANNED
                check_before_publishing(scratch, manifest, cancellation, scan=scan)
                return store.read_manifest(publishing.publish(scratch, manifest))
        except OSError as error:
            kept = something_done(publishing.unfinished_path("text", self.name))
            raise write_error(f"the text index {self.name!r}", error, resumable=kept) from error

    def _ledger(self, scratch: Path, later: bool, show: Progress, cancellation: Cancellation) -> Ledger:
        settings: dict[str, Any] = {
            "mode": self.mode,
            "layout": LAYOUT,
            "embedder": self.embedder.identity,
            "passage_words": PASSAGE_WORDS,
            "passage_tokens": budget.most if (budget := tokens_of(self.embedder)) is not None else None,
            "chunker": CHUNKER,
            **self.settings,
        }
        if self.base is not None:
            settings["base"] = store.sha256_of(self.base[0] / store.MANIFEST)
        if later:
            settings["vectors"] = "later"
        total = sum(map(store.input_size, self.inputs))
        hashing = None
        if total > _SLOW_HASHING:
            hashing = lambda done: show(TextBuildProgress("checking the input", 0, done, total))  # noqa: E731
        return Ledger.open(scratch, "text", self.inputs, settings, cancellation=cancellation, hashing=hashing)

    def _about_start(self, ledger: Ledger) -> Iterator[str]:
        """What the user should know as the build begins."""
        if ledger.note:
            yield ledger.note
        if self.mode == "add" and self.base is not None and _chunkers(self.base[1]) != [CHUNKER]:
            yield (
                "this index was built before passages were cut by the sentences of every script and by the "
                "embedder's tokens; articles that are added or changed are cut so, the others stay as they are"
            )
        if ledger.resumed:
            yield f"resuming an unfinished build after {ledger.state.get('passages', 0)} passages"
        had_all = self.base is not None and vector_state(self.base[1]).completeness == "all"
        if ledger.settings.get("vectors") == "later" and (self.mode != "sync" or had_all):
            yield WORDS_FIRST


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


def fresh_settings(build: TextBuild) -> dict[str, Any]:
    """What the manifest of a new index says of how it was built."""
    kept = {key: value for key, value in build.ledger.settings.items() if key not in ("mode", "base", SETTING)}
    made_by = {"dimensions": build.embedder.dimensions, "backend": getattr(build.embedder, "backend", "")}
    return kept | made_by | _outcome(build)


def _added_to(before: store.Manifest, build: TextBuild) -> tuple[list[store.InputFile], dict[str, Any]]:
    """Inputs and settings of an index that was added to."""
    state = build.state
    known = {(item.size, item.sha256) for item in before.inputs}
    inputs = [*before.inputs, *(item for item in build.ledger.inputs if (item.size, item.sha256) not in known)]
    settings = before.settings | _outcome(build)
    settings["last_change"] = {
        "what": "add",
        "articles": state.articles - state.replaced - state.unchanged,
        "replaced": state.replaced,
        "unchanged": state.unchanged,
        "at": now(),
    }
    settings.setdefault("first_inputs", len(before.inputs))
    settings["chunkers"] = sorted({*_chunkers(before), CHUNKER})
    return inputs, settings


def _is_large(files: Sequence[Path], limit: int | None, titles: Sequence[str] | None) -> bool:
    """Whether there is so much text in these files that it is embedded after the build."""
    asked = [number for number in (limit, len(titles) if titles is not None else None) if number is not None]
    if asked and min(asked) <= _EMBEDDED_ARTICLES:
        return False
    return sum(store.input_size(file) * _PACKED.get(file.suffix.casefold(), 1) for file in files) > EMBEDDED_AT_ONCE


def _decided_later(vectors: Vectors, before: store.Manifest | None, left: Ledger | None) -> bool | None:
    """Whether passages are embedded after the build; None where the size of the input decides.

    A build that goes on, `left`, does as it did, and so does an index that is changed.
    """
    if vectors != "auto":
        return vectors == "later"
    if left is not None:
        return left.settings.get("vectors") == "later"
    return vector_state(before).completeness != "all" if before is not None else None


def _chunkers(manifest: store.Manifest) -> list[int]:
    """The ways in which the passages of an index were cut; indexes of former versions do not say."""
    found = manifest.settings.get("chunkers", [manifest.settings.get("chunker", 1)])
    return [item for item in found if type(item) is int] if isinstance(found, list) else [1]


def _outcome(build: TextBuild) -> dict[str, Any]:
    """What a manifest says of how a build went."""
    return {
        "vector_index": "ivf_sq" if build.trained else "exact",
        "trained_rows": build.trained,
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
    """The index in `scratch` too: its table shared, its catalogue, which SQLite writes into, as a copy."""
    share_table(directory, scratch)
    shutil.copy2(directory / CATALOG, scratch / CATALOG)


def _digest(titles: frozenset[str] | None) -> dict[str, Any] | None:
    if titles is None:
        return None
    return {"count": len(titles), "sha256": hashlib.sha256("\n".join(sorted(titles)).encode()).hexdigest()}


def now() -> str:
    """The time, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
