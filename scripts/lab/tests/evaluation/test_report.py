"""Reports: figures, intervals, tables that outside text cannot break, comparison of two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from atomr_lab.evaluation.datasets import GoldFact, Question
from atomr_lab.evaluation.markdown import report_markdown, write_report
from atomr_lab.evaluation.metrics import mean_interval
from atomr_lab.evaluation.report import build_report
from atomr_lab.evaluation.runs import run
from support.eval_fakes import FakeAssistant, make_trace, read_lines, write_lines

from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import PlanTrace

SETTINGS = {"strategy": "atomr", "model": "fake"}
DESCRIPTION = {"questions": {"file": "q.jsonl", "sha256": "ab"}, "plans": None, "settings": SETTINGS}
QUESTIONS = [
    Question("q1", "One?", ("Ann",), "bridge"),
    Question("q2", "Two?", ("October 5, 1987",), "bridge"),
    Question("q3", "Three?", ("Cid",), "comparison"),
    Question("q4", "Four?", ("Dee",)),
]


def make_run(out: Path, answers: dict[str, Any]) -> Path:
    run(FakeAssistant(answers), QUESTIONS, out, description=DESCRIPTION)
    return out


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return make_run(
        tmp_path / "run",
        {
            "One?": ["Ann"],
            "Two?": ["1987-10-05"],
            "Three?": make_trace("Three?", [], plan=PlanTrace("", "fallback", 2), warnings=["\x1b[31mcut | off"]),
            "Four?": make_trace("Four?", [], status="failed", warnings=["no | memory"]),
        },
    )


def test_figures(finished: Path) -> None:
    report = build_report(finished)
    assert report == json.loads((finished / "report.json").read_text())
    assert report["n"] == 4
    assert {name: item["value"] for name, item in report["scores"].items()} == {
        "em": 25.0,
        "cover_em": 25.0,
        "guess_f1": 33.33,
        "f1": 33.33,  # "1987-10-05" shares the year's token with "October 5, 1987"
        "value_em": 50.0,
    }
    told = ("n", "em", "f1", "guess_f1", "precision", "coverage")
    assert {kind: tuple(item[name] for name in told) for kind, item in report["by_type"].items()} == {
        "bridge": (2, 50.0, 66.67, 66.67, 66.67, 100.0),
        "(none)": (1, 0.0, 0.0, 0.0, 0.0, 0.0),
        "comparison": (1, 0.0, 0.0, 0.0, 0.0, 0.0),
    }
    assert (report["declining"]["precision"]["value"], report["declining"]["coverage"]["value"]) == (66.67, 50.0)
    assert report["confidence"] is None
    cost = report["cost"]
    assert (cost["seconds"], cost["llm_calls"], cost["prompt_tokens"], cost["evaluated_tokens"]) == (2.0, 3, 100, 60)
    assert cost["retrievals"] == {"graph": 1, "text": 2, "web": 0}
    assert report["status"] == {"answered": 2, "unknown": 1, "failed": 1}
    assert report["plan_origin"] == {"model": 3, "fallback": 1}
    assert report["nodes"]["methods"] == {"child": 4, "operator": 4}
    plans = report["plans"]
    assert (plans["n"], plans["plans_valid"]["value"], plans["plans_valid_at_once"]["value"]) == (4, 75.0, 75.0)
    assert (plans["with_gold"], plans["plan_structure_equal"], plans["by_type"]) == (0, None, {})
    assert report["made_with"] == [
        {"model": "fake", "adapter": None, "sources": ["text"], "web": False, "questions": 4}
    ]
    stages = report["diagnosis"]["stages"]
    assert report["diagnosis"]["wrong"] == sum(stages.values()) == 3
    assert (stages["form"], stages["planning"], stages["error"]) == (1, 1, 1)
    assert [(line["id"], line["stage"]) for line in read_lines(finished / "diagnosis.jsonl")] == [
        ("q2", "form"),
        ("q3", "planning"),
        ("q4", "error"),
    ]


def test_reports_are_the_same_every_time(finished: Path) -> None:
    build_report(finished)
    first = (finished / "report.json").read_bytes()
    build_report(finished)
    assert (finished / "report.json").read_bytes() == first


def test_markdown_holds_the_figures_and_nothing_harmful(finished: Path) -> None:
    text = write_report(finished, build_report(finished)).read_text()
    assert "| EM | 25.00 |" in text
    assert "| bridge | 2 | 50.00 |" in text
    assert "| planning | 1 | 33.3% |" in text
    assert "| LLM calls | 3.0 |" in text
    assert "\x1b" not in text
    assert "no \\| memory" in text
    for line in text.splitlines():
        if line.startswith("|") and "warning" not in line and "\\|" not in line:
            assert line.endswith("|")


def test_plans_are_judged_by_gold_evidence_and_by_given_plans(tmp_path: Path) -> None:
    chain = (GoldFact("Ann", "father", "Bob"), GoldFact("Bob", "place of birth", "Rome"))
    questions = [
        Question("q1", "Where was Ann's father born?", ("Rome",), "compositional", evidences=chain),
        Question("q2", "When was Ann born?", ("1901",), "compositional", evidences=chain[:1]),
        Question("q3", "Who?", ("Cid",)),
    ]
    deep = '1. Who? = Search("Ann")\n2. Who? = Relate([1], "father")\n3. Where? = Relate([2], "born")'
    answers = {q.question: make_trace(q.question, ["x"], plan=PlanTrace(deep, "model", 1)) for q in questions}
    run(FakeAssistant(answers), questions, tmp_path / "run", description=DESCRIPTION)
    plans = build_report(tmp_path / "run")["plans"]
    assert (plans["n"], plans["with_gold"], plans["plan_structure_equal"]["value"]) == (3, 2, 50.0)
    assert plans["plan_operators_equal"]["value"] == 50.0
    assert list(plans["by_type"]) == ["compositional"]

    given = write_lines(tmp_path / "gold.jsonl", {"id": "q2", "plan": deep}, {"id": "q3", "plan": '1. a = Search("b")'})
    report = build_report(tmp_path / "run", given)
    assert (report["plans"]["with_gold"], report["plans"]["plan_structure_equal"]["value"]) == (3, 66.67)
    assert report["plans"]["by_type"]["(none)"] == {
        "n": 1, "plan_structure_equal": {"value": 0.0, "low": 0.0, "high": 0.0}
    }  # fmt: skip
    assert "| operators joined as in the gold plan | 3 | 66.67 [" in report_markdown(report)
    write_lines(given, {"id": "q2", "plan": "1. Who is [4]?"})
    with pytest.raises(InputError, match=r"gold\.jsonl:1: the plan is not valid"):
        build_report(tmp_path / "run", given)


def test_methods_that_make_no_plan_have_no_plan_figures(tmp_path: Path) -> None:
    run(FakeAssistant({q.question: make_trace(q.question, ["x"], strategy="rag") for q in QUESTIONS}), QUESTIONS,
        tmp_path / "run", description=DESCRIPTION)  # fmt: skip
    report = build_report(tmp_path / "run")
    assert report["plans"] is None
    assert "## Plans" not in report_markdown(report)


def test_intervals() -> None:
    half = [1.0, 0.0] * 50
    interval = mean_interval(half)
    assert interval.value == 50
    # The normal approximation: 1.96 · sqrt(0.25 / 100) = 9.8 points either way.
    assert interval.low == pytest.approx(40.2, abs=1.1)
    assert interval.high == pytest.approx(59.8, abs=1.1)
    assert mean_interval(half) == interval
    certain = mean_interval([1.0] * 20)
    assert (certain.value, certain.low, certain.high) == (100, 100, 100)
    assert mean_interval([]).value == 0


def test_bad_directories(tmp_path: Path, finished: Path) -> None:
    with pytest.raises(InputError, match="contains no evaluation run"):
        build_report(tmp_path / "absent")
    other = tmp_path / "other"
    run(FakeAssistant({"Nine?": ["x"]}), [Question("q9", "Nine?", ("x",))], other, description=DESCRIPTION)
    (other / "predictions.jsonl").write_text("")
    with pytest.raises(InputError, match="no finished question"):
        build_report(other)
    (finished / "traces.jsonl").write_text('{"id": "q1"}\n')
    with pytest.raises(InputError, match=r"the trace of 'q1' is not an atomr\.trace/1"):
        build_report(finished)


def test_an_unfinished_run_can_be_reported(tmp_path: Path, finished: Path) -> None:
    lines = (finished / "predictions.jsonl").read_text().splitlines(keepends=True)
    (finished / "predictions.jsonl").write_text(lines[0])
    report = build_report(finished)
    assert report["n"] == 1
    assert "Evaluation: atomr, 1 questions" in report_markdown(report)
