"""Each fuzzing target accepts its own seeds and what is near them; a fault is kept and told."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import engine
from fuzz.properties import REPEATS, Broken, expanded, expect, repeated
from support.places import SCRIPTS

# Long inputs that take seconds here; they are for the full runs.
SHORT_ONLY = {"wikitext"}
TARGETS = sorted(file.stem for file in (SCRIPTS / "fuzz" / "targets").glob("*.py") if file.stem != "__init__")


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    properties = importlib.import_module("fuzz.properties")
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    monkeypatch.setattr(properties.tempfile, "tempdir", str(tmp_path))
    properties.scratch.cache_clear()


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_what_is_near_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = importlib.import_module("atomr_local.settings.schema")
    monkeypatch.setattr(settings.Settings, "file", None)
    mediawiki = importlib.import_module("atomr_local.indexing.readers.wikipedia.mediawiki")
    monkeypatch.setattr(mediawiki, "PageParser", mediawiki.PageParser)
    target = engine.load_target(name)
    rng = random.Random(name)
    seeds = [data for data in target.seeds() if name not in SHORT_ONLY or data[0] != REPEATS]
    for data in seeds:
        target.check(expanded(data))
    for _ in range(12):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            data[at : at + rng.choice((0, 0, 1, 5))] = rng.choice(target.DICTIONARY)
        target.check(expanded(bytes(data)))


def test_a_part_of_an_input_is_repeated() -> None:
    assert expanded(repeated(b"ab", 3, head=b"<", tail=b">")) == b"<ababab>"
    assert expanded(b"plain") == b"plain"


def test_each_fault_is_kept_once_with_its_input(tmp_path: Path) -> None:
    finds = engine.Finds(tmp_path / "finds")

    def check(data: bytes) -> None:
        expect(b"x" not in data, "no x", data)
        int(data)

    for data in (b"1", b"x1", b"x2", b"q", b"r"):
        finds.feed(check, data)
    assert finds.seen == {"Broken no x", "ValueError in "}
    assert sorted(file.read_bytes() for file in (tmp_path / "finds").glob("*.input")) == [b"q", b"x1"]
    assert "no x" in "".join(file.read_text() for file in (tmp_path / "finds").glob("*.txt"))


def test_properties_name_the_fault() -> None:
    with pytest.raises(Broken, match="a: 'b'"):
        expect(False, "a", "b")


@pytest.mark.slow
def test_a_run_without_atheris_says_so_and_ends(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(SCRIPTS / "fuzz" / "run.py"),
        "compact",
        "--seconds",
        "2",
        "--work",
        str(tmp_path),
    ]
    done = subprocess.run(
        [*command, "--engine", "hypothesis"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no finds" in done.stdout
    assert (tmp_path / "compact" / "report.json").exists()
