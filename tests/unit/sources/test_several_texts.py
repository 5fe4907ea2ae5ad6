"""Several text indexes searched as one source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.article_indexes import build_articles
from support.fake_embedder import FakeEmbedder
from support.homes import home_fixtures

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.store import resolve
from atomr_local.sources.protocol import Request, Retrieval
from atomr_local.sources.registry import open_texts
from atomr_local.sources.several_texts import SeveralTexts
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation

WIKI = {f"Town {i}": f"Town {i} is a town with a market, a bridge and a harbour on the river." for i in range(30)} | {
    "Lake Como": "Lake Como is a deep lake in Lombardy, Italy.",
    "Lake Garda": "Lake Garda is the largest lake in Italy.",
}
NOTES = {
    "Holiday": "In June we rented the yellow boat on Lake Como for three days.",
    "Shopping": "Bread, butter, apples and a new umbrella.",
    "Lake Garda": "We never went there; the ferry was full.",
}


def build(home: Path) -> None:
    build_articles(home, "wiki", WIKI, prefix="p")
    build_articles(home, "notes", NOTES, prefix="p", vectors="later")


built_home, copied_home = home_fixtures(build)
pytestmark = pytest.mark.usefixtures("copied_home")


@pytest.fixture
def both() -> Iterator[SeveralTexts]:
    directories = [store.index_path("text", name) for name in ("wiki", "notes")]
    with closing(open_texts(directories, FakeEmbedder())) as source:
        assert isinstance(source, SeveralTexts)
        yield source


def places(found: Retrieval) -> list[tuple[str, str]]:
    return [(str(item.locator["index"]), item.title) for item in found.evidence]


def ask(source: SeveralTexts, query: str, top_k: int = 5) -> list[tuple[str, str]]:
    return places(source.retrieve(Request(query, query, top_k=top_k), Cancellation()))


def test_the_index_that_has_it_comes_first(both: SeveralTexts) -> None:
    assert ask(both, "who rented the yellow boat")[0] == ("notes", "Holiday")
    assert ask(both, "largest lake in Italy")[0] == ("wiki", "Lake Garda")
    assert ask(both, "town with a harbour on the river Town 7")[0] == ("wiki", "Town 7")
    assert {index for index, _ in ask(both, "Lake Como")[:2]} == {"wiki", "notes"}


def test_a_small_index_does_not_push_its_own_before_what_suits(both: SeveralTexts) -> None:
    query = "market bridge harbour"
    assert all(index == "wiki" for index, _ in ask(both, query, top_k=3))
    # Without what the first passages name, which may stand in any index.
    by_words = both.retrieve(Request(query, query, top_k=10, mode="words"), Cancellation())
    assert all(index == "wiki" for index, _ in places(by_words)[:8])


def test_what_the_first_passages_name_is_found_in_another_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "named"))
    # No word of the question stands in the page that answers it, which the other index's page names.
    notes = {"Boat": "The yellow boat was rented by Zacharias Quillfeather."}
    notes |= {f"List {i}": f"The yellow list number {i} of boats that were rented." for i in range(40)}
    wiki = {f"Person {i}": f"Person {i} was born in the village of Oakham in 19{i:02}." for i in range(60)}
    wiki["Zacharias Quillfeather"] = "Zacharias Quillfeather was a baker; his cradle stood in Nemi."
    directories = [
        build_articles(tmp_path, "wiki", wiki, prefix="p"),
        build_articles(tmp_path, "notes", notes, prefix="p", vectors="later"),
    ]
    question = "Who rented the yellow boat, and where was the renter born?"
    with closing(open_texts(directories, FakeEmbedder())) as source:
        few = source.retrieve(Request(question, question, top_k=3), Cancellation())
        more = source.retrieve(Request(question, question, top_k=10), Cancellation())
        assert ("wiki", "Zacharias Quillfeather") in places(more)
        assert places(more)[:3] == places(few), "the first keep their places"
        with monkeypatch.context() as patch:
            patch.setattr("atomr_local.sources.several_texts.searched_again", lambda _: False)
            without = source.retrieve(Request(question, question, top_k=10), Cancellation())
        assert ("wiki", "Zacharias Quillfeather") not in places(without)
        assert len(set(places(more))) == len(more.evidence)


def test_passages_of_one_id_stay_apart(both: SeveralTexts) -> None:
    found = both.retrieve(Request("Lake Garda", "Lake Garda", top_k=5), Cancellation()).evidence
    garda = {(item.locator["index"], item.text) for item in found if item.title == "Lake Garda"}
    assert len(garda) == 2


def test_one_index_is_searched_as_before() -> None:
    directory = store.index_path("text", "wiki")
    with closing(open_texts([directory], FakeEmbedder())) as source:
        assert isinstance(source, TextSource)
        found = source.retrieve(Request("lake", "lake", top_k=3), Cancellation()).evidence
    assert all("index" not in item.locator for item in found)


def test_pages_of_all(both: SeveralTexts) -> None:
    assert both.pages_missing == ""
    page = both.page("Holiday")
    assert page is not None
    assert page.index == "notes"
    page = both.page("Lake Garda")  # in both: the first index's
    assert page is not None
    assert page.index == "wiki"
    assert both.page("Nowhere") is None
    assert "Lake Garda" in both.similar_titles("Lake Gard", 3)
    assert len(both.some_titles(4)) == 4


def test_names_of_several_indexes() -> None:
    assert resolve("text", "wiki, notes,wiki") == "wiki,notes"
    with pytest.raises(KnowledgeIndexError, match="no text index named 'nothing'"):
        resolve("text", "wiki,nothing")
    with pytest.raises(KnowledgeIndexError, match="several graph indexes"):
        resolve("graph", "one,two")
