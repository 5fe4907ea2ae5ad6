"""A small text and a small graph index that share entities, for questions that need both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from atomr_lab.question_making.knowledge import Knowledge
from atomr_lab.question_making.reviewing import open_knowledge

from atomr_local.indexing.embedding.embedder import Embedder
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.text_index.index import build_text_index
from support.fake_embedder import FakeEmbedder

PAGES = {
    "The Lake": "The Lake is a 1931 drama film directed by Ann Lee. It was a success.",
    "Ann Lee": "Ann Lee was a film director. She made two films.",
    "Bob Poe": "Bob Poe (born 4 June 1910) was a film director. He died on 5 July 1980 in York.",
    "Cara Fox": "Cara Fox was a painter. She married Dan Roe.",
    "Life of Gil Moe": "Life of Gil Moe is a 1950 film directed by Gil Moe.",
    "The Hill": "The Hill is a 1951 film directed by Ann Lee and Jim Kay.",
    "The Moor": "The Moor is a 1952 film directed by Ivy Low.",
}
FACTS = """
Ann Lee | date of birth | 3 May 1901
Ann Lee | child | Tom Lee
Ann Lee | child | Eve Lee
Other Lee | date of birth | 9 May 1901
The Sea | director | Bob Poe
Dan Roe | spouse | Cara Fox
Gil Moe | place of birth | Leeds
The Moor | director | Ivy Low
Ivy Low | date of birth | 7 July 1907
"""


def build_world(
    home: Path,
    name: str = "cross",
    pages: Mapping[str, str] | None = None,
    facts: str | Sequence[str] = FACTS,
    embedder: Embedder | None = None,
) -> None:
    """Build both indexes, by default without a real embedder. Needs ATOMR_HOME set to a scratch directory."""
    given = PAGES if pages is None else pages
    articles = home / "pages.jsonl"
    articles.write_text(
        "".join(
            json.dumps({"id": title.lower().replace(" ", "-"), "title": title, "text": text}) + "\n"
            for title, text in given.items()
        ),
        encoding="utf-8",
    )
    lines = facts.strip().splitlines() if isinstance(facts, str) else facts
    triples = home / "facts.jsonl"
    triples.write_text(
        "".join(json.dumps(dict(zip("spo", line.split(" | "), strict=True))) + "\n" for line in lines), encoding="utf-8"
    )
    build_text_index([articles], name, embedder=embedder or FakeEmbedder())
    build_graph_index([triples], name)


@contextmanager
def opened(name: str = "cross") -> Iterator[Knowledge]:
    knowledge = open_knowledge(name, name)
    try:
        yield knowledge
    finally:
        knowledge.close()
