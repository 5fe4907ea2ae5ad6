from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.fake_embedder import FakeEmbedder
from support.homes import home_fixtures
from support.processes import dead_process
from support.text_indexes import word_pages

from atomr_local.errors import Cancelled, KnowledgeIndexError, SourceError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds import publishing as digests
from atomr_local.indexing.builds.ledger import Ledger, Report
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.opening import opening_problem
from atomr_local.indexing.text_index import table as text_table
from atomr_local.indexing.text_index import verify as text_verify
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.indexing.verify import repair_indexes, verify_indexes
from atomr_local.sources.protocol import Request
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation


def build(home: Path) -> None:
    facts = home / "facts.jsonl"
    facts.write_text("\n".join(json.dumps({"s": f"Lake {i}", "p": "country", "o": "Italy"}) for i in range(20)))
    build_text_index([word_pages(home)], "mine", embedder=FakeEmbedder())
    build_graph_index([facts], "facts")


built_home, copied_home = home_fixtures(build)


@pytest.fixture
def text(copied_home: Path) -> Path:
    return store.index_path("text", "mine")


def verify(name: str = "mine", **options: Any) -> Report:
    (report,) = verify_indexes(name, **options)
    return report


def test_whole_indexes(text: Path) -> None:
    facts, mine = sorted(verify_indexes(), key=lambda report: report.name)
    for report in (mine, facts):
        assert (report.state, report.problems, report.notes, report.hint, report.good) == ("whole", [], [], "", True)
        assert report.bytes > 1000
    assert mine.counts == {"articles": 40, "passages": 40}
    assert facts.counts["triples"] == 20
    assert mine.measured == {}


def smallest(folder: Path, pattern: str) -> Path:
    return min(folder.rglob(pattern), key=lambda file: file.stat().st_size)


def largest(folder: Path, pattern: str) -> Path:
    return max(folder.rglob(pattern), key=lambda file: file.stat().st_size)


def cut(file: Path, share: float = 0.5) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])


def manifest(directory: Path, **changes: Any) -> None:
    file = directory / store.MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def lose_articles(directory: Path) -> None:
    with sqlite3.connect(directory / CATALOG) as database:
        database.execute("UPDATE articles SET id = 'other' WHERE id = '7'")
    database.close()


def lose_rows(directory: Path) -> None:
    connect(directory).open_table(TABLE).delete("id = '7#0'")


def add_row(directory: Path) -> None:
    table = connect(directory).open_table(TABLE)
    row = table.search().limit(1).to_list()[0]
    table.add([row | {"vector": [0.0] * 16}])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "problem", "mended"),
    [
        (lambda d: (d / store.MANIFEST).unlink(), "manifest.json is missing", True),
        (lambda d: manifest(d, schema=99), "another version", True),
        (lambda d: manifest(d, counts={"articles": 40, "passages": 41}), "40 passages are there, 41 were built", True),
        (lambda d: manifest(d, counts={"articles": 39, "passages": 40}), "40 articles are listed, 39 were built", True),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance"), "the passages are missing: there is no passages.lance", False),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "data"), "the passages cannot be read", False),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "_versions"), "the table of the passages cannot be opened: ", False),
        (lambda d: cut(largest(d, "data/*.lance")), "the passages cannot be read", False),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "_indices"), "the full-text index cannot be used: ", True),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "_indices"), "the index of ids cannot be used: ", True),
        (lambda d: [p.unlink() for p in d.rglob("*token*")], "the full-text index cannot be used: Not found: ", True),
        (lambda d: [cut(p) for p in d.rglob("page_lookup*")], "the index of ids cannot be used: ", True),
        (lambda d: connect(d).open_table(TABLE).drop_index("id_idx"), "the index of ids is missing", True),
        (lambda d: (d / CATALOG).unlink(), "the list of articles is missing: there is no articles.sqlite", False),
        (lambda d: (d / CATALOG).write_bytes(b"x" * 5000), "articles.sqlite", False),
        (lambda d: cut(d / CATALOG), "articles.sqlite", False),
        (lose_articles, "the passages are not those of the listed articles", False),
        (lose_rows, "39 passages are there, 40 were built", True),
        (add_row, "1 passages have no unit vector", True),
        (add_row, "the full-text index does not cover all passages", True),
    ],
)  # fmt: skip
def test_damage_of_a_text_index_is_found_and_explained(
    text: Path, harm: Callable[[Path], object], problem: str, mended: bool
) -> None:
    harm(text)
    report = verify()
    assert report.state == "damaged"
    assert not report.good
    assert any(problem in found for found in report.problems), report.problems
    (done,) = repair_indexes("mine", open_embedder=FakeEmbedder)
    assert done.report is not None
    assert done.report.good == bool(done.done) == mended, done.report.problems
    if mended:
        assert report.hint == "`atomr indexes repair mine` repairs it."
        assert done.report.counts == {"articles": 40, "passages": 40}
    else:
        assert report.hint.startswith("Build it again: atomr text build ")
        assert report.hint.endswith(" --name mine")
    told = " ".join(report.problems)
    assert not re.search(r"\.rs\b|rustc|LanceError|lance error", told), (
        "the library's own sources are no one's business"
    )
    assert f"{text}/" not in told


