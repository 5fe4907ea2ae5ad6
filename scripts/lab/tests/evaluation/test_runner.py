"""Runs that are begun, interrupted, killed, resumed and refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from atomr_lab.evaluation.datasets import GoldFact, Question
from atomr_lab.evaluation.runs import Progress, RunDirectory, run, writing
from support.eval_fakes import FakeAssistant, make_trace, read_lines
from support.places import TESTS

from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.reasoning.trace.schema import Trace

QUESTIONS = [
    Question("q1", "One?", ("Ann",), "bridge", ("Ann",), (GoldFact("Film", "director", "Ann"),)),
    Question("q2", "Two?", ("Bob",)),
    Question("q3", "Three?", ("Cid",)),
]
ANSWERS: dict[str, Any] = {"One?": ["Ann"], "Two?": [], "Three?": ["Cid", "Dee"]}
DESCRIPTION = {"settings": {"strategy": "atomr", "limits": {"nodes": 40}}, "questions": {"sha256": "ab"}}


def go(out: Path, answers: dict[str, Any] = ANSWERS, **options: Any) -> FakeAssistant:
    assistant = FakeAssistant(answers)
    run(assistant, QUESTIONS, out, **{"description": DESCRIPTION} | options)
    return assistant


def raising(error: BaseException) -> Any:
    def throw() -> None:
        raise error

    return throw


def test_a_whole_run(tmp_path: Path) -> None:
    seen: list[Progress] = []
    go(tmp_path / "new" / "run", on_progress=seen.append)
    predictions = read_lines(tmp_path / "new" / "run" / "predictions.jsonl")
    assert [(line["id"], line["predicted"], line["gold"]) for line in predictions] == [
        ("q1", "Ann", ["Ann"]),
        ("q2", "", ["Bob"]),  # Unknown
        ("q3", "Cid, Dee", ["Cid"]),
    ]
    assert [(line["em"], line["cover_em"], line["f1"]) for line in predictions] == [
        (1, 1, 1),
        (0, 0, 0),
        (0, 1, 0.6667),
    ]
    assert predictions[0]["evidences"] == [["Film", "director", "Ann"]]
    assert predictions[1]["status"] == "unknown"
    traces = read_lines(tmp_path / "new" / "run" / "traces.jsonl")
    assert [trace["id"] for trace in traces] == ["q1", "q2", "q3"]
    assert traces[0]["schema"] == "atomr.trace/1"
    assert [(step.done, step.total, step.resumed) for step in seen] == [(1, 3, 0), (2, 3, 0), (3, 3, 0)]


def test_each_question_is_on_disk_before_the_next_is_asked(tmp_path: Path) -> None:
    counts: list[int] = []

    def count() -> list[str]:
        counts.append(len(read_lines(tmp_path / "predictions.jsonl")))
        return ["x"]

    go(tmp_path, ANSWERS | {"Two?": count, "Three?": count})
    assert counts == [1, 2]


def test_resuming_asks_only_what_is_left(tmp_path: Path) -> None:
    with pytest.raises(Cancelled, match="to resume"):
        go(tmp_path, ANSWERS | {"Three?": raising(KeyboardInterrupt())})
    before = (tmp_path / "predictions.jsonl").read_bytes()
    seen: list[Progress] = []
    assert go(tmp_path, on_progress=seen.append).asked == ["Three?"]
    assert (tmp_path / "predictions.jsonl").read_bytes().startswith(before)
    assert [(step.done, step.resumed) for step in seen] == [(3, 2)]
    assert go(tmp_path).asked == []


def test_an_interrupt_cancels_the_question_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    assistant = FakeAssistant(ANSWERS | {"Two?": raising(KeyboardInterrupt())})
    with pytest.raises(Cancelled):
        run(assistant, QUESTIONS, tmp_path, description=DESCRIPTION)
    assert assistant.cancelled == 1
    assert [item.id for item in RunDirectory(tmp_path).predictions()] == ["q1"]


def test_a_cancelled_trace_ends_the_run_too(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        go(tmp_path, ANSWERS | {"Two?": make_trace("Two?", [], status="cancelled")})
    assert len(read_lines(tmp_path / "predictions.jsonl")) == len(read_lines(tmp_path / "traces.jsonl")) == 1


@pytest.mark.parametrize("file", ["predictions.jsonl", "traces.jsonl"])
@pytest.mark.parametrize("torn", [b"", b"{", b'{"id": "q9", "question": "\xc3', b"[" * 200_000])
def test_a_torn_last_line_is_mended(tmp_path: Path, file: str, torn: bytes) -> None:
    with pytest.raises(Cancelled):
        go(tmp_path, ANSWERS | {"Three?": raising(KeyboardInterrupt())})
    with (tmp_path / file).open("ab") as stream:
        stream.write(torn)
    assert go(tmp_path).asked == ["Three?"]
    assert [line["id"] for line in read_lines(tmp_path / file)] == ["q1", "q2", "q3"]


def test_a_first_line_that_is_torn_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        go(tmp_path, {"One?": raising(KeyboardInterrupt())})
    (tmp_path / "predictions.jsonl").write_bytes(b'{"id": "q1"')
    assert go(tmp_path).asked == ["One?", "Two?", "Three?"]


def test_a_trace_without_its_prediction_is_made_again(tmp_path: Path) -> None:
    go(tmp_path)
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "predictions.jsonl").write_text("".join(lines[:2]))
    assert go(tmp_path).asked == ["Three?"]
    assert [line["id"] for line in read_lines(tmp_path / "traces.jsonl")] == ["q1", "q2", "q3"]


def test_a_prediction_without_its_trace_is_refused(tmp_path: Path) -> None:
    go(tmp_path)
    lines = (tmp_path / "traces.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "traces.jsonl").write_text("".join(lines[:2]))
    with pytest.raises(InputError, match="lacks the trace of 'q3'"):
        go(tmp_path)


def test_damage_before_the_last_line_is_told_not_mended(tmp_path: Path) -> None:
    go(tmp_path)
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "predictions.jsonl").write_text("".join([lines[0], "{oops\n", lines[2]]))
    with pytest.raises(InputError, match=r"predictions\.jsonl:2: not valid JSON"):
        go(tmp_path)
    assert "oops" in (tmp_path / "predictions.jsonl").read_text()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"settings": {"strategy": "rag", "limits": {"nodes": 40}}}, 'settings.strategy was "atomr", is now "rag"'),
        ({"settings": {"strategy": "atomr", "limits": {"nodes": 9}}}, "settings.limits.nodes was 40, is now 9"),
        ({"plans": {"sha256": "x"}}, 'plans was (not there), is now {"sha256": "x"}'),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    go(tmp_path)
    with pytest.raises(InputError) as caught:
        go(tmp_path, description=DESCRIPTION | changed)
    assert told in caught.value.message
    assert caught.value.hint


FIRST, SECOND = ({"version": "0.1.0", "commit": commit, "changed": False} for commit in ("ab" * 20, "cd" * 20))


def programs(out: Path) -> Any:
    return json.loads((out / "run.json").read_text()).get("programs")


def test_every_version_that_answered_is_named_once(tmp_path: Path) -> None:
    """Another version goes on with a run, and is named from its first answer on."""
    with pytest.raises(Cancelled):
        go(tmp_path, ANSWERS | {"Two?": raising(KeyboardInterrupt())}, description=DESCRIPTION | {"programs": [FIRST]})
    assert programs(tmp_path) == [FIRST]
    second = DESCRIPTION | {"programs": [SECOND]}
    with pytest.raises(Cancelled):
        go(tmp_path, ANSWERS | {"Two?": raising(KeyboardInterrupt())}, description=second)
    assert programs(tmp_path) == [FIRST], "it has answered nothing"
    assert go(tmp_path, description=second).asked == ["Two?", "Three?"]
    assert programs(tmp_path) == [FIRST, SECOND]
    go(tmp_path, description=DESCRIPTION | {"programs": [FIRST]})
    assert programs(tmp_path) == [FIRST, SECOND]


def test_a_run_of_a_version_that_did_not_name_itself_goes_on(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        go(tmp_path, ANSWERS | {"Three?": raising(KeyboardInterrupt())})
    assert programs(tmp_path) is None
    assert go(tmp_path, description=DESCRIPTION | {"programs": [SECOND]}).asked == ["Three?"]
    assert programs(tmp_path) == [None, SECOND]


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "predictions.jsonl").write_text("")
    with pytest.raises(InputError, match=r"no run\.json"):
        go(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json cannot be read"):
        go(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        go(file)


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    with writing(tmp_path, DESCRIPTION), pytest.raises(InputError, match="another evaluation"):
        go(tmp_path)
    assert go(tmp_path).asked == ["One?", "Two?", "Three?"]


@pytest.mark.parametrize(
    "failure",
    [
        raising(AtomrError("the model broke")),
        raising(ZeroDivisionError("a bug")),
        make_trace("Two?", [], status="failed", warnings=["the model broke"]),
    ],
)
def test_a_question_that_fails_is_an_empty_prediction(tmp_path: Path, failure: Any) -> None:
    go(tmp_path, ANSWERS | {"Two?": failure})
    lines = read_lines(tmp_path / "predictions.jsonl")
    assert [(line["predicted"], line["status"]) for line in lines][1] == ("", "failed")
    assert len(lines) == 3
    assert read_lines(tmp_path / "traces.jsonl")[1]["warnings"]


def test_failures_in_a_row_stop_the_run_and_are_not_kept(tmp_path: Path) -> None:
    many = [Question(f"q{n}", f"{n}?", ("x",)) for n in range(9)]
    answers: dict[str, Any] = {item.question: raising(AtomrError("no memory")) for item in many} | {"0?": ["x"]}
    assistant = FakeAssistant(answers)
    with pytest.raises(AtomrError, match=r"5 questions in a row failed, the last with: .*no memory"):
        run(assistant, many, tmp_path, description=DESCRIPTION)
    assert len(assistant.asked) == 6
    assert [item.id for item in RunDirectory(tmp_path).predictions()] == ["q0"]


def test_what_runs_before_is_skipped_when_nothing_is_left(tmp_path: Path) -> None:
    calls: list[int] = []
    go(tmp_path, before=lambda: calls.append(1))
    go(tmp_path, before=lambda: calls.append(1))
    assert calls == [1]


def test_text_that_is_not_unicode_survives(tmp_path: Path) -> None:
    trace: Trace = make_trace("Two?", ["\ud800 Bob\u2028x"])
    go(tmp_path, ANSWERS | {"Two?": trace})
    assert RunDirectory(tmp_path).predictions()[1].predicted == "\ud800 Bob\u2028x"
    assert go(tmp_path).asked == []


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    script = textwrap.dedent(
        f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {str(TESTS)!r})
        from support.eval_fakes import FakeAssistant
        from atomr_lab.evaluation.datasets import Question
        from atomr_lab.evaluation.runs import run

        questions = [Question(f"q{{n}}", f"{{n}}?", ("x",)) for n in range(400)]
        asked = []
        def slow():
            asked.append(1)
            time.sleep(0.01 if len(asked) < 390 else 600)  # it is killed at work, never when all is done
            return ["x" * 5000]
        assistant = FakeAssistant({{item.question: slow for item in questions}})
        run(assistant, questions, Path({str(out)!r}), description={{}})
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script])
    try:
        deadline = time.monotonic() + 120
        file = out / "predictions.jsonl"
        while not (file.exists() and file.read_bytes().count(b"\n") >= 3):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    questions = [Question(f"q{n}", f"{n}?", ("x",)) for n in range(400)]
    assistant = FakeAssistant({item.question: ["x"] for item in questions})
    run(assistant, questions, out, description={})
    ids = [json.loads(line)["id"] for line in file.read_text().splitlines()]
    assert ids == [item.id for item in questions]
    assert 0 < len(assistant.asked) <= 397
    assert [trace["id"] for trace in RunDirectory(out).traces()] == ids


@pytest.mark.parametrize("name", ["predictions.jsonl", "traces.jsonl", "run.json", ".lock"])
def test_a_run_does_not_write_into_pipes(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=f"{name} is not a regular file"):
        go(tmp_path)


def test_a_device_is_no_directory_for_a_run() -> None:
    with pytest.raises(InputError, match="/dev/full cannot be written: it is not a directory"):
        go(Path("/dev/full"))


def test_a_line_that_could_not_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    script = (
        "import json, resource, signal, sys\nfrom pathlib import Path\n"
        "from atomr_lab.evaluation.runs import writing\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "def add(i, size):\n    run.add({'id': f'q{i}', 'question': '?', 'predicted': 'x' * size, 'gold': ['x']}, {'id': f'q{i}'})\n"
        "with writing(Path(sys.argv[1]), {}) as run:\n"
        "    add(0, 10)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"
        "    try:\n        add(1, 9000)\n    except OSError:\n        print('told')\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "    add(2, 10)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("told\n", "")
    assert [item.id for item in RunDirectory(tmp_path).predictions()] == ["q0", "q2"]
