"""`atomr fetch`: downloads a Wikipedia or its Wikidata facts, and builds an index."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from atomr_local import paths
from atomr_local.catalog.offered import DATA_HUB, DUMPS, WIKIDATA
from atomr_local.cli.completion import text_indexes
from atomr_local.cli.fetch.console import (
    CONTACT,
    TransferProgress,
    agreed,
    bytes_progress,
    contact_of,
    interruptible,
    size_argument,
)
from atomr_local.cli.fetch.labels import LabelsWish, build_with_labels, fetch_labels, lacking
from atomr_local.cli.options import overrides
from atomr_local.cli.output import note_text
from atomr_local.errors import InputError
from atomr_local.fetching.client import Client, Limiter, checked_url, shown
from atomr_local.fetching.download import download, remaining, require_room
from atomr_local.fetching.estimates import duration, transfer_time, wikidata_slice
from atomr_local.fetching.slices import DUMPS_OF_ENTITIES, MANY, Slice, of_text_index
from atomr_local.fetching.wikibase import Wikibase
from atomr_local.fetching.wikipedia import DATE, LANGUAGE, SITE, dump_files, parquet_files
from atomr_local.indexing.builds.space import human_size
from atomr_local.indexing.graph_index.ids import read_entity_ids
from atomr_local.indexing.store import check_name
from atomr_local.settings.schema import load_settings
from atomr_local.sources.privacy import check_sent


def _size(_: click.Context, __: click.Parameter, value: str) -> int:
    """Bytes; 0 where nothing is said."""
    try:
        return size_argument(value) if value else 0
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _matching(form: re.Pattern[str], what: str) -> Callable[[click.Context, click.Parameter, str], str]:
    """Checks the form of what is given."""

    def check(_: click.Context, __: click.Parameter, value: str) -> str:
        if value and not form.fullmatch(value):
            raise click.BadParameter(f"{value!r} is not a {what}")
        return value

    return check


def _languages(_: click.Context, __: click.Parameter, value: str) -> list[str]:
    found = [part.strip() for part in value.split(",") if part.strip()]
    if not found or not all(re.fullmatch(r"[a-z]{2,12}(-[a-z0-9]{1,12})*", part) for part in found):
        raise click.BadParameter(f"{value!r} is not a list of languages such as en,de")
    return list(dict.fromkeys([*found, "mul"]))  # names that are the same in many languages stand there alone


class _Rate(click.FloatRange):
    """A range that holds no NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        rate: float = super().convert(value, param, ctx)
        if math.isnan(rate):
            self.fail(f"{value!r} is not a number of requests per second", param, ctx)
        return rate


_YES = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
_CONTACT = click.option(
    "--contact",
    metavar="EMAIL_OR_URL",
    help=f"How servers can reach you, sent with every request [default: the environment variable {CONTACT}].",
)
_BUILD = click.option("--build", metavar="NAME", default="", help="Also build the index NAME from it.")


@click.group()
def fetch() -> None:
    """Download a Wikipedia, or the facts of Wikidata about its articles.

    Example: atomr fetch wikipedia --language simple --build simple
    """


@dataclass
class WikipediaWish:
    """The request for a Wikipedia; sizes in bytes, 0 for no limit."""

    language: str
    kind: str
    date: str
    max_size: int
    to: Path
    yes: bool
    rate_limit: int
    base_url: str


def _client(contact: str | None, rate: float = 0.0, *, base_url: str) -> Client:
    use_proxy = load_settings().network.use_proxy
    return Client(contact=contact_of(contact), rate=rate, use_proxy=use_proxy, base_url=base_url, notify=note_text)


