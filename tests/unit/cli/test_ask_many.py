"""`atomr ask -` and `atomr ask --file`: questions from standard input and from a file."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from support.ann_lee import answer_with
from support.command_line import Atomr
from support.fake_parts import FakeBackbone, reply


@pytest.fixture(autouse=True)
def backbone(monkeypatch: pytest.MonkeyPatch) -> FakeBackbone:
    return answer_with(monkeypatch, FakeBackbone(reply("the sun"), reply(), reply("the moon")))


def typed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


def file_of(tmp_path: Path, content: bytes) -> str:
    file = tmp_path / "questions.txt"
    file.write_bytes(content)
    return str(file)


@pytest.fixture
def atomr(capsys: pytest.CaptureFixture[str]) -> Atomr:
    return Atomr(capsys, "ask", "--strategy", "closed-book", "--no-history")


def test_a_question_comes_from_standard_input(atomr: Atomr, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"What shines\nby day?\n")
    assert json.loads(atomr("-", "--json").out)["question"] == "What shines by day?"


def test_a_file_of_questions_gives_a_trace_a_line(atomr: Atomr, tmp_path: Path) -> None:
    file = file_of(tmp_path, "\ufeffWhat shines?\n\n  What is dark?  \r\nWhat shines at night?".encode())
    found = [json.loads(line) for line in atomr("--file", file, "--jsonl").out.splitlines()]
    assert [item["question"] for item in found] == ["What shines?", "What is dark?", "What shines at night?"]
    assert [item["status"] for item in found] == ["answered", "unknown", "answered"]


def test_answers_as_text_stand_below_their_questions(atomr: Atomr, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"What shines?\nWhat is dark?\n")
    first, second = atomr("--file", "-").out.split("\nWhat is dark?\n")
    assert first.startswith("What shines?\n")
    assert "the sun" in first
    assert "Not found" in second


def test_a_question_that_fails_does_not_end_the_others(atomr: Atomr, tmp_path: Path, backbone: FakeBackbone) -> None:
    backbone.replies[1:2] = [RuntimeError("broken")]
    file = file_of(tmp_path, b"What shines?\nWhat breaks?\n" + b"x" * 3000 + b"\nWhat shines at night?\n")
    captured = atomr("--file", file, "--jsonl", status=1)
    assert [json.loads(line)["status"] for line in captured.out.splitlines()] == ["answered", "failed", "answered"]
    assert "3000 characters" in captured.err


def test_not_found_is_a_status_if_wanted(atomr: Atomr, tmp_path: Path) -> None:
    atomr("--file", file_of(tmp_path, b"What shines?\nWhat is dark?\n"), "--fail-if-unknown", status=3)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give a QUESTION"),
        (("Who?", "--file", "x"), "either QUESTION or --file"),
        (("--file", "x", "--json"), "--file does not go with"),
        (("--file", "x", "--continue"), "--file does not go with"),
    ],
)
def test_wrong_usage_is_told(atomr: Atomr, arguments: tuple[str, ...], told: str) -> None:
    assert told in atomr(*arguments, status=2).err


@pytest.mark.parametrize(("content", "told"), [(b"\n \n", "no question"), (b"\xff\xfeW", "not UTF-8")])
def test_a_file_that_cannot_be_used_is_told(atomr: Atomr, tmp_path: Path, content: bytes, told: str) -> None:
    assert told in atomr("--file", file_of(tmp_path, content), status=1).err


def test_a_missing_file_and_a_broken_input_are_told(atomr: Atomr, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cannot be read" in atomr("--file", "/nowhere/questions.txt", status=1).err
    typed(monkeypatch, b"\xff\xff")
    assert "standard input is not UTF-8" in atomr("-", status=1).err
