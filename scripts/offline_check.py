#!/usr/bin/env python3
"""Check that the program opens no network socket while the web is off: a system-call trace of every command.

    scripts/offline_check.py [--out report.json] [--quick] [--no-namespace]

Runs the commands of :func:`commands`, `atomr mcp` and `atomr serve` (a client looks something up and asks), and the
terminal UI (a question typed and answered in a pseudo-terminal), each under `strace` with all its child processes, and,
where that is permitted, in a network namespace without interfaces (`unshare --net`). Reports every call that makes,
connects, binds or uses a socket. What passes: nothing at all, and `socketpair`, which has no address. What fails: any
socket of any family, so a lookup through nscd, D-Bus or systemd-resolved over a UNIX socket counts too. `serve` may
listen on 127.0.0.1 and take connections there, and nothing else; it runs in the network as it is, where its client can
reach it. Exit status 1 if a socket was opened or a command failed, 2 if strace is missing. `--quick` runs a few
commands that need no model.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from offline_servers import SERVERS, outward

ROOT = Path(__file__).resolve().parents[1]
# Every call that makes a socket or hands one an address; `socketpair` is not among them.
TRACED = "socket,connect,bind,listen,accept,accept4,sendto,sendmsg,sendmmsg"
QUESTION = "Who is the father of Ann Lee?"
PLAN = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'
FACTS = [
    {"s": "Ann Lee", "p": "instance of", "o": "human"},
    {"s": "Ann Lee", "p": "father", "o": "Bob Lee"},
    {"s": "Bob Lee", "p": "instance of", "o": "human"},
]
ARTICLES = [
    {"id": "1", "title": "Ann Lee", "text": "Ann Lee is a painter from Leeds. Her father is Bob Lee."},
    {"id": "2", "title": "Bob Lee", "text": "Bob Lee is a singer. He was born in York in 1920."},
]
_CALL = re.compile(r"^(?:\[pid\s+\d+\]\s*|\d+\s+)?(?:[\d.:]+\s+)?(?P<name>[a-z0-9_]+)\((?P<arguments>.*)$")
_USES = re.compile(r"\{sa_family=(AF_[A-Z0-9_]+)")
_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
_UI_SECONDS = 300.0


@dataclass
class Run:
    """One command and what it did with sockets.

    Attributes:
        status: the exit status, negative for a signal.
        sockets: the traced calls that made, connected, bound or addressed a socket, as strace writes them.
    """

    name: str
    status: int
    seconds: float
    sockets: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.status == 0 and not self.sockets


def socket_calls(trace: str) -> list[str]:
    """The lines of a strace output that make a socket or give one an address.

    `sendto` and `sendmsg` without an address write to a socket that exists already, such as one of a `socketpair`:
    they are left out, for the call that made the socket is in the list if there is one.
    """
    found = []
    for line in trace.splitlines():
        match = _CALL.match(line)
        if match is None or "resumed>" in line[: match.start("arguments")]:
            continue
        name, arguments = match["name"], match["arguments"]
        if name.startswith("send"):
            if _USES.search(arguments):
                found.append(line.strip())
        elif name in TRACED.split(","):
            found.append(line.strip())
    return found


def commands(home: Path) -> list[tuple[str, list[str]]]:
    """The commands to run, in order: (name, arguments). Later ones use what earlier ones built."""
    small = ["--graph-index", "small", "--text-index", "small"]
    plan, questions = str(home / "plan.txt"), str(home / "questions.jsonl")
    return [
        ("graph build", ["graph", "build", str(home / "facts.jsonl"), "--name", "small"]),
        ("text build", ["text", "build", str(home / "articles.jsonl"), "--name", "small"]),
        ("ask (atomr)", ["ask", QUESTION, *small]),
        ("ask (atomr, text alone)", ["ask", QUESTION, "--plan", plan, "--sources", "text", *small]),
        ("ask (rag)", ["ask", QUESTION, "--strategy", "rag", *small]),
        ("ask (cot)", ["ask", QUESTION, "--strategy", "cot"]),
        ("ask (closed-book)", ["ask", QUESTION, "--strategy", "closed-book"]),
        ("ask (starter indexes)", ["ask", "Who was the paternal grandfather of Charles Darwin?"]),
        ("plan", ["plan", QUESTION]),
        ("tree check", ["tree", "check", str(home / "tree.txt")]),
        ("text search", ["text", "search", "painter from Leeds", "--text-index", "small"]),
        ("graph find", ["graph", "find", "Ann Lee", "--graph-index", "small"]),
        ("graph query", ["graph", "query", "SELECT ?s WHERE {?s ?p ?o} LIMIT 3", "--graph-index", "small"]),
        ("indexes list", ["indexes", "list"]),
        ("indexes verify", ["indexes", "verify"]),
        ("models list", ["models", "list"]),
        ("models verify", ["models", "verify"]),
        ("history list", ["history", "list"]),
        ("history show", ["history", "show", "1"]),
        ("history export", ["history", "export", "1"]),
        ("eval run", ["eval", "run", "--questions", questions, "--out", str(home / "run"), *small]),
        ("eval score", ["eval", "score", str(home / "run" / "predictions.jsonl")]),
        ("doctor", ["doctor"]),
        ("config show", ["config", "show"]),
        ("strategies", ["strategies"]),
    ]


QUICK = ("graph build", "graph find", "graph query", "tree check", "config show")


def prepare(home: Path) -> None:
    """Write the inputs of :func:`commands`."""
    home.mkdir(parents=True, exist_ok=True)
    for name, lines in (("facts", FACTS), ("articles", ARTICLES)):
        (home / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (home / "plan.txt").write_text(PLAN, encoding="utf-8")
    (home / "tree.txt").write_text(f"0. {QUESTION}\n{PLAN}", encoding="utf-8")
    question = {"id": "1", "question": QUESTION, "answers": ["Bob Lee"]}
    (home / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ATOMR_")}
    return kept | {"ATOMR_HOME": str(home), "PYTHONPATH": str(ROOT)}


def namespace() -> list[str]:
    """The command that runs another one in a network namespace without interfaces; [] where that is not permitted."""
    for prefix in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if (
            shutil.which(prefix[0])
            and not subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
        ):
            return prefix
    return []


def traced(trace: Path, command: Sequence[str], prefix: Sequence[str]) -> list[str]:
    return [*prefix, "strace", "-f", "-qq", "-e", f"trace={TRACED}", "-e", "signal=none", "-o", str(trace), *command]


def run_command(name: str, arguments: Sequence[str], home: Path, prefix: Sequence[str]) -> Run:
    """Run one command of the program under strace."""
    trace = home / "trace.txt"
    trace.unlink(missing_ok=True)
    started = time.monotonic()
    command = traced(trace, [sys.executable, "-m", "atomr_local", *arguments], prefix)
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(home), check=False, cwd=home, stdin=subprocess.DEVNULL
    )
    calls = socket_calls(trace.read_text(encoding="utf-8", errors="replace")) if trace.exists() else ["no trace"]
    note = done.stderr.strip()[-300:] if done.returncode else ""
    return Run(name, done.returncode, round(time.monotonic() - started, 1), calls, note)


def watch_works(home: Path, prefix: Sequence[str]) -> bool:
    """Whether the trace sees what it has to see: a lookup of a name, and a socket made by a child process."""
    trace = home / "trace.txt"
    child = "import socket; socket.socket(socket.AF_INET6).close()"
    program = f"""
