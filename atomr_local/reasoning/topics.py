"""A bare topic, or "tell me about …": the page of that name, in its own first sentences."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.indexing.chunking import sentences
from atomr_local.indexing.names import base_key, name_key
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, SourceName

_WORDS = 50


def topic_page(question: str, evidence: Sequence[Evidence], *, alone: bool = False) -> Evidence | None:
    """What is found under the name that the question holds: the longest name first, a page before graph facts.

    Args:
        alone: the question must be that name and nothing else.
    """
    asked = f" {name_key(question)} "

    def held(item: Evidence) -> bool:
        keys = {name_key(item.title), base_key(item.title)} - {""}
        return asked.strip() in keys if alone else any(f" {key} " in asked for key in keys)

    def rank(item: Evidence) -> tuple[bool, int]:
        return item.source is not SourceName.GRAPH, len(base_key(item.title))

    return max(filter(held, evidence), key=rank, default=None)


def opening(text: str, words: int = _WORDS) -> str:
    """The text's first sentences, as many as have at most so many words together; a first one that has more is cut."""
    line = sanitize_line(text)
    kept: list[str] = []
    for begin, end in sentences(line):
        piece = line[begin:end].strip()
        if kept and len(" ".join([*kept, piece]).split()) > words:
            break
        if piece:
            kept.append(piece)
    told = " ".join(kept).split()
    return " ".join(told) if len(told) <= words else " ".join(told[:words]) + " …"
