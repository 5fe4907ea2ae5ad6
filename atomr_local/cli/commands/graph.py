"""`atomr graph`: builds a graph index, queries it, finds entities and facts in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.cli.commands.graph_from_text import from_text
from atomr_local.cli.completion import graph_indexes, text_indexes
from atomr_local.cli.output import note, note_sentence, print_json
from atomr_local.cli.privacy import marked_private, private_option
from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import load_settings

if TYPE_CHECKING:
    from atomr_local.indexing.graph_index.context import BuildProgress
    from atomr_local.indexing.readers.detect import GraphFormat
    from atomr_local.indexing.store import Manifest
    from atomr_local.sources.graph.sparql.process import RunningQuery

_GRAPH_INDEX = click.option(
    "--graph-index",
    metavar="NAME",
    shell_complete=graph_indexes,
    help="Index to use [default: the setting, the only one built, or the starter].",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


@click.group()
def graph() -> None:
    """Build and query graph indexes.

    Example: atomr graph find "Marie Curie"
    """


graph.add_command(from_text)


@graph.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--name",
    required=True,
    shell_complete=graph_indexes,
    help="Name of the index; an existing index of this name is replaced.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["auto", "nt", "turtle", "wikidata-json", "facts-jsonl"]),
    default="auto",
    show_default=True,
    help="Format of the inputs; auto detects it for each file. Files may be plain, .gz or .bz2.",
)
@click.option(
    "--entities",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Keep only the facts about these entities: a file with one Q-id per line.",
)
@click.option(
    "--text-index",
    metavar="NAME",
    shell_complete=text_indexes,
    help="Keep only the facts about the articles of this text index, by Q-id or title.",
)
@click.option(
    "--properties",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Keep only these properties: a file with one P-id per line [default: all but external identifiers and media].",
)
@click.option("--language", default="en", show_default=True, help="Language of labels, aliases and descriptions.")
@click.option("--linearise", is_flag=True, help="Also make the facts as text, as `atomr graph linearise` does.")
@private_option
def build(
    inputs: tuple[Path, ...],
    name: str,
    format_: GraphFormat,
    entities: Path | None,
    text_index: str | None,
    properties: Path | None,
    language: str,
    linearise: bool,
    private: bool | None,
) -> None:
    """Build a graph index from facts.

    Run the same command again to resume a stopped build.

    Example: atomr graph build latest-all.json.bz2 --text-index simple --name simple
    """
    from atomr_local.cli.progress import building, report_skipped
    from atomr_local.indexing.builds.space import human_size
    from atomr_local.indexing.graph_index.index import build_graph_index

    with (
        marked_private("graph", name, private),
        building("graph", name, lambda state: state.triples, "facts") as (progress, cancellation),
    ):
        show = _with_notes(progress)
        manifest = build_graph_index(
            inputs,
            name,
            format=format_,
            language=language,
            entities=entities,
            text_index=text_index,
            properties=properties,
            linearise=linearise,
            progress=show,
            cancellation=cancellation,
        )
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
    from atomr_local.indexing.graph_index.statements.wikibases import identifier_of
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


@graph.command()
@click.argument("name", required=False, default="", shell_complete=graph_indexes)
@click.option("--again", is_flag=True, help="Make it anew though it is there.")
def linearise(name: str, again: bool) -> None:
    """Make the facts of the graph index NAME searchable as text: "subject relation object". [default: the setting, the
    only one built, or the starter]

    Strategies find facts by words then, as they find passages. Run the same command again to resume a stopped run.

    Example: atomr graph linearise mine
    """
    from atomr_local.cli.progress import building
    from atomr_local.indexing.graph_index.linearised.index import linearise_graph_index
    from atomr_local.indexing.graph_index.linearised.table import COUNT
    from atomr_local.indexing.starter import ensure_index
    from atomr_local.indexing.store import resolve

    wanted = resolve("graph", load_settings(graph_index=name or None).graph_index, note)
    ensure_index("graph", wanted)
    with building("graph", wanted, lambda state: state.triples, "facts") as (progress, cancellation):
        manifest, done = linearise_graph_index(
            wanted, again=again, progress=_with_notes(progress), cancellation=cancellation
        )
    count = manifest.counts[COUNT]
    click.echo(f"{wanted}: {count} facts as text" if done else f"{wanted} has its {count} facts as text already")


@graph.command()
@click.argument("query")
@click.option("-k", "number", type=click.IntRange(1, 100), default=10, show_default=True, help="Number of facts.")
@_JSON
@_GRAPH_INDEX
def facts(query: str, number: int, as_json: bool, graph_index: str | None) -> None:
    """Find facts by words, best first (BM25). The index needs its facts as text: `atomr graph linearise`.

    Example: atomr graph facts "mother of Mary Shelley" -k 3
    """
    from atomr_local.cancellation import Cancellation
    from atomr_local.sources.graph import GraphSource

    with closing(GraphSource.open(_directory(graph_index))) as source:
        found = source.facts(query, number, Cancellation())
    if as_json:
        print_json([{"title": e.title, "text": e.text, "score": e.score, "locator": dict(e.locator)} for e in found])
        return
    for item in found:
        click.echo(f"{item.score:7.2f}  {sanitize_line(item.text)}")
    if not found:
        click.echo("Nothing was found.", err=True)


@graph.command()
@click.argument("sparql", metavar="SPARQL")
@_JSON
@click.option("--jsonl", "as_json_lines", is_flag=True, help="Print each row as a line of JSON as soon as it is found.")
@click.option("--limit", type=click.IntRange(min=1), default=1_000, show_default=True, help="Maximum number of rows.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Time limit in seconds."
)
@_GRAPH_INDEX
def query(sparql: str, as_json: bool, as_json_lines: bool, limit: int, timeout: float, graph_index: str | None) -> None:
    """Run a read-only SPARQL query; rows are printed as they are found. Updates, SERVICE and LOAD are refused.

    Prefixes that need no declaration: wd, wdt, p, ps, pq, rdfs, rdf, skos, schema, xsd.

    Example: atomr graph query "SELECT ?label WHERE { ?s wdt:P36 ?city . ?city rdfs:label ?label } LIMIT 5"
    """
    from atomr_local.sources.graph.sparql.query import running_query

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


@graph.command()
@click.argument("name", metavar="NAME")
@click.option("--descriptor", default="", help="What it is, to distinguish namesakes, such as: 1929 film.")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Maximum number of candidates."
)
@_JSON
@_GRAPH_INDEX
def find(name: str, descriptor: str, limit: int, as_json: bool, graph_index: str | None) -> None:
    """Find the entities that a name may mean, the most likely first. Search uses the same ranking.

    Example: atomr graph find Mercury --descriptor planet
    """
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
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
