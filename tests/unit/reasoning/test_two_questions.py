"""Two questions asked at once: told apart by grammar, answered both, and each named in the answer."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone, FakeSource, entity, rows

from atomr_local.assistant.assistant import Assistant
from atomr_local.reasoning.conversation import answering_both, answers_both, two_questions
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.settings.schema import load_settings
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.validation import validate


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("Who was Charles Darwin and when was he born?", "Who was Charles Darwin?", "When was Charles Darwin born?"),
        ("who was darwin and when was he born", "who was darwin?", "When was darwin born?"),
        ("Who was Charles Darwin? When was he born?", "Who was Charles Darwin?", "When was Charles Darwin born?"),
        ("who repaired the pump and what did it cost?", "who repaired the pump?", "What did the pump cost?"),
        ("Who wrote Emma, and when was it published?", "Who wrote Emma?", "When was Emma published?"),
        ("In which city was Bach born and where did he die?", "In which city was Bach born?", "Where did Bach die?"),
        ("Who wrote Emma and how many people live in Bath?", "Who wrote Emma?", "How many people live in Bath?"),
    ],
)
def test_two_complete_questions_are_told_apart(question: str, first: str, second: str) -> None:
    assert two_questions(question) == (first, second)


@pytest.mark.parametrize(
    "question",
    [
        "Who was the king of France and England?",
        "Who wrote Emma and when was she born?",
        "What is the capital of France and how many people live there?",
        "Who is the man who wrote Emma and who was born in Bath?",
        "What is the city where Bach was born and where Liszt died?",
        "Which is longer and which is wider, the Nile or the Amazon?",
        "Who directed and who wrote Jaws?",
        "When did Bach live and what about Liszt?",
        "What and when did Bach write?",
        "Where was Bach born, and when?",
        "when was he born and where did he die?",
        "Was Bach older than Liszt?",
        "Alice owes Bob 20 euros. Bob owes Carol 10 euros. Who owes most?",
        "Who was Bach and when did he die and where was he born?",
        "",
        "and who",
    ],
)
def test_one_question_or_one_about_the_answer_to_the_other_stays_whole(question: str) -> None:
    assert two_questions(question) is None


def asked(question: str, *replies: str, facts: dict[str, str]) -> Trace:
    found = {f"Ann Lee {relation}": rows("Ann Lee", entity(value)) for relation, value in facts.items()}
    graph = FakeSource("graph", {"Ann Lee": rows("Ann Lee", entity("Ann Lee"))} | found)
    backbone = FakeBackbone(*replies)
    with Assistant(load_settings(sources=("graph",)), backbone) as assistant:  # type: ignore[arg-type]
        assistant.parts.sources = {graph.name: graph}
        list(assistant.ask(question))
        assert assistant.last_trace is not None
        return assistant.last_trace


QUESTION = "Who is the mother of Ann Lee and where was Ann Lee born?"
MOTHER = (
    '0. Who is the mother of Ann Lee? = Answer(person)\n1. Who is the mother of Ann Lee? = Relate("Ann Lee", "mother")'
)
WHERE = '0. Where was Ann Lee born? = Answer(place)\n1. Where was Ann Lee born? = Relate("Ann Lee", "place of birth")'


def test_both_are_planned_and_answered_and_the_answer_names_both() -> None:
    trace = asked(QUESTION, MOTHER, WHERE, facts={"mother": "Eve Lee", "place of birth": "Bath"})
    assert (trace.status, trace.answers, trace.plan.origin) == ("answered", ["Eve Lee", "Bath"], "rule")
    assert trace.answer == "Who is the mother of Ann Lee? Eve Lee. Where was Ann Lee born? Bath."
    again = parse_compact(trace.plan.compact, QUESTION)
    assert to_compact(again, with_root=True) == trace.plan.compact
    assert answers_both(again)
    assert [problem for problem in validate(again) if problem.fatal] == []


def test_a_part_that_is_not_found_is_told_as_such() -> None:
    unread = ["Unknown"] * 8
    trace = asked(QUESTION, MOTHER, WHERE, *unread, facts={"mother": "Eve Lee"})
    assert (trace.status, trace.answers) == ("answered", ["Eve Lee"])
    assert trace.answer == "Who is the mother of Ann Lee? Eve Lee. Where was Ann Lee born? Not found."


def test_the_steps_of_both_plans_are_numbered_anew() -> None:
    first, second = parse_compact(MOTHER, "a?"), parse_compact(WHERE, "b?")
    tree = answering_both("a and b?", [("a?", first), ("b?", second)])
    assert sorted(node.id for node in tree.nodes()) == list(range(6))
    assert [node.question for node in tree.root.children] == ["a?", "b?", "What are the answers?"]
    assert not answers_both(first)
