"""The budget of the house, and the merging of modules: on a small package of our own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import budget
import merge_modules as tool
import pytest

ONE = '"""One."""\n\nfrom __future__ import annotations\n\nimport re\n\n_WORD = re.compile("a")\n\n\ndef one() -> int:\n    return len(_WORD.pattern)\n'
TWO = (
    '"""Two, which uses one."""\n\nfrom __future__ import annotations\n\nfrom atomr_local.parts import one\n'
    'from atomr_local.parts.one import one as first\n\n_WORD = "b"\n\n\ndef two() -> str:\n'
    "    return _WORD * (first() + one.one())\n"
)
USER = "from atomr_local.parts.two import _WORD, two\nfrom atomr_local.parts import one\n\n\nprint(two(), one.one(), _WORD)\n"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "atomr_local" / "parts"
    package.mkdir(parents=True)
    for path in (package.parent / "__init__.py", package / "__init__.py"):
        path.touch()
    (package / "one.py").write_text(ONE)
    (package / "two.py").write_text(TWO)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "use.py").write_text(USER)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(budget, "ROOT", tmp_path)
    return tmp_path


def merged(house: Path, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = house / "plan.txt"
    file.write_text(plan)
    monkeypatch.setattr(sys, "argv", ["merge_modules.py", str(file), "--write"])
    tool.main()


def test_modules_become_one_and_whoever_used_them_uses_it(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    merged(house, "parts: one two | All parts.\n", monkeypatch)
    made = (house / "atomr_local" / "parts.py").read_text()
    assert made.startswith('"""All parts."""\n') and "# Two, which uses one." in made
    assert not (house / "atomr_local" / "parts").exists()
    assert "_TWO_WORD" in made and "_TWO_WORD is also" not in capsys.readouterr().out
    space: dict[str, Any] = {}
    exec(compile(made, "parts.py", "exec"), space)
    assert space["two"]() == "bb"
    used = (house / "tests" / "use.py").read_text()
    assert "from atomr_local.parts import _TWO_WORD as _WORD, two" in used
    assert "from atomr_local import parts as one" in used


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ("parts one two\n", "not a merge"),
        ("parts: one three\n", "there is no module three"),
        ("parts: one one\n", "one is named twice"),
        ("parts: one\nothers: parts.one parts.two\n", "in two merges"),
    ],
)
def test_a_plan_that_makes_no_sense_changes_nothing(
    house: Path, plan: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=told):
        merged(house, plan, monkeypatch)
    assert (house / "atomr_local" / "parts" / "one.py").read_text() == ONE


def test_a_changed_function_is_seen(house: Path) -> None:
    plan = tool.Plan([tool.Merge("atomr_local.parts", ["atomr_local.parts.one", "atomr_local.parts.two"], "")])
    merger = tool.Merger(plan.merges[0], plan, {}, budget.modules())
    text = merger.text()
    assert tool.proof(merger, text) == []
    assert tool.proof(merger, text.replace("len(", "id(")) != []


def budget_of(house: Path, **changed: Any) -> list[str]:
    given: dict[str, Any] = {
        "files": 4, "longest_file": 100, "shortest_file": 60, "excused": [], "lines": {"parts": 23, "root": 0},
    } | changed  # fmt: skip
    return list(budget.problems(given))


def test_what_breaks_the_budget_is_told(house: Path) -> None:
    one = "parts.one: 11 lines, and only atomr_local.parts.two imports it: put it there"
    assert budget_of(house) == [one]
    assert budget_of(house, excused=["parts.one"]) == []
    assert budget_of(house, shortest_file=5) == []
    assert "parts: 23 lines, the budget is 20" in " ".join(budget_of(house, lines={"parts": 20, "root": 0}))
    assert "far below its budget of 200" in " ".join(budget_of(house, lines={"parts": 200, "root": 0}))
    assert "no budget for 23 lines" in " ".join(budget_of(house, lines={"root": 0}))
    assert "gone: has a budget, but is gone" in budget_of(house, lines={"parts": 23, "root": 0, "gone": 1})
    assert "4 files, the budget is 3" in budget_of(house, files=3)
    assert any("the longest file may have 10" in line for line in budget_of(house, longest_file=10))
