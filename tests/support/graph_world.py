"""A small world of facts, built into a real graph index, and short ways to ask it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, SelectResult
from atomr_local.sources.protocol import Request, Retrieval, Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator
from support.homes import at_home

WORLD = """
France | instance of | country
France | capital | Paris
France | continent | Europe
France | population | 68 million
France | area | 643,801 km²
France | shares border with | Spain
France | also known as | French Republic
France | description | country in Western Europe
Spain | instance of | country
Spain | capital | Madrid
Spain | continent | Europe
Spain | population | 47400000
Japan | instance of | country
Japan | continent | Asia
Japan | capital | Tokyo
Paris | instance of | city
Paris | country | France
city | subclass of | settlement
Paris (mythology) | instance of | mythical character
Paris (mythology) | description | son of Priam, king of Troy
Paris (mythology) | father | Priam
Eiffel Tower | located in the administrative territorial entity | Paris
Eiffel Tower | height | 330 m
Eiffel Tower | inception | 31 March 1889
Eiffel Tower | instance of | tower
Marie Curie | instance of | human
Marie Curie | date of birth | 7 November 1867
Marie Curie | place of birth | Warsaw
Marie Curie | spouse | Pierre Curie
Marie Curie | award received | Nobel Prize in Physics
Marie Curie | award received | Nobel Prize in Chemistry
Marie Curie | child | Irène Joliot-Curie
Marie Curie | sex or gender | female
Marie Curie | occupation | physicist
Marie Curie | country of citizenship | Poland
Marie Curie | country of citizenship | France
physicist | subclass of | scientist
Pierre Curie | sex or gender | male
Pierre Curie | date of birth | 15 May 1859
Pierre Curie | instance of | human
Irène Joliot-Curie | father | Pierre Curie
Inception | instance of | film
Inception | director | Christopher Nolan
Inception | publication date | 2010
Dunkirk | director | Christopher Nolan
Dunkirk | instance of | film
Dunkirk | publication date | 2017-07-21
Get Low | performer | Dillon Francis
Get Low (Lil Jon song) | performer | Lil Jon
Hamlet | instance of | play
Hamlet | author | William Shakespeare
Hamlet (1948 film) | instance of | film
Hamlet (1948 film) | publication date | 1948
Hamlet (1948 film) | based on | Hamlet
Georgia | instance of | country
Georgia (U.S. state) | country | United States
Georgia (U.S. state) | instance of | state
United Kingdom | instance of | country
The Hobbit | author | J. R. R. Tolkien
oxygen | atomic number | 8
Mars | has moon | Phobos
Mars | has moon | Deimos
Mars | instance of | planet
"""


_built: dict[str, TemporaryDirectory[str]] = {}  # copies of the indexes that this process has built, by their facts


def open_world(home: Path, lines: str = WORLD, *, anew: bool = False) -> GraphSource:
    """A graph of these facts. Needs ATOMR_HOME set to a scratch directory.

    Args:
        anew: do not take a copy of a graph that was built before.
    """
    facts = [dict(zip("spo", line.split(" | "), strict=True)) for line in lines.strip().splitlines()]
    file = home / "world.jsonl"
    file.write_text("".join(json.dumps(fact) + "\n" for fact in facts), encoding="utf-8")
    place = store.index_path("graph", "world")
    if lines in _built and not anew:
        shutil.copytree(_built[lines].name, place)
    else:
        build_graph_index([file], "world")
        if not anew:
            _built[lines] = TemporaryDirectory(prefix="atomr-world-")
            shutil.copytree(place, _built[lines].name, dirs_exist_ok=True)

    def no_embedder() -> object:
        # Not an Exception, which would be taken for a broken embedder.
        pytest.fail("words decide here; the embedder must not be loaded")

    return GraphSource.open(place, no_embedder)  # type: ignore[arg-type]


class Asker:
    """Runs operators on a source and gives what matters of the answer."""

    def __init__(self, source: GraphSource) -> None:
        self.source = source

    def request(self, operator: Operator | None, *arguments: str | Value, question: str = "") -> Retrieval:
        values = tuple(Value(item) if isinstance(item, str) else item for item in arguments)
        query = " ".join(value.text for value in values)
        return self.source.retrieve(Request(question, query, operator, values), Cancellation())

    def search(self, name: str, descriptor: str = "", question: str = "") -> Retrieval:
        return self.request(Operator.SEARCH, *([name, descriptor] if descriptor else [name]), question=question)

    def relate(self, head: str | Value, relation: str | Value, question: str = "") -> list[str]:
        return [value.text for value in self.request(Operator.RELATE, head, relation, question=question).values]

    def keeps(self, entity: str, condition: str) -> bool | None:
        """True or False as decided, None where the graph cannot tell."""
        found = self.request(Operator.FILTER, entity, condition)
        return bool(found.values) if found.decided else None


def queries_noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that graphs run from here on."""
    run: list[str] = []
    select = KnowledgeGraph.select

    def noted(graph: KnowledgeGraph, query: str, limit: int | None = None) -> SelectResult:
        run.append(query)
        return select(graph, query, limit)

    monkeypatch.setattr(KnowledgeGraph, "select", noted)
    return run


def world_fixture(lines: str = WORLD) -> Any:
    """A fixture of a module: an :class:`Asker` of a graph of these facts, which is closed at the end."""

    @pytest.fixture(scope="module")
    def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
        with at_home(tmp_path_factory.mktemp("home")) as home:
            source = open_world(home, lines)
        yield Asker(source)
        source.close()

    return ask
