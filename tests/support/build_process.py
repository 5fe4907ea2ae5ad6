"""Runs text builds in child processes of one helper process that has paid for the imports, so that many can be killed.

Standard input: lines "INDEX FILE...", one build each. Standard output: the child's process id when it begins, then
"ended STATUS" with the exit status, or minus the signal that killed it.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from pathlib import Path

import lancedb
import lancedb.index  # noqa: F401
import pyarrow  # noqa: F401

from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index.index import build_text_index
from support.fake_embedder import FakeEmbedder

text_build.BATCH = 4
text_build.QUIET_RECORDS = 3
text_build.COMPACT_EVERY = 5


def child(command: list[str]) -> int:
    mode, name, *files = command
    try:
        build_text_index([Path(file) for file in files], name, embedder=FakeEmbedder(), add=mode == "add")
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
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
