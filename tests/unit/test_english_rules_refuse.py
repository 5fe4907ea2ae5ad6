"""What rules and models for English must leave alone: the examples of old rules that went wrong, and their like."""

from __future__ import annotations

import pytest

from atomr_local.language.literals import dates_in, parse_date, parse_quantity
from atomr_local.language.names import adjectives, countries_in
from atomr_local.language.question import read_question
from atomr_local.language.question_kind import expected_type, understands
from atomr_local.language.words import english, number_words
from atomr_local.reasoning.answer_selection import year_asked_for
from atomr_local.reasoning.asking.asking import cut_passage
from atomr_local.reasoning.reading.answer_formats import FORMATS, AnswerSpec
from atomr_local.reasoning.verdict.judge import repeats
from atomr_local.sources.graph.conditions import comparison, described, is_superlative, negated
from atomr_local.sources.graph.relate.values import counted, requested_level
from atomr_local.sources.protocol import Value, ValueKind

LEAN = FORMATS["lean"]
VERDICTS = '"yes" | "no"'


def grammar(task: str, question: str, text: str) -> str:
    """The rule for one answer."""
    rules = LEAN.grammar(AnswerSpec(task, question, (text,), 1, bodies=(text,))).splitlines()  # type: ignore[arg-type]
    return "\n".join(rule for rule in rules if not rule.startswith(("root", "known", "number", "char")))


# -- the reader's grammar


@pytest.mark.parametrize(
    "question",
    [
        "Can you tell me who wrote Emma?",
        "Could you name the author of Emma?",
        "Do you know who wrote Emma?",
        "Would you happen to know the author of Emma?",
        "Is there any chance you know who wrote Emma?",
        "Did Jane Austen or Emily Brontë write Emma?",
        "Was Emma written by Jane Austen or by Emily Brontë?",
    ],
)
def test_a_question_for_a_name_gets_no_grammar_of_yes_or_no(question: str) -> None:
    for task in ("read", "answer"):
        assert grammar(task, question, "Emma is a novel by Jane Austen.") != f"one ::= {VERDICTS}"
        assert '"Jane ' in grammar(task, question, "Emma is a novel by Jane Austen.")


@pytest.mark.parametrize("question", ["Is the Nile longer than the Amazon?", "Did Jane Austen write Emma?"])
def test_a_question_that_is_one_of_yes_or_no_still_gets_it(question: str) -> None:
    assert grammar("answer", question, "The Nile is long.") == f"one ::= {VERDICTS}"


def test_a_country_that_no_list_has_can_be_the_answer() -> None:
    written = grammar("read", "What is the nationality of Rudolf Rassendyll?", "He served Ruritania, not Germany.")
    assert '"Ruritania"' in written and '"Germany"' in written
    assert '"served"' not in written
    none_known = grammar("read", "In which country is Strelsau?", "Strelsau is the capital of ruritania.")
    assert '"ruritania"' in none_known


def test_a_date_grammar_needs_a_date_and_a_number_grammar_a_number() -> None:
    assert '"1815"' in grammar("read", "When was Emma published?", "Emma came out in 1815, in London.")
    assert '"London"' not in grammar("read", "When was Emma published?", "Emma came out in 1815, in London.")
    assert '"London"' in grammar("read", "When was Emma published?", "Emma came out in London.")
    assert '"London"' in grammar("read", "Emma?", "Emma came out in 1815, in London.")
    assert '"London"' in grammar("read", "How many volumes has Emma?", "Emma came out in London.")


# -- nothing is lost


def test_places_and_dates_stay_whole() -> None:
    assert year_asked_for("Where was Ann Lee born?", "Portland, Oregon") == "Portland, Oregon"
    assert year_asked_for("When was Ann Lee born?", "3 May 1901") == "3 May 1901"
    assert year_asked_for("How many years did Ann Lee live?", "3 May 1901") == "3 May 1901"
    assert '"Portland, "' in grammar("read", "Where was Ann Lee born?", "She was born in Portland, Oregon.")


# -- a right answer that the question seems to name


@pytest.mark.parametrize(
    ("question", "answer", "said_again"),
    [
        ("Which state is New York City in?", "New York", False),
        ("In which state is New York?", "New York", True),
        ("In which country is Mexico City?", "Mexico", False),
        ("Which river gave the Ohio River Valley its name?", "Ohio River", False),
        ("Who founded Ford Motor Company?", "Ford", False),
        ("Was ist das?", "Was ist das", True),
        ("Which is longer, the Nile or the Amazon?", "Nile", False),
    ],
)
def test_only_a_whole_name_is_said_again(question: str, answer: str, said_again: bool) -> None:
    assert repeats(question, [answer]) is said_again