@pytest.mark.parametrize(
    ("harm", "problem", "mended"),
    [
        (lambda d: shutil.rmtree(d / "oxigraph"), "oxigraph is missing", False),
        (lambda d: (d / "names.sqlite").unlink(), "names.sqlite is missing", False),
        (lambda d: (d / "names.sqlite").write_bytes(b"x" * 5000), "names.sqlite", False),
        (lambda d: (d / "oxigraph" / "CURRENT").unlink(), "the facts cannot be read", False),
        (lambda d: [cut(p) for p in (d / "oxigraph").glob("*.sst")], "the facts cannot be read", False),
        (lambda d: manifest(d, counts={"triples": 10_000}), "10000 were built", True),
    ],
)  # fmt: skip
def test_damage_of_a_graph_index_is_found_and_explained(
    text: Path, harm: Callable[[Path], object], problem: str, mended: bool
) -> None:
    harm(store.index_path("graph", "facts"))
    report = verify("facts")
    assert report.state == "damaged"
    assert any(problem in found for found in report.problems), report.problems
    assert report.hint.startswith("`atomr indexes repair facts`" if mended else "Build it again: atomr graph build ")


@pytest.mark.slow
def test_an_approximate_index_is_measured_against_exact_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (text_table, text_verify):
        monkeypatch.setattr(module, "EXACT_ROWS", 100)
    build_text_index([word_pages(tmp_path, 0, 600)], "mine", embedder=FakeEmbedder())
    report = verify()
    assert report.problems == []
    assert 0.98 <= report.measured["recall@10"] <= 1
    monkeypatch.setattr(text_verify, "nearest", lambda search, rows: search.where("id < '3'", prefilter=True))
    report = verify()
    assert report.measured["recall@10"] < 0.9
    assert any("of the 10 nearest; expected at least 0.98" in problem for problem in report.problems)


def test_what_is_no_damage_is_noted(text: Path) -> None:
    source = Path(store.read_manifest(text).inputs[0].path)
    content = source.read_bytes()
    try:
        source.write_bytes(content + b"\n")
        assert verify().notes == [f"{source} has changed since the index was built from it"]
    finally:
        source.write_bytes(content)
    assert "searches are refused" in verify(embedder="fake:2").notes[0]
    assert verify(embedder="fake:1").notes == []
    text.rename(text.with_name("moved"))
    report = verify("moved")
    assert (report.notes, report.good) == (["its manifest calls it text mine: it was moved or copied"], True)


def test_half_built_and_left_over(text: Path) -> None:
    with pytest.raises(RuntimeError), publishing.resumable("text", "mine") as scratch:
        Ledger.open(scratch, "text", [], {}).commit({"articles": 3, "passages": 512})
        raise RuntimeError
    left = text.with_name(f".mine.building-{dead_process()}-abc")
    left.mkdir()
    (left / "data").write_bytes(b"x" * 3000)

    whole, *rest = verify_indexes("mine")
    half, over = sorted(rest, key=lambda report: report.state)
    assert whole.good
    assert (half.state, half.problems, half.good) == (
        "half-built", ["the build was stopped after 3 articles, 512 passages"], False,
    )  # fmt: skip
    assert "to resume" in half.hint
    assert "`atomr indexes remove text mine --unfinished` frees" in half.hint
    assert (over.state, over.bytes, over.good) == ("left over", 3000, False)
    publishing.remove("text", "mine", unfinished_only=True)
    assert verify().good

    with publishing.resumable("text", "mine"):
        _, running = verify_indexes("mine")
        assert (running.state, running.good) == ("being built", True)


@pytest.mark.parametrize("unfinished_only", [True, False])
def test_an_index_that_was_set_aside(text: Path, unfinished_only: bool) -> None:
    aside = text.rename(text.with_name(f".mine.old-{dead_process()}-abc"))
    report = verify()
    assert (report.state, report.good) == ("set aside", False)
    assert report.hint == "`atomr indexes remove text mine --unfinished` puts it back."
    freed = publishing.remove("text", "mine", unfinished_only=unfinished_only)
    assert not aside.exists()
    assert (text.exists(), freed == 0) == (unfinished_only, unfinished_only)
    if unfinished_only:
        assert verify().good


def test_nothing_of_that_name(text: Path) -> None:
    with pytest.raises(KnowledgeIndexError, match="no index named 'absent'"):
        verify_indexes("absent")


