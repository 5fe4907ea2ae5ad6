"""Text indexes that are built words first and get their vectors later."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.fake_embedder import DIMENSIONS, FakeEmbedder
from support.homes import home_fixtures
from support.processes import dead_process
from support.text_indexes import CountingEmbedder, completeness, rows, verified, word_pages

from atomr_local.errors import Cancelled, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import space
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import filling, index
from atomr_local.indexing.text_index.filling import Filled, embed_text_index
from atomr_local.indexing.text_index.index import build_text_index, remove_from_text_index
from atomr_local.indexing.text_index.table import VECTOR, PassageTable
from atomr_local.indexing.text_index.vectors import VECTORS, VectorCache, count_vectors
from atomr_local.indexing.verify import repair_indexes, verify_indexes
from atomr_local.sources.protocol import Request
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation

QUERIES = ["lake road3 tower1", "harbour2 island", "market valley4 hill", "Page 17", "town1 river5"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "BATCH", 10)


def build(*files: Path, name: str = "mine", **options: Any) -> store.Manifest:
    return build_text_index(files, name, embedder=FakeEmbedder(), **options)


built_home, copied_home = home_fixtures(lambda home: build(word_pages(home), vectors="later"))


def embed(**options: Any) -> Filled:
    return embed_text_index("mine", **{"embedder": FakeEmbedder()} | options)


def vectors(name: str = "mine") -> dict[str, Any]:
    return {row["id"]: row[VECTOR] for row in rows(name)}


def search(embedder: FakeEmbedder | None = None, name: str = "mine") -> list[list[str]]:
    with closing(TextSource(store.index_path("text", name), embedder or FakeEmbedder())) as source:
        found = [source.retrieve(Request(query, query, top_k=10), Cancellation()).evidence for query in QUERIES]
    return [[str(item.locator["passage"]) for item in evidence] for evidence in found]


def test_answers_at_once_and_embeds_what_it_finds(tmp_path: Path) -> None:
    file = word_pages(tmp_path)
    manifest = build(file, vectors="later")
    assert manifest.settings["vectors"] == {"state": "none", "embedded": 0}
    assert set(vectors().values()) == {None}
    assert "no vectors yet" in verified()

    embedder = CountingEmbedder()
    found = search(embedder)
    assert all(found)
    assert QUERIES[0] in embedder.texts
    assert len(QUERIES) < len(embedder.texts) <= 21 * len(QUERIES)
    assert len(set(embedder.texts)) == len(embedder.texts)  # the steps of a question share what was embedded

    again = CountingEmbedder()
    assert search(again) == found
    assert again.texts == QUERIES  # and so do later runs
    made = len(embedder.texts) - len(QUERIES)
    assert completeness() == "part"
    assert f"{made} of 40 passages have a vector" in verified()


def test_with_all_vectors_it_is_the_index_of_a_full_build(tmp_path: Path) -> None:
    file = word_pages(tmp_path)
    build(file, name="full", vectors="now")
    build(file, vectors="later")
    search()
    done = embed()
    assert done.missing == 0
    assert "vectors" not in done.manifest.settings
    assert done.manifest.settings.keys() == store.read_manifest(store.index_path("text", "full")).settings.keys()
    assert vectors() == vectors("full")
    assert search() == search(name="full")
    assert not (store.index_path("text", "mine") / VECTORS).exists()
    assert verified() == ""
    again = embed()
    assert (again.embedded, again.missing) == (0, 0)


def test_it_goes_on_where_it_was_stopped(copied_home: Path) -> None:
    stop = Cancellation()
    first = CountingEmbedder()
    with pytest.raises(Cancelled):
        embed(embedder=first, cancellation=stop, progress=lambda at: stop.cancel() if at.passages >= 20 else None)
    assert len(first.texts) == 20
    assert completeness() == "part"
    verified()
    limited = embed(limit=5)
    assert (limited.embedded, limited.missing) == (5, 15)
    last = CountingEmbedder()
    assert embed(embedder=last).missing == 0
    assert len(last.texts) == 15
    assert completeness() == "all"


def test_what_a_run_left_that_was_killed_right_after_publishing_goes_with_the_next(tmp_path: Path) -> None:
    build(word_pages(tmp_path))
    left = store.index_path("text", "mine").with_name(f".mine.old-{dead_process()}-0a1b2c3d")
    left.mkdir()
    assert embed().missing == 0
    assert not left.exists()


def test_a_run_that_dies_at_the_end_leaves_the_index_as_it_was(copied_home: Path) -> None:
    before = search()

    def dies(self: PassageTable, trained: int) -> int:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PassageTable, "index", dies)
        with pytest.raises(KeyboardInterrupt):
            embed()
    assert search() == before
    verified()
    last = CountingEmbedder()
    assert embed(embedder=last).missing == 0
    assert last.texts == []
    assert completeness() == "all"


def test_adding_and_removing_in_each_state(tmp_path: Path) -> None:
    build(word_pages(tmp_path, 0, 20), vectors="later")
    build(word_pages(tmp_path, 20, 25), add=True)
    assert completeness() == "none"
    embed(limit=10)
    build(word_pages(tmp_path, 25, 30), add=True)
    assert count_vectors(store.index_path("text", "mine")) == 10  # taken over
    remove_from_text_index("mine", ["Page 3"])
    assert completeness() == "part"
    verified()
    embed()
    assert (completeness(), len(vectors())) == ("all", 29)
    build(word_pages(tmp_path, 30, 35), add=True)
    assert completeness() == "all"
    build(word_pages(tmp_path, 35, 40), add=True, vectors="later")
    assert store.read_manifest(store.index_path("text", "mine")).settings["vectors"] == {
        "state": "part",
        "embedded": 34,
    }
    verified()
    found = {passage for passages in search() for passage in passages}
    assert any(int(passage.partition("#")[0]) >= 35 for passage in found)
    assert any(int(passage.partition("#")[0]) < 35 for passage in found)
    remove_from_text_index("mine", ["Page 36", "Page 4"])
    assert store.read_manifest(store.index_path("text", "mine")).settings["vectors"]["embedded"] == 33
    assert embed().missing == 0
    build(word_pages(tmp_path), name="full")
    full = vectors("full")
    assert vectors() == {name: vector for name, vector in full.items() if name not in {"3#0", "4#0", "36#0"}}


def test_half_of_the_vectors_in_a_table_with_a_vector_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("indexing.text_index.table", "indexing.text_index.verify", "sources.text"):
        monkeypatch.setattr(f"atomr_local.{module}.EXACT_ROWS", 260)
    build(word_pages(tmp_path, 0, 300), vectors="now")
    build(word_pages(tmp_path, 300, 600), add=True, vectors="later")
    verified()
    assert all(search())
    embed()
    assert completeness() == "all"
    verified()


def test_large_inputs_are_built_words_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = word_pages(tmp_path)
    assert "vectors" not in build(file).settings
    monkeypatch.setattr(index, "EMBEDDED_AT_ONCE", 1000)
    told: list[str] = []
    assert build(file, tell=told.append).settings["vectors"]["state"] == "none"
    assert told == ["words first: the passages are embedded later"]
    assert "vectors" not in build(file, vectors="now").settings
    assert "vectors" not in build(file, limit=30).settings  # few articles, however large the file is


def test_an_unfinished_build_goes_on_as_it_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_build, "BATCH", 10)
    stop = Cancellation()
    file = word_pages(tmp_path)
    with pytest.raises(Cancelled):
        build(file, vectors="now", cancellation=stop, progress=lambda at: stop.cancel() if at.passages else None)
    monkeypatch.setattr(index, "EMBEDDED_AT_ONCE", 1000)
    assert "vectors" not in build(file).settings


def test_an_index_that_changes_meanwhile(tmp_path: Path) -> None:
    build(word_pages(tmp_path, 0, 20), vectors="later")
    more = word_pages(tmp_path, 20, 40)
    told: list[str] = []
    changed = False

    def change(_: Any) -> None:
        nonlocal changed
        if not changed:
            changed = True
            build(more, add=True)

    assert embed(progress=change, tell=told.append).missing == 0
    assert told == ["the index was changed meanwhile; its new passages follow"]
    assert (completeness(), len(vectors())) == ("all", 40)


def test_two_at_once(copied_home: Path) -> None:

    def second(_: Any) -> None:
        embed()

    with pytest.raises(KnowledgeIndexError, match="another process embeds"):
        embed(progress=second)


def test_another_embedder(copied_home: Path) -> None:
    with pytest.raises(KnowledgeIndexError, match="another embedder"):
        embed(embedder=FakeEmbedder("fake:2"))
    with pytest.raises(KnowledgeIndexError, match="no text index named"):
        embed_text_index("nothing", embedder=FakeEmbedder())


def test_damaged_vectors_change_no_answer(copied_home: Path) -> None:
    found = search()
    file = store.index_path("text", "mine") / VECTORS
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE vectors SET vector = zeroblob(?)", (4 * DIMENSIONS,))
    counting = CountingEmbedder()
    assert search(counting) == found
    assert len(counting.texts) > len(QUERIES)  # made again

    file.write_bytes(b"not a database " * 400)
    assert search() == found
    assert "are damaged and are made again" in verified()
    told: list[str] = []
    assert embed(tell=told.append).missing == 0
    assert told == ["the vectors that were made before are damaged; they are made again"]
    assert completeness() == "all"


def test_where_nothing_can_be_written_vectors_stay_in_memory(copied_home: Path) -> None:
    found = search()
    directory = store.index_path("text", "mine")
    (directory / VECTORS).unlink()
    (directory / VECTORS).mkdir()  # as root may write everywhere else
    assert search() == found
    cache = VectorCache(directory, "fake:1", DIMENSIONS)
    [vector] = FakeEmbedder().encode(["lake"])
    assert not cache.put({"lake": vector})
    assert cache.problem
    [kept, unknown] = cache.get(["lake", "river"])
    assert kept is not None
    assert kept.tolist() == vector.tolist()
    assert unknown is None


def test_vectors_of_another_embedder_are_not_used(tmp_path: Path) -> None:
    [vector] = FakeEmbedder().encode(["lake"])
    with closing(VectorCache(tmp_path, "fake:1", DIMENSIONS)) as cache:
        assert cache.put({"lake": vector})
    with closing(VectorCache(tmp_path, "fake:2", DIMENSIONS)) as cache:
        assert cache.get(["lake"]) == [None]
        assert cache.problem


def test_a_table_without_the_vectors_that_the_manifest_counts(copied_home: Path) -> None:
    file = store.index_path("text", "mine") / store.MANIFEST
    manifest = json.loads(file.read_text())
    del manifest["settings"]["vectors"]
    file.write_text(json.dumps(manifest))
    (report,) = verify_indexes("mine")
    assert "0 passages have a vector, 40 were given one" in report.problems


@pytest.mark.parametrize("later", [True, False])
def test_an_index_that_is_built_anew_keeps_vectors_of_the_same_texts(tmp_path: Path, later: bool) -> None:
    build(word_pages(tmp_path, 0, 30), vectors="later")
    embed(limit=20)
    embedder = CountingEmbedder()
    again = word_pages(tmp_path, 10, 40)  # 10 of the texts with a vector, 10 without, 10 new ones
    build_text_index([again], "mine", embedder=embedder, vectors="later" if later else "now")
    if later:
        assert embedder.texts == []
        assert count_vectors(store.index_path("text", "mine")) == 10
        assert embed(embedder=embedder).embedded == 20
    assert len(embedder.texts) == 20
    build(again, name="full", vectors="now")
    assert vectors() == vectors("full")
    verified()


def test_vectors_of_another_embedder_are_not_kept(tmp_path: Path) -> None:
    file = word_pages(tmp_path)
    build(file, vectors="later")
    embed(limit=20)
    build_text_index([file], "mine", embedder=FakeEmbedder("fake:2"), vectors="later")
    assert count_vectors(store.index_path("text", "mine")) == 0


def test_a_tiny_index_is_embedded_on_a_disk_with_little_space(
    copied_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "free_space", lambda _: 20_000_000)
    assert embed().missing == 0
    build(word_pages(copied_home), vectors="later")
    monkeypatch.setattr(space, "free_space", lambda _: 9_000_000)
    with pytest.raises(KnowledgeIndexError, match=r"too full for the vectors: 9\.0 MB are free, about 10\.0 MB"):
        embed()


def test_repair_keeps_what_was_made(copied_home: Path) -> None:
    embed(limit=10)
    directory = store.index_path("text", "mine")
    (directory / store.MANIFEST).write_text("{")
    repair_indexes("mine", open_embedder=FakeEmbedder)
    assert count_vectors(directory) == 10
    assert "10 of 40" in verified()
