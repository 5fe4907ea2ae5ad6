"""The 2,378 published trees: how many are read, and that both conversions keep them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.places import SHARED

from atomr_local.cli.commands.tree import tree as tree_command
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.paper import parse_paper, to_paper
from atomr_local.tree.validation import check

_FOLDER = SHARED / "trees"


@pytest.fixture(scope="module")
def files() -> list[Path]:
    found = sorted(_FOLDER.glob("*.jsonl"))
    if not found:
        pytest.skip("the published trees are not here: ../shared/data/trees from the project's root")
    return found


def _canonical(entries: dict[str, str | list[str]]) -> dict[str, str | list[str]]:
    """Entries without what a round trip may change: operator quoting, `[END]` after text, `2.1 `."""

    def name(text: str) -> str:
        return re.sub(r"^(\d+\.\d+)\.? ", r"\1. ", text)

    def value(text: str) -> str:
        text = text.replace("\\U0001F9A8", "\U0001f9a8")
        return text if text == "[END]" else re.sub(r'[\\"\s+\].]', "", text.removesuffix(" [END]"))

    return {
        name(key): value(content) if isinstance(content, str) else [name(child) for child in content]
        for key, content in entries.items()
    }


@pytest.mark.slow
def test_at_least_2359_are_read_and_none_is_lost(files: list[Path]) -> None:
    read = identical = 0
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            try:
                tree = parse_paper(row["reasoning_tree"], row["question"])
                check(tree)
            except TreeError:
                continue
            read += 1
            again = parse_compact(to_compact(tree, with_root=True))
            assert again == tree
            assert parse_compact(to_compact(tree), tree.question) == tree
            entries = to_paper(again)
            assert parse_paper(entries) == tree
            assert _canonical(entries) == _canonical(row["reasoning_tree"]), (file.name, row["index"])
            identical += entries == row["reasoning_tree"]
    assert read == 2_360
    assert identical >= 2_300


def test_the_command_names_file_line_and_reason_of_the_others(files: list[Path]) -> None:
    result = CliRunner().invoke(tree_command, ["check", *map(str, files)], standalone_mode=False)
    assert result.exception is None
    lines = result.stdout.splitlines()
    assert lines[-1] == "2360 accepted, 18 rejected"
    assert result.return_value == 1
    assert all(re.fullmatch(r".+\.jsonl:\d+: .+", line) for line in lines[:-1])
    reasons = "\n".join(lines[:-1])
    for reason, count in {
        "not JSON: .*TREE_PARSING_ERROR": 3,
        "no entry for the child": 4,
        "is not reached from the question": 3,
        "stands for two questions": 5,
        "has no number": 1,
        "unknown operator relate": 1,
        "refers to itself": 1,
    }.items():
        assert len(re.findall(reason, reasons)) == count, reason
