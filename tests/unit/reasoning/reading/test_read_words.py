"""What the model writes becomes an answer without the rest of a word that it broke off."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone, FakeSource, passages, reply, toolbox

from atomr_local.strategies.single import Rag


@pytest.mark.parametrize(
    ("written", "answer"),
    [("Russian-", "Russian"), ("1914\u2013", "1914"), ("Jean-Luc", "Jean-Luc"), ("\u22125", "\u22125")],
)
def test_an_answer_does_not_end_in_a_hyphen(written: str, answer: str) -> None:
    found = {"What?": passages(("Ann Lee", "Ann Lee is a Russian-born singer of 1914\u20131918, Jean-Luc, \u22125."))}
    tools = toolbox("What?", FakeBackbone(reply(written, evidence=[1])), FakeSource("text", found))
    result = Rag().run("What?", None, "model", tools)
    assert result.answer == answer
