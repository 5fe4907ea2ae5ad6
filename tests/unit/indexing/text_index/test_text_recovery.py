"""A write whose error was lost: found before the index is published, and the next run is not stopped by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.fake_embedder import FakeEmbedder
from support.text_indexes import verified, word_pages

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.text_index import table as text_table
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.table import PassageTable


def cut(folder: Path, pattern: str) -> None:
    """Lose the middle of the newest file, as a write does whose error nobody hears."""
    file = max(folder.rglob(pattern), key=lambda path: path.stat().st_mtime_ns)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 3] + content[len(content) // 2 :])


@pytest.mark.parametrize("lost", ["table", "shard"])
def test_lost_passages_are_found_and_the_next_run_writes_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    build_text_index([word_pages(tmp_path, 0, 20)], "mine", embedder=FakeEmbedder())
    more = word_pages(tmp_path, 20, 50)
    step = PassageTable.index if lost == "table" else PassageTable.append

    def damaged(self: PassageTable, argument: Any) -> Any:
        cut(self.path if lost == "table" else self.path.parent, "data/*.lance" if lost == "table" else "shard-*")
        return step(self, argument)

    with monkeypatch.context() as patch:
        patch.setattr(PassageTable, step.__name__, damaged)
        with pytest.raises(KnowledgeIndexError) as caught:
            build_text_index([more], "mine", embedder=FakeEmbedder(), add=True)
    assert ("it resumes" if lost == "table" else "it starts over") in caught.value.hint
    assert store.read_manifest(store.index_path("text", "mine")).counts["passages"] == 20
    publishing.put_back("text", "mine")
    told: list[str] = []
    build = build_text_index([more], "mine", embedder=FakeEmbedder(), add=True, tell=told.append)
    assert build.counts["passages"] == 50
    assert [note.partition(" ")[0] for note in told] == (["resuming"] if lost == "table" else [])
    verified()


@pytest.mark.parametrize("pattern", ["*_tokens.lance", "*_invert.lance", "page_lookup.lance"])
def test_lost_parts_of_an_index_are_found_before_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    file = word_pages(tmp_path, 0, 30)
    forget = PassageTable.forget

    def damaged(self: PassageTable) -> None:
        forget(self)
        cut(self.path, pattern)

    with monkeypatch.context() as patch:
        patch.setattr(PassageTable, "forget", damaged)
        with pytest.raises(KnowledgeIndexError):
            build_text_index([file], "mine", embedder=FakeEmbedder())
    assert not store.index_path("text", "mine").exists()
    assert build_text_index([file], "mine", embedder=FakeEmbedder()).counts["passages"] == 30
    verified()


def test_indexes_that_fail_at_the_end_are_made_again_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = word_pages(tmp_path, 0, 30)

    def fails(self: PassageTable) -> None:
        cut(self.path, "*_tokens.lance")
        raise KnowledgeIndexError("the text index cannot be written: an error", hint="Check the disk, then try again.")

    with monkeypatch.context() as patch:
        patch.setattr(PassageTable, "forget", fails)
        with pytest.raises(KnowledgeIndexError, match="an error"):
            build_text_index([file], "mine", embedder=FakeEmbedder())
    told: list[str] = []
    build_text_index([file], "mine", embedder=FakeEmbedder(), tell=told.append)
    assert "resuming an unfinished build" in told[0].casefold()  # the passages were kept
    verified()


def test_rows_that_an_index_cannot_take_in_are_taken_in_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_text_index([word_pages(tmp_path, 0, 20)], "mine", embedder=FakeEmbedder())
    more = word_pages(tmp_path, 20, 50)
    left: list[str] = ["searched_idx"]
    monkeypatch.setattr(text_table, "unindexed", lambda _table: left)
    with pytest.raises(KnowledgeIndexError, match="rows are missing in the indexes searched_idx") as caught:
        build_text_index([more], "mine", embedder=FakeEmbedder(), add=True)
    assert "it makes them again" in caught.value.hint
    left.clear()
    made: list[int] = []
    index = PassageTable.index
    monkeypatch.setattr(PassageTable, "index", lambda self, trained: made.append(1) or index(self, trained))
    assert build_text_index([more], "mine", embedder=FakeEmbedder(), add=True).counts["passages"] == 50
    assert made == [1]
    verified()
