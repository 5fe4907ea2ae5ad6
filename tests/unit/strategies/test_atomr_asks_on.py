"""AtomR beside questions that are asked one after another: which of the two answers stands, and what the trace tells."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource, Run, Said, entity, passages, rows

from atomr_local.errors import Cancelled, ModelError
from atomr_local.models.protocol import Prompt
from atomr_local.reasoning.confidence import Calibration, LogisticModel, LogisticTerm
from atomr_local.reasoning.trace.events import NodeAdded
from atomr_local.reasoning.verdict.judge import judge

QUESTION = "Where was the father of Ann Lee born?"
PLAN = '1. Where is Ann Lee from? = Relate("Ann Lee", "home")\n2. Where was [1] born? = Relate([1], "place of birth")\n'
PARENTS = "Who are the parents of Ann Lee?"
FATHER, BORN = "Who is the father of Ann Lee?", "Where was Bob Lee born?"
ANN = passages(("Ann Lee", "Ann Lee of Oslo is the daughter of Bob Lee."))
OSLO = passages(("Oslo", "Oslo was founded in Norway."))
BOB = passages(("Bob Lee", "Bob Lee was born in Rome."))
TEXT = {"Ann Lee home": ANN, "Oslo place of birth": OSLO, FATHER: ANN, BORN: BOB}
# By the confidence of the readings alone: of all steps together, and of one step.
TREE = LogisticModel(2.0, (LogisticTerm("leaves", 1.0),))
STEP = LogisticModel(0.0, (LogisticTerm("reading", 1.0),))
CALIBRATION = Calibration(TREE, TREE, STEP)
UNSURE = (Said("Oslo [1]", 0.4), Said("Norway [1]", 0.4))
SURE = (Said("Oslo [1]", 0.99), Said("Norway [1]", 0.99))
FEATURES = {"beam": False, "rival": False, "guess": False}
SETTINGS: dict[str, Any] = {"style": "lean", "knows_next": True, "calibration": CALIBRATION, "features": FEATURES}


def run(*replies: Any, **given: Any) -> Run:
    source = given.pop("source", FakeSource("text", TEXT))
    more = SETTINGS | given
    more["features"] = FEATURES | given.get("features", {})
    return Run(QUESTION, more.pop("plan", PLAN), FakeBackbone(*replies), source, **more)


def test_the_surer_answer_stands_and_the_trace_holds_both() -> None:
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said("Rome [1]", 0.95), "Done")
    assert made.result.texts == ("Rome",)
    assert made.result.confidence == pytest.approx(0.95 ** (2 * 3), abs=0.01)
    root = made.node(0)
    assert (root.computation or "").startswith("found: Norway (") and "asked on: Rome (0.74)" in (
        root.computation or ""
    )
    added = made.of_type(NodeAdded)
    assert [(event.parent, event.question, event.label) for event in added] == [
        (0, FATHER, "follow-up"),
        (0, BORN, "follow-up"),
    ]
    assert [made.node(event.node_id).answers for event in added] == [["Bob Lee"], ["Rome"]]
    assert made.node(added[-1].node_id).cited[0] in root.cited and root.supported


def test_a_less_sure_answer_gives_way_and_is_named() -> None:
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.3), BORN, Said("Rome [1]", 0.3), "Done")
    assert made.result.texts == ("Norway",)
    assert any("asked on: Rome" in note for note in made.node(0).dropped)


def test_an_answer_that_is_neither_yes_nor_no_does_not_stand_where_one_is_asked_for() -> None:
    plan = f"0. {QUESTION} = Answer(yes/no)\n{PLAN}"
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said("Rome [1]", 0.95), "Done", plan=plan)
    assert made.result.texts == ("Norway",)
    assert "neither yes nor no: Rome" in made.node(0).dropped


def test_two_that_agree_are_as_sure_as_the_surer_one() -> None:
    source = FakeSource("text", TEXT | {BORN: passages(("Bob Lee", "Bob Lee was born in Norway."))})
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said("Norway [1]", 0.95), "Done", source=source)
    assert made.result.texts == ("Norway",) and made.node(0).computation is None
    assert made.node(0).method == "aggregate"
    assert made.result.confidence == pytest.approx(0.95 ** (2 * 3), abs=0.01)


def test_a_tree_that_comes_to_nothing_is_answered_by_asking_on() -> None:
    nothing = [Said("Unknown", 0.9)] * 2
    made = run(*nothing, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said("Rome [1]", 0.95), "Done")
    assert made.result.texts == ("Rome",)
    verdict = judge(made.trace, accept=0.5)
    assert verdict.status == "answered", "the steps of the plan that were not found are not what the answer rests on"


def test_no_question_ends_it() -> None:
    """A model may write the answer instead of a question, or instead of saying that it is done."""
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said("Rome [1]", 0.95), "Rome")
    assert made.result.texts == ("Rome",) and len(made.of_type(NodeAdded)) == 2


@pytest.mark.parametrize(
    "given",
    [{"knows_next": False}, {"features": {"ask_on": False}}, {"features": {"follow_ups": False}}],
    ids=["not learnt", "switched off", "follow-ups off"],
)
def test_it_is_not_asked_on_where_it_is_off_or_not_learnt(given: dict[str, Any]) -> None:
    assert run(*UNSURE, **given).result.texts == ("Norway",)


def test_a_sure_tree_is_not_asked_beside() -> None:
    assert run(*SURE).result.texts == ("Norway",)


def test_a_step_that_is_not_found_ends_it_and_nothing_comes_from_memory() -> None:
    made = run(*UNSURE, FATHER, Said("Unknown", 0.9))
    assert made.result.texts == ("Norway",)
    assert judge(made.trace, accept=0.1).status == "answered", "the plan's answer does not rest on that step"
    assert [event.question for event in made.of_type(NodeAdded)] == [FATHER]


def test_the_question_itself_is_no_second_way() -> None:
    source = FakeSource("text", TEXT | {QUESTION: BOB})
    made = run(*UNSURE, QUESTION, source=source)
    assert made.result.texts == ("Norway",)
    assert f"not asked again: {QUESTION}" in made.node(0).dropped


def test_the_answer_stands_where_the_model_fails_on_the_way() -> None:
    def fail(_prompt: Prompt) -> str:
        raise ModelError("the model broke")

    made = run(*UNSURE, fail)
    assert made.result.texts == ("Norway",)
    assert "no follow-up question: the model broke" in made.node(0).dropped


def test_cancelling_ends_it() -> None:
    def cancel(_prompt: Prompt) -> str:
        raise Cancelled

    with pytest.raises(Cancelled):
        run(*UNSURE, cancel)


@pytest.mark.parametrize(
    "found",
    [
        passages(("Bob Lee", "Bob Lee was born in 1900."), ("Rome", "Rome is a city.")),
        passages(("Rome", "The town of Rome."), ("Bob Lee", "Bob Lee was born in 1900.")),
    ],
    ids=["the cited passage lacks the answer", "the cited passage is about something else"],
)
def test_an_answer_that_its_passage_does_not_tell_is_none(found: Any) -> None:
    """So one passage's name is not taken for an answer about something that another passage names."""
    source = FakeSource("text", TEXT | {BORN: found})
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said("Rome [1]", 0.95), source=source)
    assert made.result.texts == ("Norway",)
    last = made.trace.nodes[-1]
    assert (last.question, last.answers) == (BORN, [])
    assert any("tells something else" in note for note in last.dropped)


