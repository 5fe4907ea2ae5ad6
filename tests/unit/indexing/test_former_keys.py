"""Indexes that an earlier version built hold other keys of names in some scripts; they are found and told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graph_world import open_world

from atomr_local.indexing.graph_index.names import writer
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.text_index import catalog
from atomr_local.indexing.text_index.catalog import Catalog, CatalogReader
from atomr_local.language.names import former_name_forms, former_name_key

NAMES = """
राम | instance of | human
रमा | instance of | human
कि | also known as | Kī
São Paulo | instance of | city
ガラス | instance of | material
カラス | instance of | bird
"""


@pytest.fixture(params=["today", "former"])
def keys(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """While it is in place, indexes are built with the keys of this version or of the one before."""
    if request.param == "former":
        monkeypatch.setattr(writer, "KEYS", 0)
        monkeypatch.setattr(writer, "name_forms", former_name_forms)
        monkeypatch.setattr(catalog, "KEYS", 0)
        monkeypatch.setattr(catalog, "name_key", former_name_key)
    return monkeypatch


def test_a_graph_index(own_home: Path, keys: pytest.MonkeyPatch) -> None:
    source = open_world(own_home, NAMES, anew=True)
    keys.undo()
    keys.setenv("ATOMR_HOME", str(own_home))
    for name in ("राम", "रमा", "São Paulo", "sao paulo", "ガラス", "カラス"):
        found = source.entity_of(name)
        assert found is not None
        assert found.text.casefold().replace("ã", "a") == name.casefold().replace("ã", "a")
        [row] = {row.text: row for row in source.graph.names.by_key(catalog.name_key(name))}.values()
        assert row.key == catalog.name_key(row.text)
    assert source.entity_of("रम") is None
    assert [linked.entity.text for linked in source.link("राम", 1)] == ["राम"]
    near = [row.text for row in source.graph.names.similar(catalog.name_key("Sao Paulos"))]
    assert near[:1] == ["São Paulo"]
    source.close()


def add(listed: Catalog, first: int, *titles: str) -> None:
    for seq, title in enumerate(titles, first):
        listed.add(seq, Article(title, title, "text"), b"x", 1)
    listed.commit()


def test_a_list_of_articles(tmp_path: Path, keys: pytest.MonkeyPatch) -> None:
    listed = Catalog(tmp_path)
    add(listed, 1, "राम", "रमा", "São Paulo")
    listed.add_alias(9, Redirect("दाशरथि", "राम"))
    listed.settle(0)
    listed.close()
    keys.undo()
    listed = Catalog(tmp_path)  # this version adds to what the other one began
    add(listed, 10, "ガラス", "カラス")
    listed.settle(9)
    assert [known.title for known in listed.titled("रमा")] == ["रमा"]
    listed.close()
    reader = CatalogReader(tmp_path)
    for title in ("राम", "रमा", "São Paulo", "ガラス", "カラス"):
        known = reader.titled(title)
        assert known is not None and known.title == title
    assert reader.titled("रम") is None
    assert "राम" in reader.targets("दाशरथि"), "a former target may be that of several"
    assert {title for _, title, _ in reader.with_keys([catalog.name_key("sao paulo")], 5)} == {"São Paulo"}
    reader.close()
