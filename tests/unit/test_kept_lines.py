"""A file in which the user keeps an item a line: what is read of it, and what a change leaves as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.system.files import KeptLines


def number(line: str) -> int:
    try:
        return int(line)
    except ValueError as error:
        raise InputError("no number") from error


def kept(path: Path, text: str | None = None) -> KeptLines[int]:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    return KeptLines(path, number, 100)


def test_items_and_problems_have_the_lines_of_the_file(tmp_path: Path) -> None:
    file = kept(tmp_path / "numbers", "\n1\none\u2028two\n\n2")
    assert file.items() == ([1, 2], [f"{file.path}, line 3: no number"])


def test_without_a_file_there_is_nothing_until_something_is_kept(tmp_path: Path) -> None:
    file = kept(tmp_path / "new" / "numbers")
    assert file.items() == ([], [])
    file.change(lambda one: False, lambda lines: [*lines, "7"])
    assert file.path.read_text() == "7\n"


def test_an_empty_file_has_no_line(tmp_path: Path) -> None:
    file = kept(tmp_path / "numbers", "")
    file.change(lambda one: False, lambda lines: [*lines, "7"])
    assert file.path.read_text() == "7\n"


def test_a_change_leaves_lines_without_an_item(tmp_path: Path) -> None:
    file = kept(tmp_path / "numbers", "1\n\none\u2028two\n2\n1\n")
    file.change(lambda one: one == 1, lambda lines: [*lines, "3"])
    assert file.path.read_text(encoding="utf-8") == "\none\u2028two\n2\n3\n"


def test_a_refused_change_leaves_the_file(tmp_path: Path) -> None:
    file = kept(tmp_path / "numbers", "1\n")

    def refuse(_lines: list[str]) -> list[str]:
        raise InputError("full")

    with pytest.raises(InputError, match="full"):
        file.change(lambda one: True, refuse)
    assert file.path.read_text() == "1\n"


@pytest.mark.parametrize(("content", "told"), [(b"\xff", "utf-8"), (b"1\n" * 51, "longer")])
def test_a_file_that_cannot_be_read_is_named_and_not_written(tmp_path: Path, content: bytes, told: str) -> None:
    file = kept(tmp_path / "numbers")
    file.path.write_bytes(content)
    for use in (file.items, lambda: file.change(lambda one: True)):
        with pytest.raises(InputError, match=told):
            use()
    assert file.path.read_bytes() == content
