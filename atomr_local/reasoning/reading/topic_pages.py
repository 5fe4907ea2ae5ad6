"""A bare topic, or "tell me about …": the page of that name, in its own first sentences."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.indexing.text_index.chunking import sentences
from atomr_local.language.names import base_key, name_key
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, SourceName

_WORDS = 50
_SENTENCE_WORDS = 5
_FACT = " \u2014 "  # between a subject and its property where the graph tells a fact


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
        return item.source != SourceName.GRAPH, len(base_key(item.title))

    return max(filter(held, evidence), key=rank, default=None)


def opening(page: Evidence, words: int = _WORDS) -> str:
    """The first sentences, as many as have at most so many words together; a first one that has more is cut.

    Of an entity of the graph its description, where it has one.
    """
    line = sanitize_line(page.text)
    kept: list[str] = []
    for begin, end in sentences(line):
        piece = line[begin:end].strip()
        if kept and page.source == SourceName.GRAPH and _FACT in piece:
            break
        if kept and len(" ".join([*kept, piece]).split()) > words:
            break
        if piece:
            kept.append(piece)
    told = " ".join(kept).split()
    return " ".join(told) if len(told) <= words else " ".join(told[:words]) + " …"


def is_sentence(text: str) -> bool:
    """Whether a text stands as a sentence of its own, such as a topic's opening; "Washington, D.C." does not."""
    return len(text.split()) >= _SENTENCE_WORDS and text.endswith((".", "!", "?", "…"))
