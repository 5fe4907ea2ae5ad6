"""The Containerfile names files that exist, copies all that the build reads, and runs without privileges.

No container engine is needed: what it says is compared with the project.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

from support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def instructions() -> Iterator[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            yield name, rest.strip()


def copied() -> list[str]:
    """What is copied from the checkout, without a slash at the end."""
    return [
        name.rstrip("/")
        for instruction, rest in instructions()
        if instruction == "COPY" and not rest.startswith("--from")
        for name in shlex.split(rest)[:-1]
    ]


def test_everything_copied_exists_and_is_not_ignored() -> None:
    kept = [line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!")]
    names = copied()
    assert names
    for name in names:
        assert (ROOT / name).exists(), name
        assert any(Path(name).is_relative_to(item) for item in kept), f".containerignore leaves {name} out"
    assert [name for name in kept if not (ROOT / name).exists()] == []


def test_all_that_the_wheel_is_made_of_is_copied() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        "pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"], *wheel["packages"],
        *wheel["force-include"], *wheel["shared-data"],
    }  # fmt: skip
    script = (ROOT / "scripts" / "install.sh").read_text(encoding="utf-8")
    needed |= set(re.findall(r"(requirements/\w+\.lock|constraints\.txt)", script)) - {"requirements/dev.lock"}
    names = copied()
    assert sorted(name for name in needed if not any(Path(name).is_relative_to(item) for item in names)) == []


def test_it_runs_the_program_as_an_unprivileged_user() -> None:
    last: dict[str, str] = {}
    for name, rest in instructions():
        if name == "FROM":
            last = {}
        last[name] = rest
    assert json.loads(last["ENTRYPOINT"])[0] in PROJECT["project"]["scripts"]
    user, _, group = last["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert json.loads(last["VOLUME"]) == ["/data"]
    assert "ATOMR_HOME=/data" in last["ENV"]


def test_the_base_image_is_pinned() -> None:
    [base] = [rest for name, rest in instructions() if name == "ARG" and rest.startswith("BASE=")]
    assert re.fullmatch(r"BASE=python:[\d.]+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert {rest.split()[0] for name, rest in instructions() if name == "FROM"} == {"${BASE}"}
