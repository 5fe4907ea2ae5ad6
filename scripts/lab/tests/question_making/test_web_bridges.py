"""Second facts from the web, which only a search that was asked for gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from atomr_lab.question_making.hops import composed
from atomr_lab.question_making.knowledge import WebSearch, graph_to_web, text_to_web
from support.crossing_world import build_world, opened

from atomr_local.sources.web import WebSource
from atomr_local.system.cancellation import Cancellation


def search(query: str, _count: int) -> list[dict[str, str]]:
    said = {
        "Ivy Low": "Ivy Low (born 7 July 1907) was a film director.",
        "Ann Lee": "Ann Lee (born 3 May 1901) was a film director.",
    }
    return [
        {"title": f"{query} - a page", "href": "https://example.org/it", "body": said.get(query, "Nothing.")},
        {
            "title": "Someone else",
            "href": "https://example.org/other",
            "body": "Someone else (born 1 May 1900) was one.",
        },
    ]


@pytest.fixture
def web() -> tuple[WebSearch, list[str]]:
    sent: list[str] = []
    source = WebSource(enabled=True, search=search, leaves=lambda _what, _to, query: sent.append(query))
    return WebSearch(source, Cancellation()), sent


def test_the_web_tells_of_a_bridge(own_home: Path, web: tuple[WebSearch, list[str]]) -> None:
    build_world(own_home)
    searched, sent = web
    with opened() as knowledge:
        openings = list(knowledge.passages.openings(0, 100))
        made = [composed(one) for one in text_to_web(knowledge, openings, searched.facts)]
    asked = {one.question: one for one in made}
    one = asked["When was the director of The Moor born?"]
    assert one.answers == ("7 July 1907",)
    assert one.candidate.second.source == "web"
    assert one.candidate.second.evidence == ("https://example.org/it",)
    assert not [question for question in asked if "1 May 1900" in asked[question].answers]
    assert sorted(set(sent)) == sorted(sent), "each name is searched once"


def test_from_the_graph(own_home: Path, web: tuple[WebSearch, list[str]]) -> None:
    pages = {"The Moor": "The Moor is a film."}
    build_world(own_home, pages=pages, facts=["The Moor | director | Ivy Low"])
    with opened() as knowledge:
        made = [composed(one) for one in graph_to_web(knowledge, knowledge.passages.openings(0, 9), web[0].facts)]
    assert [one.question for one in made] == ["When was the director of The Moor born?"]
    assert made[0].candidate.bridge == "graph-web"
