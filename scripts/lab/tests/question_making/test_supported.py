"""Which questions an index no longer supports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from atomr_lab.commands.questions import questions
from atomr_lab.question_making.hops import composed, line_of, questions_of
from atomr_lab.question_making.knowledge import graph_to_text, text_to_graph
from atomr_lab.question_making.reviewing import unsupported
from click.testing import CliRunner
from support.crossing_world import FACTS, PAGES, build_world, opened

from atomr_local.indexing import store


@pytest.fixture
def file(own_home: Path, tmp_path: Path) -> Path:
    """Every question of the world, without trials."""
    build_world(own_home)
    with opened() as knowledge:
        openings = list(knowledge.passages.openings(0, 100))
        found = {
            one.id: line_of(composed(one))
            for one in (
                *text_to_graph(knowledge, openings, counted=False),
                *text_to_graph(knowledge, openings, counted=True),
                *graph_to_text(knowledge, openings),
            )
        }
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in found.values()))
    return path


def rebuild(home: Path, pages: dict[str, str], facts: str) -> None:
    import shutil

    for kind in store.KINDS:
        shutil.rmtree(store.index_path(kind, "cross"))
    build_world(home, pages=pages, facts=facts)


def problems(file: Path) -> list[str]:
    with opened() as knowledge:
        return [problem for one in unsupported(questions_of(file), knowledge) for problem in one.problems]


def test_the_indexes_that_they_were_made_from_support_all(file: Path) -> None:
    assert problems(file) == []


def test_what_is_gone_or_says_something_else(file: Path, own_home: Path) -> None:
    pages = {**PAGES, "The Lake": "The Lake is a 1931 drama film directed by Sue Moe."}
    del pages["Bob Poe"]
    facts = FACTS.replace("Ann Lee | date of birth | 3 May 1901", "Ann Lee | date of birth | 4 May 1901")
    rebuild(own_home, pages, facts + "Ann Lee | child | Ida Lee\n")
    found = problems(file)
    assert any("the-lake#0 no longer says director: Ann Lee" in problem for problem in found)
    assert any("the passage bob-poe#0 is gone" in problem for problem in found)
    assert any("no longer says date of birth of Ann Lee" in problem for problem in found)
    assert any("says another child of Ann Lee: Ida Lee" in problem for problem in found)


def test_the_command(file: Path, own_home: Path) -> None:
    runner = CliRunner()
    named = ["--text-index", "cross", "--graph-index", "cross"]
    done = runner.invoke(questions, ["check", str(file), *named], standalone_mode=False)
    assert done.return_value == 0, done.output
    assert "questions are supported" in done.output
    rebuild(own_home, {**PAGES, "The Lake": "The Lake is a \x1b[31mfilm."}, FACTS)
    done = runner.invoke(questions, ["check", str(file), *named], standalone_mode=False)
    assert "\n    the passage the-lake#0 no longer says director: Ann Lee\n" in done.output
    done = runner.invoke(questions, ["check", str(file), *named, "--json"], standalone_mode=False)
    assert done.return_value == 1
    told = json.loads(done.output)
    assert told["unsupported"][0]["problems"] == ["the passage the-lake#0 no longer says director: Ann Lee"]


def test_a_revised_question_without_facts_is_counted_apart(file: Path) -> None:
    line = json.loads(file.read_text().splitlines()[0])
    line |= {"id": "revised", "plan": None, "hops": None, "without_plan": "the answer was 1"}
    with file.open("a") as stream:
        stream.write(json.dumps(line) + "\n")
    number = len(questions_of(file))
    named = ["--text-index", "cross", "--graph-index", "cross"]
    done = CliRunner().invoke(questions, ["check", str(file), *named], standalone_mode=False)
    assert done.return_value == 0, done.output
    assert f"{number - 1} of {number} questions are supported." in done.output
    assert "Without facts to check, since they were revised: 1." in done.output


def test_a_hostile_file_reaches_no_query(file: Path, tmp_path: Path) -> None:
    line = json.loads(file.read_text().splitlines()[0])
    line["hops"][0]["evidence"] = ["' OR 1=1 --"]
    line["hops"][1]["evidence"] = ["<x> } DROP { <y>"]
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(line) + "\n")
    assert len(problems(bad)) == 2
