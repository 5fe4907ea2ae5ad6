"""What text indexes hold, and builds of them that are stopped."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from atomr_local.indexing import store
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.table import TABLE, connect
from support.fake_embedder import FakeEmbedder


class CountingEmbedder(FakeEmbedder):
    """Keeps the texts that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return super().encode(texts)


def rows(name: str = "mine") -> list[dict[str, Any]]:
    """The passages of an index in their order."""
    found: list[dict[str, Any]] = connect(store.index_path("text", name)).open_table(TABLE).to_arrow().to_pylist()
    return found


def content(name: str = "mine") -> dict[str, Any]:
    """All that an index holds, in the order in which it was written."""
    directory = store.index_path("text", name)
    manifest = store.read_manifest(directory)
    with closing(sqlite3.connect(directory / CATALOG)) as database:
        listed = {
            table: database.execute(f"SELECT * FROM {table} ORDER BY seq").fetchall()
            for table in ("articles", "aliases")
        }
    return {"counts": manifest.counts, "settings": manifest.settings, **listed, "passages": rows(name)}


def hidden() -> list[str]:
    """What unfinished builds left beside the text indexes."""
    return [path.name for path in store.index_path("text", "x").parent.iterdir() if path.name.startswith(".")]


def stop(_progress: object) -> None:
    """Stop a build, given as what hears of its progress."""
    raise RuntimeError("stop")
