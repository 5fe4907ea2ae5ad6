"""What the documentation names is there: files and headings that it links to, scripts, commands and their options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support.places import ROOT

from atomr_local.cli.main import atomr

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "indexes" / "README.md", ROOT / "models" / "README.md"]
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```(?:bash|console)$(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:\$ |\.venv/bin/)?atomr (.+)")
SCRIPT = re.compile(r"\bscripts/[\w/]+\.(?:py|sh)\b")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_scripts_that_are_named_exist(page: Path) -> None:
    if page.name == "CHANGELOG.md":  # tells of scripts that are gone
        return
    names = set(SCRIPT.findall(page.read_text(encoding="utf-8")))
    assert sorted(name for name in names if not (ROOT / name).is_file()) == []


def commands(page: Path) -> Iterator[list[str]]:
    for block in CODE.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            for part in line.split("&&"):
                if found := COMMAND.match(part.strip()):
                    yield shlex.split(found[1], comments=True)


def unknown(words: list[str]) -> list[str]:
    """Commands and options among these words that `atomr` does not have."""
    command: click.Command = atomr
    context = click.Context(atomr)
    rest = list(words)
    problems = []
    while rest and isinstance(command, click.Group) and not rest[0].startswith("-"):
        below = command.get_command(context, rest[0])
        if below is None:
            return [f"atomr {' '.join(words)}: no command {rest[0]}"]
        command, rest = below, rest[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    options |= set(command.get_help_option_names(context))
    problems += [
        word for word in rest if re.fullmatch(r"--?[a-z][\w-]*(=.*)?", word) and word.split("=")[0] not in options
    ]
    return problems


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_that_are_shown_exist(page: Path) -> None:
    assert [problem for words in commands(page) for problem in unknown(words)] == []


def test_this_test_would_see_a_wrong_command() -> None:
    assert unknown(["ask", "Who?", "--no-such-option"]) == ["--no-such-option"]
    assert unknown(["text", "bild"]) == ["atomr text bild: no command bild"]


def test_the_readme_holds_the_two_commands_that_ci_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("install", "test"):
        assert text.count(f"<!-- command: {name} -->\n```bash\n") == 1
