from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import detect_text_format, open_articles
from atomr_local.indexing.readers.lines import Skipped

DOCS = """<doc id="5" url="https://x.org/wiki?curid=5" title="A &amp; B">
A &amp; B

The <a href="C">letters</a> are two.

</doc>

<doc id="6" url="" title="Empty">
Empty

</doc>
<doc id="7" url="u" title="C">
C

1 &lt; 2.
</doc>
"""


def read(file: Path, after: int = 0) -> tuple[list[Article], Skipped]:
    skipped = Skipped()
    found = open_articles(file).records(skipped, after=after)
    return [item for item in found if isinstance(item, Article)], skipped


def test_articles_between_doc_marks(tmp_path: Path) -> None:
    file = tmp_path / "wiki_00"
    file.write_text(DOCS, "utf-8")
    assert detect_text_format(file) == "wikiextractor"
    found, skipped = read(file)
    assert found[0] == Article(
        "5", "A & B", "The letters are two.", None, {"url": "https://x.org/wiki?curid=5"}, record=1
    )
    assert (found[1].text, found[1].record, skipped.samples[0][2]) == ("1 < 2.", 3, "Empty: no text")
    assert [item.id for item in read(file, after=1)[0]] == ["7"]


def test_a_file_that_is_cut_short_gives_what_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "wiki_00"
    file.write_text(DOCS[:-8], "utf-8")
    records = open_articles(file).records(Skipped())
    assert next(iter(records)).record == 1
    with pytest.raises(InputError, match=r"after article 2: the file is cut short"):
        list(records)


def test_what_stands_between_articles_is_told(tmp_path: Path) -> None:
    file = tmp_path / "wiki_00"
    file.write_text(DOCS.replace('<doc id="7"', 'stray <doc id="7"'), "utf-8")
    with pytest.raises(InputError, match=r"line 12: not <doc"):
        read(file)
