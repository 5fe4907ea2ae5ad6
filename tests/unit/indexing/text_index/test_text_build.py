from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from support.fake_embedder import DIMENSIONS, FakeEmbedder
from support.processes import dead_process
from support.text_indexes import CountingEmbedder, hidden, rows, stop, written_articles

from atomr_local.errors import AtomrError, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import ledger as space
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.readers.base import Article, Redirect, Section
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import build as text_reading
from atomr_local.indexing.text_index import index as text_index
from atomr_local.indexing.text_index.catalog import CATALOG, CatalogReader
from atomr_local.indexing.text_index.index import build_text_index, remove_from_text_index
from atomr_local.indexing.text_index.table import TABLE, PassageTable, connect


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_build, "BATCH", 3)


def build(*files: Path, **options: Any) -> store.Manifest:
    return build_text_index(files, "mine", embedder=FakeEmbedder(), **options)


def add(*files: Path, **options: Any) -> store.Manifest:
    return build_text_index(files, "mine", embedder=FakeEmbedder(), add=True, **options)


def ids() -> list[str]:
    return sorted(row["id"] for row in rows())


def by_words(words: str) -> list[str]:
    table = connect(store.index_path("text", "mine")).open_table(TABLE)
    return sorted(row["id"] for row in table.search(words, query_type="fts").limit(50).to_list())


class ReaderOf:
    """A reader of what it is given, as a format with redirects and sections would be."""

    def __init__(self, path: Path, items: list[Article | Redirect]) -> None:
        self.path, self.position, self._items = path, 0, items

    def records(self, skipped: Any, *, after: int = 0) -> Any:
        for item in self._items:
            if item.record > after:
                self.position = item.record
                yield item


def reading(monkeypatch: pytest.MonkeyPatch, *items: Article | Redirect) -> None:
    numbered = [
        type(item)(**{f: getattr(item, f) for f in item.__slots__} | {"record": i}) for i, item in enumerate(items, 1)
    ]
    monkeypatch.setattr(text_reading, "open_articles", lambda path, *_: ReaderOf(path, numbered))


# Stopped and begun again.


