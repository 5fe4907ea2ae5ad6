"""`atomr tree check` and `atomr tree convert`, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.tree_examples import COMPARISON, OUTLINE, PAPER

from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.nodes import Node, Tree


def _atomr(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    from atomr_local.cli.main import main

    with pytest.raises(SystemExit) as stop:
        main(["tree", *arguments])
    captured = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, captured.out, captured.err


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = [
        json.dumps({"question": "q", "reasoning_tree": PAPER}),
        "",
        json.dumps({"question": "q", "reasoning_tree": {"q": ["1. a"]}}),
        "{",
        json.dumps({"question": "q"}),
        '{"question": "q", "reasoning_tree": {"q": "[END]", "q": "[END]"}}',
        json.dumps({"question": "q", "reasoning_tree": {"q": ["1. \x1b[2Ja [5]"], "1. \x1b[2Ja [5]": "[END]"}}),
        json.dumps({"question": "q", "reasoning_tree": {"q": "[END]"}}),
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_check_json_lines(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _atomr(capsys, "check", str(rows))
    assert code == 1
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == f"{rows}:3: no entry for the child 1. a"
    assert lines[1].startswith(f"{rows}:4: not JSON")
    assert lines[2].startswith(f"{rows}:5: not an object with")
    assert lines[3] == f"{rows}:6: key twice: q"
    assert lines[4] == f"{rows}:7: node 1 refers to [5], which is not in the plan"
    assert lines[5] == "2 accepted, 5 rejected"
    assert "\x1b" not in out


def test_check_outlines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plans.txt"
    file.write_text(f"\ufeff{OUTLINE}\n\n{COMPARISON}\n\n0. A?\n1. B? = Search(\n", encoding="utf-8")
    code, out, _ = _atomr(capsys, "check", str(file))
    assert (code, out.splitlines()[-1]) == (1, "2 accepted, 1 rejected")
    assert out.startswith(f"{file}:18: node 1: Search")


def test_check_good_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outline = tmp_path / "a.txt"
    outline.write_text(OUTLINE, encoding="utf-8")
    pretty = tmp_path / "b.json"
    pretty.write_text(json.dumps({"question": "q", "reasoning_tree": PAPER}, indent=1), encoding="utf-8")
    empty = tmp_path / "c.jsonl"
    empty.write_text("\n", encoding="utf-8")
    assert _atomr(capsys, "check", str(outline), str(pretty), str(empty)) == (
        0, "2 accepted, 0 rejected\n", f"{empty} contains no tree\n",
    )  # fmt: skip


def test_convert_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nasty = Tree(Node(0, 'q "\u202e\x1b[2J\ud800\n = Search("x")', children=(Node(1, "a\u2028 = "),)))
    trees = [parse_compact(OUTLINE), parse_compact(COMPARISON), nasty]
    source = "\n\n".join(to_compact(tree, with_root=True) for tree in trees) + "\n"
    compact, paper = tmp_path / "a.txt", tmp_path / "b.jsonl"
    compact.write_text(source, encoding="utf-8")
    code, out, err = _atomr(capsys, "convert", str(compact), "--to", "paper")
    assert (code, err) == (0, "")
    assert "\u202e" not in out
    assert json.loads(out.splitlines()[2])["question"] == nasty.question
    paper.write_text(out, encoding="utf-8")
    assert _atomr(capsys, "convert", str(paper), "--to", "compact") == (0, source, "")
    assert parse_compact(source.rpartition("\n\n")[2]) == nasty


def test_convert_reports_rejected_trees_beside_the_data(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _atomr(capsys, "convert", str(rows), "--to", "compact")
    assert code == 1
    assert out.count("\n0. ") == 1
    assert len(err.splitlines()) == 5


def test_convert_reports_a_tree_that_the_notation_cannot_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("0. 1. a\n1. a", encoding="utf-8")
    code, out, err = _atomr(capsys, "convert", str(file), "--to", "paper")
    assert (code, out) == (1, "")
    assert err.startswith(f"{file}:1: the paper's notation cannot hold this tree")


@pytest.mark.parametrize("command", [("check",), ("convert", "--to", "paper")])
def test_files_that_cannot_be_read(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes("0. Où?".encode("latin-1"))
    for file, reason in [(tmp_path / "none", "cannot be read"), (tmp_path, "cannot be read"), (latin, "not UTF-8")]:
        code, out, err = _atomr(capsys, *command, str(file))
        assert (code, out) == (1, "0 accepted, 0 rejected\n" if command == ("check",) else "")
        assert str(file) in err
        assert reason in err
        assert "Traceback" not in err


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert _atomr(capsys, "check")[0] == 2
    assert _atomr(capsys, "convert", "x")[0] == 2
    assert _atomr(capsys, "convert", "x", "--to", "yaml")[0] == 2


@pytest.mark.parametrize("command", ["check", "convert"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _atomr(capsys, command, "--help")
    assert code == 0
    assert f"Example: atomr tree {command}" in out


def test_the_tree_loads_nothing_else_of_the_project() -> None:
    program = (
        "import sys, atomr_local.tree.paper, atomr_local.tree.compact, atomr_local.tree.validation\n"
        "print(*sorted(m for m in sys.modules if m.startswith('atomr_local') and not m.startswith('atomr_local.tree')))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["atomr_local"]


def test_a_missing_and_an_empty_file_do_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, empty = tmp_path / "good.txt", tmp_path / "empty.txt"
    good.write_text(OUTLINE, encoding="utf-8")
    empty.touch()
    code, out, err = _atomr(capsys, "check", str(tmp_path / "absent"), str(empty), str(good))
    assert code == 1
    assert out == "1 accepted, 0 rejected\n"
    assert "absent cannot be read" in err
    assert f"{empty} contains no tree" in err
    code, out, _ = _atomr(capsys, "check", str(good), str(tmp_path / "absent"))
    assert (code, out) == (1, "1 accepted, 0 rejected\n")
