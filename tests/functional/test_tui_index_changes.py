"""Removing the index in use turns its source off with a word; building it again turns it on, without a restart."""

from __future__ import annotations

import pytest
from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import opened, screen_text, until

from atomr_local.settings.schema import load_settings
from atomr_local.tui.jobs import Job, JobState


async def test_the_source_goes_off_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = ["there is no text index named 'mine'", ""]
    monkeypatch.setattr("atomr_local.tui.app._problem", lambda *_: problems.pop(0))
    fake = FakeAssistant()
    before = load_settings().sources
    async with opened(fake, size=(120, 40), notifications=True) as (app, pilot):
        app._job_updated(Job(1, "remove", ("indexes", "remove", "text", "mine", "--yes"), JobState.DONE))
        await until(pilot, lambda: "[ ] Text" in screen_text(app))
        assert fake.settings.sources == ("graph",)
        assert load_settings().sources == before, "the user's choice stays"
        await until(pilot, lambda: any("Text is off" in notice.message for notice in app._notifications))
        app._job_updated(Job(2, "build", ("text", "build", "x.jsonl", "--name", "mine"), JobState.DONE))
        await until(pilot, lambda: "[x] Text" in screen_text(app))
        assert fake.settings.sources == before
