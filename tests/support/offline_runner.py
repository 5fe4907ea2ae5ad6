"""Runs `atomr` commands in this process while every way to the network is watched.

    python offline_runner.py COMMANDS.json      a list of argument lists, run one after the other

Two watches. An audit hook records what Python code does with sockets. A seccomp filter (Linux) ends the process with
SIGSYS as soon as anything, native code and child processes included, opens an IPv4 or IPv6 socket.
Prints {"filtered", "events", "runs": [{"status", "out", "err"}]}.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import platform
import socket
import struct
import sys
from pathlib import Path
from typing import Any

_INET = (socket.AF_INET, socket.AF_INET6)
_NAMES = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"}
_LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request"}
events: list[str] = []


def watch(name: str, arguments: tuple[Any, ...]) -> None:
    if name in _LOOKUPS or (name in _NAMES and arguments[0].family in _INET):
        events.append(f"{name} {arguments[1:] if name in _NAMES else arguments}")


def forbid_inet_sockets() -> bool:
    """Seccomp: socket(AF_INET | AF_INET6, …) kills the process. False where that cannot be had."""
    number = {"x86_64": 41, "aarch64": 198}.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return False
    load, equal, done = 0x20, 0x15, 0x06  # BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
    kill, allow = 0x80000000, 0x7FFF0000  # SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW
    program = [
        (load, 0, 0, 0),  # seccomp_data.nr
        (equal, 0, 3, number),
        (load, 0, 0, 16),  # seccomp_data.args[0], low half
        (equal, 2, 0, socket.AF_INET),
        (equal, 1, 0, socket.AF_INET6),
        (done, 0, 0, allow),
        (done, 0, 0, kill),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    prctl(no_new_privileges, 1, 0, 0, 0)
    return bool(prctl(set_seccomp, filter_mode, filter_, 0, 0) == 0)


def run(arguments: list[str]) -> dict[str, Any]:
    from atomr_local.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as stop:
            status = stop.code or 0
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    sys.addaudithook(watch)
    filtered = forbid_inet_sockets()
    runs = []
    for number, command in enumerate(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))):
        if command == ["open a socket"]:  # what a test of the watches asks for
            with contextlib.suppress(OSError), socket.socket() as made:
                made.connect(("127.0.0.1", 9))
            continue
        runs.append(run(command))
        Path(sys.argv[1]).with_name(f"out-{number}.json").write_text(runs[-1]["out"], encoding="utf-8")
    print(json.dumps({"filtered": filtered, "events": events, "runs": runs}))