@fetch.command()
@click.option(
    "--language",
    callback=_matching(LANGUAGE, "language such as simple or en"),
    default="simple",
    show_default=True,
    help="Language of the Wikipedia.",
)
@click.option(
    "--kind",
    type=click.Choice(["dump", "parquet"]),
    default="dump",
    show_default=True,
    help="Wiki text of the latest dump, or plain text of the data set wikimedia/wikipedia.",
)
@click.option(
    "--date",
    callback=_matching(DATE, "date such as 20261101"),
    default="",
    help="Date of the dump [default: the newest].",
)
@click.option("--max-size", callback=_size, default="", metavar="SIZE", help="Download at most this much, such as 1GB.")
@click.option("--to", type=click.Path(path_type=Path), help="Directory [default: downloads/ in the data folder].")
@click.option("--rate-limit", callback=_size, default="", metavar="SIZE", help="Bytes per second at most, such as 2MB.")
@click.option("--base-url", default="", help="Mirror to use instead of Wikimedia or Hugging Face.")
@click.option("--limit", type=click.IntRange(min=1), help="With --build: index only this many articles.")
@_BUILD
@_CONTACT
@_YES
def wikipedia(contact: str | None, build: str, limit: int | None, to: Path | None, **wanted: Any) -> None:
    """Download a Wikipedia. The command shows size and time and asks before it downloads anything large.

    Run the same command again to resume an interrupted download. A file gets its final name only after its length and
    checksum match the published ones. Wikimedia asks for a contact: --contact.

    Example: atomr fetch wikipedia --language en --max-size 1GB --build english
    """
    if build:
        check_name(build)
    wish = WikipediaWish(to=to.expanduser() if to is not None else paths.downloads_dir(), **wanted)
    with interruptible(), _client(contact, wish.rate_limit, base_url=wish.base_url) as client:
        files = fetch_wikipedia(client, wish)
    if not files:
        return
    if build:
        from atomr_local.cli.commands.text import build as build_text

        click.get_current_context().invoke(build_text, inputs=tuple(files), name=build, limit=limit)
        return
    note_text("Downloaded and verified. To build the index:")
    names = [shlex.quote(str(file)) for file in files]
    few = ["--limit", str(limit)] if limit else []
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
    total, left = sum(file.size for file in files), sum(remaining(file, wish.to) for file in files)
    names = files[0].name if len(files) == 1 else f"{len(files)} files, {files[0].name} to {files[-1].name}"
    note_text(f"{names}: {human_size(total)}, of which {human_size(left)} to download into {wish.to}")
    if left:
        note_text(f"From {base}, {transfer_time(left, wish.rate_limit)}.")
        require_room(wish.to, left)
        if not agreed(wish.yes):
            note_text("Nothing was downloaded.")
            return []
    fetched = []
    for file in files:
        with bytes_progress(file.name) as progress:
            fetched.append(download(client, file, wish.to, progress))
    return fetched


@dataclass
class WikidataWish:
    """The request for Wikidata facts: the entities of a text index or of a list; `rate` in requests a second."""

    text_index: str
    entities: Path | None
    to: Path
    site: str
    languages: list[str]
    all_statements: bool
    yes: bool
    rate: float
    base_url: str
    share_private: bool = False

    @property
    def stem(self) -> str:
        """What to name things after."""
        if self.entities is None:
            return self.text_index
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.entities.stem).strip(".-_") or "entities"


@fetch.command()
@click.option(
    "--text-index",
    metavar="NAME",
    shell_complete=text_indexes,
    default="",
    help="Download facts about the articles of this text index.",
)
@click.option(
    "--entities",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Download facts about these entities: a file with one Q-id per line.",
)
@click.option(
    "--labels-for",
    metavar="NAME",
    default="",
    help="Download only the labels that this graph index lacks; with --build NAME, build it again with them.",
)
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File or directory [default: downloads/wikidata-NAME.jsonl in the data folder].",
)
@click.option(
    "--site",
    callback=_matching(SITE, "site such as enwiki or simplewiki"),
    default="enwiki",
    show_default=True,
    help="Wiki on which article titles are looked up.",
)
@click.option(
    "--languages", callback=_languages, default="en", show_default=True, help="Languages of names, such as en,de."
)
@click.option("--all-statements", is_flag=True, help="Keep external identifiers and media too.")
@click.option(
    "--rate", type=_Rate(0.001, 10), default=2.0, show_default=True, help="Maximum number of requests per second."
)
@click.option("--base-url", default=WIKIDATA, help="Address of api.php to use instead of Wikidata's.")
@click.option(
    "--share-private", is_flag=True, help="Send the titles or ids of a private index to the server all the same."
)
@_BUILD
@_CONTACT
@_YES
def wikidata(contact: str | None, build: str, labels_for: str, **wanted: Any) -> None:
    """Download the facts of Wikidata about the articles of a text index, or about a list of entities.

    Articles are looked up in Wikidata's API by their Wikidata id, or by their title on --site. Then the names and types
    of everything that they point to are downloaded. Run the same command again to resume an interrupted download.

    These titles and ids leave this machine. Those of a private index do only with --share-private.

    Example: atomr fetch wikidata --text-index simple --site simplewiki --build simple
    """
    if labels_for:
        _labels(contact, build, labels_for, **wanted)
        return
    wish = wikidata_wish(**wanted)
    if build:
        check_name(build)
    with interruptible():
        found = _at_hand(wish) if build else None
        if found is None:
            with _client(contact, base_url="" if wish.base_url == WIKIDATA else wish.base_url) as client:
                found = fetch_wikidata(client, wish)
    if found is None:
        return
    target, listed = found
    language = wish.languages[0]
    if build:
        from atomr_local.cli.commands.graph import build as build_graph

        click.get_current_context().invoke(
            build_graph, inputs=(target,), name=build, entities=listed, language=language
        )
        return
    note_text("Downloaded. To build the index:")
    files = [shlex.quote(str(file)) for file in found]
    other = f" --language {language}" if language != "en" else ""
    click.echo(f"atomr graph build {files[0]} --entities {files[1]} --name {wish.stem}{other}")


