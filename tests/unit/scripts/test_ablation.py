"""The ablation's runs and its table; the asking itself is `atomr eval run`, tested elsewhere."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ablation
import pytest

from atomr_local.errors import InputError
from atomr_local.settings.schema import FeatureSettings, load_settings


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
    assert ablation.switches() == [f"features.{name}" for name in FeatureSettings.model_fields]
    assert ablation.switches(["web.enabled", "features.beam", "features.beam"]) == ["web.enabled", "features.beam"]
    for key in ("features.none", "top_k", "features", ""):
        with pytest.raises(InputError, match="no setting that is on or off"):
            ablation.switches([key])


def test_the_environment_switches_one_off_and_the_others_on(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ablation.switches()
    for off in (ablation.ALL_ON, *keys):
        for name, value in ablation.environment(keys, off).items():
            monkeypatch.setenv(name, value)
        features = load_settings().features.model_dump()
        assert [f"features.{name}" for name, value in features.items() if not value] == [off] * (off != ablation.ALL_ON)


def test_rules_for_choosing_sources_are_not_tried_on_one_source(asked: Any) -> None:
    keys = ["features.beam", "features.source_rules"]
    assert ablation.runs_of(asked, keys) == ["all", *keys]
    alone = ablation.question_set(["mine", str(asked.questions), "texts"])
    assert (alone.sources, ablation.runs_of(alone, keys)) == ("text", ["all", "features.beam"])


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
    ablation.run(asked, "features.beam", ["features.beam", "features.rival"], options)
    ((command, environment),) = calls
    text = " ".join(command)
    assert command[:5] == [sys.executable, "-m", "atomr_local", "eval", "run"]
    assert "--offset 8" in text and "--limit 3" in text and text.endswith("--model m")
    assert f"--out {tmp_path / 'mine' / 'features.beam'} " in text
    assert "--sources text,graph --text-index texts" in text and "--graph-index graph" in text
    assert (environment["ATOMR_FEATURES__BEAM"], environment["ATOMR_FEATURES__RIVAL"]) == ("false", "true")
    ablation.run(asked, "all", ["features.beam"], given(tmp_path, limit=2))
    assert "--offset 0" in " ".join(calls[1][0]) and "--limit 2" in " ".join(calls[1][0])


def test_the_table_pairs_each_run_with_the_one_with_all_on(asked: Any, tmp_path: Path) -> None:
    keys = ["features.beam", "features.rival"]
    assert ablation.table([asked], keys, tmp_path).count("\n") == 2
    write_run(tmp_path / "mine" / "all", ["Ann"] * 10)
    write_run(tmp_path / "mine" / "features.beam", ["Ann"] * 4 + ["Eve"] * 4)
    head, rule, first, beam = ablation.table([asked], keys, tmp_path).splitlines()
    assert head.count("|") == rule.count("|") == first.count("|") == beam.count("|")
    assert first.startswith("| mine | – | 10 | 100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] |")
    assert beam.startswith("| mine | features.beam | 8 | 50.0 [")
    assert "| -50.0 [" in beam


def test_a_run_that_fails_stops_and_the_table_of_the_others_stands(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    write_run(out / "mine" / "all", ["Ann"])

    def fail(command: list[str], **_: Any) -> None:
        if "features.beam" in " ".join(command):
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)
    options = ["--set", "mine", str(asked.questions), "texts", "--out", str(out), "--off", "features.beam"]
    monkeypatch.setattr(sys, "argv", ["ablation.py", *options])
    assert ablation.main() == 1
    shown = capsys.readouterr()
    assert "| mine | – | 1 |" in shown.out and "stopped" in shown.err
    assert (out / "ablation.md").read_text() == shown.out


def test_rules_are_switched_off_by_a_program_of_their_own(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ablation.switches(["features.beam", "rule.countries"])
    assert ablation.environment(keys, "rule.countries") == {"ATOMR_FEATURES__BEAM": "true"}
    calls: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, env, **_: calls.append(command))
    ablation.run(asked, "rule.countries", keys, given(tmp_path))
    assert Path(calls[0][1]).name == "without_rule.py" and calls[0][2:5] == ["countries", "eval", "run"]
    with pytest.raises(InputError, match=r"rule\.none is no setting"):
        ablation.switches(["rule.none"])


_EVERY_RULE_OFF = """
import sys
sys.path.insert(0, sys.argv[1])
from without_rule import RULES
RULES["every"]()
from atomr_local.cli.main import main
from atomr_local.assistant import assistant
from atomr_local.language.names import countries_in
from atomr_local.language.words import english
from atomr_local.language.question_kind import expected_type
from atomr_local.reasoning.answer_selection import year_asked_for
from atomr_local.reasoning.verdict.judge import repeats
from atomr_local.sources.graph import entity_sets as entity_types, linking
from atomr_local.sources.graph import conditions
from atomr_local.sources.graph.properties import matching as phrases, matching as question_matching
from atomr_local.sources.graph.relate import values as counting, values as ordering
assert assistant.understands("hello")[0] == "question"
assert expected_type("Which countries border Chad?").probability == 0
assert not expected_type("Which countries border Chad?").several
assert year_asked_for("In what year was it?", "3 May 1901") == "3 May 1901"
assert not repeats("Who wrote Emma?", ["Emma"])
assert countries_in("from Chad to Peru") == []
assert english().stop and not english().told_by
assert conditions.comparison("at least 5 km") is None
assert ordering.requested_order("current president") == ("current president", None)
assert phrases.TYPES == frozenset()
print("off")
"""


def test_every_rule_can_be_switched_off_and_the_program_still_loads() -> None:
    command = [sys.executable, "-c", _EVERY_RULE_OFF, str(Path(ablation.__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "off\n", done.stderr
    bare = [sys.executable, str(Path(ablation.__file__).with_name("without_rule.py")), "none", "x"]
    refused = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "Rules: answer_type, " in refused.stderr


def test_all_sets_together_are_rows_of_their_own(tmp_path: Path) -> None:
    sets = [ablation.QuestionSet(name, Path("none.jsonl"), "texts") for name in ("a", "b")]
    for one in sets:
        write_run(tmp_path / one.name / "all", ["Ann"] * 2)
        write_run(tmp_path / one.name / "features.beam", ["Eve"] * 2)
    *_, every, beam = ablation.table(sets, ["features.beam"], tmp_path).splitlines()
    assert every.startswith("| all | – | 4 | 100.0 [")
    assert beam.startswith("| all | features.beam | 4 | 0.0 [") and beam.count("-100.0 [-100.0, -100.0]") == 2
