"""Years that a step looked up and that nothing which its answer cites mentions: a relation of the graph has no year."""

from __future__ import annotations

import re

from atomr_local.reasoning.trace.schema import Trace

_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d.,]*\d)")


def unmentioned_years(trace: Trace) -> tuple[str, ...]:
    """The years, in the order of the steps; steps that computed something, or that the user answered, do not count."""
    texts = {item.id: f"{item.title} {item.text}" for item in trace.evidence}
    missing: dict[str, None] = {}
    for node in trace.nodes:
        if node.operation is not None or node.by_user or not node.answers or not node.cited:
            continue
        cited = " ".join(texts.get(item, "") for item in node.cited)
        wanted = " ".join(item for item in node.arguments if isinstance(item, str))
        missing.update(dict.fromkeys(year for year in _YEAR.findall(wanted) if year not in cited))
    return tuple(missing)
