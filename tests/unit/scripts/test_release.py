"""What the scripts of a release refuse, before anything is built, and what the workflow may do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT
from support.script_loader import load_script

facts = load_script("release_facts")

FILES = ("pyproject.toml", "plugins/llm-atomr/pyproject.toml", "atomr_local/__init__.py")
NOTES = "### Added\n\n- A thing.\n"
CHANGELOG = f"# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-12-01\n\n{NOTES}\n## 0.0.9 - 2026-11-01\n\n- Older.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that name a version, as they are for a release of 0.1.0, and the scripts."""
    for name in (*FILES, "scripts/release_facts.py", "scripts/release_check.sh"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, file)
    for name in FILES:
        change(tmp_path / name, r'^((?:__)?version(?:__)? = )".*"$', r'\1"0.1.0"')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def change(file: Path, pattern: str, by: str) -> None:
    text, count = re.subn(pattern, by, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1, pattern
    file.write_text(text, encoding="utf-8")


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, "GIT_CEILING_DIRECTORIES": str(root.parent)}
    command = [str(root / "scripts" / "release_check.sh"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_files_that_agree_are_a_release(tree: Path) -> None:
    assert facts.check(tree, "v0.1.0") == []
    assert facts.check(tree, None) == []


def test_the_files_of_this_checkout_agree() -> None:
    assert facts.check(ROOT, None) == []


@pytest.mark.parametrize("tag", ["0.1.0", "v0.1", "v0.1.0-1", "v1", "v0.1.0\n", "main", ""])
def test_a_tag_that_is_no_version_is_refused(tree: Path, tag: str) -> None:
    [reason] = facts.check(tree, tag)
    assert "such as v0.1.0" in reason


def test_another_version_is_refused_with_every_file_that_names_it(tree: Path) -> None:
    reasons = facts.check(tree, "v0.1.1")
    assert [reason for reason in reasons if "version 0.1.0, not 0.1.1" in reason] == [
        f"{name}: version 0.1.0, not 0.1.1" for name in FILES
    ]
    assert "no heading '## 0.1.1" in reasons[-1]


def test_files_that_differ_are_refused_without_a_tag_too(tree: Path) -> None:
    change(tree / "atomr_local/__init__.py", r"^__version__ = .*$", '__version__ = "0.1.1"')
    assert facts.check(tree, None) == ["atomr_local/__init__.py: version 0.1.1, not 0.1.0"]
    (tree / "atomr_local/__init__.py").write_text("")
    assert facts.check(tree, None) == ["atomr_local/__init__.py: no __version__"]
    (tree / "pyproject.toml").write_text("project")
    assert facts.check(tree, None)[0].startswith("pyproject.toml: has no readable table project")
    (tree / "pyproject.toml").unlink()
    assert facts.check(tree, None)[0].startswith("pyproject.toml: cannot be read")


def test_a_plugin_that_does_not_admit_the_version_is_refused(tree: Path) -> None:
    for name in FILES[:2]:
        change(tree / name, r'^version = ".*"$', 'version = "0.2.0"')
    change(tree / FILES[2], r"^__version__ = .*$", '__version__ = "0.2.0"')
    [reason] = facts.check(tree, None)
    assert reason == "plugins/llm-atomr/pyproject.toml: requires atomr-local>=0.1,<0.2, which does not admit 0.2.0"


@pytest.mark.parametrize(
    ("changelog", "said"),
    [
        ("# Changelog\n\n## Unreleased\n\n- A thing.\n", "no heading '## 0.1.0 - YEAR-MONTH-DAY'"),
        ("## 0.1.0rc1 - 2026-12-01\n\n- A thing.\n", "no heading"),
        ("## 0x1x0 - 2026-12-01\n\n- A thing.\n", "no heading"),
        ("## 0.1.0\n\n- A thing.\n", "has no date"),
        ("## 0.1.0 - 2026-12-01\n\n## 0.0.9 - 2026-11-01\n\n- Older.\n", "nothing stands below"),
        (CHANGELOG.replace("# Changelog\n", "Version 0.1.0 is not released yet.\n", 1), "is not released yet"),
    ],
)
def test_a_changelog_without_the_version_is_refused(tree: Path, changelog: str, said: str) -> None:
    (tree / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    [reason] = facts.check(tree, "v0.1.0")
    assert said in reason


def test_the_notes_are_the_part_of_the_version_alone() -> None:
    assert facts.part_of_changelog(CHANGELOG, "0.1.0") == NOTES
    with pytest.raises(facts.FactError):
        facts.part_of_changelog(CHANGELOG, "0.2.0")


@pytest.mark.parametrize(
    ("requirement", "version", "admitted"),
    [
        ("atomr-local>=0.1,<0.2", "0.1.0", True), ("atomr-local>=0.1, <0.2", "0.1.9rc1", True),
        ("atomr-local>=0.1,<0.2", "0.2.0", False), ("atomr-local>=0.1.1,<0.2", "0.1.0", False),
        ("atomr-local", "0.1.0", False), ("atomr-local>=0.1,<0.2", "next", False),
    ],
)  # fmt: skip
def test_what_a_requirement_admits(requirement: str, version: str, admitted: bool) -> None:
    assert facts.admits(requirement, version) is admitted


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_script_refuses_before_it_builds(tree: Path) -> None:
    wrong = run(tree, "--tag", "v0.1.1")
    assert wrong.returncode == 1
    assert wrong.stderr.count("version 0.1.0, not 0.1.1") == len(FILES)
    assert "no heading" in wrong.stderr
    assert "this is no commit" in run(tree, "--tag", "v0.1.0").stderr
    kept = tree / "out" / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    for arguments, said in (
        (("--out", str(kept.parent)), "is there already"),
        (("--out", str(kept)), "is there already"),
        (("--tag",), "needs a value"),
        (("--publish",), "unknown option --publish"),
    ):
        done = run(tree, *arguments)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert kept.read_text() == "mine"
    assert not (tree / "build").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None or shutil.which("bash") is None, reason="git or bash is not installed")
def test_a_tag_of_another_commit_is_refused(tree: Path) -> None:
    def git(*arguments: str) -> None:
        told = [
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@a.invalid",
            "-c",
            "commit.gpgsign=false",
            "-c",
            "tag.gpgsign=false",
        ]
        subprocess.run(["git", *told, *arguments], cwd=tree, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "One")
    git("tag", "v0.1.0")
    git("commit", "-qm", "Two", "--allow-empty")
    done = run(tree, "--tag", "v0.1.0")
    assert done.returncode == 1
    assert "the tag v0.1.0 is another commit" in done.stderr


def workflow() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # BaseLoader: `on` is no truth value
    return found


def test_the_workflow_runs_on_tags_alone_and_may_do_little() -> None:
    found = workflow()
    [(event, given)] = found["on"].items()
    assert (event, list(given)) == ("push", ["tags"])
    assert found["permissions"] == {"contents": "read"}
    may = {name: job.get("permissions") for name, job in found["jobs"].items()}
    assert may == {
        "build": None, "install": None, "github": {"contents": "write"}, "pypi": {"id-token": "write"},
    }  # fmt: skip
    assert found["jobs"]["pypi"]["environment"] == "pypi"
    for name in ("github", "pypi"):
        assert set(found["jobs"][name]["needs"]) == {"build", "install"}
        assert not [step for step in found["jobs"][name]["steps"] if "checkout" in step.get("uses", "")]


def test_the_workflow_runs_scripts_that_exist_with_nothing_put_into_their_lines() -> None:
    commands = [step["run"] for job in workflow()["jobs"].values() for step in job["steps"] if "run" in step]
    for command in commands:
        assert "${{" not in command, "a value from outside belongs into env"
    scripts = re.findall(r"\bscripts/\S+\.(?:sh|py)", "\n".join(commands))
    assert scripts == ["scripts/release_check.sh", "scripts/install_check.sh"]
    for name in scripts:
        assert os.access(ROOT / name, os.X_OK), name
