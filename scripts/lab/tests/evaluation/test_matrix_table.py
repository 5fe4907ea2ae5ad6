"""The table of a matrix of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from atomr_lab.evaluation.datasets import Question
from atomr_lab.evaluation.matrix_table import matrix_figures, matrix_markdown
from atomr_lab.evaluation.runs import run
from support.eval_fakes import FakeAssistant, make_trace

from atomr_local.errors import InputError

QUESTIONS = [Question(f"q{n}", f"Question {n}?", (f"Gold {n}",)) for n in range(4)]
RIGHT = [[f"Gold {n}"] for n in range(4)]


def make_run(
    out: Path, strategy: str, answers: list[Any], cell: dict[str, Any] | None = None, **described: Any
) -> None:
    given = {}
    for question, answer in zip(QUESTIONS, answers, strict=False):
        trace = make_trace(question.question, answer, strategy=strategy)
        # The first answer cannot be checked, the last does not stand in its evidence.
        trace.nodes[0].supported = None if question is QUESTIONS[0] else question is not QUESTIONS[-1]
        given[question.question] = trace
    description = {
        "questions": {"file": "q.jsonl"},
        "settings": {"strategy": strategy, "model": "m", "adapter": "none"},
    } | described
    run(FakeAssistant(given), QUESTIONS[: len(answers)], out, description=description)
    if cell is not None:
        (out / "cell.json").write_text(json.dumps(cell))


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """rag 1 of 4 right, atomr 3 of 4 and a miss, ircot 2 questions of 4; atomr-x, an ablation, 1 of 4."""
    out = tmp_path / "m"
    whole = {"set": "s", "set_note": "a set", "arm_note": "", "asked": 4, "ablation": None, "offset": 0}
    make_run(out / "s" / "rag", "rag", [RIGHT[0], ["no"], ["no"], ["no"]], whole | {"arm": "rag", "place": [0, 0]})
    make_run(out / "s" / "atomr", "atomr", [*RIGHT[:3], []], whole | {"arm": "atomr", "place": [0, 1]})
    make_run(out / "s" / "ircot", "ircot", RIGHT[:2], whole | {"arm": "ircot", "place": [0, 2]})
    ablation = {
        "arm": "atomr-x",
        "place": [0, 3],
        "arm_note": "no x",
        "ablation": {"options": {"x": False}, "settings": {}},
    }
    make_run(out / "s" / "atomr-x", "atomr", [RIGHT[0], [], [], []], whole | ablation)
    return out


def test_rows(matrix: Path) -> None:
    figures = matrix_figures(matrix)
    rag, atomr, ircot = figures["rows"]
    assert [(row["set"], row["arm"]) for row in figures["rows"]] == [("s", "rag"), ("s", "atomr"), ("s", "ircot")]
    assert (rag["n"], rag["em"]["value"], rag["unknown"]) == (4, 25.0, 0.0)
    assert (rag["supported"], rag["checked"]) == (66.67, 3)
    assert (atomr["em"]["value"], atomr["unknown"], atomr["wrong"]) == (75.0, 25.0, 1)
    assert (ircot["n"], ircot["asked"], ircot["whole"]) == (2, 4, False)
    assert rag["cost"]["llm_calls"] == 3.0
    assert rag["cost"]["retrievals"] == {"graph": 1.0, "text": 2.0, "web": 0.0}
    assert rag["wrong"] == 3
    assert sum(rag["stages"].values()) == 3


def test_differences_are_over_common_questions_and_corrected(matrix: Path) -> None:
    rag, atomr, ircot = matrix_figures(matrix)["rows"]
    assert rag["against"]["rag"] is None
    assert rag["against"]["atomr"]["value"] == -50.0
    assert (atomr["against"]["rag"]["value"], atomr["against"]["rag"]["n"]) == (50.0, 4)
    assert (ircot["against"]["rag"]["value"], ircot["against"]["rag"]["n"]) == (50.0, 2)
    assert ircot["against"]["atomr"]["value"] == 0.0
    told = [item for row in (rag, atomr, ircot) for item in row["against"].values() if item]
    smallest = min(item["p"] for item in told)
    assert len(told) == 4
    assert min(item["p_holm"] for item in told) == pytest.approx(min(1.0, 3 * smallest), abs=1e-4)


def test_a_pair_of_baselines_is_one_test(tmp_path: Path) -> None:
    """Two rows show it, from either side; it is one comparison, with one p, whatever order the runs answered in."""
    make_run(tmp_path / "s" / "rag", "rag", [*RIGHT[:3], ["no"]])
    make_run(tmp_path / "s" / "atomr", "atomr", [["no"], ["no"], ["no"], RIGHT[3]])
    for name in ("predictions.jsonl", "traces.jsonl"):
        file = tmp_path / "s" / "atomr" / name
        file.write_text("".join(reversed(file.read_text().splitlines(keepends=True))))
    figures = matrix_figures(tmp_path)
    one, other = (row["against"][name] for row, name in zip(figures["rows"], ("rag", "atomr"), strict=True))
    assert (other["value"], other["low"], other["high"]) == (-one["value"], -one["high"], -one["low"])
    assert one["p"] == one["p_holm"] == other["p"] == other["p_holm"]
    assert "over the 1 pair of runs compared" in matrix_markdown(figures)


def test_ablations_stand_apart_against_their_own_strategy(matrix: Path) -> None:
    strategy, ablation = matrix_figures(matrix)["ablations"]
    assert (strategy["arm"], strategy["against"]) == ("atomr", {})
    assert (ablation["arm"], ablation["against"]["atomr"]["value"]) == ("atomr-x", -50.0)
    assert ablation["against"]["atomr"]["p_holm"] == ablation["against"]["atomr"]["p"]


def test_markdown(matrix: Path) -> None:
    text = matrix_markdown(matrix_figures(matrix))
    assert "| s | ircot | 2 of 4 | 100.0 [100.0, 100.0] |" in text
    assert "corrected after Holm over the 3 pairs of runs compared" in text
    assert "| atomr.x = false |" in text
    assert "| 67% of 3 |" in text
    assert "retrieval: it was asked for and not found" in text
    assert "| s | a set |" in text
    assert "| atomr-x | no x |" in text
    assert "Rows with “n of m” are incomplete" in text


def version(commit: str, changed: bool = False) -> dict[str, Any]:
    return {"version": "0.1.0", "commit": commit, "changed": changed}


def test_version_and_commit_of_the_program(tmp_path: Path) -> None:
    make_run(tmp_path / "s" / "rag", "rag", RIGHT, programs=[version("ab" * 20)])
    make_run(tmp_path / "s" / "atomr", "atomr", RIGHT, programs=[version("ab" * 20)])
    figures = matrix_figures(tmp_path)
    assert figures["programs"] == {"0.1.0, commit abababababab": 2}
    assert matrix_markdown(figures).startswith("Program: 0.1.0, commit abababababab\n")


def test_runs_of_several_versions_are_told_apart(tmp_path: Path) -> None:
    """One that went on with another version counts for both; one that names none is of an earlier version."""
    make_run(tmp_path / "s" / "rag", "rag", RIGHT, programs=[version("ab" * 20), version("cd" * 20, changed=True)])
    make_run(tmp_path / "s" / "atomr", "atomr", RIGHT, programs=[version("ab" * 20)])
    make_run(tmp_path / "s" / "cot", "cot", RIGHT)
    make_run(tmp_path / "s" / "ircot", "ircot", RIGHT, programs=[version("")])
    text = matrix_markdown(matrix_figures(tmp_path))
    [told] = [line for line in text.splitlines() if line.startswith("Program: ")]
    assert set(told.removeprefix("Program: ").split("; ")) == {
        "0.1.0, commit abababababab (2 runs)", "0.1.0, commit cdcdcdcdcdcd with changes (1 run)",
        "not recorded (1 run)", "0.1.0 (1 run)",
    }  # fmt: skip


def test_other_baselines(matrix: Path) -> None:
    figures = matrix_figures(matrix, ("ircot",))
    assert [list(row["against"]) for row in figures["rows"]] == [["ircot"]] * 3
    assert figures["rows"][0]["against"]["ircot"]["value"] == -50.0
    assert matrix_figures(matrix, ("absent",))["rows"][0]["against"] == {"absent": None}


def test_directories_of_eval_run_are_read_too(tmp_path: Path) -> None:
    make_run(tmp_path / "s" / "rag", "rag", RIGHT)
    make_run(tmp_path / "s" / "other", "rag", [[], [], [], []])
    figures = matrix_figures(tmp_path)
    assert [(row["arm"], row["whole"]) for row in figures["rows"]] == [("rag", True)]
    assert [row["arm"] for row in figures["ablations"]] == ["rag", "other"]
    assert "| other settings |" in matrix_markdown(figures)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no run"):
        matrix_figures(tmp_path)
