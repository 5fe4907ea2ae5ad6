"""Question and prediction files: what is read, and how bad lines are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from atomr_lab.evaluation.datasets import GoldFact, load_questions, read_predictions
from support.eval_fakes import write_lines
from support.places import SHARED

from atomr_local.errors import InputError

GOOD = {"id": "q1", "question": "Who?", "answers": ["Ann"]}


def test_a_question_with_its_gold_chain(tmp_path: Path) -> None:
    line = GOOD | {"type": "bridge", "gold_titles": ["Ann"], "evidences": [["Film", "director", "Ann"]]}
    (question,) = load_questions(write_lines(tmp_path / "q.jsonl", line))
    assert question.evidences == (GoldFact("Film", "director", "Ann"),)
    assert (question.id, question.type, question.gold_titles) == ("q1", "bridge", ("Ann",))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"question_id": "a7", "index": 3, "question": "Who?", "answers": ["Ann"]}, "a7"),
        ({"index": 3, "question": "Who?", "answers": ["Ann"]}, "3"),
        ({"question": "Who?", "answers": ["Ann"]}, "1"),
        ({"id": 5, "question": "Who?", "gold": "Ann"}, "5"),
    ],
)
def test_ids_and_keys_of_published_files(tmp_path: Path, line: dict[str, Any], expected: str) -> None:
    (question,) = load_questions(write_lines(tmp_path / "q.jsonl", line))
    assert question.id == expected
    assert question.answers == ("Ann",)


def test_offset_and_limit_but_the_whole_file_is_checked(tmp_path: Path) -> None:
    lines: list[dict[str, Any] | str] = [GOOD | {"id": f"q{n}"} for n in range(5)]
    file = write_lines(tmp_path / "q.jsonl", *lines)
    assert [question.id for question in load_questions(file, offset=1, limit=2)] == ["q1", "q2"]
    assert load_questions(file, offset=9) == []
    write_lines(file, *lines, "{")
    with pytest.raises(InputError, match=r"q\.jsonl:6: not valid JSON"):
        load_questions(file, limit=1)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("not json", "not valid JSON"),
        ("[1, 2]", "not a JSON object"),
        ('{"question": "Who?", "answers": ["Ann"], "x": ' + "[" * 100_000, "not valid JSON"),
        ({"id": "q2", "answers": ["Ann"]}, '"question" is missing'),
        ({"id": "q2", "question": " ", "answers": ["Ann"]}, '"question" is empty'),
        ({"id": "q2", "question": 3, "answers": ["Ann"]}, '"question" is not a string'),
        ({"id": "q2", "question": "Who?"}, '"answers" is missing'),
        ({"id": "q2", "question": "Who?", "answers": 7}, '"answers" is not a list'),
        ({"id": "q2", "question": "Who?", "answers": ["Ann", None]}, '"answers" is not a list'),
        ({"id": "q2", "question": "Who?", "answers": [" "]}, "empty answer"),
        ({"id": "q1", "question": "Who?", "answers": ["Ann"]}, "occurs twice"),
        ({"id": [1], "question": "Who?", "answers": ["Ann"]}, '"id" is neither'),
        (GOOD | {"id": "q2", "gold_titles": "Ann"}, '"gold_titles"'),
        (GOOD | {"id": "q2", "evidences": [["a", "b"]]}, '"evidences"'),
        (GOOD | {"id": "q2", "evidences": 7}, '"evidences"'),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, bad: dict[str, Any] | str, told: str) -> None:
    file = write_lines(tmp_path / "q.jsonl", GOOD, "", bad)
    with pytest.raises(InputError) as caught:
        load_questions(file)
    assert f"{file}:3: " in caught.value.message
    assert told in caught.value.message


def test_files_that_hold_nothing_or_are_not_there(tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty.jsonl", "")
    for read in (load_questions, read_predictions):
        with pytest.raises(InputError, match="contains no"):
            read(empty)
        with pytest.raises(InputError, match=r"absent\.jsonl"):
            read(tmp_path / "absent.jsonl")
        with pytest.raises(InputError):
            read(tmp_path)
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes('{"id": "q", "question": "où?", "answers": ["là"]}\n'.encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.jsonl:1: not valid JSON: not UTF-8"):
        load_questions(latin)


def test_predictions(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "p.jsonl",
        {"question": "Who?", "predicted": "the ann", "gold": ["Ann"], "index": 4},
        {"id": "z", "question": "What?", "predicted": "", "gold": "Nothing"},
    )
    first, second = read_predictions(file)
    assert (first.score.em, second.score.em) == (1, 0)
    assert (first.id, second.id) == ("Who?", "z")
    with pytest.raises(InputError, match=r'p\.jsonl:1: "predicted" is missing'):
        read_predictions(write_lines(file, {"question": "Who?", "gold": ["Ann"]}))
    with pytest.raises(InputError, match=r'p\.jsonl:1: "gold" is not a list'):
        read_predictions(write_lines(file, {"question": "Who?", "predicted": "x", "gold": [3]}))
    [none] = read_predictions(write_lines(file, {"question": "Who?", "predicted": "x", "gold": []}))
    assert (none.answerable, none.score.f1) == (False, 0)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("2wiki_train500_questions.jsonl", 500),
        ("hotpot_train100_questions.jsonl", 100),
        ("musique_train100_questions.jsonl", 100),
        ("official/2wiki_dev_100.jsonl", 99),
        ("official/hotpotqa_dev_100.jsonl", 99),
        ("official/musique_dev_100.jsonl", 92),
        ("official/crag_test_500.jsonl", 500),
        ("official/kg-web_132.jsonl", 132),
        ("official/text-kg_163.jsonl", 163),
        ("official/web-text_150.jsonl", 150),
    ],
)
def test_published_question_files(name: str, count: int) -> None:
    file = SHARED / "qa" / name
    if not file.exists():
        pytest.skip(f"{file} is not here")
    assert len(load_questions(file)) == count
