"""A year that was asked for must stand in what the answer cites."""

from __future__ import annotations

import pytest

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.reasoning.verdict.judge import unmentioned_years


@pytest.mark.parametrize(
    ("arguments", "text", "fields", "missing"),
    [
        ([[1], "winner in 2019"], "Marie Curie — award received: Nobel Prize.", {}, ("2019",)),
        ([[1], "winner in 2019"], "The prize of 2019 went to Ann Lee.", {}, ()),
        (["Hamlet (1948 film)"], "Hamlet (1948 film): film.", {}, ()),
        ([[1], "population over 6,2019"], "Oslo has many.", {}, ()),
        ([[1], "winner in 2019"], "Ann.", {"method": None}, ()),
        ([[1], "winner in 2019"], "Ann.", {"operation": "Select"}, ()),
        ([[1], "winner in 2019"], "Ann.", {"answers": []}, ()),
        ([[1], "winner in 2019"], "Ann.", {"cited": []}, ()),
    ],
)
def test_years_that_the_cited_evidence_does_not_mention(
    arguments: list[object], text: str, fields: dict[str, object], missing: tuple[str, ...]
) -> None:
    known = {"answers": ["Ann"], "cited": ["e1"], "method": "operator"} | fields
    node = NodeTrace(2, 0, "Who?", "relate", arguments=arguments, **known)  # type: ignore[arg-type]
    evidence = [EvidenceTrace("e1", "graph", "Nobel Prize", text, 1.0, "", {})]
    assert unmentioned_years(Trace("Who?", "atomr", {}, nodes=[node], evidence=evidence)) == missing
