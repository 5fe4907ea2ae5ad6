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
from atomr_local.sources.document_places import DocumentPlaces, PlacedArticle, file_path, place_words
from atomr_local.sources.protocol import Evidence
from atomr_local.sources.text_parts import NamedDocuments


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


_SAID = ["2026-03-12 18:04, Ann", "2026-03-12 18:05, Ben"]


@pytest.mark.parametrize(
    ("locator", "words"),
    [
        ({"file": "report.pdf", "page": 3, "heading": "Methods"}, "report.pdf, p. 3, Methods"),
        ({"file": "r.pdf", "page": [3, 4]}, "r.pdf, pp. 3–4"),
        # words for pages stand in place of their numbers
        ({"file": "r.pdf", "page": 6, "page_words": "p. iv (6)", "heading": "Methods"}, "r.pdf, p. iv (6), Methods"),
        ({"file": "r.pptx", "slide": 6, "page_words": "p. iv"}, "r.pptx, slide 6"),
        ({"file": "t.csv", "cells": "A2:C9"}, "t.csv, A2:C9"),
        ({"file": "talk.srt", "time": ["00:00:01", "00:00:07"]}, "talk.srt, 00:00:01–00:00:07"),
        ({"file": "talk.srt", "time": "00:00:01"}, "talk.srt, 00:00:01"),
        ({"file": "_chat.txt", "message": _SAID}, f"_chat.txt, {_SAID[0]}–{_SAID[1]}"),
        ({"kind": "table", "table": "2", "table_rows": [3, 9], "section": "A > B"}, "table 2, rows 3–9, A > B"),
        ({"kind": "table", "table": "2", "table_rows": [3, 3]}, "table 2, row 3"),
        ({"kind": "infobox", "infobox": "film"}, "infobox"),
        ({"kind": "code", "section": "Example"}, "source code, Example"),
        ({"kind": "evil"}, ""),
        ({"kind": ["table"]}, ""),
        ({"passage": "1#0", "section": "A"}, ""),
        ({"url": "https://example.org"}, ""),
    ],
)
def test_places_in_words(locator: dict[str, object], words: str) -> None:
    assert place_words(locator) == words


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


# Which document a question names as the place to look in, and what names none.

FILES = {
    "hr/travel-policy.md": "Travel and expense policy",
    "hr/parental.md": "Parental leave",
    "hr/handbook-2023.pdf": "Employee handbook",
    "hr/old/handbook.pdf": "Employee handbook",
    "plans/atlas.md": "Atlas migration plan",
    "onboarding.txt": "onboarding.txt",
    "Morning routine.md": "Morning routine",
    "Paris.md": "Paris",
    "United States.md": "United States",
    "us-travel.md": "United States travel guide",
    "First aid.md": "First aid",
}
NAMED = NamedDocuments(PlacedArticle(path, title, path, (path,), None) for path, title in FILES.items())


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("In the travel policy, how much is paid for meals?", "hr/travel-policy.md"),
        ("in our travel policy how much is paid for meals?", "hr/travel-policy.md"),
        ("How much is paid for meals according to the Travel and Expense Policy?", "hr/travel-policy.md"),
        ("According to the parental leave page, how many weeks are paid?", "hr/parental.md"),
        ("How many weeks are paid in the first year according to Parental Leave?", "hr/parental.md"),
        ("From “Parental leave”, how many weeks are paid?", "hr/parental.md"),
        ("Who leads the work in the Atlas migration plan?", "plans/atlas.md"),
        ("Who is to be called according to onboarding?", "onboarding.txt"),
        ("Who is to be called from the file onboarding.txt?", "onboarding.txt"),
        ("Who was born there, according to the note Paris?", "Paris.md"),
        ("What comes first in Morning routine?", "Morning routine.md"),
        ("In the handbook-2023 document, what is the notice period?", "hr/handbook-2023.pdf"),
        ("What is the per diem in the United States travel guide?", "us-travel.md"),
    ],
)
def test_a_question_names_a_document(question: str, path: str) -> None:
    assert NAMED.find(question) == ({path})


@pytest.mark.parametrize(
    "question",
    [
        "What do I do in the morning?",
        "In the morning, what do I do?",
        "What is the capital in the United States?",
        "In the United States, what is the per diem?",
        "Who was born in Paris?",
        "In 1912, who was born?",
        "How many weeks are paid according to the employee handbook?",  # there are two
        "What is said in the first chapter?",
        "What is said in the document?",
        "In the policy, what is said?",
        "In the privacy policy, what is said?",
        "Is the travel policy in force?",
        "How long is parental leave?",
        "From whom is the parental leave page?",
        "in",
        "According to ",
        "",
        "in " * 500,
    ],
)
def test_a_question_names_none(question: str) -> None:
    assert not NAMED.find(question)


def test_all_messages_of_a_mailbox_are_one_document() -> None:
    box = [PlacedArticle(f"in.mbox/{i}", f"Message {i}", "in.mbox", ("in.mbox",), None) for i in (1, 2)]
    named = NamedDocuments(box)
    assert named.find("Who wrote according to in.mbox?") == {"in.mbox/1", "in.mbox/2"}
    assert named.find("Who wrote according to Message 2?") == {"in.mbox/2"}
