"""`atomr text`: builds and searches text indexes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from atomr_local.assistant.wishes import TextWish, argument, flag, option
from atomr_local.cli.options import JSON_ALONE, Within, called_for, command, marked_private
from atomr_local.cli.output import given_text, note, note_sentence, print_evidence
from atomr_local.errors import AtomrError
from atomr_local.settings.schema import load_settings
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.store import Manifest
    from atomr_local.indexing.text_index.documents import SyncReport


@click.group()
def text() -> None:
    """Build and search text indexes.

    Example: atomr text search "deepest lake in Italy"
    """


# What a build or a sync of documents tells: counts, changes, files that could not be read and what was lost.

_SHOWN = 20
_CHANGES_SHOWN = 5
_NAMED = 3  # files of one reason that are told by name
_COPIED = "left out, because another has the same text"
_PICTURE = re.compile(r"it is an? [\w ]+ image")


def show_counts(manifest: Manifest) -> None:
    """The size of an index, on standard output."""
    from atomr_local.indexing.builds.space import human_size

    counts = manifest.counts
    size = human_size(manifest.bytes)
    documents = manifest.settings.get("documents")
    of = _many(counts["articles"], "article")
    if isinstance(documents, dict):
        of = _many(documents.get("files", 0), "document")
    click.echo(f"{manifest.name}: {_many(counts['passages'], 'passage')} of {of}, {size}")


def report_documents(manifest: Manifest) -> None:
    """The size of an index of documents, and on standard error what was left out or could not be read, and why."""
    from atomr_local.indexing.readers.documents.folder import told_left_out

    show_counts(manifest)
    documents = manifest.settings.get("documents", {})
    if left_out := told_left_out(documents.get("left_out", {})):
        click.echo(sanitize_line(f"left out: {left_out}"), err=True)
    _list(_COPIED, documents.get("copies", {}))
    _list("could not be read", documents.get("unread", {}))
    _list("lost something", documents.get("lossy", {}))


def report_sync(report: SyncReport, *, only_news: bool = False) -> None:
    """What a sync changed.

    Args:
        only_news: do not tell again which files could not be read before.
    """
    if report.quiet:
        click.echo(f"{report.manifest.name}: nothing has changed")
    else:
        show_counts(report.manifest)
    moved = [f"{origin} → {path}" for origin, path in report.moved]
    for word, paths in (
        ("added", report.added), ("changed", report.changed), ("removed", report.removed), ("moved", moved),
        ("no longer readable, so left out", report.lost),
    ):  # fmt: skip
        if paths:
            more = f" and {len(paths) - _CHANGES_SHOWN} more" if len(paths) > _CHANGES_SHOWN else ""
            shown = ", ".join(map(sanitize_line, paths[:_CHANGES_SHOWN]))
            click.echo(f"  {len(paths)} {word}: {shown}{more}")
    copies = [(path, f"it is a copy of {original}") for path, original in report.copies]
    _list(_COPIED, {"count": len(copies), "samples": copies})
    unread = report.newly_unread if only_news else report.unread
    _list("could not be read", {"count": len(unread), "samples": unread})


def _list(what: str, found: dict[str, Any]) -> None:
    """What happened to files, and why; many of one reason on one line."""
    count = found.get("count", 0)
    if not count:
        return
    click.echo(f"{_many(count, 'file')} {what}:", err=True)
    reasons: dict[str, list[Sequence[str]]] = {}
    for one in found["samples"]:
        reasons.setdefault("" if _PICTURE.fullmatch(one[1]) else one[1], []).append(one)
    lines = list[str]()
    for reason, files in reasons.items():
        if len(files) <= _NAMED:
            lines += [f"{path}: {why}" for path, why in files]
        else:
            named = ", ".join(path for path, _ in files[:_NAMED])
            lines.append(f"{len(files)} {'files' if reason else 'pictures'}, such as {named}{reason and f': {reason}'}")
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
    for line in lines:
        click.echo(f"  {sanitize_line(line)}", err=True)


def _many(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count} {word}s"


# `atomr text sync`: brings an index of a folder up to date, once or whenever the folder changes.


# Changes that follow each other within this time are taken in together; no change waits longer than the second.
_QUIET_MS = 1_000
_LONGEST_WAIT_MS = 10_000
_LOOK_AGAIN_MS = 60_000


@command(text)
def sync(
    name: str = argument(completes="text_indexes"),
    watch: bool = flag("Go on: take in every change of the folder soon after it, until Ctrl-C."),
) -> None:
    """Bring a text index up to date with the folder that it was built from.

    New and changed files are read, and removed ones leave. Files that did not change are not read. Text that stays the
    same is not embedded again, under another file name too. More than 10 MB of new text are searched by words first;
    --watch makes their vectors while nothing changes. The index can be searched meanwhile, as it was.

    Example: atomr text sync notes --watch
    """
    from atomr_local.indexing.text_index.filling import embed_text_index

    embedder = _embedder()
    once = partial(_synced, name, embedder)
    if watch:
        _follow(name, once, partial(embed_text_index, name, embedder=embedder, batch=_BACKGROUND_BATCH))
    else:
        report_sync(report := once())
        _tell_missing_vectors(report.manifest)


@command(text)
def move(
    name: str = argument(completes="text_indexes"),
    folders: tuple[Path, ...] = argument(metavar="FOLDER...", required=True),
) -> None:
    """Let a text index follow the folder that its files were moved to.

    At least half of its files must be there. What changed is taken in as by `atomr text sync`; the rest is neither read
    nor embedded again. If the index was built from several folders, give the new place of each, in the same order.

    Example: atomr text move notes ~/archive/notes
    """
    report_sync(_synced(name, _embedder(), folders))
    click.echo(sanitize_line(f"{name} follows {', '.join(str(folder.absolute()) for folder in folders)} now"))


def _synced(name: str, embedder: SentenceEmbedder, roots: Sequence[Path] = ()) -> SyncReport:
    """Sync the index, and show how far that is."""
    from atomr_local.cli.progress import building
    from atomr_local.indexing.text_index.documents import sync_documents_index

    with building("text", name) as (progress, cancellation):
        return sync_documents_index(
            name, embedder=embedder, roots=roots, progress=progress, tell=note_sentence, cancellation=cancellation
        )


def _embedder() -> SentenceEmbedder:
    """The embedder of the settings, for a process that does nothing else."""
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.models.catalog.find import find_embedder
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    return SentenceEmbedder(find_embedder(load_settings().embedder), tell=note)


def _follow(name: str, once: Callable[[], SyncReport], fill: Callable[..., object] = lambda **_: None) -> None:
    """Sync after every change, until the user stops it. What keeps a sync from being made is told, and tried again.

    Args:
        fill: makes the vectors that the index lacks, while nothing changes.

    Raises:
        Cancelled: it was stopped while it synced.
    """
    from atomr_local.cli.output import interrupt
    from atomr_local.errors import InputError, KnowledgeIndexError
    from atomr_local.indexing.store import index_path, read_manifest
    from atomr_local.indexing.text_index.documents import folders_of

    changes = _watcher()
    report_sync(once())
    directory = index_path("text", name)
    roots = [folder.root for folder in folders_of(read_manifest(directory).settings)]
    note(f"Watching {', '.join(map(str, roots))}. Ctrl-C ends it.")
    stop = Cancellation()
    told = ""
    with interrupt(stop.cancel), ExitStack() as filling:
        filler = filling.enter_context(_filled(fill))
        for changed in changes(roots, stop):
            if stop.cancelled:
                return
            if not changed and filler.is_alive():
                continue
            filling.close()
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
            filler = filling.enter_context(_filled(fill))


@contextmanager
def _filled(fill: Callable[..., object]) -> Iterator[Thread]:
    """Make vectors on a thread of its own meanwhile."""
    stop = Cancellation()

    def run() -> None:
        with suppress(AtomrError):  # what cannot be done now is begun anew after the next change
            fill(cancellation=stop)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.cancel()
        thread.join()


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
                yield "look"

    return changes


_TITLES_BYTES = 1 << 30
_BACKGROUND_BATCH = 32  # passages; half a second, after which it can be stopped


@command(text)
def build(wish: TextWish) -> None:
    """Build a text index from articles: JSON lines {"id", "title", "text"}, CSV, MediaWiki dumps, parquet as in
    wikimedia/wikipedia, WikiExtractor's text, or Kiwix ZIM. Or from a folder of your own documents: Markdown, text,
    HTML, PDF, EPUB, DOCX, PPTX, XLSX, OpenDocument, RTF, CSV, e-mail, notebooks, source code.

    Files packed with gzip, bzip2, xz, Zstandard or 7-Zip are read as they are, in any encoding. Of several inputs,
    those that cannot be read are listed, and the others are taken.

    Run the same command again to resume a stopped build.

    Example: atomr text build articles.jsonl --name mine

    Example: atomr text build ~/notes --name notes --exclude drafts/
    """
    from atomr_local.indexing.readers.documents.kinds import are_documents

    if wish.format_ == "documents" or (wish.format_ == "auto" and are_documents(wish.inputs)):
        given = {
            "--id": wish.id_column, "--title": wish.title_column, "--text": wish.text_column,
            "--salvage": wish.salvage, "--add": wish.add, "--limit": wish.limit, "--titles": wish.titles,
            "--engine ray": wish.engine != "local", "--processes": wish.processes,
        }  # fmt: skip
        if wrong := ", ".join(option for option, value in given.items() if value):
            raise click.UsageError(f"documents are read without {wrong}: for files of articles only")
        _build_documents(wish)
        return
    if wish.exclude or wish.hidden or wish.ocr or wish.gitignore:
        raise click.UsageError("--exclude, --hidden, --gitignore and --ocr are for folders of documents")
    from atomr_local.cli.progress import building, report_lost, report_skipped
    from atomr_local.indexing.readers.articles import Columns
    from atomr_local.indexing.readers.detect import ReadOptions, record_kind
    from atomr_local.indexing.text_index.index import build_text_index
    from atomr_local.sources.privacy import check_sent

    wanted = _read_titles(wish.titles) if wish.titles is not None else None
    embedder = _embedder()
    with (
        marked_private("text", wish.name, wish.privacy.private),
        building("text", wish.name) as (progress, cancellation),
    ):
        if wish.engine == "ray" and (cluster := os.environ.get("RAY_ADDRESS", "")) not in {"", "local"}:
            check_sent(load_settings(), wish.name, "its articles", f"the Ray cluster {cluster}", "--no-private")
        manifest = called_for(
            wish,
            build_text_index,
            embedder=embedder,
            options=ReadOptions(Columns(wish.id_column, wish.title_column, wish.text_column), wish.salvage),
            titles=wanted,
            titles_file=wish.titles,
            progress=progress,
            tell=note_sentence,
            cancellation=cancellation,
        )
    show_counts(manifest)
    if wish.add:
        change = manifest.settings["last_change"]
        click.echo(
            f"  {change['articles']} articles are new, {change['replaced']} were replaced, "
            f"{change['unchanged']} were there already"
        )
    _tell_missing_vectors(manifest)
    report_skipped(manifest.settings["skipped"], lambda file: record_kind(Path(file), wish.format_))
    report_lost(manifest.settings.get("lost"))
    missing = {} if wish.add else manifest.settings.get("not_found", {})
    if missing.get("count"):
        _report_missing(missing["count"], missing["samples"])


def _build_documents(wish: TextWish) -> None:
    from atomr_local.cli.progress import building
    from atomr_local.indexing.text_index.documents import build_documents_index

    embedder = _embedder()
    with (
        marked_private("text", wish.name, wish.privacy.private, documents=True),
        building("text", wish.name) as (progress, cancellation),
    ):
        manifest = called_for(
            wish,
            build_documents_index,
            roots=wish.inputs,
            embedder=embedder,
            progress=progress,
            tell=note_sentence,
            cancellation=cancellation,
        )
    report_documents(manifest)
    _tell_missing_vectors(manifest)
    note(f"After changes in the folder, run: atomr text sync {wish.name}")


@command(text)
def remove(
    titles: tuple[str, ...] = argument(metavar="TITLE..."),
    name: str = option("Name of the index.", required=True, completes="text_indexes"),
    file: Path | None = option(
        "Remove the articles with the titles in this file, one per line.", "--titles", metavar="FILE"
    ),
) -> None:
    """Remove articles from a text index, without building it again.

    Example: atomr text remove "Lake Como" --name mine
    """
    from atomr_local.indexing.text_index.index import remove_from_text_index

    wanted = [*titles, *(_read_titles(file) if file is not None else ())]
    if not wanted:
        raise click.UsageError("give a TITLE, or --titles FILE")
    before = len(dict.fromkeys(wanted))
    manifest, missing = remove_from_text_index(name, wanted)
    if before > len(missing):
        show_counts(manifest)
    if missing:
        _report_missing(len(missing), missing[:5])


@command(text)
def embed(
    name: str = argument(completes="text_indexes"),
    limit: int | None = option("Embed only this many passages.", type=click.IntRange(min=1)),
    background: bool = flag("Leave the processor to everything else on this machine."),
) -> None:
    """Embed the passages of text index NAME that have no vector yet (`text build --vectors later`).

    The index can be searched meanwhile. Stop it at any time, and run it again to go on.

    Example: atomr text embed mine
    """
    from atomr_local.cli.output import interrupt
    from atomr_local.cli.progress import build_progress
    from atomr_local.indexing.text_index.filling import embed_text_index
    from atomr_local.system.threads import give_way

    if background:
        give_way()
    embedder = _embedder()
    cancellation = Cancellation()
    with interrupt(cancellation.cancel), build_progress("text") as progress:
        filled = embed_text_index(
            name,
            embedder=embedder,
            limit=limit,
            batch=_BACKGROUND_BATCH if background else None,
            progress=progress,
            tell=note_sentence,
            cancellation=cancellation,
        )
    passages = filled.manifest.counts["passages"]
    if filled.missing:
        click.echo(f"{name}: {passages - filled.missing} of {passages} passages have a vector")
    else:
        click.echo(f"{name}: all {passages} passages have a vector")


def _tell_missing_vectors(manifest: Manifest) -> None:
    """What an index built words first can do, and how it gets the rest."""
    from atomr_local.indexing.text_index.vectors import vector_state

    if told := vector_state(manifest).told():
        note(f"{told[:1].upper()}{told[1:]}. It answers at once; `atomr text embed {manifest.name}` makes the vectors.")


def _report_missing(count: int, samples: Sequence[str]) -> None:
    message = "1 title was not found" if count == 1 else f"{count} of the titles were not found, such as"
    click.echo(f"{message}: {sanitize_line('; '.join(samples))}", err=True)


def _read_titles(file: Path) -> list[str]:
    """The titles in a file, one a line.

    Raises:
        InputError: it cannot be read, or holds none.
    """
    from atomr_local.errors import InputError

    hint = "A file of titles has one title per line."
    lines = given_text(file, _TITLES_BYTES, hint=hint, no_text="not UTF-8").splitlines()
    titles = [line.strip() for line in lines if line.strip()]
    if not titles:
        raise InputError(f"{file} contains no title", hint=hint)
    return titles


@command(text)
def search(
    *,
    query: str = argument(),
    top_k: int = option("Number of passages.", "-k", type=click.IntRange(1, 50), default=5),
    text_index: str | None = option(
        "Index to use, or several [default: the setting, the only one built, or the starter].",
        metavar="NAME[,NAME…]",
        completes="text_indexes",
    ),
    part: Within,
    as_json: bool = JSON_ALONE,
) -> None:
    """Search passages by meaning and by words combined.

    Example: atomr text search "who discovered radium" -k 3
    In a part: atomr text search "hotel limit" --in 'hr/*.md' --in '#policy'
    """
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import index_names, resolve
    from atomr_local.models.catalog.find import find_embedder
    from atomr_local.sources.document_places import place_words
    from atomr_local.sources.protocol import Request
    from atomr_local.sources.registry import open_texts
    from atomr_local.sources.text_parts import PartOfTexts, parse_within
    from atomr_local.system.threads import prepare_threads

    places = parse_within(part.within)
    prepare_threads()
    settings = load_settings(text_index=text_index)
    embedder = SentenceEmbedder(find_embedder(settings.embedder))
    names = index_names(resolve("text", settings.text_index, note))
    directories = [ensure_index("text", name, lambda: embedder) for name in names]
    with closing(open_texts(directories, embedder)) as whole:
        source = PartOfTexts(whole, places) if places is not None else whole
        found = source.retrieve(Request(query, query, top_k=top_k), Cancellation()).evidence
    if as_json:
        print_evidence(found, "title", "text", "score")
        return
    for item in found:
        words = place_words(item.locator)
        section = f" › {item.locator['section']}" if item.locator.get("section") and not words else ""
        place = f"({words or item.locator['passage']})"
        if index := item.locator.get("index"):
            place = f"({index}: {place[1:]}"
        click.echo(f"{item.score:.4f}  {sanitize_line(item.title + section)}  {sanitize_line(place)}")
        click.echo(f"        {sanitize_line(item.text)}")
    if not found:
        click.echo("Nothing was found.", err=True)
