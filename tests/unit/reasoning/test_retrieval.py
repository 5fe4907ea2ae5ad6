from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.fake_parts import FakeGraphSource, FakeSource, begun, entity, passages, rows

from atomr_local.errors import Cancelled, SourceError
from atomr_local.reasoning.retrieval import Choice, Retriever
from atomr_local.reasoning.trace.events import Event, RetrievalStarted, SourcesSelected, WarningRaised
from atomr_local.sources.protocol import Request, Retrieval, Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import ROOT_ID, Operator

QUESTION = "Who wrote Hamlet?"


tools_of = partial(begun, QUESTION)


def titles(retriever: Retriever, *requests: Request, **given: Any) -> list[list[str]]:
    return [[item.title for item in found.evidence] for found in retriever.ask(ROOT_ID, requests, Choice(**given))]


def three() -> tuple[FakeSource, FakeSource, FakeSource]:
    found = {
        "text": passages(("Page", "Page text.")),
        "web": passages(("Site", "Site text.")),
        "graph": rows("Hamlet", entity("Shakespeare")),
    }
    text, web, graph = (FakeSource(name, {"q": found[name]}) for name in ("text", "web", "graph"))
    return text, web, graph


def test_fixed_sources_are_asked_without_choosing() -> None:
    events: list[Event] = []
    text, web, graph = three()
    tools = tools_of(text, web, graph, events=events)
    assert tools.retriever.names == ("text", "web", "graph")
    assert titles(tools.retriever, Request(QUESTION, "q"), sources=["web", "text"]) == [["Page", "Site"]]
    assert (text.queries, web.queries, graph.queries) == (["q"], ["q"], [])
    [selected] = [event for event in events if isinstance(event, SourcesSelected)]
    assert (selected.sources, selected.reason) == (("text", "web"), "set by the method")
    assert tools.recorder.trace.totals.retrievals == {"text": 1, "web": 1, "graph": 0}
    assert titles(tools.retriever, Request(QUESTION, "q"), sources=["graph"]) == [["Hamlet"]]


def test_a_source_that_is_not_at_hand_is_left_out_and_noted() -> None:
    text, _, _ = three()
    tools = tools_of(text)
    [found] = tools.retriever.ask(ROOT_ID, [Request(QUESTION, "q")], Choice(["web", "text", "web", "moon"]))
    assert [item.title for item in found.evidence] == ["Page"]
    assert found.dropped == ["web was not asked: it is not at hand", "moon was not asked: it is not at hand"]
    events: list[Event] = []
    nothing = tools_of(text, events=events)
    first, second = nothing.retriever.ask(ROOT_ID, [Request(QUESTION, "q")] * 2, Choice(["web"]))
    assert (first.evidence, first.dropped, second.evidence, second.dropped) == (
        [], ["web was not asked: it is not at hand"], [], [],
    )  # fmt: skip
    assert not [event for event in events if isinstance(event, SourcesSelected | RetrievalStarted)]
    assert nothing.retriever.ask(ROOT_ID, [], Choice(["text"])) == []
    assert nothing.retriever.ask(ROOT_ID, [Request(QUESTION, "q")], Choice([]))[0].evidence == []


def test_what_a_step_may_use_holds_for_fixed_sources_too() -> None:
    text, web, _ = three()
    tools = tools_of(text, web)
    retriever = tools.retriever
    retriever.allowed = {ROOT_ID: frozenset({"web"})}
    [found] = retriever.ask(ROOT_ID, [Request(QUESTION, "q")], Choice(["text", "web"]))
    assert [item.title for item in found.evidence] == ["Site"]
    assert found.dropped == ["text was not asked: not to be used in this step"]
    assert text.queries == []


def test_a_fixed_source_that_fails_leaves_the_others() -> None:
    events: list[Event] = []
    broken = FakeSource("web", {"q": SourceError("no connection")})
    text, _, _ = three()
    tools = tools_of(broken, text, events=events)
    [found] = tools.retriever.ask(ROOT_ID, [Request(QUESTION, "q")], Choice(["web", "text"]))
    assert [item.title for item in found.evidence] == ["Page"]
    assert found.problems == ["web: no connection"]
    assert [event.message for event in events if isinstance(event, WarningRaised)]


def test_a_set_of_entities_is_asked_of_a_fixed_graph_at_once() -> None:
    class SetGraph(FakeGraphSource):
        def retrieve_set(self, requests: Any, cancellation: Cancellation) -> list[Retrieval]:
            self.sets.append(len(requests))
            return [rows(request.query, entity("Europe")) for request in requests]

    text = FakeSource("text", {"Spain": passages(("Spain", "Spain is in Europe."))})
    graph = SetGraph()
    tools = tools_of(text, graph)
    requests = [
        Request("Where?", name, Operator.RELATE, (entity(name), Value("continent"))) for name in ("Spain", "France")
    ]
    found = tools.retriever.ask(ROOT_ID, requests, Choice(["graph", "text"], most=1))
    assert graph.sets == [2]
    assert graph.queries == []
    assert text.queries == ["Spain"]
    assert [[item.title for item in one.evidence] for one in found] == [["Spain", "Spain"], ["France"]]
    assert found[0].dropped == ["1 of 2 were looked up in the graph alone (limit 1)"]


def test_cancelled_while_fixed_sources_are_asked() -> None:
    text, _, _ = three()
    cancellation = Cancellation()
    tools = tools_of(text, cancellation=cancellation)
    cancellation.cancel()
    with pytest.raises(Cancelled):
        tools.retriever.ask(ROOT_ID, [Request(QUESTION, "q")], Choice(["text"]))


def test_a_name_is_known_in_the_spelling_that_a_local_source_has() -> None:
    text = FakeSource("text", {"Como": passages(("Lake Como", "Deep.")), "Comu": passages(("Lake Como", "Deep."))})
    web = FakeSource("web", {"Comu": passages(("Comu", "A site."))})
    events: list[Event] = []
    tools = tools_of(text, web, events=events)
    assert tools.retriever.known("Como")
    assert not tools.retriever.known("Comu"), "found by likeness; nothing on this machine has the spelling"
    assert web.queries == []
    assert not [event for event in events if isinstance(event, RetrievalStarted)], "no step looks it up"
    assert not tools_of(FakeSource("text", {"Como": SourceError("damaged")})).retriever.known("Como")
