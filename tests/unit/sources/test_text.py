from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.article_indexes import build_articles, build_wiki
from support.fake_embedder import FakeEmbedder
from support.homes import at_home
from support.starter_parts import starter_embedder

from atomr_local.errors import Cancelled, KnowledgeIndexError, MissingPartError, SourceError
from atomr_local.indexing import store
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.text_index.table import connect
from atomr_local.sources import text_hits
from atomr_local.sources.protocol import Request, SourceName, Value
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

ARTICLES = {
    "Lake Como": "Lake Como is a lake of glacial origin in Lombardy, Italy. It is among the deepest lakes in Europe.",
    "Lake Garda": "Lake Garda is the largest lake in Italy, between Brescia and Verona.",
    "Bellagio": "Bellagio is a town on a promontory of Lake Como. Lake Como, Lake Como, everywhere Lake Como.",
    "Marie Curie": "Marie Curie discovered polonium and radium with Pierre Curie in Paris.",
    "Radium": "Radium is a chemical element with the symbol Ra and atomic number 88.",
    "Flann O'Brien": "Flann O'Brien wrote The Third Policeman, a novel about bicycles and eternity.",
    "Hook (film)": "Hook is a film directed by Steven Spielberg about Peter Pan as a grown man.",
    "Hook": "A hook is a bent piece of metal for catching or hanging things.",
    "Hook Norton": "Hook Norton is a village in Oxfordshire with a brewery.",
    "Żelazowa Wola": "Żelazowa Wola is a village in Poland where Frédéric Chopin was born.",
    "Tokyo": "Tokyo is the capital of Japan. 東京は日本の首都である。",
    "Photosynthesis": "Plants turn light into chemical energy stored in sugars.",
    "Como copy": "Lake Como is a lake of glacial origin in Lombardy, Italy! It is among the deepest lakes in Europe!",
    "AND": "AND is a logical operator that is true when both operands are true.",
    "\x1b[31mRed": "A hostile title \x1b]0;owned\x07 with escape sequences of terminals.",
}  # fmt: skip


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    return starter_embedder()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Path:
    with at_home(tmp_path_factory.mktemp("home")) as home:
        return build_articles(home, "small", ARTICLES, prefix="p", embedder=embedder)


@pytest.fixture(scope="module")
def source(directory: Path, embedder: SentenceEmbedder) -> TextSource:
    return TextSource(directory, embedder)


def find(source: TextSource, query: str, top_k: int = 3, head: str = "") -> list[str]:
    operator, arguments = (Operator.SEARCH, (Value(head),)) if head else (None, ())
    found = source.retrieve(Request(query, query, operator, arguments, top_k), Cancellation()).evidence
    return [item.title for item in found]


def test_some_titles_are_of_articles_that_it_holds(source: TextSource) -> None:
    assert len(source.some_titles(3)) == 3
    assert set(source.some_titles(100)) == set(ARTICLES)
    assert source.some_titles(1)[0] in ARTICLES


def test_evidence_is_the_passage_with_its_place(source: TextSource) -> None:
    found = source.retrieve(Request("who discovered radium", "who discovered radium", top_k=1), Cancellation())
    (first,) = found.evidence
    assert (first.source, first.title, first.text) == (SourceName.TEXT, "Marie Curie", ARTICLES["Marie Curie"])
    assert first.locator == {"passage": "p3#0", "span": [0, len(first.text)]}
    assert first.query == "who discovered radium"
    assert not found.values


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("biggest body of water in the Italian republic", "Lake Garda"),
        ("birthplace of Chopin", "Żelazowa Wola"),
        ("zelazowa wola", "Żelazowa Wola"),
        ("O'Brien", "Flann O'Brien"),
        ("symbol Ra", "Radium"),
        ("東京", "Tokyo"),
    ],
)
def test_found_by_meaning_or_by_words(source: TextSource, query: str, title: str) -> None:
    assert find(source, query)[0] == title


