"""Which answer stands: the tree's or the direct one; and what an unsure step carries on."""

from __future__ import annotations

import math

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Run, Said, passages, reply, toolbox

from atomr_local.reasoning.answer_selection import agree, likelier
from atomr_local.reasoning.confidence import Calibration, LogisticModel, LogisticTerm
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.trace.events import NodeFinished
from atomr_local.reasoning.verdict.judge import repeats
from atomr_local.strategies.atomr import AtomR

QUESTION = "Where was the father of Ann Lee born?"
PLAN = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")\n2. Where was [1] born? = Relate([1], "place of birth")\n'
ANN = passages(("Ann Lee", "Ann Lee, daughter of Bob Lee, niece of Carl Lee."))
BOB = passages(("Bob Lee", "Bob Lee was born in Rome."))
CARL = passages(("Carl Lee", "Carl Lee was born in Paris."))
TEXT = {
    "Ann Lee father": ANN,
    "Bob Lee place of birth": BOB,
    "Carl Lee place of birth": CARL,
    QUESTION: passages(("Ann Lee", "Ann Lee grew up in Oslo.")),
}


def by_product(intercept: float) -> LogisticModel:
    """By the product of the steps' confidences alone; an answer that the question names counts for a twentieth."""
    terms = (LogisticTerm("leaves", 1.0), LogisticTerm("named", math.log(0.05)))
    return LogisticModel(intercept, terms)


CALIBRATION = Calibration(by_product(1.0), by_product(-0.5))
FEATURES = {"beam": False, "rival": False, "guess": False}


def run(*replies: str, **features: bool) -> Run:
    return Run(
        QUESTION,
        PLAN,
        FakeBackbone(*replies),
        FakeSource("text", TEXT),
        features=FEATURES | features,
        calibration=CALIBRATION,
    )


def of_tree(leaves: float, named: float = 0.0) -> float:
    return CALIBRATION.tree.probability({"leaves": leaves, "named": named})


def test_a_sure_tree_is_not_rivalled() -> None:
    made = run(Said(reply("Bob Lee", evidence=[1]), 0.99), Said(reply("Rome", evidence=[1]), 0.99), rival=True)
    assert made.result.texts == ("Rome",)
    assert made.result.confidence == pytest.approx(of_tree(0.99**2))


def test_the_surer_direct_answer_stands_and_the_trace_tells_both() -> None:
    """It is direct RAG over what a search for the question finds."""
    backbone = FakeBackbone(
        Said(reply("Bob Lee", evidence=[1]), 0.3),
        Said(reply("Rome", evidence=[1]), 0.2),
        Said(reply("Oslo", evidence=[1]), 0.95),
    )
    made = Run(
        QUESTION, PLAN, backbone, FakeSource("text", TEXT), features=FEATURES | {"rival": True}, calibration=CALIBRATION
    )
    assert made.result.texts == ("Oslo",)
    assert "Ann Lee grew up in Oslo." in backbone.asked[-1]
    root = made.node(0)
    assert root.method == "direct_rag"
    assert root.confidence == pytest.approx(CALIBRATION.direct.probability({"leaves": 0.95}))
    told = root.computation or ""
    assert told.startswith("tree: Rome (") and "direct: Oslo (" in told
    assert made.node(2).answer == "Rome"


def test_a_less_sure_direct_answer_gives_way_and_is_named() -> None:
    made = run(
        Said(reply("Bob Lee", evidence=[1]), 0.6),
        Said(reply("Rome", evidence=[1]), 0.6),
        Said(reply("Oslo", evidence=[1]), 0.05),
        rival=True,
    )
    assert made.result.texts == ("Rome",)
    assert any("direct: Oslo" in note for note in made.node(0).dropped)


def test_where_the_tree_comes_to_nothing_the_question_is_read_for_as_it_was_typed() -> None:
    understood = "0. Where did the father of Ann Lee come into the world? = Answer(place)\n"
    backbone = FakeBackbone(*[Said(UNKNOWN, 0.9)] * 2, Said(reply("Oslo", evidence=[1]), 0.9))
    source = FakeSource("text", TEXT)
    made = Run(
        QUESTION, understood + PLAN, backbone, source, features=FEATURES | {"rival": True}, calibration=CALIBRATION
    )
    assert made.result.texts == ("Oslo",)
    assert made.node(0).method == "direct_rag"
    assert source.requests[-1].query == QUESTION


