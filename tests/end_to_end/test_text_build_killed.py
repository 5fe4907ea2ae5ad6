"""A text build killed at any moment goes on, and its result is that of a build that nobody disturbed.

The moments are drawn from a seed, over the time that an undisturbed build takes. ATOMR_KILLS sets how many (6).
"""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from make_wiki_dump import write_dump
from support.build_process import BuildProcess

from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.table import TABLE, connect

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="builds are forked from one process")
MOMENTS = int(os.environ.get("ATOMR_KILLS", "6"))


@pytest.fixture
def builder() -> Iterator[BuildProcess]:
    builder = BuildProcess()
    yield builder
    builder.close()


def corpus(folder: Path, version: str = "") -> list[Path]:
    """Three files: long and short articles, lines that are none, an id that stands twice."""
    words = [f"word{i}" for i in range(50)]
    chance = random.Random(1)
    lines = []
    for i in range(45):
        sentences = [" ".join(chance.choices(words, k=11)).capitalize() + "." for _ in range(chance.choice([2, 9, 60]))]
        if i % 3 == 0 and version:
            sentences[-1] = version
        lines.append(json.dumps({"id": f"a{i}", "title": f"Page {i}", "text": " ".join(sentences), "n": i}))
    lines[20:20] = ["{broken", lines[3], "[]"]
    files = [folder / "one.jsonl", folder / "two.jsonl", folder / "three.jsonl"]
    for file, part in zip(files, (lines[:18], lines[18:30], lines[30:]), strict=True):
        content = "\n".join(part).encode()
        file.write_bytes(gzip.compress(content, mtime=0) if file.name.startswith("two") else content)
    return files


def content(name: str) -> dict[str, Any]:
    """All that the index holds: passages in their order, articles, and what the manifest tells of them."""
    directory = store.index_path("text", name)
    manifest = store.read_manifest(directory)
    database = sqlite3.connect(directory / CATALOG)
    rows = database.execute("SELECT seq, id, title, hash, passages FROM articles ORDER BY seq").fetchall()
    database.close()
    passages = connect(directory).open_table(TABLE).to_arrow().to_pylist()
    return {"counts": manifest.counts, "skipped": manifest.settings["skipped"], "articles": rows, "passages": passages}


def hidden() -> list[str]:
    return [path.name for path in store.index_path("text", "x").parent.iterdir() if path.name.startswith(".")]


def by_id(index: dict[str, Any]) -> dict[str, Any]:
    """The content without the order in which it was written."""
    articles = sorted(row[1:] for row in index["articles"])
    return index | {"articles": articles, "passages": sorted(index["passages"], key=lambda row: row["id"])}


def test_a_build_killed_again_and_again_equals_an_undisturbed_one(builder: BuildProcess, tmp_path: Path) -> None:
    files = corpus(tmp_path)
    begun = time.monotonic()
    assert builder.run("build", "whole", *files) == 0
    seconds = time.monotonic() - begun
    whole = content("whole")
    assert whole["counts"]["articles"] == 45
    assert whole["skipped"]["count"] == 3
    assert len(whole["passages"]) == whole["counts"]["passages"] > 100

    chance = random.Random(2026)
    kills = 0
    while kills < MOMENTS:
        while (status := builder.run("build", "mine", *files, kill_after=chance.uniform(0, seconds))) != 0:
            assert status == -signal.SIGKILL
            kills += 1
            if kills == MOMENTS:
                assert builder.run("build", "mine", *files) == 0
                break
        assert content("mine") == whole
        assert hidden() == []


def test_a_build_of_two_reading_processes_killed_again_and_again_equals_that_of_one(
    builder: BuildProcess, tmp_path: Path
) -> None:
    dump = tmp_path / "wiki.xml.gz"
    write_dump(dump, 40)
    assert builder.run("build", "whole", dump) == 0
    begun = time.monotonic()
    assert builder.run("pages", "two", dump) == 0
    seconds = time.monotonic() - begun
    whole = content("whole")
    assert whole["counts"]["articles"] == 40
    assert content("two") == whole
    chance = random.Random(11)
    for _ in range(MOMENTS // 2):
        status = builder.run("pages", "mine", dump, kill_after=chance.uniform(0, seconds))
        assert status in (0, -signal.SIGKILL)
    assert builder.run("pages", "mine", dump) == 0
    assert content("mine") == whole
    assert hidden() == []


def test_adding_killed_again_and_again_equals_adding_undisturbed(builder: BuildProcess, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    old, new = corpus(first)[:2], corpus(second, "This page was written anew.")
    assert builder.run("build", "whole", *old) == 0
    before = by_id(content("whole"))
    begun = time.monotonic()
    assert builder.run("add", "whole", *new) == 0
    seconds = time.monotonic() - begun
    whole = by_id(content("whole"))
    assert whole["counts"]["articles"] == 45
    assert before["counts"]["articles"] < 45

    chance = random.Random(7)
    kills = 0
    while kills < MOMENTS:
        assert builder.run("build", "mine", *old) == 0
        while (status := builder.run("add", "mine", *new, kill_after=chance.uniform(0, seconds))) != 0:
            assert status == -signal.SIGKILL
            kills += 1
            publishing.put_back("text", "mine")  # as the next command does, if it was killed between two renamings
            now = by_id(content("mine"))  # the old index until the new one is whole
            if now == whole:  # killed after it was published
                break
            assert now == before
            if kills == MOMENTS:
                assert builder.run("add", "mine", *new) == 0
                break
        assert by_id(content("mine")) == whole
        assert [name for name in hidden() if ".old-" not in name] == []
