"""Which entities of Wikidata go with a text index, and what fetching them takes."""

from __future__ import annotations

import re

from atomr_local.fetching.wikibase import BATCH
from atomr_local.indexing.graph_ids import IdSet
from atomr_local.indexing.store import check_name, index_path
from atomr_local.indexing.text_catalog import CatalogReader

MANY = 300_000  # entities for which a dump is the better way
DUMPS_OF_ENTITIES = "https://dumps.wikimedia.org/wikidatawiki/entities/"
# Experience with articles of Wikipedia: they point to about as many other items; a line takes some 15 kB of the
# article's item and 6 kB of the others, an answer about two seconds.
_LINKED = 1.0
_BYTES, _LINKED_BYTES = 15_000, 6_000
_ANSWER_SECONDS = 2.0
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


def estimate(count: int, titles: int, rate: float) -> tuple[int, int, float]:
    """Requests, bytes on disk and seconds that a slice about `count` entities takes, roughly.

    Args:
        titles: how many of them are first to be found by their title.
        rate: requests a second at most.
    """
    requests = -(-titles // BATCH) + -(-count // BATCH) + round(count * _LINKED / BATCH)
    return requests, round(count * (_BYTES + _LINKED * _LINKED_BYTES)), requests * max(_ANSWER_SECONDS, 1 / rate)
