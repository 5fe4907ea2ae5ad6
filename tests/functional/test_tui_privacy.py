"""The terminal UI says what leaves the machine, and shows no secret on any screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.tui.fake_assistant import FakeAssistant, script
from support.tui.screens import opened
from support.tui.settings_form import Form, settle
from textual.widgets import Static

from atomr_local.reasoning.trace.events import LeavesMachine
from atomr_local.settings.schema import load_settings
from atomr_local.tui.app import AtomrApp

CANARY = "cAn4ry7Wx2Qz"


def words(app: AtomrApp | Form) -> str:
    """All that is on the screen, also what a picture of it holds."""
    return re.sub(r"<[^>]*>", "", app.export_screenshot()).replace("&#160;", " ")


@pytest.mark.parametrize(
    ("url", "host"), [("", ""), ("http://127.0.0.1:8080/v1", ""), ("https://u:p@api.example.org/v1", "api.example.org")]
)
async def test_the_first_screen_names_the_machine_that_questions_go_to(url: str, host: str) -> None:
    assistant = FakeAssistant()
    assistant.settings = load_settings(endpoint={"url": url})
    async with opened(assistant, size=(140, 40)) as (app, pilot):
        await settle(pilot)
        about = str(app.screen.query_one("#about", Static).content)
        remote = app.screen.query_one("#remote", Static)
        assert remote.display is bool(host)
        assert ("nothing leaves this machine" in about) is not bool(host)
        if host:
            assert f"leave this machine → {host}" in about
            assert f"Model → {host}" in words(app)


@pytest.mark.slow
async def test_an_answer_says_what_left_the_machine() -> None:
    events = script()
    events.insert(1, LeavesMachine(what="question, evidence", to="api.example.org"))
    async with opened(FakeAssistant(events), size=(140, 40)) as (app, pilot):
        await settle(pilot)
        await pilot.press(*"Who?", "enter")
        for _ in range(100):
            await pilot.pause(0.05)
            if "Left the machine: question, evidence → api.example.org" in words(app):
                break
        assert "Left the machine: question, evidence → api.example.org" in words(app)


@pytest.mark.slow
async def test_the_settings_show_no_secret(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_home / "config.toml").write_text(
        f"[endpoint]\nurl = 'https://{CANARY}:{CANARY}@host/v1?api_key={CANARY}'\napi_key = '{CANARY}'\n",
        encoding="utf-8",
    )
    app = Form()
    async with app.run_test(size=(160, 50)) as pilot:
        await settle(pilot)
        await app.form.go("endpoint")
        await pilot.pause()
        shown = app.shown() + words(app)
        assert CANARY not in shown
        assert "https://…@host/v1?api_key=…" in shown
        row = app.there()["endpoint.url"]
        field = row.query_one("Input")
        field.value = field.value + "x"  # what is shown is no address to go on from
        await pilot.pause()
        assert "write the value out" in app.shown()
        field.value = field.value[:-1]
        await pilot.pause()
        assert not row.entry.changed
        app.there()["endpoint.model"].query_one("Input").value = "tiny"
        await pilot.pause()
        await pilot.press("ctrl+s")
        await pilot.pause()
    saved = load_settings().endpoint
    assert (saved.model, saved.api_key) == ("tiny", CANARY)
    assert saved.url == f"https://{CANARY}:{CANARY}@host/v1?api_key={CANARY}"
