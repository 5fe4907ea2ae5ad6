"""`atomr history`, and how `atomr ask` keeps what was asked."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.ann_lee import answer_with
from support.command_line import Atomr
from support.fake_parts import FakeBackbone, reply

from atomr_local.assistant.history.store import History, history_file
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace

QUESTION = "Who is Ann Lee?"
DIRECT = ("--strategy", "closed-book")


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> FakeBackbone:
    return answer_with(monkeypatch, FakeBackbone(reply("Bob Lee")))


def trace(question: str = QUESTION, said: str = "a doctor") -> Trace:
    return Trace(
        question, "atomr", {"model": said}, "answered", f"The answer is {said}.", [said], 0.5,
        nodes=[
            NodeTrace(0, None, question, "root", f"{question} {said}", answer=said, cited=["e1"], evidence=["e1"]),
            NodeTrace(1, 0, said, "search", said, answer=said, method="symbolic", computation=f"{said} = {said}",
                      error={"title": said, "message": said}),
        ],
        evidence=[EvidenceTrace("e1", "web", said, said, 0.5, said, {"url": said, "retrieved_at": said})],
        warnings=[said],
    )  # fmt: skip


def keep(*traces: Trace) -> list[int]:
    with History.open() as history:
        return [history.record(item) for item in traces]


def test_a_question_that_was_asked_is_kept_and_shown_as_it_was(fakes: FakeBackbone, atomr: Atomr) -> None:
    answered = atomr("ask", QUESTION, *DIRECT).out
    listed = json.loads(atomr("history", "list", "--json").out)
    assert [(item["id"], item["question"], item["status"]) for item in listed] == [(1, QUESTION, "answered")]
    assert "Bob Lee" in answered
    assert atomr("history", "show", "1").out.endswith(answered)
    document = json.loads(atomr("history", "show", "1", "--json").out)
    assert document["schema"] == "atomr.trace/1"
    assert parse_trace(document).answers == ["Bob Lee"]
    assert QUESTION in atomr("history", "list").out


def test_failed_and_cancelled_questions_are_kept_too(atomr: Atomr, fakes: FakeBackbone) -> None:
    from atomr_local.errors import Cancelled

    fakes.replies = [RuntimeError("a bug"), Cancelled()]
    atomr("ask", QUESTION, *DIRECT, status=1)
    atomr("ask", QUESTION, *DIRECT, "--json", status=130)
    listed = json.loads(atomr("history", "list", "--json").out)
    assert [item["status"] for item in listed] == ["cancelled", "failed"]
    assert "a bug" in atomr("history", "show", "1").out


def test_nothing_is_kept_where_the_user_does_not_want_it(
    fakes: FakeBackbone, atomr: Atomr, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    fakes.replies = [reply("Bob")] * 3
    atomr("ask", QUESTION, *DIRECT, "--no-history")
    monkeypatch.setenv("ATOMR_HISTORY__KEEP", "false")
    atomr("ask", QUESTION, *DIRECT)
    monkeypatch.delenv("ATOMR_HISTORY__KEEP")
    (own_home / "config.toml").write_text("[history]\nkeep = false\n", encoding="utf-8")
    atomr("ask", QUESTION, *DIRECT)
    assert not history_file().exists()


def test_an_answer_is_given_even_if_it_cannot_be_kept(atomr: Atomr, fakes: FakeBackbone, own_home: Path) -> None:
    (own_home / "history").write_text("in the way", encoding="utf-8")
    printed = atomr("ask", QUESTION, *DIRECT, "--json")
    assert json.loads(printed.out)["answers"] == ["Bob Lee"]
    assert "This question was not kept" in printed.err
    assert "history" in atomr.refused("history", "list")


def test_list_searches_and_says_how_many_more_there_are(atomr: Atomr) -> None:
    assert "No questions are kept yet" in atomr.refused("history", "list", status=0)
    keep(trace("Who wrote Emma?", "Jane Austen"), trace("Where is Zürich?", "Switzerland"))
    assert [line.split()[0] for line in atomr("history", "list").out.splitlines()] == ["2", "1"]
    assert "Emma" in atomr("history", "list", "--search", "austen").out
    assert "None of the 2" in atomr.refused("history", "list", "--search", "nobody", status=0)
    assert "of 2; --limit" in atomr("history", "list", "--limit", "1").err
    assert "no word" in atomr.refused("history", "list", "--search", "?")


def test_export_import_delete(atomr: Atomr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(trace(), trace("Another?"))
    assert atomr("history", "export", "2").out.startswith("# Another?\n")
    assert atomr("history", "export", "--all").out.count("\n## Evidence\n") == 2
    one, every = tmp_path / "one.json", tmp_path / "all.jsonl"
    atomr("history", "export", "1", "--format", "json", "--out", str(one))
    assert json.loads(one.read_text(encoding="utf-8")) == trace().to_dict()
    every.write_text(atomr("history", "export", "--all", "--format", "json").out, encoding="utf-8")

    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "elsewhere"))
    assert QUESTION in atomr("history", "import", str(one)).out
    assert atomr("history", "import", str(every)).out.count("(was here)") == 1
    assert ", imported)" in atomr("history", "show", "1").out
    assert json.loads(atomr("history", "show", "2", "--json").out) == trace("Another?").to_dict()

    assert atomr("history", "delete", "1", "--yes").out == "1 deleted\n"
    assert "no question 1" in atomr.refused("history", "show", "1")
    assert "no question 1" in atomr.refused("history", "delete", "2", "1", "--yes")
    assert atomr("history", "delete", "--all", "--yes").out == "1 deleted\n"
    assert json.loads(atomr("history", "list", "--json").out) == []


def test_one_damaged_question_does_not_keep_the_others_from_being_exported(atomr: Atomr) -> None:
    keep(trace(), trace("Another?"))
    with closing(sqlite3.connect(history_file(), isolation_level=None)) as connection:
        connection.execute("UPDATE questions SET trace = x'00' WHERE id = 1")
    printed = atomr("history", "export", "--all", status=1)
    assert "# Another?" in printed.out
    assert "question 1 is damaged" in printed.err
    assert "question 1 is damaged" in atomr.refused("history", "export", "1")
    assert "question 1 is damaged" in atomr.refused("history", "show", "1")
    assert len(atomr("history", "list").out.splitlines()) == 2


def test_what_was_imported_is_shown_clean(atomr: Atomr, tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]52;c;eA==\x07\u202eevil\nNote: forged\u2028\x9b31m"
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(trace(f"Who?{hostile}", hostile).to_dict()), encoding="utf-8")
    for command in (
        ["import", str(file)],
        ["list"],
        ["list", "--json"],
        ["show", "1"],
        ["show", "1", "--json"],
        ["export", "1"],
        ["export", "1", "--format", "json"],
    ):
        out = atomr("history", *command).out
        assert "evil" in out
        assert not {"\x1b", "\x07", "\u202e", "\u2028", "\x9b"} & set(out), command
        if "json" not in " ".join(command[1:]):
            assert [line for line in out.splitlines() if line.startswith("Note: forged")] == [], command


@pytest.mark.parametrize("content", ["", "{}", "[1, 2", '{"schema": "atomr.trace/9"}'])
def test_a_file_that_is_no_trace_is_told_and_nothing_taken_in(atomr: Atomr, tmp_path: Path, content: str) -> None:
    file = tmp_path / "bad.json"
    good = json.dumps(trace().to_dict())
    for text in (content, f"{good}\n{content or '7'}\n"):
        file.write_text(text, encoding="utf-8")
        assert "bad.json" in atomr.refused("history", "import", str(file))
    assert not history_file().exists()
    assert "cannot be read" in atomr.refused("history", "import", str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "0"),
        ("show", "x"),
        ("show", str(2**63)),
        ("export",),
        ("export", "1", "--all"),
        ("export", "1", "--format", "pdf"),
        ("delete", "--yes"),
        ("delete", "1", "--all", "--yes"),
        ("delete", "1"),
        ("delete", "--all"),
        ("list", "--limit", "0"),
    ],
)
def test_wrong_usage_of_history(atomr: Atomr, arguments: tuple[str, ...]) -> None:
    keep(trace())
    assert "Error" in atomr.refused("history", *arguments, status=2)
    with History.open() as history:
        assert history.count() == 1


def test_repair_checks_every_question_and_mends_the_file(atomr: Atomr) -> None:
    with History.open() as history:
        numbers = [history.record(trace(f"{QUESTION} {number}")) for number in range(3)]
    assert atomr("history", "repair").out == "3 questions are kept, all of them intact.\n"
    with closing(sqlite3.connect(history_file(), isolation_level=None)) as connection:
        connection.execute("DELETE FROM questions_search_data WHERE id > 10")
        connection.execute("UPDATE questions SET trace = x'00' WHERE id = ?", (numbers[1],))
    printed = atomr("history", "repair", status=1)
    assert printed.out == "3 questions are kept, 1 of them damaged.\n"
    assert "no question was lost" in printed.err
    assert f"atomr history delete {numbers[1]} --yes" in printed.err
    atomr("history", "delete", str(numbers[1]), "--yes")
    assert atomr("history", "repair").out == "2 questions are kept, all of them intact.\n"


def test_each_command_says_that_an_emptied_file_was_not_new(atomr: Atomr) -> None:
    with History.open() as history:
        history.record(trace())
    history_file().write_bytes(b"")
    printed = atomr("history", "list")
    assert "is empty, though 1 question was kept in it. It is kept as history.damaged-" in printed.err
    assert atomr("history", "list").err == "No questions are kept yet.\n"


def test_a_conversation_is_marked_shown_and_exported_whole(atomr: Atomr, tmp_path: Path) -> None:
    with History.open() as history:
        history.record(Trace("Who wrote Emma?", "atomr", {}, id="a", answers=["Jane Austen"], answer="Jane Austen"))
        history.record(Trace("Another topic?", "atomr", {}, id="z"))
        history.record(
            Trace("and Persuasion?", "atomr", {}, id="b", conversation="a", took_from=["a"],
                  understood_as="Who wrote Persuasion?", answer="Jane Austen", answers=["Jane Austen"])
        )  # fmt: skip
    listed = atomr("history", "list").out.splitlines()
    assert "  ↳ 1  and Persuasion? → Jane Austen" in listed[0]
    assert not any("↳" in line for line in listed[1:])
    assert "taken from: “Who wrote Emma?”" in atomr("history", "show", "3").out
    shown = atomr("history", "show", "3", "--conversation").out
    assert shown.index("1. Who wrote Emma?") < shown.index("3. and Persuasion?")
    assert "Another topic" not in shown
    lines = atomr("history", "show", "1", "--conversation", "--json").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b"]
    exported = atomr("history", "export", "3", "--conversation").out
    assert exported.startswith("# Conversation: Who wrote Emma?\n")
    lines = atomr("history", "export", "3", "--conversation", "--format", "json").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b"]
    atomr.refused("history", "export", "--all", "--conversation", status=2)
