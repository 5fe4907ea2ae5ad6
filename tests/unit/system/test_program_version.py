"""Version and commit of the program that is running."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from atomr_local import __version__
from atomr_local.system.program_version import ProgramVersion, version_of

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git checkout with a package and a page beside it; git's own variables name another one."""
    package = tmp_path / "checkout" / "package"
    package.mkdir(parents=True)
    (package / "code.py").write_text("1\n")
    (package.parent / "page.md").write_text("a page\n")
    git(package.parent, "init", "-q")
    git(package.parent, "add", ".")
    git(package.parent, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    return package


def git(folder: Path, *arguments: str) -> str:
    said = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=None)
    return said.stdout.strip()


@NEEDS_GIT
def test_a_checkout_tells_its_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = version_of(checkout)
    monkeypatch.delenv("GIT_DIR")
    assert found == ProgramVersion(__version__, git(checkout.parent, "rev-parse", "HEAD"), changed=False)
    assert len(found.commit) == 40


@NEEDS_GIT
@pytest.mark.parametrize(("file", "changed"), [("package/code.py", True), ("package/new.py", True), ("page.md", False)])
def test_only_changes_of_the_package_count(checkout: Path, file: str, changed: bool) -> None:
    (checkout.parent / file).write_text("2\n")
    assert version_of(checkout).changed is changed


def test_an_installed_package_has_no_commit(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "package"
    package.mkdir(parents=True)
    assert version_of(package) == ProgramVersion(__version__)


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version_of(tmp_path / "package") == ProgramVersion(__version__)


@NEEDS_GIT
def test_what_only_looks_like_a_checkout_has_no_commit(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert version_of(tmp_path / "package") == ProgramVersion(__version__)
