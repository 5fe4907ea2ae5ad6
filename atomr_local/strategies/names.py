"""The names of the strategies, without loading one: what a shell completes."""

from __future__ import annotations

from atomr_local.system.plugins import offered

ENTRY_POINTS = "atomr_local.strategies"
OURS = (
    "atomr", "rag", "closed-book", "cot", "self-ask", "ircot", "probtree", "dsp", "react", "cok", "detllm", "roht",
    "searchain", "humaniq",
)  # fmt: skip


def known_names() -> list[str]:
    """The name of every strategy, ours first, also of those that cannot be loaded."""
    return [*OURS, *offered(ENTRY_POINTS, OURS)]


def is_known(name: str) -> bool:
    """Whether a strategy has this name. Other packages are looked through only where it is none of ours."""
    return name in OURS or name in known_names()
