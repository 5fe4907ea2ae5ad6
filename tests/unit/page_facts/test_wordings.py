"""How relations are asked for."""

from __future__ import annotations

import pytest

from atomr_local.page_facts import wordings
from atomr_local.page_facts.wordings import fit, mention, wording_of


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


def test_a_name_that_looks_like_a_slot_is_not_filled() -> None:
    spouse = wording_of("spouse")
    assert spouse is not None
    assert spouse.confirms("{value}", "{x}") == "Was {value} married to {x}?"


def test_dates_have_their_preposition() -> None:
    born = wording_of("date of birth")
    assert born is not None
    assert born.confirms("Ann Lee", "3 May 1901") == "Was Ann Lee born on 3 May 1901?"
    assert born.confirms("Ann Lee", "1901") == "Was Ann Lee born in 1901?"


@pytest.mark.parametrize(
    "label", ["instance of", "sex or gender", "", "ISO 3166-1 code", "part of", "located in", "x" * 50]
)
def test_relations_that_are_not_asked_for(label: str) -> None:
    assert wording_of(label) is None


def test_a_relation_without_an_entry_is_asked_for_by_its_label() -> None:
    found = wording_of("favourite colour")
    assert found is not None
    assert found.asks("Ann Lee") == "What is the favourite colour of Ann Lee?"
    assert found.describes("Ann Lee") == "the favourite colour of Ann Lee"
    assert found.confirms("Ann Lee", "red") == found.counts("Ann Lee") == ""


def test_names_with_a_kind() -> None:
    assert mention("Hamlet (1948 film)") == "the 1948 film Hamlet"
    assert mention("Hamlet") == "Hamlet"
    assert mention("Paris (Texas)") == "Paris (Texas)"


def test_what_can_follow_what() -> None:
    assert fit("director", "date of birth")
    assert fit("place of birth", "population")
    assert not fit("place of birth", "date of birth")
    assert not fit("country", "composer")
    assert not fit("director", "composer")
    assert not fit("director", "occupation")
    assert fit("spouse", "occupation")
    assert fit("unheard of", "composer")
