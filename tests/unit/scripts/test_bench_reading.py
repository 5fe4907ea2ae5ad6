"""The reader's benchmark: which questions are asked, and what the report says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reading as bench


def rows() -> list[dict[str, Any]]:
    """Answerable questions are read with a low null score, unanswerable ones with a high one."""
    made = []
    for number in range(60):
        answerable = number % 2 == 0
        null = 0.1 + 0.004 * number if answerable else 0.6 + 0.004 * number
        right = answerable and number % 4 == 0
        made.append(
            {
                "answerable": answerable,
                "answer": "" if number % 3 == 0 else "x",
                "f1": float(right),
                "em": float(right),
                "signals": {"null": null, "reading": 0.5, "guess": float(number % 3 == 0)},
            }
        )
    return made


def test_only_held_back_articles_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "squad.jsonl"
    lines = [
        {"title": f"t{article}", "question": f"q{article}{without}", "unanswerable": without}
        for article in range(8)
        for without in (False, True)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    picked = bench.chosen(path, [], 9, 0)
    assert {row["title"] for row in picked} == {"t3", "t4", "t5", "t6", "t7"}
    assert [row["unanswerable"] for row in picked] == [False] * 5 + [True] * 5
    assert len(bench.chosen(path, ["t1"], 9, 0)) == 2
    with pytest.raises(SystemExit, match="no such articles: t9"):
        bench.chosen(path, ["t9"], 9, 0)


def test_the_report_tells_answerable_from_unanswerable(capsys: pytest.CaptureFixture[str]) -> None:
    bench.report(rows())
    told = capsys.readouterr().out
    assert "30 with an answer, 30 without" in told
    assert "null       1.000 (of 60)" in told
    assert "combined   1.000" in told
    assert "declined as read: 33.3% of the answerable, 33.3% of the unanswerable" in told
    assert "100.0% of the unanswerable" in told.splitlines()[-1]
