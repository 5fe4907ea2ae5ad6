"""The tables of docs/answers.md and the question sets behind them; the asking itself is `atomr eval run`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import answers
import pytest
import question_sets as sets
from support.bench_runs import declined, told, write_run

from atomr_local.errors import InputError


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.jsonl"
    asked = [
        {"id": "a", "question": "A?", "answers": ["1", "one"], "corpus": "x", "expects": {"several": False}},
        {"id": "b", "question": "B?", "answers": ["Ann", "Bob"], "corpus": "x", "expects": {"several": True}},
        {"id": "c", "question": "C?", "answers": ["Cid"], "corpus": "y", "titles": ["Page"]},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in asked))
    return path


def test_a_corpus_is_asked_by_itself_and_a_list_is_one_answer(questions: Path, tmp_path: Path) -> None:
    x = sets.question_set(["x", f"{questions}:x", "texts", "graph"])
    made = lines(sets.prepared(x, tmp_path / "x"))
    assert {line["id"]: line["answers"] for line in made} == {"a": ["1", "one"], "b": ["Ann, Bob"]}
    assert made == lines(sets.prepared(x, tmp_path / "again")), "the order is always the same"
    y = sets.question_set(["y", f"{questions}:y", "texts"])
    assert [line["gold_titles"] for line in lines(sets.prepared(y, tmp_path / "y"))] == [["Page"]]
    every = sets.question_set(["all", str(questions), "texts"])
    assert [line["id"] for line in lines(sets.prepared(every, tmp_path / "all"))] == ["a", "b", "c"]
    with pytest.raises(InputError, match="no questions of the corpus 'z'"):
        sets.prepared(sets.question_set(["z", f"{questions}:z", "texts"]), tmp_path / "z")


def test_the_natural_development_questions_are_the_default(tmp_path: Path) -> None:
    asked = sets.question_sets(None)
    counts = {one.name: len(lines(sets.prepared(one, tmp_path / one.name))) for one in asked}
    assert counts["starter"] == 180
    assert sum(counts.values()) == len(lines(sets.NATURAL_DEV))
    assert [one.sources for one in asked][:3] == ["text,graph", "text,graph", "text"]
    assert {one.sources for one in sets.question_sets(None, text_alone=True)} == {"text"}


def test_two_sets_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="same name"):
        sets.question_sets([["a", "f", "i"], ["a", "g", "i"]])


def test_each_set_is_asked_with_each_strategy(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def run(command: list[str], **_: Any) -> None:
        asked.append(" ".join(command[4:]))
        write_run(Path(command[command.index("--out") + 1]), [told(0.9, right="rag" not in command)] * 3)

    monkeypatch.setattr(subprocess, "run", run)
    out = tmp_path / "out"
    options = [
        "--set",
        "x",
        f"{questions}:x",
        "texts",
        "graph",
        "--set",
        "y",
        f"{questions}:y",
        "texts",
        "--limit",
        "2",
    ]
    assert answers.main(["--out", str(out), *options, "--", "--model", "m"]) == 0
    assert len(asked) == 4
    assert asked[0].endswith("--sources text,graph --text-index texts --graph-index graph --no-web --strategy atomr "
                             "--limit 2 --model m")  # fmt: skip
    shown = capsys.readouterr().out
    assert (out / "answers.md").read_text() == shown
    assert "| all | 6 | F1 of guesses | 100.0 | 0.0 | 100.0 [100.0, 100.0] |" in shown
    assert answers.main(["--out", str(out), *options, "--table", "--only", "y"]) == 0
    assert len(asked) == 4
    assert "| x |" not in capsys.readouterr().out


def test_the_tables(tmp_path: Path) -> None:
    given = [
        told(0.9, right=True, kind="single"),
        declined(0.2, right=True, kind="count"),
        told(0.8, right=False, kind="list"),
        declined(0.1, right=False, kind="single", gold=[], answerable=False),
        told(0.7, right=False, kind="single", gold=[]),
    ]
    write_run(tmp_path / "one" / "atomr", given)
    write_run(tmp_path / "one" / "rag", [told(0.5, right=False)] * 3 + [{"gold": []}] * 2)
    one = sets.QuestionSet("one", tmp_path / "none.jsonl", "texts")
    text = answers.report([one], tmp_path, ["atomr", "rag"])
    rows = {tuple(cells[1:3]): cells for line in text.splitlines() if (cells := [c.strip() for c in line.split("|")])}
    row = rows["one", "atomr"]
    assert row[3] == "5"
    assert row[4].startswith("66.7 [") and row[5].startswith("33.3 [") and row[6].startswith("33.3 [")
    assert row[7:10] == ["60.0", "1 of 2", "1 of 2"]
    assert rows["one", "rag"][8:10] == ["0 of 0", "2 of 2"]
    assert "| one | 5 | F1 of guesses | 66.7 | 0.0 | 66.7 [" in text
    assert "| one | 5 | precision | 33.3 | 0.0 |" in text
    assert "| single | 3 | 1 of 1 | 100.0 | 100.0 | 50.0 | 66.7 | 1 of 2 |" in text
    assert "lists, parts of dates together | 2 | 1 of 2 | 50.0 | 0.0 | 0.0 | 50.0 | – |" in text
    assert "Right guesses of atomr: 66.7 [" in text


def test_text_alone_is_summed_by_itself(tmp_path: Path) -> None:
    asked = [sets.QuestionSet(name, Path(), "t", graph) for name, graph in (("a", "g"), ("b", ""), ("c", ""))]
    for one in asked:
        write_run(tmp_path / one.name / "atomr", [told(0.9, right=True)])
    found = answers.groups(asked, tmp_path, "atomr")
    assert {name: len(items) for name, items in found.items()} == {
        "a": 1, "b": 1, "c": 1, "all on text alone": 2, "all": 3,
    }  # fmt: skip


def test_a_run_that_fails_stops_and_the_tables_of_the_others_stand(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "out" / "x" / "atomr", [told(0.9, right=True)])

    def fail(command: list[str], **_: Any) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)
    assert answers.main(["--out", str(tmp_path / "out"), "--set", "x", f"{questions}:x", "texts"]) == 1
    shown = capsys.readouterr()
    assert "| x | atomr | 1 |" in shown.out and "stopped" in shown.err
