from __future__ import annotations

from functools import partial

import pytest
from support.fake_facts import FakeFacts, fact
from support.fake_parts import FakeSource, begun

from atomr_local.errors import Cancelled, SourceError
from atomr_local.reasoning.source_access import FactReader
from atomr_local.reasoning.trace.events import Event, EvidenceFound, RetrievalStarted
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import ROOT_ID

FOUND = (fact("Paris", "country", "France", 3.0), fact("Par\x1b[31mis", "twin\ncity", "Rome", 1.0))


tools_of = partial(begun, "Which city?")


def reader(tools: QuestionContext) -> FactReader:
    assert tools.facts is not None
    return tools.facts


def test_without_a_source_that_has_facts_as_text_there_is_no_reader() -> None:
    assert tools_of(FakeSource("graph")).facts is None
    assert tools_of(FakeFacts(missing="run a command")).facts is None


def test_facts_are_evidence_of_the_step_that_cites_the_triple() -> None:
    events: list[Event] = []
    source = FakeFacts({"Paris": FOUND})
    tools = tools_of(source, events=events)
    found = reader(tools).search(ROOT_ID, "Paris", 2)
    assert source.searched == [("Paris", 2)]
    assert [(one.id, one.title, one.text) for one in found] == [
        ("e1", "Paris", "Paris — country: France."), ("e2", "Paris", "Paris — twin city: Rome."),
    ]  # fmt: skip
    assert found[0].locator["rows"] == [{"subject": "urn:Paris", "property": "urn:country", "object": "France"}]
    assert [event.query for event in events if isinstance(event, RetrievalStarted)] == ["Paris"]
    assert tools.recorder.trace.totals.retrievals["graph"] == 1
    assert tools.recorder.trace.node(ROOT_ID).evidence == ["e1", "e2"]
    assert "\x1b" not in str(tools.recorder.trace)


def test_a_failing_source_ends_its_retrieval() -> None:
    events: list[Event] = []
    tools = tools_of(FakeFacts({"Paris": SourceError("damaged")}), events=events)
    with pytest.raises(SourceError):
        reader(tools).search(ROOT_ID, "Paris", 2)
    assert [event.evidence for event in events if isinstance(event, EvidenceFound)] == [()]


def test_a_cancelled_question_searches_no_facts() -> None:
    cancellation = Cancellation()
    source = FakeFacts()
    facts = reader(tools_of(source, cancellation=cancellation))
    cancellation.cancel()
    with pytest.raises(Cancelled):
        facts.search(ROOT_ID, "Paris", 2)
    assert source.searched == []


def test_a_step_that_may_not_use_the_source_finds_nothing() -> None:
    source = FakeFacts({"Paris": FOUND})
    facts = reader(tools_of(source))
    facts.access.allowed = {ROOT_ID: frozenset({"text"})}
    assert facts.search(ROOT_ID, "Paris", 2) == []
    assert source.searched == []
