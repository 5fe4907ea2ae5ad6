"""A death by a signal is explained, and the terminal is given back as it was."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

import pytest

from atomr_local.cli import crash_monitor
from atomr_local.cli.crash_monitor import explanation
from atomr_local.cli.main import main

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
START = "import ctypes, os, signal, sys, time\nfrom atomr_local.cli import crash_monitor\ncrash_monitor.start()\n"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGILL", "SIGABRT", "SIGBUS", "SIGFPE"])
def test_each_fatal_signal_is_one_line_and_ends_the_program_as_ever(name: str) -> None:
    done = run(f"print('said', flush=True)\nos.kill(os.getpid(), signal.{name})\ntime.sleep(60)")
    assert done.returncode == -getattr(signal, name)
    assert done.stdout == "said\n"
    assert done.stderr.startswith(f"atomr stopped: a library that it uses crashed ({name}).")
    assert done.stderr.count("\n") == 1


def test_a_real_fault_in_a_thread_names_the_library() -> None:
    done = run(
        "import threading\n"
        "code = compile('ctypes.string_at(0)', '/x/atomr_local/models/llama/engine.py', 'exec')\n"
        "thread = threading.Thread(target=exec, args=(code, {'ctypes': ctypes}))\n"
        "thread.start()\nthread.join()"
    )
    assert done.returncode == -signal.SIGSEGV
    assert done.stderr.startswith("atomr stopped: llama.cpp, which runs the model, crashed (SIGSEGV).")


def test_who_asks_for_details_gets_them() -> None:
    done = run("os.kill(os.getpid(), signal.SIGSEGV)\ntime.sleep(60)", PYTHONFAULTHANDLER="1")
    assert "most recent call first" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("atomr stopped: ")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("crash_monitor.end()", 0),
        ("crash_monitor.end()\ncrash_monitor.end()\nsys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(60)", -9),
        ("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)", -15),
        ("with crash_monitor.full_screen():\n    pass\nos._exit(5)", 5),
    ],
)
def test_other_ends_are_not_commented(code: str, status: int) -> None:
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_the_monitor_is_gone_when_the_program_ends() -> None:
    done = run("process = crash_monitor._monitor[0].process\ncrash_monitor.end()\ntry:\n    os.kill(process, 0)\nexcept OSError:\n"
               "    print('gone')")  # fmt: skip
    assert done.stdout == "gone\n"


def test_the_signals_of_a_terminal_do_not_end_the_monitor() -> None:
    done = run(
        "process = crash_monitor._monitor[0].process\ntime.sleep(0.3)\n"
        "for one in (signal.SIGINT, signal.SIGHUP, signal.SIGTSTP, signal.SIGQUIT):\n    os.kill(process, one)\n"
        "os.kill(os.getpid(), signal.SIGSEGV)\ntime.sleep(60)"
    )
    assert "crashed (SIGSEGV)" in done.stderr


def test_no_output_and_no_file_of_the_program_is_held_open() -> None:
    # The reader of a pipe sees its end as soon as the program has closed it, although the program lives on.
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", START + f"os.close({write})\nos.close(1)\nsys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[write],
    ) as program:  # fmt: skip
        os.close(write)
        assert program.stdout is not None
        for stream in (read, program.stdout.fileno()):
            assert select.select([stream], [], [], 120)[0]
            assert os.read(stream, 1) == b""
        assert program.poll() is None
        program.communicate(timeout=120)
    os.close(read)


TERMINAL = """
with crash_monitor.full_screen():
    import tty
    os.write(1, b"\\x1b[?1049h\\x1b[?1003h drawn")
    tty.setraw(0)
    {end}
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", b"crashed (SIGSEGV)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", b"memory ran out"),
    ],
)
def test_a_terminal_is_given_back(end: str, told: bytes) -> None:
    import pty
    import termios

    process, terminal = pty.fork()
    if process == 0:
        # As a child of a shell: a terminal hangs up when the first process of its session dies.
        code = START + TERMINAL.format(end=end)
        os.execv("/bin/sh", ["sh", "-c", '"$0" -c "$1"; sleep 0.2; exit', sys.executable, code])
    modes = termios.tcgetattr(terminal)
    shown, deadline = b"", time.monotonic() + 120
    while told not in shown and time.monotonic() < deadline:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    assert b"drawn" in shown
    behind = shown.partition(b"drawn")[2]
    for sequence in (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?25h", b"\x1b[?2004l"):
        assert sequence in behind.partition(told)[0]
    assert told in behind
    assert termios.tcgetattr(terminal) == modes
    os.waitpid(process, 0)
    os.close(terminal)


FAULT = """Fatal Python error: Segmentation fault

Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "/home/atomr_local/sources/graph/source.py", line 3 in ask

{which} 0x00007f02 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 1 in string_at
  File "/site-packages/{frame}", line 261 in decode
  File "/home/atomr_local/models/llama/scheduler.py", line 120 in _step
"""


@pytest.mark.parametrize(
    ("frame", "library"),
    [
        ("llama_cpp/llama_cpp.py", "llama.cpp"),
        ("lancedb/table.py", "LanceDB"),
        ("atomr_local/sources/graph/access.py", "Oxigraph"),
        ("onnxruntime/capi/session.py", "the embedding library"),
        ("other/thing.py", "llama.cpp"),
    ],
)
def test_the_library_is_told_by_the_innermost_frame_of_ours(frame: str, library: str) -> None:
    assert explanation(FAULT.format(which="Current thread", frame=frame))[0].startswith(library)


def test_a_thread_without_frames_is_told_by_what_others_call() -> None:
    fault = FAULT.format(which="Thread", frame="x.py").replace('  File "/usr/lib/python3.11/ctypes/__init__.py", line 1 in string_at\n', "")  # fmt: skip
    assert explanation(fault.replace("/site-packages/x.py", "/site-packages/llama_cpp/x.py"))[0].startswith("llama.cpp")
    assert explanation("Fatal Python error: Illegal instruction\n\n<no frames>")[0] == (
        "a library that it uses crashed (SIGILL)."
    )
    assert "another processor" in explanation("Fatal Python error: Illegal instruction")[1]


def test_only_a_process_of_its_own_has_a_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_monitor, "start", lambda: pytest.fail("a monitor was started"))
    with pytest.raises(SystemExit):
        main(["doctor", "--help"])


def test_a_process_of_its_own_has_one_where_it_may_load_a_library() -> None:
    code = "from atomr_local.cli import crash_monitor\ncrash_monitor.start = lambda: print('started')\n"
    code += "from atomr_local.cli.main import main\nmain()"
    for arguments, started in ((["doctor", "--help"], True), (["config", "path"], False)):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ("started" in done.stdout) == started


def test_the_python_interface_has_none() -> None:
    code = (
        "import faulthandler, os, atomr_local\natomr_local.Assistant.open().close()\n"
        "try:\n    os.waitpid(-1, os.WNOHANG)\n    print('a child')\nexcept ChildProcessError:\n    print('no child')\n"
        "print(faulthandler.is_enabled())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["no child", "False"]
