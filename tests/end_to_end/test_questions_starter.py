"""Questions made of the starter's indexes, with its model: made, resumed, checked, asked with their gold plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.eval_fakes import read_lines

from atomr_local.cli.main import main
from atomr_local.evaluation.datasets import load_questions
from atomr_local.evaluation.gold_chain import gold_hops
from atomr_local.question_making.checks import Reason


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
