"""`atomr text`: builds and searches text indexes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from atomr_local.cli.commands.text_sync import sync
from atomr_local.cli.completion import text_indexes
from atomr_local.cli.document_reports import report_documents, show_counts
from atomr_local.cli.output import note, note_sentence, print_json
from atomr_local.cli.privacy import marked_private, private_option
from atomr_local.input_files import read_text
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import load_settings

if TYPE_CHECKING:
    from atomr_local.indexing.store import Manifest

_TITLES_BYTES = 1 << 30
_BACKGROUND_BATCH = 32  # passages; half a second, after which it can be stopped


class _Format(click.Choice[str]):
    """The formats that come with the program, and those of other packages, which only a name given here looks for."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            from atomr_local.indexing.readers.formats import format_names

            if value in format_names():
                return value
        return super().convert(value, param, ctx)


@click.group()
def text() -> None:
    """Build and search text indexes.

    Example: atomr text search "deepest lake in Italy"
    """


@text.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--name",
    required=True,
    shell_complete=text_indexes,
    help="Name of the index; an existing index of this name is replaced.",
)
@click.option(
    "--format",
    "format_",
    type=_Format(["auto", "documents", "jsonl", "csv", "mediawiki", "wikiextractor", "parquet", "zim"]),
    default="auto",
    show_default=True,
    help="Format of the inputs; auto detects it for each file.",
)
@click.option("--id", "id_column", metavar="COLUMN", default="", help="Column or key that holds the id of an article.")
@click.option("--title", "title_column", metavar="COLUMN", default="", help="Column or key that holds the title.")
@click.option(
    "--text",
    "text_column",
    metavar="COLUMN",
    default="",
    help='Column or key that holds the text, in CSV, JSON lines and Parquet; "a.b" is the key b within a. '
    "Without --id, articles are known by their place in the file; without --title, by their first words.",
)
@click.option("--salvage", is_flag=True, help="Take what stands before the damage of a damaged or cut-off file.")
@click.option("--limit", type=click.IntRange(min=1), help="Take only this many articles.")
@click.option(
    "--titles",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take only articles with the titles in this file, one per line.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="ray reads and embeds with the workers of a Ray cluster (RAY_ADDRESS), or of this machine. It alone opens "
    "network sockets, on the loopback address unless a cluster is named; it needs atomr-local[ray].",
)
@click.option(
    "--vectors",
    type=click.Choice(["auto", "now", "later"]),
    default="auto",
    show_default=True,
    help="later builds the search by words alone, many times faster; searches then embed what they find, and "
    "`atomr text embed` the rest. auto: now for small inputs, later for more than 10 MB of text; with --add and "
    "`atomr text sync`, as the index is.",
)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(1, 64),
    help="Read the pages of a MediaWiki dump with this many processes; the index is the same. Default: one for each "
    "processor core, at most 4.",
)
@click.option("--add", is_flag=True, help="Add to an existing index: append new articles, replace changed ones.")
@click.option(
    "--exclude",
    metavar="PATTERN",
    multiple=True,
    help="Leave out files and folders of a folder that match, as in a .gitignore file; may be repeated.",
)
@click.option("--hidden", is_flag=True, help="Read the files of a folder whose names begin with a dot too.")
@private_option
def build(
    inputs: tuple[Path, ...],
    name: str,
    format_: str,
    id_column: str,
    title_column: str,
    text_column: str,
    salvage: bool,
    limit: int | None,
    titles: Path | None,
    engine: Literal["local", "ray"],
    vectors: Literal["auto", "now", "later"],
    processes: int | None,
    add: bool,
    exclude: tuple[str, ...],
    hidden: bool,
    private: bool | None,
) -> None:
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

    if format_ == "documents" or (format_ == "auto" and are_documents(inputs)):
        given = {
            "--id": id_column, "--title": title_column, "--text": text_column, "--salvage": salvage, "--add": add,
            "--limit": limit, "--titles": titles, "--engine ray": engine != "local", "--processes": processes,
        }  # fmt: skip
        if wrong := ", ".join(option for option, value in given.items() if value):
            raise click.UsageError(f"documents are read without {wrong}: for files of articles only")
        _build_documents(inputs, name, exclude, hidden, vectors, private)
        return
    if exclude or hidden:
        raise click.UsageError("--exclude and --hidden are for folders of documents")
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.cli.progress import building, report_lost, report_skipped
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.readers.columns import Columns
    from atomr_local.indexing.readers.detect import ReadOptions, record_kind
    from atomr_local.indexing.text_index.index import build_text_index
    from atomr_local.sources.privacy import check_sent
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    wanted = _read_titles(titles) if titles is not None else None
    embedder = SentenceEmbedder(find_embedder(load_settings().embedder), tell=note)
    with (
        marked_private("text", name, private),
        building("text", name, lambda state: state.passages, "passages") as (progress, cancellation),
    ):
        if engine == "ray" and (cluster := os.environ.get("RAY_ADDRESS", "")) not in {"", "local"}:
            check_sent(load_settings(), name, "its articles", f"the Ray cluster {cluster}", "--no-private")
        manifest = build_text_index(
            inputs,
            name,
            embedder=embedder,
            add=add,
            format=format_,
            options=ReadOptions(Columns(id_column, title_column, text_column), salvage),
            limit=limit,
            titles=wanted,
            titles_file=titles,
            engine=engine,
            vectors=vectors,
            processes=processes,
            progress=progress,
            tell=note_sentence,
            cancellation=cancellation,
        )
    show_counts(manifest)
    if add:
        change = manifest.settings["last_change"]
        click.echo(
            f"  {change['articles']} articles are new, {change['replaced']} were replaced, "
            f"{change['unchanged']} were there already"
        )
    _tell_missing_vectors(manifest)
    report_skipped(manifest.settings["skipped"], lambda file: record_kind(Path(file), format_))
    report_lost(manifest.settings.get("lost"))
    missing = {} if add else manifest.settings.get("not_found", {})
    if missing.get("count"):
        _report_missing(missing["count"], missing["samples"])


