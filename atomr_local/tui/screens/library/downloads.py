"""What would be downloaded: the command, its size, time, licence and host. No widget in here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from atomr_local import paths
from atomr_local.catalog.offered import (
    DATA_HUB,
    DUMPS,
    FACTS_LICENCE,
    TEXT_LICENCE,
    WIKIDATA,
    Catalogue,
    OfferedModel,
    OfferedWikipedia,
    WikipediaKind,
)
from atomr_local.errors import InputError
from atomr_local.fetching.estimates import duration, transfer_time, wikidata_slice
from atomr_local.indexing.builds.space import human_size
from atomr_local.indexing.store import STARTER, check_name, list_indexes
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import load_settings
from atomr_local.sources.privacy import must_stay
from atomr_local.tui.jobs import Command

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry

ADDRESS, WIKIPEDIA, FACTS = "address", "wikipedia", "facts"


@dataclass(frozen=True)
class TextIndex:
    """A text index that facts can be fetched for; `site` is where its titles are known, such as simplewiki."""

    name: str
    articles: int
    site: str
    private: bool = False


@dataclass(frozen=True)
class DownloadRequest:
    """What was chosen and entered; `chosen` is a model's name, or one of ADDRESS, WIKIPEDIA and FACTS."""

    chosen: str
    url: str = ""
    language: str = ""
    kind: WikipediaKind = "parquet"
    limit: str = ""
    name: str = ""
    index: str = ""
    site: str = ""
    contact: str = ""


@dataclass(frozen=True)
class Download:
    """A planned download: the command, and what is shown before it starts."""

    command: Command
    details: str
    host: str
    place: str


def plan_download(request: DownloadRequest, offers: Catalogue, indexes: Sequence[TextIndex]) -> Download:
    """The planned download of the request.

    Args:
        indexes: the text indexes that facts can be fetched for.

    Raises:
        InputError: something is missing or not usable.
    """
    if request.chosen == ADDRESS:
        return _address(request.url)
    if request.chosen == WIKIPEDIA:
        return _wikipedia(request, offers.wikipedia)
    if request.chosen == FACTS:
        return _facts(request, indexes)
    model = next((item for item in offers.model if item.name == request.chosen), None)
    if model is None:
        raise InputError("nothing is chosen", hint="Choose something in the list.")
    details = f"{model.about} About {human_size(model.size)}: {transfer_time(model.size)}. Licence: {model.licence}."
    if at_hand(model):
        details += " ✓ Already downloaded. Getting it again compares it with the server."
    command = Command(f"get {model.name}", ("models", "pull", model.name, "--yes"))
    return Download(command, details, _host(model.url(offers.hub)), str(paths.models_dir()))


def at_hand(model: OfferedModel) -> bool:
    """Whether the model was fetched before."""
    return (paths.models_dir() / f"{model.name}.gguf").exists()


def _address(url: str) -> Download:
    host = _host(url)
    if not url.startswith(("https://", "http://")) or not host:
        raise InputError("no address of a file is given", hint="It begins with https://.")
    details = "Its size is shown when the download starts. See its page for the licence."
    command = Command("get a model", ("models", "pull", url, "--yes"))
    return Download(command, details, host, str(paths.models_dir()))


def _wikipedia(request: DownloadRequest, offered: Sequence[OfferedWikipedia]) -> Download:
    wikipedia = _in_language(request.language.lower(), offered)
    language, articles, limit = wikipedia.language, wikipedia.articles, _limit(request.limit)
    name = check_name(request.name or f"wikipedia-{language}")
    size = wikipedia.download_bytes(request.kind, limit)
    command = ["fetch", "wikipedia", "--language", language, "--kind", request.kind, "--build", name, "--yes"]
    if limit is not None and limit < articles:
        command += ["--limit", str(limit), "--max-size", str(size)]
    about = f"{wikipedia.name}, {min(limit or articles, articles):,} articles."
    if wikipedia not in offered:
        count = f"{limit:,}" if limit else "all"
        about = f"{wikipedia.name}, {count} articles. Its size is not known; the largest one is assumed."
    details = (
        f"{about} At most "
        f"{human_size(size)} to fetch: {transfer_time(size)}. The index {name}: about "
        f"{human_size(wikipedia.index_bytes(limit))}, built in about {duration(wikipedia.build_seconds(limit))} "
        f"on two cores; it resumes if you stop it. Licence: {TEXT_LICENCE}."
    )
    return _from_wikimedia(
        f"get the {wikipedia.name} Wikipedia", command, request, details, DUMPS if request.kind == "dump" else DATA_HUB
    )


