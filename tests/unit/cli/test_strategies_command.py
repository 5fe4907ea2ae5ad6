"""`atomr strategies` and `--set`: what can be set, where it goes, and what is told of what cannot."""

from __future__ import annotations

import json

import pytest

from atomr_local.cli.main import main
from atomr_local.strategies.registry import STRATEGIES

Capture = pytest.CaptureFixture[str]


def atomr(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return int(ended.value.code or 0), printed.out, printed.err


def test_the_list_has_a_line_each(capsys: Capture) -> None:
    status, out, err = atomr(capsys, "strategies")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(STRATEGIES)
    assert [item["name"] for item in json.loads(atomr(capsys, "strategies", "--json")[1])] == list(STRATEGIES)


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_of_each_it_is_told_what_it_needs_takes_and_can_be_set_to(capsys: Capture, name: str) -> None:
    status, out, _ = atomr(capsys, "strategies", name)
    told = json.loads(atomr(capsys, "strategies", name, "--json")[1])
    assert status == 0
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
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_STRATEGIES__RAG__TOP_K", "5")
    out = atomr(capsys, "strategies", "rag")[1]
    assert "top_k (whole number, 1 to 50, or none; default none; now 5)\n    Pieces of evidence" in out
    told = json.loads(atomr(capsys, "strategies", "rag", "--json")[1])
    option = next(option for option in told["options"] if option["name"] == "top_k")
    assert (option["default"], option["value"], option["values"]) == (None, 5, "whole number, 1 to 50, or none")


def test_an_unknown_name_is_told_with_those_that_exist(capsys: Capture) -> None:
    status, out, err = atomr(capsys, "strategies", "ma\x1bgic")
    assert (status, out) == (1, "")
    assert "Known: atomr, rag" in err and "\x1b" not in err


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
    capsys: Capture, command: tuple[str, ...], given: str, status: int, told: str
) -> None:
    ended, out, err = atomr(capsys, *command, "--set", given)
    assert (ended, out) == (status, "")
    assert told in " ".join(err.split())
