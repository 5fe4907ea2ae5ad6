#!/usr/bin/env python3
"""Checks that the package keeps to its budget of lines, and that its files are neither too long nor splinters.

    scripts/house/budget.py           check; prints what is over, and exits with 1
    scripts/house/budget.py --lower   write the present sizes as the budget, where they are smaller

`tool.house` in pyproject.toml holds the budget: lines of each room (a folder or module right below the package), the
longest file, the least lines of a module that only one other imports, and the modules that are excused, such as
programs of child processes. A budget only falls: who adds lines to a room takes them away there or elsewhere, and moves
the budget by hand.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "atomr_local"
# A budget this far above the room is to be lowered.
_SLACK = 100


def modules() -> dict[str, Path]:
    """The modules of the package by their dotted names."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def rooms(found: Mapping[str, Path]) -> Counter[str]:
    """Lines of each room; single modules right below the package are one room together, called "root"."""
    sizes: Counter[str] = Counter()
    for path in found.values():
        parts = path.relative_to(ROOT / PACKAGE).parts
        sizes[parts[0] if len(parts) > 1 else "root"] += lines_of(path)
    return sizes


def importers(found: Mapping[str, Path]) -> dict[str, set[str]]:
    """Which modules import each module, at their top or in a function."""
    users: dict[str, set[str]] = defaultdict(set)
    for name, path in found.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    users[full if full in found else node.module].add(name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    users[alias.name].add(name)
    return users


def problems(budget: Mapping[str, Any]) -> list[str]:
    """What breaks the budget, a line each."""
    found = modules()
    told = []
    sizes = rooms(found)
    for room, size in sorted(sizes.items()):
        allowed = budget["lines"].get(room)
        if allowed is None:
            told.append(f"{room}: no budget for {size} lines; add it to tool.house.lines and take it away elsewhere")
        elif size > allowed:
            told.append(f"{room}: {size} lines, the budget is {allowed}")
        elif size < allowed - _SLACK:
            told.append(f"{room}: {size} lines, far below its budget of {allowed}: run scripts/house/budget.py --lower")
    told += [f"{room}: has a budget, but is gone" for room in sorted(set(budget["lines"]) - set(sizes))]
    if len(found) > budget["files"]:
        told.append(f"{len(found)} files, the budget is {budget['files']}")
    users = importers(found)
    for name, path in found.items():
        size, short = lines_of(path), name.removeprefix(f"{PACKAGE}.")
        if size > budget["longest_file"]:
            told.append(f"{short}: {size} lines, the longest file may have {budget['longest_file']}")
        splinter = size < budget["shortest_file"] and path.name != "__init__.py" and len(users[name]) == 1
        if splinter and short not in budget["excused"]:
            told.append(f"{short}: {size} lines, and only {next(iter(users[name]))} imports it: put it there")
    return told


def lower() -> None:
    """Write the sizes of the rooms that are below their budget into pyproject.toml."""
    path = ROOT / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    head, mark, rest = text.partition("[tool.house.lines]\n")
    budget = tomllib.loads(text)["tool"]["house"]
    sizes = rooms(modules())
    kept = {room: min(size, budget["lines"].get(room, size)) for room, size in sorted(sizes.items())}
    _, _, after = rest.partition("\n\n")
    lines = "\n".join(f"{room} = {size}" for room, size in kept.items())
    head = head.replace(f"files = {budget['files']}", f"files = {min(len(modules()), budget['files'])}")
    path.write_text(f"{head}{mark}{lines}\n\n{after}", encoding="utf-8")


def main() -> None:
    if "--lower" in sys.argv[1:]:
        lower()
    budget = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["house"]
    told = problems(budget)
    for line in told:
        print(line)
    total = sum(rooms(modules()).values())
    print(f"{len(modules())} files, {total} lines, of {sum(budget['lines'].values())} in the budget")
    raise SystemExit(bool(told))


if __name__ == "__main__":
    main()
