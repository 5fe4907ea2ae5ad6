"""What a completion tells of itself, and what becomes of it on the way to the whole answer."""

from __future__ import annotations

import json
import math

import pytest
from support.fake_parts import (
    FakeBackbone,
    FakeSource,
    Run,
    Said,
    Told,
    entity,
    passage,
    passages,
    reply,
    rows,
    toolbox,
)

from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.models.protocol import Generation, Token
from atomr_local.reasoning.confidence import null_score, said_yes, token_shares, worst
from atomr_local.reasoning.reading.checks import agreement
from atomr_local.reasoning.trace.events import ModelCalled
from atomr_local.strategies.single import Rag


def completion(*tokens: tuple[str, float], watched: tuple[float, ...] = ()) -> Generation:
    made = tuple(Token(text, math.log(probability)) for text, probability in tokens)
    logs = tuple(math.log(p) if p == p else p for p in watched)
    return Generation("".join(text for text, _ in tokens), made, "stop", 1, 1, 0.0, logs)


def test_the_null_score_weighs_unknown_against_what_was_written() -> None:
    assert null_score(completion(("Rome", 0.6), watched=(0.2,)), "") == pytest.approx(0.25)
    assert null_score(completion(("Unknown", 0.7), watched=(0.7,)), "") == pytest.approx(0.7)
    json = completion(('{"answer": "', 1.0), ("Rome", 0.1), watched=(0.3,))
    assert null_score(json, '{"answer": "') == pytest.approx(0.75)


@pytest.mark.parametrize(
    "made",
    [
        completion(("Rome", 0.6)),
        completion(("Rome", 0.6), watched=(math.nan,)),
        completion(watched=(0.2,)),
        completion(("Un", 0.4), ("iversity", 0.9), watched=(0.4,)),  # begins with the same token
    ],
)
def test_where_nothing_is_known_there_is_no_null_score(made: Generation) -> None:
    assert null_score(made, "") is None


def test_yes_is_weighed_against_no_in_small_letters_or_capitals() -> None:
    assert said_yes(completion(("yes", 0.6), watched=(0.6, 0.2, 0.01, 0.01))) == pytest.approx(0.75)
    assert said_yes(completion(("no", 0.1), watched=(0.1, 0.1, 0.0001, 0.3))) == pytest.approx(0.25)
    assert said_yes(completion(("no", 0.9), watched=(math.nan,) * 4)) == pytest.approx(0.1)
    assert said_yes(completion(("yes", 0.9))) == pytest.approx(0.9)
    assert said_yes(Generation("yes", (Token("yes", math.nan),), "stop", 1, 1, 0.0)) is None


def test_each_text_of_a_list_is_as_sure_as_its_own_tokens() -> None:
    made = completion(("Ann", 0.9), (" Lee", 0.9), ("; ", 0.1), ("Bob", 0.4), (" [1]", 0.1))
    assert token_shares(made, ["Ann Lee", "Bob", "Cy"], "") == [pytest.approx(0.9), pytest.approx(0.4), None]


def test_the_worst_of_several_is_the_largest_of_what_speaks_against() -> None:
    told = worst([{"reading": 0.9, "null": 0.1}, {"reading": 0.5, "null": 0.4, "verify": 0.7}])
    assert told == {"reading": 0.5, "null": 0.4, "verify": 0.7}


def test_places_agree_where_two_hold_the_answer() -> None:
    both = [passage("Ann", "Ann was born in Rome."), passage("Rome", "Rome, where Ann was born.")]
    assert agreement(["Rome"], both) == 1.0
    assert agreement(["Rome", "Ann Lee"], [*both, passage("Lee", "Ann Lee.")]) == 0.5
    assert agreement(["Rome"], both[:1]) is None
    assert agreement(["yes"], both) is None


QUESTION = "Where was the father of Ann Lee born?"
PLAN = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")\n2. Where was [1] born? = Relate([1], "place of birth")\n'
TEXT = {
    "Ann Lee father": passages(("Ann Lee", "Ann Lee, daughter of Bob Lee.")),
    "Bob Lee place of birth": passages(("Bob Lee", "Bob Lee was born in Rome.")),
}


