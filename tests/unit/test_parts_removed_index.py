"""An index that is removed while it is in use: its source is left out with a word, and comes back with the index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource

from atomr_local.assistant import session as module
from atomr_local.assistant.session import Session, quiet
from atomr_local.errors import KnowledgeIndexError
from atomr_local.settings.schema import Settings
from atomr_local.system.cancellation import Cancellation


@pytest.fixture
def parts(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    settings = Settings(text_index="mine", graph_index="mine", features={"span_reader": False})  # type: ignore[arg-type]
    made = Session(settings, FakeBackbone([]))

    def opened(name: str, tools: Any) -> FakeSource:
        folder = own_home / "indexes" / name / "mine"
        if not folder.is_dir():
            raise KnowledgeIndexError(f"there is no {name} index named 'mine'")
        made.index_names[name] = "mine"
        return FakeSource(name, {})  # type: ignore[arg-type]

    monkeypatch.setattr(module, "open_source", opened)
    for kind in ("text", "graph"):
        (own_home / "indexes" / kind / "mine").mkdir(parents=True)
    return made


def test_it_is_left_out_told_and_taken_in_again(parts: Session, own_home: Path) -> None:
    folder = own_home / "indexes" / "text" / "mine"
    local = ("text", "graph")

    def asked() -> set[str]:
        parts.load(local, quiet)
        return set(parts.chosen(local, False, lambda *_: None))

    assert asked() == {"text", "graph"}
    folder.rmdir()
    assert asked() == {"graph"}
    assert "there is no text index named 'mine'" in parts.notes.get_nowait()
    assert asked() == {"graph"}, "no question is broken by it"
    folder.mkdir()
    assert asked() == {"text", "graph"}


def test_without_any_source_left_the_question_says_why(parts: Session, own_home: Path) -> None:
    parts.load(("text",), quiet)
    (own_home / "indexes" / "text" / "mine").rmdir()
    parts.load(("text",), quiet)
    with pytest.raises(KnowledgeIndexError, match="there is no text index"):
        parts.chosen(("text",), False, lambda *_: None)


def test_where_all_is_there_no_thread_is_begun_and_nothing_is_waited_for(
    parts: Session, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[object] = []
    real = Session._load
    monkeypatch.setattr(Session, "_load", lambda self, *given: (loads.append(given), real(self, *given))[1])

    def load(*local: str) -> int:
        parts.load(local, quiet, Cancellation())
        return len(loads)

    assert [load("text"), load("text"), load("text", "graph"), load("graph")] == [1, 1, 2, 2]
    folder = own_home / "indexes" / "graph" / "mine"
    folder.rmdir()
    assert load("graph") == 3, "the index is gone"
    folder.mkdir()
    assert [load("graph"), load("graph")] == [4, 4]
    parts.reconfigure(Settings(features={"span_reader": False}, text_index="other"))
    assert load("text") == 5, "other settings"
