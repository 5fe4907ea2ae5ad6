"""The Containerfile names files that exist, copies all that the build reads, and runs without privileges.

No container engine is needed: what it says is compared with the project.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import ROOT

from atomr_local.server.options import DEFAULT_PORT
from atomr_local.system.installation import add_extra, find_installation

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


def test_the_build_sees_nothing_but_what_is_copied() -> None:
    """Neither the git history nor settings, models or keys that lie around can get into a layer."""
    lines = [line for line in (ROOT / ".containerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    assert sorted({line[1:] for line in lines if line.startswith("!")} - set(copied())) == []


def test_no_secret_is_written_into_it() -> None:
    secret = re.compile(r"token|password|passwd|secret|api_?key|credential", re.IGNORECASE)
    assert [(name, rest) for name, rest in instructions() if secret.search(rest)] == []
    # What comes from outside: the base, the package index, and the extras.
    given = {rest.partition("=")[0] for name, rest in instructions() if name == "ARG"}
    assert given == {"BASE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "EXTRAS"}


def test_debian_packages_are_pinned_and_their_lists_removed() -> None:
    runs = [rest for name, rest in instructions() if name == "RUN" and "apt-get install" in rest]
    assert runs
    for run in runs:
        words = shlex.split(run.partition("apt-get install")[2].partition("&&")[0])
        packages = [word for word in words if not word.startswith("-")]
        assert packages
        assert [word for word in packages if not re.fullmatch(r"[a-z0-9.+-]+=\S+", word)] == []
        assert "rm -rf /var/lib/apt/lists/*" in run


def test_all_that_it_serves_is_installed() -> None:
    """scripts/install.sh installs the lock, which has what these extras require: the image and a checkout run `serve`."""
    lock = (ROOT / "requirements" / "run.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([\w.-]+)==", lock, flags=re.MULTILINE))
    extras = PROJECT["project"]["optional-dependencies"]
    for extra in ("starter", "documents", "mcp", "serve"):
        wanted = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in extras[extra]}
        assert wanted <= locked, extra
    assert [rest for name, rest in instructions() if name == "EXPOSE"] == [str(DEFAULT_PORT)]


def test_the_program_knows_that_it_is_in_the_image(tmp_path: Path) -> None:
    [build] = [rest for name, rest in instructions() if name == "RUN" and "scripts/install.sh" in rest]
    mark = re.search(r"> \.venv/(\S+)$", build)
    assert mark is not None
    (tmp_path / mark[1]).write_text("zim\n")
    image = find_installation(tmp_path, tmp_path / "lib", tmp_path / "bin" / "python")
    assert image.manner == "image"
    assert "--build-arg EXTRAS=zim,mcp" in add_extra("mcp", image)
    assert '"atomr-local[$EXTRAS]"' in build


def test_hadolint_finds_nothing() -> None:
    hadolint = shutil.which(
        "hadolint", path=os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", "")])
    )
    if hadolint is None:
        pytest.skip("hadolint is not installed: the Containerfile is not linted")
    command = [hadolint, "--no-color", str(ROOT / "Containerfile")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


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
