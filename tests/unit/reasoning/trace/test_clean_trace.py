"""Events and trace hold nothing that could drive a terminal, wherever it came in; answers and citations stay the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource, entity, passages, reply, rows

from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import SourceError
from atomr_local.reasoning.trace.events import Event, Finished, WarningRaised
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Retrieval, Value
from atomr_local.system.sanitize import sanitize, sanitize_all
from atomr_local.tree.compact import parse_compact

E = "\x1b]0;owned\x07\x1b[2J\u202e"
QUESTION = "Who is the father of Ann Lee?"
PLAN = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'
Given = tuple[FakeBackbone, list[FakeSource]]


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts_in(key)
            yield from texts_in(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from texts_in(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from texts_in(getattr(value, field.name))


def asked(backbone: FakeBackbone, sources: list[FakeSource], plan: str | None = PLAN, **settings: Any) -> list[Event]:
    settings = {"features": {"rival": False, "beam": False, "guess": False, "page_alone": False}} | settings
    names = tuple(str(source.name) for source in sources)
    with Assistant(load_settings(sources=names, **settings), backbone) as assistant:  # type: ignore[arg-type]
        assistant.parts.sources = {source.name: source for source in sources}  # type: ignore[misc]
        tree = parse_compact(plan, QUESTION) if plan is not None else None
        return list(assistant.ask(QUESTION, plan=tree))


def trace_of(events: list[Event]) -> Trace:
    finished = events[-1]
    assert isinstance(finished, Finished)
    return finished.trace


def graph(e: str) -> Given:
    ann, bob = entity(f"Ann {e}Lee"), entity(f"Bob {e}Lee")
    found = {"Ann Lee": rows(f"Ann {e}Lee", ann), f"Ann {e}Lee father": rows(f"Ann {e}Lee", bob)}
    return FakeBackbone(), [FakeSource("graph", found | {"Ann Lee father": found[f"Ann {e}Lee father"]})]


def text(e: str) -> Given:
    page = passages((f"Ann Lee{e}", f"Ann Lee{e} was a daughter of {e}Bob Lee, a smith."))
    return (
        FakeBackbone(reply("Bob Lee", evidence=[1])),  # a page's title answers the Search
        [FakeSource("text", {"Ann Lee": page, "Ann Lee father": page})],
    )


def literal(e: str) -> Given:
    """A value without an identity: its text is all that the next step has."""
    ann, bob = Value(f"Ann {e}Lee"), Value(f"Bob {e}Lee")
    known = rows("Ann Lee", bob)
    return FakeBackbone(), [FakeSource("graph", {"Ann Lee": rows("Ann Lee", ann), "Ann Lee father": known})]


@pytest.mark.parametrize("world", [graph, text, literal])
def test_events_and_trace_are_clean_and_say_the_same(world: Any) -> None:
    backbone, sources = world(E)
    events = asked(backbone, sources)
    for event in events:
        assert [found for found in texts_in(event) if found != sanitize(found)] == []
        assert [found for found in texts_in(event.to_dict()) if found != sanitize(found)] == []
    hostile, plain = trace_of(events), trace_of(asked(*world("")))
    assert hostile.answers == plain.answers == ["Bob Lee"]
    assert hostile.answer == plain.answer
    assert hostile.confidence == plain.confidence
    for one, other in zip(hostile.nodes, plain.nodes, strict=True):
        assert (one.answers, one.cited, one.supported, one.method) == (
            other.answers, other.cited, other.supported, other.method,
        )  # fmt: skip


def test_a_plan_a_model_s_words_errors_and_warnings_are_clean() -> None:
    plan = f'1. Who is Ann{E} Lee? = Search("Ann{E} Lee")\n2. Whose father? = Relate([1], "fa{E}ther")\n'
    broken = FakeSource("graph", {f"Ann{E} Lee": SourceError(f"bad {E}label"), "Ann Lee": SourceError(f"bad {E}label")})
    said = FakeBackbone(*[reply(f"Bob{E} Lee")] * 4)
    events = asked(said, [broken], plan)
    assert any(isinstance(event, WarningRaised) and "bad label" in event.message for event in events)
    assert [found for event in events for found in texts_in(event) if found != sanitize(found)] == []
    trace = trace_of(events)
    assert trace.nodes[1].arguments == ["Ann Lee"]


def test_an_entity_whose_label_shows_nothing_is_shown_by_its_identity() -> None:
    ghost = dataclasses.replace(entity("Ghost"), text="\x1b[2J\u200b")
    sources = [FakeSource("graph", {"Ann Lee": rows("Ann Lee", ghost), "": Retrieval()})]
    trace = trace_of(asked(FakeBackbone(), sources, '1. Who is Ann Lee? = Search("Ann Lee")\n'))
    assert trace.nodes[1].answers == ["https://example.org/Ghost"]


def test_what_holds_nothing_to_remove_is_given_back_as_it_is() -> None:
    trace = trace_of(asked(*text("")))
    assert sanitize_all(trace) is trace
    value = ({"a": ["b\n", 1, None, 0.5]}, entity("x"), {1, 2})
    assert sanitize_all(value) == value
