"""Files that somebody named: only regular ones are read, and none of them without an end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from atomr_local.system.files import open_regular, read_regular


def test_a_regular_file_is_read_also_through_links(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "link", 4) == b"text"
    with open_regular(tmp_path / "file") as stream:
        assert stream.read() == b"text"


def test_a_longer_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    with pytest.raises(OSError, match="longer than 4 bytes"):
        read_regular(tmp_path / "file", 4)


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="it is a FIFO"):
        read_regular(tmp_path / "fifo", 4)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full", "/dev/tty"])
def test_devices_are_refused(device: str) -> None:
    with pytest.raises(OSError, match=r"it is a device|No such"):
        read_regular(Path(device), 4)


def test_directories_sockets_and_loops_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may be short only
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(OSError, match="it is a socket"):
            read_regular(Path("socket"), 4)
    with pytest.raises(OSError, match="it is a directory"):
        read_regular(tmp_path, 4)
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(tmp_path / "one", 4)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none", 4)
