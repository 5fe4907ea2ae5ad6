"""Writing files that users name: what is there is replaced whole, followed, written to or refused, never lost."""

from __future__ import annotations

import errno
import os
import select
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.system.files import exchange, put, write_output


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_output(tmp_path / "new.md", "höhe\n")
    finally:
        os.umask(old)
    assert (tmp_path / "new.md").read_bytes() == "höhe\n".encode()
    assert stat.S_IMODE((tmp_path / "new.md").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["new.md"]


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "secret.json"
    file.write_text("old")
    file.chmod(0o604)
    put(file, b"new")
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o604


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link, chain = tmp_path / "real" / "target", tmp_path / "link", tmp_path / "chain"
    target.write_text("old")
    link.symlink_to(Path("real", "target"))
    chain.symlink_to(link)
    write_output(chain, "new")
    assert chain.is_symlink() and link.is_symlink()
    assert not target.is_symlink() and target.read_text() == "new"


def test_a_link_to_nothing_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    write_output(link, "new")
    assert link.is_symlink() and (tmp_path / "target").read_text() == "new"
    link.unlink()
    link.symlink_to(tmp_path / "nowhere" / "target")
    with pytest.raises(InputError, match="cannot be written"):
        write_output(link, "new")
    assert link.is_symlink()


def test_a_full_device_is_an_error_and_stays_a_device(tmp_path: Path) -> None:
    before = Path("/dev/full").stat()
    with pytest.raises(InputError, match=r"/dev/full cannot be written: No space left") as caught:
        write_output(Path("/dev/full"), "text")
    assert "Free some space" in caught.value.hint
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left"):
        write_output(link, "text")
    write_output(Path("/dev/null"), "text")
    after = Path("/dev/full").stat()
    assert stat.S_ISCHR(after.st_mode) and (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode) and link.is_symlink()


def test_a_pipe_is_written_to_where_a_program_reads_it_and_refused_where_none_does(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="no program reads from this pipe"):
        write_output(pipe, "text")
    found: list[str] = []
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    text = "line\n" * 50_000  # more than a pipe holds

    def read() -> None:
        waiting = select.poll()  # reading before a writer is there gives the end of the file
        waiting.register(handle, select.POLLIN)
        waiting.poll()
        with os.fdopen(handle) as stream:
            found.append(stream.read())

    reader = threading.Thread(target=read)
    reader.start()
    write_output(pipe, text)
    reader.join()
    assert found == [text]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_is_no_place_for_text_is_refused_in_words(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    (tmp_path / "file").write_text("old")
    for path, reason in (
        (tmp_path, "it is a directory"),
        (tmp_path / "missing" / "file", f"there is no directory {tmp_path / 'missing'}"),
        (loop, "symbolic links"),
        (tmp_path / "file" / "below", "Not a directory"),
        (Path("/proc/atomr"), "cannot be written"),
        (tmp_path / "null\0", "cannot be written"),
    ):
        with pytest.raises(InputError) as caught:
            write_output(path, "new")
        assert reason in caught.value.message, caught.value.message
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="the file system's errors are those of POSIX")
@pytest.mark.parametrize(
    ("call", "number"),
    [("write", errno.ENOSPC), ("fsync", errno.EIO), ("open", errno.EROFS)],
)
def test_a_failing_disk_leaves_the_old_content_and_no_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    file = tmp_path / "file"
    file.write_text("old")

    def fail(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        with pytest.raises(InputError, match=os.strerror(number)):
            write_output(file, "new")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    write_output(file, "new")
    assert file.read_text() == "new"


def test_a_file_system_without_fsync_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(_handle: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", unsupported)
    put(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_text() == "new"


def test_partial_files_of_killed_writers_go_with_the_next_write_and_those_of_others_stay(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom atomr_local.system import files\n"
        "files.sync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.put(Path(sys.argv[1]), b'new')\n"
    )
    for name in ("mine", "another"):
        ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / name)], check=False)
        assert ended.returncode == -9
    assert len(list(tmp_path.iterdir())) == 2
    put(tmp_path / "mine", b"again")
    assert (tmp_path / "mine").read_text() == "again"
    assert len(list(tmp_path.iterdir())) == 2  # the partial file of "another" is not ours to remove
    put(tmp_path / "another", b"again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "mine"]


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    write_output(Path("-"), "höhe\n")
    assert capfdbinary.readouterr().out == "höhe\n".encode()
    assert list(tmp_path.iterdir()) == []


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path: Path) -> None:
    put(tmp_path / ("n" * 255), b"new")
    assert (tmp_path / ("n" * 255)).read_text() == "new"


def test_two_names_change_places(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    (one / "inside").touch()
    other.write_text("other")
    if exchange(one, other):
        assert one.read_text() == "other" and (other / "inside").is_file()
    else:
        assert other.read_text() == "other" and (one / "inside").is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="a step of Linux")
def test_what_is_missing_changes_places_with_nothing(tmp_path: Path) -> None:
    (tmp_path / "one").touch()
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "missing")
    assert (tmp_path / "one").exists()
