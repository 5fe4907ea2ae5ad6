#!/usr/bin/env python
"""Whether the files agree on the version of a release, and what the changelog says of it.

    scripts/release_facts.py check v0.1.0    the version is that of the tag, everywhere, and the changelog has a heading
    scripts/release_facts.py check           only that the files agree with each other
    scripts/release_facts.py notes v0.1.0    prints the changelog's part for this version

Needs only Python itself. Exit status 1, with every reason, if something does not agree.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
_PLUGIN = "plugins/llm-atomr/pyproject.toml"
_PROJECTS = ("pyproject.toml", _PLUGIN)
_PACKAGE = "atomr_local/__init__.py"
_TAG = re.compile(r"v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")


class FactError(Exception):
    """Something that has to be mended before the release."""


def read(root: Path, name: str) -> str:
    """
    Raises:
        FactError: the file cannot be read.
    """
    try:
        return (root / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FactError(f"{name}: cannot be read: {error}") from error


def project(root: Path, name: str) -> dict[str, Any]:
    """The table `project` of a file.

    Raises:
        FactError: the file cannot be read, or has no such table.
    """
    try:
        found: dict[str, Any] = tomllib.loads(read(root, name))["project"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise FactError(f"{name}: has no readable table project: {error}") from error
    return found


def admits(requirement: str, version: str) -> bool:
    """Whether a requirement of the form `NAME>=A,<B` admits a version. A release candidate counts as its release."""
    bounds = re.fullmatch(r"[\w-]+>=([\d.]+),<([\d.]+)", requirement.replace(" ", ""))
    numbers = re.match(r"[\d.]*\d", version)
    if bounds is None or numbers is None:
        return False
    least, most, found = (tuple(map(int, text.strip(".").split("."))) for text in (bounds[1], bounds[2], numbers[0]))
    return least <= found < most


def versions(root: Path) -> dict[str, str]:
    """The version that each file names.

    Raises:
        FactError: one names none.
    """
    found = {name: str(project(root, name).get("version")) for name in _PROJECTS}
    told = re.search(r'^__version__ = "([^"]*)"$', read(root, _PACKAGE), re.MULTILINE)
    if told is None:
        raise FactError(f"{_PACKAGE}: no __version__")
    return found | {_PACKAGE: told[1]}


def part_of_changelog(text: str, version: str) -> str:
    """What the changelog says of a version, without its heading.

    Raises:
        FactError: there is no heading with this version and a date, or nothing below it.
    """
    heading = re.compile(rf"^## \[?{re.escape(version)}\]?(?P<date> - \d{{4}}-\d{{2}}-\d{{2}})?$", re.MULTILINE)
    found = heading.search(text)
    if found is None:
        raise FactError(f"CHANGELOG.md: no heading '## {version} - YEAR-MONTH-DAY'")
    if found["date"] is None:
        raise FactError(f"CHANGELOG.md: the heading of {version} has no date")
    rest = text[found.end() :]
    following = re.search(r"^## ", rest, re.MULTILINE)
    part = rest[: following.start()] if following else rest
    if not re.search(r"^- \S", part, re.MULTILINE):
        raise FactError(f"CHANGELOG.md: nothing stands below the heading of {version}")
    return part.strip() + "\n"


def version_of(tag: str) -> str:
    """
    Raises:
        FactError: the tag is none of a version.
    """
    found = _TAG.fullmatch(tag)
    if found is None:
        raise FactError(f"tag {tag!r}: a tag is v and a version, such as v0.1.0")
    return found[1]


def check(root: Path, tag: str | None) -> list[str]:
    """What does not agree; empty if the release can be made."""
    try:
        named = versions(root)
        version = version_of(tag) if tag is not None else named["pyproject.toml"]
        text = read(root, "CHANGELOG.md")
        needs = [item for item in project(root, _PLUGIN).get("dependencies", []) if item.startswith("atomr-local")]
    except FactError as error:
        return [str(error)]
    wrong = [f"{file}: version {said}, not {version}" for file, said in named.items() if said != version]
    if not any(admits(item, version) for item in needs):
        wrong.append(f"{_PLUGIN}: requires {', '.join(needs) or 'no atomr-local'}, which does not admit {version}")
    if tag is None:
        return wrong
    try:
        part_of_changelog(text, version)
    except FactError as error:
        wrong.append(str(error))
    if re.search(rf"\b{re.escape(version)} is not released yet\b", text):
        wrong.append(f"CHANGELOG.md: says that {version} is not released yet")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=_ROOT, help="the source tree; default: this one")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="whether the files agree").add_argument("tag", nargs="?")
    commands.add_parser("notes", help="print the changelog's part").add_argument("tag")
    options = parser.parse_args()
    if options.command == "notes":
        try:
            print(part_of_changelog(read(options.root, "CHANGELOG.md"), version_of(options.tag)), end="")
        except FactError as error:
            print(f"release: {error}", file=sys.stderr)
            return 1
        return 0
    wrong = check(options.root, options.tag)
    for reason in wrong:
        print(f"release: {reason}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
