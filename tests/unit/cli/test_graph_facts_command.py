"""`atomr graph linearise` and `atomr graph facts`, and what `atomr indexes` tells of facts as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import Atomr
from support.homes import home_fixtures

from atomr_local.indexing.graph_index.index import build_graph_index


def build(home: Path) -> None:
    file = home / "facts.jsonl"
    triples = [("Paris", "country", "France"), ("Ly\x1b[31mon", "country", "France")]
    file.write_text("".join(json.dumps({"s": s, "p": p, "o": o}) + "\n" for s, p, o in triples))
    build_graph_index([file], "towns")


built_home, copied_home = home_fixtures(build)
pytestmark = pytest.mark.usefixtures("copied_home")


def test_an_index_without_facts_as_text_says_the_command_which_makes_them(atomr: Atomr) -> None:
    err = atomr("graph", "facts", "paris", "--graph-index", "towns", status=1).err
    assert "atomr graph linearise towns" in err
    assert atomr("graph", "linearise", "towns").out == "towns: 2 facts as text\n"
    assert atomr("graph", "linearise", "towns").out == "towns has its 2 facts as text already\n"
    assert atomr("graph", "linearise", "towns", "--again").out == "towns: 2 facts as text\n"
    assert "2 linearised" in atomr("indexes", "list").out
    assert "OK" in atomr("indexes", "verify", "towns").out


def test_facts_are_printed_best_first_and_as_json(atomr: Atomr) -> None:
    atomr("graph", "linearise", "towns")
    out = atomr("graph", "facts", "Paris country", "-k", "2", "--graph-index", "towns").out
    assert [line.split("  ")[-1].strip() for line in out.splitlines()] == [
        "Paris — country: France.", "Lyon — country: France.",
    ]  # fmt: skip
    assert "\x1b" not in out
    first = json.loads(atomr("graph", "facts", "Paris", "--json", "--graph-index", "towns").out)[0]
    assert first["title"] == "Paris"
    assert first["locator"]["rows"][0]["object"] == "urn:atomr:entity:France"
    assert "Nothing was found" in atomr("graph", "facts", "zebra", "--graph-index", "towns").err


def test_an_index_that_is_not_there_is_told(atomr: Atomr) -> None:
    err = atomr("graph", "linearise", "nowhere", status=1).err
    assert "there is no graph index named 'nowhere'" in err


def test_a_build_can_make_them_at_once(atomr: Atomr, tmp_path: Path) -> None:
    atomr("graph", "build", str(tmp_path / "facts.jsonl"), "--name", "again", "--linearise")
    assert "Paris" in atomr("graph", "facts", "France", "--graph-index", "again").out
