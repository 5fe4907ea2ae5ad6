"""`atomr indexes`: lists, verifies, repairs and removes indexes; hands them on."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.assistant.wishes import ExportWish, ImportWish, PullWish, argument, flag, option, yes
from atomr_local.cli.options import JSON_ALONE, KIND, command, marked_private, overrides
from atomr_local.cli.output import confirm, note, note_text, print_json
from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.settings.schema import load_settings
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.indexing.builds.ledger import Report
    from atomr_local.indexing.store import IndexEntry, IndexKind
    from atomr_local.indexing.transfer.importing import ArchiveManifest


_NONE = "No index is built yet. The starter's indexes are built when they are first used."
_NAME = argument(required=False, default="", completes="index_names")


@click.group()
def indexes() -> None:
    """List, verify, repair and remove the built indexes; hand them on. Only `pull` goes online.

    Example: atomr indexes list
    """


# `atomr indexes export`, `import` and `pull`: hands a finished index from one machine to another.


@command(indexes)
def export(wish: ExportWish) -> None:
    """Write the index NAME into one file, for others to import. Every byte is compared with its checksum on the way.

    The file names the inputs of the index without their directories. Say under which licence its content is.

    Example: atomr indexes export simple simple.tar.zst --kind text --licence "CC BY-SA 4.0" --source https://dumps.wikimedia.org
    """
    from atomr_local.cli.downloads import bytes_progress
    from atomr_local.indexing.builds.space import human_size
    from atomr_local.indexing.store import check_name
    from atomr_local.indexing.transfer.archive import Provenance
    from atomr_local.indexing.transfer.exporting import export_index
    from atomr_local.sources.privacy import check_handed_on

    name = check_name(wish.name)
    check_handed_on(load_settings(**overrides(share_private=wish.share_private)), name)
    with bytes_progress(name) as progress:
        kind, said = _kind_of(name, wish.kind), Provenance.now(wish.licence, wish.source)
        done = export_index(kind, name, wish.file, said, replace_file=wish.replace, progress=progress)
    if not wish.licence:
        note_text("No licence is given: whoever imports it is told so. Add --licence if the content has one.")
    click.echo(f"{done.path}: {human_size(done.size)}, SHA-256 {done.sha256}")


@command(indexes)
def import_(wish: ImportWish) -> None:
    """Take in an index that `atomr indexes export` wrote. It is checked in full before it is opened.

    Example: atomr indexes import simple.tar.zst
    """
    _take_in(wish.file, wish)


@command(indexes)
def pull(wish: PullWish) -> None:
    """Download an exported index and take it in. It is checked in full before it is opened.

    The command shows size and time and asks before it downloads. Run the same command again to resume an interrupted
    download.

    Example: atomr indexes pull https://example.org/simple.tar.zst --sha256 9f86d0…
    """
    from atomr_local.cli.downloads import fetch_index_file

    found = fetch_index_file(wish)
    if found is None:
        return
    file, origin = found
    try:
        _take_in(file, wish, origin)
    except InputError:
        file.unlink(missing_ok=True)  # of no use to a later run
        raise
    file.unlink(missing_ok=True)


def _take_in(file: Path, wish: ImportWish | PullWish, origin: str = "") -> None:
    from atomr_local.cli.downloads import bytes_progress
    from atomr_local.indexing.store import check_name
    from atomr_local.indexing.transfer.importing import import_index, read_offer

    called, replace = wish.taken.called, wish.taken.replace
    if called:
        check_name(called)
    offer = read_offer(file)
    _tell(offer)
    embedder = embedder_identity_here()
    name, private = called or offer.manifest.name, wish.privacy.private
    private = True if private is None and offer.private else private
    with marked_private(offer.manifest.kind, name, private), bytes_progress(name) as progress:
        manifest = import_index(
            file, name=called, replace_index=replace, origin=origin, embedder=embedder, progress=progress
        )
    if offer.embedder and embedder not in (None, offer.embedder):
        note_text(
            f"It was made with the embedder {offer.embedder}, the settings give {embedder}: "
            "searches are refused until `embedder` in the settings names that one."
        )
    counts = ", ".join(f"{count} {sanitize_line(what)}" for what, count in manifest.counts.items())
    click.echo(f"{manifest.name}: {counts}, checked")


def _tell(offer: ArchiveManifest) -> None:
    """What its maker says of an index."""
    from atomr_local.indexing.builds.space import human_size

    manifest, said = offer.manifest, offer.said
    note_text(
        f"{manifest.kind} index {manifest.name}, built {manifest.built_at}, {human_size(offer.bytes)}. What its maker "
        f"says of the content: licence {said.licence or 'not stated'}; from {said.source or 'not stated'}."
    )


def _kind_of(name: str, kind: IndexKind | None) -> IndexKind:
    """The kind of the index of this name.

    Raises:
        UsageError: there are two.
        KnowledgeIndexError: there is none.
    """
    from atomr_local.indexing.store import KINDS, index_path

    found = [one for one in KINDS if kind in (None, one) and index_path(one, name).is_dir()]
    if len(found) > 1:
        raise click.UsageError(f"there is a text and a graph index {name}: say which with --kind")
    if not found:
        raise KnowledgeIndexError(
            f"there is no {f'{kind} ' if kind else ''}index named {name!r}",
            hint="`atomr indexes list` shows what there is.",
        )
    return found[0]


def embedder_identity_here() -> str | None:
    """Identity of the embedder that searches would use; None if there is none."""
    from atomr_local.errors import AtomrError
    from atomr_local.indexing.embedding.embedder import embedder_identity
    from atomr_local.models.catalog.find import find_embedder

    try:
        return embedder_identity(find_embedder(load_settings().embedder))
    except AtomrError:
        return None


@command(indexes)
def list_(as_json: bool = JSON_ALONE) -> None:
    """List the built indexes: what from, when, how large, and whether complete.

    Example: atomr indexes list
    """
    from atomr_local.indexing.builds.publishing import list_unfinished
    from atomr_local.indexing.builds.space import human_size
    from atomr_local.indexing.store import index_names, list_indexes
    from atomr_local.indexing.verify import unfinished_report

    entries = list_indexes()
    if as_json:
        print_json(
            [
                asdict(entry) | {"path": str(entry.path), "problem": entry.damage() or None} | _vectors(entry)
                for entry in entries
            ]
        )
        return
    private = index_names(load_settings().privacy.indexes)
    for entry in entries:
        line = f"{entry.kind:<6} {sanitize_line(entry.name):<20}"
        damage = entry.damage()
        if entry.manifest is None or damage:
            click.echo(f"{line} not usable: {sanitize_line(damage)}")
            continue
        counts = ", ".join(f"{count} {sanitize_line(what)}" for what, count in entry.manifest.counts.items())
        files = ", ".join(sanitize_line(Path(item.path).name) for item in entry.manifest.inputs)
        size = human_size(entry.manifest.bytes)
        if entry.name in private:
            size += "; private"
        if vectors := _vectors(entry).get("vectors"):
            size += f"; {vectors['told']}" if vectors["told"] else ""
        made = "imported, built" if "imported" in entry.manifest.settings else "built"
        click.echo(f"{line} {counts}; {size}; {made} {sanitize_line(entry.manifest.built_at)} from {files}")
    unfinished = [unfinished_report(item) for item in list_unfinished()]
    for report in unfinished:
        click.echo(f"{report.kind} {sanitize_line(report.name)} is {report.state}.", err=True)
        _explain(report, err=True)
    if not entries and not unfinished:
        click.echo(_NONE, err=True)


@command(indexes)
def verify(
    name: str = _NAME,
    kind: KIND | None = option("Only the indexes of this kind."),
    as_json: bool = JSON_ALONE,
) -> None:
    """Read all indexes, or those named NAME, and explain any damage. Exit status 1 if there is any.

    Example: atomr indexes verify mine
    """
    from atomr_local.indexing.verify import verify_indexes

    reports = verify_indexes(name, kind, embedder=embedder_identity_here())
    if as_json:
        print_json([_fields(report) for report in reports])
    else:
        for report in reports:
            _show(report)
        if not reports:
            click.echo(_NONE, err=True)
    if not all(report.good for report in reports):
        sys.exit(1)


@command(indexes)
def repair(name: str = _NAME, as_json: bool = JSON_ALONE) -> None:
    """Repair all indexes, or those named NAME, without their input files. Exit status 1 if damage is left.

    Damaged full-text and vector indexes are rebuilt from the passages, damaged facts as text from the graph, a damaged
    manifest is restored, missing checksums are computed, and the starter is rebuilt. For any other damage, the command
    that builds the index again is printed. The old index is replaced only when the new one is complete.

    Example: atomr indexes repair mine
    """
    from atomr_local.indexing.embedding.embedder import Embedder, SentenceEmbedder
    from atomr_local.indexing.verify import repair_indexes

    def open_embedder() -> Embedder:
        from atomr_local.models.catalog.find import find_embedder

        return SentenceEmbedder(find_embedder(load_settings().embedder))

    found = repair_indexes(name, open_embedder=open_embedder, tell=note)
    left = [item.report for item in found if item.report is not None]
    if as_json:
        print_json([{"done": item.done, "now": item.report and _fields(item.report)} for item in found])
    else:
        for item in found:
            if item.done:
                click.echo(f"{sanitize_line(name or (item.report.name if item.report else ''))}: {item.done}")
            if item.report is not None:
                _show(item.report)
        if not found:
            click.echo(_NONE, err=True)
    if any(report.state == "damaged" for report in left):
        sys.exit(1)


@command(indexes)
def private(
    names: tuple[str, ...] = argument(metavar="NAME...", required=True, completes="index_names"),
    off: bool = flag("They are private no longer."),
) -> None:
    """Make the indexes named NAME private: nothing that is read in them leaves this machine.

    A question that may read one is refused while web search is on or the model is on another machine, unless it is
    asked with --share-private. Written to the settings (privacy.indexes).

    Example: atomr indexes private notes
    """
    from atomr_local.indexing.store import check_name, list_indexes
    from atomr_local.sources.privacy import mark_private

    built = {entry.name for entry in list_indexes()}
    if unknown := [name for name in names if check_name(name) not in built and not off]:
        raise KnowledgeIndexError(
            f"there is no index named {unknown[0]!r}", hint="`atomr indexes list` shows what there is."
        )
    now, file = mark_private(names, private=not off)
    click.echo(f"private: {', '.join(now) or 'none'} ({file})")


@command(indexes)
def remove(
    kind: KIND = argument(),
    name: str = argument(completes="index_names"),
    unfinished: bool = flag("Remove only the files of an unfinished build; keep the index."),
    yes: bool = yes(),
) -> None:
    """Remove an index and free its space.

    Example: atomr indexes remove text mine --yes
    """
    from atomr_local.indexing import store
    from atomr_local.indexing.builds import publishing
    from atomr_local.indexing.builds.space import human_size

    store.check_name(name)
    what = f"the unfinished build of the {kind} index" if unfinished else f"the {kind} index"
    confirm(yes, f"Remove {what} {name}?", "removal")
    place = store.index_path(kind, name)
    missing = not place.exists()
    freed = publishing.remove(kind, name, unfinished_only=unfinished)
    what = "put back" if missing and place.exists() else "removed"
    click.echo(f"{name}: {what}, {human_size(freed)} freed")


def _vectors(entry: IndexEntry) -> dict[str, Any]:
    """How many passages of a text index have a vector, by "vectors"; nothing for another."""
    from atomr_local.indexing.text_index.vectors import vector_state

    if entry.kind != "text" or entry.manifest is None:
        return {}
    state = vector_state(entry.manifest, entry.path)
    return {"vectors": {"state": state.completeness, "made": state.made, "told": state.told()}}


def _fields(report: Report) -> dict[str, Any]:
    return asdict(report) | {"path": str(report.path)}


def _show(report: Report) -> None:
    from atomr_local.indexing.builds.space import human_size

    counts = ", ".join(f"{count} {sanitize_line(what)}" for what, count in report.counts.items())
    measured = ", ".join(f"{what} {value:.3f} of exact search" for what, value in report.measured.items())
    details = "; ".join(part for part in (counts, human_size(report.bytes), measured) if part)
    click.echo(f"{report.kind:<6} {sanitize_line(report.name):<20} {_state(report)}: {details}")
    _explain(report)


def _state(report: Report) -> str:
    return "OK" if report.state == "whole" else report.state


def _explain(report: Report, *, err: bool = False) -> None:
    for problem in report.problems:
        click.echo(f"  - {sanitize_line(problem)}", err=err)
    for remark in report.notes:
        click.echo(f"  ({sanitize_line(remark)})", err=err)
    if report.hint:
        click.echo(f"  → {sanitize_line(report.hint)}", err=err)
