"""A bare topic, or "tell me about …": the page of that name, in its own first sentences."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.indexing.chunking import sentences
from atomr_local.indexing.names import base_key, name_key
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, SourceName

_WORDS = 50


def topic_page(question: str, evidence: Sequence[Evidence], *, alone: bool = False) -> Evidence | None:
    """The passage of the page whose title the question holds, the longest title first.

    Args:
        alone: the question must be that title and nothing else.
    """
    asked = f" {name_key(question)} "
    pages = [item for item in evidence if item.source is SourceName.TEXT and base_key(item.title)]

    def held(item: Evidence) -> bool:
        keys = {name_key(item.title), base_key(item.title)}
        return asked.strip() in keys if alone else any(f" {key} " in asked for key in keys)

    return max(filter(held, pages), key=lambda item: len(base_key(item.title)), default=None)


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
