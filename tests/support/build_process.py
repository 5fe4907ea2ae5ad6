"""Runs text builds in child processes of one helper process that has paid for the imports, so that many can be killed.

Standard input: lines [MODE, INDEX, FILE...] in JSON, one command each. Standard output: the child's process id when it
begins, then "ended STATUS" with the exit status, or minus the signal that killed it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Literal

from support.places import PYTHONPATH, TESTS


class BuildProcess:
    """The helper process, from outside. Modes: build, add, words (of files of articles; words first), pages
    (of dumps, read by two processes), folder, folder-words, sync, embed.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(TESTS / "support" / "build_process.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
        )  # fmt: skip
        assert self._line() == "ready"

    def run(self, mode: str, name: str, *files: Path, kill_after: float | None = None) -> int:
        """The exit status of a command, -9 when it was killed so many seconds after it began."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([mode, name, *map(str, files)]) + "\n")
        self._process.stdin.flush()
        pid = int(self._line())
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return int(self._line().removeprefix("ended "))

    def timed(self, mode: str, name: str, *files: Path) -> float:
        """How many seconds a command takes that nobody disturbs."""
        begun = time.monotonic()
        assert self.run(mode, name, *files) == 0
        return time.monotonic() - begun

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def child(command: list[str]) -> int:
    from atomr_local.indexing.text_index.documents import build_documents_index, sync_documents_index
    from atomr_local.indexing.text_index.filling import embed_text_index
    from atomr_local.indexing.text_index.index import build_text_index
    from support.fake_embedder import FakeEmbedder

    mode, name, *given = command
    files, embedder = [Path(file) for file in given], FakeEmbedder()
    try:
        if mode == "sync":
            sync_documents_index(name, embedder=embedder)
        elif mode == "embed":
            embed_text_index(name, embedder=embedder)
        elif mode.startswith("folder"):
            vectors: Literal["now", "later"] = "later" if mode == "folder-words" else "now"
            build_documents_index(files, name, embedder=embedder, vectors=vectors)
        elif mode == "pages":
            build_text_index(files, name, embedder=embedder, processes=2)
        elif mode == "words":
            build_text_index(files, name, embedder=embedder, vectors="later")
        else:
            build_text_index(files, name, embedder=embedder, add=mode == "add")
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    import lancedb
    import lancedb.index  # noqa: F401
    import pyarrow  # noqa: F401

    from atomr_local.indexing.text_index import build as text_build
    from atomr_local.indexing.text_index import documents, filling  # noqa: F401

    text_build.BATCH = filling.BATCH = 4
    text_build.WORDS_BATCH = 4
    text_build.QUIET_RECORDS = 3
    text_build.COMPACT_EVERY = 5
    warnings.simplefilter("ignore", RuntimeWarning)  # lancedb warns of forks; nothing runs in it when this one forks
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            print(os.getpid(), flush=True)
            os._exit(child(json.loads(line)))
        _, status = os.waitpid(pid, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
