"""`atomr text`: builds and searches text indexes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from atomr_local.cli.output import note, print_json
from atomr_local.input_files import read_text
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import load_settings

_TITLES_BYTES = 1 << 30

if TYPE_CHECKING:
    from atomr_local.indexing.store import Manifest


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
@click.option("--name", required=True, help="Name of the index; an existing index of this name is replaced.")
@click.option(
    "--format",
    "format_",
    type=_Format(["auto", "jsonl", "mediawiki", "parquet", "zim"]),
    default="auto",
    show_default=True,
    help="Format of the inputs; auto detects it for each file.",
)
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
@click.option("--add", is_flag=True, help="Add to an existing index: append new articles, replace changed ones.")
def build(
    inputs: tuple[Path, ...],
    name: str,
    format_: str,
    limit: int | None,
    titles: Path | None,
    engine: Literal["local", "ray"],
    add: bool,
) -> None:
    """Build a text index from articles: JSON lines {"id", "title", "text"}, MediaWiki dumps, parquet as in
    wikimedia/wikipedia, or Kiwix ZIM.

    Run the same command again to resume a stopped build.

    Example: atomr text build articles.jsonl --name mine
    """
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.cli.progress import building, report_skipped
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.readers.detect import record_kind
    from atomr_local.indexing.text_index.index import build_text_index
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    wanted = _read_titles(titles) if titles is not None else None
    embedder = SentenceEmbedder(find_embedder(load_settings().embedder), tell=note)
    with building("text", name, lambda state: state.passages, "passages") as (progress, cancellation):
        manifest = build_text_index(
            inputs,
            name,
            embedder=embedder,
            add=add,
            format=format_,
            limit=limit,
            titles=wanted,
            titles_file=titles,
            engine=engine,
            progress=progress,
            tell=lambda message: note(f"{message[:1].upper()}{message[1:]}."),
            cancellation=cancellation,
        )
    _show_counts(manifest)
    if add:
        change = manifest.settings["last_change"]
        click.echo(
            f"  {change['articles']} articles are new, {change['replaced']} were replaced, "
            f"{change['unchanged']} were there already"
        )
    report_skipped(manifest.settings["skipped"], lambda file: record_kind(Path(file), format_))
    missing = {} if add else manifest.settings.get("not_found", {})
    if missing.get("count"):
        _report_missing(missing["count"], missing["samples"])


@text.command()
@click.argument("titles", metavar="TITLE...", nargs=-1)
@click.option("--name", required=True, help="Name of the index.")
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
        _show_counts(manifest)
    if missing:
        _report_missing(len(missing), missing[:5])


def _show_counts(manifest: Manifest) -> None:
    from atomr_local.indexing.builds.space import human_size

    counts = manifest.counts
    size = human_size(manifest.bytes)
    click.echo(f"{manifest.name}: {counts['passages']} passages of {counts['articles']} articles, {size}")


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
    "--text-index", metavar="NAME", help="Index to use [default: the setting, the only one built, or the starter]."
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
    from atomr_local.indexing.store import resolve
    from atomr_local.sources.protocol import Request
    from atomr_local.sources.text import TextSource
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    settings = load_settings(text_index=text_index)
    embedder = SentenceEmbedder(find_embedder(settings.embedder))
    name = resolve("text", settings.text_index, note)
    directory = ensure_index("text", name, lambda: embedder)
    with closing(TextSource(directory, embedder)) as source:
        found = source.retrieve(Request(query, query, top_k=top_k), Cancellation()).evidence
    if as_json:
        print_json([{"title": e.title, "text": e.text, "score": e.score, "locator": dict(e.locator)} for e in found])
        return
    for item in found:
        section = f" › {item.locator['section']}" if item.locator.get("section") else ""
        place = f"({item.locator['passage']})"
        click.echo(f"{item.score:.4f}  {sanitize_line(item.title + section)}  {sanitize_line(place)}")
        click.echo(f"        {sanitize_line(item.text)}")
    if not found:
        click.echo("Nothing was found.", err=True)
