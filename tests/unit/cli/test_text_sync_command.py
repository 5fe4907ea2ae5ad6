"""`atomr text sync`, once and following the folder."""

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
from support.command_line import Atomr
from support.fake_embedder import FakeEmbedder
from support.places import PYTHONPATH, ROOT
from support.starter_parts import embedder_directory

from atomr_local.cli.commands import text as text_sync
from atomr_local.errors import Cancelled, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import rebuild_words
from atomr_local.indexing.embedding import embedder as embedding
from atomr_local.indexing.text_index import documents
from atomr_local.indexing.text_index.document_catalog import listed_documents
from atomr_local.indexing.text_index.documents import SyncReport, build_documents_index, sync_documents_index
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.indexing.verify import verify_indexes
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.installation import add_extra

Capture = pytest.CaptureFixture[str]
_PATIENCE = 240.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(embedding, "SentenceEmbedder", lambda *_, **__: FakeEmbedder())
    root = tmp_path / "notes"
    root.mkdir()
    (root / "bees.txt").write_text("Bees make honey.")
    (root / "lakes.txt").write_text("Lakes are deep.")
    return root


def build(folder: Path) -> None:
    build_documents_index([folder], "notes", embedder=FakeEmbedder())


def paths() -> list[str]:
    return [document.path for document in listed_documents(store.index_path("text", "notes"))]


def test_a_sync_tells_what_changed(folder: Path, atomr: Atomr) -> None:
    assert "atomr text sync notes" in atomr("text", "build", str(folder), "--name", "notes").err
    assert atomr("text", "sync", "notes").out == "notes: nothing has changed\n"
    (folder / "new\x1b[2J.txt").write_text("Mountains are high.")
    (folder / "bees.txt").write_text("Bees make wax.")
    (folder / "lakes.txt").rename(folder / "waters.txt")
    (folder / "data.bin").write_bytes(b"\x00\x01" * 9)
    out, err = atomr("text", "sync", "notes")
    assert out.startswith("notes: 3 passages of 3 documents, ")
    assert "1 added: new.txt\n" in out
    assert "1 changed: bees.txt\n" in out
    assert "1 moved: lakes.txt → waters.txt\n" in out
    assert "1 file could not be read:\n  data.bin: it is neither text nor" in err
    assert "\x1b" not in out + err


def test_what_can_no_longer_be_read_is_told_as_lost_and_a_broken_file_as_unreadable_only(
    folder: Path, atomr: Atomr
) -> None:
    build(folder)
    (folder / "broken.txt").write_bytes(b"\x00\x01" * 9)
    (folder / "bees.txt").write_bytes(b"\x00\x02" * 9)
    out, err = atomr("text", "sync", "notes")
    assert out.startswith("notes: 1 passage of 1 document, ")
    assert out.splitlines()[1:] == ["  1 no longer readable, so left out: bees.txt"]
    assert "2 files could not be read:\n  bees.txt: it is neither" in err
    (folder / "broken.txt").unlink()
    out, err = atomr("text", "sync", "notes")
    assert out.splitlines()[1:] == ["  1 removed: broken.txt"]
    (folder / "bees.txt").write_text("Bees make wax.")
    out, err = atomr("text", "sync", "notes")
    assert out.splitlines()[1:] == ["  1 changed: bees.txt"]
    assert "could not be read" not in err


def test_watching_tells_a_file_that_cannot_be_read_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    build(folder)

    def breaks() -> None:
        (folder / "broken.txt").write_bytes(b"\x00\x01" * 9)

    def changes() -> None:
        (folder / "bees.txt").write_text("Bees make wax.")

    following(monkeypatch, [breaks, changes, lambda: None])
    out, err = capsys.readouterr()
    assert err.count("broken.txt: it is neither") == 1
    assert out.count("1 changed: bees.txt") == 1


