"""The ablation's runs and its table; the asking itself is `atomr eval run`, tested elsewhere."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from script_loader import load_script

from atomr_local.errors import InputError
from atomr_local.settings import MeansSettings, load_settings

ablation = load_script("bench/ablation")


def given(out: Path, **changed: Any) -> argparse.Namespace:
    values: dict[str, Any] = {"out": out, "last_fifth": False, "limit": None, "options": []}
    return argparse.Namespace(**values | changed)


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    file = tmp_path / "questions.jsonl"
    lines = [{"id": f"q{i}", "question": f"Q{i}?", "answers": ["Ann"]} for i in range(11)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ablation.question_set(["mine", str(file), "texts", "graph"])


def write_run(directory: Path, predicted: list[str]) -> None:
    directory.mkdir(parents=True)
    description = {"questions": {}, "plans": None, "settings": {"strategy": "atomr"}}
    (directory / "run.json").write_text(json.dumps(description))
    lines = [
        {"id": f"q{i}", "question": f"Q{i}?", "predicted": answer, "gold": ["Ann"], "seconds": 2.0}
        for i, answer in enumerate(predicted)
    ]
    (directory / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (directory / "traces.jsonl").write_text("")


def test_the_switches_are_those_that_the_settings_have() -> None:
    assert ablation.switches() == [f"means.{name}" for name in MeansSettings.model_fields]
    assert ablation.switches(["web.enabled", "means.beam", "means.beam"]) == ["web.enabled", "means.beam"]
    for key in ("means.none", "top_k", "means", ""):
        with pytest.raises(InputError, match="no setting that is on or off"):
            ablation.switches([key])


def test_the_environment_switches_one_off_and_the_others_on(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ablation.switches()
    for off in (ablation.ALL_ON, *keys):
        for name, value in ablation.environment(keys, off).items():
            monkeypatch.setenv(name, value)
        means = load_settings().means.model_dump()
        assert [f"means.{name}" for name, value in means.items() if not value] == [off] * (off != ablation.ALL_ON)


def test_rules_for_choosing_sources_are_not_tried_on_one_source(asked: Any) -> None:
    keys = ["means.beam", "means.source_rules"]
    assert ablation.runs_of(asked, keys) == ["all", *keys]
    alone = ablation.question_set(["mine", str(asked.questions), "texts"])
    assert (alone.sources, ablation.runs_of(alone, keys)) == ("text", ["all", "means.beam"])


@pytest.mark.parametrize("values", [["a"], ["a", "b"], ["a", "b", "c", "d", "e"], ["../a", "b", "c"], [".", "b", "c"]])
def test_sets_that_are_none(values: list[str]) -> None:
    with pytest.raises(InputError):
        ablation.question_set(values)


def test_a_run_asks_the_development_split_with_the_means_off(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, env, **_: calls.append((command, env)))
    options = given(tmp_path, last_fifth=True, options=["--model", "m"])
    ablation.run(asked, "means.beam", ["means.beam", "means.rival"], options)
    ((command, environment),) = calls
    text = " ".join(command)
    assert command[:5] == [sys.executable, "-m", "atomr_local", "eval", "run"]
    assert "--offset 8" in text and "--limit 3" in text and text.endswith("--model m")
    assert f"--out {tmp_path / 'mine' / 'means.beam'} " in text
    assert "--sources text,graph --text-index texts" in text and "--graph-index graph" in text
    assert (environment["ATOMR_MEANS__BEAM"], environment["ATOMR_MEANS__RIVAL"]) == ("false", "true")
    ablation.run(asked, "all", ["means.beam"], given(tmp_path, limit=2))
    assert "--offset 0" in " ".join(calls[1][0]) and "--limit 2" in " ".join(calls[1][0])


def test_the_table_pairs_each_run_with_the_one_with_all_on(asked: Any, tmp_path: Path) -> None:
    keys = ["means.beam", "means.rival"]
    assert ablation.table([asked], keys, tmp_path).count("\n") == 2
    write_run(tmp_path / "mine" / "all", ["Ann"] * 10)
    write_run(tmp_path / "mine" / "means.beam", ["Ann"] * 4 + ["Eve"] * 4)
    head, rule, first, beam = ablation.table([asked], keys, tmp_path).splitlines()
    assert head.count("|") == rule.count("|") == first.count("|") == beam.count("|")
    assert first.startswith("| mine | – | 10 | 100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] |")
    assert beam.startswith("| mine | means.beam | 8 | 50.0 [")
    assert "| -50.0 [" in beam


def test_a_run_that_fails_stops_and_the_table_of_the_others_stands(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    write_run(out / "mine" / "all", ["Ann"])

    def fail(command: list[str], **_: Any) -> None:
        if "means.beam" in " ".join(command):
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)
    options = ["--set", "mine", str(asked.questions), "texts", "--out", str(out), "--off", "means.beam"]
    monkeypatch.setattr(sys, "argv", ["ablation.py", *options])
    assert ablation.main() == 1
    shown = capsys.readouterr()
    assert "| mine | – | 1 |" in shown.out and "stopped" in shown.err
    assert (out / "ablation.md").read_text() == shown.out