def test_it_can_be_cancelled(text: Path) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        verify_indexes("mine", cancellation=cancellation)


def flip(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def found(directory: Path) -> list[str]:
    with closing(TextSource(directory, FakeEmbedder())) as source:
        return [
            item.text
            for item in source.retrieve(Request("lake3 river5", "lake3 river5", top_k=9), Cancellation()).evidence
        ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mine", "facts"])
def test_a_flipped_bit_in_any_file_that_is_searched_is_found_by_verify_and_by_opening(text: Path, name: str) -> None:
    directory = text if name == "mine" else store.index_path("graph", "facts")
    chance = random.Random(3)
    files = [path for _, path in digests.listed(directory)] + [directory / store.DIGESTS]
    assert len(files) > 8
    assert opening_problem(directory) == ""
    for file in files:
        content = file.read_bytes()
        if not content:
            continue
        flip(file, chance)
        report = verify(name)
        assert report.state == "damaged", file
        assert "repair" in report.hint or "Build it again" in report.hint
        assert opening_problem(directory), file
        file.write_bytes(content)
        assert verify(name).good
        assert opening_problem(directory) == ""


def test_a_flipped_bit_in_the_words_is_told_when_the_index_is_opened_and_repaired(text: Path) -> None:
    before = found(text)
    assert len(before) == 9
    tokens = next(text.rglob("*_tokens.lance"))
    content = bytearray(tokens.read_bytes())
    content[:600] = bytes(600)
    tokens.write_bytes(content)
    with pytest.raises(KnowledgeIndexError, match=r"tokens\.lance is not what was built") as caught:
        found(text)
    assert "atomr indexes repair mine" in caught.value.hint
    (done,) = repair_indexes("mine", open_embedder=FakeEmbedder)
    assert "full-text" in done.done
    assert verify().good
    assert found(text) == before


def test_adding_keeps_the_checksums_of_what_it_takes_over_and_refuses_damage(text: Path, tmp_path: Path) -> None:
    before = digests.read_record(text)
    assert before is not None
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "new", "title": "New page", "text": "lake river"}))
    build_text_index([more], "mine", embedder=FakeEmbedder(), add=True)
    after = digests.read_record(text)
    assert after is not None
    rows = {name for name in before.files if "/data/" in name}
    assert rows and all(after.files.get(name) == before.files[name] for name in rows)
    assert after.files.keys() - before.files.keys()
    assert verify().good
    flip(largest(text, "data/*.lance"), random.Random(1))
    with pytest.raises(KnowledgeIndexError, match="cannot be opened"):
        build_text_index([more], "mine", embedder=FakeEmbedder(), add=True)
    assert not verify().good


def test_an_index_of_an_earlier_version_gets_its_checksums(text: Path) -> None:
    for kind, name in (("text", "mine"), ("graph", "facts")):
        directory = text.parents[1] / kind / name
        (directory / store.DIGESTS).unlink()
        report = verify(name)
        assert report.good and "`atomr indexes repair" in report.notes[0]
        assert opening_problem(directory) == ""
        (done,) = repair_indexes(name, open_embedder=FakeEmbedder)
        assert done.done == "made its checksums" and done.report is not None
        assert (done.report.good, done.report.notes) == (True, [])
        flip(largest(directory, "*.s*" if kind == "graph" else "*.lance"), random.Random(2))
        assert not verify(name).good


def test_repair_leaves_a_whole_index_and_one_that_is_being_built(text: Path) -> None:
    stamp = text.stat().st_ino
    assert [item.done for item in repair_indexes(open_embedder=FakeEmbedder)] == ["", ""]
    assert text.stat().st_ino == stamp
    (text / store.MANIFEST).unlink()
    with pytest.raises(RuntimeError), publishing.resumable("text", "mine") as scratch:
        Ledger.open(scratch, "text", [], {}).commit({"articles": 3, "passages": 512})
        raise RuntimeError
    with pytest.raises(KnowledgeIndexError, match="unfinished build of the text index 'mine' would be lost"):
        repair_indexes("mine", open_embedder=FakeEmbedder)
    publishing.remove("text", "mine", unfinished_only=True)
    (done,) = repair_indexes("mine", open_embedder=FakeEmbedder)
    assert done.done == "restored its manifest"


def test_a_panic_of_a_library_is_an_error_in_words(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def gives_up(*_: object, **_options: object) -> None:
        raise panic("index out of bounds: the len is 3 but the index is 7")

    source = TextSource(text, FakeEmbedder())
    monkeypatch.setattr(source, "_search", gives_up)
    with closing(source), pytest.raises(SourceError, match="cannot be searched: index out of bounds") as caught:
        source.retrieve(Request("lake", "lake"), Cancellation())
    assert "atomr indexes repair mine" in caught.value.hint
