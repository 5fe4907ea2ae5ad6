"""A list of answers that is told as one text is still a list."""

from __future__ import annotations

from atomr_local.strategies.shared.closing import AnswerLists


def test_a_list_is_taken_apart_where_it_was_put_together() -> None:
    listed = AnswerLists()
    assert listed.text(["Phobos", "Deimos"]) == "Phobos, Deimos"
    assert [value.text for value in listed.values("Phobos, Deimos")] == ["Phobos", "Deimos"]
    assert "Phobos, Deimos" in listed and "Rome, Italy" not in listed


def test_a_comma_in_a_name_makes_no_list() -> None:
    listed = AnswerLists()
    assert listed.text(["Rome, Italy"]) == "Rome, Italy" and listed.text([]) == ""
    assert [value.text for value in listed.values("Rome, Italy")] == ["Rome, Italy"]
