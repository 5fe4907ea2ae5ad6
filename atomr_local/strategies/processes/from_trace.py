"""The process that a finished trace holds, to be corrected step by step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from atomr_local.errors import InputError
from atomr_local.reasoning.asking.pairs import BAR, halves
from atomr_local.reasoning.sparql.writer import NO_SKETCH, NOTHING_OFFERED
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.privacy import indexes_of
from atomr_local.strategies.processes.process import FINISH, TOOLS, Process, checked
from atomr_local.strategies.shared.human_tools import NONE, NOT_ON_PAGE

_NO_THOUGHT = "(no thought was written)"
_UNKNOWN = "Unknown"
_SEEN = 2000
_SKETCH = re.compile(r"query \d+: (.+)")


def process_of(trace: Trace) -> Process:
    """The steps of the trace as a process.

    Raises:
        InputError: its method leaves no process, or it has no steps with tools.
    """
    known = TOOLS.get(trace.strategy)
    if known is None:
        raise InputError(
            f"the strategy {sanitize_line(trace.strategy)[:40]} leaves no process",
            hint=f"Strategies that do: {', '.join(TOOLS)}.",
        )
    steps = list(_steps(trace, known))
    if not steps:
        raise InputError("the trace has no steps with tools", hint="Ask again, or write the process yourself.")
    answer = sanitize_line(", ".join(trace.answers or (trace.guess.answers if trace.guess else ()))) or _UNKNOWN
    if steps[-1]["action"] != FINISH:
        ending = f"{answer}{BAR}{NONE}" if trace.strategy == "humaniq" else answer
        steps.append({"thought": _NO_THOUGHT, "action": FINISH, "input": ending})
    process = checked({"method": trace.strategy, "question": trace.question, "steps": steps, "answer": answer})
    return process.quoting(indexes_of(trace.settings))


def _steps(trace: Trace, known: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """The uses of tools in their order, up to the first that finishes."""
    for node in sorted(trace.nodes, key=lambda node: node.id):
        action = _action(node)
        if action is None or action[0] not in known:
            continue
        seen = sanitize_line(node.observation)[:_SEEN]
        yield {
            "thought": sanitize_line(node.thought) or _NO_THOUGHT,
            "action": action[0],
            "input": action[1],
            "by_hand": _taken(*action, seen),
            "observation": seen,
        }
        if action[0] == FINISH:
            return


def _taken(action: str, given: str, seen: str) -> str:
    """What the model took from a page or wrote as a query, for a person to correct; "" if that is unknown."""
    if action == "read":
        title = f"{halves(given)[0]}: "
        said = seen.removeprefix(title) if seen.startswith(title) else ""
        return NONE if said.startswith(NOT_ON_PAGE) else said
    if action == "query":
        written = _SKETCH.fullmatch(seen)
        return written[1] if written is not None else NONE if seen in {NO_SKETCH, NOTHING_OFFERED} else ""
    return ""


def _action(node: NodeTrace) -> tuple[str, str] | None:
    """Name and input of the tool that the step used."""
    given = node.action or {}
    name, what = (sanitize_line(str(given.get(key, ""))) for key in ("name", "input"))
    return (name, what) if name and what else None