def test_best_first_and_no_more_than_asked_for(source: TextSource) -> None:
    for top_k in (1, 2, 5, 50):
        found = source.retrieve(Request("lake", "lake", top_k=top_k), Cancellation()).evidence
        assert len(found) == min(top_k, len(ARTICLES) - 1)
        assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_near_duplicates_are_folded(source: TextSource) -> None:
    found = find(source, "lake of glacial origin in Lombardy", top_k=10)
    assert len({"Lake Como", "Como copy"} & set(found)) == 1
    # The place of what was folded is given to the next one.
    assert find(source, "lake of glacial origin in Lombardy", top_k=3) == found[:3]


def test_first_in_one_search_goes_before_middling_in_both(tmp_path: Path) -> None:
    """The page whose every word is asked for leads, though by meaning others are nearer."""
    texts = {f"Page {i}": f"common words number{i} common words" for i in range(12)}
    texts["Wanted"] = "quokka " + " ".join(f"other{i}" for i in range(40))
    source = TextSource(build_articles(tmp_path, "ranks", texts), FakeEmbedder())
    found = source.retrieve(Request("common words quokka", "common words quokka"), Cancellation()).evidence
    assert "Wanted" in [item.title for item in found]
    assert [item.score for item in found] == [round(1 / (60 + place), 6) for place in (1, 2, 3)]


def test_the_page_of_the_entity_goes_first(source: TextSource) -> None:
    assert find(source, "Lake Como", head="Lake Como")[0] == "Lake Como"
    assert find(source, "Radium discovered by", head="radium")[0] == "Radium"
    assert find(source, "Hook director", head="Hook (film)")[0] == "Hook (film)"
    assert find(source, "Hook", head="Hook")[0] == "Hook"
    # The very title, the same name with a qualifier, a longer name.
    assert find(source, "Hook", head="Hook") == ["Hook", "Hook (film)", "Hook Norton"]
    # Though the words are those of its namesake: a name that a plan goes on with is a page's title.
    assert find(source, "Hook film director Steven Spielberg", head="Hook")[:2] == ["Hook", "Hook (film)"]


def test_the_query_is_searched_with_an_operator_or_without(source: TextSource) -> None:
    with_operator = Request("Where was Chopin born?", "radium", Operator.SEARCH, (Value("radium"),), 1)
    without = Request("Where was Chopin born?", "radium", top_k=1)
    for request in (with_operator, without):
        [found] = source.retrieve(request, Cancellation()).evidence
        assert (found.title, found.query) == ("Radium", "radium")


MODE_PAGES = {"Meant": "harbour harbour ship", "Written": "quokka harbour sails past every lighthouse on its way"}


class MeaningEmbedder(FakeEmbedder):
    """Takes the rare word for the common one, so that meaning and words disagree."""

    def encode(self, texts: Sequence[str]) -> Any:
        return super().encode(["harbour ship meant" if text == "quokka" else text for text in texts])


@pytest.fixture(scope="module")
def modes_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with at_home(tmp_path_factory.mktemp("home")) as home:
        return build_articles(home, "modes", MODE_PAGES, embedder=MeaningEmbedder())


@pytest.fixture
def modes(modes_directory: Path) -> TextSource:
    return TextSource(modes_directory, MeaningEmbedder())


def test_each_mode_has_its_own_order(modes: TextSource) -> None:
    def titles(**chosen: Any) -> list[str]:
        found = modes.retrieve(Request("", "quokka", **chosen), Cancellation()).evidence
        assert [item.score for item in found] == [round(1 / (60 + place), 6) for place in range(1, len(found) + 1)]
        return [item.title for item in found]

    assert titles(mode="dense") == ["Meant", "Written"]
    assert titles(mode="words") == ["Written"]
    # First by words and second by meaning goes before first by meaning alone.
    assert titles() == titles(mode="hybrid") == ["Written", "Meant"]
    named: dict[str, Any] = {"operator": Operator.SEARCH, "arguments": (Value("Written"),)}
    assert titles(mode="dense", **named) == ["Written", "Meant"], "the page of the name goes first in every mode"


