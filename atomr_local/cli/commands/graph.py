"""`atomr graph`: builds a graph index, queries it, finds entities and facts in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.assistant.wishes import GraphWish, argument, flag, option, parameters
from atomr_local.cli.options import JSON_ALONE, ModelChoice, called_for, command, marked_private, overrides
from atomr_local.cli.output import announce_remote, note, note_sentence, print_evidence
from atomr_local.errors import AtomrError, Cancelled, InputError, KnowledgeIndexError
from atomr_local.settings.schema import load_settings
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.indexing.graph_index.build import BuildProgress
    from atomr_local.indexing.store import Manifest
    from atomr_local.page_facts.extraction import ModelReading
    from atomr_local.page_facts.fact_file import PageRead
    from atomr_local.settings.schema import Settings
    from atomr_local.sources.graph.sparql.process import RunningQuery


_GRAPH_INDEX = option(
    "Index to use [default: the setting, the only one built, or the starter].", "--graph-index",
    metavar="NAME", completes="graph_indexes",
)  # fmt: skip


@click.group()
def graph() -> None:
    """Build and query graph indexes.

    Example: atomr graph find "Marie Curie"
    """


# `atomr graph from-text`: a graph of the facts that the passages of a text index state.

_TOLD_EVERY = 5.0  # seconds
_LEFT_OUT = {
    "label": "under labels that name no property",
    "value": "that are too long or of another kind",
    "subject": "in rows that do not name one thing",
    "field": "in fields of infoboxes that fit no known property",
}


@parameters
class FromTextWish:
    """What facts are read from, and how."""

    text_index: str = argument(metavar="TEXT_INDEX", completes="text_indexes")
    name: str | None = option(
        "Name of the graph index [default: that of the text index].", metavar="NAME", completes="graph_indexes"
    )
    out: Path | None = option(
        "Where the facts are kept, as JSON lines [default: in the folder facts beside the indexes].", metavar="FILE"
    )
    facts_only: bool = flag("Write the facts and build no index, to look through them first.")
    with_model: bool = flag("Have the model read more than set phrases tell: slow, and often wrong.")
    sure: float | None = option(
        "How sure both readers must be of what the model reads [default: 0.85].",
        type=click.FloatRange(0.0, 1.0), metavar="P",
    )  # fmt: skip
    pages: int | None = option("Read at most N pages.", type=click.IntRange(min=1), metavar="N")
    again: bool = flag("Begin with the first page, though there is a file of facts.")
    chosen: ModelChoice
    share_private: bool = flag("Allow a graph that is not private, and a model elsewhere.")


@command(graph)
def from_text(wish: FromTextWish) -> None:
    """Make a graph index of what the passages of TEXT_INDEX state about their page's subject.

    Front matter, the rows of tables and a list at the beginning ("Born: 1950") give facts, and so do infoboxes of
    wikis and set phrases such as "directed by …" or "born 3 May 1901 in …". All are taken as they stand. With
    --with-model the model also reads the answers to some sixty questions, such as "What is the capital of …?", and
    what a span reader confirms is kept. Each fact holds its passage and sentence. Not every fact is right: look
    through the file. Run the same command again to resume a stopped run.

    Example: atomr graph from-text notes
    """
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import check_name, resolve
    from atomr_local.page_facts.extraction import SURE
    from atomr_local.sources.privacy import check_derived, check_private
    from atomr_local.system import paths

    read = {"text_index": wish.text_index, "sources": ("text",), "share_private": wish.share_private}
    settings = load_settings(**overrides(**vars(wish.chosen), **read))
    threshold = (SURE if wish.sure is None else wish.sure) if wish.with_model else None
    name = wish.name or wish.text_index
    check_name(name)
    check_derived(settings, wish.text_index, name)
    if wish.with_model:
        check_private(settings, ("text",), web=False)
    directory = ensure_index("text", resolve("text", wish.text_index))
    facts = wish.out or paths.data_dir() / "facts" / f"{name}.jsonl"
    if not wish.facts_only:
        _check_not_another(name, facts)
    found = _read(settings, directory, facts, threshold, wish)
    if wish.facts_only:
        return
    if not found:
        raise InputError(
            f"no fact was found in {wish.text_index}",
            hint="Set phrases are found, such as “… was born in Leeds”. --with-model has the model read more.",
        )
    _build(name, facts)


def _read(settings: Settings, directory: Path, facts: Path, sure: float | None, wish: FromTextWish) -> int:
    """Write the facts to the file; how many it has. `sure`: None without the model."""
    from atomr_local.cli.output import interrupt
    from atomr_local.page_facts.fact_file import fact_file, read_pages
    from atomr_local.page_facts.passages import Passages
    from atomr_local.system.cancellation import Cancellation

    cancellation = Cancellation()
    with ExitStack() as stack:
        file = stack.enter_context(fact_file(facts, _described(settings, directory, sure), again=wish.again))
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
                read_pages(
                    passages.pages(), file, reading, most=wish.pages, on_page=_shown(), cancellation=cancellation
                )
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
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.errors import MissingPartError
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.models.catalog.find import starter_embedder_path
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

    with building("graph", name) as (progress, cancellation):
        manifest = build_graph_index((facts,), name, progress=progress, cancellation=cancellation)
    click.echo(f"{manifest.name}: {manifest.counts['triples']} facts on {manifest.counts['entities']} entities")


@command(graph)
def build(wish: GraphWish) -> None:
    """Build a graph index from facts.

    Run the same command again to resume a stopped build.

    Example: atomr graph build latest-all.json.bz2 --text-index simple --name simple
    """
    from atomr_local.cli.progress import building, report_skipped
    from atomr_local.indexing.builds.space import human_size
    from atomr_local.indexing.graph_index.index import build_graph_index

    with (
        marked_private("graph", wish.name, wish.privacy.private),
        building("graph", wish.name) as (progress, cancellation),
    ):
        manifest = called_for(wish, build_graph_index, progress=_with_notes(progress), cancellation=cancellation)
    counts = manifest.counts
    click.echo(
        f"{manifest.name}: {counts['triples']} facts on {counts['entities']} entities with {counts['properties']} "
        f"properties, {human_size(manifest.bytes)}"
    )
    missing = manifest.settings.get("slice", {}).get("titles_not_found", 0)
    if missing:
        click.echo(f"{missing} articles of the text index have no entity here.", err=True)
    report_skipped(manifest.settings["skipped"])
    _report_passed_over(manifest.settings)
    _report_unlabelled(manifest)


def _report_unlabelled(manifest: Manifest) -> None:
    """Tell how much is shown by its id, and what to add."""
    from atomr_local.indexing.graph_index.statements.terms import identifier_of
    from atomr_local.language.properties import ENTITY, PROPERTY

    if not (found := manifest.settings.get("unlabelled")):
        return
    iris = found["samples"]
    of_wikidata = any(iri.startswith((ENTITY, PROPERTY)) for iri in iris)
    few = ", ".join(identifier_of(iri) or iri for iri in iris)
    add = f", or download them: atomr fetch wikidata --labels-for {manifest.name}" if of_wikidata else ""
    click.echo(
        f"{found['count']} entities, units and properties have no label in {manifest.settings['language']}, such as "
        f"{few}; answers say so. Add a file with their labels to the inputs{add}.",
        err=True,
    )


def _report_passed_over(settings: dict[str, Any]) -> None:
    """Tell what was read and is not in the graph."""
    if passed := settings.get("passed_over"):
        told = ", ".join(f"{number} {what}" for what, number in passed.items())
        click.echo(f"Passed over: {told}.", err=True)


def _with_notes(progress: Callable[[BuildProgress], None]) -> Callable[[BuildProgress], None]:
    """The callback, which tells beside how far a build is what became of an earlier one."""
    last = ""

    def show(state: BuildProgress) -> None:
        nonlocal last
        if state.note != last:
            last = state.note
            note_sentence(last)
        progress(state)

    return show


@command(graph)
def linearise(
    name: str = argument(required=False, default="", completes="graph_indexes"),
    again: bool = flag("Make it anew though it is there."),
) -> None:
    """Make the facts of the graph index NAME searchable as text: "subject relation object". [default: the setting, the
    only one built, or the starter]

    Strategies find facts by words then, as they find passages. Run the same command again to resume a stopped run.

    Example: atomr graph linearise mine
    """
    from atomr_local.cli.progress import building
    from atomr_local.indexing.graph_index.index import linearise_graph_index
    from atomr_local.indexing.graph_index.linearised import COUNT
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import resolve

    wanted = resolve("graph", load_settings(graph_index=name or None).graph_index, note)
    ensure_index("graph", wanted)
    with building("graph", wanted) as (progress, cancellation):
        manifest, done = linearise_graph_index(
            wanted, again=again, progress=_with_notes(progress), cancellation=cancellation
        )
    count = manifest.counts[COUNT]
    click.echo(f"{wanted}: {count} facts as text" if done else f"{wanted} has its {count} facts as text already")


@command(graph)
def facts(
    query: str = argument(),
    number: int = option("Number of facts.", "-k", type=click.IntRange(1, 100), default=10),
    as_json: bool = JSON_ALONE,
    graph_index: str | None = _GRAPH_INDEX,
) -> None:
    """Find facts by words, best first (BM25). The index needs its facts as text: `atomr graph linearise`.

    Example: atomr graph facts "mother of Mary Shelley" -k 3
    """
    from atomr_local.sources.graph import GraphSource
    from atomr_local.system.cancellation import Cancellation

    with closing(GraphSource.open(_directory(graph_index))) as source:
        found = source.facts(query, number, Cancellation())
    if as_json:
        print_evidence(found, "title", "text", "score")
        return
    for item in found:
        click.echo(f"{item.score:7.2f}  {sanitize_line(item.text)}")
    if not found:
        click.echo("Nothing was found.", err=True)


@command(graph)
def query(
    sparql: str = argument(metavar="SPARQL"),
    as_json: bool = JSON_ALONE,
    as_json_lines: bool = flag("Print each row as a line of JSON as soon as it is found.", "--jsonl"),
    limit: int = option("Maximum number of rows.", type=click.IntRange(min=1), default=1_000),
    timeout: float = option("Time limit in seconds.", type=click.FloatRange(min=0.1), default=30.0),
    graph_index: str | None = _GRAPH_INDEX,
) -> None:
    """Run a read-only SPARQL query; rows are printed as they are found. Updates, SERVICE and LOAD are refused.

    Prefixes that need no declaration: wd, wdt, p, ps, pq, rdfs, rdf, skos, schema, xsd.

    Example: atomr graph query "SELECT ?label WHERE { ?s wdt:P36 ?city . ?city rdfs:label ?label } LIMIT 5"
    """
    from atomr_local.sources.graph.sparql.process import running_query

    if as_json and as_json_lines:
        raise click.UsageError("use either --json or --jsonl")
    printed = _print_json if as_json else _print_json_lines if as_json_lines else _print_lines
    with running_query(_directory(graph_index), sparql, timeout=timeout, max_rows=limit) as running:
        if running.boolean is None:
            printed(running)
        elif as_json or as_json_lines:
            click.echo(json.dumps({"boolean": running.boolean}))
        else:
            click.echo("yes" if running.boolean else "no")
        if running.cut and not as_json:
            click.echo(
                f"There are more than {limit} rows; the rest were left out. --limit raises the maximum.", err=True
            )


def _print_lines(running: RunningQuery) -> None:
    """The columns' names and then a line a row, values separated by tabs."""
    # With the first rows, so that nothing is printed of a query that finds none before it fails.
    head = "\t".join(sanitize_line(name) for name in running.variables) + "\n"
    for rows in running.batches():
        lines = ("\t".join(sanitize_line(row.get(name, "")) for name in running.variables) for row in rows)
        click.echo(head + "\n".join(lines))
        head = ""
    click.echo(head, nl=False)


