"""`atomr indexes export`, `import` and `pull`: hands a finished index from one machine to another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local.cli.completion import index_names
from atomr_local.cli.options import overrides
from atomr_local.cli.output import note_text
from atomr_local.cli.privacy import marked_private, private_option
from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import load_settings

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexKind, Manifest
    from atomr_local.indexing.transfer.importing import Offer

_KIND = click.option("--kind", type=click.Choice(["text", "graph"]), help="Kind, where both have an index NAME.")
_NAME = click.option("--name", "called", default="", help="Name for the index [default: as its maker called it].")
_REPLACE = click.option("--replace", is_flag=True, help="Replace an index of this name.")


def _digest(_: click.Context, __: click.Parameter, value: str) -> str:
    text = value.strip().lower()
    if text and not re.fullmatch(r"[0-9a-f]{64}", text):
        raise click.BadParameter("it is no SHA-256: 64 hexadecimal digits")
    return text


@click.command(name="export")
@click.argument("name", shell_complete=index_names)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.tar.zst")
@_KIND
@click.option("--licence", default="", help="Licence of the content, such as 'CC BY-SA 4.0'.")
@click.option("--source", default="", help="Where the content comes from, such as the address of a dump.")
@click.option("--replace", is_flag=True, help="Replace a file that is there.")
@click.option("--share-private", is_flag=True, help="Write it though the index is private.")
def export(
    name: str, file: Path, kind: IndexKind | None, licence: str, source: str, replace: bool, share_private: bool
) -> None:
    """Write the index NAME into one file, for others to import. Every byte is compared with its checksum on the way.

    The file names the inputs of the index without their directories. Say under which licence its content is.

    Example: atomr indexes export simple simple.tar.zst --kind text --licence "CC BY-SA 4.0" --source https://dumps.wikimedia.org
    """
    from atomr_local.cli.fetch.console import bytes_progress
    from atomr_local.indexing.builds.space import human_size
    from atomr_local.indexing.store import check_name
    from atomr_local.indexing.transfer.exporting import export_index
    from atomr_local.indexing.transfer.provenance import Provenance
    from atomr_local.sources.privacy import check_handed_on

    check_name(name)
    check_handed_on(load_settings(**overrides(share_private=share_private)), name)
    with bytes_progress(name) as progress:
        done = export_index(
            _kind_of(name, kind), name, file, Provenance.now(licence, source), replace_file=replace, progress=progress
        )
    if not licence:
        note_text("No licence is given: whoever imports it is told so. Add --licence if the content has one.")
    click.echo(f"{done.path}: {human_size(done.size)}, SHA-256 {done.sha256}")


@click.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_NAME
@_REPLACE
@private_option
def import_(file: Path, called: str, replace: bool, private: bool | None) -> None:
    """Take in an index that `atomr indexes export` wrote. It is checked in full before it is opened.

    Example: atomr indexes import simple.tar.zst
    """
    _take_in(file, called, replace=replace, origin="", private=private)


@click.command()
@click.argument("url")
@_NAME
@_REPLACE
@click.option("--sha256", callback=_digest, default="", help="SHA-256 of the file, as its maker published it.")
@click.option("--base-url", default="", help="Server of your own that may be asked over http.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@private_option
def pull(url: str, called: str, replace: bool, sha256: str, base_url: str, yes: bool, private: bool | None) -> None:
    """Download an exported index and take it in. It is checked in full before it is opened.

    The command shows size and time and asks before it downloads. Run the same command again to resume an interrupted
    download.

    Example: atomr indexes pull https://example.org/simple.tar.zst --sha256 9f86d0…
    """
    from atomr_local.cli.fetch.index_file import fetch_index_file

    found = fetch_index_file(url, sha256=sha256, base_url=base_url, yes=yes)
    if found is None:
        return
    file, origin = found
    try:
        _take_in(file, called, replace=replace, origin=origin, private=private)
    except InputError:
        file.unlink(missing_ok=True)  # of no use to a later run
        raise
    file.unlink(missing_ok=True)


def _take_in(file: Path, called: str, *, replace: bool, origin: str, private: bool | None) -> Manifest:
    from atomr_local.cli.fetch.console import bytes_progress
    from atomr_local.indexing.store import check_name
    from atomr_local.indexing.transfer.importing import import_index, read_offer

    if called:
        check_name(called)
    offer = read_offer(file)
    _tell(offer)
    embedder = embedder_identity_here()
    name = called or offer.manifest.name
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
    return manifest


def _tell(offer: Offer) -> None:
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
    from atomr_local.catalog.starter import find_embedder
    from atomr_local.errors import AtomrError
    from atomr_local.indexing.embedding.embedder import embedder_identity

    try:
        return embedder_identity(find_embedder(load_settings().embedder))
    except AtomrError:
        return None
