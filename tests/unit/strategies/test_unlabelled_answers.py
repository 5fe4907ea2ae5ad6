"""An answer that the graph shows by its id, because it has no label of it, comes with what to do about it."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone, FakeSource, entity, rows, toolbox

from atomr_local.indexing.graph_index.statements.terms import shown_name
from atomr_local.language.properties import ENTITY
from atomr_local.reasoning.trace.events import Event, WarningRaised
from atomr_local.sources.protocol import Value, ValueKind
from atomr_local.strategies.atomr import AtomR
from atomr_local.tree.compact import parse_compact

QUESTION = "What is the capital of Karvia?"
PLAN = '1. What is the capital of Karvia? = Relate("Karvia", "capital")'
OTHER = "https://wiki.example.org/entity/Q7"


def by_id(iri: str) -> Value:
    return Value(shown_name(iri), ValueKind.ENTITY, iri)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            [by_id(f"{ENTITY}Q7")],
            ["Q7: no label in this graph: `atomr fetch wikidata --labels-for karvia` adds labels"],
        ),
        ([by_id(OTHER)], ["Q7: no label in this graph"]),
        ([entity("Halden")], []),
    ],
)
def test_the_note(found: list[Value], told: list[str]) -> None:
    source = FakeSource("graph", {"Karvia capital": rows("Karvia", *found)})
    events: list[Event] = []
    tools = toolbox(QUESTION, FakeBackbone(), source, sink=events.append)
    tools.recorder.trace.settings["graph_index"] = "karvia"
    result = AtomR().run(QUESTION, parse_compact(PLAN, QUESTION), "user", tools)
    assert [value.text for value in result.values] == [value.text for value in found]
    assert [event.message for event in events if isinstance(event, WarningRaised)] == told
