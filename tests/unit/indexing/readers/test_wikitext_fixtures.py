from __future__ import annotations

import re
from pathlib import Path

import pytest

from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia.mediawiki import MediaWikiReader
from atomr_local.indexing.text_index.chunking import passages

FIXTURES = Path(__file__).parents[5] / "shared" / "data" / "fixtures"
_MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|'''|\|-|(?:row|col)span=|\|\|")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FIXTURES.is_dir(), reason="../shared/data/fixtures is not here"),
]


@pytest.mark.parametrize(
    ("file", "tables", "infoboxes"),
    [
        ("mediawiki/smallwiki-latest-pages-articles.xml", 100, 150),
        ("mediawiki/tinywiki-latest-pages-articles.xml", 0, 1),
        ("more/enwiki-shortened.xml.bz2", 200, 50),
        ("more/enwiki-table-markup.xml.bz2", 20, 1),
        ("more/bgwiki-shortened.xml.bz2", 0, 0),
    ],
)
def test_real_pages_give_passages_of_each_kind_without_markup(file: str, tables: int, infoboxes: int) -> None:
    found: dict[str, int] = {}
    marked = []
    for article in MediaWikiReader(FIXTURES / file).records(Skipped()):
        if not isinstance(article, Article):
            continue
        is_behind = False
        for passage in passages(article.text, 120, article.sections, title=article.title):
            found[passage.kind] = found.get(passage.kind, 0) + 1
            is_behind = is_behind or bool(passage.kind)
            assert bool(passage.kind) == is_behind, "prose stands first"
            if passage.kind != "code" and _MARKUP.search(passage.text):
                marked.append((article.title, passage.text))
    assert marked == []
    assert found.get("table", 0) >= tables
    assert found.get("infobox", 0) >= infoboxes
