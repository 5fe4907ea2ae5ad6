"""Private indexes in the terminal UI: marked by a key, shown in their row, and taken into use at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import opened, screen_text, until
from textual.pilot import Pilot

from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.settings.schema import load_settings
from atomr_local.sources.privacy import mark_private
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.screens.library.downloads import FACTS, TextIndex, plan_download, text_indexes
from atomr_local.tui.screens.library.screen import LibraryScreen

SIZE = (120, 40)


@pytest.fixture
def facts(tmp_path: Path, own_home: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text('{"s": "Como", "p": "country", "o": "Italy"}\n')
    build_graph_index([file], "mine")


async def library(app: AtomrApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: app._opened is not None)
    await pilot.press("f5")
    await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and "mine" in screen_text(app))
    await pilot.press("end", "ctrl+end")
    await until(pilot, lambda: "facts.jsonl" in screen_text(app))


async def test_a_key_makes_an_index_private_and_takes_that_back_after_asking(facts: None) -> None:
    fake = FakeAssistant()
    async with opened(fake, size=SIZE) as (app, pilot):
        await library(app, pilot)
        assert "OK, private" not in screen_text(app)
        await pilot.press("P")
        await until(pilot, lambda: "OK, private" in screen_text(app))
        assert load_settings().privacy.indexes == "mine"
        assert fake.settings.privacy.indexes == "mine"
        await pilot.press("P")
        await until(pilot, lambda: "private no longer?" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))
        assert load_settings().privacy.indexes == "mine"
        await pilot.press("P")
        await until(pilot, lambda: "private no longer?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and "OK, private" not in screen_text(app))
        assert load_settings().privacy.indexes == fake.settings.privacy.indexes == ""


class Busy(FakeAssistant):
    """Refuses changes as long as a question runs."""

    refused = 0

    def reconfigure(self, **changes: object) -> None:
        if self.refused < 2 and "privacy" in changes:
            self.refused += 1
            raise InputError("a question is being answered")
        super().reconfigure(**changes)


async def test_a_mark_made_elsewhere_is_taken_into_use_once_the_question_has_ended(facts: None) -> None:
    fake = Busy()
    async with opened(fake, size=SIZE) as (app, pilot):
        mark_private(["mine"])
        app.follow_private()
        assert fake.settings.privacy.indexes == ""
        await until(pilot, lambda: fake.settings.privacy.indexes == "mine")
        assert fake.refused == 2


def test_no_facts_are_fetched_for_a_private_index(own_home: Path) -> None:
    index = TextIndex("notes", 10, "enwiki", private=True)
    with pytest.raises(InputError, match="notes is private, and the titles of its articles would go to") as caught:
        plan_download(FACTS, {"text_index": "notes", "site": "enwiki"}, None, [index])  # type: ignore[arg-type]
    assert "--share-private" in caught.value.hint
    assert text_indexes() == []
