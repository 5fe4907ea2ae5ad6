"""How far a file of lines has been read, and what is said of one that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.builds.publishing import resumable
from atomr_local.indexing.builds.space import something_done, write_error
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.readers.detect import detect_text_format
from atomr_local.indexing.readers.lines import LineReader
from atomr_local.indexing.text_index.index import build_text_index


def test_the_position_is_that_of_the_line_not_of_the_block_read_ahead(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"one\ntwo\nthree\n")
    lines = LineReader(file)
    assert [lines.position for _ in lines] == [4, 8, 14]
    lines = LineReader(file, after=1)
    assert [lines.position for _ in lines] == [8, 14]


def test_a_directory_and_a_missing_file_are_told_without_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        list(LineReader(tmp_path))
    assert caught.value.message == f"{tmp_path} is a directory"
    with pytest.raises(InputError, match=f"{tmp_path} is a directory"):
        detect_text_format(tmp_path)
    with pytest.raises(InputError) as caught:
        list(LineReader(tmp_path / "absent"))
    assert caught.value.message == f"{tmp_path / 'absent'} cannot be read: No such file or directory"


def test_who_can_go_on_is_told_so_and_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"s": "a", "p": "b", "o": "c"}\n')
    monkeypatch.setenv("ATOMR_HOME", str(facts))  # a file
    with pytest.raises(KnowledgeIndexError) as caught:
        build_graph_index([facts], "mine")
    assert "where it stopped" not in caught.value.hint
    assert "may write there" in caught.value.hint
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    with resumable("graph", "mine") as scratch:
        ledger = Ledger.open(scratch, "graph", [facts], {})
        assert not something_done(scratch)
        ledger.commit({"triples": 1})
        assert something_done(scratch)
    assert "where it stopped" in write_error("it", OSError(28, "full"), resumable=True).hint


def test_adding_to_an_index_that_is_not_there(tmp_path: Path) -> None:
    from support.fake_embedder import FakeEmbedder

    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "title": "Como", "text": "A lake."}')
    with pytest.raises(KnowledgeIndexError, match="there is no text index named 'nosuch'") as caught:
        build_text_index([corpus], "nosuch", embedder=FakeEmbedder(), add=True)
    assert "indexes list" in caught.value.hint
