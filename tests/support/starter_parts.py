"""The starter's embedder, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.errors import MissingPartError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.models.catalog.find import starter_embedder_path


def embedder_directory() -> Path:
    """Where it lies; the test is skipped where it lies nowhere."""
    try:
        return starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(f"no embedder: {error}")


def starter_embedder() -> SentenceEmbedder:
    """The embedder itself, or the test is skipped."""
    return SentenceEmbedder(embedder_directory())
