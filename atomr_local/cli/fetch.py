"""`atomr fetch`: downloads a Wikipedia or its Wikidata facts, and builds an index."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from atomr_local.assistant.wishes import WIKIDATA, WikidataWish, WikipediaWish
from atomr_local.cli.downloads import TransferProgress, agreed, bytes_progress, connected, contact_of, require_transfer
from atomr_local.cli.options import command, overrides
from atomr_local.cli.output import note_text
from atomr_local.errors import InputError
from atomr_local.fetching.client import Client, Limiter, checked_url, shown
from atomr_local.fetching.download import download, dump_files, parquet_files, remaining
from atomr_local.fetching.estimates import ENTITIES_A_REQUEST, duration, wikidata_slice
from atomr_local.fetching.wikidata import (
    DUMPS_OF_ENTITIES,
    MANY,
    Slice,
    Unlabelled,
    Wikibase,
    of_text_index,
    unlabelled_in,
)
from atomr_local.indexing.builds.ledger import rebuild_words
from atomr_local.indexing.builds.space import human_size
from atomr_local.indexing.graph_index.ids import IdSet, read_entity_ids
from atomr_local.indexing.store import check_name
from atomr_local.models.catalog.offered import DATA_HUB, DUMPS
from atomr_local.settings.schema import load_settings
from atomr_local.sources.privacy import check_sent

# `atomr fetch wikidata --labels-for`: downloads the labels that a graph index lacks, and builds it again with them.


def lacking(name: str) -> Unlabelled | None:
    """What is to be downloaded; None where no label of Wikidata is lacking, which is told.

    Raises:
        KnowledgeIndexError: there is no such index, or it cannot be read.
    """
    found = unlabelled_in(name)
    if found.others:
        note_text(f"{found.others} without a label are not Wikidata's. Add a file with their labels to the inputs.")
    if not len(found.items) and not len(found.properties):
        note_text(f"Wikidata has nothing to add: the graph index {name} lacks no label of Wikidata's.")
        return None
    return found


def fetch_labels(client: Client, wish: WikidataWish, found: Unlabelled) -> Path | None:
    """Ask and fetch; the file, None if the user does not want to.

    Raises:
        InputError: the index is private.
        AtomrError: something cannot be fetched or written.
    """
    may_send = load_settings(**overrides(share_private=wish.share_private))
    check_sent(may_send, wish.labels_for, "the ids of what it has no labels for", shown(wish.base_url))
    count = len(found.items) + len(found.properties)
    requests = sum(-(-len(ids) // ENTITIES_A_REQUEST) for ids in (found.items, found.properties))
    note_text(
        f"Labels of {count} entities and properties, from {shown(wish.base_url)}: {requests} requests, "
        f"{duration(requests / wish.rate)} at least."
    )
    if not agreed(wish.yes):
        return None
    languages = wish.languages
    if "en" in languages and found.language not in languages:
        languages = [found.language, *languages]
    _, missing = _sliced(client, wish, "Labels", languages, found.items, properties=found.properties)
    if missing["entities"]:
        note_text(f"{missing['entities']} of the entities do not exist.")
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


@click.group()
def fetch() -> None:
    """Download a Wikipedia, or the facts of Wikidata about its articles.

    Example: atomr fetch wikipedia --language simple --build simple
    """


@command(fetch)
def wikipedia(wish: WikipediaWish) -> None:
    """Download a Wikipedia. The command shows size and time and asks before it downloads anything large.

    Run the same command again to resume an interrupted download. A file gets its final name only after its length and
    checksum match the published ones. Wikimedia asks for a contact: --contact.

    Example: atomr fetch wikipedia --language en --max-size 1GB --build english
    """
    if wish.build:
        check_name(wish.build)
    with connected(contact_of(wish.contact), base_url=wish.base_url, rate=wish.rate_limit) as client:
        files = fetch_wikipedia(client, wish)
    if not files:
        return
    if wish.build:
        from atomr_local.cli.commands.text import build as build_text

        click.get_current_context().invoke(build_text, inputs=tuple(files), name=wish.build, limit=wish.limit)
        return
    note_text("Downloaded and verified. To build the index:")
    names = [shlex.quote(str(file)) for file in files]
    few = ["--limit", str(wish.limit)] if wish.limit else []
    click.echo(" ".join(["atomr text build", *names, "--name", f"wikipedia-{wish.language}", *few]))


def fetch_wikipedia(client: Client, wish: WikipediaWish) -> list[Path]:
    """Ask and fetch; the files, none where the user does not want to.

    Raises:
        FetchError: something cannot be fetched or written.
    """
    base = (wish.base_url or (DUMPS if wish.kind == "dump" else DATA_HUB)).rstrip("/")
    checked_url(base)
    choose = dump_files if wish.kind == "dump" else parquet_files
    files = choose(client, base, wish.language, wish.date, wish.max_size)
    total, left = sum(file.size for file in files), sum(remaining(file, wish.folder) for file in files)
    names = files[0].name if len(files) == 1 else f"{len(files)} files, {files[0].name} to {files[-1].name}"
    note_text(f"{names}: {human_size(total)}, of which {human_size(left)} to download into {wish.folder}")
    if left:
        require_transfer(base, wish.folder, left, wish.rate_limit)
        if not agreed(wish.yes):
            return []
    fetched = []
    for file in files:
        with bytes_progress(file.name) as progress:
            fetched.append(download(client, file, wish.folder, progress))
    return fetched


def _wikidata(wish: WikidataWish) -> AbstractContextManager[Client]:
    base_url = "" if wish.base_url == WIKIDATA else wish.base_url
    return connected(contact_of(wish.contact), base_url=base_url)


def _sliced(
    client: Client, wish: WikidataWish, name: str, languages: list[str], wanted: IdSet, titles: Sequence[str] = (),
    properties: IdSet | None = None,
) -> tuple[Slice, dict[str, int]]:  # fmt: skip
    """Fetch a slice of Wikidata; the work on it, and how much is missing in the end."""
    api = Wikibase(client, wish.base_url, languages, Limiter(wish.rate, client.clock, client.sleep))
    with TransferProgress(name, lambda done, total: f"{done} of {total}") as progress:
        work = Slice(
            api, wish.target, wanted, titles, site=wish.site, settings={"languages": languages},
            whole=wish.all_statements, properties=properties, progress=progress,
        )  # fmt: skip
        return work, work.fetch()


@command(fetch)
def wikidata(wish: WikidataWish) -> None:
    """Download the facts of Wikidata about the articles of a text index, or about a list of entities.

    Articles are looked up in Wikidata's API by their Wikidata id, or by their title on --site. Then the names and types
    of everything that they point to are downloaded. Run the same command again to resume an interrupted download.

    These titles and ids leave this machine. Those of a private index do only with --share-private.

    Example: atomr fetch wikidata --text-index simple --site simplewiki --build simple
    """
    if wish.labels_for:
        _labels(wish)
        return
    wish = wikidata_wish(**vars(wish))
    if wish.build:
        check_name(wish.build)
    found = _at_hand(wish) if wish.build else None
    if found is None:
        with _wikidata(wish) as client:
            found = fetch_wikidata(client, wish)
    if found is None:
        return
    target, listed = found
    language = wish.languages[0]
    if wish.build:
        from atomr_local.cli.commands.graph import build as build_graph

        click.get_current_context().invoke(
            build_graph, inputs=(target,), name=wish.build, entities=listed, language=language
        )
        return
    note_text("Downloaded. To build the index:")
    files = [shlex.quote(str(file)) for file in found]
    other = f" --language {language}" if language != "en" else ""
    click.echo(f"atomr graph build {files[0]} --entities {files[1]} --name {wish.stem}{other}")


def _labels(wish: WikidataWish) -> None:
    """Download the labels that a graph index lacks.

    Raises:
        UsageError: an option goes with facts alone, or another index is to be built.
        AtomrError: there is no such index, or something cannot be fetched, written or built.
    """
    name = wish.labels_for
    if wish.text_index or wish.entities is not None or wish.all_statements:
        raise click.UsageError(
            "--labels-for downloads labels alone: leave out --text-index, --entities, --all-statements"
        )
    if wish.build and wish.build != check_name(name):
        raise click.UsageError(f"--labels-for {name} can only build {name} again: --build {name}")
    check_name(name)
    found = lacking(name)
    if found is None:
        return
    target: Path | None = _checked(wish.target)
    if wish.build and wish.target.is_file():
        note_text(f"{wish.target} already exists and is used. Move it away to download it again.")
    else:
        with _wikidata(wish) as client:
            target = fetch_labels(client, wish, found)
    if target is not None:
        build_with_labels(found, target, build=bool(wish.build))


def wikidata_wish(**given: Any) -> WikidataWish:
    """What the options say; `to` is the file that is written.

    Raises:
        UsageError: neither or both of text index and list are given.
    """
    wish = WikidataWish(**given)
    if bool(wish.text_index) == (wish.entities is not None):
        raise click.UsageError("give either --text-index NAME or --entities FILE")
    if wish.text_index:
        check_name(wish.text_index)
    return replace(wish, to=_checked(wish.target))


def _checked(target: Path) -> Path:
    """The file that is to be written. Raises UsageError: a folder has its name."""
    if target.is_dir():
        raise click.UsageError(f"{target} is a folder, and the file would have its name: give another place with --to")
    return target


def _at_hand(wish: WikidataWish) -> tuple[Path, Path] | None:
    """What an earlier run of the same command has fetched, so that one whose build was stopped continues with that."""
    listed = wish.target.with_name(f"{wish.target.name}.entities.txt")
    if not wish.target.is_file() or not listed.is_file():
        return None
    note_text(f"{wish.target} already exists and is used. Move it away to download it again.")
    return wish.target, listed


def fetch_wikidata(client: Client, wish: WikidataWish) -> tuple[Path, Path] | None:
    """Ask and fetch; the file and the list of its entities, None if the user does not want to.

    Raises:
        InputError: the text index is private.
        AtomrError: the entities cannot be determined, or something cannot be fetched or written.
    """
    if wish.text_index:
        may_send = load_settings(**overrides(share_private=wish.share_private))
        check_sent(may_send, wish.text_index, "the titles and ids of its articles", shown(wish.base_url))
    if wish.entities is not None:
        wanted, titles = read_entity_ids(wish.entities), list[str]()
    else:
        wanted, titles = of_text_index(wish.text_index)
    count = len(wanted) + len(titles)
    if not count:
        raise InputError(f"the text index {wish.text_index!r} contains no articles")
    requests, size, seconds = wikidata_slice(count, len(titles), wish.rate)
    note_text(
        f"{count} entities and what they point to, from {shown(wish.base_url)}. An estimate: {requests} requests, "
        f"{human_size(size)} on disk, {duration(seconds)}; some articles point to much more than others."
    )
    if count > MANY:
        note_text(f"For so many, download a dump instead: {DUMPS_OF_ENTITIES}")
    if not agreed(wish.yes):
        return None
    work, missing = _sliced(client, wish, "Wikidata", wish.languages, wanted, titles)
    for what, number in missing.items():
        if number:
            note_text(f"{number} of the {what} do not exist.")
    return wish.target, work.entity_list
