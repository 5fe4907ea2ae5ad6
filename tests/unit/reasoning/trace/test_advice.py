"""Advice as each client words it."""

from __future__ import annotations

from typing import get_args

import pytest

from atomr_local.reasoning.trace.telling import Advice, AdviceKind, Client, advice_templates, advice_texts

ALL = [
    Advice("spelling", ("{key} Emma",)),
    Advice("web"),
    Advice("sources", ("graph",), ("--sources text,graph",)),
    Advice("indexes", ("wiki",), ("--text-index wiki",)),
    Advice("planning"),
    Advice("knowledge"),
]


def told(client: Client, **given: str) -> str:
    return "\n".join(advice_texts([item.to_dict() for item in ALL], client=client, **given))


def test_the_command_line_is_told_its_options() -> None:
    text = told("command")
    assert "--web." in text and "--sources text,graph" in text and "--text-index wiki" in text
    assert "F2" not in text
    assert "“{key} Emma”" in text, "a name is text"


@pytest.mark.parametrize("client", ["terminal", "remote"])
def test_no_other_client_is_told_options_or_commands(client: Client) -> None:
    assert "--" not in told(client) and "`" not in told(client)


def test_keys_are_named_where_there_are_keys_only() -> None:
    assert "Turn web search on: F9." in told("terminal", web_key="F9")
    assert "F2" not in told("remote") and "F2" not in told("plain")
    assert "/web on" in told("plain") and "wiki" not in told("remote")


def test_older_and_newer_traces_are_told_too() -> None:
    assert advice_texts([], ["Ask again."], "remote") == ["Ask again."]
    newer = [{"kind": "dream", "names": [], "options": []}]
    assert advice_texts(newer, ["Ask again."], "terminal") == ["Ask again."]
    assert set(advice_templates("command")) == set(get_args(AdviceKind))
