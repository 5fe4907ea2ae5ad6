"""Homes in which a module builds its indexes once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def at_home(folder: Path) -> Iterator[Path]:
    """ATOMR_HOME is this folder meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(folder))
        yield folder


def home_fixtures(build: Callable[[Path], object]) -> tuple[Any, Any]:
    """Two fixtures of a module: a home in which `build` has built, and a copy of it, the home of a test."""

    @pytest.fixture(scope="module")
    def built_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
        with at_home(tmp_path_factory.mktemp("home")) as home:
            build(home)
        return home

    @pytest.fixture
    def copied_home(built_home: Path, own_home: Path) -> Path:
        shutil.copytree(built_home, own_home, dirs_exist_ok=True)
        return own_home

    return built_home, copied_home
