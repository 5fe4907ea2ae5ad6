"""`atomr graph from-text`: a graph of the facts that the passages of a text index state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.cli.completion import graph_indexes, text_indexes
from atomr_local.cli.options import model_and_adapter, overrides
from atomr_local.cli.output import announce_remote, note
from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError
from atomr_local.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant
    from atomr_local.page_facts.extraction import ModelReading
    from atomr_local.page_facts.making import PageRead
    from atomr_local.settings.schema import Settings

_TOLD_EVERY = 5.0  # seconds
_LEFT_OUT = {
    "label": "under labels that name no property",
    "value": "that are too long or of another kind",
    "subject": "in rows that do not name one thing",
    "field": "in fields of infoboxes that fit no known property",
}


@click.command("from-text")
@click.argument("text_index", metavar="TEXT_INDEX", shell_complete=text_indexes)
@click.option(
    "--name",
    metavar="NAME",
    shell_complete=graph_indexes,
    help="Name of the graph index [default: that of the text index].",
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE",
    help="Where the facts are kept, as JSON lines [default: in the folder facts beside the indexes].",
)  # fmt: skip
@click.option("--facts-only", is_flag=True, help="Write the facts and build no index, to look through them first.")
@click.option(
    "--with-model", is_flag=True, help="Have the model read more than set phrases tell: slow, and often wrong."
)
@click.option(
    "--sure", type=click.FloatRange(0.0, 1.0), metavar="P",
    help="How sure both readers must be of what the model reads [default: 0.85].",
)  # fmt: skip
@click.option("--pages", type=click.IntRange(min=1), metavar="N", help="Read at most N pages.")
@click.option("--again", is_flag=True, help="Begin with the first page, though there is a file of facts.")
@model_and_adapter
@click.option("--share-private", is_flag=True, help="Allow a graph that is not private, and a model elsewhere.")
def from_text(
    text_index: str,
    name: str | None,
    out: Path | None,
    facts_only: bool,
    with_model: bool,
    sure: float | None,
    pages: int | None,
    again: bool,
    model: str | None,
    adapter: str | None,
    share_private: bool,
) -> None:
    """Make a graph index of what the passages of TEXT_INDEX state about their page's subject.

    Front matter, the rows of tables and a list at the beginning ("Born: 1950") give facts, and so do infoboxes of
    wikis and set phrases such as "directed by …" or "born 3 May 1901 in …". All are taken as they stand. With
    --with-model the model also reads the answers to some sixty questions, such as "What is the capital of …?", and
    what a span reader confirms is kept. Each fact holds its passage and sentence. Not every fact is right: look
    through the file. Run the same command again to resume a stopped run.

    Example: atomr graph from-text notes
    """
    from atomr_local import paths
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import check_name, resolve
    from atomr_local.page_facts.extraction import SURE
    from atomr_local.settings.schema import load_settings
    from atomr_local.sources.privacy import check_derived, check_private

    options = {"model": model, "adapter": adapter, "text_index": text_index, "sources": ("text",)}
    settings = load_settings(**overrides(**options, share_private=share_private))
    threshold = (SURE if sure is None else sure) if with_model else None
    name = name or text_index
    check_name(name)
    check_derived(settings, text_index, name)
    if with_model:
        check_private(settings, ("text",), web=False)
    directory = ensure_index("text", resolve("text", text_index))
    facts = out or paths.data_dir() / "facts" / f"{name}.jsonl"
    if not facts_only:
        _check_not_another(name, facts)
    found = _read(settings, directory, facts, threshold, again=again, pages=pages)
    if facts_only:
        return
    if not found:
        raise InputError(
            f"no fact was found in {text_index}",
            hint="Set phrases are found, such as “… was born in Leeds”. --with-model has the model read more.",
        )
    _build(name, facts)


def _read(
    settings: Settings, directory: Path, facts: Path, sure: float | None, *, again: bool, pages: int | None
) -> int:
    """Write the facts to the file; how many it has. `sure`: None without the model."""
    from atomr_local.cancellation import Cancellation
    from atomr_local.cli.terminal import interrupt
    from atomr_local.page_facts.fact_file import fact_file
    from atomr_local.page_facts.making import read_pages
    from atomr_local.page_facts.passages import Passages

    cancellation = Cancellation()
    with ExitStack() as stack:
        file = stack.enter_context(fact_file(facts, _described(settings, directory, sure), again=again))
        passages = Passages(directory)
        stack.callback(passages.close)
        stop, reading = cancellation.cancel, None
        if sure is not None:
            announce_remote(settings)
            reading, assistant = _model(settings, sure, stack)

            def stop() -> None:
                cancellation.cancel()
                assistant.cancel()

        if file.pages:
            note(f"{file.pages} pages are read already; going on")
        try:
            with interrupt(stop):
                read_pages(passages.pages(), file, reading, most=pages, on_page=_shown(), cancellation=cancellation)
        except Cancelled:
            note(f"What was read is kept in {facts}. Run the same command again to resume.")
            raise
        _tell_left_out(file.left_out)
        found = sum(file.counts.values())
        by_model, of_boxes = file.counts.get("model", 0), file.counts.get("infobox", 0)
        boxes = f", {of_boxes} from infoboxes" if of_boxes else ""
        click.echo(f"{facts}: {found} facts of {file.pages} pages, {by_model} of them read by the model{boxes}")
    return found


def _tell_left_out(left_out: Mapping[str, int]) -> None:
    """Say how many labelled values became no facts, and why."""
    told = [f"{many} {words}" for why, words in _LEFT_OUT.items() if (many := left_out.get(why, 0))]
    if told:
        note(f"Values of tables, lists, front matter and infoboxes that are no facts: {', '.join(told)}")


def _described(settings: Settings, directory: Path, sure: float | None) -> dict[str, Any]:
    """What decides the facts of a file."""
    from atomr_local.indexing.store import read_manifest

    described: dict[str, Any] = {"text_index": settings.text_index, "built_at": read_manifest(directory).built_at}
    if sure is not None:
        model = settings.endpoint.model if settings.endpoint.url else settings.model
        described |= {"model": model, "adapter": settings.adapter, "sure": sure}
    return described


def _check_not_another(name: str, facts: Path) -> None:
    """Raises KnowledgeIndexError where a graph index of this name was made of something else."""
    from atomr_local.indexing.store import index_path, read_manifest

    directory = index_path("graph", name)
    if not directory.exists():
        return
    inputs = [item.path for item in read_manifest(directory).inputs]
    if inputs != [str(facts)] and inputs != [str(facts.resolve())]:
        raise KnowledgeIndexError(
            f"there is a graph index {name} that was not made of {facts}",
            hint="Choose another name with --name.",
        )


def _model(settings: Settings, sure: float, stack: ExitStack) -> tuple[ModelReading, Assistant]:
    """The two readers, loaded."""
    from atomr_local.assistant import Assistant
    from atomr_local.catalog.starter import starter_embedder_path
    from atomr_local.errors import MissingPartError
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.page_facts.extraction import ModelReading, NearRelations

    assistant = stack.enter_context(Assistant.open(settings))
    note("… loading the model")
    assistant.preload(lambda _stage: None)
    judge = assistant.parts.span_reader
    if judge is None:
        raise MissingPartError(
            "the span reader is not there, without which the model's reading is not checked",
            hint="Turn on features.span_reader, or leave out --with-model.",
        )
    near = NearRelations(SentenceEmbedder(starter_embedder_path()).encode)
    return ModelReading(near, judge, lambda question: assistant.model_tools(question).reader, sure), assistant


def _shown() -> Callable[[PageRead], None]:
    """Tells how far it is, every few seconds."""
    last, found = time.monotonic(), 0

    def show(page: PageRead) -> None:
        nonlocal last, found
        found += len(page.facts)
        if time.monotonic() - last >= _TOLD_EVERY:
            last = time.monotonic()
            note(sanitize_line(f"… {page.pages} pages, {found} facts in this run; last: {page.title}"))

    return show


def _build(name: str, facts: Path) -> None:
    from atomr_local.cli.progress import building
    from atomr_local.indexing.graph_index.index import build_graph_index

    with building("graph", name, lambda state: state.triples, "facts") as (progress, cancellation):
        manifest = build_graph_index((facts,), name, progress=progress, cancellation=cancellation)
    click.echo(f"{manifest.name}: {manifest.counts['triples']} facts on {manifest.counts['entities']} entities")
