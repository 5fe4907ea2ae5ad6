"""Which answer stands: the tree's or the direct one; and what an unsure step carries on."""

from __future__ import annotations

import pytest
from fake_parts import UNKNOWN, FakeBackbone, FakeSource, Run, Said, passages, reply

from atomr_local.reasoning.events import NodeFinished
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.rivals import Calibration, agree, joined, leaves_confidence
from atomr_local.tree.compact import parse_compact

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


def run(*replies: str, **means: bool) -> Run:
    return Run(
        QUESTION,
        PLAN,
        FakeBackbone(*replies),
        FakeSource("text", TEXT),
        means={"beam": False, "rival": False, "guess": False} | means,
    )


def test_a_sure_tree_is_not_rivalled() -> None:
    made = run(Said(reply("Bob Lee", evidence=[1]), 0.99), Said(reply("Rome", evidence=[1]), 0.99), rival=True)
    assert made.result.texts == ("Rome",)
    assert made.result.confidence == pytest.approx(Calibration().of_tree(0.99**2))


def test_the_surer_direct_answer_stands_and_the_trace_tells_both() -> None:
    made = run(
        Said(reply("Bob Lee", evidence=[1]), 0.3),
        Said(reply("Rome", evidence=[1]), 0.2),
        Said(reply("Oslo", evidence=[1]), 0.95),
        rival=True,
    )
    assert made.result.texts == ("Oslo",)
    root = made.node(0)
    assert root.method == "direct_rag"
    assert (
        root.computation is not None
        and root.computation.startswith("tree: Rome (")
        and "direct: Oslo (" in root.computation
    )
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


def test_two_that_agree_are_surer_than_each() -> None:
    said = Said(reply("Rome", evidence=[1]), 0.5)
    made = run(Said(reply("Bob Lee", evidence=[1]), 0.7), said, said, rival=True)
    assert made.result.texts == ("Rome",)
    assert made.result.confidence is not None and made.result.confidence > Calibration().of_tree(0.35)


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


def test_leaves_multiply_and_unknown_ones_weigh() -> None:
    tree = parse_compact(PLAN, QUESTION)
    sure = {1: Result(text_values(["a"]), "operator", 0.5), 2: Result(text_values(["b"]), "operator", 0.5)}
    assert leaves_confidence(tree, sure) == pytest.approx(0.25)
    assert leaves_confidence(tree, sure | {2: Result()}) < 0.1


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"calibration": None},
        {"calibration": []},
        {"calibration": {"tree": [1], "direct": "ab", "sure": float("nan")}},
        {"calibration": {"tree": [1, float("inf")], "direct": [None, 1]}},
    ],
)
def test_a_card_without_usable_numbers_leaves_the_default(card: dict[str, object]) -> None:
    assert Calibration.from_card(card) == Calibration()


def test_a_cards_numbers_are_taken() -> None:
    card = {"calibration": {"tree": [1, 2], "direct": [4, 5], "sure": 0.5}}
    assert Calibration.from_card(card) == Calibration((1.0, 2.0), (4.0, 5.0), 0.5)


def test_probabilities_grow_with_confidence_and_stay_within_bounds() -> None:
    calibration = Calibration()
    assert 0 <= calibration.of_tree(0.0) < calibration.of_tree(0.5) < calibration.of_tree(1.0) <= 1
    assert 0 <= calibration.of_direct(None) < calibration.of_direct(0.9) <= 1
    assert joined(0.5, 0.5) == 0.75


def test_agreement_is_by_name_not_by_spelling() -> None:
    assert agree(["The Beatles"], ["the beatles (band)"])
    assert not agree(["Rome"], ["Rome", "Paris"])


def test_what_stays_unknown_is_guessed_from_the_evidence_and_says_so() -> None:
    unknown = Said(UNKNOWN, 0.9)
    text = FakeSource("text", {QUESTION: TEXT[QUESTION], "Ann Lee father": ANN})
    # The step by its operator and by direct RAG, the root by direct RAG, then the guess.
    backbone = FakeBackbone(unknown, unknown, unknown, Said(reply("Oslo", evidence=[1]), 0.2))
    plan = '1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")\n'
    made = Run(QUESTION, plan, backbone, text, means={"beam": False, "rival": False, "guess": True})
    assert made.result.texts == ("Oslo",)
    assert "a guess: the evidence did not tell" in made.node(0).dropped
    assert '"Unknown"' not in (backbone.grammars[-1] or "").splitlines()[0]
