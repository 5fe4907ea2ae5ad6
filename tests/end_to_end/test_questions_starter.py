"""Questions made of the starter's indexes, with its model: made, resumed, checked, asked with their gold plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from atomr_lab.evaluation.datasets import load_questions
from atomr_lab.evaluation.diagnosis import gold_hops
from atomr_lab.question_making.knowledge import Reason
from support.crossing_world import build_world
from support.eval_fakes import read_lines

from atomr_local.cli.main import main
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.models.catalog.find import starter_embedder_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


def test_questions_of_the_starter(built_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Most of what the starter's pages say its graph says, too: few questions pass, and of sixty pages perhaps none."""
    del built_home
    out = tmp_path / "made"
    asked = ("questions", "make", "--out", str(out), "--number", "1", "--pages", "60", "--json")
    assert run(*asked) == 0
    shown = capsys.readouterr()
    counts = json.loads(shown.out)
    lines, dropped = read_lines(out / "questions.jsonl"), read_lines(out / "dropped.jsonl")
    assert counts["kept"] == len(lines) <= 1
    assert shown.err.count("asked ·") == len(lines) + len(dropped), "a line of progress for each that was asked"
    assert set(counts["dropped"]) <= set(Reason)
    for line in dropped:
        assert line["answers"][0].casefold() not in line["question"].casefold()
        assert line["reason"] in set(Reason)

    assert run(*asked) == 0
    again = capsys.readouterr()
    assert json.loads(again.out)["kept"] == len(lines)
    assert "asked ·" not in again.err, "nothing is asked again"
    if not lines:
        assert run("questions", "check", str(out / "questions.jsonl")) == 1
        assert "contains no questions" in capsys.readouterr().err
        return
    assert run("questions", "check", str(out / "questions.jsonl")) == 0
    questions = load_questions(out / "questions.jsonl")
    for question in questions:
        hops = gold_hops(question.question, question.evidences, question.gold_titles)
        assert [hop.previous for hop in hops] == [None, 0], "the diagnosis sees one chain of two facts"
    file = str(out / "questions.jsonl")
    assert run("eval", "run", "--questions", file, "--plans", file, "--out", str(tmp_path / "run")) == 0


ASKED_ALONE = {"ATOMR_FEATURES__RIVAL": "false", "ATOMR_FEATURES__ASK_ON": "false"}  # as the trials ask a gold plan
# Films whose director a page tells, and films of which only a triple does; the facts of the directors stand in the other.
OF_PAGES = {
    "The Lantern Road": "Maud Ferris", "Winter Harbour": "Owen Tresk", "A Field of Salt": "Nora Pell",
    "The Glass Orchard": "Ivo Marsh", "Summer of Ash": "Greta Holm", "The Tin Drummer": "Piers Vane",
}  # fmt: skip
OF_TRIPLES = {
    "The Copper Gate": "Hester Quince", "Night over Aldmoor": "Rolf Dane", "The Ferryman's Son": "Edda Crane",
    "Blue Meridian": "Silas Thorne", "A House of Reeds": "Una Blythe", "The Third Bell": "Alec Rowe",
}  # fmt: skip
DATES = ("3 May 1901", "14 June 1912", "27 August 1895", "9 November 1920", "1 March 1931", "22 April 1888")
PLACES = ("Leeds", "Hull", "Bath", "Derby", "Exeter", "Truro")


def films_and_directors() -> tuple[dict[str, str], list[str]]:
    """Pages, and triples that say what the pages lack."""
    pages = {
        film: f"{film} is a drama film directed by {who}. It was shown for many years."
        for film, who in OF_PAGES.items()
    }
    facts = [f"{film} | director | {who}" for film, who in OF_TRIPLES.items()]
    for who, date, place in zip(OF_PAGES.values(), DATES, PLACES, strict=True):
        facts += [f"{who} | date of birth | {date}", f"{who} | place of birth | {place}"]
        facts += [f"{who} | child | {first} {who.split()[1]}" for first in ("Tom", "Eve")]
    for who, date, place in zip(OF_TRIPLES.values(), reversed(DATES), reversed(PLACES), strict=True):
        pages[who] = f"{who} (born {date} in {place}) was a film director. The films are still shown."
    return pages, facts


@pytest.mark.timeout(1800)
def test_every_gold_plan_gives_its_answer(
    starter_model: Path, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of both bridges and of several forms are made, and `eval run --plans` answers each rightly, with the very
    plan of the line and with evidence of both sources."""
    del starter_model
    pages, facts = films_and_directors()
    build_world(own_home, pages=pages, facts=facts, embedder=SentenceEmbedder(starter_embedder_path()))
    both = ("--text-index", "cross", "--graph-index", "cross")
    out, asked = tmp_path / "made", tmp_path / "run"
    assert run("questions", "make", "--out", str(out), *both, "--number", "4") == 0
    file = out / "questions.jsonl"
    lines = {line["id"]: line for line in read_lines(file)}
    assert {line["kind"] for line in lines.values()} == {"text-graph", "graph-text"}
    assert len({line["type"] for line in lines.values()}) >= 2
    for name, value in ASKED_ALONE.items():
        monkeypatch.setenv(name, value)
    plans = ("--questions", str(file), "--plans", str(file))
    assert run("eval", "run", *plans, "--out", str(asked), *both) == 0
    predictions = read_lines(asked / "predictions.jsonl")
    assert {one["id"] for one in predictions} == lines.keys()
    assert [(one["question"], one["guess"], one["gold"]) for one in predictions if not one["guess_em"]] == []
    for trace in read_lines(asked / "traces.jsonl"):
        assert trace["plan"]["origin"] == "file"
        assert trace["plan"]["compact"].endswith(lines[trace["id"]]["plan"])
        assert {"text", "graph"} <= {item["source"] for item in trace["evidence"]}