def test_a_tree_that_ended_in_direct_rag_is_not_rivalled_by_another() -> None:
    unknown = [Said(UNKNOWN, 0.9)] * 2  # the first step, by the operator and by direct RAG; the second finds nothing
    made = run(*unknown, Said(reply("Oslo", evidence=[1]), 0.9), rival=True)
    assert made.result.texts == ("Oslo",)
    assert made.node(0).method == "direct_rag"
    assert made.node(0).confidence == pytest.approx(CALIBRATION.direct.probability({"leaves": 0.9}))


def test_an_answer_that_the_question_names_itself_is_rivalled_however_sure() -> None:
    sure = [Said(reply("Bob Lee", evidence=[1]), 0.99), Said(reply("Ann Lee", evidence=[1]), 0.99)]
    made = run(*sure, Said(reply("Oslo", evidence=[1]), 0.9), rival=True)
    assert made.result.texts == ("Oslo",)
    both = run(*sure, Said(reply("Ann Lee", evidence=[1]), 0.9), rival=True)
    assert both.result.texts == ("Ann Lee",)
    assert both.node(0).confidence == pytest.approx(of_tree(0.99**2, named=1.0))


@pytest.mark.parametrize(
    ("question", "answer", "named"),
    [
        ("In which year did the Film Academy honour Ann?", "Film Academy", True),
        ("In which year did the Film Academy honour Ann?", "Film", False),
        ("Which city is New York City's Broadway in?", "New York", False),
        ("In which state is New York?", "New York", True),
        ("In which year did the Film Academy honour Ann?", "1980", False),
        ("In which year did the Film Academy honour Ann?", "Academy Ann", False),
        ("Who is older, Ann Lee or Bob Lee?", "Bob Lee", False),
        ("Of Ann Lee and Bob Lee, who is older?", "Ann Lee", False),
        ("Of Ann Lee and Bob Lee, who is older?", "Bob Lee", False),
        ("Which of Rome, Paris and Oslo is the oldest?", "Rome", False),
        ("Which of Rome, Paris and Oslo is the oldest?", "Paris", False),
        ("In Rome, which bridge is the oldest?", "Rome", True),
        ("Of the sisters of Ann, who is older?", "Ann", True),
    ],
)
def test_what_a_question_names_is_no_answer_unless_it_offers_a_choice(question: str, answer: str, named: bool) -> None:
    assert repeats(question, [answer]) is named


@pytest.mark.parametrize(
    ("of_tree", "of_direct", "direct_reading", "stands"),
    [
        ("yes", "no", 0.3, "yes"),  # the direct answer is more likely wrong than right: that speaks for yes
        ("no", "Yes", 0.3, "no"),
        ("yes", "no", 0.8, "no"),
        ("Rome", "Oslo", 0.3, "Oslo"),  # a wrong Oslo does not make it Rome
        ("yes", "Oslo", 0.3, "Oslo"),
    ],
)
def test_an_unlikely_verdict_does_not_outvote_the_other_one(
    of_tree: str, of_direct: str, direct_reading: float, stands: str
) -> None:
    model = LogisticModel(1.0, (LogisticTerm("leaves", 1.0),))
    tree = Result(values=text_values([of_tree]), signals={"leaves": 0.2})
    direct = Result(values=text_values([of_direct]), signals={"leaves": direct_reading})
    chosen = likelier(Calibration(model, model), tree, direct)
    assert chosen.texts == (stands,)
    one, other = (model.probability({"leaves": reading}) for reading in (0.2, direct_reading))
    told = f"tree: {of_tree} ({one:.2f}); direct: {of_direct} ({other:.2f})"
    assert told in [*chosen.dropped, chosen.computation]


def test_two_that_agree_are_surer_than_each() -> None:
    said = Said(reply("Rome", evidence=[1]), 0.5)
    made = run(Said(reply("Bob Lee", evidence=[1]), 0.7), said, said, rival=True)
    assert made.result.texts == ("Rome",)
    assert made.result.confidence is not None and made.result.confidence > of_tree(0.35)


def test_another_reading_of_an_unsure_step_wins_where_the_whole_is_surer() -> None:
    made = run(
        Said(reply("Bob Lee", evidence=[1]), 0.4),
        Said(reply("Carl Lee", evidence=[1]), 0.35),  # two draws
        Said(reply("Bob Lee", evidence=[1]), 0.4),
        Said(reply("Rome", evidence=[1]), 0.61),
        Said(reply("Paris", evidence=[1]), 0.99),  # Carl Lee's
        beam=True,
    )
    assert made.result.texts == ("Paris",)
    assert made.node(1).answer == "Carl Lee"
    assert any("Bob Lee (0.40)" in note for note in made.node(1).dropped)
    finished = [event.answer for event in made.of_type(NodeFinished) if event.node_id == 1]
    assert finished == ["Bob Lee", "Carl Lee"]


