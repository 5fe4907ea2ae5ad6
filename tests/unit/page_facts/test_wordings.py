"""How relations are asked for."""

from __future__ import annotations

import pytest

from atomr_local.page_facts import wordings
from atomr_local.page_facts.wordings import mention, wording_of


def test_every_wording_has_its_slots() -> None:
    worded, _ = wordings._tables()
    assert len(worded) > 50
    for label, one in worded.items():
        assert one.question or one.count, label
        for form in (one.question, one.description, one.yes_no, one.count):
            assert form == "" or form.count("{x}") == 1, label
        assert one.yes_no == "" or ("{value}" in one.yes_no) != ("{when}" in one.yes_no), label
        for form in (one.question, one.yes_no, one.count):
            assert form == "" or form.endswith("?"), label


@pytest.mark.parametrize(
    "label", ["instance of", "sex or gender", "", "ISO 3166-1 code", "part of", "located in", "x" * 50]
)
def test_relations_that_are_not_asked_for(label: str) -> None:
    assert wording_of(label) is None


def test_a_relation_without_an_entry_is_asked_for_by_its_label() -> None:
    found = wording_of("favourite colour")
    assert found is not None
    assert found.asks("Ann Lee") == "What is the favourite colour of Ann Lee?"
    assert found.description == "the favourite colour of {x}"
    assert found.yes_no == found.count == ""


def test_names_with_a_kind() -> None:
    assert mention("Hamlet (1948 film)") == "the 1948 film Hamlet"
    assert mention("Hamlet") == "Hamlet"
    assert mention("Paris (Texas)") == "Paris (Texas)"