def _print_json_lines(running: RunningQuery) -> None:
    """An object a row, its values by column."""
    for rows in running.batches():
        click.echo("\n".join(map(json.dumps, rows)))


def _print_json(running: RunningQuery) -> None:
    """One object with variables, rows and cut. Complete JSON even if the query takes too long; it says so then."""
    opening = f'{{"variables": {json.dumps(running.variables)}, "rows": ['
    before = opening
    try:
        for rows in running.batches():
            click.echo(before + ", ".join(map(json.dumps, rows)), nl=False)
            before = ", "
    except AtomrError as error:
        if before != opening:
            text = json.dumps({"title": error.title, "message": error.message})
            click.echo(f'], "cut": true, "error": {text}}}')
        raise
    click.echo(f'{opening if before == opening else ""}], "cut": {json.dumps(running.cut)}}}')


@command(graph)
def find(
    name: str = argument(metavar="NAME"),
    descriptor: str = option("What it is, to distinguish namesakes, such as: 1929 film.", default=""),
    limit: int = option("Maximum number of candidates.", type=click.IntRange(1, 100), default=10),
    as_json: bool = JSON_ALONE,
    graph_index: str | None = _GRAPH_INDEX,
) -> None:
    """Find the entities that a name may mean, the most likely first. Search uses the same ranking.

    Example: atomr graph find Mercury --descriptor planet
    """
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.models.catalog.find import find_embedder
    from atomr_local.sources.graph import GraphSource

    source = GraphSource.open(
        _directory(graph_index), lambda: SentenceEmbedder(find_embedder(load_settings().embedder)), note
    )
    with closing(source):
        candidates = source.linker.link(name, descriptor, limit=limit)
        types = [source.graph.types(candidate.entity.iri) for candidate in candidates]
        labels = [source.graph.label(candidate.entity.iri) for candidate in candidates]
    if as_json:
        found = [
            {"iri": c.entity.iri, "label": label, "description": c.entity.description, "types": kinds, "score": c.score}
            for c, label, kinds in zip(candidates, labels, types, strict=True)
        ]
        click.echo(json.dumps(found))
        return
    if not candidates:
        click.echo(f"Nothing here is called {sanitize_line(name)}.", err=True)
    for candidate, label, kinds in zip(candidates, labels, types, strict=True):
        about = candidate.entity.description or ", ".join(kinds)
        line = f"{candidate.score:.2f}  {label}" + (f" — {about}" if about else "") + f"  <{candidate.entity.iri}>"
        click.echo(sanitize_line(line))


def _directory(graph_index: str | None) -> Path:
    from atomr_local.indexing.opening import require_unchanged
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import resolve

    directory = ensure_index("graph", resolve("graph", load_settings(graph_index=graph_index).graph_index, note))
    require_unchanged("graph", directory)
    return directory
