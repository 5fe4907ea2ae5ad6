"""The sandbox is attacked: a child that stalls, floods, crashes, lies or stays costs its answer and no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT, TESTS

from atomr_local.errors import Cancelled
from atomr_local.system import sandbox
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sandbox import Limits, Sandbox, message

linux = pytest.mark.skipif(sys.platform != "linux", reason="what only Linux does")
Make = Callable[..., Sandbox]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes sandboxes of functions of `support.sandboxed`."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    made: list[Sandbox] = []

    def sandboxed(function: str, task: Any = None, limits: Limits | None = None, **options: Any) -> Sandbox:
        made.append(Sandbox(f"support.sandboxed:{function}", lambda: task, limits or Limits(), **options))
        return made[-1]

    yield sandboxed
    for one in made:
        one.close()


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and that nobody waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def soon_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while alive(pid):
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.02)


def test_messages_go_both_ways_and_the_process_stays(make: Make) -> None:
    child = make("echo", {"é": 1})
    assert child.process is None, "none before the first message"
    for content in ("\ud800\u2028", [], 0, "x" * 3_000_000):
        child.send(message(content))
        assert child.receive(60.0) == [{"é": 1}, content]
    process = child.process
    assert process is not None and child.alive()
    child.close()
    assert process.returncode is not None and not child.alive()
    child.close()
    child.send(message(2))
    assert child.receive(60.0) == [{"é": 1}, 2]


def test_many_messages_sent_ahead_do_not_block_the_two(make: Make) -> None:
    child = make("echo")
    long = message("x" * 1_000_000)
    for _ in range(20):
        child.send(long)
    assert all(child.receive(60.0) == [None, "x" * 1_000_000] for _ in range(20))


def test_a_file_comes_as_a_descriptor(make: Make, tmp_path: Path) -> None:
    child = make("read_files", takes_files=True)
    for number in range(3):
        (tmp_path / "a").write_text(f"content {number}")
        with (tmp_path / "a").open("rb") as stream:
            child.send(message(number), stream.fileno())
            assert child.receive(60.0) == [number, f"content {number}"]
        child.close()


@linux
def test_limits_hold(make: Make, tmp_path: Path) -> None:
    child = make("told_of_limits", str(tmp_path), limits=Limits(memory=1 << 30))
    child.send(message(0))
    assert child.receive(60.0) == {
        "memory": "MemoryError", "small file": "", "file": "OSError", "size": 1 << 20,
        "sockets": ["PermissionError"] * 3, "below Python": -1, "in a child": 1, "core": [0, 0],
        "descriptors": "OSError",
    }  # fmt: skip
    free = make("told_of_limits", str(tmp_path), limits=Limits(file_size=None, descriptors=None, sockets=True))
    free.send(message(0))
    found = free.receive(60.0)
    assert found is not None
    assert (found["memory"], found["file"], found["size"], found["in a child"]) == ("", "", 2 << 20, 0)
    assert found["sockets"][0] == "" and found["below Python"] >= 0


def test_processor_time_is_bounded_for_a_message_and_for_all(make: Make) -> None:
    for child in (make("spin", 0.2), make("spin", 100, Limits(processor=1))):
        child.send(message(0))
        assert child.receive(60.0) is None
        end = child.ended()
        assert end.out_of_time and not end.late and end.ready
        assert end.status in (-signal.SIGPROF, -signal.SIGXCPU)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
        ("sys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("raise ValueError('no')", 1),
        ("parent.write(b'no JSON'); time.sleep(600)", -signal.SIGKILL),
        ("parent.write(b'[' * 1_000_000); time.sleep(600)", -signal.SIGKILL),
        ("os.write(parent._answers, LENGTH.pack(LONGEST + 1)); time.sleep(600)", -signal.SIGKILL),
        ("os.write(parent._answers, LENGTH.pack(0)); time.sleep(600)", -signal.SIGKILL),
        ("os.write(parent._answers, LENGTH.pack(100) + b'half'); os._exit(5)", 5),
    ],
)
def test_what_is_no_message_is_the_end_and_another_process_begins(
    make: Make, monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    monkeypatch.setattr(sandbox, "_GRACE", 1.0)
    child = make("run", f"if next(iter(parent)): {code}\nparent.send('fine')")
    child.send(message(1))
    assert child.receive(60.0) is None
    assert child.ended().status == status
    assert child.process is None
    child.send(message(0))
    assert child.receive(60.0) == "fine"


def test_who_floods_its_messages_stays_within_bounds(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "LONGEST", 1 << 20)
    monkeypatch.setattr(sandbox, "_GRACE", 1.0)
    child = make(
        "run", "os.write(parent._answers, message({}))\nwhile True: os.write(parent._answers, bytes([255]) * 65536)"
    )
    child.launch()
    assert child.receive(60.0) is None
    assert len(child._incoming) <= (1 << 20) + (1 << 17)
    assert child.ended().status == -signal.SIGKILL


def test_what_it_prints_is_kept_to_its_end_and_stalls_nobody(make: Make) -> None:
    code = "next(iter(parent)); print('x' * 5_000_000); os.write(2, b'y' * 5_000_000); print('last', flush=True)"
    child = make("run", f"{code}; parent.send(1); sys.exit('out of order')")
    child.send(message(0))
    assert child.receive(60.0) == 1
    assert child.receive(60.0) is None
    said = child.ended().said
    assert said.endswith("last\nout of order") and len(said) <= sandbox._SAID


def test_who_takes_too_long_is_ended_with_all_that_it_started(make: Make) -> None:
    code = (
        "parent.send(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True: pass"
    )
    child = make("run", code)
    child.launch()
    grandchild = child.receive(60.0)
    assert grandchild is not None and alive(grandchild)
    assert child.receive(0.3) is None
    end = child.ended()
    assert (end.late, end.out_of_time, end.status) == (True, True, -signal.SIGKILL)
    soon_gone(grandchild)


def test_who_leaves_a_process_behind_takes_it_along(make: Make) -> None:
    code = "parent.send(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"
    child = make("run", code)
    child.launch()
    grandchild = child.receive(60.0)
    assert grandchild is not None
    assert child.receive(60.0) is None
    assert child.ended().status == 0
    soon_gone(grandchild)


def test_who_closes_its_pipe_and_stays_is_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_GRACE", 0.3)
    child = make("run", "parent.send(1); os.close(parent._answers); time.sleep(600)")
    child.launch()
    assert child.receive(60.0) == 1
    assert child.receive(60.0) is None
    assert child.ended().status == -signal.SIGKILL


def test_cancelling_ends_it(make: Make) -> None:
    child = make("run", "parent.send(os.getpid()); time.sleep(600)")
    child.launch()
    pid = child.receive(60.0)
    cancellation = Cancellation()
    threading.Timer(0.2, cancellation.cancel).start()
    with pytest.raises(Cancelled):
        child.receive(60.0, cancellation)
    assert child.process is None and pid is not None and not alive(pid)


def test_it_can_be_killed_from_another_thread_while_it_is_sent_to(make: Make) -> None:
    child = make("run", "next(iter(parent)); time.sleep(600)")
    child.start()
    threading.Timer(0.3, child.kill).start()
    child.send(message("x" * 30_000_000))
    assert child.receive(60.0) is None
    assert child.ended().status == -signal.SIGKILL


def test_what_does_not_start_is_told_in_the_words_of_the_caller(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = make("run", "raise SystemExit('out of order')", unstarted=lambda why: ValueError(f"the reader {why}"))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"the reader does not start: .*out of order"):
            child.start()
    wordless = make("nothing of this name")
    wordless.start()
    wordless.send(message(0))
    assert wordless.receive(60.0) is None
    end = wordless.ended()
    assert not end.ready and end.status == 1 and "AttributeError" in end.said
    monkeypatch.setattr(sandbox.sys, "executable", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"the reader cannot be started: .*none"):
        child.start()
    with pytest.raises(OSError, match="none"):
        wordless.launch()


@linux
@pytest.mark.parametrize("limits", ["Limits()", "Limits(one_thread=True, sockets=True, descriptors=None)"])
@pytest.mark.parametrize("busy", ["next(iter(parent))", "while True: pass", "time.sleep(600)"])
def test_it_ends_with_its_parent_however_that_ends(limits: str, busy: str) -> None:
    code = f"parent.send(1)\n{busy}"
    code = (
        "import time\n"
        "from atomr_local.system.sandbox import Limits, Sandbox\n"
        f"child = Sandbox('support.sandboxed:run', lambda: {code!r}, {limits})\n"
        "child.launch()\n"
        "assert child.receive(60.0) == 1\n"
        "print(child.process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    places = os.pathsep.join([str(TESTS), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": places}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    soon_gone(pid)


def test_nothing_is_imported_from_the_current_directory(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "socket", "atomr_local"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    child = make("run", "parent.send([sys.stdin.read(), os.getsid(0) == os.getpid()])")
    child.launch()
    assert child.receive(60.0) == ["", True], "no input, and a session of its own"
