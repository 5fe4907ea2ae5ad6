"""Whether a question refers to something before it, by grammar alone."""

from __future__ import annotations

import pytest

from atomr_local.language.referring import references, refers_out


@pytest.mark.parametrize(
    "question",
    [
        "Who was the paternal grandfather of Charles Darwin?",
        "Who was Charles Darwin and when was he born?",
        "who repaired the pump and what did it cost?",
        "Which country has Berlin as its capital?",
        "Was Einstein buried in his hometown?",
        "How old was Napoleon when he died?",
        "Under what name did the founder of the band work when he released his album?",
        "Who is the mother of the man who killed his brother?",
        "Did Darwin's wife outlive him?",
        "Who wrote It?",
        "Who wrote He, She and It?",
        "Who sang I Will Always Love You?",
        "Is it true that Napoleon was short?",
        "How far is it from Paris to Rome?",
        "how long does it take to boil an egg?",
        "What time is it in Tokyo?",
        "Is there a deeper lake than Baikal?",
        "What is the name of the company that owns Volvo?",
        "Who founded the company that collapsed?",
        "What happened this year?",
        "Which one is bigger, Paris or Rome?",
        "Which film has the director who is older than the other, Jaws or Emma?",
        "who is the mother of charles the third?",
        "which planet is the biggest?",
        "where's the louvre",
        "what's tungsten",
        "Marie Curie",
        "capital of australia",
        "tell me about freud",
        "and who wrote Hamlet?",
        "what is 17 * 23",
        "🇫🇷 capital?",
        "",
        "?!",
    ],
)
def test_a_complete_question_refers_to_nothing(question: str) -> None:
    assert references(question) == []


@pytest.mark.parametrize(
    ("question", "words", "kind"),
    [
        ("when was he born?", "he", "person"),
        ("WHEN WAS HE BORN?", "HE", "person"),
        ("who's his father", "his", "person"),
        ("What films did she direct?", "she", "person"),
        ("What is the name of the film that he directed?", "he", "person"),
        ("Name the films she directed", "she", "person"),
        ("Did Einstein know him?", "him", "person"),
        ("What did Watson say about him?", "him", "person"),
        ("Who was king before him?", "him", "person"),
        ("What is the capital of the country that borders it?", "it", "thing"),
        ("which countries does it border?", "it", "thing"),
        ("what's its population", "its", "thing"),
        ("Where were they formed?", "they", "any"),
        ("how many people live there?", "there", "place"),
        ("when was that?", "that", "thing"),
        ("who directed that film?", "that film", "any"),
        ("how long is the other one?", "the other one", "any"),
        ("the second one", "the second one", "any"),
        ("who was the second?", "the second", "any"),
        ("and where?", "and where?", "fragment"),
        ("why?", "why?", "fragment"),
        ("what about Verdi?", "what about Verdi?", "fragment"),
        ("and of Germany?", "and of Germany?", "fragment"),
        ("or Mozart?", "or Mozart?", "fragment"),
        ("and who directed?", "and who directed?", "fragment"),
        ("how many moons?", "how many moons?", "fragment"),
        ("which is longer?", "which is longer?", "fragment"),
        ("in metres?", "in metres?", "fragment"),
    ],
)
def test_what_refers_back_is_told(question: str, words: str, kind: str) -> None:
    [found] = references(question)
    assert (found.words, found.kind, found.sure) == (words, kind, True)
    assert question[found.start : found.end] == words


@pytest.mark.parametrize("question", ["Who lost his life at Hastings?", "director?", "Germany?", "On the Road"])
def test_what_may_stand_alone_is_not_sure(question: str) -> None:
    assert [one.sure for one in references(question)] == [False]
    assert refers_out(question) is None


@pytest.mark.parametrize(("question", "possessive"), [("and her mother?", True), ("who knew her?", False)])
def test_her_is_a_possessive_before_a_noun(question: str, possessive: bool) -> None:
    assert [one.possessive for one in references(question)] == [possessive]


def test_what_nothing_before_can_explain_is_a_pronoun_or_a_question_without_content() -> None:
    for question in ("Who?", "why?", "when was he born?"):
        assert refers_out(question) is not None
    for question in ("who won?", "what about Verdi?", "who directed that film?", "Who wrote Emma?"):
        assert refers_out(question) is None


@pytest.mark.parametrize(
    ("question", "unclear"),
    [
        ('it says "Vault is locked" and won\'t start', False),
        ("can they see my private notes?", False),
        ("what does it cost", True),
        ("when was he made king of France and England?", True),
        ("Who?", True),
    ],
)
def test_a_thing_that_the_rest_describes_needs_no_name(question: str, unclear: bool) -> None:
    assert (refers_out(question) is not None) is unclear
