"""An index that cannot be used is not replaced by another in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atomr_local.assistant.session import Session
from atomr_local.cli.main import main
from atomr_local.errors import ModelError
from atomr_local.indexing import store
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph index without its manifest, and a small starter."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "facts.jsonl.gz").write_text(json.dumps({"s": "Como", "p": "country", "o": "Italy"}))
    monkeypatch.setattr(paths, "starter_knowledge_dir", lambda: shipped)
    store.index_path("graph", "mine").mkdir(parents=True)


@pytest.mark.usefixtures("damaged")
def test_the_parts_of_a_question_note_it() -> None:
    parts = Session(load_settings())
    assert parts.graph_directory().name == "starter"
    assert "mine cannot be used, starter is used instead" in parts.notes.get_nowait()


@pytest.mark.usefixtures("damaged")
def test_the_command_line_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["graph", "find", "Como"])
    out, err = capsys.readouterr()
    assert not stop.value.code
    assert "Como" in out
    assert "mine cannot be used, starter is used instead" in err
    assert "`atomr indexes verify mine`" in err


def test_a_model_that_is_not_there_is_told_before_indexes_are_built(tmp_path: Path) -> None:
    parts = Session(load_settings(model=str(tmp_path / "absent.gguf")))
    stages: list[str] = []
    with pytest.raises(ModelError, match=r"absent\.gguf"):
        parts.load(("text", "graph"), stages.append)
    assert stages == []
    assert not paths.indexes_dir().exists()
