"""The child process that reads documents: a task line, then a request a line; the file comes as a descriptor."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, BinaryIO


def serve(requests: BinaryIO, answers: BinaryIO, files: socket.socket) -> None:
    """Answer the task by {}; each request by its "documents", or by an "error"."""
    from atomr_local.indexing.readers.child_process import answer, bound_memory, processor_time
    from atomr_local.indexing.readers.documents.document import UnreadableError
    from atomr_local.indexing.readers.documents.process import parse

    task: dict[str, Any] = json.loads(requests.readline())
    bound_memory(task["memory"])
    answer(answers)
    # A pipe that nobody empties would fill: what goes wrong from here on is in the answers.
    os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
    for line in requests:
        request = json.loads(line)
        _, handles, _, _ = socket.recv_fds(files, 1, 1)
        with (
            os.fdopen(handles[0], "rb") as stream,
            processor_time(task["seconds"] + task["seconds_per_mib"] * request["size"] / (1 << 20)),
        ):
            found: dict[str, Any]
            try:
                found = {"documents": [document.as_json() for document in parse(stream, request["name"])]}
            except UnreadableError as error:
                found = {"error": str(error)}
            except MemoryError:
                found = {"error": "reading it takes too much memory"}
            except RecursionError:
                found = {"error": "its parts are nested too deeply"}
            except Exception as error:  # a parser that fails over one file must not end the build
                found = {"error": f"it cannot be read: {type(error).__name__}: {' '.join(str(error).split())[:150]}"}
        answer(answers, **found)


def _answers_alone() -> BinaryIO:
    """Standard output for answers alone: what libraries print or warn of goes nowhere."""
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return stream


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    serve(sys.stdin.buffer, _answers_alone(), socket.socket(fileno=int(sys.argv[2])))
