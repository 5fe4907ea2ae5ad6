"""The Wikidata entities of the articles of a text index."""

from __future__ import annotations

import re

from atomr_local.indexing.graph_index.ids import IdSet
from atomr_local.indexing.store import check_name, index_path
from atomr_local.indexing.text_index.catalog import CatalogReader

MANY = 300_000  # entities for which a dump is the better way
DUMPS_OF_ENTITIES = "https://dumps.wikimedia.org/wikidatawiki/entities/"
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
