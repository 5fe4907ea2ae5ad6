"""The answer that a transcript ends with."""

from __future__ import annotations

import pytest

from atomr_local.strategies.shared.closing import final_values


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("Zadar", "Zadar"), ("Zadar.", "Zadar"), ("1884.", "1884"), ("42.", "42"), ("No.", "No"), ("yes.", "yes"),
        ("Washington, D.C.", "Washington, D.C."), ("Martin King Jr.", "Martin King Jr."), ("plan B.", "plan B."),
        ("the U.S.", "the U.S."), ("Unknown Pleasures", "Unknown Pleasures"),
    ],
)  # fmt: skip
def test_a_full_stop_is_no_part_of_it_but_of_an_abbreviation(written: str, answer: str) -> None:
    assert [value.text for value in final_values(written)] == [answer]


@pytest.mark.parametrize("written", ["Unknown", "unknown.", "None", "N/A", "not known", "", "."])
def test_unknown_is_no_answer(written: str) -> None:
    assert final_values(written) == ()