def test_a_stopped_build_goes_on_and_says_so(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*4", "B": "b*1", "C": "c*7", "D": "d*1"})
    build(file)
    whole, manifest = rows(), store.read_manifest(store.index_path("text", "mine"))
    publishing.remove("text", "mine")
    embedder = CountingEmbedder()
    told: list[str] = []
    for _ in range(4):
        with pytest.raises(RuntimeError):
            build_text_index([file], "mine", embedder=embedder, progress=stop, tell=told.append)
    build_text_index([file], "mine", embedder=embedder, tell=told.append)
    assert rows() == whole
    assert len(embedder.texts) == len(whole) == 13  # none twice
    assert told == [f"resuming an unfinished build after {n} passages" for n in (3, 6, 9, 12)]
    again = store.read_manifest(store.index_path("text", "mine"))
    assert (again.counts, again.settings, again.inputs) == (manifest.counts, manifest.settings, manifest.inputs)


def test_other_settings_begin_anew_and_say_so(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*4", "B": "b*1"})

    with pytest.raises(RuntimeError):
        build(file, progress=stop)
    told: list[str] = []
    build(file, limit=1, tell=told.append)
    assert ids() == ["A#0", "A#1", "A#2", "A#3"]
    assert told == ["an unfinished build with other settings was discarded; this one starts over"]


@pytest.mark.parametrize(
    ("where", "number"),
    [
        *(
            (where, errno.ENOSPC)
            for where in ("shard", "append", "index", "forget", "ledger", "catalog", "ledger file")
        ),
        # One of each kind of error: of Python, of Rust, of SQLite.
        *((where, errno.EIO) for where in ("shard", "append", "catalog")),
    ],
)
def test_a_full_or_failing_disk_is_told_and_the_build_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, where: str
) -> None:
    files = [
        written_articles(tmp_path / "a.jsonl", {"A": "a*4", "B": "b*1"}),
        written_articles(tmp_path / "b.jsonl", {"C": "c*4"}),
    ]
    calls = 0

    def failing(real: Callable[..., Any], error: Exception) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == (1 if where in ("append", "index", "forget") else 2):
                raise error
            return real(*arguments, **options)

        return call

    told = OSError(number, os.strerror(number))
    in_rust = RuntimeError(f"lance error: LanceError(IO): Generic: {os.strerror(number)} (os error {number})")
    with monkeypatch.context() as patch:
        if where in ("append", "index", "forget"):
            real_table = PassageTable(tmp_path / "probe", 16)._table  # its class is the library's own
            method = {"append": "add", "index": "create_index", "forget": "optimize"}[where]
            patch.setattr(type(real_table), method, failing(getattr(type(real_table), method), in_rust))
        elif where == "shard":
            patch.setattr(pa.ipc, "new_file", failing(pa.ipc.new_file, told))
        elif where == "ledger":
            patch.setattr(Ledger, "commit", failing(Ledger.commit, told))
        elif where == "ledger file":
            patch.setattr(os, "fsync", failing(os.fsync, told))
        else:
            full = sqlite3.OperationalError("database or disk is full" if number == errno.ENOSPC else "disk I/O error")
            connected = sqlite3.connect

            def connect_to_failing(*arguments: Any, **options: Any) -> Any:
                database = connected(*arguments, **options)
                return SimpleNamespace(
                    execute=database.execute, executescript=database.executescript, close=database.close,
                    rollback=database.rollback, commit=failing(database.commit, full),
                )  # fmt: skip

            patch.setattr(sqlite3, "connect", connect_to_failing)
        with pytest.raises(KnowledgeIndexError) as stopped:
            build(*files)
    assert "Traceback" not in stopped.value.message
    if number == errno.ENOSPC:
        assert "the disk is full" in stopped.value.message
        assert stopped.value.hint == "Free some space and run the same command again: it resumes where it stopped."
    else:
        assert "the disk reports an input/output error" in stopped.value.message
    assert hidden() == [".mine.building"]
    assert store.list_indexes() == []

    told_on: list[str] = []
    assert build(*files, tell=told_on.append).counts == {"articles": 3, "passages": 9}
    assert len(told_on) == 1
    assert told_on[0].startswith("resuming")
    mine = rows()
    build_text_index(files, "whole", embedder=FakeEmbedder())
    assert mine == rows("whole")
    assert hidden() == []


def test_a_full_disk_is_seen_before_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*4", "B": "b*9"})
    free = iter([10**12, 10**12, 1_000_000])
    monkeypatch.setattr(space.shutil, "disk_usage", lambda _: SimpleNamespace(free=next(free, 0)))
    with pytest.raises(
        KnowledgeIndexError, match=r"too full for the next passages: 1.0 MB are free, about \d+.* are needed"
    ):
        build(file)
    assert hidden() == [".mine.building"]
    monkeypatch.setattr(space.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**6))
    with pytest.raises(KnowledgeIndexError, match="too full for this index"):
        build_text_index([file], "other", embedder=FakeEmbedder())
    assert hidden() == [".mine.building"]
    monkeypatch.undo()
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    assert build(file).counts == {"articles": 2, "passages": 13}


def test_a_damaged_unfinished_build_is_not_gone_on_with(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*4", "B": "b*9"})

    with pytest.raises(RuntimeError):
        build(file, progress=stop)
    ledger = publishing.unfinished_path("text", "mine") / publishing.LEDGER
    data = json.loads(ledger.read_text())
    for state in ({"shards": 77}, {"surprise": 1}, {"skipped": {}}):
        ledger.write_text(json.dumps(data | {"state": data["state"] | state}))
        with pytest.raises(
            KnowledgeIndexError, match="the unfinished build of the text index 'mine' is damaged"
        ) as told:
            build(file)
        assert "--unfinished" in told.value.hint
    publishing.remove("text", "mine", unfinished_only=True)
    assert build(file).counts["passages"] == 13


# Which articles are taken.


def test_titles_and_what_is_not_found(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"Lake Como": "a", "Żelazowa Wola": "b", "Radium": "c"})
    manifest = build(file, titles=["lake_como", "Zelazowa Wola", "Atlantis", "Atlantis"])
    assert ids() == ["Lake Como#0", "Żelazowa Wola#0"]
    assert manifest.settings["not_found"] == {"count": 1, "samples": ["Atlantis"]}
    assert manifest.settings["titles"]["count"] == 3


