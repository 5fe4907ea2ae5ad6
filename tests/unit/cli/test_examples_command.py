"""`atomr examples` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from atomr_local.cli.commands.examples import examples
from atomr_local.errors import InputError
from atomr_local.indexing.store import index_path
from atomr_local.system import paths

QUESTION = "What is the capital of Peru?"
PLAN = '1. What is Peru? = Search("Peru", "country")\n2. What is the capital of [1]? = Relate([1], "capital")\n'


def run(*arguments: str, given: str | None = None) -> str:
    return CliRunner().invoke(examples, arguments, input=given, catch_exceptions=False).output


def written(text: str) -> Path:
    """The file of examples, with this text."""
    path: Path = paths.examples_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def add(question: str = QUESTION, plan: str = PLAN) -> str:
    return run("add", "--question", question, "--plan", "-", given=plan)


def test_add_list_show_remove() -> None:
    assert "No examples" in run("list")
    add()
    assert run("list").startswith(f"1. {QUESTION}")
    (listed,) = json.loads(run("list", "--json"))
    assert listed == {"number": 1, "question": QUESTION, "plan": PLAN.strip(), "indexes": ["starter"]}
    assert 'Search("Peru", "country")' in run("show", "1")
    run("remove", "1")
    assert "No examples" in run("list")


def test_an_example_is_marked_with_the_indexes_that_it_may_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("notes", "wiki"):
        index_path("text", name).mkdir(parents=True)
    monkeypatch.setenv("ATOMR_PRIVACY__INDEXES", "notes")
    run("add", "--question", QUESTION, "--plan", "-", "--quotes", "wiki, notes", given=PLAN)
    add("What is the capital of Chile?")
    run("add", "--question", "What is the capital of Cuba?", "--plan", "-", "--quotes", "", given=PLAN)
    assert [one["indexes"] for one in json.loads(run("list", "--json"))] == [["notes", "wiki"], ["starter"], []]
    assert [line.partition("?")[2] for line in run("list").splitlines()] == [
        "  (may quote what is private: notes)", "", ""
    ]  # fmt: skip
    with pytest.raises(InputError, match="no index 'note'"):
        run("add", "--question", QUESTION, "--plan", "-", "--quotes", "note", given=PLAN)


def test_an_example_of_an_earlier_version_may_quote_all_that_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_PRIVACY__INDEXES", "notes,diary")
    written(json.dumps({"question": QUESTION, "plan": PLAN}))
    assert run("list").endswith("(may quote what is private: notes, diary)\n")


def test_the_same_question_is_replaced() -> None:
    add()
    add(plan='1. What is the capital of Peru? = Relate("Peru", "capital")')
    assert len(json.loads(run("list", "--json"))) == 1
    assert "Search" not in run("show", "1")


def test_a_plan_that_would_not_run_changes_nothing() -> None:
    add()
    before = paths.examples_file().read_bytes()
    with pytest.raises(InputError, match=r"cannot be read|not valid"):
        add("Who?", "1. Who is [5]?")
    assert paths.examples_file().read_bytes() == before


def test_a_number_that_is_not_there_is_told() -> None:
    with pytest.raises(InputError, match="no example 3"):
        run("remove", "3")


def test_lines_that_are_no_examples_are_named_and_kept() -> None:
    path = written("my notes\n")
    assert "line 1" in add()
    assert path.read_text(encoding="utf-8").splitlines()[0] == "my notes"
    run("remove", "1")
    assert path.read_text(encoding="utf-8") == "my notes\n"


def test_hostile_questions_reach_no_terminal_raw() -> None:
    add("Who is \x1b[31m\u202eAnn?", '1. Who is Ann? = Search("Ann")')
    assert "\x1b" not in run("list") and "\u202e" not in run("list")


def test_a_broken_line_with_the_same_question_is_kept_too() -> None:
    broken = json.dumps({"question": QUESTION, "plan": "1. Who is [9]?"})
    path = written(f"{broken}\n\n")
    add()
    assert path.read_text(encoding="utf-8").splitlines()[:2] == [broken, ""]
    run("remove", "1")
    assert path.read_text(encoding="utf-8").splitlines() == [broken, ""]


def test_unusual_line_breaks_inside_a_plan_do_not_break_the_file() -> None:
    plan = '1. What is Peru?\x85\u2028a = Search("Pe\u2029ru")'
    add(plan=plan)
    assert json.loads(run("list", "--json"))[0]["plan"] == plan


def test_a_question_that_is_not_text_is_refused() -> None:
    with pytest.raises(InputError, match="not text"):
        add("What is \udcff?")
    assert not paths.examples_file().exists()
