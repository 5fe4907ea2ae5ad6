"""`atomr eval matrix` and `atomr eval table` as a person meets them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.eval_fakes import FakeAssistant, atomr_eval, read_lines, write_lines
from support.graph_world import open_world

from atomr_local.indexing import store

SETS = """
[[sets]]
name = "one"
questions = "questions.jsonl"
sources = ["text"]
text_index = "starter"

[[sets]]
name = "facts"
questions = "questions.jsonl"
graph_index = "starter"
offset = 1

[[ablations]]
name = "rag-1"
strategy = "rag"
options = { top_k = 1 }

[[ablations]]
name = "atomr-no-rival"
strategy = "atomr"
settings.features.rival = false
"""

CHECKED = """
[[sets]]
name = "own"
questions = "questions.jsonl"
text_index = "starter"

[[sets]]
name = "lost"
questions = "questions.jsonl"
text_index = "absent"
graph_index = "world"

[[sets]]
name = "broken"
questions = "questions.jsonl"
graph_index = "damaged"

[[sets]]
name = "world"
questions = "questions.jsonl"
graph_index = "world"

[[ablations]]
name = "detllm-no-facts"
strategy = "detllm"
options = { facts = false }
"""


class Fake(FakeAssistant):
    """Keeps with which settings each question was asked; `loaded` counts how often parts were made ready."""

    def __init__(self, answers: dict[str, list[str] | Callable[[], Any]]) -> None:
        super().__init__(answers)  # type: ignore[arg-type]
        self.settings: dict[str, Any] = {}
        self.opened = 0
        self.loaded: list[tuple[str, tuple[str, ...], Any, bool]] = []

    def reconfigure(self, **changes: Any) -> None:
        self.settings = changes

    def preload(self, on_stage: Callable[[str], None] | None = None) -> None:
        settings = self.settings
        rival = settings["features"]["rival"]
        self.loaded.append((settings["strategy"], settings["sources"], settings["strategies"], rival))


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    write_lines(
        tmp_path / "questions.jsonl",
        {"id": "q1", "question": "One?", "answers": ["Ann"]},
        {"id": "q2", "question": "Two?", "answers": ["Bob"]},
        {"id": "q3", "question": "Three?", "answers": ["Cid"]},
    )
    path = tmp_path / "sets.toml"
    path.write_text(SETS, encoding="utf-8")
    return path


@pytest.fixture
def assistant(monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake({"One?": ["Ann"], "Two?": ["Bo"], "Three?": []})

    class Opener:
        @classmethod
        def open(cls, settings: Any) -> Fake:
            fake.opened += 1
            return fake

    monkeypatch.setattr("atomr_local.assistant.assistant.Assistant", Opener)
    return fake


def test_every_strategy_on_every_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake
) -> None:
    out = tmp_path / "out"
    arguments = ("matrix", "--sets", sets, "--strategies", "rag,closed-book,rag-1,atomr-no-rival", "--out", out)
    status, _, err = atomr_eval(capsys, *arguments)
    assert status == 0
    assert {f"{file.parent.parent.name}/{file.parent.name}" for file in out.glob("*/*/report.md")} == {
        f"{name}/{arm}" for name in ("one", "facts") for arm in ("rag", "closed-book", "rag-1", "atomr-no-rival")
    }
    assert assistant.opened == 1
    assert assistant.asked == ["One?", "Two?", "Three?"] * 4 + ["Two?", "Three?"] * 4
    assert assistant.loaded[:4] == [
        ("rag", ("text",), {}, True),
        ("closed-book", ("text",), {}, True),
        ("rag", ("text",), {"rag": {"top_k": 1}}, True),
        ("atomr", ("text",), {}, False),
    ]
    assert assistant.loaded[4][1] == ("graph",)
    described = json.loads((out / "one" / "closed-book" / "run.json").read_text())
    assert described["settings"]["sources"] == []
    assert described["settings"]["web"]["enabled"] is False
    assert "== facts/rag (5 of 8 runs, 2 questions)" in err
    assert "| one | rag | 3 |" in (out / "table.md").read_text()


def test_a_finished_run_is_not_run_again_and_more_questions_extend_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake
) -> None:
    arguments = ("matrix", "--sets", sets, "--strategies", "rag", "--only", "one", "--out", tmp_path / "out", "--limit")
    assert atomr_eval(capsys, *arguments, 2)[0] == 0
    assert atomr_eval(capsys, *arguments, 2)[0] == 0
    assert assistant.asked == ["One?", "Two?"]
    assert len(assistant.loaded) == 1
    assert atomr_eval(capsys, *arguments, 3)[0] == 0
    assert assistant.asked == ["One?", "Two?", "Three?"]


def test_goes_on_after_a_kill(capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake) -> None:
    def killed() -> Any:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    arguments = ("matrix", "--sets", sets, "--strategies", "rag,closed-book", "--only", "one", "--out", out)
    assistant.answers["Two?"] = killed
    assert atomr_eval(capsys, *arguments)[0] == 130
    directory = out / "one" / "rag"
    # The kill cut the line that was being written, in both files.
    for name in ("predictions.jsonl", "traces.jsonl"):
        with (directory / name).open("a", encoding="utf-8") as stream:
            stream.write('{"id": "q2", "quest')
    status, shown, _ = atomr_eval(capsys, "table", out)
    assert status == 0
    assert "| one | rag | 1 of 3 |" in shown
    assistant.answers["Two?"] = ["Bo"]
    assert atomr_eval(capsys, *arguments)[0] == 0
    assert [line["id"] for line in read_lines(directory / "predictions.jsonl")] == ["q1", "q2", "q3"]
    assert assistant.asked == ["One?", "Two?", "Two?", "Three?", "One?", "Two?", "Three?"]


def test_other_settings_in_the_same_place_are_refused_before_anything_is_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake
) -> None:
    out = tmp_path / "out"
    arguments = ("matrix", "--sets", sets, "--strategies", "rag,closed-book", "--out", out)
    assert atomr_eval(capsys, *arguments, "--set", "rag.top_k=2")[0] == 0
    assert assistant.loaded[0][2] == {"rag": {"top_k": 2}}
    asked = list(assistant.asked)
    status, _, err = atomr_eval(capsys, *arguments, "--set", "rag.top_k=3")
    assert status == 1
    assert "one/rag was begun with other settings: settings.strategies.rag.top_k was 2, is now 3" in err
    sets.write_text(SETS.replace("offset = 1", "offset = 2"), encoding="utf-8")
    status, _, err = atomr_eval(capsys, *arguments, "--set", "rag.top_k=2")
    assert status == 1
    assert "facts/rag was begun with the questions from number 1 on, now from 2" in err
    assert assistant.asked == asked


def test_a_run_that_stops_does_not_stop_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atomr_lab.evaluation.runs._FAILURES_IN_A_ROW", 2)

    def fails() -> Any:
        if assistant.settings["strategy"] == "rag":
            raise RuntimeError("no")
        return ["Ann"]

    assistant.answers |= {"One?": fails, "Two?": fails}
    out = tmp_path / "out"
    status, _, err = atomr_eval(
        capsys, "matrix", "--sets", sets, "--strategies", "rag,closed-book", "--only", "one", "--out", out
    )
    assert status == 1
    assert "not finished: one/rag: 2 questions in a row failed" in err
    assert len(read_lines(out / "one" / "closed-book" / "predictions.jsonl")) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--strategies", "rag,nothing"), "no strategy and no ablation named 'nothing'"),
        (("--strategies", "rag,rag"), "named twice"),
        (("--strategies", "rag", "--only", "three"), "has no set 'three'"),
        (("--strategies", "rag", "--set", "atomr.x=1"), "atomr"),
        (("--strategies", "closed-book", "--set", "rag.top_k=1"), "rag is not among the strategies"),
        (("--strategies", "rag", "--data", "/nowhere"), "are not there: /nowhere/questions.jsonl"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake, options: tuple[str, ...], said: str
) -> None:
    status, _, err = atomr_eval(capsys, "matrix", "--sets", sets, "--out", tmp_path / "out", *options)
    assert status in (1, 2)
    assert said in err
    assert assistant.opened == 0


def test_an_index_that_is_not_built(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake
) -> None:
    sets.write_text(SETS.replace('text_index = "starter"', 'text_index = "absent"'), encoding="utf-8")
    status, _, err = atomr_eval(capsys, "matrix", "--sets", sets, "--strategies", "rag", "--out", tmp_path / "out")
    assert status != 0
    assert "there is no text index named 'absent'" in err
    assert assistant.opened == 0


def test_every_set_and_strategy_is_checked_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, own_home: Path, assistant: Fake, sets: Path
) -> None:
    """One message: what is missing where and for whom, and the command that helps."""
    open_world(own_home).close()  # a graph without facts as text
    damaged = store.index_path("graph", "damaged")
    shutil.copytree(store.index_path("graph", "world"), damaged)
    next(damaged.glob("*.sqlite")).unlink()
    sets.write_text(CHECKED, encoding="utf-8")
    arguments = ("matrix", "--sets", sets, "--out", tmp_path / "out", "--strategies")
    status, _, err = atomr_eval(capsys, *arguments, "rag,closed-book,detllm,detllm-no-facts,roht")
    assert (status, assistant.opened, (tmp_path / "out").exists()) == (1, 0, False)
    lines = [line.strip() for line in err.splitlines()]
    assert any(
        line.startswith(
            "set lost, strategies rag, detllm, detllm-no-facts, roht: there is no text index named 'absent'"
        )
        and "`atomr text build`" in line
        for line in lines
    ), err
    assert any(
        line.startswith("set broken, strategies rag, detllm, detllm-no-facts, roht: the graph index") for line in lines
    ), err
    assert (
        "set world, strategy detllm: the strategy detllm searches facts as text: the graph index world has no facts as "
        "text → Run `atomr graph linearise world`." in lines
    ), err
    assert "set own" not in err, "what is there is not told"
    assert atomr_eval(capsys, *arguments, "rag,closed-book,detllm-no-facts", "--only", "world")[0] == 0


def test_a_strategy_that_needs_pages_names_the_index_that_has_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, assistant: Fake, sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atomr_local.strategies.registry.pages_missing", lambda _: "the index has no pages")
    arguments = ("matrix", "--sets", sets, "--out", tmp_path / "out", "--only", "one", "--strategies")
    status, _, err = atomr_eval(capsys, *arguments, "rag,react")
    assert (status, assistant.opened) == (1, 0)
    assert "set one, strategy react: the strategy react needs pages of a text index: the index has no pages" in err
    assert "Build the index again" in err


def test_a_strategy_set_to_a_source_that_a_set_has_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, assistant: Fake, sets: Path
) -> None:
    arguments = ("matrix", "--sets", sets, "--out", tmp_path / "out", "--strategies", "rag,self-ask")
    status, _, err = atomr_eval(capsys, *arguments, "--set", "self-ask.source=text")
    assert (status, assistant.opened) == (1, 0)
    assert "set facts, strategy self-ask: the strategy self-ask is set to ask the source text only" in err


def test_what_a_set_has_no_source_for_is_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, assistant: Fake, sets: Path
) -> None:
    arguments = ("matrix", "--sets", sets, "--out", tmp_path / "out", "--only", "facts", "--strategies", "rag,react")
    status, _, err = atomr_eval(capsys, *arguments)
    assert status == 0
    assert "facts/react is left out: the strategy react needs pages of a text index, and the source text is off" in err


def test_an_ablation_cannot_have_a_strategys_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake
) -> None:
    sets.write_text(SETS.replace('"rag-1"', '"cot"'), encoding="utf-8")
    status, _, err = atomr_eval(capsys, "matrix", "--sets", sets, "--strategies", "rag", "--out", tmp_path / "out")
    assert status == 1
    assert "the ablation cot has a strategy's name" in err


def test_strategies_asked_later_stand_in_the_same_order(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake
) -> None:
    arguments = ("matrix", "--sets", sets, "--only", "one", "--out", tmp_path / "out", "--strategies")
    for named in ("closed-book", "rag-1", "rag", "atomr"):
        assert atomr_eval(capsys, *arguments, named)[0] == 0
    figures = json.loads((tmp_path / "out" / "table.json").read_text())
    assert [row["arm"] for row in figures["rows"]] == ["atomr", "rag", "closed-book"]
    assert [row["arm"] for row in figures["ablations"]] == ["rag", "rag-1"]


def test_table_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path, sets: Path, assistant: Fake) -> None:
    out = tmp_path / "out"
    assert atomr_eval(capsys, "matrix", "--sets", sets, "--strategies", "rag,closed-book", "--out", out)[0] == 0
    status, shown, _ = atomr_eval(capsys, "table", out, "--json", "--baseline", "rag")
    assert status == 0
    figures = json.loads(shown)
    assert figures == json.loads((out / "table.json").read_text())
    assert [list(row["against"]) for row in figures["rows"]] == [["rag"]] * 4
    status, shown, _ = atomr_eval(capsys, "table", out)
    assert shown == (out / "table.md").read_text()
