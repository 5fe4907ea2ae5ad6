"""Where things are kept, with and without ATOMR_HOME."""

from __future__ import annotations

from pathlib import Path

import pytest

import atomr_local
from atomr_local.system import paths


def test_the_home_holds_everything_that_is_written(own_home: Path) -> None:
    home = own_home.resolve()
    for place in (paths.indexes_dir(), paths.models_dir(), paths.cache_dir(), paths.config_file(), paths.data_dir()):
        assert place == home or home in place.parents


def test_a_tilde_in_the_home_is_the_users(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.setenv("HOME", str(own_home))
    monkeypatch.setenv("ATOMR_HOME", "~/kept")
    assert paths.data_dir() == own_home.resolve() / "kept"


def test_without_home_a_checkout_keeps_data_and_not_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATOMR_HOME")
    root = paths.checkout()
    assert root is not None and (root / "pyproject.toml").is_file()
    assert paths.indexes_dir() == root / "indexes"
    assert root not in paths.config_file().parents


def test_installed_the_platforms_directories_are_used(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.delenv("ATOMR_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(own_home / "share"))
    monkeypatch.setattr(paths, "checkout", lambda: None)
    assert paths.data_dir().name == "atomr-local"
    assert paths.starter_knowledge_dir().is_relative_to(Path(atomr_local.__file__).parent)


def test_an_empty_home_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", "")
    assert paths.data_dir() == paths.checkout()


def test_what_ships_does_not_move_with_the_home() -> None:
    assert (paths.starter_knowledge_dir() / "facts.jsonl.gz").is_file()
