"""Passages of an article: none reaches over the beginning of a section, unless it is too short to stand alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atomr_local.indexing.chunking import passages
from atomr_local.indexing.readers.articles import Article

PASSAGE_WORDS = 120
# A section shorter than this says too little for a passage of its own; it goes with the one before it.
_SHORT_WORDS = 20


@dataclass(frozen=True, slots=True)
class SectionPassage:
    """`text` is the article's text[start:end]; `section` the heading it stands under, "" for the lead."""

    text: str
    start: int
    end: int
    section: str


def article_passages(article: Article, budget: int = PASSAGE_WORDS) -> Iterator[SectionPassage]:
    """The article's passages of at most `budget` words, in order."""
    text = article.text
    held: SectionPassage | None = None
    for passage in _by_section(article, budget):
        if held is None:
            held = passage
            continue
        words = len(passage.text.split())
        if words < _SHORT_WORDS and len(held.text.split()) + words <= budget and held.section != passage.section:
            held = SectionPassage(text[held.start : passage.end], held.start, passage.end, held.section)
            continue
        yield held
        held = passage
    if held is not None:
        yield held


def _by_section(article: Article, budget: int) -> Iterator[SectionPassage]:
    text = article.text
    begins = [(0, ""), *((section.start, section.heading) for section in article.sections)]
    for i, (begin, heading) in enumerate(begins):
        end = begins[i + 1][0] if i + 1 < len(begins) else len(text)
        for passage in passages(text[begin:end], budget):
            yield SectionPassage(passage.text, begin + passage.start, begin + passage.end, heading)
