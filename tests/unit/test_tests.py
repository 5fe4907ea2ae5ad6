"""How the tests are laid out: helpers in `support`, no test imports another, and `unit` mirrors the package."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from support.places import ROOT, TESTS

FILES = [path.relative_to(TESTS) for path in TESTS.rglob("*.py") if path.name != "conftest.py"]
CASES = [file for file in FILES if file.parts[0] != "support"]
# Folders of `unit` that test what is beside the package.
BESIDE = {"docs", "scripts"}


def imported(file: Path) -> set[str]:
    """The names of the modules that a file imports, at its top or in a function."""
    found = set()
    for node in ast.walk(ast.parse((TESTS / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_every_helper_is_in_support() -> None:
    assert [str(file) for file in CASES if not file.name.startswith("test_")] == []


def test_no_test_imports_a_test() -> None:
    tests = {file.stem for file in CASES} | {"conftest"}
    assert {str(file): found for file in FILES if (found := imported(file) & tests)} == {}


def test_names_of_test_files_are_unique() -> None:
    counts = Counter(file.name for file in CASES)
    assert [name for name, count in counts.items() if count > 1] == []


def _is_room(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_unit_mirrors_the_package() -> None:
    folders = {file.parent.relative_to("unit") for file in CASES if file.parts[0] == "unit"}
    strange = {
        str(folder)
        for folder in folders
        if folder.parts and folder.parts[0] not in BESIDE and not _is_room(ROOT / "atomr_local" / folder)
    }
    assert strange == set()
