"""How relations are asked for and which go together."""

from __future__ import annotations

from atomr_lab.question_making.hops import confirmation
from atomr_lab.question_making.knowledge import fit

from atomr_local.page_facts.wordings import wording_of


def test_a_name_that_looks_like_a_slot_is_not_filled() -> None:
    spouse = wording_of("spouse")
    assert spouse is not None
    assert confirmation(spouse, "{value}", "{x}") == "Was {value} married to {x}?"


def test_dates_have_their_preposition() -> None:
    born = wording_of("date of birth")
    assert born is not None
    assert confirmation(born, "Ann Lee", "3 May 1901") == "Was Ann Lee born on 3 May 1901?"
    assert confirmation(born, "Ann Lee", "1901") == "Was Ann Lee born in 1901?"


def test_what_can_follow_what() -> None:
    assert fit("director", "date of birth")
    assert fit("place of birth", "population")
    assert not fit("place of birth", "date of birth")
    assert not fit("country", "composer")
    assert not fit("director", "composer")
    assert not fit("director", "occupation")
    assert fit("spouse", "occupation")
    assert fit("unheard of", "composer")
