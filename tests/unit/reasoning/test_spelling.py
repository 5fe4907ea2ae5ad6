"""Names that the plan's own words spell otherwise than the question does."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone, FakeSource, passages, toolbox

from atomr_local.reasoning.planning.coverage import Respelt, respelt
from atomr_local.strategies.shared.plans import make_plan
from atomr_local.tree.compact import parse_compact

TYPED = "hartley lobbans birthplace"
PLAN = (
    "0. Where was Hertley Lobban born? = Answer(place)\n"
    '1. Where was Hertley Lobban born? = Relate("Hartley Lobban", "place of birth")'
)
PAGE = passages(("Hartley Lobban", "Hartley Lobban was born in Jamaica."))


@pytest.mark.parametrize(
    ("line", "name", "found"),
    [
        ("Where was Hertley Lobban born?", "Hartley Lobban", [Respelt("Hertley Lobban", "Hartley Lobban")]),
        ("What is Hertley Lobban's job?", "hartley lobban", [Respelt("Hertley Lobban", "Hartley Lobban")]),
        ("Which museums did Brian Kenny direct?", "Brian Kennedy", [Respelt("Brian Kenny", "Brian Kennedy")]),
        ("Where was Hartley Lobban born?", "hartley lobban", []),
        ("Which films did Georges Méliès make?", "georges melies", []),
        ("Who was the Indian president?", "India", []),
        ("Who were the Spanish kings?", "Spain", []),
        ("Who wrote Emma?", "Persuasion", []),
    ],
)
def test_names_spelt_otherwise(line: str, name: str, found: list[Respelt]) -> None:
    tree = parse_compact(f'0. {line} = Answer(thing)\n1. Who or what is it? = Search("{name}")')
    assert list(respelt(tree)) == found


def test_a_name_spelt_right_in_the_question_wins() -> None:
    text = FakeSource("text", {"Hartley Lobban": PAGE})
    tree = make_plan(TYPED, toolbox(TYPED, FakeBackbone(PLAN), text)).tree
    assert tree.question == "Where was Hartley Lobban born?"
    assert all("Hertley" not in node.question for node in tree.nodes())


def test_a_name_that_no_source_knows_is_taken_as_it_was_typed() -> None:
    assert make_plan(TYPED, toolbox(TYPED, FakeBackbone(PLAN))).tree.question == "Where was Hartley Lobban born?"


def test_a_misspelt_name_that_the_plan_has_put_right_stays_so() -> None:
    text = FakeSource("text", {"Hartley Lobban": PAGE})
    plan = PLAN.replace("Hartley", "HARTLEY").replace("Hertley", "Hartley").replace("HARTLEY", "Hertley")
    made = make_plan("hertley lobbans birthplace", toolbox("", FakeBackbone(plan), text))
    assert made.tree.question == "Where was Hartley Lobban born?"


def test_sources_are_asked_only_where_the_spellings_differ() -> None:
    text = FakeSource("text", {})
    make_plan(TYPED, toolbox(TYPED, FakeBackbone(PLAN.replace("Hertley", "Hartley")), text))
    assert text.requests == []
