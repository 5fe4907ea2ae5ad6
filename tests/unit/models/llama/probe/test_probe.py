"""The probe's parent: what it makes of children that die, and what it remembers. The child here is a few lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from atomr_local.errors import Cancelled, ModelError
from atomr_local.models.llama import RunOptions, probe
from atomr_local.models.llama.probe import (
    Attempt,
    LoadAttempt,
    ProbeTask,
    ProbeVerdict,
    keep_verdict,
    read_verdict,
    run_probe,
    working_way,
)
from atomr_local.system.cancellation import Cancellation

posix = pytest.mark.skipif(os.name != "posix", reason="signals")
CRASHES = ("SIGSEGV", "SIGILL", "SIGABRT", "SIGBUS", "SIGFPE")
VARIANTS = ["zen4", "skylakex", "haswell", "sse42", "x64"]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProbeTask:
    """A task on a model and a library that are files and no more."""
    library = tmp_path / "libllama.so"
    library.write_bytes(b"library")
    monkeypatch.setattr(probe, "_library_files", lambda: [library])
    model = tmp_path / "model.gguf"
    model.write_bytes(b"model")
    return ProbeTask(model, None, RunOptions(storage="Q8_0", cache=tmp_path / "cache"))


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets what the child does; `task`, `parent` and `tell` are there."""

    def does(code: str) -> None:
        begin = "import os, signal, sys, time\ndef run(task, parent):\n    tell = lambda **what: parent.send(what)\n"
        (tmp_path / "probe_child.py").write_text(begin + indent(code, "    "))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(probe, "_CHILD", "probe_child:run")

    return does


@posix
@pytest.mark.parametrize("name", CRASHES)
def test_a_child_that_dies_of_a_signal(name: str, task: ProbeTask, child: Callable[[str], None]) -> None:
    child(f"tell(stage='text')\nprint('GGML_ASSERT(x) failed', flush=True)\nos.kill(os.getpid(), signal.{name})")
    attempt = run_probe(task, LoadAttempt())
    assert (attempt.ended, attempt.stage, attempt.works) == (name, "text", False)
    assert attempt.said == "GGML_ASSERT(x) failed"


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("tell(stage='text', variant='zen4')\ntell(done=True, numbers=True)", "ok"),
        ("tell(done=True, numbers=False)", "not a number"),
        ("tell(stage='model')\ntell(error={'title': 'Model not usable', 'message': 'no'})\nsys.exit(1)", "error"),
        ("tell(stage='model')\nos._exit(3 if os.name != 'nt' else 7)", "exit status 3"),
        ("tell(done=True, numbers=True)\nos.kill(os.getpid(), signal.SIGKILL)", "killed"),
        ("sys.exit(1)", "unknown"),
        ("print('x' * 1_000_000)\nprint('\\x1b]52;c;x\\x07' * 10)\ntell(done=True)", "ok"),
        ("parent.write(b'no JSON')\nsys.exit(1)", "unknown"),
        ("parent.send([1])\nsys.exit(1)", "unknown"),
    ],
)
def test_other_ends_of_a_child(code: str, ended: str, task: ProbeTask, child: Callable[[str], None]) -> None:
    child(code)
    attempt = run_probe(task, LoadAttempt())
    assert attempt.ended == ended
    assert len(attempt.said) <= 500
    assert "\x1b" not in attempt.said


@pytest.mark.slow
def test_a_child_that_hangs_is_killed(task: ProbeTask, child: Callable[[str], None]) -> None:
    child("tell(stage='library', pid=os.getpid())\ntime.sleep(600)")
    attempt = run_probe(task, LoadAttempt(), seconds=1.0)
    assert (attempt.ended, attempt.stage) == ("hang", "library")
    with pytest.raises(ProcessLookupError):
        os.kill(attempt.facts["pid"], 0)


