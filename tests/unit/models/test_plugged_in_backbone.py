"""A backbone that is passed from Python: the documentation's worked example."""

from __future__ import annotations

from typing import Any

from support.fake_parts import FakeBackbone, reply
from support.plugins import example

from atomr_local.assistant.assistant import Assistant
from atomr_local.settings.schema import load_settings


def test_the_worked_example_is_asked() -> None:
    names: dict[str, Any] = {}
    exec(example("backbone"), names)
    backbone = names["Recorded"](FakeBackbone(reply("Rosa")))
    with Assistant(load_settings(strategy="closed-book", features={"decline": False}), backbone=backbone) as assistant:
        list(assistant.ask("Who painted The Harbour?"))
        assert assistant.last_trace is not None
        assert assistant.last_trace.answers == ["Rosa"]
    assert "Who painted The Harbour?" in backbone.requests[0].prompt.messages[-1].content
