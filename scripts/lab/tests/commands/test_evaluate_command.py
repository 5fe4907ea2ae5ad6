"""`atomr eval` as a person meets it: output, exit status, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from atomr_lab.evaluation import runs as run_directory
from support.eval_fakes import FakeAssistant, atomr_eval, read_lines, write_lines
from support.places import SHARED

from atomr_local import __version__
from atomr_local.system.program_version import ProgramVersion

PLAN = '1. Who is Ann? = Search("Ann")\n2. Who is [1]\'s father? = Relate([1], "father")'


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "questions.jsonl",
        {"id": "q1", "question": "One?", "answers": ["Ann"]},
        {"id": "q2", "question": "Two?", "answers": ["Bob"]},
        {"id": "q3", "question": "Three?", "answers": ["Cid"]},
    )


@pytest.fixture
def assistant(monkeypatch: pytest.MonkeyPatch) -> FakeAssistant:
    """What `Assistant.open` gives; `opened` keeps the settings."""
    fake = FakeAssistant({"One?": ["Ann"], "Two?": ["Bo"], "Three?": []})
    fake.opened = []  # type: ignore[attr-defined]

    class Opener:
        @classmethod
        def open(cls, settings: Any) -> FakeAssistant:
            fake.opened.append(settings)  # type: ignore[attr-defined]
            return fake

    monkeypatch.setattr("atomr_local.assistant.assistant.Assistant", Opener)
    return fake


def test_score(capsys: pytest.CaptureFixture[str]) -> None:
    file = SHARED / "predictions" / "crag_test_500.jsonl"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    status, out, err = atomr_eval(capsys, "score", file)
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "n": 500, "em": 62.0, "cover_em": 67.0, "f1": 71.39, "guess_f1": 71.39, "precision": 71.53, "coverage": 99.8
    }  # fmt: skip


def test_score_tells_file_and_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = write_lines(tmp_path / "p.jsonl", {"question": "q", "predicted": "a", "gold": ["a"]}, '{"predicted": 7}')
    status, out, err = atomr_eval(capsys, "score", file)
    assert (status, out) == (1, "")
    assert f"{file}:2: " in err
    assert atomr_eval(capsys, "score", tmp_path / "absent.jsonl")[0] == 1
    assert atomr_eval(capsys, "score")[0] == 2


def test_run_report_compare(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant
) -> None:
    out_dir = tmp_path / "run"
    status, out, err = atomr_eval(capsys, "run", "--questions", questions, "--out", out_dir, "--limit", 2)
    assert status == 0
    assert json.loads(out) == {
        "n": 2, "em": 50.0, "cover_em": 50.0, "f1": 50.0, "guess_f1": 50.0, "precision": 50.0, "coverage": 100.0
    }  # fmt: skip
    assert "[1/2] EM 100.0" in err
    assert {file.name for file in out_dir.iterdir() if file.name[0] != "."} == {
        "run.json", "predictions.jsonl", "traces.jsonl", "report.json", "report.md", "diagnosis.jsonl"
    }  # fmt: skip

    status, out, err = atomr_eval(capsys, "run", "--questions", questions, "--out", out_dir)  # extends it
    assert status == 0
    assert json.loads(out)["n"] == 3
    assert "2 of 3 questions are answered already" in err
    assert assistant.asked == ["One?", "Two?", "Three?"]

    status, out, err = atomr_eval(capsys, "report", out_dir)
    assert status == 0
    assert out == (out_dir / "report.md").read_text()
    status, out, err = atomr_eval(capsys, "report", out_dir, "--json")
    assert json.loads(out) == json.loads((out_dir / "report.json").read_text())

    status, out, err = atomr_eval(capsys, "compare", out_dir, out_dir, "--json")
    assert json.loads(out)["n"] == 3
    assert "3 questions in common" in atomr_eval(capsys, "compare", out_dir, out_dir)[1]


def test_the_options_become_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant
) -> None:
    arguments = ("run", "--questions", questions, "--out", tmp_path / "run", "--sources", "graph", "--no-web")
    assert atomr_eval(capsys, *arguments, "--strategy", "rag", "--offset", 1, "--model", "m.gguf")[0] == 0
    (settings,) = assistant.opened  # type: ignore[attr-defined]
    assert (settings.strategy, settings.sources, settings.model) == ("rag", ("graph",), "m.gguf")
    assert assistant.asked == ["Two?", "Three?"]
    status, _, err = atomr_eval(capsys, *arguments, "--strategy", "atomr", "--model", "m.gguf")
    assert status == 1
    assert 'settings.strategy was "rag", is now "atomr"' in err


def test_version_and_commit_of_the_program_are_in_the_manifest_the_report_and_the_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    out = tmp_path / "runs" / "set" / "rag"
    commits = iter(("ab" * 20, "cd" * 20))
    for limit in (1, 2):  # the second run goes on with another commit
        program = ProgramVersion(__version__, next(commits))
        monkeypatch.setattr(run_directory, "running_version", lambda program=program: program)
        arguments = ("run", "--questions", questions, "--out", out, "--strategy", "rag", "--limit", limit)
        assert atomr_eval(capsys, *arguments)[0] == 0
        kept = json.loads((out / "run.json").read_text())["programs"]
        assert kept[-1] == {"version": __version__, "commit": program.commit, "changed": False}
        assert len(kept) == limit
    told = f"{__version__}, commit abababababab; {__version__}, commit cdcdcdcdcdcd"
    assert f"| program | {told} |" in (out / "report.md").read_text()
    status, table, _ = atomr_eval(capsys, "table", tmp_path / "runs")
    assert status == 0
    assert f"Program: {told.replace(';', ' (1 run);')} (1 run)" in table


def test_options_of_the_strategy_are_in_the_manifest_with_their_defaults_and_decide_whether_a_run_is_resumed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    arguments = ("run", "--questions", questions, "--out", tmp_path / "run", "--limit", 1, "--strategy", "rag")
    assert atomr_eval(capsys, *arguments, "--set", "rag.top_k=5")[0] == 0
    assert assistant.opened[0].strategies == {"rag": {"top_k": 5}}  # type: ignore[attr-defined]
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["strategies"]
    assert kept["rag"].pop("top_k") == 5
    assert all(value is not None for value in kept["rag"].values())
    status, _, err = atomr_eval(capsys, *arguments, "--set", "rag.top_k=6")
    assert (status, "settings.strategies.rag.top_k was 5, is now 6" in err) == (1, True)
    monkeypatch.setenv("ATOMR_STRATEGIES", '{"other": {"x": 1}}')  # of a strategy that does not answer
    assert atomr_eval(capsys, *arguments, "--set", "rag.top_k=5")[0] == 0


def test_what_decides_no_answer_keeps_no_run_from_being_resumed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    arguments = ("run", "--questions", questions, "--out", tmp_path / "run")
    assert atomr_eval(capsys, *arguments, "--limit", 1)[0] == 0
    file = tmp_path / "run" / "run.json"
    begun = json.loads(file.read_text())
    assert not {"ui", "history"} & begun["settings"].keys()
    monkeypatch.setenv("ATOMR_UI__THEME", "atomr-light")
    monkeypatch.setenv("ATOMR_HISTORY__KEEP", "false")
    assert atomr_eval(capsys, *arguments, "--limit", 2)[0] == 0
    # An earlier version wrote them down.
    begun["settings"] |= {"ui": {"theme": "", "tree_share": 40}, "history": {"keep": True}}
    file.write_text(json.dumps(begun))
    assert atomr_eval(capsys, *arguments)[0] == 0
    assert assistant.asked == ["One?", "Two?", "Three?"]


def test_no_secret_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("ATOMR_ENDPOINT__API_KEY", "s3cret")
    assert atomr_eval(capsys, "run", "--questions", questions, "--out", tmp_path / "run")[0] == 0
    assert all("s3cret" not in file.read_text() for file in (tmp_path / "run").iterdir())


def test_strategies_without_sources_open_no_index(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant
) -> None:
    arguments = ("run", "--questions", questions, "--out", tmp_path / "run", "--strategy", "closed-book")
    assert atomr_eval(capsys, *arguments, "--text-index", "absent")[0] == 0
    assert assistant.opened[0].sources == ()  # type: ignore[attr-defined]


def test_given_plans(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant
) -> None:
    plans = write_lines(tmp_path / "plans.jsonl", {"id": "q3", "plan": PLAN}, {"id": "elsewhere", "plan": "not read"})
    arguments = ("run", "--questions", questions, "--out", tmp_path / "run", "--plans", plans)
    status, out, err = atomr_eval(capsys, *arguments)
    assert status == 0
    assert json.loads(out)["n"] == 1
    assert "2 questions without a plan are left out" in err
    (plan,) = assistant.plans
    assert plan is not None
    assert (plan.question, len(plan)) == ("Three?", 3)
    assert read_lines(tmp_path / "run" / "traces.jsonl")[0]["plan"]["origin"] == "file"

    write_lines(plans, {"id": "q3", "plan": PLAN.replace("Ann", "Eve")})
    status, _, err = atomr_eval(capsys, *arguments)
    assert status == 1
    assert "plans.sha256 was" in err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"id": "q1", "plan": "1. x = Find(7)"}, "plans.jsonl:1: the plan is not valid"),
        (
            {"id": "q1", "plan": "1. Who is [2]? = Search([2])\n2. Who is [1]? = Search([1])"},
            "plans.jsonl:1: the plan is not valid",
        ),
        ({"id": "q1"}, 'plans.jsonl:1: "plan" is missing'),
        ({"id": "other", "plan": PLAN}, "has no plan for any"),
        ("{", "plans.jsonl:1: not valid JSON"),
    ],
)
def test_bad_plans(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant,
    line: dict[str, Any] | str, told: str,
) -> None:  # fmt: skip
    plans = write_lines(tmp_path / "plans.jsonl", line)
    arguments = ("run", "--questions", questions, "--out", tmp_path / "run", "--plans", plans)
    status, _, err = atomr_eval(capsys, *arguments)
    assert status == 1
    assert told in err
    assert not (tmp_path / "run").exists()
    assert assistant.asked == []
    assert "does not run plans" in atomr_eval(capsys, *arguments, "--strategy", "rag")[2]


def test_gold_plans_are_checked_before_anything_is_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant
) -> None:
    out_dir, gold = tmp_path / "run", write_lines(tmp_path / "gold.jsonl", {"id": "q1", "plan": "1. Who is [7]?"})
    arguments = ("run", "--questions", questions, "--out", out_dir, "--gold-plans", gold)
    status, _, err = atomr_eval(capsys, *arguments)
    assert status == 1
    assert "gold.jsonl:1: the plan is not valid" in err
    assert assistant.asked == []

    write_lines(gold, {"id": "q1", "plan": '1. a = Search("c")'}, {"id": "q2", "plan": PLAN})
    assert atomr_eval(capsys, *arguments)[0] == 0
    figures = json.loads((out_dir / "report.json").read_text())["plans"]
    assert (figures["with_gold"], figures["plan_structure_equal"]["value"]) == (2, 50.0)
    plain = json.loads(atomr_eval(capsys, "report", out_dir, "--json")[1])["plans"]
    assert (plain["with_gold"], plain["plan_structure_equal"]) == (0, None)
    again = json.loads(atomr_eval(capsys, "report", out_dir, "--gold-plans", gold, "--json")[1])["plans"]
    assert again == figures


def test_an_interrupt_ends_with_130_and_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    assistant.answers["Two?"] = interrupt
    arguments = ("run", "--questions", questions, "--out", tmp_path / "run")
    status, out, err = atomr_eval(capsys, *arguments)
    assert (status, out) == (130, "")
    assert "run the same command again to resume" in err
    assistant.answers["Two?"] = ["Bob"]
    printed = json.loads(atomr_eval(capsys, *arguments)[1])
    assert (printed["n"], printed["f1"], printed["precision"], printed["coverage"]) == (3, 66.67, 100.0, 66.67)


def test_bad_input_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, questions: Path, assistant: FakeAssistant
) -> None:
    out = tmp_path / "run"
    for bad, status in (
        (("--questions", tmp_path / "absent.jsonl", "--out", out), 1),
        (("--questions", questions, "--out", out, "--offset", 9), 1),
        (("--questions", questions, "--out", out, "--strategy", "psychic"), 1),
        (("--questions", questions, "--out", out, "--text-index", "absent"), 1),
        (("--questions", questions, "--out", out, "--limit", 0), 2),
        (("--questions", questions, "--out", out, "--sources", "web"), 2),
        (("--questions", questions), 2),
    ):
        assert atomr_eval(capsys, "run", *bad)[0] == status
        assert not out.exists()


@pytest.mark.parametrize("command", [(), ("run",), ("score",), ("report",), ("compare",)])
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    status, out, _ = atomr_eval(capsys, *command, "--help")
    assert status == 0
    assert "Example: atomr eval" in out
