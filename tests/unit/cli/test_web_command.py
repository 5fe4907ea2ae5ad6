from __future__ import annotations

import json
from typing import Any

import pytest
from ddgs.exceptions import TimeoutException
from support.command_line import Atomr

from atomr_local.sources.web import WebSource

ROWS = [
    {"title": "Eclipse \x1b[2J", "href": "https://example.org/1", "body": "The next\x07 one."},
    {"title": "Bad", "href": "javascript:alert(1)", "body": "x"},
]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was asked of the search engine, which answers ROWS."""
    asked: list[tuple[str, int]] = []

    def search(self: WebSource, query: str, count: int) -> list[dict[str, Any]]:
        asked.append((query, count))
        return ROWS

    monkeypatch.setattr(WebSource, "_duckduckgo", search)
    return asked


def test_off_unless_turned_on(searches: list, atomr: Atomr, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in ((), ("--no-web",), ("--json",)):
        out, err = atomr("web", "search", "eclipse", *arguments, status=1)
        assert out == ""
        assert err.splitlines() == [
            "Web access is off: web search was asked for while it is off",
            "  → Turn it on with --web.",
        ]
    monkeypatch.setenv("ATOMR_WEB__ENABLED", "true")
    atomr("web", "search", "eclipse", "--no-web", status=1)
    assert searches == []
    atomr("web", "search", "eclipse")
    assert searches == [("eclipse", 5)]


def test_results_as_text_and_as_json(searches: list, atomr: Atomr) -> None:
    assert atomr("web", "search", "lunar eclipse", "--web", "-k", "2") == (
        "Eclipse\n  The next one.\n  https://example.org/1\n",
        "",
    )
    out, err = atomr("web", "search", "lunar eclipse", "--web", "--json")
    (found,) = json.loads(out)
    assert set(found) == {"title", "text", "locator"}
    assert found["locator"]["url"] == "https://example.org/1"
    assert found["locator"]["retrieved_at"]
    assert err == ""
    assert searches == [("lunar eclipse", 2), ("lunar eclipse", 5)]


def test_nothing_found(monkeypatch: pytest.MonkeyPatch, atomr: Atomr) -> None:
    monkeypatch.setattr(WebSource, "_duckduckgo", lambda *_: [])
    assert atomr("web", "search", "eclipse", "--web") == ("", "Nothing was found.\n")


def test_a_failure_in_plain_words(monkeypatch: pytest.MonkeyPatch, atomr: Atomr) -> None:
    def silent(*_: object) -> list:
        raise TimeoutException("timed out")

    monkeypatch.setattr(WebSource, "_duckduckgo", silent)
    monkeypatch.setenv("ATOMR_WEB__TIMEOUT", "2.5")
    title, hint = atomr("web", "search", "eclipse", "--web", status=1).err.splitlines()
    assert title == "Source failed: the search engine did not answer within 2.5 seconds"
    assert hint.startswith("  → ")
