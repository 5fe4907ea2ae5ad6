"""Examples of the task `next`, unrolled from plans."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from training.data import chains
from training.files import Line, read_lines, write_lines

from atomr_local.tree.compact import parse_compact

CHAIN = (
    "0. Who is the mother of the director of Emma Road? = Answer(person)\n"
    '1. Who directed Emma Road? = Relate("Emma Road", "director")\n'
    '2. Who is the mother of [1]? = Relate([1], "mother")'
)
OTHER = (
    '0. Who is the mother of Ann Lee? = Answer(person)\n1. Who is the mother of Ann Lee? = Relate("Ann Lee", "mother")'
)
THIRD = '0. Who is the mother of Bo Ray? = Answer(person)\n1. Who is the mother of Bo Ray? = Relate("Bo Ray", "mother")'


def plan_line(plan: str, source: str = "ours") -> Line:
    asked = parse_compact(plan).question
    messages = [{"role": "system", "content": "Plan."}, {"role": "user", "content": asked}]
    return {"task": "plan", "source": source, "messages": messages, "answer": plan}


def unrolled(*plans: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Prompt → answer, all of every chain, and every step finds something."""
    monkeypatch.setattr(chains, "_MOST_OF_CHAIN", 9)
    monkeypatch.setattr(chains, "_LOST", 0)
    made = chains.unrolled([plan_line(plan) for plan in plans], random.Random(1))
    return {line["messages"][-1]["content"]: line["answer"] for line in made}


def test_a_chain_is_unrolled_step_by_step_to_done(monkeypatch: pytest.MonkeyPatch) -> None:
    made = unrolled(CHAIN, OTHER, THIRD, monkeypatch=monkeypatch)
    asked = "Who is the mother of the director of Emma Road?"
    mine = {prompt: answer for prompt, answer in made.items() if prompt.endswith(asked)}
    (empty, first), (one, second), (_, last) = sorted(mine.items(), key=lambda item: len(item[0]))
    assert empty.strip() == asked and first == "Who directed Emma Road?" and last == "Done"
    name = one.split("\n")[0].removeprefix("1. Who directed Emma Road? ")
    assert name in {"Ann Lee", "Bo Ray"}, "what is found is asked the same elsewhere"
    assert second == f"Who is the mother of {name}?"


def test_what_rests_on_a_step_that_found_nothing_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_LOST", 100)
    lines = list(chains.unrolled([plan_line(CHAIN), plan_line(OTHER), plan_line(THIRD)], random.Random(1)))
    mine = [line for line in lines if "director of" in line["messages"][-1]["content"]]
    assert [line["answer"] for line in mine if " Unknown\n" in line["messages"][-1]["content"]] == ["Done"]


@pytest.mark.parametrize(
    "plan",
    [
        # Each of several things is asked.
        "0. Who is the oldest member of Roads? = Answer(person)\n"
        '1. Who are the members of Roads? = Relate("Roads", "has part")\n'
        '2. When was [1] born? = Relate([1], "date of birth")\n'
        '3. Who is the oldest? = Compare([2], "earlier")',
        # No question that can be looked up in one step.
        "0. Erzähl mir was über Emma Road = Answer(language)",
        "0. Tell me about Emma Road. = Answer(summary)",
    ],
)
def test_what_is_no_chain_of_single_questions_is_left_out(plan: str) -> None:
    assert chains.look_ups(parse_compact(plan)) is None


def test_computed_steps_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = (
        "0. Who was born first, Ann or Bo? = Answer(person)\n"
        '1. When was Ann born? = Relate("Ann", "date of birth")\n'
        '2. When was Bo born? = Relate("Bo", "date of birth")\n'
        '3. Who was born first, Ann or Bo? = Compare([1], [2], "earlier")'
    )
    made = unrolled(plan, monkeypatch=monkeypatch)
    assert set(made.values()) == {"When was Ann born?", "When was Bo born?", "Done"}


def test_a_question_of_one_step_is_asked_itself() -> None:
    tree = parse_compact("0. Why did the Roads part? = Answer(phrase)")
    assert [node.question for node in chains.look_ups(tree) or []] == ["Why did the Roads part?"]


def test_the_same_seed_gives_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = tmp_path / "plans.jsonl"
    write_lines(plans, [plan_line(plan) for plan in (CHAIN, OTHER, THIRD)])
    for name in ("first.jsonl", "second.jsonl"):
        out = tmp_path / name
        monkeypatch.setattr("sys.argv", ["x", "--plans", str(plans), "--out", str(out)])
        chains.main()
    first, second = (read_lines(tmp_path / name) for name in ("first.jsonl", "second.jsonl"))
    assert first == second and {line["task"] for line in first} == {"next"}