@pytest.mark.parametrize("adding", [False, True])
def test_inputs_without_an_article_are_an_error_and_the_old_index_stays(tmp_path: Path, adding: bool) -> None:
    """Such as a dump of pages that are no articles: nothing is published, and nothing is left to go on with."""
    build(written_articles(tmp_path / "a.jsonl", {"Lake Como": "a"}))
    page = "<page><title>Data:X.tab</title><ns>486</ns><id>1</id><revision><model>Tabular.JsonConfig</model>"
    text = "<format>application/json</format><text>{}</text></revision></page>"
    dump = tmp_path / "dump.xml"
    dump.write_text(f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{page}{text}</mediawiki>')
    with pytest.raises(InputError, match="no articles in ") as error:
        (add if adding else build)(dump)
    assert "Nothing was changed" in error.value.hint
    assert ids() == ["Lake Como#0"] and not hidden()


def test_titles_that_no_article_has_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no articles of the given titles"):
        build(written_articles(tmp_path / "a.jsonl", {"Lake Como": "a"}), titles=["Atlantis"])
    assert not hidden()


def test_an_id_that_stands_twice_is_taken_once_and_told(tmp_path: Path) -> None:
    first = written_articles(tmp_path / "a.jsonl", {"A": "one", "B": "two"})
    second = written_articles(tmp_path / "b.jsonl", {"C": "three", "A": "another"})
    manifest = build(first, second)
    assert manifest.counts == {"articles": 3, "passages": 3}
    assert [row["text"] for row in rows() if row["id"] == "A#0"] == ["one"]
    assert manifest.settings["skipped"] == {
        "count": 1, "samples": [[str(second), 2, 'an article before it has the id "A"']],
    }  # fmt: skip


def test_redirects_become_aliases_of_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading(
        monkeypatch,
        Redirect("USA", "United States"),
        Article("1", "United States", "A country."),
        Redirect("America (country)", "United_states"),
        Redirect("USA", "United States"),
        Redirect("Nowhere", "Not here"),
        Article("2", "Mars", "A planet."),
    )
    manifest = build(written_articles(tmp_path / "a.jsonl", {"x": "x"}))
    assert manifest.counts == {"articles": 2, "passages": 2, "aliases": 2}
    catalog = CatalogReader(store.index_path("text", "mine"))
    assert [catalog.targets(name) for name in ("usa", "America (country)", "Nowhere", "Mars")] == [
        ["United States"], ["United States"], [], [],
    ]  # fmt: skip
    assert [known.title for known in catalog.articles()] == ["United States", "Mars"]
    catalog.close()


def test_sections_and_ids_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lead, body = "Word " * 30, "Other " * 30
    reading(monkeypatch, Article("1", "Page", lead + body, "Q7", {"a": 1}, (Section(len(lead), "History > Youth"),)))
    build(written_articles(tmp_path / "a.jsonl", {"x": "x"}))
    first, second = rows()
    assert (first["section"], second["section"], second["qid"]) == ("", "History > Youth", "Q7")
    assert second["start"] == len(lead)
    assert second["searched"].startswith("Page, History > Youth: Other")
    assert first["searched"].startswith("Page: Word")


# Added and removed.


def test_new_articles_are_added_and_changed_ones_replaced(tmp_path: Path) -> None:
    old = written_articles(tmp_path / "a.jsonl", {"A": "apple*4", "B": "berry*2", "O'Neil #1": "cherry*1"})
    built = build(old)
    new = written_articles(
        tmp_path / "b.jsonl", {"A": "avocado*1", "B": "berry*2", "O'Neil #1": "citron*2", "D": "date*1"}
    )
    manifest = add(new)
    assert manifest.counts == {"articles": 4, "passages": 6}
    assert {k: manifest.settings["last_change"][k] for k in ("what", "articles", "replaced", "unchanged")} == {
        "what": "add", "articles": 1, "replaced": 2, "unchanged": 1,
    }  # fmt: skip
    assert ids() == ["A#0", "B#0", "B#1", "D#0", "O'Neil #1#0", "O'Neil #1#1"]
    assert by_words("apple3") == by_words("cherry5") == []
    assert (by_words("avocado3"), by_words("citron130"), by_words("berry7")) == (["A#0"], ["O'Neil #1#1"], ["B#0"])
    assert manifest.inputs == [*built.inputs, store.InputFile(str(new), new.stat().st_size, store.sha256_of(new))]
    assert hidden() == []
    assert add(new).settings["last_change"]["unchanged"] == 4
    assert len(ids()) == 6


def test_readers_of_the_old_index_are_not_disturbed(tmp_path: Path) -> None:
    build(written_articles(tmp_path / "a.jsonl", {"A": "apple*4", "B": "berry*2"}))
    directory = store.index_path("text", "mine")
    before = {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()}

    def look(state: text_build.TextBuildProgress) -> None:
        assert {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()} == before

    add(written_articles(tmp_path / "b.jsonl", {"A": "avocado*2", "C": "cherry*9"}), progress=look)
    assert len(ids()) == 13


def test_removing_articles(tmp_path: Path) -> None:
    build(written_articles(tmp_path / "a.jsonl", {"A": "apple*4", "B": "berry*2", "C": "cherry*1"}))
    manifest, missing = remove_from_text_index("mine", ["a", "Atlantis", "A"])
    assert missing == ["Atlantis"]
    assert manifest.counts == {"articles": 2, "passages": 3}
    assert (ids(), by_words("apple3")) == (["B#0", "B#1", "C#0"], [])
    before = store.read_manifest(store.index_path("text", "mine"))
    assert remove_from_text_index("mine", ["Atlantis"]) == (before, ["Atlantis"])
    with pytest.raises(KnowledgeIndexError, match="nothing would be left"):
        remove_from_text_index("mine", ["B", "C"])
    assert len(ids()) == 3
    assert hidden() == []
    assert add(written_articles(tmp_path / "b.jsonl", {"A": "apple*1"})).counts == {"articles": 3, "passages": 4}


def test_removing_after_a_run_that_was_killed_while_it_removed(tmp_path: Path) -> None:
    build(written_articles(tmp_path / "a.jsonl", {"A": "apple*4", "B": "berry*2", "C": "cherry*1"}))
    scratch = publishing.unfinished_path("text", "mine")
    scratch.mkdir()
    text_index.link(store.index_path("text", "mine"), scratch)
    PassageTable(scratch, DIMENSIONS).delete(["B#0"])
    manifest, missing = remove_from_text_index("mine", ["A"])
    assert (manifest.counts, missing) == ({"articles": 2, "passages": 3}, [])
    assert ids() == ["B#0", "B#1", "C#0"]
    assert hidden() == []


@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_change_goes_on_that_was_killed_between_the_old_index_and_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    build(written_articles(tmp_path / "a.jsonl", {"A": "apple*4", "B": "berry*2"}))
    more = written_articles(tmp_path / "b.jsonl", {"A": "avocado*1", "C": "cherry*3"})
    rename, dead = Path.rename, dead_process()

    class Killed(BaseException):
        pass

    def renamed(self: Path, target: Path) -> Path:
        if ".old-" not in target.name:
            raise Killed
        return rename(self, target.with_name(target.name.replace(f"old-{os.getpid()}-", f"old-{dead}-")))

    def run() -> store.Manifest:
        return add(more) if change == "add" else remove_from_text_index("mine", ["A"])[0]

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(publishing, "exchange", lambda _one, _other: False)  # a file system without it
        patch.setattr(Path, "rename", renamed)
        run()
    assert not store.index_path("text", "mine").exists()
    counts = run().counts
    assert counts == ({"articles": 3, "passages": 6} if change == "add" else {"articles": 1, "passages": 2})
    assert len(ids()) == counts["passages"]
    assert hidden() == []


def test_what_cannot_be_changed_is_refused(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*4", "B": "b*2"})

    def refused(message: str, change: Callable[[], Any]) -> None:
        with pytest.raises(AtomrError, match=message):
            change()

    refused("no text index named .mine.", lambda: add(file))
    refused("no text index named .mine.", lambda: remove_from_text_index("mine", ["A"]))
    build(file)
    refused("another embedder", lambda: build_text_index([file], "mine", embedder=FakeEmbedder("fake:2"), add=True))
    with pytest.raises(RuntimeError):
        build(file, limit=2, progress=stop)
    refused("would be lost", lambda: add(file))
    refused("would be lost", lambda: remove_from_text_index("mine", ["A"]))
    publishing.remove("text", "mine", unfinished_only=True)
    (store.index_path("text", "mine") / CATALOG).unlink()
    refused("another version", lambda: add(file))
    assert len(ids()) == 6


def test_an_input_that_changes_meanwhile_is_not_published(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*4"})

    def meddle(state: text_build.TextBuildProgress) -> None:
        written_articles(file, {"A": "changed*3"})

    with pytest.raises(InputError, match="was changed while it was read"):
        build(file, progress=meddle)
    assert store.list_indexes() == publishing.list_unfinished() == []
    assert build(file).counts == {"articles": 1, "passages": 3}
    assert store.read_manifest(store.index_path("text", "mine")).settings["layout"] == text_index.LAYOUT
