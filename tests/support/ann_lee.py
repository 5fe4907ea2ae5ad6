"""A question with its plan, a model and sources that answer it, and commands that run on such fakes."""

from __future__ import annotations

from typing import Any

import pytest

from atomr_local.assistant.assistant import Assistant
from atomr_local.settings.schema import load_settings
from support.fake_parts import FakeBackbone, FakeSource, entity, passages, reply, rows

QUESTION = "Who is the father of Ann Lee?"
PLAN = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'


def model() -> FakeBackbone:
    """Plans and reads; its answer holds an escape sequence."""
    return FakeBackbone(PLAN, reply("Bob \x1b[31mLee", evidence=[1]))


def knowing() -> list[FakeSource]:
    """A graph that knows Ann Lee, and passages that hold escape sequences."""
    father = passages(("Bob\x1b]0;x\x07 Lee", "Bob Lee \x1b[2Jis the father of Ann."))
    graph = FakeSource("graph", {"Ann Lee": rows("Ann Lee", entity("Ann Lee"))})
    return [FakeSource("text", {"Ann Lee father": father}), graph]


def assistant_of(backbone: FakeBackbone, *sources: FakeSource, **settings: Any) -> Assistant:
    """An assistant with this model and, where they are given, these sources."""
    made = Assistant(load_settings(**settings), backbone)  # type: ignore[arg-type]
    if sources:
        made.parts.sources = {source.name: source for source in sources}  # type: ignore[misc]
    return made


def answer_with(monkeypatch: pytest.MonkeyPatch, backbone: FakeBackbone, *sources: FakeSource) -> FakeBackbone:
    """Let commands open such an assistant."""

    def opened(_class: type[Assistant], _settings: Any = None, **overrides: Any) -> Assistant:
        return assistant_of(backbone, *sources, **overrides)

    monkeypatch.setattr(Assistant, "open", classmethod(opened))
    return backbone
