"""A small Wikidata of one's own, built with the command line, and asked on the starter as people type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomr_local.cli.main import main

Capture = pytest.CaptureFixture[str]


def item(identifier: str, label: str, *claims: dict[str, Any]) -> str:
    by_property: dict[str, list[dict[str, Any]]] = {}
    for number, claim in enumerate(claims):
        of_one = by_property.setdefault(claim["mainsnak"]["property"], [])
        of_one.append({"rank": "normal", "id": f"{identifier}${number}", **claim})
    labels = {"en": {"language": "en", "value": label}}
    return json.dumps({"type": "item", "id": identifier, "labels": labels, "claims": by_property})


def claim(identifier: str, kind: str, value: object) -> dict[str, Any]:
    snak = {"snaktype": "value", "property": identifier, "datavalue": {"type": kind, "value": value}}
    return {"mainsnak": snak}


def population(amount: int, time: str, precision: int) -> dict[str, Any]:
    point = claim("P585", "time", {"time": f"+{time}T00:00:00Z", "precision": precision})["mainsnak"]
    stated = claim("P1082", "quantity", {"amount": f"+{amount}", "unit": "1"})
    return {**stated, "qualifiers": {"P585": [point]}}


def motto(text: str, language: str) -> dict[str, Any]:
    return claim("P1451", "monolingualtext", {"text": text, "language": language})


WORLD = [
    item(
        "Q9000001", "Karvia",
        claim("P36", "wikibase-entityid", {"id": "Q9000003"}),
        motto("Semper fidelis mari", "la"), motto("Always true to the sea", "en"),
        population(11_128_246, "2011-00-00", 9), population(11_035_948, "2011-01-01", 11),
        population(10_200_000, "2001-00-00", 9),
    ),
    item("P36", "capital"), item("P1451", "motto text"), item("P1082", "population"), item("P585", "point in time"),
]  # fmt: skip


@pytest.fixture
def karvia(built_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> str:
    """What the build of the graph says."""
    monkeypatch.setenv("ATOMR_HOME", str(built_home))
    dump = built_home / "dump.json"
    dump.write_text("[\n" + ",\n".join(WORLD) + "\n]\n")
    assert run("graph", "build", str(dump), "--name", "karvia") == 0
    return capsys.readouterr().err


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


def asked(question: str, capsys: Capture) -> str:
    """The whole answer as it is printed."""
    assert run("ask", question, "--sources", "graph", "--graph-index", "karvia") == 0
    done = capsys.readouterr()
    return f"{done.out}\n{done.err}"


def test_figures_texts_and_names_that_are_missing(karvia: str, capsys: Capture) -> None:
    assert "Q9000003" in karvia and "atomr fetch wikidata --labels-for karvia" in karvia

    told = asked("What was the population of Karvia in 2011?", capsys)
    assert told.startswith("The answer is 11128246.")
    assert "population: 11128246 (2011); also stated: 11035948 (2011-01-01)." in told

    told = asked("What is the motto of Karvia?", capsys)
    assert told.startswith("The answers are Always true to the sea and Semper fidelis mari.")

    told = asked("What is the capital of Karvia?", capsys)
    assert told.startswith("The answer is Q9000003 (no label).")
    assert "Note: Q9000003: no label in this graph: `atomr fetch wikidata --labels-for karvia` adds labels" in told