# -- the kind of answer


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How long are the Nile and the Amazon?", "quantity"),
        ("How old are Ann and Bob?", "quantity"),
        ("What is Nice known for?", "phrase"),
        ("What kind of animal is a numbat?", "phrase"),
    ],
)
def test_questions_that_old_rules_took_for_others(question: str, kind: str) -> None:
    assert expected_type(question).type == kind


@pytest.mark.parametrize(
    "text", ["What did they write together?", "the other one", "xyzzy", "Emma", "May", "second", "her?", "or", "Which?"]
)
def test_what_says_little_narrows_nothing(text: str) -> None:
    assert not expected_type(text).surely("yes/no", "date", "year", "number", "quantity")


def test_capitals_and_short_names_are_no_greeting_or_noise() -> None:
    for name in ("Hi (song)", "Hey Jude", "OK Computer", "Yes Minister", "NASA", "Nguyen Van Linh", "Der Spiegel"):
        assert understands(name)[0] == "question"


# -- dates, numbers and names of countries


def test_words_that_only_look_like_dates_or_numbers() -> None:
    assert dates_in(["she may 12 times, and march 5 miles; room 12345"]) == ()
    assert parse_date("May", bare_year=False) is None
    assert parse_quantity("Seven Samurai") is None
    for word in ("often", "tenor", "Onega", "network", "weight", "sixth"):
        assert not number_words().opens_number(word)
    for word in ("ten", "Seventeen", "twenty-one", "(several", "5th"):
        assert number_words().opens_number(word)


def test_countries_only_as_names() -> None:
    assert countries_in("a turkey and china from the french window") == []
    assert "nice" not in adjectives() and "polish" in adjectives()
    assert adjectives()["chinese"] == {"china", "peoples republic of china"}
    assert adjectives()["european"] == {"europe"}


# -- words in the graph


@pytest.mark.parametrize(
    "wording", ["head of state", "state religion", "country music", "minister of state", "solid state physics"]
)
def test_a_level_that_only_belongs_to_the_wording_is_not_asked_for(wording: str) -> None:
    assert requested_level(wording, "") is None


@pytest.mark.parametrize("wording", ["country of birth", "birth country", "country", "the country where she was born"])
def test_a_level_that_is_asked_for(wording: str) -> None:
    level = requested_level(wording, "")
    assert level is not None and level.name == "country"


@pytest.mark.parametrize("question", ["What state of matter is iron?", "Who is the head of state?", "Country of Emma?"])
def test_questions_that_ask_for_no_containing_place(question: str) -> None:
    level = requested_level("spouse", question)
    assert level is None or level.said is False


def test_nothing_is_left_out_of_a_count_by_a_word_that_names_no_kind() -> None:
    values = [Value(name, ValueKind.ENTITY, f"http://x/{name}") for name in ("a", "b")]
    for question in ("How many prizes did she win?", "How many works did she write?", "How many films won prizes?"):
        assert counted(values, question, lambda _: ["prize", "award"])[1] == ""


@pytest.mark.parametrize("text", ["older than 1950", "directed by Ann Lee", "in Europe", "after the war", "best known"])
def test_conditions_that_compare_nothing(text: str) -> None:
    assert comparison(text) is None


def test_conditions_that_are_not_negated_superlative_or_described() -> None:
    assert negated("no less than 5 m") is None
    assert negated("Nothing Else Matters") is None
    assert not is_superlative("at least 5 m high")
    assert described("Norwegian") is None


def test_what_describes_a_noun_is_known_by_its_form() -> None:
    assert described("a team coached by Ann Lee") == ("team", "coached by Ann Lee")
    assert described("a film directed by Ann Lee") == ("film", "directed by Ann Lee")
    assert described("Manchester United") is None
    assert described("United Artists") is None


def test_no_time_is_cut_out_of_what_has_none() -> None:
    for text in ("population in Portland", "born in the house of Lee", "on Golden Pond", "during the war"):
        assert read_question(text).time == (text, None)


# -- which sentences of a passage are shown


def test_words_that_tell_rank_sentences_and_hide_none() -> None:
    text = "Ann Lee sings. She was born in Oslo. Her father was a miller. She moved often and sang in many towns."
    assert cut_passage("Where was Ann Lee born?", "Ann Lee", text, 100) == text
    assert "born in Oslo" in cut_passage("What is the birthplace of Ann Lee?", "Ann Lee", text, 10)
    assert not {"american", "british"} & {word for told in english().told_by.values() for word in told}