def test_words_alone_need_no_embedder_and_vectors_alone_no_words(
    modes: TextSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError("not to be asked in this mode")

    monkeypatch.setattr(modes._embedder, "encode", refuse)
    assert modes.retrieve(Request("", "quokka", mode="words"), Cancellation()).evidence
    monkeypatch.undo()
    monkeypatch.setattr(modes, "_by_words", refuse)
    assert modes.retrieve(Request("", "quokka", mode="dense"), Cancellation()).evidence


def test_a_reranker_reads_the_question_whatever_is_searched(modes: TextSource) -> None:
    asked: list[str] = []

    class Reversing:
        def scores(self, query: str, passages: Sequence[str], cancellation: Cancellation) -> list[float]:
            asked.append(query)
            return [float(place) for place, _ in enumerate(passages)]

    modes._reranker = Reversing()
    found = modes.retrieve(Request("Which animal?", "quokka", mode="dense"), Cancellation()).evidence
    assert [item.title for item in found] == ["Written", "Meant"]
    modes.retrieve(Request("", "quokka"), Cancellation())
    assert asked == ["Which animal?", "quokka"]


@pytest.mark.parametrize(
    "query",
    [
        "AND", "OR NOT", '"', '"unclosed phrase', "title:x AND (", "text:*", "lake~2 como^5", "+lake -como", "[a TO z]", "\\",
        "'; DROP TABLE passages; --", "lake') OR 1=1", "\x00\x1b[2J lake", "\ud800 lake", "é" * 50, "lake " * 2000,
        "x" * 10_000, "a " * 5000,
    ],
    ids=lambda query: ascii(query[:20]),
)  # fmt: skip
def test_hostile_queries_find_passages_or_nothing(source: TextSource, query: str) -> None:
    found = source.retrieve(Request(query, query, Operator.SEARCH, (Value(query),), 3), Cancellation()).evidence
    assert len(found) <= 3
    assert {item.title for item in found} <= set(ARTICLES)


@pytest.mark.parametrize("query", ["", "   ", "\n", "?!", '"', "😀", "\x1b"])
def test_a_query_without_a_word_finds_nothing(source: TextSource, query: str) -> None:
    assert find(source, query) == []


def test_query_syntax_has_no_meaning(source: TextSource) -> None:
    assert find(source, "radium AND NOT curie", top_k=2) == find(source, "radium and not curie", top_k=2)


def test_several_threads_at_once(source: TextSource) -> None:
    found: dict[int, list[str]] = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: find(source, "birthplace of Chopin", 1)}))
        for i in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: ["Żelazowa Wola"] for i in range(6)}


def test_cancelled_before_it_starts(source: TextSource) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        source.retrieve(Request("lake", "lake"), cancellation)


def test_another_embedder_is_refused(directory: Path) -> None:
    with pytest.raises(KnowledgeIndexError, match="'small' was built with another embedder") as caught:
        TextSource(directory, FakeEmbedder())
    assert "embedder" in caught.value.hint


def test_nothing_lost_or_damaged_opens_without_a_word(
    directory: Path, embedder: SentenceEmbedder, tmp_path: Path
) -> None:
    with pytest.raises(KnowledgeIndexError, match="no finished index"):
        TextSource(tmp_path / "absent", embedder)
    without_table = tmp_path / "without_table"
    without_table.mkdir()
    shutil.copy(directory / store.MANIFEST, without_table)
    with pytest.raises(KnowledgeIndexError, match="cannot be opened"):
        TextSource(without_table, embedder)


