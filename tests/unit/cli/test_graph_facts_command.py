"""`atomr graph linearise` and `atomr graph facts`, and what `atomr indexes` tells of facts as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from atomr_local.cli.main import main
from atomr_local.indexing.graph_index.index import build_graph_index

Ran = tuple[int, str, str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))
    file = tmp_path / "facts.jsonl"
    triples = [("Paris", "country", "France"), ("Ly\x1b[31mon", "country", "France")]
    file.write_text("".join(json.dumps({"s": s, "p": p, "o": o}) + "\n" for s, p, o in triples))

    def call(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as exited:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(str(exited.value.code or 0)), out, err

    build_graph_index([file], "towns")
    return call


def test_an_index_without_facts_as_text_says_the_command_which_makes_them(run: Callable[..., Ran]) -> None:
    status, _, err = run("graph", "facts", "paris", "--graph-index", "towns")
    assert status != 0
    assert "atomr graph linearise towns" in err
    status, out, _ = run("graph", "linearise", "towns")
    assert (status, out) == (0, "towns: 2 facts as text\n")
    assert run("graph", "linearise", "towns")[1] == "towns has its 2 facts as text already\n"
    assert run("graph", "linearise", "towns", "--again")[1] == "towns: 2 facts as text\n"
    assert "2 linearised" in run("indexes", "list")[1]
    assert "OK" in run("indexes", "verify", "towns")[1]


def test_facts_are_printed_best_first_and_as_json(run: Callable[..., Ran]) -> None:
    run("graph", "linearise", "towns")
    status, out, _ = run("graph", "facts", "Paris country", "-k", "2", "--graph-index", "towns")
    assert status == 0
    assert [line.split("  ")[-1].strip() for line in out.splitlines()] == [
        "Paris — country: France.", "Lyon — country: France.",
    ]  # fmt: skip
    assert "\x1b" not in out
    first = json.loads(run("graph", "facts", "Paris", "--json", "--graph-index", "towns")[1])[0]
    assert first["title"] == "Paris"
    assert first["locator"]["rows"][0]["object"] == "urn:atomr:entity:France"
    assert "Nothing was found" in run("graph", "facts", "zebra", "--graph-index", "towns")[2]


def test_an_index_that_is_not_there_is_told(run: Callable[..., Ran]) -> None:
    status, _, err = run("graph", "linearise", "nowhere")
    assert status != 0
    assert "there is no graph index named 'nowhere'" in err


def test_a_build_can_make_them_at_once(run: Callable[..., Ran], tmp_path: Path) -> None:
    assert run("graph", "build", str(tmp_path / "facts.jsonl"), "--name", "again", "--linearise")[0] == 0
    assert "Paris" in run("graph", "facts", "France", "--graph-index", "again")[1]
