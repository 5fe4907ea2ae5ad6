"""The process that runs one query: a task as JSON on standard input; on standard output a line of JSON for each thing
found, as it is found.

First {"variables": [...]} and then an array a row, null where a variable is unbound, or {"boolean": ...}; last
{"cut": whether there are more rows}. Instead of that, at any place: {"invalid": why} or {"failed": why}.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

_MEMORY = 4 << 30
_LONGEST_VALUE = 100_000  # characters
_BATCH, _PAUSE = 64, 0.05


def _bounded(seconds: float) -> None:
    """Let the system end this process when it takes too long or too much, even if its parent is gone."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


@contextlib.contextmanager
def _clock_stopped() -> Iterator[None]:
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, left)


class RowWriter:
    """What is found, on its way out: in batches, and every moment by a thread of its own, for Oxigraph may be long in
    finding the next row (the interpreter is free meanwhile), and this process may be ended before it has."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: deque[bytes] = deque()
        self._writing = threading.Lock()
        self._encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        threading.Thread(target=self._keep_flowing, daemon=True).start()

    def send(self, found: object) -> None:
        self._lines.append(self._encoded(found).encode() + b"\n")
        if len(self._lines) >= _BATCH:
            # The limit is the query's: a reader who takes his time does not use it up.
            with _clock_stopped():
                self.flush()

    def flush(self) -> None:
        with self._writing:
            while self._lines:
                self._stream.write(self._lines.popleft())
            self._stream.flush()

    def _keep_flowing(self) -> None:
        while True:
            time.sleep(_PAUSE)
            with _ended_when_unread():
                self.flush()


@contextlib.contextmanager
def _ended_when_unread() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        os._exit(1)


def answer(task: dict[str, Any], outlet: RowWriter) -> None:
    """Run the task's query and send what it finds."""
    try:
        _run(task, outlet)
    except BrokenPipeError:
        raise
    except MemoryError:
        outlet.send({"failed": "it needed too much memory"})
    except (SyntaxError, ValueError) as error:
        outlet.send({"invalid": getattr(error, "msg", None) or str(error)})
    except (OSError, RuntimeError) as error:
        outlet.send({"failed": str(error)})
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust code; nothing of the program is imported here
            raise
        outlet.send({"failed": str(error)})


def _run(task: dict[str, Any], outlet: RowWriter) -> None:
    from pyoxigraph import QueryBoolean, QueryTriples, Store

    store = Store.read_only(task["store"])
    _bounded(task["timeout"])
    result: Any = store.query(task["query"], prefixes=task["prefixes"], use_default_graph_as_union=task["union"])
    if isinstance(result, QueryBoolean):
        outlet.send({"boolean": bool(result)})
        cut = False
    elif isinstance(result, QueryTriples):
        outlet.send({"variables": ["subject", "predicate", "object"]})
        rows = ([_text(triple.subject), _text(triple.predicate), _text(triple.object)] for triple in result)
        cut = _send_rows(rows, task, outlet)
    else:
        outlet.send({"variables": [variable.value for variable in result.variables]})
        cut = _send_rows(([_text(term) for term in row] for row in result), task, outlet)
    outlet.send({"cut": cut})


def _send_rows(found: Iterator[list[str | None]], task: dict[str, Any], outlet: RowWriter) -> bool:
    """Send the first rows, read no further than the limits go; whether there are more."""
    most, longest = task["max_rows"], task["max_characters"]
    size = 0
    for count, row in enumerate(found):
        size += sum(len(text) for text in row if text)
        if count == most or (longest is not None and size > longest and count):
            return True
        outlet.send(row)
    return False


def _text(term: Any) -> str | None:
    if term is None:
        return None
    value = getattr(term, "value", None)
    text = value if isinstance(value, str) else str(term)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def main() -> None:
    # Of its own: with PYTHONUNBUFFERED that of `sys` loses what a write interrupted by a stop of the process left over.
    stream = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)
    outlet = RowWriter(stream)
    with _ended_when_unread():
        answer(json.load(sys.stdin), outlet)
        outlet.flush()


if __name__ == "__main__":
    main()