def test_another_reading_that_nobody_has_seen_is_not_searched_on_the_web() -> None:
    """It may be any words of a passage. The answer that the step shows is searched, and the other where it won later."""
    born = '\n3. Where is [2]? = Relate([2], "country")\n'
    web = FakeSource("web", {"Bob Lee place of birth": passages(("Bob Lee", "Bob Lee was born in Rome."))})
    text = FakeSource("text", TEXT | {"Paris country": passages(("Paris", "Paris is in France."))})
    both = "text, web"
    backbone = FakeBackbone(
        both,
        Said(reply("Bob Lee", evidence=[1]), 0.4),
        Said(reply("Carl Lee", evidence=[1]), 0.35),
        Said(reply("Bob Lee", evidence=[1]), 0.4),
        both,
        Said(reply("Rome", evidence=[1]), 0.61),
        Said(reply("Paris", evidence=[1]), 0.99),
        both,
        Said(reply("France", evidence=[1]), 0.9),
    )
    made = Run(
        QUESTION, PLAN + born, backbone, text, web, features=FEATURES | {"beam": True}, calibration=CALIBRATION,
        llm={"parallel": 1},
    )  # fmt: skip
    assert made.node(1).answer == "Carl Lee" and made.node(2).answer == "Paris"
    assert "Carl Lee place of birth" in text.queries
    assert web.queries == ["Ann Lee father", "Bob Lee place of birth", "Paris country"]
    assert made.node(2).sources == ["text", "web"], "the step has asked both"


def test_the_first_reading_stays_where_the_others_lead_nowhere() -> None:
    made = run(
        Said(reply("Bob Lee", evidence=[1]), 0.4),
        Said(reply("Carl Lee", evidence=[1]), 0.39),
        Said(UNKNOWN, 0.9),
        Said(reply("Rome", evidence=[1]), 0.9),
        Said(UNKNOWN, 0.9),  # of Carl Lee nothing is found, by the operator
        Said(UNKNOWN, 0.9),  # nor by direct RAG
        beam=True,
    )
    assert made.result.texts == ("Rome",)
    assert made.node(1).answer == "Bob Lee"


def test_a_sure_step_is_read_once() -> None:
    run(Said(reply("Bob Lee", evidence=[1]), 0.9), Said(reply("Rome", evidence=[1]), 0.9), beam=True)


def test_agreement_is_by_name_not_by_spelling() -> None:
    assert agree(["The Beatles"], ["the beatles (band)"])
    assert not agree(["Rome"], ["Rome", "Paris"])


def test_what_stays_unknown_is_guessed_from_the_evidence_and_says_so() -> None:
    unknown = Said(UNKNOWN, 0.9)
    text = FakeSource("text", {QUESTION: TEXT[QUESTION], "Ann Lee father": ANN})
    # The step by its operator and by direct RAG, the root by direct RAG, then the guess.
    backbone = FakeBackbone(unknown, unknown, unknown, Said(reply("Oslo", evidence=[1]), 0.2))
    plan = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")\n'
    made = Run(QUESTION, plan, backbone, text, features={"beam": False, "rival": False, "guess": True})
    assert made.result.texts == ("Oslo",)
    assert "a guess: the evidence did not tell" in made.node(0).dropped
    assert '"Unknown"' not in (backbone.grammars[-1] or "").splitlines()[0]


@pytest.mark.parametrize(("asked", "sure"), [("Who are Ann Lee's sons?", True), ("Who is Ann Lee's last son?", False)])
def test_several_answers_where_one_is_asked_for_are_no_surer_than_a_draw(asked: str, sure: bool) -> None:
    found = {"Ann Lee sons": passages(("Ann Lee", "Her sons are Bob Lee and Carl Lee."))}
    plan = f'0. {asked} = Answer(person, several)\n1. Who are the sons of Ann Lee? = Relate("Ann Lee", "sons")'
    read = Said(reply("Bob Lee", "Carl Lee", evidence=[1]), 0.99)
    believing = Calibration(by_product(9.0), by_product(-0.5))
    tools = toolbox(
        asked, FakeBackbone(plan, read), FakeSource("text", found), features=FEATURES, calibration=believing
    )
    result = AtomR().run(asked, None, "model", tools)
    assert result.texts == ("Bob Lee", "Carl Lee")
    assert (result.confidence or 0.0) > 0.9 if sure else result.confidence == 0.5
    assert any("last" in warning for warning in tools.recorder.trace.warnings) is not sure
