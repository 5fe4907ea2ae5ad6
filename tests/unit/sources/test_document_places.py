"""Citations of documents lead to the right file, of several folders of the same name too."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.document_catalog import Places
from atomr_local.indexing.text_index.documents import build_documents_index, root_names, sync_documents_index
from atomr_local.sources.document_places import DocumentPlaces, file_path, place_words
from atomr_local.sources.protocol import Evidence


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def cited() -> dict[str, tuple[str, Path | None]]:
    """The place and the file of each article, by its id."""
    directory = store.index_path("text", "mine")
    found = {}
    with closing(DocumentPlaces(directory, store.read_manifest(directory))) as places:
        with closing(sqlite3.connect(directory / CATALOG)) as database:
            articles = [name for (name,) in database.execute("SELECT id FROM articles")]
        for article in articles:
            locator = {"passage": f"{article}#0", "span": [0, 5]}
            placed = places.placed(Evidence("text", "T", "text", 1.0, "q", locator)).locator
            assert "root" not in placed
            found[article] = (place_words(placed), file_path(placed))
    return found


def test_the_place_of_what_is_said_is_its_time() -> None:
    assert place_words({"file": "talk.srt", "time": ["00:00:01", "00:00:07"]}) == "talk.srt, 00:00:01–00:00:07"
    assert place_words({"file": "talk.srt", "time": "00:00:01"}) == "talk.srt, 00:00:01"
    said = ["2026-03-12 18:04, Ann", "2026-03-12 18:05, Ben"]
    assert place_words({"file": "_chat.txt", "message": said}) == f"_chat.txt, {said[0]}–{said[1]}"


def test_folders_and_files_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    first = written(tmp_path / "home" / "notes" / "bees.txt", "Bees make honey.")
    same = written(tmp_path / "work" / "notes" / "bees.txt", "Bees at work.")
    other = written(tmp_path / "work" / "notes" / "sub" / "lakes.txt", "Lakes are deep.")
    alone = written(tmp_path / "x" / "report.txt", "A report.")
    again = written(tmp_path / "y" / "report.txt", "Another report.")
    diary = written(tmp_path / "diary" / "may.txt", "It rained.")
    roots = [first.parent, same.parent, alone, again, diary.parent]
    build_documents_index(roots, "mine", embedder=FakeEmbedder())
    assert cited() == {
        "home/notes/bees.txt": ("home/notes/bees.txt, line 1", first),
        "work/notes/bees.txt": ("work/notes/bees.txt, line 1", same),
        "work/notes/sub/lakes.txt": ("work/notes/sub/lakes.txt, line 1", other),
        "x/report.txt": ("x/report.txt, line 1", alone),
        "y/report.txt": ("y/report.txt, line 1", again),
        "diary/may.txt": ("may.txt, line 1", diary),
    }
    other.rename(first.parent / "lakes.txt")
    assert sync_documents_index("mine", embedder=FakeEmbedder()).moved == (
        ("work/notes/sub/lakes.txt", "home/notes/lakes.txt"),
    )
    assert cited()["home/notes/lakes.txt"][1] == (first.parent / "lakes.txt")
    # Gone from its own folder, it is not looked for in another one of the same name.
    same.unlink()
    assert cited()["work/notes/bees.txt"] == ("work/notes/bees.txt, line 1", None)


def test_roots_have_the_shortest_names_that_tell_them_apart() -> None:
    assert root_names([Path("/a/notes")]) == [""]
    assert root_names([Path("/a/notes"), Path("/b/mail")]) == ["notes", "mail"]
    assert root_names([Path("/a/x/notes"), Path("/b/x/notes")]) == ["a/x/notes", "b/x/notes"]
    assert root_names([Path("/notes"), Path("/a/notes")]) == ["notes", "a/notes"]


@pytest.mark.parametrize(
    ("kind", "marks"),
    [("folder", [[0, "/etc"]]), ("page", [["x", 1]]), ("page", {"a": 1}), ("page", [[0, None]]), ("page", "[" * 10)],
)
def test_places_of_an_index_from_elsewhere_are_not_trusted(tmp_path: Path, kind: str, marks: object) -> None:
    note = written(tmp_path / "notes" / "bees.txt", "Bees make honey.")
    build_documents_index([note.parent], "mine", embedder=FakeEmbedder())
    directory = store.index_path("text", "mine")
    text = marks if isinstance(marks, str) else json.dumps(marks)
    with closing(sqlite3.connect(directory / CATALOG)) as database, database:
        database.execute("UPDATE places SET kind = ?, marks = ?", (kind, zlib.compress(text.encode())))
    with closing(Places(directory)) as places, pytest.raises(KnowledgeIndexError, match="cannot be read"):
        places.locate("bees.txt", 0, 5)