def test_readings_are_verified_in_the_next_turn_and_the_root_has_the_worst_of_its_steps() -> None:
    backbone = FakeBackbone(
        Told("Bob Lee [1]", 0.9, 0.1),
        Told("yes", 0.8, 0.8, 0.2, 1e-9, 1e-9),
        Told("Rome [1]", 0.6, 0.3),
        Told("yes", 0.6, 0.6, 0.4, 1e-9, 1e-9),
    )
    run = Run(QUESTION, PLAN, backbone, FakeSource("text", TEXT), verifies=True, style="lean")
    first, check = backbone.prompts[:2]
    assert check.messages == (*first.messages, *check.continued)
    assert [(turn.role, turn.content) for turn in check.continued] == [("assistant", "Bob Lee [1]"), ("user", "Check.")]
    assert backbone.grammars[1] == 'root ::= "yes" | "no"'
    assert [event.purpose for event in run.of_type(ModelCalled)] == ["read", "verify", "read", "verify"]
    one, two, root = (dict(run.node(number).signals) for number in (1, 2, 0))
    assert [signals.pop("mentioned") for signals in (one, two, root)] == [1.0, 1.0, 1.0]
    assert one == pytest.approx({"reading": 0.9, "null": 0.1, "verify": 0.8, "support": 1.0, "subject": 1.0})
    assert two["verify"] == pytest.approx(0.6)
    told = {"reading": 0.6, "null": 1 / 3, "verify": 0.6, "verified": 0.48, "leaves": 0.54, "support": 1.0, "steps": 2}
    assert {name: root[name] for name in told} == pytest.approx(told)


def test_a_list_is_verified_answer_by_answer_and_each_has_its_own_confidence() -> None:
    backbone = FakeBackbone(
        Said("Ann Lee; Bob Lee [1]", 0.7), Told("yes", 0.9, 0.9, 0.1, 1e-9, 1e-9), Told("no", 0.7, 0.3, 0.7, 1e-9, 1e-9)
    )
    text = FakeSource("text", {"Who were they?": passages(("They", "They were Ann Lee and Bob Lee."))})
    tools = toolbox("Who were they?", backbone, text, verifies=True, style="lean")
    result = Rag().run("Who were they?", None, "model", tools)
    assert backbone.prompts[2].continued[0].content == "Bob Lee [1]"
    assert result.texts == ("Ann Lee", "Bob Lee")
    assert tools.recorder.trace.node(0).scores == pytest.approx([0.9, 0.3])
    shared = parse_trace(json.loads(json.dumps(tools.recorder.trace.to_dict())))
    assert shared.node(0).scores == pytest.approx([0.9, 0.3])
    assert result.signals["verify"] == pytest.approx(0.3)
    assert result.signals["answers"] == 2


def test_answers_that_are_not_verified_are_as_sure_as_they_were_read() -> None:
    text = FakeSource("text", {"Who were they?": passages(("They", "They were Ann and Bob."))})
    tools = toolbox("Who were they?", FakeBackbone(Said("Ann; Bob [1]", 0.7)), text, style="lean")
    Rag().run("Who were they?", None, "model", tools)
    assert tools.recorder.trace.node(0).scores == pytest.approx([0.7, 0.7])


def test_a_reading_of_the_page_alone_that_is_not_verified_is_not_sure() -> None:
    hits = passages(("Ann Lee", "Ann Lee, friend of Carl Lee."), ("Bob Lee", "Bob Lee, father of Ann Lee."))
    backbone = FakeBackbone(
        Told("Carl Lee [1]", 0.95, 0.01),
        Told("no", 0.9, 0.1, 0.9, 1e-9, 1e-9),
        Told("Bob Lee [2]", 0.8, 0.1),
        Told("yes", 0.9, 0.9, 0.1, 1e-9, 1e-9),
    )
    run = Run(
        "Who is the father of Ann Lee?",
        PLAN.splitlines()[0],
        backbone,
        FakeSource("text", {"Ann Lee father": hits}),
        verifies=True,
        style="lean",
        features={"rival": False, "beam": False, "guess": False},
    )
    assert run.result.texts == ("Bob Lee",)
    assert run.node(1).signals["verify"] == pytest.approx(0.9)


def test_what_the_graph_passes_through_is_not_verified_and_says_how_well_it_matched() -> None:
    found = {"Ann Lee father": rows("Ann Lee", entity("Bob Lee"), link=0.9, relation=0.8)}
    plan = PLAN.splitlines()[0]
    run = Run("Who is it?", plan, FakeBackbone(), FakeSource("graph", found), verifies=True)
    signals = run.node(1).signals
    assert (signals["link"], signals["relation"]) == (0.9, 0.8)
    assert "reading" not in signals and "verify" not in signals


def test_verification_can_be_switched_off() -> None:
    text = FakeSource("text", TEXT)
    features = {"verify": False, "rival": False, "beam": False, "guess": False}
    backbone = FakeBackbone(reply("Bob Lee", evidence=[1]), reply("Rome", evidence=[1]))
    run = Run(QUESTION, PLAN, backbone, text, verifies=True, features=features)
    assert "verify" not in run.node(0).signals
