"""What holds for every command: its streams, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Atomr
from support.fake_embedder import FakeEmbedder
from support.stopping import needs_stopping, stop_while_it_waits

from atomr_local.cli.output import interrupt

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