@pytest.mark.parametrize(
    "damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"")], ids=["gone", "empty"]
)
@pytest.mark.parametrize("part", ["data", "_versions"])
def test_a_damaged_table_is_told_as_such(
    directory: Path, embedder: SentenceEmbedder, tmp_path: Path, part: str, damage
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    files = [file for file in (copy / "passages.lance" / part).rglob("*") if file.is_file()]
    assert files
    for file in files:
        damage(file)
    with pytest.raises((KnowledgeIndexError, SourceError)) as caught:
        TextSource(copy, embedder).retrieve(Request("lake", "lake"), Cancellation())
    assert "build it again: atomr text build" in caught.value.hint
    assert ".rs:" not in caught.value.message and "LanceError" not in caught.value.message


def test_a_failing_embedder_keeps_its_own_error(directory: Path, embedder: SentenceEmbedder) -> None:
    class FakeMissingEmbedder(FakeEmbedder):
        def encode(self, texts):
            raise MissingPartError("sentence-transformers cannot be loaded")

    source = TextSource(directory, FakeMissingEmbedder(embedder.identity))
    with pytest.raises(MissingPartError):
        source.retrieve(Request("lake", "lake"), Cancellation())


def test_closed(directory: Path, embedder: SentenceEmbedder) -> None:
    source = TextSource(directory, embedder)
    source.close()
    with pytest.raises(SourceError):
        source.retrieve(Request("lake", "lake"), Cancellation())


PAGES = {
    "Lake Lario": "#REDIRECT [[Lake Como]]",
    "Lake Como": "Lake Como is deep. " + "It has steep shores. " * 8
    + "\n== History ==\n=== Early years ===\n" + "The Romans had villas there and planted olives. " * 4,
    "Lario": "Lario is a name that rivers, lakes and Lario people share. " * 3,
    "Guide to lakes": "A guide that names Lake Lario, Lake Lario and again Lake Lario. " * 3,
}  # fmt: skip


@pytest.fixture
def wiki(tmp_path: Path) -> TextSource:
    return TextSource(build_wiki(tmp_path, PAGES), FakeEmbedder())


def test_a_redirect_leads_to_its_page(wiki: TextSource) -> None:
    assert find(wiki, "Lake Lario", head="Lake Lario")[0] == "Lake Como"
    assert find(wiki, "Lake Lario depth", head="lake lario")[0] == "Lake Como"
    assert find(wiki, "Lario", head="Lario")[0] == "Lario"
    request = Request("", "Lake Lario", Operator.RELATE, (Value("Lake Lario"), Value("depth")))
    found = {item.title: item.locator.get("redirect") for item in wiki.retrieve(request, Cancellation()).evidence}
    assert found["Lake Como"] == "Lake Lario"
    assert set(found.values()) - {"Lake Lario"} <= {None}
    wiki.close()
    with pytest.raises(SourceError):
        find(wiki, "Lake Lario", head="Lake Lario")


def test_the_section_stands_in_the_locator(wiki: TextSource) -> None:
    found = wiki.retrieve(Request("Roman villas olives", "Roman villas olives", top_k=5), Cancellation()).evidence
    locators = {item.locator.get("section"): item.locator for item in found if item.title == "Lake Como"}
    assert set(locators) == {None, "History > Early years"}
    start, end = locators["History > Early years"]["span"]
    assert 0 < start < end
    assert set(locators["History > Early years"]) == {"passage", "span", "section"}


def test_one_word_of_a_hundred_makes_no_other_passage() -> None:
    words = [
        f"{first}{second}"
        for first in "abcdefghij"
        for second in ("ra", "no", "mi", "ta", "so", "pe", "lu", "vo", "ke", "di")
    ]
    rows = [{"text": " ".join([*words, last])} for last in ("town", "city", "1950", "1951")]
    rows += [{"text": "A village in Como."}, {"text": "A village in Lodi."}]  # short: another word is another text
    found = text_hits.without_duplicates(text_hits.Hit(row, 1.0) for row in rows)
    assert [one.row for one in found] == [rows[0], *rows[2:]]


def test_an_index_of_an_earlier_version_is_searched_as_it_is(
    directory: Path, embedder: SentenceEmbedder, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(directory, old)
    (old / "articles.sqlite").unlink()
    (old / "digests.json").unlink()
    connect(old).open_table("passages").drop_columns(["section"])
    source = TextSource(old, embedder)
    assert find(source, "birthplace of Chopin")[0] == "Żelazowa Wola"
    assert find(source, "Hook", head="Hook") == ["Hook", "Hook (film)", "Hook Norton"]
    # Though the words are those of its namesake: a name that a plan goes on with is a page's title.
    assert find(source, "Hook film director Steven Spielberg", head="Hook")[:2] == ["Hook", "Hook (film)"]
