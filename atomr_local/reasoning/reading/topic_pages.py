"""Answers a bare topic, or "tell me about …", with the first sentences of the page of that name."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.language.names import base_key, name_key
from atomr_local.language.sentences import sentences
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, SourceName

_WORDS = 50
_SENTENCE_WORDS = 5
_FACT = " \u2014 "  # between subject and property in a fact of the graph


def topic_page(question: str, evidence: Sequence[Evidence], *, alone: bool = False) -> Evidence | None:
    """The evidence whose title is in the question: pages before graph facts, longer titles first, and of those that are
    alike one without a qualifier.

    Args:
        alone: the question must be exactly that title.
    """
    asked = f" {name_key(question)} "

    def held(item: Evidence) -> bool:
        return is_titled(item, question) if alone else any(f" {key} " in asked for key in _keys(item))

    def rank(item: Evidence) -> tuple[bool, int, bool]:
        key, base = name_key(item.title), base_key(item.title)
        return item.source != SourceName.GRAPH, len(base), key == base

    return max(filter(held, evidence), key=rank, default=None)


def is_titled(item: Evidence, name: str) -> bool:
    """Whether the name is the title of the evidence, with or without its qualifier and article."""
    return name_key(name) in _keys(item)


def _keys(item: Evidence) -> set[str]:
    return {name_key(item.title), base_key(item.title)} - {""}


def opening(page: Evidence, words: int = _WORDS) -> str:
    """The first sentences with at most this many words together; a longer first sentence is cut.

    For an entity of the graph its description, if it has one.
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
    """Whether a text is a sentence, such as a topic's opening; "Washington, D.C." is not."""
    return len(text.split()) >= _SENTENCE_WORDS and text.endswith((".", "!", "?", "…"))
