from __future__ import annotations

import json
from typing import Any

import pytest
from ddgs.exceptions import TimeoutException

from atomr_local.cli.main import main
from atomr_local.sources.web import WebSource

Capture = pytest.CaptureFixture[str]
ROWS = [
    {"title": "Eclipse \x1b[2J", "href": "https://example.org/1", "body": "The next\x07 one."},
    {"title": "Bad", "href": "javascript:alert(1)", "body": "x"},
]


def atomr(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was asked of the search engine, which answers ROWS."""
    asked: list[tuple[str, int]] = []

    def search(self: WebSource, query: str, count: int) -> list[dict[str, Any]]:
        asked.append((query, count))
        return ROWS

    monkeypatch.setattr(WebSource, "_duckduckgo", search)
    return asked


def test_off_unless_turned_on(searches: list, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in ((), ("--no-web",), ("--json",)):
        assert atomr("web", "search", "eclipse", *arguments) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.splitlines() == [
            "Web access is off: web search was asked for while it is off",
            "  → Turn it on with --web.",
        ]
    monkeypatch.setenv("ATOMR_WEB__ENABLED", "true")
    assert atomr("web", "search", "eclipse", "--no-web") == 1
    assert searches == []
    assert atomr("web", "search", "eclipse") == 0
    assert searches == [("eclipse", 5)]


def test_results_as_text_and_as_json(searches: list, capsys: Capture) -> None:
    assert atomr("web", "search", "lunar eclipse", "--web", "-k", "2") == 0
    assert capsys.readouterr() == ("Eclipse\n  The next one.\n  https://example.org/1\n", "")
    assert atomr("web", "search", "lunar eclipse", "--web", "--json") == 0
    out, err = capsys.readouterr()
    (found,) = json.loads(out)
    assert set(found) == {"title", "text", "locator"}
    assert found["locator"]["url"] == "https://example.org/1"
    assert found["locator"]["retrieved_at"]
    assert err == ""
    assert searches == [("lunar eclipse", 2), ("lunar eclipse", 5)]


def test_nothing_found(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(WebSource, "_duckduckgo", lambda *_: [])
    assert atomr("web", "search", "eclipse", "--web") == 0
    assert capsys.readouterr() == ("", "Nothing was found.\n")


def test_a_failure_in_plain_words(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def silent(*_: object) -> list:
        raise TimeoutException("timed out")

    monkeypatch.setattr(WebSource, "_duckduckgo", silent)
    monkeypatch.setenv("ATOMR_WEB__TIMEOUT", "2.5")
    assert atomr("web", "search", "eclipse", "--web") == 1
    title, hint = capsys.readouterr().err.splitlines()
    assert title == "Source failed: the search engine did not answer within 2.5 seconds"
    assert hint.startswith("  → ")


@pytest.mark.parametrize(
    "arguments", [("search",), ("search", "a", "-k", "0"), ("search", "a", "-k", "21"), ("fetch", "a")]
)
def test_wrong_usage(searches: list, arguments: tuple[str, ...], capsys: Capture) -> None:
    assert atomr("web", *arguments) == 2
    assert capsys.readouterr().out == ""
    assert searches == []


def test_help_has_an_example(capsys: Capture) -> None:
    for arguments in ((), ("search",)):
        assert atomr("web", *arguments, "--help") == 0
        assert "Example: atomr web search" in capsys.readouterr().out
