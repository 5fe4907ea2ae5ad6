"""A FIFO, a device, a socket or a directory where a file is wanted: one clear error, and nobody waits."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import Atomr

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here"),
    pytest.mark.timeout(120),
]


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def unix_socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as listening:
        old = Path.cwd()
        os.chdir(path.parent)  # such an address is short
        try:
            listening.bind(path.name)
        finally:
            os.chdir(old)
    return path


def device(_: Path) -> Path:
    return Path("/dev/zero")


def directory(path: Path) -> Path:
    path.mkdir()
    return path


COMMANDS: dict[str, list[str]] = {
    "model": ["ask", "Who wrote Emma?", "--strategy", "closed-book", "--model", "{file}"],
    "verify": ["models", "verify", "{file}"],
    "plan": ["ask", "Who wrote Emma?", "--plan", "{file}"],
    "trees": ["tree", "check", "{file}"],
    "trace": ["history", "import", "{file}"],
    "predictions": ["eval", "score", "{file}"],
    "questions": ["eval", "run", "--questions", "{file}", "--out", "{home}/run"],
    "corpus": ["text", "build", "{file}", "--name", "mine"],
    "titles": ["text", "build", "{home}/corpus.jsonl", "--name", "mine", "--titles", "{file}"],
    "facts": ["graph", "build", "{file}", "--name", "mine"],
    "parquet": ["text", "build", "{file}", "--name", "mine", "--format", "parquet"],
    "zim": ["text", "build", "{file}", "--name", "mine", "--format", "zim"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("make", [fifo, unix_socket, device, directory])
def test_what_is_no_file_is_refused(own_home: Path, atomr: Atomr, make: Callable[[Path], Path], command: str) -> None:
    if make is device and sys.platform == "win32":
        pytest.skip("no such device")
    if command == "verify" and make is device:
        pytest.skip("the name of a model")
    file = make(own_home / "given.gguf")
    (own_home / "corpus.jsonl").write_text('{"id": "1", "title": "A", "text": "b"}\n')
    arguments = [part.format(file=file, home=own_home) for part in COMMANDS[command]]
    assert str(file) in "".join(atomr(*arguments, status=1))


def test_an_adapter_and_its_card_that_are_fifos(own_home: Path, atomr: Atomr) -> None:
    file, card = fifo(own_home / "lora.gguf"), fifo(own_home / "lora.json")
    (own_home / "config.toml").write_text(f'adapter = "{file}"')
    assert "FIFO" in atomr("ask", "Who wrote Emma?", "--strategy", "closed-book", status=1).err
    assert card.is_fifo()
