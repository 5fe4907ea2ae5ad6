"""Properties whose values are texts in several languages."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from support.graph_world import Asker

from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.store import index_path
from atomr_local.sources.graph import GraphSource


def test_every_text_of_a_motto_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))

    def entity(identifier: str, label: str, **texts: str) -> str:
        claims = [
            {
                "mainsnak": {
                    "snaktype": "value", "property": "P1451", "datatype": "monolingualtext",
                    "datavalue": {"type": "monolingualtext", "value": {"text": text, "language": language}},
                },
                "rank": "normal", "id": f"{identifier}${language}",
            }
            for language, text in texts.items()
        ]  # fmt: skip
        labels = {"en": {"language": "en", "value": label}}
        return json.dumps({"id": identifier, "labels": labels, "claims": {"P1451": claims} if claims else {}})

    file = tmp_path / "a.jsonl"
    texts = {"fr": "L'union fait la force", "nl": "Eendracht maakt macht"}
    file.write_text("\n".join([entity("Q31", "Belgium", **texts), entity("P1451", "motto text")]))
    build_graph_index([file], "t")
    with closing(GraphSource.open(index_path("graph", "t"))) as source:
        ask = Asker(source)
        assert sorted(ask.relate("Belgium", "motto", "What is the motto of Belgium?")) == sorted(texts.values())
