#!/usr/bin/env python3
"""Fetch the part of Wikidata that goes with a text index, or with a list of entities, through Wikidata's API.

    scripts/fetch_wikidata.py --text-index simple --site simplewiki
    scripts/fetch_wikidata.py --entities ids.txt --to films.jsonl --languages en,de

Articles that know their Wikidata id are taken by it, the others by their title on --site. After the entities come
names and types of all that they point to. An estimate of size and time, which the API cannot tell, comes before it
starts; what is broken off goes on with the same command. In the end the command that builds the index is printed.
Wikimedia asks for a contact: --contact.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from fetching.client import Client, Limiter
from fetching.console import Progress, agreed, contact_of, contact_option, run, say
from fetching.slices import Slice
from fetching.wikibase import BATCH, Wikibase

from atomr_local.cli.progress import duration
from atomr_local.errors import InputError
from atomr_local.indexing.graph_ids import IdSet, read_entity_ids
from atomr_local.indexing.space import human_size
from atomr_local.indexing.store import check_name, index_path
from atomr_local.indexing.text_catalog import CatalogReader

API = "https://www.wikidata.org/w/api.php"
# Experience with articles of Wikipedia: they point to about as many other items; a line takes some 15 kB of the
# article's item and 6 kB of the others, an answer about two seconds.
_LINKED = 1.0
_BYTES, _LINKED_BYTES = 15_000, 6_000
_ANSWER_SECONDS = 2.0
_MANY = 300_000
_QID = re.compile(r"Q([1-9]\d{0,11})")


def of_text_index(name: str) -> tuple[IdSet, list[str]]:
    """The entities of the articles of a text index, and the titles of articles that know none.

    Raises:
        KnowledgeIndexError: there is no such index, or it cannot be read.
    """
    catalog = CatalogReader(index_path("text", check_name(name)))
    found, titles = IdSet(), []
    try:
        for article in catalog.articles():
            match = _QID.fullmatch(article.qid or "")
            if match:
                found.add(int(match[1]))
            else:
                titles.append(" ".join(article.title.replace("_", " ").split()))
    finally:
        catalog.close()
    return found, titles


def fetch(client: Client, given: argparse.Namespace) -> None:
    """Ask, fetch, and print how to go on.

    Raises:
        AtomrError: the entities cannot be told, or something cannot be fetched or written.
    """
    wanted, titles = of_text_index(given.text_index) if given.text_index else (read_entity_ids(given.entities), [])
    count = len(wanted) + len(titles)
    if not count:
        raise InputError(f"the text index {given.text_index!r} holds no articles")
    stem = given.text_index or re.sub(r"[^A-Za-z0-9._-]+", "-", given.entities.stem).strip(".-_") or "entities"
    target = given.to or Path(f"wikidata-{stem}.jsonl")
    tell(count, len(titles), given)
    if not agreed(given.yes):
        say("Nothing was fetched.")
        return
    api = Wikibase(client, given.base_url, given.languages, Limiter(given.rate, client.clock, client.sleep))
    progress = Progress("Wikidata", lambda done, total: f"{done} of {total}")
    settings = {"languages": given.languages}
    work = Slice(
        api, target, wanted, titles, site=given.site, settings=settings, whole=given.all_statements, progress=progress
    )
    try:
        missing = work.fetch()
    finally:
        progress.end()
    for what, number in missing.items():
        if number:
            say(f"{number} of the {what} are not there.")
    say("All there. The index is built by:")
    files = [shlex.quote(str(file)) for file in (target, work.entity_list)]
    language = f" --language {given.languages[0]}" if given.languages[0] != "en" else ""
    print(f"atomr graph build {files[0]} --entities {files[1]} --name {stem}{language}")


def tell(count: int, titles: int, given: argparse.Namespace) -> None:
    """Say what it takes, roughly."""
    requests = -(-titles // BATCH) + -(-count // BATCH) + round(count * _LINKED / BATCH)
    seconds = requests * max(_ANSWER_SECONDS, 1 / given.rate)
    size = round(count * (_BYTES + _LINKED * _LINKED_BYTES))
    say(
        f"{count} entities and what they point to, from {given.base_url}. An estimate: {requests} requests, "
        f"{human_size(size)} on disk, {duration(seconds)}; articles of some kinds point to much more than others."
    )
    if count > _MANY:
        say("For so many a dump is the better way: https://dumps.wikimedia.org/wikidatawiki/entities/")


def _languages(text: str) -> list[str]:
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found or not all(re.fullmatch(r"[a-z]{2,12}(-[a-z0-9]{1,12})*", part) for part in found):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of languages such as en,de")
    return list(dict.fromkeys([*found, "mul"]))  # names that are the same in many languages stand there alone


def _site(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,40}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no site such as enwiki or simplewiki")
    return text


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0
    if not 0.001 <= rate <= 10:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of requests per second from 0.001 to 10")
    return rate


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about = parser.add_mutually_exclusive_group(required=True)
    about.add_argument("--text-index", metavar="NAME", help="the entities of the articles of this text index")
    about.add_argument("--entities", metavar="FILE", type=Path, help="a Q-id a line")
    parser.add_argument("--to", metavar="FILE", type=Path, help="else wikidata-NAME.jsonl in this directory")
    parser.add_argument("--site", type=_site, default="enwiki", help="where the titles of articles are looked up")
    parser.add_argument("--languages", type=_languages, default=["en", "mul"], help="of names, such as en,de")
    parser.add_argument("--all-statements", action="store_true", help="keep external identifiers and media as well")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--rate", type=_rate, default=2.0, help="requests per second at most; else 2")
    contact_option(parser)
    parser.add_argument("--base-url", default=API, help="the api.php to ask, instead of Wikidata's")
    return parser.parse_args(argv)


def main() -> None:
    given = arguments()
    with Client(contact=contact_of(given.contact), tell=say) as client:
        fetch(client, given)


if __name__ == "__main__":
    sys.exit(run(main))
