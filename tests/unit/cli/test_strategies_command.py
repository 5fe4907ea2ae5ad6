"""`atomr strategies` and `--set`: what can be set, where it goes, and what is told of what cannot."""

from __future__ import annotations

import json

import pytest
from support.command_line import Atomr

from atomr_local.strategies.registry import STRATEGIES


def test_the_list_has_a_line_each(atomr: Atomr) -> None:
    out, err = atomr("strategies")
    assert err == ""
    assert [line.split()[0] for line in out.splitlines()] == list(STRATEGIES)
    assert [item["name"] for item in json.loads(atomr("strategies", "--json").out)] == list(STRATEGIES)


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_of_each_it_is_told_what_it_needs_takes_and_can_be_set_to(atomr: Atomr, name: str) -> None:
    out = atomr("strategies", name).out
    told = json.loads(atomr("strategies", name, "--json").out)
    assert out.startswith(f"{name}: ")
    assert max(map(len, out.splitlines())) < 80
    labels = [line[:14] for line in out.splitlines() if line[:1].strip()][1:]
    assert all(label == label.rstrip().ljust(14) for label in labels)
    assert [label.strip() for label in labels][-4:] == ["needs", "plans", "corrections", "options"]
    assert (labels[0].strip() == "paper") == bool(told["paper"])
    assert told["takes_plans"] == ("--plan" in out)
    for option in told["options"]:
        assert f"  {option['name']} ({option['values']}; default" in out.replace("\n    ", " ")
    assert ("options       none" in out) == (not told["options"])


def test_an_option_is_shown_with_default_bounds_meaning_and_what_holds(
    atomr: Atomr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_STRATEGIES__RAG__TOP_K", "5")
    out = atomr("strategies", "rag").out
    assert "top_k (whole number, 1 to 50, or none; default none; now 5)\n    Pieces of evidence" in out
    told = json.loads(atomr("strategies", "rag", "--json").out)
    option = next(option for option in told["options"] if option["name"] == "top_k")
    assert (option["default"], option["value"], option["values"]) == (None, 5, "whole number, 1 to 50, or none")


def test_an_unknown_name_is_told_with_those_that_exist(atomr: Atomr) -> None:
    assert "Known: atomr, rag" in atomr.refused("strategies", "ma\x1bgic")


@pytest.mark.parametrize(
    "command", [("ask", "Who wrote Emma?"), ("eval", "run", "--questions", "none.jsonl", "--out", "none")]
)
@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        ("ragg.top_k=1", 1, "Known: atomr, rag"),
        ("rag.topk=1", 1, "Options of rag: top_k (whole number, 1 to 50, or none)"),
        ("rag.top_k=0", 1, "expected at least 1"),
        ("rag.top_k=", 1, "expected a whole number"),
        ("cot.top_k=1", 1, "The strategy cot has no options."),
        ("rag.top_k=3", 1, "--set rag.… has no effect: the strategy is atomr"),
        ("top_k=3", 2, "NAME.OPTION=VALUE"),
        ("rag.top_k", 2, "NAME.OPTION=VALUE"),
        (".=", 2, "NAME.OPTION=VALUE"),
    ],
)
def test_what_cannot_be_set_is_told_with_what_can(
    atomr: Atomr, command: tuple[str, ...], given: str, status: int, told: str
) -> None:
    assert told in " ".join(atomr.refused(*command, "--set", given, status=status).split())
