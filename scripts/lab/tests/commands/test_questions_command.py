"""`atomr questions`: what is refused before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from atomr_local.assistant.assistant import Assistant
from atomr_local.cli.main import main


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(["questions", *arguments])
    return int(stop.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bridges", "text-moon"], "is not a list of text-graph"),
        (["--bridges", ","], "is not a list of"),
        (["--forms", "essay"], "is not a list of short"),
        (["--number", "0"], "0 is not in the range"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--pages", "0"], "0 is not in the range"),
        (["--per-relation", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run("make", "--out", str(tmp_path / "out"), *arguments, capsys=capsys)
    assert code == 2
    assert message in said
    assert not (tmp_path / "out").exists()


def test_web_bridges_need_the_web(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run("make", "--out", str(tmp_path / "out"), "--bridges", "graph-web", capsys=capsys)
    assert code == 1
    assert "Web access is off" in said
    assert "--web" in said


@pytest.mark.parametrize("kind", ["text", "graph"])
def test_an_index_to_make_questions_of_is_missed_before_a_model_is_loaded(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Assistant, "preload", lambda *_: pytest.fail("a model was loaded"))
    code, said = run("make", "--out", str(tmp_path / "out"), f"--{kind}-index", "gone", capsys=capsys)
    assert code == 1
    assert f"there is no {kind} index named 'gone'" in said


def test_an_index_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text("")
    code, said = run("check", str(file), capsys=capsys)
    assert code == 1
    assert "contains no questions" in said


def test_help_tells_of_each_part() -> None:
    from atomr_lab.commands.questions import questions

    shown = CliRunner().invoke(questions, ["--help"]).output
    assert all(name in shown for name in ("make", "check", "review"))


def test_a_warning_is_told_once_when_it_comes_often() -> None:
    from atomr_lab.commands.questions import _repeated

    told: list[str] = []
    hear = _repeated(told.append)
    for number in range(30):
        hear("the reader is not used")
        hear(f"the evidence does not mention {number}")
    assert told == ["the reader is not used"]


def test_a_relation_that_is_full_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    from atomr_lab.commands.questions import _tell
    from atomr_lab.question_making.making import RELATION_FULL, Yield

    found = Yield()
    _tell(found, 10)
    assert "--per-relation" not in capsys.readouterr().err
    found.left_out[RELATION_FULL] += 1
    _tell(found, 10)
    shown = capsys.readouterr()
    assert "0 of 10 questions made" in shown.out
    assert "A larger --per-relation allows more questions of one relation." in shown.err


def test_a_web_query_is_shown_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from atomr_lab.commands.questions import _telling_queries
    from atomr_lab.question_making.making import WEB_FILE, deciding

    with deciding(tmp_path / "out", {}) as decisions:
        _telling_queries(decisions)("search.example", "Ann Lee\x1b[2J")
    shown = capsys.readouterr().err
    assert "web query → search.example: Ann Lee" in shown and "\x1b" not in shown
    assert len((tmp_path / "out" / WEB_FILE).read_text().splitlines()) == 1
