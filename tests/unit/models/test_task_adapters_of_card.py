"""Which adapters for one task a card may name: files of the folder beside it, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomr_local.models.catalog.find import task_adapters


def card(folder: Path, listed: Any) -> Path:
    adapter = folder / "mine.gguf"
    (folder / "tasks").mkdir()
    for place in (adapter, folder / "other.gguf", folder / "tasks" / "next.gguf", folder / "tasks" / "next.txt"):
        place.write_bytes(b"")
    adapter.with_suffix(".json").write_text(json.dumps({"task_adapters": listed}))
    return adapter


def test_a_file_of_the_folder_is_found(tmp_path: Path) -> None:
    assert task_adapters(card(tmp_path, {"next": "next.gguf"})) == {"next": tmp_path / "tasks" / "next.gguf"}


@pytest.mark.parametrize(
    "listed",
    [
        {"next": "../other.gguf"},
        {"next": "/etc/passwd.gguf"},
        {"next": "..\\other.gguf"},
        {"next": "next.txt"},
        {"next": "absent.gguf"},
        {"next": ["next.gguf"]},
        ["next.gguf"],
        "next.gguf",
        None,
    ],
)
def test_anything_else_is_passed_over(tmp_path: Path, listed: Any) -> None:
    assert task_adapters(card(tmp_path, listed)) == {}


def test_without_a_card_there_are_none(tmp_path: Path) -> None:
    assert task_adapters(tmp_path / "mine.gguf") == {}
