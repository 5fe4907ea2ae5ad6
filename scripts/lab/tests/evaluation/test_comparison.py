"""Two runs side by side: paired, by type, with what changed and where it went wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from atomr_lab.evaluation.datasets import Question
from atomr_lab.evaluation.markdown import comparison_markdown
from atomr_lab.evaluation.metrics import paired_difference
from atomr_lab.evaluation.report import compare_runs
from atomr_lab.evaluation.runs import run
from support.eval_fakes import FakeAssistant, make_trace

from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import Guess

DESCRIPTION = {"settings": {"strategy": "atomr"}}
QUESTIONS = [
    Question("q1", "One?", ("Ann",), "bridge"),
    Question("q2", "Two?", ("Bob Lee",), "bridge"),
    Question("q3", "Three?", ("Cid",), "comparison"),
    Question("q4", "Four?", ("Dee",), "comparison"),
]


def make_run(out: Path, answers: list[Any], questions: list[Question] = QUESTIONS) -> Path:
    given = {question.question: answer for question, answer in zip(questions, answers, strict=True)}
    run(FakeAssistant(given), questions, out, description=DESCRIPTION)
    return out


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return make_run(tmp_path / "first", [["Ann"], ["Bob"], ["Eve"], []])


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return make_run(tmp_path / "second", [["Eve"], ["Bob Lee"], ["Cid"], []])


def test_figures_in_all_and_by_type(first: Path, second: Path) -> None:
    compared = compare_runs(first, second)
    assert compared["n"] == 4
    assert (compared["em"]["first"], compared["em"]["second"]) == (25, 50)
    assert compared["em"]["difference"]["value"] == 25
    assert compared["f1"]["difference"]["value"] == pytest.approx(8.33, abs=0.01)
    assert compared["seconds"] == {"first": 2.0, "second": 2.0}
    assert {kind: item["n"] for kind, item in compared["by_type"].items()} == {"bridge": 2, "comparison": 2}
    assert compared["by_type"]["bridge"]["em"]["difference"]["value"] == 0
    assert compared["by_type"]["comparison"]["em"]["difference"]["value"] == 50
    turned = compare_runs(second, first)["f1"]["difference"]
    forward = compared["f1"]["difference"]
    assert (turned["value"], turned["low"], turned["high"]) == (-forward["value"], -forward["high"], -forward["low"])
    assert turned["p"] == forward["p"]


def test_what_changed_largest_first(first: Path, second: Path) -> None:
    compared = compare_runs(first, second)
    assert [change["id"] for change in compared["wins"]] == ["q3", "q2"]
    assert [change["id"] for change in compared["losses"]] == ["q1"]
    assert compared["ties"] == 1
    assert compared["losses"][0] == {
        "id": "q1",
        "type": "bridge",
        "question": "One?",
        "gold": ["Ann"],
        "first": {"predicted": "Ann", "f1": 1.0},
        "second": {"predicted": "Eve", "f1": 0.0},
    }


def test_stages_are_those_of_the_common_questions(tmp_path: Path, first: Path) -> None:
    failed = make_trace("Two?", [], status="failed", warnings=["no memory"])
    part = make_run(tmp_path / "part", [failed, ["Cid"]], QUESTIONS[1:3])
    compared = compare_runs(first, part)
    assert compared["n"] == 2
    assert compared["diagnosis"]["first"]["wrong"] == 2
    assert compared["diagnosis"]["second"] == {
        "wrong": 1,
        "stages": dict.fromkeys(compared["diagnosis"]["first"]["stages"], 0) | {"error": 1},
    }
    text = comparison_markdown("a", "b", compared)
    assert "| error | 0 | 1 |" in text
    assert "| wrong | 2 | 1 |" in text
    assert "| linking |" not in text


def test_a_run_is_as_good_as_itself(first: Path) -> None:
    compared = compare_runs(first, first)
    assert compared["em"]["difference"] == {"value": 0, "low": 0, "high": 0, "p": 1}
    assert (compared["wins"], compared["losses"], compared["ties"]) == ([], [], 4)


def test_markdown_shows_tables_that_outside_text_cannot_break(tmp_path: Path, first: Path) -> None:
    bad = make_run(tmp_path / "bad", [["a | b\x1b[31m"], ["Bob Lee"], ["Cid"], []])
    text = comparison_markdown("a", "b", compare_runs(first, bad))
    assert "| EM | 25.00 | 50.00 | 25.00 [" in text
    assert "| comparison | 2 | EM | 0.00 | 50.00 |" in text
    assert "2 better in b" in text and "1 worse in b" in text
    assert "a \\| b" in text and "\x1b" not in text
    for line in text.splitlines():
        assert not line.startswith("|") or line.endswith("|")


def test_a_run_that_declines_is_compared_by_its_guesses_too(tmp_path: Path, first: Path) -> None:
    guessed = Guess(["Ann"], 0.4, "evidence")
    declined = [make_trace(item.question, [], guess=guessed) for item in QUESTIONS[:1]]
    careful = make_run(tmp_path / "careful", [*declined, [], ["Cid"], []])
    compared = compare_runs(first, careful)
    assert (compared["f1"]["first"], compared["f1"]["second"]) == (41.67, 25)
    assert (compared["guess_f1"]["first"], compared["guess_f1"]["second"]) == (41.67, 50)
    assert (compared["coverage"]["first"], compared["coverage"]["second"]) == (75, 25)
    assert compared["coverage"]["difference"]["value"] == -50
    assert compared["precision"] == {"first": 55.56, "second": 100}
    silent = make_run(tmp_path / "silent", [[], [], [], []])
    text = comparison_markdown("a", "b", compare_runs(silent, careful))
    assert "| precision: F1 of the answers given | – | 100.00 | – | – |" in text
    assert "| coverage: questions answered | 0.00 | 25.00 | 25.00 [" in text


def test_only_the_largest_changes_are_printed(tmp_path: Path) -> None:
    questions = [Question(f"q{i}", f"Q{i}?", ("Ann",)) for i in range(25)]
    none = make_run(tmp_path / "none", [["Eve"]] * 25, questions)
    every = make_run(tmp_path / "all", [["Ann"]] * 25, questions)
    compared = compare_runs(none, every)
    text = comparison_markdown("a", "b", compared)
    assert len(compared["wins"]) == 25
    assert "25 better in b, the 20 largest changes" in text
    assert text.count("| (none) | Q") == 20


def test_runs_that_cannot_be_compared(tmp_path: Path, first: Path) -> None:
    with pytest.raises(InputError, match="contains no evaluation run"):
        compare_runs(first, tmp_path)
    other = make_run(tmp_path / "other", [["x"]], [Question("q9", "Nine?", ("x",))])
    with pytest.raises(InputError, match="no question in common"):
        compare_runs(first, other)
    renamed = make_run(tmp_path / "renamed", [["x"]], [replace(QUESTIONS[0], question="Another?")])
    with pytest.raises(InputError, match="'q1' stands for another question"):
        compare_runs(first, renamed)
    (first / "traces.jsonl").write_text('{"id": "q1"}\n')
    with pytest.raises(InputError, match=r"the trace of 'q1' is not an atomr\.trace/1"):
        compare_runs(first, first)


def test_p_agrees_with_the_interval() -> None:
    better, even = [1.0] * 12 + [0.0] * 88, [0.0] * 100
    sure = paired_difference(even, better)
    assert sure.low > 0 and sure.p < 0.05
    assert sure.value == 12
    unsure = paired_difference([0.0] * 3 + [1.0] * 2 + [0.0] * 95, [1.0] * 3 + [0.0] * 2 + [0.0] * 95)
    assert unsure.low < 0 < unsure.high and unsure.p > 0.05
    assert paired_difference(even, better) == sure
    assert 0 < paired_difference(even, [1.0] * 100).p < 0.001
    # Sign test of 12 against 0: 2 · 0.5^12 = 0.0005; the bootstrap is of that order.
    assert sure.p < 0.002


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], []), ([1.0], [1.0, 0.0])])
def test_what_is_not_paired_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError):
        paired_difference(first, second)