def _build_documents(
    roots: Sequence[Path],
    name: str,
    exclude: Sequence[str],
    hidden: bool,
    vectors: Literal["auto", "now", "later"],
    private: bool | None,
) -> None:
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.cli.progress import building
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.text_index.documents import build_documents_index
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    embedder = SentenceEmbedder(find_embedder(load_settings().embedder), tell=note)
    with (
        marked_private("text", name, private, documents=True),
        building("text", name, lambda state: state.passages, "passages") as (progress, cancellation),
    ):
        manifest = build_documents_index(
            roots,
            name,
            embedder=embedder,
            exclude=exclude,
            hidden=hidden,
            vectors=vectors,
            progress=progress,
            tell=note_sentence,
            cancellation=cancellation,
        )
    report_documents(manifest)
    _tell_missing_vectors(manifest)
    note(f"After changes in the folder, run: atomr text sync {name}")


text.add_command(sync)


@text.command()
@click.argument("titles", metavar="TITLE...", nargs=-1)
@click.option("--name", required=True, shell_complete=text_indexes, help="Name of the index.")
@click.option(
    "--titles",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Remove the articles with the titles in this file, one per line.",
)
def remove(titles: tuple[str, ...], name: str, file: Path | None) -> None:
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


@text.command()
@click.argument("name", shell_complete=text_indexes)
@click.option("--limit", type=click.IntRange(min=1), help="Embed only this many passages.")
@click.option("--background", is_flag=True, help="Leave the processor to everything else on this machine.")
def embed(name: str, limit: int | None, background: bool) -> None:
    """Embed the passages of text index NAME that have no vector yet (`text build --vectors later`).

    The index can be searched meanwhile. Stop it at any time, and run it again to go on.

    Example: atomr text embed mine
    """
    from atomr_local.cancellation import Cancellation
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.cli.progress import build_progress
    from atomr_local.cli.terminal import interrupt
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.text_index.filling import embed_text_index
    from atomr_local.system.threads import give_way, prepare_threads

    if background:
        give_way()
    prepare_threads()
    embedder = SentenceEmbedder(find_embedder(load_settings().embedder), tell=note)
    cancellation = Cancellation()
    with interrupt(cancellation.cancel), build_progress(lambda state: state.passages, "passages") as progress:
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
    from atomr_local.indexing.text_index.vector_state import vector_state

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

    try:
        lines = read_text(file, _TITLES_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise InputError(f"{file} cannot be read: {reason}", hint="A file of titles has one title per line.") from error
    titles = [line.strip() for line in lines if line.strip()]
    if not titles:
        raise InputError(f"{file} contains no title", hint="A file of titles has one title per line.")
    return titles


@text.command()
@click.argument("query")
@click.option("-k", "top_k", type=click.IntRange(1, 50), default=5, show_default=True, help="Number of passages.")
@click.option(
    "--text-index",
    metavar="NAME[,NAME…]",
    shell_complete=text_indexes,
    help="Index to use, or several [default: the setting, the only one built, or the starter].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def search(query: str, top_k: int, text_index: str | None, as_json: bool) -> None:
    """Search passages by meaning and by words combined.

    Example: atomr text search "who discovered radium" -k 3
    """
    from atomr_local.cancellation import Cancellation
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import index_names, resolve
    from atomr_local.sources.place_words import place_words
    from atomr_local.sources.protocol import Request
    from atomr_local.sources.registry import open_texts
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    settings = load_settings(text_index=text_index)
    embedder = SentenceEmbedder(find_embedder(settings.embedder))
    names = index_names(resolve("text", settings.text_index, note))
    directories = [ensure_index("text", name, lambda: embedder) for name in names]
    with closing(open_texts(directories, embedder)) as source:
        found = source.retrieve(Request(query, query, top_k=top_k), Cancellation()).evidence
    if as_json:
        print_json([{"title": e.title, "text": e.text, "score": e.score, "locator": dict(e.locator)} for e in found])
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