def _labels(contact: str | None, build: str, name: str, **wanted: Any) -> None:
    """Download the labels that a graph index lacks.

    Raises:
        UsageError: an option goes with facts alone, or another index is to be built.
        AtomrError: there is no such index, or something cannot be fetched, written or built.
    """
    if wanted["text_index"] or wanted["entities"] is not None or wanted["all_statements"]:
        raise click.UsageError(
            "--labels-for downloads labels alone: leave out --text-index, --entities, --all-statements"
        )
    if build and build != check_name(name):
        raise click.UsageError(f"--labels-for {name} can only build {name} again: --build {name}")
    kept = {key: wanted[key] for key in ("to", "languages", "yes", "rate", "base_url", "share_private")}
    wish = LabelsWish(name=check_name(name), **kept)
    with interruptible():
        found = lacking(wish)
        if found is None:
            return
        if "en" in wish.languages and found.language not in wish.languages:
            wish.languages = [found.language, *wish.languages]
        target: Path | None = wish.target
        if build and wish.target.is_file():
            note_text(f"{wish.target} already exists and is used. Move it away to download it again.")
        else:
            with _client(contact, base_url="" if wish.base_url == WIKIDATA else wish.base_url) as client:
                target = fetch_labels(client, wish, found)
    if target is not None:
        build_with_labels(found, target, build=bool(build))


def wikidata_wish(*, text_index: str, entities: Path | None, to: Path | None, **wanted: Any) -> WikidataWish:
    """What the options say.

    Raises:
        UsageError: neither or both of text index and list are given.
    """
    if bool(text_index) == (entities is not None):
        raise click.UsageError("give either --text-index NAME or --entities FILE")
    if text_index:
        check_name(text_index)
    wish = WikidataWish(text_index, entities, to=Path(), **wanted)
    place = to.expanduser() if to is not None else paths.downloads_dir()
    wish.to = place / f"wikidata-{wish.stem}.jsonl" if to is None or place.is_dir() else place
    return wish


def _at_hand(wish: WikidataWish) -> tuple[Path, Path] | None:
    """What an earlier run of the same command has fetched, so that one whose build was stopped continues with that."""
    listed = wish.to.with_name(f"{wish.to.name}.entities.txt")
    if not wish.to.is_file() or not listed.is_file():
        return None
    note_text(f"{wish.to} already exists and is used. Move it away to download it again.")
    return wish.to, listed


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
        note_text("Nothing was downloaded.")
        return None
    api = Wikibase(client, wish.base_url, wish.languages, Limiter(wish.rate, client.clock, client.sleep))
    settings = {"languages": wish.languages}
    with TransferProgress("Wikidata", lambda done, total: f"{done} of {total}") as progress:
        work = Slice(
            api, wish.to, wanted, titles,
            site=wish.site, settings=settings, whole=wish.all_statements, progress=progress,
        )  # fmt: skip
        missing = work.fetch()
    for what, number in missing.items():
        if number:
            note_text(f"{number} of the {what} do not exist.")
    return wish.to, work.entity_list
