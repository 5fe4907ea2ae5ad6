"""`o` on a piece of evidence from a document: the file is opened after asking, never run, or its absence told."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tui.screens import opened, screen_text, until
from textual.pilot import Pilot

from atomr_local.sources.protocol import Evidence
from atomr_local.tui import clipboard as file_opening
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.clipboard import Opening
from atomr_local.tui.screens.ask.evidence import EvidenceScreen

SIZE = (100, 30)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Opening]:
    found: list[Opening] = []

    def start(opening: Opening) -> str:
        found.append(opening)
        return ""

    monkeypatch.setattr(file_opening, "start", start)
    monkeypatch.setattr(file_opening.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(file_opening, "_default_program", lambda _: "org.gnome.Evince.desktop")
    opens = file_opening.opening_of
    monkeypatch.setattr(
        file_opening, "opening_of", lambda *given: opens(*given, environment={}, which=lambda name: f"/usr/bin/{name}",
                                                        platform="linux")
    )  # fmt: skip
    return found


async def shown(app: AtomrApp, pilot: Pilot[None], folder: str, file: str, **place: object) -> None:
    await until(pilot, lambda: app._opened is not None)
    locator = {"passage": f"{file}#0", "span": [0, 5], "file": file, "folder": folder, **place}
    evidence = Evidence("text", "A report", "The boat is yellow.", 1.0, "q", locator, id="e1")
    app.push_screen(EvidenceScreen(app.assistant, evidence))
    await until(pilot, lambda: isinstance(app.screen, EvidenceScreen) and "A report" in screen_text(app))
    await pilot.press("o")


async def test_a_file_is_opened_at_its_page_after_asking(tmp_path: Path, started: list[Opening]) -> None:
    file = tmp_path / "report.pdf"
    file.write_bytes(b"%PDF-1.7\n")
    async with opened(size=SIZE) as (app, pilot):
        await shown(app, pilot, str(tmp_path), file.name, page=3)
        await until(pilot, lambda: "Open this file?" in screen_text(app))
        assert "With evince, at page 3." in screen_text(app)
        assert not started
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, EvidenceScreen))
        assert not started
        await pilot.press("o")
        await until(pilot, lambda: "Open this file?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: bool(started))
        assert started[0].command == ("/usr/bin/evince", "--page-index=3", str(file))
        await until(pilot, lambda: "Opened. With evince, at page 3." in screen_text(app))


async def test_a_script_is_shown_in_its_folder_only(tmp_path: Path, started: list[Opening]) -> None:
    file = tmp_path / "install.sh"
    file.write_text("#!/bin/sh\ntouch evil\n")
    file.chmod(0o755)
    async with opened(size=SIZE) as (app, pilot):
        await shown(app, pilot, str(tmp_path), file.name, line=2)
        await until(pilot, lambda: "Show this file in its folder?" in screen_text(app))
        assert "may be run when it is opened" in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: bool(started))
        assert started[0].command[0] == "/usr/bin/dbus-send"
        await until(pilot, lambda: "Shown in its folder." in screen_text(app))
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(("here", "told"), [(True, "not in its folder any more"), (False, "not on this machine")])
async def test_a_file_that_is_not_there_is_told(tmp_path: Path, started: list[Opening], here: bool, told: str) -> None:
    async with opened(size=SIZE) as (app, pilot):
        await shown(app, pilot, str(tmp_path) if here else "", "report.pdf", page=3)
        await until(pilot, lambda: told in screen_text(app))
        assert isinstance(app.screen, EvidenceScreen)
    assert not started
