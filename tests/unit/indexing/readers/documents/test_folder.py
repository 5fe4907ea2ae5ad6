"""Which files of a folder are documents: what is left out and counted, `.gitignore` files, links."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from atomr_local.errors import MissingPartError
from atomr_local.indexing.readers.documents import folder as folders
from atomr_local.indexing.readers.documents.folder import Folder, told_left_out


def made(root: Path, *files: str, **texts: str) -> Path:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("Words.")
    return root


def ignoring(root: Path, *lines: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / ".gitignore").write_text("".join(f"{line}\n" for line in lines))


def paths(folder: Folder) -> list[str]:
    return [file.path for file in folder.files() if not file.problem]


def left_out(folder: Folder) -> dict[str, int]:
    list(folder.files(counted := Counter()))
    return {what: count for what, count in counted.items() if count}


def problems(folder: Folder) -> dict[str, str]:
    return {file.path: file.problem for file in folder.files() if file.problem}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("node_modules/a/readme.md", "files in node_modules"),
        ("src/__pycache__/a.txt", "files in __pycache__"),
        (".git/config", "files in .git"),
        (".obsidian/workspace.json", "files in .obsidian"),
        ("~$report.docx", "lock files"),
        (".~lock.report.odt#", "lock files"),
        ("Thumbs.db", "system files"),
        ("sub/desktop.ini", "system files"),
        (".DS_Store", "system files"),
        ("note.md~", "backup files"),
        ("logseq/bak/pages/Bread/2024-05-03T13_26_21.441Z.Desktop.md", "backup files"),
        (".note.md.swp", "temporary files"),
        (".secret", "hidden files"),
    ],
)
def test_what_programs_keep_for_themselves_is_left_out_and_counted(tmp_path: Path, name: str, what: str) -> None:
    folder = Folder(made(tmp_path, "note.md", name))
    assert paths(folder) == ["note.md"]
    assert left_out(folder) == {what: 1}


def test_hidden_files_can_be_taken_but_not_what_programs_keep(tmp_path: Path) -> None:
    made(tmp_path, ".notes/a.md", ".b.md", ".git/HEAD", ".DS_Store", ".venv/pyvenv.cfg", ".venv/lib/a.txt")
    folder = Folder(tmp_path, hidden=True)
    assert paths(folder) == [".b.md", ".notes/a.md"]
    assert left_out(folder) == {"files in .venv": 2, "files in .git": 1, "system files": 1}


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history", "CACHEDIR.TAG"])
def test_environments_and_caches_are_known_by_what_lies_in_them(tmp_path: Path, mark: str) -> None:
    made(tmp_path, f"any/{mark}", "any/lib/x.txt", "any.txt")
    assert paths(Folder(tmp_path)) == ["any.txt"]
    assert paths(Folder(tmp_path / "any")) != [], "the folder that was given is taken whatever it is"


def test_a_backup_is_left_out_where_its_original_is_there(tmp_path: Path) -> None:
    made(tmp_path, "a.md", "a.md.bak", "b.bak", "b.txt", "alone.bak", "merge.c.orig", "merge.c")
    folder = Folder(tmp_path)
    assert paths(folder) == ["a.md", "alone.bak", "b.txt", "merge.c"]
    assert left_out(folder) == {"backup files": 3}


def test_what_is_left_out_by_its_name_can_be_taken_back(tmp_path: Path) -> None:
    pytest.importorskip("pathspec")
    made(tmp_path, "node_modules/a.md", "x/node_modules/b.md", ".obsidian/c.md", ".git/d", "e.log", "~$f.txt")
    taken = Folder(tmp_path, ("!node_modules/", "!.obsidian", "*.log"))
    assert paths(taken) == [".obsidian/c.md", "node_modules/a.md", "x/node_modules/b.md"]
    assert left_out(taken) == {"files in .git": 1, "files that --exclude names": 1, "lock files": 1}
    only = Folder(tmp_path, ("*", "!*/", "!*.md"))
    assert paths(only) == [], "a pattern for many names takes nothing back"


def test_what_is_left_out_is_told_in_one_line() -> None:
    assert told_left_out({}) == ""
    assert told_left_out({"files in node_modules": 312, "lock files": 1}) == "312 files in node_modules, 1 lock file"
    assert told_left_out({f"files in .{i}": 2 for i in range(20)}).endswith("2 files in .7 and 24 more")


def test_gitignore_files_count_where_they_lie_and_when_asked(tmp_path: Path) -> None:
    pytest.importorskip("pathspec")
    made(tmp_path, "a.log", "keep.log", "build/x.md", "sub/build/y.md", "sub/b.log", "sub/deep/c.log", "sub/d.md")
    ignoring(tmp_path, "*.log", "!keep.log", "/build/", "# a comment", "[z-a]", "!")
    ignoring(tmp_path / "sub", "!b.log", "d.md")
    ignoring(tmp_path / "only", "*", "!*/", "!*.md")
    made(tmp_path, "only/these/x.md", "only/these/y.txt")
    assert len(paths(Folder(tmp_path))) == 9
    folder = Folder(tmp_path, gitignore=True)
    assert paths(folder) == ["keep.log", "only/these/x.md", "sub/b.log", "sub/build/y.md"]
    assert left_out(folder) == {"files that .gitignore names": 5, "hidden files": 3}


def test_a_gitignore_file_made_to_do_harm_leaves_out_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pathspec")
    made(tmp_path, "a" * 200, "b.txt")
    ignoring(tmp_path, "*a*a*a*a*a*a*a*b*", "x" * 2_000)
    assert len(paths(Folder(tmp_path, gitignore=True))) == 2
    monkeypatch.setattr(folders, "_MOST_RULES", 1)
    assert problems(Folder(tmp_path, gitignore=True)) == {
        ".gitignore": "it leaves out nothing: it has more than 1 patterns"
    }
    outside = tmp_path / "outside"
    ignoring(outside, "*")
    inside = made(tmp_path / "inside", "c.txt")
    (inside / ".gitignore").symlink_to(outside / ".gitignore")
    assert paths(Folder(inside, gitignore=True)) == ["c.txt"], "a link is not followed"


def test_gitignore_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pathspec", None)
    ignoring(tmp_path, "*.log")
    with pytest.raises(MissingPartError, match="--gitignore needs the extra"):
        paths(Folder(tmp_path, gitignore=True))


def test_links_that_lead_nowhere_or_out_are_told(tmp_path: Path) -> None:
    root = made(tmp_path / "root", "a.txt")
    made(tmp_path, "outside.txt")
    links = {"broken": "gone.txt", "circle": "circle", "out": "../outside.txt", "same": "a.txt", "lost": "../gone.txt"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    broken = "it is a broken link: what it leads to is not there"
    assert problems(Folder(root)) == {
        "broken": broken, "circle": broken, "lost": broken, "out": "it is a link that leads out of the folder"
    }  # fmt: skip
    assert paths(Folder(root)) == ["a.txt"]
