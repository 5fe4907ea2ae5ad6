"""A backbone that is passed from Python: the documentation's worked example."""

from __future__ import annotations

import re
from typing import Any

from support.fake_parts import FakeBackbone, reply
from support.places import ROOT

from atomr_local.assistant import Assistant
from atomr_local.settings.schema import load_settings

GUIDE = ROOT / "docs" / "how-to" / "plug-in.md"


def test_the_worked_example_is_asked() -> None:
    found = re.search(r"<!-- example: backbone -->\n```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found[1], names)
    backbone = names["Recorded"](FakeBackbone(reply("Rosa")))
    with Assistant(load_settings(strategy="closed-book", features={"decline": False}), backbone=backbone) as assistant:
        list(assistant.ask("Who painted The Harbour?"))
        assert assistant.last_trace is not None
        assert assistant.last_trace.answers == ["Rosa"]
    assert "Who painted The Harbour?" in backbone.requests[0].prompt.messages[-1].content
