"""An assistant that is served to other programs: a model that always says the same, one page of text, a few facts."""

from __future__ import annotations

import json
from pathlib import Path

from atomr_local import Assistant
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.store import index_path
from atomr_local.settings.schema import load_settings
from atomr_local.sources.graph import GraphSource

_FACTS = (
    ("Mary Shelley", "mother", "Mary Wollstonecraft", "Q47152"),
    ("Mary Shelley", "place of birth", "London", "Q47152"),
    ("Mary Shelley", "instance of", "human", "Q47152"),
    ("Mary Wollstonecraft", "date of birth", "27 April 1759", "Q101638"),
    ("London", "instance of", "city", "Q84"),
)
_CALLS = 200


def graph(scratch: Path) -> GraphSource:
    """A small graph index, opened. Needs a home."""
    facts = scratch / "served.jsonl"
    lines = [dict(zip(("s", "p", "o", "s_qid"), fact, strict=True)) for fact in _FACTS]
    facts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    build_graph_index([facts], "served")
    return GraphSource.open(index_path("graph", "served"))


def assistant(scratch: Path) -> Assistant:
    """The assistant. Needs a home."""
    from support.fake_embedder import FakeEmbedder
    from support.fake_parts import FakeBackbone, reply
    from support.served_parts import PagesSource

    backbone = FakeBackbone(*[reply("the sun")] * _CALLS)
    made = Assistant(load_settings(features={"span_reader": False}, llm={"parallel": 1}), backbone)
    made.parts.sources = {"text": PagesSource(), "graph": graph(scratch)}
    made.parts._embedder = FakeEmbedder()
    return made
