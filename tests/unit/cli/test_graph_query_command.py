from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import Atomr
from support.homes import home_fixtures

from atomr_local.indexing.graph_index.index import build_graph_index

# Hundreds of millions of rows, the first at once.
MANY = ("SELECT ?p { ?s ?p ?o . ?a ?b ?c . ?d ?e ?f }", "--limit", "1000000000")
NAMES = "SELECT ?name ?nothing { ?s rdfs:label ?name } ORDER BY ?name"


def build(home: Path) -> None:
    facts = home / "facts.jsonl"
    towns = [{"s": f"town {number:03}", "p": "country", "o": "Far\tland\x1b[2J"} for number in range(300)]
    facts.write_text("".join(json.dumps(fact) + "\n" for fact in towns))
    build_graph_index([facts], "towns")


built_home, copied_home = home_fixtures(build)
pytestmark = pytest.mark.usefixtures("copied_home")


@pytest.fixture
def query(capsys: pytest.CaptureFixture[str]) -> Atomr:
    return Atomr(capsys, "graph", "query")


def test_lines_are_safe_and_the_cap_is_told(query: Atomr) -> None:
    printed = query(NAMES, "--limit", "2")
    assert printed.out == "name\tnothing\nFar land\t\ntown 000\t\n"
    assert printed.err == "There are more than 2 rows; the rest were left out. --limit raises the maximum.\n"
    assert query("SELECT ?x { ?x rdfs:label 'none' }") == ("x\n", "")


def test_json_is_one_document_of_many_batches(query: Atomr) -> None:
    found = json.loads(query(NAMES, "--json").out)
    assert (found["variables"], len(found["rows"]), found["cut"]) == (["name", "nothing"], 301, False)
    assert found["rows"][1] == {"name": "town 000"}
    printed = query(NAMES, "--json", "--limit", "300")
    assert (json.loads(printed.out)["cut"], printed.err) == (True, "")
    out = query("SELECT ?x { ?x rdfs:label 'none' }", "--json").out
    assert json.loads(out) == {"variables": ["x"], "rows": [], "cut": False}
    assert query("ASK { ?x rdfs:label 'none' }", "--json").out == '{"boolean": false}\n'


def test_json_lines_are_an_object_a_row(query: Atomr) -> None:
    assert [json.loads(line)["name"] for line in query(NAMES, "--jsonl", "--limit", "2").out.splitlines()] == [
        "Far\tland\x1b[2J",
        "town 000",
    ]
    query(NAMES, "--jsonl", "--json", status=2)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["", "--json", "--jsonl"])
def test_what_was_found_before_the_time_limit_is_kept(form: str, query: Atomr) -> None:
    for limit in (1, 5, 25, 100):  # the first is enough for rows unless the machine has much else to do
        printed = query(*MANY, "--timeout", str(limit), *([form] if form else []), status=1)
        assert printed.err.startswith(f"Query stopped: the query took longer than {limit} seconds")
        told = re.search(r"; .* (\d+) rows", printed.err)
        if told is not None:
            break
    assert told is not None
    if form == "--json":
        found = json.loads(printed.out)
        assert (found["cut"], found["error"]["title"]) == (True, "Query stopped")
        rows = [row["p"] for row in found["rows"]]
    elif form == "--jsonl":
        rows = [json.loads(line)["p"] for line in printed.out.splitlines()]
    else:
        assert printed.out.startswith("p\n")
        rows = printed.out.splitlines()[1:]
    assert len(rows) == int(told[1])
    assert all(row.startswith("http") or ":" in row for row in rows)


@pytest.mark.parametrize("form", ["--json", "--limit=1"])
def test_a_query_that_fails_prints_no_data(form: str, query: Atomr) -> None:
    printed = query("SELECT nonsense", form, status=1)
    assert printed.out == ""
    assert printed.err.startswith("Query refused: the query is not valid")


def started(*arguments: str) -> subprocess.Popen[bytes]:
    # What starts the tests in the background may have them ignore the interrupt, and so all that they start.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heed}; from atomr_local.cli.main import main; main()"
    command = [sys.executable, "-c", code, "graph", "query", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ))


def test_an_interrupt_stops_it_and_leaves_what_was_printed() -> None:
    process = started(*MANY, "--timeout", "500")
    assert process.stdout is not None
    assert (process.stdout.readline(), process.stdout.readline()[:4]) == (b"p\n", b"http")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors.strip()) == (130, b"Cancelled")


def test_it_ends_quietly_when_nobody_reads_any_more() -> None:
    process = started(*MANY, "--timeout", "500")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"p\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(timeout=120)
