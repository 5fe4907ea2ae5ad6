"""A quick run of scripts/damages.py, and that it would see what it looks for."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import damages
import pytest
from damages import PARTS, Said, judge
from support.places import SCRIPTS

GRAPH, HISTORY, SETTINGS = PARTS["graph"], PARTS["history"], PARTS["settings"]
GOOD = [Said(0, "a", ""), Said(0, "b", ""), Said(0, "c", ""), Said(0, "whole", "")]
ERROR = Said(1, "", "Index not usable: x is damaged\n")


@pytest.mark.parametrize(
    ("part", "how", "said", "kind"),
    [
        (GRAPH, "", GOOD, "same"),
        (GRAPH, "", [ERROR, *GOOD[1:]], "told"),
        (GRAPH, "", [Said(0, "z", ""), *GOOD[1:]], "silent"),
        (GRAPH, "", [Said(0, "z", ""), ERROR, *GOOD[2:]], "silent"),
        (GRAPH, "", [Said(0, "z", ""), *GOOD[1:3], Said(1, "damaged", "")], "verify"),
        (GRAPH, "signal 11", GOOD[:1], "signal"),
        (GRAPH, "hang", GOOD[:2], "hang"),
        (GRAPH, "", [Said(99, "", "Traceback (most recent call last):\n"), *GOOD[1:]], "traceback"),
        (GRAPH, "", [Said(1, "", "Internal error: KeyError"), *GOOD[1:]], "traceback"),
        (HISTORY, "", [Said(0, "z", ""), *GOOD[1:3]], "silent"),
        (HISTORY, "", [Said(0, "z", "set aside\n"), Said(0, "y", ""), GOOD[2]], "told"),
        (SETTINGS, "", [Said(0, "z", ""), GOOD[1]], "edited"),
    ],
)  # fmt: skip
def test_outcomes_are_told_apart(part: damages.Part, how: str, said: list[Said], kind: str) -> None:
    assert judge(part, how, said, GOOD[: len(part.commands)])[0] == kind


def test_a_damage_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    contents = []
    for copy in ("one", "two"):
        home = tmp_path / copy
        (home / "indexes" / "graph" / "g").mkdir(parents=True)
        for name in ("a", "b", "c"):
            (home / "indexes" / "graph" / "g" / name).write_bytes(name.encode() * 5000)
        rng = random.Random(3)
        done = [damages.damage(home, GRAPH, rng) for _ in range(8)]
        files = sorted((home / "indexes" / "graph" / "g").iterdir())
        contents.append((done, [(file.name, file.read_bytes()) for file in files]))
    assert contents[0] == contents[1]
    assert any(contents[0][0])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(damages.os, "fork"), reason="needs fork")
def test_no_damage_kills_hangs_or_misleads(tmp_path: Path) -> None:
    # In a process of its own: it forks, and this one has threads that hold locks.
    found = tmp_path / "found.jsonl"
    command = [sys.executable, str(SCRIPTS / "damages.py"), "--parts", "graph,history,settings,traces", "--count", "10"]
    done = subprocess.run(
        [*command, "--seed", "20261122", "--limit", "120", "--out", str(found)],
        capture_output=True, text=True, timeout=500, check=False, cwd=SCRIPTS.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = [json.loads(line) for line in found.read_text().splitlines()]
    assert len(outcomes) == 10
    assert "told" in {outcome["kind"] for outcome in outcomes}
    assert len({outcome["part"] for outcome in outcomes}) >= 3
