"""The child process that runs queries over one store, one after another, which :class:`QueryProcess` asks.

It sends arrays of what is found, as it is found. For a task first {"variables": [...]} and then an array a row, null
where a variable is unbound, or {"boolean": ...}; last {"cut": whether there are more rows}. Instead of that, at any
place: {"invalid": why} or {"failed": why}. The last of a task says with "ends" whether this process ends with it.
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyoxigraph import Store

    from atomr_local.system.sandbox import Parent

_LONGEST_VALUE = 100_000  # characters
_BATCH, _PAUSE = 64, 0.05
_SENT = 1 << 16  # bytes of rows in one message, about


def _most_held() -> int:
    """The bytes of memory that this process has held at most.

    Linux tells it in /proc. What getrusage(2) tells there has the peak of the process that started this one in it.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:  # noqa: PTH123 - pathlib loads slowly
        for line in status:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@contextlib.contextmanager
def _clock_stopped() -> Iterator[None]:
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, left)


class RowWriter:
    """What is found, on its way out: in batches, and every moment by a thread of its own, for Oxigraph may be long in
    finding the next row (the interpreter is free meanwhile), and this process may be ended before it has."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._lines: deque[bytes] = deque()
        self._writing = threading.Lock()
        self._working = threading.Event()
        self._encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        threading.Thread(target=self._keep_flowing, daemon=True).start()

    def send(self, found: object) -> None:
        self._lines.append(self._encoded(found).encode())
        if len(self._lines) >= _BATCH:
            # The limit is the query's: a reader who takes his time does not use it up.
            with _clock_stopped():
                self.flush()

    @contextlib.contextmanager
    def task(self) -> Iterator[None]:
        """Around a task: what it sends flows, and is all written at the end."""
        self._working.set()
        try:
            yield
        finally:
            self._working.clear()
        self.flush()

    def flush(self) -> None:
        with self._writing:
            while self._lines:
                sent, size = list[bytes](), 0
                while self._lines and size < _SENT:
                    sent.append(self._lines.popleft())
                    size += len(sent[-1])
                self._parent.write(b"[" + b",".join(sent) + b"]")

    def _keep_flowing(self) -> None:
        while self._working.wait():
            time.sleep(_PAUSE)
            try:
                self.flush()
            except BrokenPipeError:  # whoever asked is gone
                os._exit(1)


class Worker:
    """Runs tasks over one store, which is opened with the first.

    Args:
        settings: the directory of the store, the prefixes that need no declaration, whether all graphs are asked,
            and the bytes of memory after which it ends with its task.
    """

    def __init__(self, settings: dict[str, Any], outlet: RowWriter) -> None:
        self._settings = settings
        self._outlet = outlet
        self._store: Store | None = None

    def answer(self, task: dict[str, Any]) -> bool:
        """Run the task's query and send what it finds; whether another task can follow."""
        with self._outlet.task():
            said, sound = self._answered(task)
            ends = not sound or _most_held() > self._settings["worn"]
            self._outlet.send(said | {"ends": ends})
        return not ends

    def _answered(self, task: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The last thing to say, and whether the process is sound."""
        try:
            try:
                return {"cut": self._run(task)}, True
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except BrokenPipeError:
            raise
        except MemoryError:
            return {"failed": "it needed too much memory"}, False
        except (SyntaxError, ValueError) as error:
            return {"invalid": getattr(error, "msg", None) or str(error)}, True
        except (OSError, RuntimeError) as error:
            return {"failed": str(error)}, False
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust code; nothing of the program is imported here
                raise
            return {"failed": str(error)}, False

    def _run(self, task: dict[str, Any]) -> bool:
        """Send what the query finds; whether there is more."""
        from pyoxigraph import QueryBoolean, QueryTriples, Store

        outlet, settings = self._outlet, self._settings
        if self._store is None:
            self._store = Store.read_only(settings["store"])
        # The system ends this process when it takes too long, even if nobody waits for it any more.
        signal.setitimer(signal.ITIMER_REAL, max(task["timeout"], 0.001))
        result: Any = self._store.query(
            task["query"], prefixes=settings["prefixes"], use_default_graph_as_union=settings["union"]
        )
        if isinstance(result, QueryBoolean):
            outlet.send({"boolean": bool(result)})
            return False
        if isinstance(result, QueryTriples):
            outlet.send({"variables": ["subject", "predicate", "object"]})
            rows = ([_text(triple.subject), _text(triple.predicate), _text(triple.object)] for triple in result)
            return _send_rows(rows, task, outlet)
        outlet.send({"variables": [variable.value for variable in result.variables]})
        return _send_rows(([_text(term) for term in row] for row in result), task, outlet)


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


def serve(settings: dict[str, Any], parent: Parent) -> None:
    """Answer each task until one leaves this process unsound, or worn."""
    worker = Worker(settings, RowWriter(parent))
    for task in parent:
        if not worker.answer(task):
            return
