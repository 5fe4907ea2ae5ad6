from __future__ import annotations

import pytest

from atomr_local.language.question_kind import SURE, expected_type
from atomr_local.tree.calls import AnswerType


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Can you tell me who wrote Emma?", "person"),
        ("who wrote emma", "person"),
        ("Could you tell me the hometown of the lady who came up with Moomins?", "place"),
        ("name the capital of Peru", "place"),
        ("Is the Nile longer than the Amazon?", "yes/no"),
        ("Do you know whether Ann Lee was born in Paris?", "yes/no"),
        ("Are both films Danish?", "yes/no"),
        ("When was Ann Lee born?", "date"),
        ("What is the date of birth of Ann Lee?", "date"),
        ("In what year did it open?", "year"),
        ("Would you tell me what year it was?", "year"),
        ("How many people live there?", "number"),
        ("What is the population of Girona?", "number"),
        ("How long are the Nile and the Amazon?", "quantity"),
        ("Are you able to tell me how tall Everest is?", "quantity"),
        ("Where was Ann Lee born?", "place"),
        ("Which film came out first, A or B?", "work"),
        ("How did Mozart get so famous", "phrase"),
        ("Tell me about Marie Curie", "summary"),
    ],
)
def test_what_is_surely_asked_for(question: str, kind: str) -> None:
    assert expected_type(question).surely(kind), expected_type(question)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Emma author", "person"),
        ("Moomins: who created them", "person"),
        ("everest height", "quantity"),
        ("Marie Curie", "summary"),
        ("Emma, when was it published", "date"),
    ],
)
def test_clipped_and_turned_round_questions(question: str, kind: str) -> None:
    assert expected_type(question).type == kind, expected_type(question)


@pytest.mark.parametrize(
    "question",
    [
        "Is it older, the oak or the elm?",
        "Did Ann marry Bob or Carl?",
        "Was Goethe German or Austrian?",
        "Could you name the author of Emma?",
        "Can you tell me who wrote Emma?",
        "Is there any chance you know where Kant was born?",
        "Emma",
        "and her mother?",
        "",
        "!?",
    ],
)
def test_no_verdict_is_expected_where_a_name_may_be(question: str) -> None:
    assert not expected_type(question).surely("yes/no"), expected_type(question)


def test_several_answers() -> None:
    assert expected_type("Which countries border Chad?").several
    assert expected_type("Name three rivers in Austria").several
    assert not expected_type("Which country is north of Chad?").several
    assert not expected_type("Who wrote Emma?").several


def test_a_country_is_a_place_and_more() -> None:
    expected = expected_type("What is the nationality of the director of Vertigo?")
    assert expected.type == "place"
    assert expected.country >= SURE
    assert expected_type("Where was Ann Lee born?").country < 0.1


def test_the_types_are_those_of_plans() -> None:
    for question in ("who", "where", "when", "why", "how many", "how tall", "is it", "which film", "which war", "Emma"):
        assert expected_type(question).type in set(AnswerType)
