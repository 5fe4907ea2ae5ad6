"""What the check of a release refuses, what it runs, and that the workflow runs it with few permissions."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
TOOL = """#!/bin/sh
echo "$(basename "$0") $*" >> "{log}"
case "$*" in
  "-m build"*) touch "$4/$(basename "$5").whl" "$4/$(basename "$5").tar.gz" ;;
  requirements*) for last; do :; done; touch "$last" ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that the check reads, with a changelog of this version."""
    project = tmp_path / "project"
    for name in ("scripts/release_check.sh", "pyproject.toml", "plugins/llm-atomr/pyproject.toml"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, project / name)
    (project / "CHANGELOG.md").write_text(f"# Changelog\n\n## {VERSION} - 2026-12-01\n")
    return project


def check(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(project / "scripts/release_check.sh"), *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | environment, timeout=60
    )


def with_tools(folder: Path) -> tuple[str, Path]:
    """A folder of programs that only note how they were called, and these notes."""
    tools, log = folder / "tools", folder / "log"
    tools.mkdir()
    for name in ("python", "twine", "check-wheel-contents", "cyclonedx-py"):
        (tools / name).write_text(TOOL.format(log=log))
        (tools / name).chmod(0o755)
    return str(tools), log


def test_everything_is_built_and_checked(project: Path, tmp_path: Path) -> None:
    tools, log = with_tools(tmp_path)
    done = check(project, f"v{VERSION}", TOOLS=tools, OUT=str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    called = [line.split()[:3] for line in log.read_text().splitlines()]
    assert [words[0] for words in called] == ["python", "python", "twine", "check-wheel-contents", "cyclonedx-py"]
    assert called[2][1:] == ["check", "--strict"]
    sums = (tmp_path / "out" / "SHA256SUMS").read_text()
    assert "atomr-local.cdx.json" in sums
    assert "llm-atomr.whl" in sums


@pytest.mark.parametrize("failing", ["twine", "check-wheel-contents", "cyclonedx-py"])
def test_a_tool_that_finds_something_fails_the_check(project: Path, tmp_path: Path, failing: str) -> None:
    tools, _ = with_tools(tmp_path)
    (tmp_path / "tools" / failing).write_text("#!/bin/sh\nexit 3\n")
    assert check(project, TOOLS=tools, OUT=str(tmp_path / "out")).returncode != 0
    assert not (tmp_path / "out" / "SHA256SUMS").exists()


def test_another_version_is_refused(project: Path, tmp_path: Path) -> None:
    done = check(project, "v9.9.9", OUT=str(tmp_path / "out"))
    assert done.returncode == 1
    assert f"./pyproject.toml has version {VERSION}, not 9.9.9" in done.stderr
    plugin = project / "plugins/llm-atomr/pyproject.toml"
    plugin.write_text(plugin.read_text().replace(f'version = "{VERSION}"', 'version = "8.8.8"'))
    assert "plugins/llm-atomr/pyproject.toml has version 8.8.8" in check(project, VERSION).stderr


@pytest.mark.parametrize("changelog", ["# Changelog\n\n## Unreleased\n", f"## {VERSION}1\n", f"### {VERSION}\n", ""])
def test_a_version_that_the_changelog_lacks_is_refused(project: Path, tmp_path: Path, changelog: str) -> None:
    (project / "CHANGELOG.md").write_text(changelog)
    done = check(project, VERSION, OUT=str(tmp_path / "out"))
    assert done.returncode == 1
    assert f"CHANGELOG.md has no section for {VERSION}" in done.stderr


def test_nothing_is_overwritten(project: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.whl").touch()
    done = check(project, OUT=str(tmp_path))
    assert done.returncode == 1
    assert "is not empty" in done.stderr


def test_one_argument_at_most(project: Path) -> None:
    assert "one argument at most" in check(project, "v1", "v2").stderr


def test_the_workflow_runs_the_check_and_may_do_little() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (extra documents)")
    workflow: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    jobs = workflow["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "release": {"contents": "write"},
        "publish": {"id-token": "write"},
    }
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert commands == ['scripts/release_check.sh "$GITHUB_REF_NAME"']
    assert all(job["needs"] == "build" for name, job in jobs.items() if name != "build")
    # What others can choose, such as a tag's name, reaches a shell only as a variable.
    assert not any("${{" in step.get("run", "") for job in jobs.values() for step in job["steps"])
