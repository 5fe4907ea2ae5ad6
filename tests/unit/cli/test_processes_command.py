"""`atomr processes` as a command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from atomr_local.assistant.assistant import Assistant
from atomr_local.cli.commands.processes import processes
from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.strategies.processes.process import Process
from atomr_local.system import paths

QUESTION = "Who directed Emma Road?"


def run(*arguments: str, given: str | None = None) -> str:
    return CliRunner().invoke(processes, arguments, input=given, catch_exceptions=False).output


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """Processes that were done again; each step then has an observation of its own."""
    made: list[Process] = []

    def do_again(_self: Assistant, process: Process) -> Process:
        made.append(process)
        if any("Rome" in step.input for step in process.steps):
            raise InputError("the process does not hold: step 1")
        steps = tuple(step.model_copy(update={"observation": f"seen with {step.action}"}) for step in process.steps)
        return process.model_copy(update={"steps": steps})

    monkeypatch.setattr(Assistant, "do_again", do_again)
    return made


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    return written(tmp_path / "trace.json", trace_of(("search", "Emma Road"), ("finish", "Ann Lee | none")))


def trace_of(*actions: tuple[str, str], strategy: str = "humaniq") -> Trace:
    nodes = [NodeTrace(0, None, QUESTION, "root")]
    for number, (name, what) in enumerate(actions, 1):
        nodes.append(NodeTrace(number, 0, QUESTION, "step", thought="so", action={"name": name, "input": what}))
    return Trace(QUESTION, strategy, {}, "answered", answer="Ann Lee", answers=["Ann Lee"], nodes=nodes)


def written(path: Path, *traces: Trace) -> Path:
    path.write_text("\n".join(json.dumps(trace.to_dict()) for trace in traces), encoding="utf-8")
    return path


def test_add_list_show_remove(trace_file: Path) -> None:
    assert "No processes" in run("list")
    told = run("add", str(trace_file))
    assert "Observation: seen with search" in told and "the strategy humaniq shows it" in told
    assert run("list").startswith(f"1. {QUESTION}  (humaniq, 2 steps)")
    [kept] = json.loads(run("list", "--json"))
    assert (kept["number"], kept["answer"], kept["steps"][0]["observation"]) == (1, "Ann Lee", "seen with search")
    assert run("show", "1").startswith(f"Method: humaniq\nQuestion: {QUESTION}\n\nThought: so\nAction: search")
    assert "ships" in run("list", "--all")
    run("remove", "1")
    assert "No processes" in run("list")


def test_a_corrected_process_takes_the_place_of_the_old_one(trace_file: Path, seen: list[Process]) -> None:
    run("add", str(trace_file))
    text = run("show", "1").replace("Thought: so", "Thought: better", 1).replace("directed", "made")
    run("edit", "1", "--text", "-", given=text)
    [kept] = json.loads(run("list", "--json"))
    assert kept["question"] == "Who made Emma Road?" and kept["steps"][0]["thought"] == "better"
    assert len(seen) == 2, "observations are made again"


def test_in_the_editor(trace_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def edit(text: str, **_given: Any) -> str | None:
        shown.append(text)
        return text.replace("Thought: so", "Thought: edited", 1)

    monkeypatch.setattr("click.edit", edit)
    run("add", str(trace_file), "--edit")
    assert shown[0].startswith("# Correct the steps.") and "Thought: edited" in run("show", "1")
    monkeypatch.setattr("click.edit", lambda *_args, **_given: None)
    with pytest.raises(InputError, match="nothing was changed"):
        run("edit", "1")


def test_what_does_not_hold_is_not_kept(trace_file: Path) -> None:
    run("add", str(trace_file))
    before = paths.processes_file().read_bytes()
    with pytest.raises(InputError, match="does not hold"):
        run("edit", "1", "--text", "-", given=run("show", "1").replace("Emma Road\n", "Rome\n"))
    with pytest.raises(InputError, match="line 1 begins with none of"):
        run("edit", "1", "--text", "-", given="hello")
    assert paths.processes_file().read_bytes() == before


@pytest.mark.parametrize("command", ["show", "edit", "remove"])
def test_a_number_that_is_not_there_is_told(command: str) -> None:
    with pytest.raises(InputError, match="no process 3"):
        run(command, "3")


@pytest.mark.parametrize(
    ("traces", "problem"),
    [
        ([trace_of(strategy="atomr")], "leaves no process"),
        ([trace_of()], "no steps with tools"),
        ([trace_of(("search", "a")), trace_of(("search", "b"))], "holds 2 traces"),
    ],
)
def test_traces_without_a_process(traces: Sequence[Trace], problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        run("add", str(written(tmp_path / "other.json", *traces)))


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"schema": "atomr.trace/1"}', "[" * 20_000, "\x00\x1b[2J"])
def test_hostile_files(content: str, tmp_path: Path, seen: list[Process]) -> None:
    file = tmp_path / "bad.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        run("add", str(file))
    assert "\x1b" not in raised.value.message.encode("unicode_escape").decode() and not seen
    with pytest.raises(InputError, match="cannot be read"):
        run("add", str(tmp_path / "missing.json"))


def test_a_file_that_is_not_there_is_told_with_where_traces_come_from() -> None:
    with pytest.raises(InputError, match="12b cannot be read: there is no such file") as told:
        run("add", "12b")
    assert "history list" in told.value.hint and "history export" in told.value.hint
