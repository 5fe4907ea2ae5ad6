"""A small matrix on the starter's real model and knowledge: two strategies, two questions, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.eval_fakes import read_lines, write_lines
from support.places import PYTHONPATH

from atomr_local.system import paths

SETS = """
[[sets]]
name = "starter"
questions = "questions.jsonl"
text_index = "starter"

[[sets]]
name = "facts"
questions = "questions.jsonl"
graph_index = "starter"
limit = 1
"""


def test_two_strategies_on_two_questions(built_home: Path, tmp_path: Path) -> None:
    lines = (paths.starter_knowledge_dir() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    write_lines(tmp_path / "questions.jsonl", *[json.loads(line) for line in lines[:2]])
    (tmp_path / "sets.toml").write_text(SETS, encoding="utf-8")
    out = tmp_path / "out"
    program = (sys.executable, "-m", "atomr_local", "eval")
    command = (
        *program,
        "matrix",
        "--sets",
        str(tmp_path / "sets.toml"),
        "--strategies",
        "rag,closed-book",
        "--out",
        str(out),
    )
    environment = os.environ | {"ATOMR_HOME": str(built_home), "PYTHONPATH": PYTHONPATH}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True, timeout=300)

    first = out / "starter" / "rag" / "predictions.jsonl"
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (first.exists() and first.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = read_lines(first)
    assert before

    said = run(*command).stderr
    assert said.count("loading model") == 1
    after = read_lines(first)
    assert after[: len(before)] == before
    assert len(after) == 2
    written = {file: file.stat().st_mtime_ns for file in out.glob("*/*/predictions.jsonl")}
    assert "loading model" not in run(*command).stderr
    assert {file: file.stat().st_mtime_ns for file in written} == written
    figures: dict[str, Any] = json.loads(run(*program, "table", str(out), "--json").stdout)
    assert [(row["set"], row["arm"], row["n"], row["whole"]) for row in figures["rows"]] == [
        ("starter", "rag", 2, True), ("starter", "closed-book", 2, True),
        ("facts", "rag", 1, True), ("facts", "closed-book", 1, True),
    ]  # fmt: skip
    assert figures["rows"][0]["cost"]["retrievals"]["text"] >= 1
    assert figures["rows"][2]["cost"]["retrievals"]["graph"] >= 1
    assert sum(figures["rows"][1]["cost"]["retrievals"].values()) == 0
