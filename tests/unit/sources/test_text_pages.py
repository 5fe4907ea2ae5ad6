from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest
from support.article_indexes import build_wiki
from support.fake_embedder import FakeEmbedder
from support.homes import at_home

from atomr_local.errors import SourceError
from atomr_local.indexing import store
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.table import connect
from atomr_local.sources.protocol import Pages
from atomr_local.sources.text import TextSource

LONG = "".join(
    f"Shore number {number} is steep and has villas, gardens, steps and a landing place. " for number in range(40)
)
PAGES = {
    "Lake Lario": "#REDIRECT [[Lake Como]]",
    "Lake Como": "Lake Como is deep.  It lies in Italy!\n\n" + LONG + "\n== History ==\nThe Romans had villas there.",
    "Hamlet": "Hamlet is a play. " * 3,
    "Hamlet (1948 film)": "A film by Laurence Olivier. " * 30,
    "Hamlet (1990 film)": "A film by Franco Zeffirelli.",
    "William Shakespeare": "William Shakespeare wrote Hamlet.",
    "The Tempest": "A play by William Shakespeare about a shipwreck.",
    "hamlet": "A small village.",
}  # fmt: skip


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with at_home(tmp_path_factory.mktemp("home")) as home:
        return build_wiki(home, PAGES)


@pytest.fixture(scope="module")
def source(directory: Path) -> TextSource:
    return TextSource(directory, FakeEmbedder())


def test_a_page_is_opened_by_title_or_redirect(source: TextSource) -> None:
    assert isinstance(source, Pages)
    assert source.pages_missing == ""
    for name in ("Lake Como", "lake como", "LAKE  COMO!", "Lake Lario", "lake lario"):
        page = source.page(name)
        assert page is not None
        assert page.title == "Lake Como"
    assert source.page("Lake Garda") is None


def test_the_title_as_it_is_written_goes_first(source: TextSource) -> None:
    for name in ("Hamlet", "hamlet"):
        page = source.page(name)
        assert page is not None
        assert page.title == name
    film = source.page("hamlet 1948 film")
    assert film is not None
    assert film.title == "Hamlet (1948 film)"


def test_sentences_come_in_the_order_of_the_page_and_their_spans_cut_the_passage(
    source: TextSource, directory: Path
) -> None:
    page = source.page("Lake Como")
    assert page is not None
    texts = [sentence.text for sentence in page.sentences]
    assert texts[:3] == ["Lake Como is deep.", "It lies in Italy!", LONG.split(". ")[0] + "."]
    numbers = [text.split()[2] for text in texts if text.startswith("Shore")]
    assert numbers == [str(number) for number in range(40)]
    assert texts[-1] == "The Romans had villas there."
    rows = {row["id"]: row for row in connect(directory).open_table("passages").search().limit(1000).to_list()}
    assert len({sentence.passage for sentence in page.sentences}) > 3
    for sentence in page.sentences:
        row = rows[sentence.passage]
        assert row["title"] == "Lake Como"
        assert row["text"][sentence.start - row["start"] : sentence.end - row["start"]] == sentence.text
        assert row["start"] <= sentence.start < sentence.end <= row["end"]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("Hamlet", ("hamlet", "Hamlet (1948 film)", "Hamlet (1990 film)")),
        ("Hamlet (1948 film)", ("Hamlet (1990 film)",)),
        ("Shakespeare", ("William Shakespeare",)),
        ("Shakespear", ("William Shakespeare",)),
        ("Wiliam Shakespeare", ("William Shakespeare",)),
        ("Tempest", ("The Tempest",)),
        ("Tempets", ("The Tempest",)),
        ("Lake", ("Lake Como",)),
        ("Lake Laria", ("Lake Como",)),
        ("villas gardens", ("Lake Como",)),
        ("who wrote of a shipwreck", ("The Tempest",)),
    ],
)
def test_titles_like_a_name(source: TextSource, name: str, first: tuple[str, ...]) -> None:
    assert set(source.similar_titles(name, len(first))) == set(first)
    found = source.similar_titles(name, 5)
    assert len(found) == len(set(found)) <= 5


def test_the_page_of_the_name_itself_is_not_like_it(source: TextSource) -> None:
    assert "Hamlet" not in source.similar_titles("Hamlet", 10)
    assert "Lake Como" not in source.similar_titles("Lake Lario", 10)
    assert source.similar_titles("Hamlet", 0) == ()


@pytest.mark.parametrize(
    "name",
    ["", "   ", "'; DROP TABLE articles; --", "x') OR 1=1 --", "\x00", "\ud800", "\ud800 lake", "\x1b[2J", "a" * 100_000,
     "?!", "東京", "id IN ('1#0')", '"', "lake~2 como^5", "AND OR NOT", "%", "_", "lake " * 5000],
    ids=lambda name: ascii(name[:20]),
)  # fmt: skip
def test_hostile_names_open_nothing_and_break_nothing(source: TextSource, name: str) -> None:
    assert source.page(name) is None
    assert set(source.similar_titles(name, 3)) <= set(PAGES)


def test_hostile_titles_and_ids(tmp_path: Path) -> None:
    rows = [
        {"id": "it's ') OR 1=1 --", "title": "O'Brien \x1b[31m", "text": "O'Brien wrote. He drank."},
        {"id": "other", "title": "Other", "text": "Another page."},
    ]
    file = tmp_path / "corpus.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    build_text_index([file], "hostile", embedder=FakeEmbedder())
    source = TextSource(store.index_path("text", "hostile"), FakeEmbedder())
    page = source.page("O'Brien \x1b[31m")
    assert page is not None
    assert [sentence.text for sentence in page.sentences] == ["O'Brien wrote.", "He drank."]


def test_an_index_of_an_earlier_version_does_not_offer_pages(directory: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(directory, old)
    (old / CATALOG).unlink()
    (old / "digests.json").unlink()
    source = TextSource(old, FakeEmbedder())
    assert "no list of its articles" in source.pages_missing
    for call in (lambda: source.page("Hamlet"), lambda: source.similar_titles("Hamlet", 3)):
        with pytest.raises(SourceError, match="no list of its articles"):
            call()


def test_a_damaged_catalogue_is_an_error_of_the_source(directory: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(directory, damaged)
    source = TextSource(damaged, FakeEmbedder())
    (damaged / CATALOG).write_bytes(b"not a database" * 1000)
    with pytest.raises(SourceError):
        source.page("Hamlet")


def test_closed_pages(directory: Path) -> None:
    source = TextSource(directory, FakeEmbedder())
    source.close()
    for call in (lambda: source.page("Hamlet"), lambda: source.similar_titles("Hamlet", 3)):
        with pytest.raises(SourceError):
            call()


def test_pages_from_several_threads(source: TextSource) -> None:
    found: dict[int, object] = {}

    def read(number: int) -> None:
        page = source.page("Lake Lario")
        found[number] = (page and len(page.sentences), source.similar_titles("Shakespear", 1))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found.values()) == {(43, ("William Shakespeare",))}
