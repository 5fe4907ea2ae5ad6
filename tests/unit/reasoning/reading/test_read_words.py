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


@pytest.mark.parametrize(
    ("question", "said", "answers"),
    [
        ("Where was Ann Lee born?", ["October"], ()), ("Where was Ann Lee born?", ["October 1813"], ()),
        ("Where was Ann Lee born?", ["October", "Leipzig"], ("Leipzig",)),
        ("In which city was Ann Lee born?", ["Leipzig"], ("Leipzig",)),
        ("Who lived in Leipzig?", ["October"], ()),
        ("When was Ann Lee born?", ["October 1813"], ("October 1813",)),
        ("What is the birthplace of Ann Lee?", ["May"], ("May",)),
    ],
)  # fmt: skip
def test_a_date_answers_no_question_for_a_place(question: str, said: list[str], answers: tuple[str, ...]) -> None:
    """A server without grammars may write what a grammar would not allow."""
    found = {question: passages(("Ann Lee", "Ann Lee was born in October 1813 in Leipzig, near the village of May."))}
    tools = toolbox(question, FakeBackbone(reply(*said, evidence=[1])), FakeSource("text", found))
    result = Rag().run(question, None, "model", tools)
    assert result.texts == answers
    dropped = "\n".join(note for node in tools.recorder.trace.nodes for note in node.dropped)
    assert ("is part of a date" in dropped) is (len(answers) < len(said))
