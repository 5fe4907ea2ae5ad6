"""What declining is worth, and whether confidence tells right from wrong: figures by hand, and through a whole run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from atomr_lab.evaluation.datasets import load_questions
from atomr_lab.evaluation.markdown import report_markdown
from atomr_lab.evaluation.report import auroc, build_report, calibration_error, coverage_at
from atomr_lab.evaluation.runs import run
from support.eval_fakes import FakeAssistant, make_trace, read_lines, write_lines

from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import Guess

DESCRIPTION = {"questions": {"file": "q.jsonl"}, "plans": None, "settings": {"strategy": "atomr"}}


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ([(0.9, True), (0.1, False)], 1.0),
        ([(0.1, True), (0.9, False)], 0.0),
        ([(0.5, True), (0.5, False)], 0.5),
        ([(0.9, True), (0.5, True), (0.5, False), (0.1, False)], 0.875),
        ([(0.9, True)], 0.5),
        ([], 0.5),
    ],
)
def test_auroc(judged: list[tuple[float, bool]], expected: float) -> None:
    assert auroc(judged) == pytest.approx(expected)


def test_calibration_error_is_the_distance_of_confidence_from_the_share_of_right() -> None:
    assert calibration_error([(0.75, True), (0.75, True), (0.75, True), (0.75, False)]) == 0
    assert calibration_error([(1.0, False), (0.2, False)]) == pytest.approx(0.6)


def test_coverage_at_a_precision_takes_equal_confidences_together() -> None:
    judged = [(0.9, True), (0.8, True), (0.7, False), (0.6, True)]
    assert coverage_at(judged, 5) == 0.4
    assert coverage_at(judged, 5, precision=0.75) == 0.8
    assert coverage_at([(0.9, True), (0.9, False)], 2) == 0
    assert coverage_at([], 0) == 0


def test_a_run_tells_what_was_declined_and_what_that_cost(tmp_path: Path) -> None:
    questions = load_questions(
        write_lines(
            tmp_path / "q.jsonl",
            {"id": "a", "question": "One?", "answers": ["Ann"], "kind": "list"},
            {"id": "b", "question": "Two?", "answers": ["Bob"], "kind": "list"},
            {"id": "c", "question": "Three?", "answers": []},
            {"id": "d", "question": "Four?", "answers": ["x"], "answerable": False, "kind": "gone"},
        )
    )
    declined = {"status": "unknown", "reason": "Nothing says so."}
    assistant = FakeAssistant(
        {
            "One?": make_trace("One?", ["Ann"], confidence=0.9),
            "Two?": make_trace("Two?", [], guess=Guess(["Bob"], 0.4), **declined),
            "Three?": make_trace("Three?", [], guess=Guess(["Cid"], 0.3), **declined),
            "Four?": make_trace("Four?", ["x"], confidence=0.6),
        }
    )
    run(assistant, questions, tmp_path / "run", description=DESCRIPTION)
    lines = read_lines(tmp_path / "run" / "predictions.jsonl")
    assert [(line["predicted"], line["guess"], line["f1"], line["guess_f1"]) for line in lines] == [
        ("Ann", "Ann", 1, 1),
        ("", "Bob", 0, 1),
        ("", "Cid", 1, 0),
        ("x", "x", 0, 0),
    ]
    report = build_report(tmp_path / "run")
    figures = report["declining"]
    assert figures["answerable"] == {"n": 2, "declined": 1, "right": 2, "right_declined": 1, "lost": 50.0}
    assert figures["unanswerable"] == {"n": 2, "declined": 1, "share": 50.0}
    assert (figures["precision"]["value"], figures["coverage"]["value"]) == (50.0, 50.0)
    assert {name: report["scores"][name]["value"] for name in ("f1", "guess_f1")} == {"f1": 50.0, "guess_f1": 100.0}
    assert (report["confidence"]["n"], report["confidence"]["auroc"]["value"]) == (4, 0.75)
    assert report["confidence"]["coverage_at_90"]["value"] == 25.0
    assert report["by_kind"].keys() == {"list", "gone"}
    stages = report["diagnosis"]["stages"]
    assert (stages["declined"], stages["answered"], report["diagnosis"]["wrong"]) == (1, 1, 2)
    shown = report_markdown(report)
    assert "right guesses that were declined | 1 of 2 (50.0%)" in shown
    assert "questions without an answer that were declined | 1 of 2 (50.0%)" in shown
    assert json.loads((tmp_path / "run" / "report.json").read_text()) == report


def test_answerable_is_true_or_false(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "q.jsonl", {"id": "a", "question": "One?", "answers": ["Ann"], "answerable": "no"})
    with pytest.raises(InputError, match='"answerable" is neither true nor false'):
        load_questions(file)
