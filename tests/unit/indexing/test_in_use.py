"""Whether the index that is open is still the one to be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atomr_local.indexing import starter as in_use
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.starter import IndexesInUse
from atomr_local.indexing.store import IndexKind, index_path

AUTOMATIC: dict[IndexKind, str] = {"text": "", "graph": ""}


@pytest.fixture(autouse=True)
def _starter(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not the real one, built as any other."""
    monkeypatch.setattr(in_use, "ensure_index", lambda kind, name, _embedder: index_path(kind, name))


def build(name: str, folder: Path) -> None:
    file = folder / "facts.jsonl"
    file.write_text(json.dumps({"s": "Peru", "p": "capital", "o": "Lima"}) + "\n")
    build_graph_index([file], name)


def opened(configured: str) -> IndexesInUse:
    indexes = IndexesInUse()

    def no_embedder() -> None:
        raise AssertionError("not needed")

    indexes.directories("graph", configured, no_embedder, stage=print, notify=print)  # type: ignore[arg-type]
    return indexes


def test_the_first_index_of_ones_own_takes_the_place_of_the_starter(tmp_path: Path) -> None:
    build("starter", tmp_path)
    indexes = opened("")
    assert indexes.names["graph"] == "starter"
    assert indexes.changed(AUTOMATIC) == []
    build("mine", tmp_path)
    assert indexes.changed(AUTOMATIC) == ["graph"]
    assert opened("").names["graph"] == "mine"


def test_a_second_one_changes_nothing_until_the_user_chooses(tmp_path: Path) -> None:
    build("mine", tmp_path)
    indexes = opened("")
    build("other", tmp_path)
    assert indexes.changed(AUTOMATIC) == []


def test_the_starter_that_the_user_has_chosen_stays(tmp_path: Path) -> None:
    build("starter", tmp_path)
    indexes = opened("starter")
    build("mine", tmp_path)
    assert indexes.changed({"text": "", "graph": "starter"}) == []


def test_one_that_is_built_again_is_another(tmp_path: Path) -> None:
    build("mine", tmp_path)
    indexes = opened("")
    build("mine", tmp_path)
    assert indexes.changed(AUTOMATIC) == ["graph"]
