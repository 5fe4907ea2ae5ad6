"""Switching parts while the assistant runs, a person's SPARQL, and stopping while parts load."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource

from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.session import Session
from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError, QueryError, SettingsError
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.reasoning.trace.events import AnswerReady, Event
from atomr_local.settings.schema import load_settings
from atomr_local.sources.graph import GraphSource
from atomr_local.tree.compact import parse_compact


class Closing:
    """A part that tells when it is freed."""

    def __init__(self, inner: Any, name: str, freed: list[str]) -> None:
        self._inner, self._name, self._freed = inner, name, freed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def close(self) -> None:
        self._freed.append(self._name)


@pytest.fixture
def freed() -> list[str]:
    return []


@pytest.fixture
def assistant(freed: list[str]) -> Assistant:
    made = Assistant(load_settings(), Closing(FakeBackbone(), "model", freed))  # type: ignore[arg-type]
    for name in ("text", "graph"):
        source = FakeSource(name)
        made.parts.sources[source.name] = Closing(source, name, freed)
    return made


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"text_index": "other"}, ["text"]),
        ({"graph_index": "other"}, ["graph"]),
        ({"model": "other"}, ["model"]),
        ({"adapter": "none"}, ["model"]),
        ({"llm": {"threads": 3}}, ["model"]),
        ({"endpoint": {"url": "http://127.0.0.1:1/v1"}}, ["model"]),
        ({"embedder": "other"}, ["text", "graph"]),
        ({"features": {"page_first": False}}, ["text"]),
        ({"llm": {"seed": 3}}, []),
        ({"top_k": 7, "limits": {"nodes": 9}, "web": {"enabled": True}, "features": {"beam": False}}, []),
        ({}, []),
    ],
)
def test_only_what_rests_on_a_change_is_freed(
    assistant: Assistant, freed: list[str], changes: dict[str, Any], expected: list[str]
) -> None:
    assistant.reconfigure(**changes)
    assert freed == expected
    left = {"model"} if assistant.parts.backbone is not None else set()
    assert left | {str(name) for name in assistant.parts.sources} == {"model", "text", "graph"} - set(expected)


def test_other_values_of_a_group_stay_and_the_new_ones_hold_at_once(assistant: Assistant) -> None:
    assistant.reconfigure(limits={"nodes": 9}, top_k=7)
    assistant.reconfigure(limits={"depth": 4})
    assert (assistant.settings.limits.nodes, assistant.settings.limits.depth, assistant.settings.top_k) == (9, 4, 7)


def test_the_web_switch_follows_the_setting_only_when_that_changes(assistant: Assistant) -> None:
    assistant.set_web(True)
    assistant.reconfigure(top_k=7)
    assert assistant.web_enabled
    assistant.reconfigure(web={"enabled": True})
    assistant.reconfigure(web={"enabled": False})
    assert not assistant.web_enabled


@pytest.mark.parametrize(
    "changes", [{"top_k": 0}, {"nope": 1}, {"llm": {"threads": -1}}, {"llm": 3}, {"strategy": "guess"}]
)
def test_unusable_changes_are_refused_and_nothing_changes(
    assistant: Assistant, freed: list[str], changes: dict[str, Any]
) -> None:
    before = assistant.settings
    with pytest.raises(SettingsError):
        assistant.reconfigure(model="other", **changes)
    assert assistant.settings is before and not freed


def test_while_a_question_runs_nothing_can_be_switched(assistant: Assistant, freed: list[str]) -> None:
    events = assistant.ask("Who wrote Emma?", plan=parse_compact('1. a? = Search("a")', "Who?"))
    next(events)
    with pytest.raises(InputError, match="another question"):
        assistant.reconfigure(model="other")
    assert not freed
    events.close()  # type: ignore[attr-defined]
    assistant.reconfigure(model="other")
    assert freed == ["model"]


# -- stopping while parts load


@pytest.mark.slow
def test_a_question_stops_at_once_while_parts_load_and_they_are_there_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on, begun, loaded = threading.Event(), threading.Event(), threading.Event()

    def slow(self: Session, *_: object) -> None:
        begun.set()
        go_on.wait(30)
        self.backbone = FakeBackbone()  # type: ignore[assignment]
        loaded.set()

    monkeypatch.setattr(Session, "_load_backbone", slow)
    assistant = Assistant(load_settings())
    seen: list[Event] = []
    asking = threading.Thread(target=lambda: seen.extend(assistant.ask("Who wrote Emma?", sources=[])))
    asking.start()
    assert begun.wait(30)
    assistant.cancel()
    asking.join(30)
    assert not asking.is_alive() and not loaded.is_set()
    assert [event.status for event in seen if isinstance(event, AnswerReady)] == ["cancelled"]
    go_on.set()
    assistant.preload()
    assert assistant.parts.backbone is not None


# -- a person's SPARQL


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Assistant]:
    facts = tmp_path / "facts.jsonl"
    facts.write_text(
        '{"s": "Ann Lee", "p": "father", "o": "Bob Lee"}\n{"s": "Ann Lee", "p": "born", "o": "1950", "o_type": "date"}\n'
        '{"s": "Bob Lee", "p": "father", "o": "Carl Lee"}\n'
    )
    build_graph_index([facts], "mine")
    with Assistant(load_settings(graph_index="mine"), FakeBackbone()) as assistant:  # type: ignore[arg-type]
        yield assistant


FATHERS = """SELECT ?child ?father WHERE { ?c ?p ?f . ?p rdfs:label "father"@en . ?c rdfs:label ?child .
?f rdfs:label ?father } ORDER BY ?child"""
NAMES = "SELECT ?name WHERE { ?s rdfs:label ?name } ORDER BY ?name"
ENDLESS = "SELECT (COUNT(*) AS ?n) WHERE { " + " ".join(f"?a{i} ?b{i} ?c{i} ." for i in range(12)) + " }"


def test_rows_come_as_a_table_and_the_limit_is_told(graph: Assistant) -> None:
    found = graph.query_graph(NAMES)
    assert found.columns == ("name",)
    assert found.rows[:2] == [("Ann Lee",), ("Bob Lee",)] and not found.truncated and found.seconds > 0
    cut = graph.query_graph(NAMES, limit=1)
    assert (cut.rows, cut.truncated) == ([("Ann Lee",)], True)
    unbound = graph.query_graph("SELECT ?a ?b WHERE { VALUES ?a { 1 } }")
    assert (unbound.columns, unbound.rows) == (("a", "b"), [("1", "")])
    asked = graph.query_graph('ASK { ?s rdfs:label "Nobody" }')
    assert (asked.columns, asked.rows) == (("answer",), [("no",)])


@pytest.mark.parametrize(
    "query",
    ["", " \n", "SELECT", "DROP ALL", "LOAD <http://127.0.0.1:9/>", "SELECT * { SERVICE <http://127.0.0.1:9/> {} }"],
)
def test_what_is_no_query_for_reading_is_refused(graph: Assistant, query: str) -> None:
    with pytest.raises(QueryError):
        graph.query_graph(query)


def test_a_query_that_takes_too_long_is_ended(graph: Assistant) -> None:
    with pytest.raises(QueryError, match=r"longer than 0\.3 seconds"):
        graph.query_graph(ENDLESS, timeout=0.3)


def test_cancel_ends_a_running_query_and_the_next_one_runs(graph: Assistant) -> None:
    stopped: list[Exception] = []

    def run() -> None:
        try:
            graph.query_graph(ENDLESS, timeout=120)
        except Exception as error:
            stopped.append(error)

    querying = threading.Thread(target=run)
    querying.start()
    while not graph._queries:
        time.sleep(0.001)
    graph.cancel()
    querying.join(60)
    assert [type(error) for error in stopped] == [Cancelled]
    assert graph.query_graph(NAMES).rows


def test_a_query_may_be_run_beside_a_question_on_the_index_that_is_open(graph: Assistant) -> None:
    plan = parse_compact('1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")', "Who?")
    events = graph.ask("Who wrote Emma?", plan=plan, sources=["graph"])
    next(events)
    assert graph.query_graph(NAMES).rows
    assert [event.answers for event in events if isinstance(event, AnswerReady)] == [("Bob Lee",)]
    assert isinstance(next(iter(graph.parts.sources.values())), GraphSource)
    assert graph.query_graph(NAMES).rows


def test_without_such_an_index_it_says_so() -> None:
    with (
        Assistant(load_settings(graph_index="missing"), FakeBackbone()) as assistant,  # type: ignore[arg-type]
        pytest.raises(KnowledgeIndexError, match="missing"),
    ):
        assistant.query_graph(NAMES)


def test_what_was_exchanged_is_freed_though_it_refers_to_itself() -> None:
    """The sources' caches do; a graph or a model that waits for the collector's next round costs megabytes."""
    made = Assistant(load_settings(), FakeBackbone())  # type: ignore[arg-type]
    source = FakeSource("graph")
    source.itself = source  # type: ignore[attr-defined]
    gone = weakref.ref(source)
    made.parts.sources[source.name] = source
    del source
    gc.disable()
    try:
        made.reconfigure(top_k=4)
        assert gone() is not None  # nothing was exchanged
        made.reconfigure(graph_index="other")
        assert gone() is None
    finally:
        gc.enable()
