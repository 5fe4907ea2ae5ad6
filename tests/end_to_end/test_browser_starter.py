"""The page of `atomr serve` on the starter, as a person uses it: ask, look at the evidence, correct a step, go on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import RunningServer, chromium, opened, violations

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("mcp", reason="the extra serve is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")

from atomr_local import Assistant  # noqa: E402
from atomr_local.server.app import Server  # noqa: E402
from atomr_local.server.options import ServeOptions  # noqa: E402

expect: Any = sync_api.expect


@pytest.fixture
def address(built_home: Path) -> Iterator[str]:
    with Assistant.open() as assistant:
        assistant.preload()
        server = RunningServer(Server(assistant, ServeOptions(grace_seconds=0.1)))
        yield server.address
        server.stop()


def test_a_question_is_asked_checked_and_corrected(address: str) -> None:
    expect.set_options(timeout=120_000)
    with chromium() as browser, opened(browser, address) as (page, _):
        ended = page.get_by_role("button", name="Ask", exact=True)
        answer = page.locator("#answer-body")
        box = page.get_by_label("Question", exact=True)
        box.fill("Who was the paternal grandfather of Charles Darwin?")
        box.press("Enter")
        expect(answer).to_contain_text("The answer is Erasmus Darwin.")
        expect(ended).to_be_visible()
        father = page.get_by_role("treeitem", name=re.compile("Relate Who was the father of Charles Darwin"))
        expect(father).to_contain_text("Robert Darwin")
        father.locator("> .row").click()
        expect(page.locator("#evidence .piece.cited mark")).to_have_text("Charles Darwin — father: Robert Darwin.")
        assert not violations(page)
        page.get_by_role("button", name="Edit step").click()
        page.get_by_label("Your answer").fill("Mary Shelley")
        page.get_by_role("dialog").get_by_role("button", name="Run again").click()
        expect(answer).to_contain_text(re.compile(r"The answer is William Godwin\..*your answer to step \d", re.DOTALL))
        expect(ended).to_be_visible()
        page.get_by_role("button", name=re.compile("^Evidence e")).first.click()
        expect(page.locator("#evidence")).to_contain_text("Mary Shelley — father: William Godwin.")
        page.get_by_role("button", name="New conversation").click()
        box.fill("Who wrote Frankenstein?")
        box.press("Enter")
        expect(answer).to_contain_text("Mary Shelley")
        expect(ended).to_be_visible()
        box.fill("Who was her mother?")
        box.press("Enter")
        expect(answer).to_contain_text("Mary Wollstonecraft")
        expect(page.locator("#understood")).to_contain_text("Mary Shelley")
        expect(page.locator("#turns li")).to_have_count(2)