@pytest.mark.slow
def test_what_a_child_waits_for_a_core_is_not_its_own_time(
    task: ProbeTask, child: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    child("tell(stage='library')\ntime.sleep(2)\ntell(done=True)")
    assert run_probe(task, LoadAttempt(), seconds=1.0).ended == "hang"
    monkeypatch.setattr(probe, "_waited_for_core", lambda pid: 60.0)
    assert run_probe(task, LoadAttempt(), seconds=1.0).ended == "ok"
    child("tell(stage='library')\ntime.sleep(600)")
    monkeypatch.setattr(probe, "_MOST_TIMES", 2)
    assert run_probe(task, LoadAttempt(), seconds=1.0).ended == "hang", "however busy the machine is, there is an end"


def test_how_long_a_process_waited_for_a_core_is_known() -> None:
    assert 0.0 <= probe._waited_for_core(os.getpid()) < 3600
    assert probe._waited_for_core(-1) == 0.0


def test_cancelling_ends_the_child(task: ProbeTask, child: Callable[[str], None], tmp_path: Path) -> None:
    child(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntell(stage='library')\ntime.sleep(600)")

    class Watching(Cancellation):
        def on_cancel(self, callback: Callable[[], None]) -> None:
            while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
                time.sleep(0.01)
            super().on_cancel(callback)
            self.cancel()

    with pytest.raises(Cancelled):
        run_probe(task, LoadAttempt(), cancellation=Watching())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@posix
def test_the_child_has_no_terminal_and_no_input_and_is_told_the_way(
    task: ProbeTask, child: Callable[[str], None]
) -> None:
    child(
        "tell(task=task, input=sys.stdin.read(), session=os.getsid(0) == os.getpid(), sharing=os.fstat(1) == os.fstat(2))\n"
        "tell(done=True)"
    )
    facts = run_probe(task, LoadAttempt(extra_buffers=False, prepared=False, cpu_variant="x64", gpu_layers=7)).facts
    assert (facts["input"], facts["session"], facts["sharing"]) == ("", True, True)
    told = facts["task"]["options"]
    assert (told["extra_buffers"], told["storage"], told["cpu_variant"], told["gpu_layers"]) == (False, None, "x64", 7)
    assert run_probe(task, LoadAttempt()).facts["task"]["options"]["storage"] == "Q8_0"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_child_ends_with_its_parent() -> None:
    # The real child, waiting in its first step; its parent is killed.
    code = (
        "import time\n"
        "from pathlib import Path\n"
        "from atomr_local.models.llama import probe\n"
        "from atomr_local.system.sandbox import Sandbox\n"
        "child = Sandbox('time:sleep', lambda: 600, probe._LIMITS)\n"
        "child.launch()\n"
        "time.sleep(2)\n"
        "print(child.process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    for _ in range(600):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the child lives on")


class Children:
    """Stands in for `run_probe`: dies in the ways for which `dies` says so."""

    def __init__(
        self, dies: Callable[[LoadAttempt], str], *, stage: str = "text", variants: list[str] | None = None
    ) -> None:
        self.dies = dies
        self.stage = stage
        self.facts: dict[str, Any] = {"variants": variants, "variant": variants[0]} if variants else {}
        self.ways: list[LoadAttempt] = []

    def __call__(self, _task: ProbeTask, way: LoadAttempt) -> Attempt:
        self.ways.append(way)
        return Attempt(way, self.dies(way) or "ok", self.stage, "said", dict(self.facts))


def test_what_works_at_once_is_remembered_and_nothing_is_said(task: ProbeTask) -> None:
    children, said, probed = Children(lambda _: ""), list[str](), list[int]()
    for _ in range(2):
        assert working_way(task, run=children, notify=said.append, on_probe=lambda: probed.append(1)) == LoadAttempt()
    assert len(children.ways) == len(probed) == 1
    assert said == []


def test_without_extra_buffers_when_the_child_dies_with_them(task: ProbeTask) -> None:
    children, said = Children(lambda way: "SIGSEGV" if way.extra_buffers else ""), list[str]()
    for _ in range(2):
        assert working_way(task, run=children, notify=said.append) == LoadAttempt(extra_buffers=False)
    assert children.ways == [LoadAttempt(), LoadAttempt(extra_buffers=False)]
    assert len(said) == 1  # once, not at every start
    assert "SIGSEGV" in said[0]
    assert "without extra buffer types" in said[0]


def test_without_prepared_weights_next(task: ProbeTask) -> None:
    children = Children(lambda way: "SIGILL" if way.prepared else "")
    assert working_way(task, run=children) == LoadAttempt(extra_buffers=False, prepared=False)


def test_then_simpler_cpu_backends(task: ProbeTask) -> None:
    children = Children(lambda way: "SIGILL" if way.cpu_variant in ("auto", "haswell") else "", variants=VARIANTS)
    assert working_way(task, run=children) == LoadAttempt(extra_buffers=False, prepared=False, cpu_variant="x64")
    assert [way.cpu_variant for way in children.ways] == ["auto", "auto", "auto", "haswell", "x64"]
    assert children.ways[3] == LoadAttempt(cpu_variant="haswell")  # fast again: it is the backend that failed


def with_gpu(dies: Callable[[LoadAttempt], str], stage: str = "text") -> Children:
    children = Children(dies, stage=stage)
    children.facts["gpu"] = True
    return children


@pytest.mark.parametrize("layers", [-1, 12])
def test_a_crash_on_the_gpu_is_tried_on_the_processor_next_and_said(layers: int, task: ProbeTask) -> None:
    task = replace(task, options=replace(task.options, gpu_layers=layers))
    children, said = with_gpu(lambda way: "SIGABRT" if way.gpu_layers else ""), list[str]()
    for _ in range(2):
        assert working_way(task, run=children, notify=said.append) == LoadAttempt(gpu_layers=0)
    assert children.ways == [LoadAttempt(gpu_layers=layers), LoadAttempt(gpu_layers=0)]
    assert len(said) == 1
    assert "on the processor alone" in said[0]


def test_on_the_processor_it_goes_on_with_simpler_ways(task: ProbeTask) -> None:
    children = with_gpu(lambda way: "SIGSEGV" if way.gpu_layers or way.extra_buffers else "", stage="model")
    assert working_way(task, run=children) == LoadAttempt(extra_buffers=False, gpu_layers=0)
    assert [way.gpu_layers for way in children.ways] == [-1, 0, 0]


def test_weights_that_cannot_be_prepared_are_not_tried_twice(task: ProbeTask) -> None:
    children = Children(lambda way: "SIGSEGV" if way.prepared else "", stage="weights")
    assert working_way(task, run=children) == LoadAttempt(extra_buffers=False, prepared=False)
    assert len(children.ways) == 2


def test_a_library_that_cannot_be_loaded_is_tried_with_other_backends_only(task: ProbeTask) -> None:
    children = Children(lambda _: "SIGILL", stage="library", variants=VARIANTS)
    with pytest.raises(ModelError):
        working_way(task, run=children)
    assert [way.cpu_variant for way in children.ways] == ["auto", "haswell", "x64"]


def test_no_way_works(task: ProbeTask) -> None:
    children = Children(lambda _: "SIGSEGV")
    with pytest.raises(ModelError) as error:
        working_way(task, run=children)
    assert "SIGSEGV" in error.value.message
    assert "model.gguf" in error.value.message
    assert "\n" not in error.value.message + error.value.hint
    assert "PIP_NO_CACHE_DIR" in error.value.hint
    assert len(children.ways) == 3
    with pytest.raises(ModelError):  # found out anew: the cause may be gone
        working_way(task, run=children)
    assert len(children.ways) == 6


def test_what_llama_cpp_says_of_a_file_that_it_refuses_is_told(task: ProbeTask) -> None:
    with pytest.raises(ModelError, match=r"SIGABRT.*while it loaded the model: said") as error:
        working_way(task, run=Children(lambda _: "SIGABRT", stage="model"))
    assert "damaged" in error.value.hint


def test_two_hangs_are_enough(task: ProbeTask) -> None:
    children = Children(lambda _: "hang")
    with pytest.raises(ModelError, match="did not come to an end"):
        working_way(task, run=children)
    assert len(children.ways) == 2


def test_a_killed_child_is_lack_of_memory_and_not_remembered(task: ProbeTask) -> None:
    with pytest.raises(ModelError, match="killed") as error:
        working_way(task, run=Children(lambda _: "killed"))
    assert "memory" in error.value.hint
    assert working_way(task, run=Children(lambda _: "")) == LoadAttempt()


@pytest.mark.parametrize("ended", ["error", "unknown"])
def test_what_loading_will_tell_is_left_to_it(ended: str, task: ProbeTask) -> None:
    children = Children(lambda _: ended)
    for count in (1, 2):
        assert working_way(task, run=children) == LoadAttempt()
        assert len(children.ways) == count


@pytest.mark.parametrize(
    "change", ["library", "model", "adapter", "processor", "storage", "cpu_variant", "threads", "gpu_layers"]
)
def test_what_the_verdict_rests_on(change: str, task: ProbeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    library = task.model.with_name("libllama.so")
    options = {"storage": "Q4_0", "cpu_variant": "haswell", "threads": 3, "gpu_layers": 3}
    working_way(task, run=Children(lambda _: ""))
    if change in ("library", "model"):
        os.utime(task.model if change == "model" else library, ns=(1, 1))
    if change == "adapter":
        task = replace(task, adapter=library)
    if change in options:
        task = replace(task, options=replace(task.options, **{change: options[change]}))
    if change == "processor":
        flags = probe.read_processor().flags ^ {"amx_tile"}
        found = probe.read_processor()
        monkeypatch.setattr(probe, "read_processor", lambda: type(found)(found.model, flags, found.machine))
    children = Children(lambda _: "")
    working_way(task, run=children)
    assert len(children.ways) == 1


def test_without_a_library_or_a_model_loading_tells(task: ProbeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_task: ProbeTask, _way: LoadAttempt) -> Attempt:
        raise AssertionError

    task.model.unlink()
    assert working_way(task, run=never) == LoadAttempt()
    task.model.touch()
    monkeypatch.setattr(probe, "_library_files", list)
    assert working_way(task, run=never) == LoadAttempt()


VERDICT = ProbeVerdict(LoadAttempt(extra_buffers=False), (Attempt(LoadAttempt(), "SIGSEGV", "text", "said"),))


def test_a_verdict_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "probes" / "v.json"
    keep_verdict(file, VERDICT)
    assert read_verdict(file) == VERDICT
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "null", "{}", '{"schema": "atomr.probe/2"}', "[" * 60_000, '"' + "x" * 100_000 + '"',
        json.dumps({"schema": "atomr.probe/1", "failed": [], "way": {"extra_buffers": 1, "prepared": True,
                    "cpu_variant": "auto"}}),
        json.dumps({"schema": "atomr.probe/1", "failed": {}, "way": None}),
        json.dumps({"schema": "atomr.probe/1", "failed": [3], "way": {"extra_buffers": True, "prepared": True,
                    "cpu_variant": "auto"}}),
    ],
)  # fmt: skip
def test_a_damaged_verdict_is_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(content)
    assert read_verdict(tmp_path / "v.json") is None


def test_a_damaged_verdict_is_found_out_anew(task: ProbeTask) -> None:
    working_way(task, run=Children(lambda _: ""))
    (file,) = (task.options.cache / "probes").iterdir()
    file.write_bytes(file.read_bytes()[:40])
    children = Children(lambda _: "")
    working_way(task, run=children)
    assert len(children.ways) == 1
    assert read_verdict(file) == ProbeVerdict(LoadAttempt())


def test_a_cache_that_cannot_be_written_is_no_error(task: ProbeTask) -> None:
    task.options.cache.write_text("a file where a directory should be")
    assert working_way(task, run=Children(lambda _: "")) == LoadAttempt()


def test_old_verdicts_go(tmp_path: Path) -> None:
    for number in range(40):
        file = tmp_path / f"{number:02}.json"
        keep_verdict(file, VERDICT)
        os.utime(file, (number, number))
    keep_verdict(tmp_path / "new.json", VERDICT)
    assert len(list(tmp_path.iterdir())) == 30
    assert (tmp_path / "new.json").exists()