def _in_language(entered: str, offered: Sequence[OfferedWikipedia]) -> OfferedWikipedia:
    """The one in this language, by its code or its name; as large as the largest where it is not offered.

    Raises:
        InputError: that is not a language code.
    """
    for item in offered:
        if entered in {item.language, item.name.lower()}:
            return item
    from atomr_local.fetching.wikipedia import LANGUAGE

    if not LANGUAGE.fullmatch(entered) or not offered:
        raise InputError(
            f"{entered!r} is not a language code" if entered else "no language is entered",
            hint="Enter what stands before .wikipedia.org, such as simple, en or zh-yue.",
        )
    largest = max(offered, key=lambda item: item.articles)
    return largest.model_copy(update={"language": entered, "name": entered})


def _facts(request: DownloadRequest, indexes: Sequence[TextIndex]) -> Download:
    index = next((item for item in indexes if item.name == request.index), None)
    if index is None:
        raise InputError("there is no text index to fetch facts for", hint="Get a Wikipedia first, or build one.")
    if index.private:
        raise InputError(
            f"the index {index.name} is private, and the titles of its articles would go to {_host(WIKIDATA)}",
            hint="Press P on it in the library if it is not private. To send them all the same: "
            f"atomr fetch wikidata --text-index {index.name} --share-private",
        )
    from atomr_local.fetching.wikipedia import SITE

    site = request.site.lower()
    if not SITE.fullmatch(site):
        raise InputError(
            f"{site!r} is not a Wikipedia that Wikidata knows",
            hint="Its language and wiki, such as simplewiki or enwiki.",
        )
    _, size, seconds = wikidata_slice(index.articles, index.articles)
    command = ["fetch", "wikidata", "--text-index", index.name, "--site", site, "--build", index.name, "--yes"]
    details = (
        f"Facts about {index.articles:,} articles: about {human_size(size)} in {duration(seconds)}, asked for "
        f"politely, fifty at a time; then the graph index {index.name} is built. Licence: {FACTS_LICENCE}."
    )
    return _from_wikimedia(f"get facts for {index.name}", command, request, details, WIKIDATA)


def _from_wikimedia(
    title: str, command: Sequence[str], request: DownloadRequest, details: str, server: str
) -> Download:
    contact = ("--contact", request.contact) if request.contact else ()
    place = f"{paths.downloads_dir()} and {paths.indexes_dir()}"
    return Download(Command(title, (*command, *contact)), details, _host(server), place)


def _limit(entered: str) -> int | None:
    if not entered:
        return None
    if not (entered.isascii() and entered.isdecimal() and 0 < int(entered) < 10**9):
        raise InputError(f"{entered!r} is not a number of articles", hint="Such as 20000; empty: all.")
    return int(entered)


def _host(url: str) -> str:
    try:
        return sanitize_line(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def text_indexes() -> list[TextIndex]:
    """The whole text indexes but the starter's. It reads the disk: call it from a worker."""
    settings = load_settings()
    return [_text_index(entry, must_stay(settings, entry.name)) for entry in list_indexes()
            if entry.kind == "text" and entry.manifest is not None and entry.name != STARTER]  # fmt: skip


def _text_index(entry: IndexEntry, private: bool) -> TextIndex:
    manifest = entry.manifest
    assert manifest is not None
    files = " ".join(item.path for item in manifest.inputs)
    return TextIndex(entry.name, int(manifest.counts.get("articles", 0)), site_of(files), private)


def site_of(files: str) -> str:
    """The Wikipedia that files of these names are of, named as Wikimedia or this program names them; else the English.

    In Wikidata's words, such as simplewiki.
    """
    dump = re.search(r"\b([a-z][a-z_]{1,39}wiki)-\d{8}-", files)
    if dump is not None:
        return dump[1]
    parquet = re.search(r"\bwikipedia-\d{8}\.([a-z-]{2,38})-\d{5}-of-", files)
    return f"{parquet[1].replace('-', '_')}wiki" if parquet is not None else "enwiki"
