from __future__ import annotations

import pytest

from atomr_local.reasoning.asking.writer import shown_passages
from atomr_local.reasoning.reading.answer_formats import FORMATS, AnswerSpec, Task, answer_format

LEAN, FULL = FORMATS["lean"], FORMATS["full"]


@pytest.mark.parametrize(
    ("text", "answers", "numbers"),
    [
        ("Ann Lee [1]", ["Ann Lee"], [1]),
        ("Ann Lee; Bob Ray [2][3]", ["Ann Lee", "Bob Ray"], [2, 3]),
        ("yes", ["yes"], []),
        (" Unknown\n", ["Unknown"], []),
    ],
)
def test_lean_lines_are_read(text: str, answers: list[str], numbers: list[int]) -> None:
    assert LEAN.parse(text) == (answers, numbers)


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_line_is_no_answer(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        LEAN.parse(text)


@pytest.mark.parametrize(
    "text", ["", "x", "[]", '{"answer": 1}', '{"answers": [], "evidence": ["a"], "answer": ""}', "[" * 10_000]
)
def test_what_is_not_the_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON object"):
        FULL.parse(text)


def test_thoughts_are_concluded_in_full_style() -> None:
    assert answer_format("lean", "conclude") is FULL
    assert answer_format("lean", "read") is LEAN


@pytest.mark.parametrize("form", [LEAN, FULL], ids=["lean", "full"])
def test_a_date_is_one_of_the_dates_shown(form: object) -> None:
    asked = AnswerSpec("read", "When was she born?", ("Born 3 May 1901 in Rome.",), 1)
    grammar = LEAN.grammar(asked) if form is LEAN else FULL.grammar(asked)
    assert 'one ::= "3 May 1901" | "1901"' in grammar


def test_a_look_up_is_answered_with_words_of_the_evidence_only() -> None:
    grammar = LEAN.grammar(AnswerSpec("read", "Who is the Queen?", ("Ann (1901) lives.",), 1))
    assert '"Ann"' in grammar and '"1901"' in grammar and "Queen" not in grammar and '"yes"' not in grammar


def test_a_whole_question_may_be_answered_with_its_own_words_and_verdicts() -> None:
    grammar = LEAN.grammar(AnswerSpec("answer", "Who is older, Ann or Bob?", ("Cid is old.",), 1))
    assert '"Bob"' in grammar and '"yes"' in grammar


def test_yes_or_no_is_all_that_such_a_question_allows() -> None:
    assert 'one ::= "yes" | "no"' in LEAN.grammar(AnswerSpec("combine", "Are both Danish?", ("Danish",)))


def test_without_spans_the_answer_is_free() -> None:
    assert "one ::= char{1,90}" in LEAN.grammar(AnswerSpec("read", "Who?", ("Ann",), 1, spans=False))
    assert "one ::= char{1,90}" in FULL.grammar(AnswerSpec("closed_book", "Who?"))


def test_a_country_is_one_of_those_named() -> None:
    asked = AnswerSpec("read", "In which country is Girona?", ("Girona is a Spanish city near France.",), 1)
    assert 'one ::= "Spanish" | "France"' in LEAN.grammar(asked)
    nowhere = AnswerSpec("read", "In which country is Girona?", ("Girona is a city.",), 1)
    assert '"city"' in LEAN.grammar(nowhere)


def test_a_title_gives_no_date_number_or_country_where_the_passage_has_one() -> None:
    title = "Ann Lee | answer 9 May 1999 in Bolivia, 77 people"
    body = "Ann Lee was born on 3 May 1901 in Norway as one of 5 children."
    for question, wanted, other in (
        ("When was Ann Lee born?", "3 May 1901", "9 May 1999"),
        ("In which country was Ann Lee born?", "Norway", "Bolivia"),
    ):
        grammar = LEAN.grammar(AnswerSpec("read", question, (body, title), 1, bodies=(body,)))
        assert wanted in grammar and other not in grammar
    grammar = LEAN.grammar(AnswerSpec("read", "How many children were there?", (body, title), 1, bodies=(body,)))
    assert "77" not in grammar and '"5"' in grammar
    alone = LEAN.grammar(AnswerSpec("read", "When was Ann Lee born?", ("She sings.", title), 1, bodies=("She sings.",)))
    assert "9 May 1999" in alone


def test_a_title_in_a_prompt_has_few_words() -> None:
    passages = [("Ann Lee " + "answer Bob " * 60, "She sings."), ("x" * 500, "y")]
    (title, text), (long, _) = shown_passages("Who?", passages, 70, whole=False)
    assert (len(title.split()), text, len(long)) == (10, "She sings.", 120)


@pytest.mark.parametrize("form", [LEAN, FULL], ids=["lean", "full"])
@pytest.mark.parametrize("task", ["read", "answer"])
@pytest.mark.parametrize(
    "question",
    ["Where was Ann Lee born?", "In which city was Ann Lee born?", "What is the place of birth of Ann Lee?",
     "What is Ann Lee's birthplace?", "Who was born then?"],
)  # fmt: skip
@pytest.mark.parametrize(
    "told",
    ["born in October 1813", "born 3 October 1813", "born October 3, 1813,", "born in early October of 1813",
     "born in Oct. 1813"],
)  # fmt: skip
def test_no_month_is_a_place_or_a_person(form: object, task: Task, question: str, told: str) -> None:
    texts = (f"Ann Lee was {told} in Leipzig.",)
    grammar = answer_format("lean" if form is LEAN else "full", task).grammar(AnswerSpec(task, question, texts, 1))
    assert "Leipzig" in grammar and "Oct" not in grammar and "1813" not in grammar


def test_a_name_that_is_a_month_too_stays() -> None:
    asked = AnswerSpec(
        "read", "Where was Ann Lee born?", ("Ann Lee was born in May 1901 in March, Cambridgeshire.",), 1
    )
    grammar = LEAN.grammar(asked)
    assert "March" in grammar and "May" not in grammar
    country = AnswerSpec("read", "In which country was Ann born?", ("Ann was born in May 1901 in Norway.",), 1)
    assert "Norway" in LEAN.grammar(country) and "May" not in LEAN.grammar(country)
    asked = AnswerSpec("read", "Which film did she make?", ("She made October 1917.",), 1)
    assert "October" in LEAN.grammar(asked)
