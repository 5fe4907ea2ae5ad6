"""The benchmark of whole dialogues: what is asked, with which conversation, and what the report says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dialogues as bench
import pytest
from atomr_lab.evaluation.datasets import Prediction, prediction_of, read_records
from support.bench_runs import declined, told, write_run
from training.splits import for_calibration

from atomr_local.errors import InputError
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import Trace


def written(path: Path, corpora: list[str]) -> Path:
    """One dialogue about a page of each corpus; all are kept out of training."""
    asked = (f"Who wrote book {number}?" for number in range(10_000))
    firsts = (text for text in asked if for_calibration({"question": text}, "dialogues"))
    lines = []
    for corpus in corpora:
        turns = [
            {"question": next(firsts), "understood": "Who wrote Emma?", "answer": "Jane Austen"},
            {"question": "thanks", "understood": "thanks", "answer": ""},
            {"question": "her shoe size?", "understood": "What is Jane Austen's shoe size?", "answer": "Unknown"},
            {"question": "born?", "understood": "When was Jane Austen born?", "answer": "1775"},
        ]
        lines.append({"pages": [{"corpus": corpus, "title": "Emma"}], "turns": turns})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_turns_that_ask_something_are_asked_of_their_corpus(tmp_path: Path) -> None:
    path = written(tmp_path / "dialogues.jsonl", ["starter", "hotpot400", "starter"])
    turns = bench.turns_of(path, "starter")
    assert [turn.question.id for turn in turns] == ["1.0", "1.2", "1.3", "3.0", "3.2", "3.3"]
    assert [turn.question.gold for turn in turns[:3]] == [("Jane Austen",), (), ("1775",)]
    assert [turn.question.kind for turn in turns[:3]] == ["first question", "follow-up", "follow-up"]
    assert turns[2].before == ("1.0", "1.2") and turns[3].before == ()
    assert len(bench.turns_of(path, "starter", 1)) == 3 and bench.turns_of(path, "musique") == []


def test_a_dialogue_without_pages_of_its_kind_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "dialogues.jsonl", ["starter"])
    path.write_text(path.read_text().replace('"pages": [', '"pages": ["Emma", '))
    with pytest.raises(InputError, match=':1: "pages" is no list of pages'):
        bench.turns_of(path, "starter")


class Answering:
    """Answers with the question's own words, and keeps what it was asked with."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str], str | None]] = []

    def __call__(self, question: str, *, conversation: Conversation | None, understood: str | None) -> Iterator[Event]:
        before = [turn.question for turn in conversation.turns] if conversation is not None else []
        self.asked.append((question, before, understood))
        answered: dict[str, Any] = {"status": "answered", "answers": [question], "understood_as": f"{question} (meant)"}
        yield Finished(trace=Trace(question=question, strategy="atomr", settings={}, **answered))


@pytest.mark.parametrize("reference", [False, True])
def test_a_turn_is_asked_after_what_the_program_made_of_the_turns_before(tmp_path: Path, reference: bool) -> None:
    turns = bench.turns_of(written(tmp_path / "dialogues.jsonl", ["starter", "starter"]), "starter")
    answering = Answering()
    earlier = Trace(question="q", strategy="atomr", settings={}, status="answered", answers=["a"], understood_as="kept")
    talking = bench.Talking(answering, turns[1:], {"1.0": earlier}, reference)
    for turn in turns[1:]:
        list(talking.ask(turn.question.question))
    assert [before for _, before, _ in answering.asked[:3]] == [["kept"], ["kept", "her shoe size? (meant)"], []]
    assert [understood for _, _, understood in answering.asked] == [
        turn.reference if reference else None for turn in turns[1:]
    ]


def predictions(directory: Path, lines: list[dict[str, Any]]) -> list[Prediction]:
    return [prediction_of(record) for record in read_records(write_run(directory, lines) / "predictions.jsonl")]


def test_the_report_tells_first_questions_from_follow_ups(tmp_path: Path) -> None:
    first, follow = {"kind": "first question"}, {"kind": "follow-up"}
    lines = [told(0.9, True, **first), told(0.8, False, **follow), declined(0.1, True, **follow)]
    text = bench.report({"starter": predictions(tmp_path / "run", lines)})
    assert "first question: 1 with an answer, right guesses 100.0" in text
    assert "follow-up: 2 with an answer, right guesses 50.0" in text and "given as answers 0.0" in text
    assert "- q1 Q1? → Eve; gold: Ann" in text and "q0" not in text


def test_a_folder_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no answers"):
        bench.main(["--out", str(tmp_path), "--table"])