def test_a_folder_where_nothing_can_be_read_any_more_keeps_its_index(folder: Path, atomr: Atomr) -> None:
    build(folder)
    for path in folder.iterdir():
        path.write_bytes(b"\x00\x01" * 9)
    err = atomr("text", "sync", "notes", status=1).err
    assert "nothing can be read: bees.txt: it is neither" in err and "; lakes.txt: it is neither" in err
    assert "Nothing was changed." in err and "--hidden" not in err
    assert paths() == ["bees.txt", "lakes.txt"]


def test_what_cannot_be_synced_is_told(folder: Path, tmp_path: Path, atomr: Atomr) -> None:
    assert "there is no text index named 'notes'" in atomr("text", "sync", "notes", status=1).err
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "title": "Como", "text": "Lake Como is deep."}\n')
    atomr("text", "build", str(corpus), "--name", "mine")
    assert "follows no folder" in atomr("text", "sync", "mine", status=1).err
    build(folder)
    folder.rename(tmp_path / "elsewhere")
    err = atomr("text", "sync", "notes", status=1).err
    assert "cannot be read: it is not there" in err and "atomr text move notes FOLDER" in err
    assert "Traceback" not in err
    assert paths() == ["bees.txt", "lakes.txt"]


def test_a_build_tells_what_is_left_out_in_few_lines(folder: Path, atomr: Atomr) -> None:
    for i in range(24):
        (folder / f"photo{i}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
        (folder / f"data{i:02}.bin").write_bytes(b"\x00\x01" * 9)
    (folder / "logo.gif").write_bytes(b"\xff\xd8\xff\xe0" + bytes(20))
    (folder / "bees (1).txt").write_text("Bees make honey.")
    (folder / ".hidden.txt").write_text("Hidden.")
    for name in ("node_modules/a.js", "node_modules/b.js", ".x\x1b[2J/a"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("1")
    out, err = atomr("text", "build", str(folder), "--name", "notes", "--no-private")
    assert out.startswith("notes: 2 passages of 2 documents, ")
    assert err.partition("left out: ")[2].splitlines() == [
        "2 files in node_modules, 1 hidden file, 1 file in .x",
        "1 file left out, because another has the same text:",
        "  bees (1).txt: it is a copy of bees.txt",
        "49 files could not be read:",
        "  24 files, such as data00.bin, data01.bin, data02.bin: it is neither text nor of a kind that is read",
        "  25 pictures, such as logo.gif, photo0.png, photo1.png",
        "After changes in the folder, run: atomr text sync notes",
    ]
    (folder / "lakes (1).txt").write_text("Lakes are deep.")
    assert "1 file left out, because another has the same text:\n  lakes (1).txt" in atomr("text", "sync", "notes").err


def test_gitignore_is_kept_for_every_sync(folder: Path, atomr: Atomr) -> None:
    pytest.importorskip("pathspec")
    (folder / ".gitignore").write_text("lakes*\n")
    assert "1 file that .gitignore names" in atomr("text", "build", str(folder), "--name", "notes", "--gitignore").err
    (folder / "lakes2.txt").write_text("Lakes are deep indeed.")
    atomr("text", "sync", "notes")
    assert paths() == ["bees.txt"]
    [entry] = store.list_indexes(["text"])
    assert rebuild_words(entry)[1] == ["--name", "notes", "--gitignore"]
    corpus = folder / "corpus.jsonl"
    corpus.write_text('{"id": "1", "title": "Como", "text": "Lake Como is deep."}\n')
    assert "--gitignore" in atomr("text", "build", str(corpus), "--name", "x", "--gitignore", status=2).err


def test_an_index_is_moved_with_its_folder(folder: Path, tmp_path: Path, atomr: Atomr) -> None:
    build(folder)
    new = folder.rename(tmp_path / "elsewhere")
    (new / "hills.txt").write_text("Hills are high.")
    out = atomr("text", "move", "notes", str(new)).out
    assert "1 added: hills.txt" in out and out.endswith(f"notes follows {new} now\n")
    assert atomr("text", "sync", "notes").out == "notes: nothing has changed\n"
    assert "0 of the 3 files of the index notes are there" in atomr("text", "move", "notes", "docs", status=1).err


def test_much_new_text_is_told_to_be_embedded_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr
) -> None:
    build(folder)
    monkeypatch.setattr(documents, "EMBEDDED_AT_ONCE", 100)
    (folder / "big.txt").write_text("Mountains are high. " * 40)
    err = atomr("text", "sync", "notes").err
    assert "words first: the passages are embedded later" in err.casefold()
    assert "2 of 3 passages have a vector" in err and "`atomr text embed notes`" in err


def test_watching_makes_vectors_while_nothing_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(folder)
    begun, stopped = threading.Event(), list[bool]()

    def fill(cancellation: Cancellation) -> None:
        begun.set()
        stopped.append(cancellation.wait(_PATIENCE))
        raise Cancelled

    def changes(_roots: list[Path], _stop: Cancellation) -> Iterator[object]:
        assert begun.wait(_PATIENCE)
        yield ()  # nothing is told: it goes on
        assert stopped == []
        (folder / "new.txt").write_text("Mountains are high.")
        begun.clear()
        yield {"a change"}
        assert (stopped, begun.wait(_PATIENCE)) == ([True], True)

    monkeypatch.setattr(text_sync, "_watcher", lambda: changes)
    text_sync._follow("notes", lambda: sync_documents_index("notes", embedder=FakeEmbedder()), fill)
    assert stopped == [True, True], "it ends with the command"
    assert paths() == ["bees.txt", "lakes.txt", "new.txt"]


def test_watching_needs_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr) -> None:
    build(folder)
    (folder / "new.txt").write_text("Mountains are high.")
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    err = atomr("text", "sync", "notes", "--watch", status=1).err
    assert "--watch needs the extra `documents`" in err
    assert add_extra("documents") in err
    assert paths() == ["bees.txt", "lakes.txt"]  # told before anything is done
    monkeypatch.setitem(sys.modules, "pathspec", None)
    err = atomr("text", "build", str(folder), "--name", "other", "--exclude", "*.log", status=1).err
    assert "--exclude needs the extra `documents`" in err
    assert add_extra("documents") in err


