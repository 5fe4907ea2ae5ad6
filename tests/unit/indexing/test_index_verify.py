from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_embedder import FakeEmbedder

from atomr_local.cancellation import Cancellation
from atomr_local.errors import Cancelled, KnowledgeIndexError
from atomr_local.indexing import publishing, store, text_table, text_verify
from atomr_local.indexing.graph_index import build_graph_index
from atomr_local.indexing.ledger import Ledger
from atomr_local.indexing.text_catalog import CATALOG
from atomr_local.indexing.text_index import TABLE, build_text_index, connect
from atomr_local.indexing.verify import Report, verify_indexes

WORDS = ["lake", "river", "hill", "town", "road", "tower", "bridge", "forest", "harbour", "island", "valley", "market"]


def corpus(folder: Path, count: int = 40) -> Path:
    file = folder / "corpus.jsonl"
    rows = [
        {"id": str(i), "title": f"Page {i}", "text": " ".join(WORDS[(i * k) % 12] + str(i % k) for k in range(2, 14))}
        for i in range(count)
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return file


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a text and a graph index, to be copied."""
    home = tmp_path_factory.mktemp("home")
    facts = home / "facts.jsonl"
    facts.write_text("\n".join(json.dumps({"s": f"Lake {i}", "p": "country", "o": "Italy"}) for i in range(20)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(home))
        build_text_index([corpus(home)], "mine", embedder=FakeEmbedder())
        build_graph_index([facts], "facts")
    return home


@pytest.fixture
def text(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
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


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda d: (d / store.MANIFEST).unlink(), "manifest.json is missing"),
        (lambda d: manifest(d, schema=99), "another version"),
        (lambda d: manifest(d, counts={"articles": 40, "passages": 41}), "40 passages are there, 41 were built"),
        (lambda d: manifest(d, counts={"articles": 39, "passages": 40}), "40 articles are listed, 39 were built"),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance"), "the passages are missing: there is no passages.lance"),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "data"), "the passages cannot be read"),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "_versions"), "the table of the passages cannot be opened: "),
        (lambda d: cut(largest(d, "data/*.lance")), "the passages cannot be read"),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "_indices"), "the full-text index cannot be used: "),
        (lambda d: shutil.rmtree(d / f"{TABLE}.lance" / "_indices"), "the index of ids cannot be used: "),
        (lambda d: [p.unlink() for p in d.rglob("*token*")], "the full-text index cannot be used: Not found: "),
        (lambda d: [cut(p) for p in d.rglob("page_lookup*")], "the index of ids cannot be used: "),
        (lambda d: connect(d).open_table(TABLE).drop_index("id_idx"), "the index of ids is missing"),
        (lambda d: (d / CATALOG).unlink(), "the list of articles is missing: there is no articles.sqlite"),
        (lambda d: (d / CATALOG).write_bytes(b"x" * 5000), "articles.sqlite"),
        (lambda d: cut(d / CATALOG), "articles.sqlite"),
        (lose_articles, "the passages are not those of the listed articles"),
        (lose_rows, "39 passages are there, 40 were built"),
        (add_row, "1 passages have no unit vector"),
        (add_row, "the full-text index does not cover all passages"),
    ],
)  # fmt: skip
def test_damage_of_a_text_index_is_found_and_explained(
    text: Path, harm: Callable[[Path], object], problem: str
) -> None:
    harm(text)
    report = verify()
    assert report.state == "damaged"
    assert not report.good
    assert any(problem in found for found in report.problems), report.problems
    assert report.hint.startswith("Build it again: atomr text build ")
    assert report.hint.endswith(" --name mine")
    told = " ".join(report.problems)
    assert not re.search(r"\.rs\b|rustc|LanceError|lance error", told), (
        "the library's own sources are no one's business"
    )
    assert f"{text}/" not in told


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda d: shutil.rmtree(d / "oxigraph"), "oxigraph is missing"),
        (lambda d: (d / "names.sqlite").unlink(), "names.sqlite is missing"),
        (lambda d: (d / "names.sqlite").write_bytes(b"x" * 5000), "names.sqlite"),
        (lambda d: (d / "oxigraph" / "CURRENT").unlink(), "the facts cannot be read"),
        (lambda d: [cut(p) for p in (d / "oxigraph").glob("*.sst")], "the facts cannot be read"),
        (lambda d: manifest(d, counts={"triples": 10_000}), "10000 were built"),
    ],
)  # fmt: skip
def test_damage_of_a_graph_index_is_found_and_explained(
    text: Path, harm: Callable[[Path], object], problem: str
) -> None:
    harm(store.index_path("graph", "facts"))
    report = verify("facts")
    assert report.state == "damaged"
    assert any(problem in found for found in report.problems), report.problems
    assert report.hint.startswith("Build it again: atomr graph build ")


def test_an_approximate_index_is_measured_against_exact_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (text_table, text_verify):
        monkeypatch.setattr(module, "EXACT_ROWS", 100)
    build_text_index([corpus(tmp_path, 600)], "mine", embedder=FakeEmbedder())
    report = verify()
    assert report.problems == []
    assert 0.98 <= report.measured["recall@10"] <= 1
    monkeypatch.setattr(text_verify, "nearest", lambda search, rows: search.where("id < '3'", prefilter=True))
    report = verify()
    assert report.measured["recall@10"] < 0.9
    assert any("of the 10 nearest; 0.98 is wanted" in problem for problem in report.problems)


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
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = text.with_name(f".mine.building-{process.pid}-abc")
    left.mkdir()
    (left / "data").write_bytes(b"x" * 3000)

    whole, *rest = verify_indexes("mine")
    half, over = sorted(rest, key=lambda report: report.state)
    assert whole.good
    assert (half.state, half.problems, half.good) == (
        "half-built", ["the build was stopped after 3 articles, 512 passages"], False,
    )  # fmt: skip
    assert "it goes on" in half.hint
    assert "`atomr indexes remove text mine --unfinished` frees" in half.hint
    assert (over.state, over.bytes, over.good) == ("left over", 3000, False)
    publishing.remove("text", "mine", unfinished_only=True)
    assert verify().good

    with publishing.resumable("text", "mine"):
        _, running = verify_indexes("mine")
        assert (running.state, running.good) == ("being built", True)


@pytest.mark.parametrize("unfinished_only", [True, False])
def test_an_index_that_was_set_aside(text: Path, unfinished_only: bool) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    aside = text.rename(text.with_name(f".mine.old-{process.pid}-abc"))
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
