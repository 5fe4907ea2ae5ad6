"""The process that runs one query: a task as JSON on standard input, the result as JSON on standard output."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from itertools import islice
from typing import Any

_MEMORY = 4 << 30


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
        limit = task["max_rows"]
        found = list(islice(result, limit + 1))
        if isinstance(result, QueryTriples):
            names = ["subject", "predicate", "object"]
            rows = [{name: _text(getattr(triple, name)) for name in names} for triple in found]
        else:
            names = [variable.value for variable in result.variables]
            rows = [{name: _text(row[name]) for name in names if row[name] is not None} for row in found]
        return {"variables": names, "rows": rows[:limit], "boolean": None, "cut": len(rows) > limit}
    except (SyntaxError, ValueError, OSError, RuntimeError) as error:
        return {"error": getattr(error, "msg", None) or str(error)}


def _text(term: Any) -> str:
    value = getattr(term, "value", None)
    return value if isinstance(value, str) else str(term)


def main() -> None:
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
