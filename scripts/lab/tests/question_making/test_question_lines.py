"""Lines of files of questions: what is read back, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from atomr_lab.question_making.hops import Candidate, Hop, composed, line_of, questions_of
from support.eval_fakes import write_lines

from atomr_local.errors import InputError


def line(**changed: Any) -> dict[str, Any]:
    made = composed(
        Candidate(
            Hop("text", "The Lake", "director", ("Ann Lee",), ("the-lake#0",), "Directed by Ann Lee.", (3, 10)),
            Hop("graph", "Ann Lee", "date of birth", ("3 May 1901",), ("<a> <b> <c>",), "Ann Lee — born."),
            ("Ann Lee",),
            "ann",
        )
    )
    return {**line_of(made), **changed}


def test_a_line_comes_back(tmp_path: Path) -> None:
    [found] = questions_of(write_lines(tmp_path / "q.jsonl", line()))
    assert found.question == "When was the director of The Lake born?"
    assert found.answers == ("3 May 1901",)
    assert found.relations == ("director", "date of birth")
    assert found.hops[0].span == (3, 10)
    assert found.bridge_key == "ann"


def test_a_count(tmp_path: Path) -> None:
    children = Hop("graph", "Ann Lee", "child", ("Tom", "Eve"), ("<a> <b> <c>", "<a> <b> <d>"), "")
    text = Hop("text", "The Lake", "director", ("Ann Lee",), ("the-lake#0",), "")
    made = composed(Candidate(text, children, ("Ann Lee",), "ann", counted=True))
    assert made.question == "How many children of the director of The Lake are listed?"
    assert made.answers == ("2",)
    assert made.compact.splitlines()[-1] == "3. How many are [2]? = Count([2])"
    [found] = questions_of(write_lines(tmp_path / "q.jsonl", line_of(made)))
    assert found.form == "count"


HOPS = line()["hops"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hops": None}, '"hops" is missing'),
        ({"hops": [1]}, "not a list of two"),
        ({"hops": [1, 2]}, "a hop is not an object"),
        ({"hops": [HOPS[0], {**HOPS[1], "source": "oracle"}]}, "is none of text, graph, web"),
        ({"hops": [HOPS[0], {**HOPS[1], "tails": []}]}, '"tails" of a hop'),
        ({"hops": [HOPS[0], {**HOPS[1], "evidence": [1]}]}, '"evidence" of a hop'),
        ({"hops": [{**HOPS[0], "span": [1]}, HOPS[1]]}, '"span" of a hop'),
        ({"hops": [{**HOPS[0], "head": 3}, HOPS[1]]}, '"head" of a hop is not a string'),
        ({"type": "essay"}, '"type" is none of'),
        ({"kind": "text-text"}, '"kind" is none of'),
        ({"plan": "1. nothing"}, "the plan"),
        ({"plan": ""}, '"plan" is empty'),
        ({"plan": None}, '"plan" is missing'),
        ({"without_plan": "why", "hops": None}, '"hops" is missing'),
        ({"question": " "}, '"question" is empty'),
        ({"answers": []}, '"answers"'),
        ({"bridge": [1]}, '"bridge" is not a list of strings'),
        ({"id": 1.5}, '"id" is neither'),
    ],
)
def test_bad_lines(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    file = write_lines(tmp_path / "q.jsonl", line(id="first"), line(**changed))
    with pytest.raises(InputError, match=r"q\.jsonl:2: "):
        questions_of(file)
    with pytest.raises(InputError) as problem:
        questions_of(file)
    assert message in problem.value.message


def test_other_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="occurs twice"):
        questions_of(write_lines(tmp_path / "q.jsonl", line(), line()))
    with pytest.raises(InputError, match="contains no questions"):
        questions_of(write_lines(tmp_path / "q.jsonl"))
    with pytest.raises(InputError, match="not valid JSON"):
        questions_of(write_lines(tmp_path / "q.jsonl", "{"))
    with pytest.raises(InputError):
        questions_of(tmp_path / "none.jsonl")
