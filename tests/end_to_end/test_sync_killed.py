"""A folder is edited at random, and its index synced by a process that is killed at random moments.

ATOMR_EDITS sets how many edits (40), ATOMR_SEED which; `scripts/faults.py --edits 200` makes many of them.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.build_process import BuildProcess
from support.edited_folder import index_content
from support.killed_syncs import KilledSyncs

from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.text_index.table import TABLE, VECTOR, connect
from atomr_local.indexing.text_index.vectors import VECTORS, count_vectors
from atomr_local.indexing.verify import verify_indexes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="syncs are forked from one process"),
]
EDITS = int(os.environ.get("ATOMR_EDITS", "40"))
SEED = int(os.environ.get("ATOMR_SEED", "18"))
KILLS = 5


@pytest.fixture
def builder() -> Iterator[BuildProcess]:
    builder = BuildProcess()
    yield builder
    builder.close()


@pytest.mark.parametrize("words", [False, True], ids=["all vectors", "words first"])
def test_every_sync_leaves_the_index_of_a_fresh_build(builder: BuildProcess, tmp_path: Path, words: bool) -> None:
    syncs = KilledSyncs(builder, tmp_path / "notes", random.Random(SEED), words=words)
    syncs.run(EDITS)
    assert syncs.kills > 0
    assert not [path for path in store.index_path("text", "x").parent.iterdir() if path.name.startswith(".")]


def vectors(name: str) -> dict[str, Any]:
    rows = connect(store.index_path("text", name)).open_table(TABLE).to_arrow().to_pylist()
    return {row["id"]: row[VECTOR] for row in rows}


def test_embedding_that_is_killed_goes_on_and_ends_with_all_vectors(builder: BuildProcess, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    chance = random.Random(SEED)
    words = [f"word{i}" for i in range(50)]
    corpus.write_text(
        "".join(
            f'{{"id": "{i}", "title": "Page {i}", "text": "{" ".join(chance.choices(words, k=40))}"}}\n'
            for i in range(120)
        )
    )
    assert builder.run("build", "full", corpus) == 0
    assert builder.run("words", "whole", corpus) == 0
    seconds = builder.timed("embed", "whole")
    assert vectors("whole") == vectors("full")
    kills = 0
    while kills < KILLS:
        assert builder.run("words", "mine", corpus) == 0
        made = 0
        while (status := builder.run("embed", "mine", kill_after=chance.uniform(0, seconds))) != 0:
            assert status == -signal.SIGKILL
            kills += 1
            publishing.put_back("text", "mine")
            (report,) = [one for one in verify_indexes("mine") if one.state != "left over"]
            assert report.good, report.problems
            directory = store.index_path("text", "mine")
            before, made = made, count_vectors(directory)
            assert made >= before or not (directory / VECTORS).exists()  # what was made is kept
            if kills == KILLS:
                assert builder.run("embed", "mine") == 0
                break
        assert vectors("mine") == vectors("full")
        assert builder.run("embed", "mine") == 0  # nothing is left to do


def test_a_killed_first_build_of_a_folder_goes_on(builder: BuildProcess, tmp_path: Path) -> None:
    syncs = KilledSyncs(builder, tmp_path / "notes", random.Random(SEED + 1))
    syncs.folder.begin()
    syncs.folder.edit(10)
    seconds = builder.timed("folder", "whole", syncs.folder.root)
    for _ in range(3):
        if builder.run("folder", "mine", syncs.folder.root, kill_after=syncs.chance.uniform(0, seconds)) == 0:
            break
        syncs.folder.edit(2)
    assert builder.run("folder", "mine", syncs.folder.root) == 0
    assert builder.run("folder", "whole", syncs.folder.root) == 0
    assert index_content("mine") == index_content("whole")