def test_a_fact_that_holds_the_answer_is_cited_and_not_the_passage_before_it() -> None:
    graph = FakeSource("graph", {BORN: rows("Bob Lee", entity("Rome"))})
    text = FakeSource("text", TEXT | {BORN: passages(("Bob", "Bob is a name."))})
    for number in (1, 2):
        replies = (*UNSURE, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said(f"Rome [{number}]", 0.95), "Done")
        made = Run(QUESTION, PLAN, FakeBackbone(*replies), text, graph, **SETTINGS)
        assert made.result.texts == ("Rome",)
        [cited] = made.trace.nodes[-1].cited
        assert made.tools.recorder.evidence_of(made.trace.nodes[-1].id)
        assert next(item.source for item in made.trace.evidence if item.id == cited) == "graph"


def test_one_question_alone_is_no_second_way() -> None:
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.99), "Done")
    assert made.result.texts == ("Norway",)


def test_questions_that_leave_out_a_name_answer_another_question() -> None:
    asked = "Where was the father of Ann Lee of Oslo born?"
    made = Run(
        asked,
        PLAN,
        FakeBackbone(*UNSURE, FATHER, Said("Bob Lee [1]", 0.95), BORN, Said("Rome [1]", 0.95), "Done"),
        FakeSource("text", TEXT),
        **SETTINGS,
    )
    assert made.result.texts == ("Norway",)
    assert any("asked on: Rome (0.00)" in note for note in made.node(0).dropped)


def test_a_year_does_not_take_the_place_of_a_day_in_it() -> None:
    asked, born = "When was the father of Ann Lee born?", "When was Bob Lee born?"
    plan = (
        '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")\n2. When was [1] born? = Relate([1], "birth")\n'
    )
    day = passages(("Bob Lee", "Bob Lee was born on 14 September 1969."))
    found = {
        "Ann Lee father": ANN,
        FATHER: ANN,
        "Bob Lee birth": day,
        born: passages(("Bob Lee", "Bob Lee, born 1969.")),
    }
    replies = (Said("Bob Lee [1]", 0.4), Said("14 September 1969 [1]", 0.4), FATHER, Said("Bob Lee [1]", 0.95))
    backbone = FakeBackbone(*replies, born, Said("1969 [1]", 0.95), "Done")
    made = Run(asked, plan, backbone, FakeSource("text", found), **SETTINGS)
    assert made.result.texts == ("14 September 1969",)
    assert made.result.confidence == pytest.approx(0.95 ** (2 * 3), abs=0.01)


def test_a_question_about_several_answers_at_once_is_no_second_way() -> None:
    source = FakeSource("text", TEXT | {PARENTS: passages(("Ann Lee", "Ann Lee, daughter of Bob Lee or Carl Lee."))})
    made = run(
        *UNSURE, PARENTS, Said("Bob Lee; Carl Lee [1]", 0.95), BORN, Said("Rome [1]", 0.95), "Done", source=source
    )
    assert made.trace.nodes[3].answers == ["Bob Lee", "Carl Lee"]
    assert made.result.texts == ("Norway",)


def test_what_a_step_of_the_plan_did_not_find_is_not_found_by_asking_it_again() -> None:
    plan = (
        f'1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")\n2. {BORN} = Relate([1], "place of birth")\n'
    )
    daughter = "Who has Ann Lee as a daughter?"
    source = FakeSource("text", {"Ann Lee father": ANN, daughter: ANN, BORN: BOB})
    replies = (Said("Bob Lee [1]", 0.9), Said("Unknown", 0.9), daughter, Said("Bob Lee [1]", 0.9), BORN, "Unknown")
    made = Run(QUESTION, plan, FakeBackbone(*replies), source, **SETTINGS)
    assert not made.node(2).answers and made.result.texts == ()
    assert f"not asked again: {BORN}" in made.node(0).dropped


def test_without_calls_left_there_is_no_second_way() -> None:
    made = run(*UNSURE, FATHER, Said("Bob Lee [1]", 0.99), limits={"calls": 4})
    assert made.result.texts == ("Norway",)
