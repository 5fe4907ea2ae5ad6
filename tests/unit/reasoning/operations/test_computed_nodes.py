"""Nodes that are computed: over sets, over steps that found nothing, passed up, corrected, and what becomes of them."""

from __future__ import annotations

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeGraphSource, FakeSource, Run, entity, passages, reply, rows

from atomr_local.sources.protocol import Retrieval, Value, ValueKind

RIVERS = (
    '1. Which rivers are in Asia? = Relate("Asia", "rivers")\n'
    '2. How long is [1]? = Relate([1], "length")\n'
    '3. Which is the longest? = Compare([2], "larger")\n'
)
ASKED = "Which is the longest river in Asia?"


def length(text: str) -> Value:
    return Value(text, ValueKind.NUMBER)


def rivers(**lengths: str) -> FakeSource:
    found: dict[str, Retrieval | Exception] = {"Asia rivers": rows("Asia", *map(entity, lengths))}
    found |= {f"{name} length": rows(name, length(text)) for name, text in lengths.items() if text}
    return FakeSource("graph", found)


def test_a_superlative_over_a_set_names_whose_value_it_is_and_the_parent_passes_it_up() -> None:
    run = Run(ASKED, RIVERS, FakeBackbone(), rivers(Ob="3,650 km", Lena="4,294 km", Amur="2,824 km"))
    assert run.result.texts == ("Lena",)
    assert run.result.values[0].iri == "https://example.org/Lena"
    node = run.node(3)
    assert (node.kind, node.method, node.outcome, node.supported) == ("operation", "computed", "computed", None)
    assert node.computation == "Amur 2,824 km < Ob 3,650 km < Lena 4,294 km"
    assert (node.operation, node.operands, node.words) == ("Compare", [[2]], ["larger"])
    assert set(node.cited) == set(run.node(2).cited)
    assert (run.node(0).method, run.node(0).computation, run.node(0).outcome) == ("child", "answer of [3]", "computed")


def test_two_that_share_a_value_both_have_it() -> None:
    run = Run(ASKED, RIVERS, FakeBackbone(), rivers(Ob="10 km", Lena="10 km", Amur="9 km"))
    assert run.node(2).answers == ["10 km", "9 km"]  # shown once
    assert run.result.texts == ("Ob", "Lena")


def test_what_has_no_value_is_left_out_and_it_is_said_and_it_costs_confidence() -> None:
    run = Run(ASKED, RIVERS, FakeBackbone(), rivers(Ob="10 km", Lena="12 km", Amur=""))
    assert run.result.texts == ("Lena",)
    assert "left out, no value was found for: Amur" in run.node(3).dropped
    assert run.node(3).signals["covered"] == pytest.approx(2 / 3, abs=1e-3)
    assert (run.node(3).confidence or 1) < (run.node(2).confidence or 0)


def test_a_value_that_does_not_parse_ends_the_operation_and_the_model_is_not_asked_there() -> None:
    plan = (
        '1. When was Ann born? = Relate("Ann", "born")\n2. When was Bob born? = Relate("Bob", "born")\n'
        '3. Who is older? = Compare([1], [2], "earlier")\n'
    )
    graph = FakeSource(
        "graph",
        {"Ann born": rows("Ann", Value("1950-03-01", ValueKind.DATE)), "Bob born": rows("Bob", entity("Paris"))},
    )
    run = Run("Who is older, Ann or Bob?", plan, FakeBackbone(UNKNOWN, UNKNOWN), graph)  # the root
    node = run.node(3)
    assert (node.answers, node.method, node.outcome) == ([], None, "not found")
    assert node.reason == "step 2 gave 'Paris'; a date is needed"
    assert node.llm.calls == 0


def test_an_operation_over_a_step_that_found_nothing_names_the_step() -> None:
    run = Run(
        ASKED, RIVERS, FakeBackbone(UNKNOWN, UNKNOWN), FakeSource("graph", {"Asia rivers": rows("Asia", entity("Ob"))})
    )
    assert run.node(3).reason == "step 2 found nothing (How long is Ob?)"
    assert run.result.values == ()


def test_that_nothing_satisfies_a_condition_is_known_and_no_reason_to_guess() -> None:
    plan = RIVERS.replace(
        '3. Which is the longest? = Compare([2], "larger")', '3. Which? = Select([2], "1 m", "smaller")'
    )
    run = Run("Which rivers in Asia are shorter than 1 m?", plan, FakeBackbone(), rivers(Ob="10 km", Lena="12 km"))
    assert (run.result.values, run.result.none) == ((), True)
    assert run.node(3).reason == "none of them satisfies it"
    counted = plan + "4. How many are there? = Count([3])\n"
    run = Run(
        "How many rivers in Asia are shorter than 1 m?", counted, FakeBackbone(), rivers(Ob="10 km", Lena="12 km")
    )
    assert run.result.texts == ("0",)


def test_without_symbolic_steps_the_model_reasons_in_words() -> None:
    run = Run(ASKED, RIVERS, FakeBackbone(reply("Lena")), rivers(Ob="1 km", Lena="2 km"), features={"symbolic": False})
    assert (run.node(3).method, run.result.texts) == ("sibling", ("Lena",))


def test_a_later_step_goes_on_with_the_entity_that_was_computed() -> None:
    graph = rivers(Ob="1 km", Lena="2 km")
    graph.found["Lena mouth"] = rows("Lena", entity("Laptev Sea"))
    plan = RIVERS + '4. Where does [3] end? = Relate([3], "mouth")\n'
    run = Run("Where does the longest river in Asia end?", plan, FakeBackbone(), graph)
    assert run.result.texts == ("Laptev Sea",)
    assert graph.requests[-1].arguments[0].iri == "https://example.org/Lena"


def test_a_set_is_asked_of_the_graph_at_once_beyond_the_limit_of_single_runs() -> None:
    names = [f"R{i}" for i in range(30)]
    found: dict[str, Retrieval | Exception] = {"Asia rivers": rows("Asia", *map(entity, names))}
    found |= {f"{name} length": rows(name, length(f"{i + 1} km")) for i, name in enumerate(names)}
    graph = FakeGraphSource(found)
    run = Run(ASKED, RIVERS, FakeBackbone(), graph)
    assert graph.sets == [30]
    assert run.result.texts == ("R29",)
    assert run.node(2).dropped == []
    assert run.trace.totals.retrievals["graph"] == 2


def test_other_sources_are_asked_for_what_the_graph_does_not_know_of_a_set_and_only_for_a_few() -> None:
    names = [f"R{i}" for i in range(12)]
    found: dict[str, Retrieval | Exception] = {"Asia rivers": rows("Asia", *map(entity, names))}
    found |= {f"{name} length": rows(name, length(f"{i + 1} km")) for i, name in enumerate(names) if i < 6}
    text = FakeSource("text", {f"R{i} length": passages((f"R{i}", f"R{i} is {i + 1} km long.")) for i in range(12)})
    replies = [reply(f"{i} km", evidence=[1]) for i in (7, 8, 9, 10)]
    run = Run(ASKED, RIVERS, FakeBackbone(*replies), FakeGraphSource(found), text, llm={"parallel": 1})
    assert text.queries == ["R6 length", "R7 length", "R8 length", "R9 length"]
    assert run.node(2).dropped == ["2 of 12 were looked up in the graph alone (limit 4)"]
    assert run.result.texts == ("R9",)
    assert "left out, no value was found for: R10, R11" in run.node(3).dropped
