"""Files of the user's documents are opened at their place, and nothing is ever run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atomr_local.tui.clipboard import Opening, missing_reason, opening_of, run_here, run_reason, start
from atomr_local.tui.rendering import place_text


def written(path: Path, content: bytes = b"Some words.\n", mode: int = 0o644) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def planned(
    path: Path, *, at: int = 0, default: str = "", installed: str = "xdg-open", editor: str = "", **place: Any
) -> Opening:
    locator = {"file": path.name, "folder": str(path.parent), **place}
    names = installed.split()
    found = opening_of(
        locator,
        at,
        environment={"EDITOR": editor},
        which=lambda name: f"/usr/bin/{name}" if name in names else None,
        platform="linux",
        default_program=lambda _: default,
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("default", "command"),
    [
        ("org.gnome.Evince.desktop", ("/usr/bin/evince", "--page-index=4", "FILE")),
        ("okularApplication_pdf.desktop", ("/usr/bin/xdg-open", "FILE")),
        ("org.kde.okular.desktop", ("/usr/bin/okular", "-p", "4", "FILE")),
        ("firefox.desktop", ("/usr/bin/firefox", "URL#page=4")),
        ("", ("/usr/bin/xdg-open", "FILE")),
    ],
)
def test_a_pdf_opens_at_its_page_in_the_program_of_the_user(
    tmp_path: Path, default: str, command: tuple[str, ...]
) -> None:
    file = written(tmp_path / "-r #1.pdf", b"%PDF-1.7\n")
    opening = planned(
        file, at=50, default=default, installed="xdg-open evince okular firefox", page=[3, 4], page_starts=[[40, 4]]
    )
    expected = tuple(word.replace("FILE", str(file)).replace("URL", file.as_uri()) for word in command)
    assert (opening.command, opening.refused) == (expected, "")
    assert "page 4" in opening.told


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vim", ("/usr/bin/vim", "+12", "FILE")),
        ("code --wait", ("/usr/bin/code", "--wait", "--goto", "FILE:12")),
        ("unknown", ("/usr/bin/xdg-open", "FILE")),
        ("'", ("/usr/bin/xdg-open", "FILE")),
        ("", ("/usr/bin/xdg-open", "FILE")),
    ],
)
def test_a_text_opens_at_its_line_in_the_editor_of_the_user(
    tmp_path: Path, editor: str, command: tuple[str, ...]
) -> None:
    file = written(tmp_path / "note.md")
    opening = planned(file, editor=editor, installed="xdg-open vim code unknown", line=[12, 15])
    assert opening.command == tuple(word.replace("FILE", str(file)) for word in command)
    assert "line 12" in opening.told


def test_places_that_no_program_takes_are_told(tmp_path: Path) -> None:
    assert planned(written(tmp_path / "talk.pptx"), slide=3).told.endswith("then go to slide 3.")
    assert planned(written(tmp_path / "rents.xlsx"), cells="May!A2:C9").told.endswith("then go to cells May!A2:C9.")
    assert planned(written(tmp_path / "book.ipynb"), cell=[2, 4]).told.endswith("then go to cell 2.")
    nothing = planned(written(tmp_path / "a.txt"), installed="")
    assert (nothing.command, bool(nothing.refused)) == ((), True)


@pytest.mark.parametrize(
    ("name", "content", "mode"),
    [
        ("app.desktop", b"[Desktop Entry]\nExec=evil\n", 0o644),
        ("notes.txt", b"\n[Desktop Entry]\nExec=evil\n", 0o644),
        ("install.sh", b"echo evil\n", 0o644),
        ("Setup.EXE", b"MZ\x90\0", 0o644),
        ("tool", b"\x7fELF\x02", 0o644),
        ("windows", b"MZ\x90\0\x03", 0o644),
        ("readme", b"#!/bin/sh\necho evil\n", 0o644),
        ("plain.txt", b"Some words.\n", 0o755),
        ("module.py", b"print()\n", 0o644),
        ("x.AppImage", b"words", 0o644),
    ],
)
def test_what_could_be_run_is_shown_in_its_folder(tmp_path: Path, name: str, content: bytes, mode: int) -> None:
    file = written(tmp_path / name, content, mode)
    opening = planned(file, editor="vim", installed="xdg-open vim dbus-send", line=1)
    assert opening.refused
    assert opening.command[0] == "/usr/bin/dbus-send"
    assert f"array:string:{file.as_uri()}" in opening.command
    assert planned(file, installed="xdg-open").command == ("/usr/bin/xdg-open", str(tmp_path))
    assert planned(file, installed="").command == ()


def test_a_document_is_no_program_whatever_its_permissions(tmp_path: Path) -> None:
    assert run_reason(written(tmp_path / "a.pdf", b"%PDF-1.7\n", 0o755)) == ""
    assert run_reason(written(tmp_path / "MZ.txt", b"MZ is a code.")) == ""
    assert run_reason(tmp_path / "gone.txt") == "The file cannot be read"


def test_what_is_not_there_is_told_and_links_lead_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    secret = written(tmp_path / "secret.txt")
    (folder / "link.txt").symlink_to(secret)
    for locator in ({"file": "link.txt"}, {"file": "../secret.txt"}, {"file": "gone.txt"}, {"file": str(secret)}):
        assert opening_of(locator | {"folder": str(folder)}) is None
        assert "is not in its folder any more" in missing_reason(locator | {"folder": str(folder)})
    assert opening_of({"file": "report.pdf", "folder": ""}) is None
    assert "not on this machine" in missing_reason({"file": "report.pdf", "folder": ""})
    assert missing_reason({"file": "secret.txt", "folder": str(tmp_path)}) == ""


def test_programs_get_the_file_as_one_word_and_their_failure_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = written(tmp_path / "a; touch evil $(x).txt")
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    import sys

    assert run_here(Opening((sys.executable, "-c", script, str(out), str(file)), "")) == ""
    assert out.read_text() == str(file)
    for run in (start, run_here):
        assert "cannot be started" in run(Opening((str(tmp_path / "none"), str(file)), ""))


def test_the_place_names_the_index_where_several_are_searched() -> None:
    page = {"file": "report.pdf", "folder": "/x", "page": 3, "heading": "Methods"}
    assert str(place_text(page)) == "report.pdf, p. 3, Methods"
    assert str(place_text(page | {"index": "notes\x1b"})) == "index notes, report.pdf, p. 3, Methods"
    assert str(place_text({"passage": "a#0", "span": [0, 9], "index": "wiki"})) == (
        "index wiki, passage a#0, characters 0–9"
    )
