from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder

from atomr_local.indexing import store
from atomr_local.indexing.text_index.catalog import kept_kind, kind_of
from atomr_local.indexing.text_index.chunking import Passage
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.sources.document_places import place_words
from atomr_local.sources.protocol import Request
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation

ROWS = "".join(f"|-\n| Isle {n} || {n * 1000}\n" for n in range(1, 1100))
DUMP = f"""<mediawiki><page><title>Isles</title><ns>0</ns><id>7</id><revision><text>Isles are many.
== Counts ==
{{| class="wikitable"
|+ People
! Name !! People
{ROWS}|}}</text></revision></page></mediawiki>"""


def test_what_a_passage_is_survives_its_metadata() -> None:
    table = Passage("a", 0, 1, "H", "table", "2", (3, 9))
    assert kind_of(json.dumps({"url": "u"} | kept_kind(table))) == {
        "kind": "table", "table": "2", "table_rows": [3, 9],
    }  # fmt: skip
    infobox = Passage("a", 0, 1, "", "infobox", "film", (1, 4))
    assert kind_of(json.dumps(kept_kind(infobox))) == {"kind": "infobox", "infobox": "film"}
    assert kind_of(json.dumps(kept_kind(Passage("a", 0, 1, "", "code", "1", (1, 1))))) == {"kind": "code"}


@pytest.mark.parametrize(
    "metadata",
    [None, "", "{}", "[]", '"atomr"', '{"atomr": 1}', '{"atomr": {"kind": "evil"}}', '{"atomr": {', 7,
     '{"atomr": {"kind": ["table"]}}'],
)  # fmt: skip
def test_other_metadata_says_nothing(metadata: object) -> None:
    assert kind_of(metadata) == {}


def test_rows_that_are_none_are_left_out() -> None:
    assert kind_of('{"atomr": {"kind": "table", "name": 3, "rows": [1, "2"]}}') == {"kind": "table"}


@pytest.mark.slow
def test_a_table_is_found_with_its_place(tmp_path: Path) -> None:
    dump = tmp_path / "dump.xml"
    dump.write_text(DUMP, encoding="utf-8")
    manifest = build_text_index((dump,), "isles", embedder=FakeEmbedder())
    assert manifest.settings["lost"] == {"table rows": 100}
    with closing(TextSource(store.index_path("text", "isles"), FakeEmbedder())) as source:
        request = Request("Isle 17 People 17000", "Isle 17 People 17000", top_k=10)
        [first, *_] = [e for e in source.retrieve(request, Cancellation()).evidence if "Isle 17;" in e.text]
        prose = source.retrieve(Request("Isles are many", "Isles are many", top_k=3), Cancellation()).evidence
    assert "Name: Isle 17; People: 17000" in first.text.split("\n")
    assert first.locator["kind"] == "table"
    begin, end = first.locator["table_rows"]
    assert begin <= 17 <= end
    assert place_words(first.locator) == f"table 1, rows {begin}–{end}, Counts > People"
    assert "kind" not in next(e for e in prose if e.text == "Isles are many.").locator
