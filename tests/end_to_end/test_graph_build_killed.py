"""A graph build that is killed at random moments and run again ends with the index of an undisturbed one.

Six kills a format in the normal suite; ATOMR_KILLS says how many else.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.graph_index.names.database import FILE

_KILLS = int(os.environ.get("ATOMR_KILLS", "6"))
_WD = "http://www.wikidata.org/"
_BUILD = """
import resource
import sys
from pathlib import Path
if sys.argv[2]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
from atomr_local.indexing.graph_index import build as graph_build
from atomr_local.indexing.graph_index import index as graph_index
from atomr_local.indexing.readers.facts import rdf as ntriples
from atomr_local.indexing.readers.facts import rdf as turtle
graph_build.PIECE_TRIPLES, graph_build.CHECKPOINT_BYTES = 400, 40_000
ntriples._CHUNK, ntriples._BLOCK_LINES, ntriples._TRIAL, turtle._BLOCK_TRIPLES = 9_700, 97, 97, 97
entities = Path(sys.argv[3]) if sys.argv[3] else None
graph_index.build_graph_index([Path(p) for p in sys.argv[4:]], sys.argv[1], entities=entities)
"""


def entity_json(number: int, rng: random.Random) -> str:
    def claim(pid: str, target: int, rank: str = "normal", year: int = 0) -> dict[str, object]:
        value = {"value": {"id": f"Q{target}"}, "type": "wikibase-entityid"}
        when = {"value": {"time": f"+{year}-00-00T00:00:00Z", "precision": 9}, "type": "time"}
        qualifiers = {"P580": [{"snaktype": "value", "property": "P580", "datavalue": when}]} if year else {}
        return {
            "mainsnak": {"snaktype": "value", "property": pid, "datavalue": value, "datatype": "wikibase-item"},
            "id": f"Q{number}${rng.randrange(16**8):08x}", "rank": rank, "qualifiers": qualifiers,
        }  # fmt: skip

    claims = {
        "P31": [claim("P31", 1 + number % 5)],
        "P36": [
            claim("P36", rng.randint(1, 400), rng.choice(("normal", "preferred")), rng.randint(1500, 2000))
            for _ in "ab"
        ],
    }
    labels = {"en": {"language": "en", "value": f"thing {number % 300}"}}
    aliases = {"en": [{"language": "en", "value": f"alias {rng.randint(1, 99)}"}]}
    data = {"type": "item", "id": f"Q{number}", "labels": labels, "aliases": aliases, "claims": claims}
    return json.dumps(data, separators=(",", ":"))


def write_inputs(folder: Path) -> dict[str, list[str]]:
    """The arguments of a build by kind: the list of entities or "", then the input files."""
    rng = random.Random(5)
    lines = []
    for number in range(1, 700):
        lines.append(
            f'<{_WD}entity/Q{number}> <http://www.w3.org/2000/01/rdf-schema#label> "thing {number % 300}"@en .'
        )
        for pid in (17, 31, 36):
            lines.append(f"<{_WD}entity/Q{number}> <{_WD}prop/direct/P{pid}> <{_WD}entity/Q{rng.randint(1, 700)}> .")
        node = f"{_WD}entity/statement/Q{number}-{number:08x}"
        lines.append(f"<{node}> <{_WD}prop/statement/P39> <{_WD}entity/Q{rng.randint(1, 700)}> .")
        lines.append(f'<{node}> <{_WD}prop/qualifier/P580> "{rng.randint(1500, 2000)}" .')
        if number % 50 == 0:
            lines.append("this line is no triple .")
    (folder / "a.nt").write_text("\n".join(lines) + "\n")
    blank = [f'<http://x/{number}> <http://x/p> [ <http://x/q> "{number}" ] .' for number in range(500)]
    turtle = [line for line in lines if "no triple" not in line]
    (folder / "b.ttl").write_text("@prefix x: <http://x/> .\n" + "\n".join(turtle[:1500] + blank) + "\n")
    dump = ",\n".join(entity_json(number, rng) for number in range(1, 500))
    (folder / "c.json").write_text(f"[\n{dump}\n]\n")
    facts = [
        {
            "s": f"thing {rng.randint(1, 400)}",
            "p": rng.choice(("capital", "father")),
            "o": f"person {rng.randint(1, 50)}",
        }
        for _ in range(1500)
    ]
    (folder / "d.jsonl").write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    (folder / "ids").write_text("".join(f"Q{number}\n" for number in range(1, 500, 2)))
    path = {name: str(folder / name) for name in ("a.nt", "b.ttl", "c.json", "d.jsonl", "ids")}
    return {
        "whole": ["", path["a.nt"], path["b.ttl"], path["d.jsonl"]],
        "slice": [path["ids"], path["c.json"], path["a.nt"]],
    }


def start(name: str, arguments: list[str], limit: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BUILD, name, str(limit or ""), *arguments], stderr=subprocess.PIPE
    )  # fmt: skip


def finished(name: str, arguments: list[str]) -> float:
    started = time.monotonic()
    process = start(name, arguments)
    _, problems = process.communicate()
    assert process.returncode == 0, problems.decode()
    return time.monotonic() - started


def content(name: str) -> tuple[object, ...]:
    """Everything that is in the index: triples with their graph, names, and the counts that were told."""
    from pyoxigraph import Store

    directory = store.index_path("graph", name)
    graph = Store.read_only(str(directory / STORE))
    quads = sorted(str(quad) for quad in graph.quads_for_pattern(None, None, None, None))
    db = sqlite3.connect(directory / FILE)
    rows = [
        sorted(db.execute(query).fetchall())
        for query in (
            "SELECT iri, label, description, statements, sitelinks FROM entity",
            "SELECT iri, text, key, base, qualifier, weight FROM name JOIN entity ON entity.id = name.entity",
            "SELECT * FROM property",
            "SELECT * FROM property_name",
            "SELECT * FROM statement_text",
            "SELECT * FROM piece",
        )
    ]
    db.close()
    manifest = store.read_manifest(directory)
    files = sorted(path.name for path in directory.iterdir())
    return quads, rows, manifest.counts, manifest.settings, files


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))
    return write_inputs(tmp_path)


@pytest.mark.parametrize("kind", ["whole", "slice"])
def test_a_build_killed_at_random_moments_ends_with_the_same_index(inputs: dict[str, list[str]], kind: str) -> None:
    seconds = finished("undisturbed", inputs[kind])
    expected = content("undisturbed")
    assert expected[0]
    rng = random.Random(11)
    killed = 0
    for _ in range(20 * _KILLS):
        process = start("killed", inputs[kind])
        started = time.monotonic()
        try:
            process.communicate(timeout=rng.uniform(0.3, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            killed += 1
            process.send_signal(signal.SIGKILL)
            process.communicate()
        else:  # the first one took long for want of a processor
            seconds = min(seconds, time.monotonic() - started)
        if killed >= _KILLS:
            break
    finished("killed", inputs[kind])
    assert content("killed") == expected
    assert killed >= min(_KILLS, 3), "the moments were all too late"
    names = {path.name for path in store.index_path("graph", "killed").parent.iterdir()}
    assert names == {"killed", "undisturbed"}


@pytest.mark.parametrize("kind", ["whole", "slice"])
def test_files_that_cannot_grow_stop_the_build_and_it_goes_on(inputs: dict[str, list[str]], kind: str) -> None:
    finished("undisturbed", inputs[kind])
    for limit in (20_000, 60_000, 120_000, 300_000):
        process = start("refused", inputs[kind], limit)
        _, problems = process.communicate()
        assert process.returncode != 0
        assert b"KnowledgeIndexError" in problems
        assert not store.index_path("graph", "refused").exists()
    finished("refused", inputs[kind])
    assert content("refused") == content("undisturbed")
