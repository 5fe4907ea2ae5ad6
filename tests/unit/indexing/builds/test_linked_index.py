"""An index that is a symbolic link: a new one takes the link's place, and what it leads to is never touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graph_world import open_world
from support.processes import dead_process

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.graph_index.index import build_graph_index, linearise_graph_index
from atomr_local.sources.graph import GraphSource


@pytest.fixture
def elsewhere(own_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the index lies that the home links to."""
    open_world(own_home).close()
    place = tmp_path_factory.mktemp("elsewhere") / "world"
    link = store.index_path("graph", "world")
    link.rename(place)
    link.symlink_to(place)
    return place


def files(directory: Path) -> dict[str, int]:
    return {str(path.relative_to(directory)): path.stat().st_ino for path in directory.rglob("*") if path.is_file()}


def beside() -> list[str]:
    return sorted(path.name for path in store.index_path("graph", "world").parent.iterdir())


def test_a_rebuild_takes_the_links_place(own_home: Path, elsewhere: Path) -> None:
    before = files(elsewhere)
    build_graph_index([own_home / "world.jsonl"], "world")
    assert beside() == ["world"] and not store.index_path("graph", "world").is_symlink()
    assert files(elsewhere) == before
    assert publishing.list_unfinished() == []
    GraphSource.open(elsewhere).close()


def test_linearising_takes_the_links_place(elsewhere: Path) -> None:
    before = files(elsewhere)
    linearise_graph_index("world")
    assert beside() == ["world"] and not store.index_path("graph", "world").is_symlink()
    assert files(elsewhere) == before
    source = GraphSource.open(store.index_path("graph", "world"))
    assert source.facts_missing == ""
    source.close()


def test_what_an_earlier_version_left_is_removed(elsewhere: Path) -> None:
    link = store.index_path("graph", "world")
    left = link.with_name(f".world.old-{dead_process()}-0a1b2c3d")
    left.symlink_to(elsewhere)
    before = files(elsewhere)
    [item] = publishing.list_unfinished()
    assert (item.path, item.bytes, item.set_aside) == (left, 0, False)
    assert publishing.remove("graph", "world", unfinished_only=True) == 0
    assert beside() == ["world"] and link.is_symlink()
    assert files(elsewhere) == before


def test_a_link_that_was_set_aside_is_put_back(elsewhere: Path) -> None:
    link = store.index_path("graph", "world")
    link.rename(link.with_name(f".world.old-{dead_process()}-0a1b2c3d"))
    [item] = publishing.list_unfinished()
    assert item.set_aside
    publishing.remove("graph", "world", unfinished_only=True)
    assert beside() == ["world"] and link.is_symlink() and link.resolve() == elsewhere.resolve()


def test_removing_the_index_removes_the_link_alone(elsewhere: Path) -> None:
    before = files(elsewhere)
    assert publishing.remove("graph", "world") == 0, "nothing is freed by that"
    assert beside() == [] and files(elsewhere) == before


def test_a_link_that_leads_nowhere_gives_way_to_a_build(own_home: Path, elsewhere: Path) -> None:
    elsewhere.rename(elsewhere.with_name("moved"))
    build_graph_index([own_home / "world.jsonl"], "world")
    assert beside() == ["world"]
    assert not store.index_path("graph", "world").is_symlink()


def test_what_cannot_be_removed_is_told(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_world(own_home).close()
    left = store.index_path("graph", "world").with_name(f".world.old-{dead_process()}-0a1b2c3d")
    left.mkdir()

    def refused(_path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(publishing.shutil, "rmtree", refused)
    with pytest.raises(KnowledgeIndexError, match="cannot be removed"):
        publishing.remove("graph", "world", unfinished_only=True)
