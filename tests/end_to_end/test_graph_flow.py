"""`atomr graph` as a user runs it: build, interrupted builds, find, query."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_FACTS = [
    {"s": "Mercury", "p": "instance of", "o": "planet", "s_qid": "Q308"},
    {"s": "Mercury", "p": "instance of", "o": "chemical element", "s_qid": "Q925"},
    {"s": "Mercury", "p": "atomic number", "o": "80", "s_qid": "Q925"},
    {"s": "Mercury", "p": "description", "o": "smallest planet\x1b]0;owned\x07 of the Solar System", "s_qid": "Q308"},
    {"s": "France", "p": "capital", "o": "Paris"},
]
Run = subprocess.CompletedProcess[str]


def atomr(home: Path, *arguments: str, **environment: str) -> Run:
    code = "from atomr_local.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, timeout=300, check=False, env=os.environ | {"ATOMR_HOME": str(home)} | environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    facts = home / "facts.jsonl.gz"
    lines = "".join(json.dumps(fact) + "\n" for fact in _FACTS) + "broken line\n"
    facts.write_bytes(gzip.compress(lines.encode()))
    built = atomr(home, "graph", "build", str(facts), "--name", "small")
    assert built.returncode == 0, built.stderr
    assert built.stdout.startswith("small: 4 facts on ")
    assert "1 line was skipped" in built.stderr
    assert f"{facts}:6: not JSON" in built.stderr.replace("\n", "")
    return home


def test_find_tells_namesakes_apart(home: Path) -> None:
    found = json.loads(atomr(home, "graph", "find", "mercury", "--descriptor", "element", "--json").stdout)
    assert [item["iri"].rsplit("/", 1)[1] for item in found] == ["Q925", "Q308"]
    assert found[0]["types"] == ["chemical element"]
    assert set(found[0]) == {"iri", "label", "description", "types", "score"}


def test_find_tells_namesakes_apart_by_meaning_and_goes_on_without_an_embedder(home: Path) -> None:
    asked = ("graph", "find", "Mercury", "--descriptor", "toxic substance", "--json")  # no word of any description
    assert json.loads(atomr(home, *asked).stdout)[0]["iri"].endswith("/Q925")
    by_words = atomr(home, *asked, ATOMR_EMBEDDER=str(home / "none"))
    assert by_words.returncode == 0
    assert len(json.loads(by_words.stdout)) == 2
    assert "compares by words alone" in by_words.stderr


def test_find_prints_nothing_that_drives_a_terminal(home: Path) -> None:
    plain = atomr(home, "graph", "find", "Mercury", "--descriptor", "planet")
    assert "smallest planet of the Solar System" in plain.stdout
    assert "\x1b" not in plain.stdout
    assert atomr(home, "graph", "find", "Venus").returncode == 0
    assert "\x1b" not in atomr(home, "graph", "find", "Mercury", "--json").stdout


def test_query(home: Path) -> None:
    query = "SELECT ?name { ?s wdt:P36 ?city . ?city rdfs:label ?name }"
    assert atomr(home, "graph", "query", query).stdout == "name\nParis\n"
    as_json = json.loads(atomr(home, "graph", "query", query, "--json", "--graph-index", "small").stdout)
    assert as_json == {"variables": ["name"], "rows": [{"name": "Paris"}], "cut": False}
    assert atomr(home, "graph", "query", "ASK { ?s wdt:P1086 ?n FILTER(?n = 80) }").stdout == "yes\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("query", "SELECT * { SERVICE <http://127.0.0.1:9/> {} }"), 1, "SERVICE is not allowed"),
        (("query", "DROP ALL"), 1, "not allowed"),
        (("query", "ASK {}", "--graph-index", "none"), 1, "there is no graph index named 'none'"),
        (("build", "no-such-file.nt", "--name", "x"), 1, "no-such-file.nt"),
        (("build", "x.nt"), 2, "--name"),
        (("query", "ASK {}", "--timeout", "0"), 2, "timeout"),
    ],
)
def test_errors_are_told_without_traceback(home: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    run = atomr(home, "graph", *arguments)
    assert run.returncode == status
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


def test_help_has_examples(home: Path) -> None:
    for command in ((), ("build",), ("query",), ("find",)):
        assert "Example:" in atomr(home, "graph", *command, "--help").stdout


_KILLED_BUILD = """
import os, signal, sys
from pathlib import Path
from atomr_local.indexing.graph_index.index import build_graph_index
def progress(state):
    if state.stage == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
build_graph_index([Path(sys.argv[1])], "small", progress=progress)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("stage", ["reading facts", "indexing names", "loading names"])
def test_a_killed_build_leaves_the_old_index(home: Path, tmp_path: Path, stage: str) -> None:
    home = Path(shutil.copytree(home, tmp_path / "home"))  # what is left goes on with the next build
    facts = tmp_path / "new.jsonl"
    facts.write_text(json.dumps({"s": "Spain", "p": "capital", "o": "Madrid"}))
    run = subprocess.run(
        [sys.executable, "-c", _KILLED_BUILD, str(facts), stage],
        env=os.environ | {"ATOMR_HOME": str(home)}, check=False, timeout=300,
    )  # fmt: skip
    assert run.returncode == -signal.SIGKILL
    assert (
        atomr(home, "graph", "query", "SELECT ?name { ?s wdt:P36 ?c . ?c rdfs:label ?name }").stdout == "name\nParis\n"
    )
