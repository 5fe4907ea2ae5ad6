"""The process that runs one query: a task as JSON on standard input, the result as JSON on standard output."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Iterator
from typing import Any

_MEMORY = 4 << 30
# Characters of one value, and of all together, that are handed over.
_LONGEST_VALUE, _LONGEST_RESULT = 100_000, 20_000_000


def _bounded(seconds: float) -> None:
    """Let the system end this process when it takes too long or too much, even if its parent is gone."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """Run the task's query.

    Returns:
        {"variables", "rows", "boolean", "cut"}, or {"error": why the query is not valid}.
    """
    from pyoxigraph import QueryBoolean, QueryTriples, Store

    try:
        store = Store.read_only(task["store"])
        _bounded(task["timeout"])
        result: Any = store.query(task["query"], prefixes=task["prefixes"], use_default_graph_as_union=task["union"])
        if isinstance(result, QueryBoolean):
            return {"variables": [], "rows": [], "boolean": bool(result), "cut": False}
        if isinstance(result, QueryTriples):
            names = ["subject", "predicate", "object"]
            found = ({name: _text(getattr(triple, name)) for name in names} for triple in result)
        else:
            names = [variable.value for variable in result.variables]
            found = ({name: _text(row[name]) for name in names if row[name] is not None} for row in result)
        rows, cut = _capped(found, task["max_rows"])
        return {"variables": names, "rows": rows, "boolean": None, "cut": cut}
    except (SyntaxError, ValueError, OSError, RuntimeError) as error:
        return {"error": getattr(error, "msg", None) or str(error)}


def _capped(found: Iterator[dict[str, str]], most: int) -> tuple[list[dict[str, str]], bool]:
    """The first rows, read no further than the limits go, and whether there are more."""
    rows: list[dict[str, str]] = []
    size = 0
    for row in found:
        size += sum(map(len, row.values()))
        if len(rows) == most or (size > _LONGEST_RESULT and rows):
            return rows, True
        rows.append(row)
    return rows, False


def _text(term: Any) -> str:
    value = getattr(term, "value", None)
    text = value if isinstance(value, str) else str(term)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def main() -> None:
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
