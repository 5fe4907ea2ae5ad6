"""An index of documents handed on: its citations stay, and nothing of the maker's machine goes with it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from support.fake_embedder import FakeEmbedder
from support.homes import at_home, home_fixtures

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.text_index.document_catalog import listed_documents
from atomr_local.indexing.text_index.documents import build_documents_index, sync_documents_index
from atomr_local.indexing.text_index.index import build_text_index, remove_from_text_index
from atomr_local.indexing.transfer.archive import Provenance
from atomr_local.indexing.transfer.exporting import export_index, report_for_others
from atomr_local.indexing.transfer.importing import import_index
from atomr_local.indexing.verify import verify_indexes
from atomr_local.sources.document_places import file_path, place_words
from atomr_local.sources.protocol import Request
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.tui.rendering import place_text

SAID = Provenance.now("", "")


def build(home: Path) -> None:
    """An exported index of a folder of which a file was removed since it was built."""
    root = home / "private-place" / "notes"
    root.mkdir(parents=True)
    (root / "boat.md").write_text("# Boats\n\nOars.\n\n## Rent\n\nAnn Lee rented the yellow boat.\n")
    for i in range(20):
        (root / f"n{i}.txt").write_text(f"Hill number {i} is green.")
    (root / "gone.txt").write_text("Zanzibarquux was the word.")
    (root / "unreadablename.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    (root / "lossyname.html").write_text(
        "<html><head><title>Page</title></head><body><p>Some words of a page.</p></body></html>"
    )
    build_documents_index([root], "notes", embedder=FakeEmbedder())
    (root / "gone.txt").unlink()
    sync_documents_index("notes", embedder=FakeEmbedder())
    export_index("text", "notes", home / "notes.tar.zst", SAID)


built_home, copied_home = home_fixtures(build)


def unpacked(file: Path) -> bytes:
    with pa.CompressedInputStream(pa.OSFile(str(file)), "zstd") as stream:
        return bytes(stream.read())


def test_a_citation_keeps_its_place_and_says_that_the_file_is_not_here(
    built_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file of this name on the other machine is another one.
    monkeypatch.chdir(built_home / "private-place" / "notes")
    import_index(built_home / "notes.tar.zst")
    [report] = verify_indexes("notes")
    assert (report.state, report.problems) == ("whole", [])
    source = TextSource(store.index_path("text", "notes"), FakeEmbedder())
    try:
        request = Request("", "Who rented the yellow boat?", mode="keyword", top_k=3)
        locator = source.retrieve(request, Cancellation()).evidence[0].locator
    finally:
        source.close()
    assert place_words(locator) == "boat.md, lines 3–7"
    assert file_path(locator) is None
    assert str(place_text(locator)) == "boat.md, lines 3–7 (the file is not on this machine)"
    with pytest.raises(KnowledgeIndexError, match="follows no folder"):
        sync_documents_index("notes", embedder=FakeEmbedder())


def test_nothing_of_the_makers_machine_is_in_the_file(built_home: Path) -> None:
    data = unpacked(built_home / "notes.tar.zst")
    for secret in ("private-place", str(built_home), "unreadablename", "Zanzibarquux", "zanzibarquux", "gone.txt"):
        assert secret.encode() not in data, secret
    assert b"boat.md" in data
    assert [path.name for path in built_home.iterdir() if "exporting" in path.name] == []
    with at_home(built_home):
        after = {one.path: one for one in listed_documents(store.index_path("text", "notes"))}
    assert after["unreadablename.png"].problem, "the maker's own index knows it still"


def test_what_was_removed_from_any_index_is_not_handed_on(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    articles = [{"id": str(i), "title": f"Hill {i}", "text": f"Hill {i} is green."} for i in range(30)]
    articles.append({"id": "x", "title": "Removedtitle", "text": "Zanzibarquux is gone."})
    corpus.write_text("".join(json.dumps(article) + "\n" for article in articles))
    build_text_index([corpus], "mine", embedder=FakeEmbedder())
    remove_from_text_index("mine", ["Removedtitle"])
    file = export_index("text", "mine", tmp_path / "mine.tar.zst", SAID).path
    data = unpacked(file).lower()
    assert b"zanzibarquux" not in data
    assert b"removedtitle" not in data
    manifest = import_index(file, name="copy")
    assert manifest.counts["articles"] == 30
    assert [report.problems for report in verify_indexes("copy")] == [[]]


def test_what_an_index_from_elsewhere_says_of_its_files_is_counted_only() -> None:
    assert report_for_others(
        {"files": "many", "unread": [1], "lossy": {"count": 2, "samples": [["a", "b"]]}, "x": 1}
    ) == {
        "files": 0,
        "bytes": 0,
        "unread": {"count": 0, "samples": []},
        "lossy": {"count": 2, "samples": []},
    }
