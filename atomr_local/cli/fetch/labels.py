"""`atomr fetch wikidata --labels-for`: downloads the labels that a graph index lacks, and builds it again with them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from atomr_local import paths
from atomr_local.cli.fetch.console import TransferProgress, agreed
from atomr_local.cli.options import overrides
from atomr_local.cli.output import note_text
from atomr_local.errors import InputError
from atomr_local.fetching.client import Client, Limiter, shown
from atomr_local.fetching.estimates import ENTITIES_A_REQUEST, duration
from atomr_local.fetching.labels import Unlabelled, unlabelled_in
from atomr_local.fetching.slices import Slice
from atomr_local.fetching.wikibase import Wikibase
from atomr_local.indexing.builds.rebuilding import rebuild_words
from atomr_local.settings.schema import load_settings
from atomr_local.sources.privacy import check_sent


@dataclass
class LabelsWish:
    """The request for the labels that the graph index `name` lacks; `rate` in requests a second."""

    name: str
    to: Path | None
    languages: list[str]
    yes: bool
    rate: float
    base_url: str
    share_private: bool = False

    @property
    def target(self) -> Path:
        """The file that the labels are written to."""
        place = self.to.expanduser() if self.to is not None else paths.downloads_dir()
        return place / f"wikidata-labels-{self.name}.jsonl" if self.to is None or place.is_dir() else place


def lacking(wish: LabelsWish) -> Unlabelled | None:
    """What is to be downloaded; None where no label of Wikidata is lacking, which is told.

    Raises:
        KnowledgeIndexError: there is no such index, or it cannot be read.
    """
    found = unlabelled_in(wish.name)
    if found.others:
        note_text(f"{found.others} without a label are not Wikidata's. Add a file with their labels to the inputs.")
    if not len(found.items) and not len(found.properties):
        note_text(f"Wikidata has nothing to add: the graph index {wish.name} lacks no label of Wikidata's.")
        return None
    return found


def fetch_labels(client: Client, wish: LabelsWish, found: Unlabelled) -> Path | None:
    """Ask and fetch; the file, None if the user does not want to.

    Raises:
        InputError: the index is private.
        AtomrError: something cannot be fetched or written.
    """
    may_send = load_settings(**overrides(share_private=wish.share_private))
    check_sent(may_send, wish.name, "the ids of what it has no labels for", shown(wish.base_url))
    count = len(found.items) + len(found.properties)
    requests = sum(-(-len(ids) // ENTITIES_A_REQUEST) for ids in (found.items, found.properties))
    note_text(
        f"Labels of {count} entities and properties, from {shown(wish.base_url)}: {requests} requests, "
        f"{duration(requests / wish.rate)} at least."
    )
    if not agreed(wish.yes):
        note_text("Nothing was downloaded.")
        return None
    api = Wikibase(client, wish.base_url, wish.languages, Limiter(wish.rate, client.clock, client.sleep))
    with TransferProgress("Labels", lambda done, total: f"{done} of {total}") as progress:
        work = Slice(
            api, wish.target, found.items,
            settings={"languages": wish.languages}, properties=found.properties, progress=progress,
        )  # fmt: skip
        missing = work.fetch()["entities"]
    if missing:
        note_text(f"{missing} of the entities do not exist.")
    return wish.target


def build_with_labels(found: Unlabelled, labels: Path, *, build: bool) -> None:
    """Build the index again with the labels, or say how.

    Raises:
        InputError: an input of the index is gone.
        AtomrError: it cannot be built.
    """
    from atomr_local.cli.commands.graph import build as build_graph

    inputs, options = rebuild_words(found.entry)
    words = [*(item for item in inputs if item != str(labels.absolute())), str(labels), *options]
    if not build:
        note_text("Downloaded. To build the index with the labels:")
        click.echo(shlex.join(["atomr", "graph", "build", *words]))
        return
    gone = [item for item in inputs if not Path(item).is_file()]
    if gone or not inputs:
        raise InputError(
            f"{', '.join(gone) or 'what the index was built from'} is not there, so that it cannot be built again",
            hint=f"The labels are in {labels}: add that file to the inputs when you build the index.",
        )
    with build_graph.make_context("atomr graph build", words) as context:
        build_graph.invoke(context)
