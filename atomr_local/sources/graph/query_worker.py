"""The process that runs one query: a task as JSON on standard input; on standard output a line of JSON for each thing
found, as it is found.

First {"variables": [...]} and then an array a row, null where a variable is unbound, or {"boolean": ...}; last
{"cut": whether there are more rows}. Or, at any place and last, {"error": why the query is not valid or failed}.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

_MEMORY = 4 << 30
_LONGEST_VALUE = 100_000  # characters


def _bounded(seconds: float) -> None:
    """Let the system end this process when it takes too long or too much, even if its parent is gone."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


@contextlib.contextmanager
def _clock_stopped() -> Iterator[None]:
    """The limit is the query's: a reader who takes his time does not use it up, and no line is cut in two."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, left)


def _send(found: object) -> None:
    # Each at once: the next one may be long in coming, and this process may end before.
    line = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    with _clock_stopped():
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def answer(task: dict[str, Any]) -> None:
    """Run the task's query and send what it finds."""
    from pyoxigraph import QueryBoolean, QueryTriples, Store

    try:
        store = Store.read_only(task["store"])
        _bounded(task["timeout"])
        result: Any = store.query(task["query"], prefixes=task["prefixes"], use_default_graph_as_union=task["union"])
        if isinstance(result, QueryBoolean):
            _send({"boolean": bool(result)})
            cut = False
        elif isinstance(result, QueryTriples):
            _send({"variables": ["subject", "predicate", "object"]})
            rows = ([_text(triple.subject), _text(triple.predicate), _text(triple.object)] for triple in result)
            cut = _send_rows(rows, task)
        else:
            _send({"variables": [variable.value for variable in result.variables]})
            cut = _send_rows(([_text(term) for term in row] for row in result), task)
        _send({"cut": cut})
    except BrokenPipeError:
        raise
    except MemoryError:
        _send({"error": "it needed too much memory", "valid": True})
    except (SyntaxError, ValueError) as error:
        _send({"error": getattr(error, "msg", None) or str(error)})
    except (OSError, RuntimeError) as error:
        _send({"error": str(error), "valid": True})


def _send_rows(found: Iterator[list[str | None]], task: dict[str, Any]) -> bool:
    """Send the first rows, read no further than the limits go; whether there are more."""
    most, longest = task["max_rows"], task["max_characters"]
    size = 0
    for count, row in enumerate(found):
        size += sum(len(text) for text in row if text)
        if count == most or (longest is not None and size > longest and count):
            return True
        _send(row)
    return False


def _text(term: Any) -> str | None:
    if term is None:
        return None
    value = getattr(term, "value", None)
    text = value if isinstance(value, str) else str(term)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def main() -> None:
    try:
        answer(json.load(sys.stdin))
    except BrokenPipeError:
        os._exit(1)  # nobody reads any more, and there is nothing to flush


if __name__ == "__main__":
    main()
