"""What text indexes hold, and builds of them that are stopped."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from atomr_local.indexing import store
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.indexing.text_index.vectors import vector_state
from atomr_local.indexing.verify import verify_indexes
from support.fake_embedder import FakeEmbedder

_WORDS = ["lake", "river", "hill", "town", "road", "tower", "bridge", "forest", "harbour", "island", "valley", "market"]


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


def written_articles(file: Path, articles: Mapping[str, str]) -> Path:
    """A file of articles by their titles, which are their ids too. A text "x*4" is four passages."""
    rows = []
    for title, text in articles.items():
        word, _, times = text.partition("*")
        words = " ".join(f"{word}{i}" for i in range(120 * int(times))) if times else text
        rows.append(json.dumps({"id": title, "title": title, "text": words}))
    file.write_text("\n".join(rows), encoding="utf-8")
    return file


def corpus(file: Path, *titles: str) -> Path:
    """A file of short articles of these titles."""
    return written_articles(file, {title: f"{title} is here." for title in titles})


def word_pages(folder: Path, first: int = 0, last: int = 40) -> Path:
    """A file of pages of one passage each, "Page 0" with the id "0" and so on, which share some words."""
    file = folder / f"corpus{first}-{last}.jsonl"
    rows = [
        {"id": str(i), "title": f"Page {i}", "text": " ".join(_WORDS[(i * k) % 12] + str(i % k) for k in range(2, 14))}
        for i in range(first, last)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def titles(name: str = "mine") -> list[str]:
    """The titles of the passages of an index, in alphabetical order."""
    return sorted(row["title"] for row in rows(name))


def completeness(name: str = "mine") -> str:
    """Which passages have vectors: "all", "part" or "none"."""
    directory = store.index_path("text", name)
    return vector_state(store.read_manifest(directory), directory).completeness


def verified(name: str = "mine") -> str:
    """What is noted of an index that is whole."""
    (report,) = verify_indexes(name)
    assert report.good, report.problems
    return "; ".join(report.notes)