import subprocess, socket, sys
try: socket.getaddrinfo("name.invalid", 80)
except OSError: pass
subprocess.run([sys.executable, "-c", {child!r}])
"""
    subprocess.run(traced(trace, [sys.executable, "-c", program], prefix), capture_output=True, check=False)
    seen = socket_calls(trace.read_text(encoding="utf-8", errors="replace")) if trace.exists() else []
    return any("AF_INET6" in call for call in seen) and len(seen) > 1


def run_server(name: str, home: Path, prefix: Sequence[str]) -> Run:
    """Start a server under strace and let a client use it."""
    trace = home / "trace.txt"
    trace.unlink(missing_ok=True)
    arguments, ask, listens = SERVERS[name]
    started = time.monotonic()
    command = traced(trace, [sys.executable, "-m", "atomr_local", *arguments], [] if listens else prefix)
    status, note = ask(command, environment(home), home, QUESTION)
    calls = socket_calls(trace.read_text(encoding="utf-8", errors="replace")) if trace.exists() else ["no trace"]
    if listens and not any("listen(" in call for call in calls):
        note = note or "the trace does not show that it listens"
    return Run(
        name, 1 if note else status, round(time.monotonic() - started, 1), outward(calls) if listens else calls, note
    )


def run_ui(home: Path, prefix: Sequence[str], **more: str) -> Run:
    """Ask a question in the terminal UI, in a pseudo-terminal, wait for the answer and quit.

    Args:
        more: further environment variables for the program.
    """
    trace = home / "trace.txt"
    trace.unlink(missing_ok=True)
    settings = {
        "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "36", "ATOMR_UI__FIRST_RUN_DONE": "true",
        "ATOMR_GRAPH_INDEX": "small", "ATOMR_TEXT_INDEX": "small",
    }  # fmt: skip
    started = time.monotonic()
    process, terminal = pty.fork()
    if process == 0:
        command = traced(trace, [sys.executable, "-m", "atomr_local"], prefix)
        os.chdir(home)
        os.execvpe(command[0], command, environment(home) | settings | more)
    note = ""
    status = 1
    try:
        _wait_for(terminal, b"", b" ready ")
        os.write(terminal, QUESTION.encode() + b"\r")
        _wait_for(terminal, b"", b"The answer is Bob Lee")
    except TimeoutError as late:
        note = str(late)
    finally:
        os.write(terminal, b"\x11")  # Ctrl-Q
        status = _ended(process, terminal)
    calls = socket_calls(trace.read_text(encoding="utf-8", errors="replace")) if trace.exists() else ["no trace"]
    return Run("terminal UI", 1 if note else status, round(time.monotonic() - started, 1), calls, note)


def _wait_for(terminal: int, seen: bytes, wanted: bytes) -> bytes:
    """What the terminal shows, read until `wanted` stands in it.

    Raises:
        TimeoutError: it does not come.
    """
    deadline = time.monotonic() + _UI_SECONDS
    while wanted not in _ESCAPE.sub(b"", seen):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{wanted.decode()!r} did not come: {_ESCAPE.sub(b'', seen)[-300:]!r}")
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                raise TimeoutError(f"the terminal UI ended: {_ESCAPE.sub(b'', seen)[-300:]!r}") from None
    return seen


def _ended(process: int, terminal: int) -> int:
    """The exit status of the UI, which is killed if it does not end by itself."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                break
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
    else:
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the report here as JSON")
    parser.add_argument("--quick", action="store_true", help="a few commands that need no model")
    parser.add_argument("--no-namespace", action="store_true", help="trace only, in the network as it is")
    given = parser.parse_args()
    if shutil.which("strace") is None:
        print("strace is not installed", file=sys.stderr)
        return 2
    prefix = [] if given.no_namespace else namespace()
    print(f"network namespace without interfaces: {'yes' if prefix else 'no'}")
    runs = []
    with tempfile.TemporaryDirectory(prefix="atomr-offline-") as folder:
        home = Path(folder)
        prepare(home)
        if not watch_works(home, prefix):
            print("strace sees no sockets here: nothing can be checked", file=sys.stderr)
            return 2
        for name, arguments in commands(home):
            if not given.quick or name in QUICK:
                runs.append(run_command(name, arguments, home, prefix))
                _tell(runs[-1])
        if not given.quick:
            for name in SERVERS:
                runs.append(run_server(name, home, prefix))
                _tell(runs[-1])
            runs.append(run_ui(home, prefix))
            _tell(runs[-1])
    passed = sum(run.passed for run in runs)
    print(f"{passed} of {len(runs)} without a socket and with exit status 0")
    if given.out:
        report = {"namespace": bool(prefix), "runs": [asdict(run) | {"passed": run.passed} for run in runs]}
        given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if passed == len(runs) else 1


def _tell(run: Run) -> None:
    told = "passed" if run.passed else "FAILED"
    print(f"{told}  {run.seconds:6.1f} s  status {run.status}  sockets {len(run.sockets)}  {run.name}", flush=True)
    for line in [*dict.fromkeys(run.sockets[:12]), *([run.note] if run.note else [])]:
        print(f"        {line}")


if __name__ == "__main__":
    sys.exit(main())
