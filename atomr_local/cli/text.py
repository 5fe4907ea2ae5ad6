"""`atomr text`: build a text index, search it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from atomr_local.cli.options import print_json
from atomr_local.sanitize import sanitize_line
from atomr_local.settings import load_settings


@click.group()
def text() -> None:
    """Build and search text indexes.

    Example: atomr text search "deepest lake in Italy"
    """


@text.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the index; an older one of this name is replaced.")
@click.option(
    "--format",
    type=click.Choice(["auto", "jsonl"]),
    default="auto",
    show_default=True,
    help='JSON lines {"id", "title", "text"}, plain, .gz or .bz2.',
)
@click.option("--limit", type=click.IntRange(min=1), help="Take this many articles only.")
def build(inputs: tuple[Path, ...], name: str, format: str, limit: int | None) -> None:  # noqa: ARG001
    """Build a text index from articles.

    Example: atomr text build articles.jsonl --name mine
    """
    from atomr_local.backbone.threads import prepare_threads
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.cli.progress import build_progress, report_skipped
    from atomr_local.indexing.embedding import SentenceEmbedder
    from atomr_local.indexing.text_index import build_text_index

    prepare_threads()
    embedder = SentenceEmbedder(find_embedder(load_settings().embedder))
    with build_progress(lambda state: f"{getattr(state, 'passages', 0)} passages") as progress:
        manifest = build_text_index(inputs, name, embedder=embedder, limit=limit, progress=progress)
    counts = manifest.counts
    size = f"{manifest.bytes / 1e6:.1f} MB"
    click.echo(f"{manifest.name}: {counts['passages']} passages of {counts['articles']} articles, {size}")
    report_skipped(manifest.settings["skipped"])


@text.command()
@click.argument("query")
@click.option("-k", "top_k", type=click.IntRange(1, 50), default=5, show_default=True, help="Passages wanted.")
@click.option(
    "--text-index", metavar="NAME", help="Index to use; else the setting, the only one built, or the starter."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def search(query: str, top_k: int, text_index: str | None, as_json: bool) -> None:
    """Search passages by meaning and by words, the two fused.

    Example: atomr text search "who discovered radium" -k 3
    """
    from atomr_local.backbone.threads import prepare_threads
    from atomr_local.cancellation import Cancellation
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.indexing.embedding import SentenceEmbedder
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import resolve
    from atomr_local.sources.protocol import Request
    from atomr_local.sources.text import TextSource

    prepare_threads()
    settings = load_settings(text_index=text_index)
    embedder = SentenceEmbedder(find_embedder(settings.embedder))
    directory = ensure_index("text", resolve("text", settings.text_index), lambda: embedder)
    with closing(TextSource.open(directory, embedder)) as source:
        found = source.retrieve(Request(query, query, top_k=top_k), Cancellation()).evidence
    if as_json:
        print_json([{"title": e.title, "text": e.text, "score": e.score, "locator": dict(e.locator)} for e in found])
        return
    for item in found:
        click.echo(f"{item.score:.4f}  {sanitize_line(item.title)}  ({sanitize_line(str(item.locator['passage']))})")
        click.echo(f"        {sanitize_line(item.text)}")
    if not found:
        click.echo("Nothing was found.", err=True)