def following(
    monkeypatch: pytest.MonkeyPatch, steps: list[Callable[[], None]], once: Callable[[], SyncReport] | None = None
) -> None:
    """Follow the folder; a step is what happens before each change that is told."""

    def changes(_roots: list[Path], _stop: Cancellation) -> Iterator[object]:
        for step in steps:
            step()
            yield ()

    monkeypatch.setattr(text_sync, "_watcher", lambda: changes)
    text_sync._follow("notes", once or (lambda: sync_documents_index("notes", embedder=FakeEmbedder())))


def test_a_folder_that_is_gone_for_a_moment_ends_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    build(folder)
    away = tmp_path / "away"

    def comes_back() -> None:
        away.rename(folder)
        (folder / "new.txt").write_text("Mountains are high.")

    following(monkeypatch, [lambda: folder.rename(away) and None, lambda: None, comes_back, lambda: None])
    out, err = capsys.readouterr()
    assert err.count("cannot be read") == 1  # told once
    assert out.count("1 added: new.txt") == 1
    assert paths() == ["bees.txt", "lakes.txt", "new.txt"]


def test_another_process_that_builds_the_index_ends_nothing_and_an_index_that_is_removed_does(
    atomr: Atomr, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    build(folder)
    said: list[KnowledgeIndexError | None] = [None, KnowledgeIndexError("another process is building it"), None]

    def once() -> SyncReport:
        error = said.pop(0)
        if error is not None:
            raise error
        return sync_documents_index("notes", embedder=FakeEmbedder())

    following(monkeypatch, [lambda: None] * 2, once)
    assert "another process is building it" in capsys.readouterr().err

    def remove() -> None:
        atomr("indexes", "remove", "text", "notes", "--yes")

    with pytest.raises(KnowledgeIndexError, match="no text index named"):
        following(monkeypatch, [remove])


def test_a_stop_while_it_syncs_is_a_cancelled_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(folder)
    done = sync_documents_index("notes", embedder=FakeEmbedder())
    said: list[SyncReport | None] = [done, None]

    def once() -> SyncReport:
        report = said.pop(0)
        if report is None:
            raise Cancelled
        return report

    with pytest.raises(Cancelled):
        following(monkeypatch, [lambda: None], once)


def test_where_the_system_tells_of_no_changes_the_folder_is_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    watchfiles = pytest.importorskip("watchfiles")

    def refuses(*_: Any, **__: Any) -> Iterator[object]:
        raise OSError("OS file watch limit reached.")
        yield

    monkeypatch.setattr(watchfiles, "watch", refuses)
    monkeypatch.setattr(text_sync, "_LOOK_AGAIN_MS", 10)
    stop = Cancellation()
    seen = 0
    for _ in text_sync._watcher()([folder], stop):
        seen += 1
        if seen == 3:
            stop.cancel()
    assert seen == 3
    assert "OS file watch limit reached" in capsys.readouterr().err


class Reader(threading.Thread):
    """Reads the whole index again and again, as it is opened anew."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[tuple[str, ...]] = set()
        self.problems: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        directory = store.index_path("text", "notes")
        while not self.ended.wait(0.02):
            try:
                counts = store.read_manifest(directory).counts
                rows = connect(directory).open_table(TABLE).to_arrow().to_pylist()
                again = store.read_manifest(directory).counts
            except Exception:
                # Replaced while it was read: those who read notice, and open the new one.
                continue
            if counts != again:
                continue
            if len(rows) != counts["passages"]:
                self.problems.append(f"{len(rows)} of {counts['passages']} passages")
            self.seen.add(tuple(sorted(row["text"] for row in rows)))


def wait_for(holds: Callable[[], bool], process: subprocess.Popen[str], told: list[str]) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        assert process.poll() is None, "".join(told)
        assert time.monotonic() < until, "".join(told)
        time.sleep(0.1)


@pytest.mark.slow
def test_a_folder_is_followed_until_ctrl_c(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles")
    embedder_directory()
    root = tmp_path / "notes"
    root.mkdir()
    (root / "bees.txt").write_text("Bees make honey.")
    command = [sys.executable, "-m", "atomr_local", "text"]
    environment = os.environ | {"PYTHONPATH": PYTHONPATH, "NO_COLOR": "1"}
    subprocess.run([*command, "build", str(root), "--name", "notes"], check=True, env=environment, cwd=ROOT)
    process = subprocess.Popen(
        [*command, "sync", "notes", "--watch"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    told: list[str] = []

    def hear() -> None:
        assert process.stdout is not None
        told.extend(process.stdout)  # line by line

    listener = threading.Thread(target=hear, daemon=True)
    listener.start()
    reader = Reader()
    try:
        wait_for(lambda: any(line.startswith("Watching") for line in told), process, told)
        reader.start()
        (root / "lakes.txt").write_text("Lakes are deep.")
        (root / "hills.txt").write_text("Hills are high.")  # taken in together with the one before
        wait_for(lambda: any("2 added: hills.txt, lakes.txt" in line for line in told), process, told)
        (root / "bees.txt").unlink()
        wait_for(lambda: any("1 removed: bees.txt" in line for line in told), process, told)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        reader.ended.set()
    listener.join(10)
    reader.join(10)
    assert "Traceback" not in "".join(told)
    assert not reader.problems
    states = {("Bees make honey.",), ("Bees make honey.", "Hills are high.", "Lakes are deep.")}
    assert states | {("Hills are high.", "Lakes are deep.")} >= reader.seen
    assert len(reader.seen) > 1
    (report,) = verify_indexes("notes")
    assert report.good, report.problems


@pytest.mark.parametrize(
    "options", [("--id", "x"), ("--title", "x"), ("--text", "x"), ("--salvage",), ("--add",), ("--limit", "3")]
)
def test_options_for_articles_are_no_options_for_documents(
    folder: Path, options: tuple[str, ...], atomr: Atomr
) -> None:
    err = atomr("text", "build", str(folder), "--name", "notes", *options, status=2).err
    assert f"documents are read without {options[0]}" in err
    assert not store.index_path("text", "notes").exists()
