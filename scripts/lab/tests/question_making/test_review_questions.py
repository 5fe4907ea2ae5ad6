"""Reviewing questions in the terminal: decisions, the place, what was accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from atomr_lab.commands.questions import questions
from atomr_lab.evaluation.datasets import load_plans, load_questions
from atomr_lab.question_making.hops import Candidate, Hop, composed, confirming, line_of, outdated, questions_of
from atomr_lab.question_making.reviewing import accepted_file, reviews_file
from click.testing import CliRunner
from support.eval_fakes import read_lines

from atomr_local.errors import InputError
from atomr_local.tree.validation import Limits


def candidate_of(number: int) -> Candidate:
    name, born = f"Ann Lee {number}", f"{number} May 1901"
    text = Hop("text", f"Film {number}", "director", (name,), (f"film-{number}#0",), f"Directed by {name}.", (12, 20))
    graph = Hop("graph", name, "date of birth", (born,), (f"<a{number}> <b> <c>",), f"{name} — date of birth: {born}.")
    return Candidate(text, graph, (name,), name)


def made(number: int) -> dict[str, Any]:
    return line_of(composed(candidate_of(number)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(made(number)) + "\n" for number in range(1, 5)))
    return path


def review(file: Path, *keys: str, again: bool = False) -> str:
    arguments = ["review", str(file), *(["--again"] if again else [])]
    done = CliRunner().invoke(questions, arguments, input="".join(f"{key}\n" for key in keys), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.output


def test_accept_reject_and_end(file: Path) -> None:
    shown = review(file, "a", "x", "2", "q")
    assert "1 of 4 · short · text-graph" in shown
    assert "When was the director of Film 1 born?" in shown
    assert "→ 1 May 1901" in shown
    assert "“Directed by Ann Lee 1.”" in shown
    assert "1 accepted · 0 revised · 1 rejected · 2 open" in shown
    first, second = read_lines(reviews_file(file))
    assert first == {"id": made(1)["id"], "verdict": "accepted"}
    assert second == {"id": made(2)["id"], "verdict": "rejected", "reason": "bridge leaks"}
    assert read_lines(accepted_file(file)) == [made(1)]


def test_it_goes_on_where_it_was_left(file: Path) -> None:
    review(file, "a", "q")
    shown = review(file, "q")
    assert "Film 1 born" not in shown
    assert "2 of 4" in shown
    assert "1 of 4" in review(file, "q", again=True)


def test_the_end_of_input_keeps_what_was_decided(file: Path) -> None:
    shown = review(file, "a")
    assert "1 accepted" in shown
    assert len(read_lines(accepted_file(file))) == 1


def test_revised(file: Path) -> None:
    asked = "On which day was the director of Film 1 born?"
    review(file, "r", asked, "1 May 1901 | May 1, 1901", "smoother", "q")
    [line] = read_lines(accepted_file(file))
    assert line["question"] == asked
    assert line["answers"] == ["1 May 1901", "May 1, 1901"]
    assert line["revised_from"] == made(1)["question"]
    assert line["plan"] == made(1)["plan"]
    shown = review(file, "q", again=True)
    assert "decided: revised (smoother)" in shown


def check_bare(line: dict[str, Any], reason: str) -> None:
    """It has neither plan nor facts, says why, and still is a question for evaluation, `check` and `review`."""
    assert (line["plan"], line["hops"], line["evidences"], line["gold_titles"]) == (None, None, [], [])
    assert line["without_plan"] == reason


def test_a_revision_with_other_answers_has_no_plan(file: Path, tmp_path: Path) -> None:
    """Its plan and chain lead to the old answer, and would be run and judged against the new one."""
    shown = review(file, "r", "", "2 May 1901", "the page says so", "a", "q")
    assert "The gold plan and the facts are left out of the accepted question: the answer was 1 May 1901." in shown
    revised, accepted = read_lines(accepted_file(file))
    check_bare(revised, "the answer was 1 May 1901")
    assert accepted == made(2)
    asked = load_questions(accepted_file(file))
    assert load_plans(accepted_file(file), asked, Limits()).keys() == {accepted["id"]}
    assert [len(question.evidences) for question in asked] == [0, 2]
    again = review(accepted_file(file), "r", "When was the director of Film 1, then, born?", "", "", "q")
    assert "left out" not in again
    [line] = read_lines(accepted_file(accepted_file(file)))
    check_bare(line, "the answer was 1 May 1901")


@pytest.mark.parametrize(
    ("question", "answers", "reason"),
    [
        ("When was Film 1's director born?", "May 1, 1901", ""),
        ("When was Film 1's director born?", "1901 | 1901-05-01", ""),
        ("When was Film 1's director born?", "1901", "the answer was 1 May 1901"),
        ("When was the director of the first film born?", "1 May 1901", "the question does not name Film 1"),
    ],
)
def test_when_the_plan_of_a_short_question_stays(file: Path, question: str, answers: str, reason: str) -> None:
    [line] = questions_of(file)[:1]
    assert outdated(line, question, answers.split(" | ")) == reason


def test_when_the_plan_of_a_yes_no_question_stays(tmp_path: Path) -> None:
    asked = confirming(candidate_of(1), "4 May 1901", right=False)
    assert asked is not None
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(line_of(asked)) + "\n")
    [line] = questions_of(path)
    assert outdated(line, "Was Film 1's director born on May 4, 1901?", ["no"]) == ""
    assert (
        outdated(line, "Was Film 1's director born on 5 May 1901?", ["no"]) == "the question does not name 4 May 1901"
    )
    assert outdated(line, line.question, ["yes"]) == "the answer was no"


def test_a_revision_that_changes_nothing_is_none(file: Path) -> None:
    shown = review(file, "r", "", "", "q")
    assert "Nothing is changed" in shown
    assert read_lines(reviews_file(file)) == []


def test_ctrl_c_leaves_a_decision_open(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = iter(["x", click.Abort(), "r", click.Abort(), "a", "q"])

    def prompt(*_given: object, **_more: object) -> str:
        reply = next(replies)
        if isinstance(reply, click.Abort):
            raise reply
        return reply

    monkeypatch.setattr(click, "prompt", prompt)
    shown = review(file)
    assert shown.count("Nothing is decided.") == 2
    assert "1 accepted · 0 revised · 0 rejected · 3 open" in shown


def test_a_revision_that_leaks_is_refused(file: Path) -> None:
    shown = review(file, "r", "When was Ann Lee 1, director of Film 1, born?", "", "", "q")
    assert "Not kept: the question names the bridge" in shown
    shown = review(file, "r", "Was the director of Film 1 born on 1 May 1901?", "", "", "q")
    assert "Not kept: the question says its answer" in shown
    assert read_lines(reviews_file(file)) == []


def test_a_rejection_needs_a_reason_and_other_words_will_do(file: Path) -> None:
    shown = review(file, "x", "", "x", "too easy", "z", "s", "b", "q")
    assert "A rejected question needs a reason." in shown
    assert "Type one of the letters." in shown
    assert [line["reason"] for line in read_lines(reviews_file(file))] == ["too easy"]


@pytest.mark.parametrize("number", ["0012", "7", "9" * 5000, "²"])
def test_a_number_that_is_no_ground_is_kept_as_words(file: Path, number: str) -> None:
    review(file, "x", number, "q")
    assert [line["reason"] for line in read_lines(reviews_file(file))] == [number]


def test_back_and_another_decision(file: Path) -> None:
    review(file, "a", "b", "x", "1", "q")
    assert read_lines(accepted_file(file)) == []
    assert len(read_lines(reviews_file(file))) == 2


def test_nothing_that_drives_a_terminal_is_shown(file: Path) -> None:
    line = made(1)
    line["question"] = "When \x1b[2Jwas the director of Film 1 born?\x07"
    line["hops"][0]["said"] = "Directed \x9b31mby\nAnn"
    file.write_text(json.dumps(line) + "\n")
    shown = review(file, "q")
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\x07" not in shown


def test_damaged_decisions(file: Path) -> None:
    reviews_file(file).write_text('{"id": "a", "verdict": "maybe"}\n')
    with pytest.raises(InputError, match='"verdict" is none of'):
        review(file, "q")
    reviews_file(file).write_text('{"id": "a", "verdict": "accepted"}\n{"id": "torn')
    assert "1 of 4" in review(file, "q")


def test_files_that_are_no_questions(tmp_path: Path) -> None:
    for text in ("", '{"id": "a", "question": "Who?", "answers": ["b"]}\n'):
        (tmp_path / "other.jsonl").write_text(text)
        with pytest.raises(InputError):
            review(tmp_path / "other.jsonl", "q")
    with pytest.raises(InputError):
        review(tmp_path / "none.jsonl", "q")
