"""Copies of files are told and not cited; an index follows its folder elsewhere; much new text is embedded later."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.edited_folder import SENTENCE, index_content, same_as_fresh
from support.fake_embedder import FakeEmbedder
from support.text_indexes import CountingEmbedder, completeness

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import rebuild_words
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import documents, table
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.document_catalog import listed_documents
from atomr_local.indexing.text_index.documents import (
    SyncReport,
    build_documents_index,
    sync_documents_index,
)
from atomr_local.indexing.text_index.filling import embed_text_index
from atomr_local.indexing.transfer.archive import Provenance
from atomr_local.indexing.transfer.exporting import export_index
from atomr_local.indexing.transfer.importing import import_index
from atomr_local.indexing.verify import verify_indexes
from atomr_local.sources.protocol import Request
from atomr_local.sources.text import TextSource
from atomr_local.sources.text_parts import parse_within
from atomr_local.system.cancellation import Cancellation

_TITLED = "<h1>Rivers</h1><p>" + SENTENCE.format("rivers") * 9
_LONG = "\n\n".join(SENTENCE.format(f"river {i}") for i in range(12))


def build(root: Path, name: str = "mine") -> store.Manifest:
    return build_documents_index([root], name, embedder=FakeEmbedder())


def sync(embedder: FakeEmbedder | None = None) -> SyncReport:
    return sync_documents_index("mine", embedder=embedder or FakeEmbedder())


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def originals(name: str = "mine") -> dict[str, str]:
    return {one.path: one.original for one in listed_documents(store.index_path("text", name)) if one.original}


@pytest.mark.parametrize(
    ("original", "copy"),
    [
        ("report.txt", "report (1).txt"),
        ("report.txt", "Copy of report.txt"),
        ("report.txt", "a report - Copy (2).txt"),
        ("z.txt", "backup/a.txt"),
        ("z.txt", "2024 old/z.txt"),
        ("z.txt", "deep/a.txt"),
        ("deep/z.txt", "report_old.txt"),
        ("a.txt", "b.txt"),
    ],
)
def test_of_files_with_one_text_the_likeliest_original_is_read(tmp_path: Path, original: str, copy: str) -> None:
    manifest = build(written(tmp_path / "root", {original: _LONG, copy: _LONG.replace("\n", "\r\n") + " "}))
    assert originals() == {copy: original}
    told = manifest.settings["documents"]
    assert (told["files"], told["copies"]) == (1, {"count": 1, "samples": [[copy, f"it is a copy of {original}"]]})
    assert manifest.counts["articles"] == 1


def test_a_short_text_without_a_title_is_a_copy_only_if_its_name_says_so(tmp_path: Path) -> None:
    headed, titled = "# Weekly plan\n\nNothing yet.", "---\ntitle: Plan\n---\nNothing yet."
    files = {"Ann.md": "Status: active.", "Bob.md": "Status: active.", "Bob copy.md": "Status: active."}
    files |= {"plan.md": headed, "plan (1).md": headed, "week.md": headed}
    files |= {"x.md": titled, "y.md": titled, "z.md": titled.replace("title", "status: done\ntitle")}
    build(written(tmp_path / "root", files))
    assert originals() == {"Bob copy.md": "Bob.md", "plan (1).md": "plan.md", "y.md": "x.md"}


def test_a_copy_takes_the_place_of_its_original_and_gives_it_back(tmp_path: Path) -> None:
    root = written(tmp_path / "root", {"report.html": _TITLED, "sub/report (1).html": _TITLED, "b.txt": "Bees."})
    build(root)
    (root / "report.html").unlink()
    embedder = CountingEmbedder()
    report = sync(embedder)
    assert (report.removed, report.copies, originals(), embedder.texts) == (("report.html",), (), {}, [])
    assert "sub/report (1).html#0" in str(index_content("mine"))
    written(root, {"report.html": _TITLED, "deep/er/report.html": _TITLED})
    report = sync()
    assert (report.added, report.changed) == (("report.html",), ())
    assert set(report.copies) == {("deep/er/report.html", "report.html"), ("sub/report (1).html", "report.html")}
    same_as_fresh(root)
    assert sync().quiet


def test_a_copy_of_a_file_that_cannot_be_read_any_more_is_read(tmp_path: Path) -> None:
    root = written(tmp_path / "root", {"a.txt": _LONG, "b.txt": _LONG})
    build(root)
    (root / "a.txt").write_bytes(b"\x00\x01" * 50)
    assert sync().lost == ("a.txt",)
    assert originals() == {}
    assert "b.txt#0" in str(index_content("mine"))


def test_a_part_of_the_index_finds_a_text_by_the_path_of_its_copy(tmp_path: Path) -> None:
    manifest = build(written(tmp_path / "root", {"x/rules.txt": _LONG, "y/z/rules.txt": _LONG, "y/b.txt": "Bees."}))
    assert originals() == {"y/z/rules.txt": "x/rules.txt"}
    directory = store.index_path("text", manifest.name)
    with closing(TextSource(directory, FakeEmbedder())) as source:
        request = Request("", "river", mode="keyword", top_k=1, within=parse_within(["y/z/"]))
        assert source.retrieve(request, Cancellation()).evidence[0].locator["file"] == "x/rules.txt"


def test_copies_are_not_handed_on(tmp_path: Path) -> None:
    build(written(tmp_path / "root", {"a.txt": _LONG, "secretname (1).txt": _LONG}))
    file = export_index("text", "mine", tmp_path / "mine.tar.zst", Provenance.now("", "")).path
    manifest = import_index(file, name="theirs")
    assert "secretname" not in str(listed_documents(store.index_path("text", "theirs")))
    assert "copies" not in manifest.settings["documents"]


def test_a_catalogue_of_an_earlier_version_is_read_and_brought_up_to_date(tmp_path: Path) -> None:
    root = written(tmp_path / "root", {"a.txt": _LONG, "b.txt": "Bees."})
    build(root)
    directory = store.index_path("text", "mine")
    with closing(sqlite3.connect(directory / CATALOG)) as catalog:
        for column in ("tells", "original"):
            catalog.execute(f"ALTER TABLE documents DROP COLUMN {column}")
        catalog.execute("UPDATE documents SET reader = '7'")
        catalog.commit()
    (directory / store.DIGESTS).unlink()  # which tell of the change
    assert [(one.path, one.original) for one in listed_documents(directory)] == [("a.txt", ""), ("b.txt", "")]
    written(root, {"c (1).txt": _LONG})
    assert sync().copies == (("c (1).txt", "a.txt"),)


def test_an_index_follows_its_folder_elsewhere(tmp_path: Path) -> None:
    root = written(tmp_path / "old", {"a.txt": _LONG, "sub/b.txt": "Bees.", "c.txt": "Hills."})
    build(root)
    new = tmp_path / "new"
    shutil.copytree(root, new, copy_function=shutil.copyfile)  # other times of change
    shutil.rmtree(root)
    written(new, {"d.txt": "Lakes."})
    embedder = CountingEmbedder()
    report = sync_documents_index("mine", embedder=embedder, roots=[new])
    assert (report.added, report.changed, report.removed, report.moved) == (("d.txt",), (), (), ())
    assert embedder.texts == ["d.txt: Lakes."]
    [entry] = store.list_indexes(["text"])
    assert rebuild_words(entry)[0] == [str(new)]
    assert sync().quiet
    same_as_fresh(new)


def test_several_folders_are_moved_and_nothing_is_embedded_again(tmp_path: Path) -> None:
    roots = [written(tmp_path / name, {"same.txt": f"{name}. {_LONG}"}) for name in ("one", "two")]
    build_documents_index(roots, "mine", embedder=FakeEmbedder())
    with pytest.raises(InputError, match="follows 2 folders, and 1 new places"):
        sync_documents_index("mine", embedder=FakeEmbedder(), roots=[tmp_path])
    new = [root.rename(tmp_path / f"{root.name}-b") for root in roots]
    embedder = CountingEmbedder()
    report = sync_documents_index("mine", embedder=embedder, roots=new)
    assert report.moved == (("one/same.txt", "one-b/same.txt"), ("two/same.txt", "two-b/same.txt"))
    assert embedder.texts == []


@pytest.mark.parametrize("there", [{"a.txt": "Other words."}, {}])
def test_an_index_does_not_move_to_other_files(tmp_path: Path, there: dict[str, str]) -> None:
    build(written(tmp_path / "old", {"a.txt": _LONG, "b.txt": "Bees.", "c.txt": "Hills."}))
    before = index_content("mine")
    (tmp_path / "new").mkdir()
    with pytest.raises(InputError, match="0 of the 3 files of the index mine are there"):
        sync_documents_index("mine", embedder=FakeEmbedder(), roots=[written(tmp_path / "new", there)])
    with pytest.raises(InputError, match="cannot be read"):
        sync_documents_index("mine", embedder=FakeEmbedder(), roots=[tmp_path / "none"])
    assert index_content("mine") == before


@pytest.mark.parametrize("indexed_rows", [100_000, 1])
def test_much_new_text_is_embedded_after_a_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indexed_rows: int
) -> None:
    monkeypatch.setattr(table, "EXACT_ROWS", indexed_rows)
    root = written(
        tmp_path / "root",
        {f"{i}.txt": SENTENCE.format(f"hill {i}") * 9 for i in range(300 if indexed_rows == 1 else 3)},
    )
    build(root)
    monkeypatch.setattr(documents, "EMBEDDED_AT_ONCE", 2_000)
    embedder, told = CountingEmbedder(), list[str]()
    written(root, {"small.txt": "Bees."})
    sync(embedder)
    assert (len(embedder.texts), completeness()) == (1, "all")
    written(root, {"big.txt": _LONG * 9})
    (root / "0.txt").rename(root / "renamed.txt")
    sync_documents_index("mine", embedder=embedder, tell=told.append)
    assert (len(embedder.texts), completeness(), told) == (1, "part", ["words first: the passages are embedded later"])
    written(root, {"more.txt": "Lakes."})
    told.clear()
    sync_documents_index("mine", embedder=embedder, tell=told.append)
    assert (len(embedder.texts), told) == (1, [])
    assert embed_text_index("mine", embedder=embedder).missing == 0
    (report,) = verify_indexes("mine")
    assert (report.problems, completeness()) == ([], "all")


def test_the_space_that_is_asked_for_is_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = written(tmp_path / "root", {f"{i}.txt": SENTENCE.format(i) * 20_000 for i in range(4)})
    size = sum(file.stat().st_size for file in root.iterdir())
    asked: list[int] = []
    monkeypatch.setattr(text_build, "require_space", lambda _where, wanted, _what: asked.append(wanted))
    build_documents_index([root], "mine", embedder=FakeEmbedder(), vectors="later")
    assert 2 * size < asked[0] < 5 * size
    asked.clear()
    written(root, {"new.txt": "Bees."})
    sync()
    assert asked[0] < 4 * store.directory_size(store.index_path("text", "mine")), "not for what is there already"
