"""The tool loop: what a round may hold, and what earlier rounds take of the prompt."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone, FakeSource, passage, toolbox

from atomr_local.reasoning.asking.forms import Form, Line, OneOf, WordsOf
from atomr_local.reasoning.asking.writer import FilledForm
from atomr_local.reasoning.trace.schema import NodeTrace
from atomr_local.strategies.shared.loop import INPUT, THOUGHT, Loop, Observation, Tool, named_in

QUESTION = "Where was Ann Lee born?"
FORM = Form("atomr_local.strategies", "react", (Line(THOUGHT),))
LONG = "Ann Lee was here. " + " ".join(f"Sentence {number} says nothing much at all." for number in range(40))


def look(_node_id: int, given: str) -> Observation:
    return Observation(f"{given} {LONG}", evidence=(passage("Bob Moss", "Bob Moss met Eve Ray. She left."),))


LOOK = Tool("look", lambda names: WordsOf(INPUT, names), look)
RATE = Tool("rate", lambda _names: OneOf(INPUT, ("good", "bad")), lambda _node_id, given: Observation(f"rated {given}"))
FINISH = Tool("finish", lambda _names: Line(INPUT))


def act(name: str, given: str) -> str:
    return f"Thought: so\nAction: {name}\nInput: {given}"


def loop_of(
    backbone: FakeBackbone, *tools: Tool, rounds: int = 9, **settings: object
) -> tuple[Loop, FilledForm | None]:
    loop, final, _ = traced(backbone, *tools, rounds=rounds, **settings)
    return loop, final


def traced(
    backbone: FakeBackbone, *tools: Tool, rounds: int = 9, **settings: object
) -> tuple[Loop, FilledForm | None, list[NodeTrace]]:
    box = toolbox(QUESTION, backbone, FakeSource("text"), **settings)
    box.steps.begin(QUESTION)
    loop = Loop(QUESTION, box, tools, FORM, rounds)
    return loop, loop.run(), box.recorder.trace.nodes


def test_the_grammar_holds_exactly_the_tools_at_hand() -> None:
    backbone = FakeBackbone(act("rate", "good"), act("finish", "x"))
    loop_of(backbone, RATE, FINISH)
    grammar = backbone.grammars[0] or ""
    assert '"rate"' in grammar and '"finish"' in grammar and '"good"' in grammar and '"look"' not in grammar


def test_a_tool_that_cannot_be_used_yet_is_not_in_the_grammar() -> None:
    rated = list[str]()

    def rate(_node_id: int, given: str) -> Observation:
        rated.append(given)
        return Observation(f"rated {given}")

    rate_once = Tool("rate", RATE.field, rate)
    undo = Tool("undo", lambda _names: OneOf(INPUT, tuple(rated)) if rated else None, RATE.use)
    backbone = FakeBackbone(act("rate", "good"), act("undo", "good"), act("finish", "x"))
    loop_of(backbone, rate_once, undo, FINISH)
    assert ['"undo"' in (grammar or "") for grammar in backbone.grammars] == [False, True, True]


def test_names_come_from_the_question_and_from_what_was_seen() -> None:
    backbone = FakeBackbone(act("look", "Ann Lee"), act("look", "Eve Ray"), act("finish", "x"))
    loop_of(backbone, LOOK, FINISH)
    first, second = backbone.grammars[0] or "", backbone.grammars[1] or ""
    assert '"Ann ' in first and '"Eve' not in first
    assert '"Eve ' in second and '"Bob ' in second


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where was Ann Lee born?", ("Ann Lee", "Ann Lee born?")),
        ("What is the boiling point of radium?", ("boiling point", "radium?")),
        ("Who studied at the University of Oxford?", ("University of Oxford?", "studied", "University", "Oxford?")),
        ("Who is it?", ("Who is it?",)),
    ],
)
def test_what_a_question_names(question: str, names: tuple[str, ...]) -> None:
    assert set(named_in(question)) == set(names)


def test_the_oldest_observations_are_shortened_first_and_the_trace_says_so() -> None:
    inputs = ("Ann Lee", "Eve Ray", "Bob Moss", "Ann", "Eve")
    backbone = FakeBackbone(*(act("look", given) for given in inputs), act("finish", "x"))
    _, _, nodes = traced(backbone, LOOK, FINISH, limits={"evidence_tokens": 300, "passage_words": 50})
    told = [turn.content for turn in backbone.prompts[-1].continued if turn.role == "user"]
    sizes = [len(text.split()) for text in told]
    assert sizes[0] < sizes[-1] and sum(sizes) <= 300 + len(sizes)
    assert "Ann Lee was here." in told[-1], "the sentence that the thought or the question is about stays"
    [*_, last, _] = [node.dropped for node in nodes[1:]]
    assert last[0] == "observation 1 shortened: no room"


def test_where_even_short_ones_have_no_room_the_oldest_are_left_out() -> None:
    inputs = ("Ann Lee", "Eve Ray", "Bob Moss", "Ann", "Eve")
    backbone = FakeBackbone(*(act("look", given) for given in inputs), act("finish", "x"))
    _, _, nodes = traced(backbone, LOOK, FINISH, limits={"evidence_tokens": 120, "passage_words": 50})
    told = [turn.content for turn in backbone.prompts[-1].continued if turn.role == "user"]
    assert told[0] == "Observation: (left out)" and told[-1] != told[0]
    assert "observation 1 left out: no room" in nodes[-1].dropped


def test_rounds_are_limited() -> None:
    loop, final = loop_of(FakeBackbone(act("rate", "good"), act("rate", "bad")), RATE, FINISH, rounds=2)
    assert final is None and loop.notes == ["no answer in 2 rounds"]
