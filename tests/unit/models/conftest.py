"""The starter's model file, for tests that need a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.errors import MissingPartError
from atomr_local.models.catalog.find import starter_model_path


@pytest.fixture(scope="session")
def starter_file() -> Path:
    try:
        return starter_model_path()
    except MissingPartError as error:
        pytest.skip(f"no starter model: {error.message}")
