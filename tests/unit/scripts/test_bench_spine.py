"""The table of several runs."""

from __future__ import annotations

from pathlib import Path

import spine
from atomr_lab.evaluation.report import build_report
from support.bench_runs import told, write_run


def test_one_row_a_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [told(0.9, True), *(told(0.5, False) for _ in range(3))])
    head, rule, row = spine.runs_table([("atomr, text | graph", build_report(run))]).splitlines()
    assert head.count("|") == rule.count("|") == row.replace("\\|", "").count("|")
    assert row.startswith("| atomr, text \\| graph | 4 | 25.00 [")
