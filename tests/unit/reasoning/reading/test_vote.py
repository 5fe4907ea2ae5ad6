"""An unsure reading is put to the vote: what wins, what it costs, and where there is no vote."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Run, Said, cancelling, passages, reply

from atomr_local.errors import Cancelled
from atomr_local.indexing.embedding.span_reader import SpanVerdict
from atomr_local.system.cancellation import Cancellation

QUESTION = "Who is the father of Ann Lee?"
PLAN = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")'
FEATURES = {"rival": False, "beam": False, "guess": False, "page_alone": False, "vote": True}
BOB, EVE = reply("Bob", evidence=[1]), reply("Eve", evidence=[2])


def read(*replies: Any, plan: str = PLAN, **given: Any) -> tuple[Run, FakeBackbone]:
    text = FakeSource("text", {
        "Ann Lee father": passages(("Ann Lee", "Bob had Ann."), ("Eve", "Eve had Ann.")),
        QUESTION: passages(("Ann Lee", "Bob had Ann."), ("Eve", "Eve had Ann.")),
    })  # fmt: skip
    backbone = FakeBackbone(*replies)
    given["features"] = FEATURES | given.get("features", {})
    return Run(QUESTION, plan, backbone, text, **{"llm": {"parallel": 1}} | given), backbone


def test_the_most_frequent_answer_stands_with_its_own_signals_and_citation() -> None:
    run, backbone = read(Said(BOB, 0.7), Said(EVE, 0.6), EVE, UNKNOWN, BOB, features={"vote": True})
    assert run.result.texts == ("Bob",), "two votes each: the first reading stands"
    run, backbone = read(Said(BOB, 0.7), Said(EVE, 0.6), EVE, UNKNOWN, reply("eve.", evidence=[2]))
    assert run.result.texts == ("Eve",), "compared as the scorer compares"
    node = run.node(1)
    assert node.cited == ["e2"] and node.signals["reading"] == pytest.approx(0.6)
    assert node.dropped == ["5 readings: Eve 3; Bob 1"] and node.llm.calls == 5
    assert [request.temperature for request in backbone.requests] == [0.0, 0.7, 0.7, 0.7, 0.7]
    assert len({request.seed for request in backbone.requests}) == 5


def test_unknown_never_wins_and_a_sure_reading_or_none_is_not_put_to_the_vote() -> None:
    run, _ = read(Said(BOB, 0.7), *[UNKNOWN] * 4)
    assert run.result.texts == ("Bob",) and run.node(1).dropped == ["5 readings: Bob 1"]
    run, _ = read(Said(BOB, 0.8))
    assert run.result.texts == ("Bob",) and run.node(1).llm.calls == 1
    run, _ = read(Said(UNKNOWN, 0.3), Said(UNKNOWN, 0.3), UNKNOWN, UNKNOWN)
    assert not run.result.values and run.node(1).llm.calls == 2


def test_off_there_is_no_vote() -> None:
    run, _ = read(Said(BOB, 0.3), features={"vote": False})
    assert run.result.texts == ("Bob",) and run.node(1).llm.calls == 1


def test_a_direct_answer_is_put_to_the_vote_too() -> None:
    run, _ = read(UNKNOWN, Said(BOB, 0.7), EVE, EVE, EVE, BOB)
    assert run.result.texts == ("Eve",) and run.node(1).method == "direct_rag"


def test_the_winner_is_verified_and_judged_like_any_reading() -> None:
    judged: list[Any] = []

    class Judge:
        def judge(self, question: str, passages: Any, answers: Any) -> SpanVerdict:
            judged.append((question, tuple(passages), tuple(answers)))
            return SpanVerdict(0.9, (0.8,), answers[0])

    run, backbone = read(Said(BOB, 0.7), EVE, EVE, EVE, BOB, "yes", verifies=True, span_reader=Judge())
    assert run.result.texts == ("Eve",)
    assert judged[-1] == (QUESTION, ("Ann Lee: Bob had Ann.", "Eve: Eve had Ann."), ("Eve",))
    assert run.node(1).signals.keys() >= {"verify", "answerable", "span"}
    assert EVE in "".join(message.content for message in backbone.prompts[-1].messages)


def test_with_too_few_calls_left_there_is_no_vote() -> None:
    run, _ = read(Said(BOB, 0.7), limits={"calls": 4})
    assert run.result.texts == ("Bob",)
    assert run.node(1).dropped == ["no vote: the question's model calls are used"]


def test_cancelling_ends_the_vote() -> None:
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        read(Said(BOB, 0.7), EVE, cancelling(cancellation), cancellation=cancellation)
