"""What holds for every command: its streams, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from support.command_line import Atomr
from support.fake_embedder import FakeEmbedder
from support.stopping import needs_stopping, stop_while_it_waits

from atomr_local.cli.commands import config as config_command
from atomr_local.cli.main import atomr as commands
from atomr_local.cli.main import main
from atomr_local.cli.output import interrupt, no_terminal

Capture = pytest.CaptureFixture[str]


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "atomr_local", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=300, check=False, **options)


@pytest.mark.parametrize("arguments", [("--help",), ("config", "show")])
def test_an_output_that_takes_nothing_is_an_error_and_no_traceback(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with (tmp_path / "out").open("rb") as unwritable:  # as a full disk, this fails with the first write
        done = process(*arguments, stdout=unwritable)
    assert done.returncode == 1
    assert done.stderr.decode() == "Reading or writing failed: Bad file descriptor\n"


def test_a_character_that_the_output_lacks_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "plan.txt"
    file.write_text("0. Who is 東京?\n1. [Search] 東京 (Zürich)\n", encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = process("tree", "convert", str(file), "--to", "compact", env=environment, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "?? (Zürich)" in done.stdout.decode("latin-1")


def test_ctrl_c_before_the_command_line_is_there(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    done = process("--help", env=os.environ | {"PYTHONPATH": str(tmp_path)}, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"Cancelled\n")


def test_the_second_ctrl_c_breaks_off() -> None:
    asked: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupt(lambda: asked.append("stop")):
        os.kill(os.getpid(), signal.SIGINT)
        assert asked == ["stop"]
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("kind", "place"),
    [("text", "text_index.index.build_text_index"), ("graph", "graph_index.index.build_graph_index")],
)
def test_ctrl_c_cancels_a_build(atomr: Atomr, kind: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    def build(*_: Any, cancellation: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        ended.append("in good order")
        cancellation.check()

    monkeypatch.setattr(f"atomr_local.indexing.{place}", build)
    monkeypatch.setattr("atomr_local.indexing.embedding.embedder.SentenceEmbedder", lambda *_, **__: FakeEmbedder())
    assert atomr(kind, "build", "x.jsonl", "--name", "mine", status=130).err.endswith("Cancelled\n")
    assert ended == ["in good order"]


LONG = """
import click
from atomr_local.cli import main

main.atomr.main = lambda **given: click.echo("0123456789" * 100_000)
main.main()
"""


@needs_stopping
@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_no_output_is_lost_when_the_program_is_stopped_for_a_while(unbuffered: str) -> None:
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, env=environment) as running:
        stop_while_it_waits(running)
        written, _ = running.communicate(timeout=300)
    assert written == b"0123456789" * 100_000 + b"\n"
    assert running.returncode == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("aks", "there is no command 'aks'. Did you mean 'ask'?"),
        ("xyzzy", "there is no command 'xyzzy'."),
        ("Who wrote Emma?", "there is no command 'Who wrote Emma?'. Ask a question with `atomr ask \"…\"`."),
        ("Emma?", "Ask a question with `atomr ask"),
        ("a\x1b[2Jb", "there is no command"),
    ],
)
def test_an_unknown_command_is_told_with_what_was_meant(given: str, told: str, atomr: Atomr) -> None:
    assert told in atomr.refused(given, status=2)


def every_command(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """The words of a command and of all below it."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every_command(below, *path, name)


@pytest.mark.parametrize("command", every_command(commands), ids=" ".join)
def test_every_help_has_an_example(command: tuple[str, ...], atomr: Atomr) -> None:
    assert " ".join(("atomr", *command)) in atomr(*command, "--help").out.partition("Example: ")[2]


@pytest.mark.parametrize(
    "line",
    [
        "ask", "ask Who? --sources text,web", "ask Who? --sources=", "ask Who? --json --jsonl", "ask Who? --nonsense",
        "ask Who? extra", "asc Who?",
        "text nonsense", "text build", "text build a.jsonl", "text build a.jsonl --name a --limit 0",
        "text build a.jsonl --name a --format pdf", "text remove --name a", "text remove Title", "text search",
        "text search a b", "text search a -k 0", "text search a -k many", "text search a --nonsense",
        "indexes nonsense", "indexes list extra", "indexes list --nonsense", "indexes verify a b", "indexes remove",
        "indexes remove text", "indexes remove web mine --yes", "indexes remove text mine",
        "web search", "web search a -k 0", "web search a -k 21", "web fetch a",
    ],
)  # fmt: skip
def test_wrong_usage_is_told_and_nothing_printed(line: str, atomr: Atomr) -> None:
    assert "Error: " in atomr.refused(*line.split(), status=2)


# An internal error is an error with its details in a file, not a traceback on the terminal.


@pytest.mark.parametrize("error", [RuntimeError("the roof\x1b[2J fell in"), RecursionError("too deep")])
def test_a_fault_is_told_in_two_lines(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr, error: Exception
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(config_command, "origins", fail)
    out, err = atomr("config", "show", status=1)
    first, second = err.splitlines()
    assert first.startswith(f"Internal error: {type(error).__name__}") and "\x1b" not in first
    assert second == f"  → The details are in {own_home.resolve() / 'fault.txt'}. Please report it."
    assert "Traceback" in (own_home / "fault.txt").read_text() and not out


def test_a_fault_without_a_place_for_its_details(own_home: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(own_home / "file" / "home"))
    (own_home / "file").write_text("")
    monkeypatch.setattr(config_command, "paths", None)
    assert atomr("config", "path", status=1).err.splitlines()[1] == "  → Please report it."


# `atomr` alone opens the terminal UI only where there is a terminal to open it in.


@contextmanager
def terminal() -> Iterator[pytest.MonkeyPatch]:
    """Standard input, output and error are a terminal. Not a fixture: pytest puts its own back before the test."""
    keeper, end = os.openpty()
    with os.fdopen(end, encoding="utf-8") as stream, pytest.MonkeyPatch.context() as patched:
        for name in ("stdin", "stdout", "stderr"):
            patched.setattr(sys, name, stream)
        patched.setenv("TERM", "xterm-256color")
        yield patched
    os.close(keeper)


def test_without_a_terminal_it_says_so_and_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "atomr_local"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "standard input is not one" in done.stderr
    assert "atomr ask" in done.stderr
    assert "Traceback" not in done.stderr


def test_in_a_terminal_it_opens() -> None:
    opened: list[bool] = []
    with terminal() as patched, pytest.raises(SystemExit) as end:
        patched.setattr("atomr_local.tui.app.run", lambda: opened.append(True))
        main([])
    assert (opened, end.value.code) == ([True], 0)


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_every_stream_must_be_one(name: str, tmp_path: Path) -> None:
    with terminal() as patched, (tmp_path / "file").open("w", encoding="utf-8") as file:
        here = no_terminal()
        patched.setattr(sys, name, file)
        elsewhere = no_terminal()
        patched.setattr(sys, name, None)
        closed = no_terminal()
    assert here is None
    assert elsewhere is not None
    assert "is not one" in elsewhere
    assert closed == elsewhere


def test_a_dumb_terminal_is_none() -> None:
    with terminal() as patched:
        patched.setenv("TERM", "dumb")
        told = no_terminal()
    assert "kind dumb" in (told or "")
