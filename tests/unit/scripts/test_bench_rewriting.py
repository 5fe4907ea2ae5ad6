"""The benchmark of follow-up questions: what is asked, what the program makes of it, what the tables say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rewriting as bench
from support.fake_parts import FakeBackbone
from training.splits import for_calibration

from atomr_local.assistant.model_loading import AdapterSkills
from atomr_local.assistant.session import Session
from atomr_local.errors import InputError
from atomr_local.settings.schema import load_settings


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def dialogue(first: str, *others: tuple[str, str]) -> dict[str, Any]:
    turns = [{"question": first, "understood": first, "answer": "Jane Austen"}]
    return {"turns": turns + [{"question": typed, "understood": meant, "answer": "Unknown"} for typed, meant in others]}


def held_out(count: int) -> list[str]:
    """First questions that are kept out of training."""
    asked = (f"Who wrote book {number}?" for number in range(10_000))
    kept = (text for text in asked if for_calibration({"question": text}, "dialogues"))
    return [next(kept) for _ in range(count)]


def of_canard(dialog: int, *history: str, question: str = "When?", **changed: Any) -> dict[str, Any]:
    line = {"dialog": f"d{dialog}", "page": "Emma", "history": list(history), "question": question,
            "rewrite": f"{question} (Emma)"}  # fmt: skip
    return line | changed


def test_only_dialogues_that_are_kept_out_of_training_are_asked(tmp_path: Path) -> None:
    (first,) = held_out(1)
    trained = next(t for t in map(str, range(99)) if not for_calibration({"question": t}, "dialogues"))
    lines = [dialogue(text, ("and when?", "When was it?"), ("why?", "Why then?")) for text in (trained, first)]
    one, other = bench.ours(written(tmp_path / "dialogues.jsonl", *lines))
    assert (one.typed, one.reference, one.id) == ("and when?", "When was it?", "2.1")
    assert [(turn.question, turn.answer) for turn in other.turns] == [(first, "Jane Austen"), ("When was it?", "")]


def test_of_canard_the_last_tenth_is_asked_with_the_page_named(tmp_path: Path) -> None:
    lines = [of_canard(number, *history) for number in range(20) for history in ((), ("Who?", "Ann"))]
    lines[-2] |= {"question": "Who?", "rewrite": "Who is she?"}
    found = bench.canard(written(tmp_path / "canard.jsonl", *lines))
    assert [item.id for item in found] == ["d18.38", "d19.40"]
    assert [turn.question for turn in found[1].turns] == ["Who is she (Emma)?"], "as it was rightly understood"
    assert (found[0].turns[0].question, found[0].turns[0].answer) == ("Who (Emma)?", "Ann")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"turns": []}', ':1: "turns" is no list'),
        ('{"turns": [{"question": "a"}]}', ':1: "understood" is missing'),
        ('{"turns": [{"question": "a", "understood": "a", "answer": 3}]}', ':1: "answer" is not a string'),
        ("[]", ":1: not a JSON object"),
    ],
)
def test_what_is_no_dialogue_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "dialogues.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=problem):
        bench.ours(path)


def test_what_is_not_canard_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "canard.jsonl", of_canard(1, "Who?"))
    with pytest.raises(InputError, match='"history" is no list of questions and answers'):
        bench.canard(path)
    with pytest.raises(InputError, match='"rewrite" is not a string'):
        bench.canard(written(path, of_canard(1, "Who?", "Ann", rewrite=3)))
    with pytest.raises(InputError, match="none\\.jsonl"):
        bench.canard(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="no follow-up question"):
        bench.chosen([], None)


def test_a_random_part_is_always_the_same_and_grows() -> None:
    asked = [bench.FollowUp(str(number), (), f"q{number}", "") for number in range(30)]
    few = bench.chosen(asked, 5)
    assert few == bench.chosen(asked[::-1], 5) and few == bench.chosen(asked, 9)[:5] and few != asked[:5]


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, replies: list[str], *options: str) -> tuple[int, FakeBackbone]:
    model = FakeBackbone(*replies)
    monkeypatch.setattr(bench, "Session", lambda settings: Session(settings, model))
    known = ["--out", str(tmp_path / "out"), "--data", str(tmp_path)]
    return bench.main([*known, *options, "--", "endpoint.url=http://localhost:1/v1", "endpoint.model=m"]), model


@pytest.fixture
def dialogues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    emma, lake = held_out(2)
    lines = [
        dialogue(emma, ("and her mother?", "Who was Jane Austen's mother?")),
        dialogue(lake, ("How deep is Lake Arn?", "How deep is Lake Arn?")),
    ]
    path = written(tmp_path / "dialogues.jsonl", *lines)
    monkeypatch.setattr(bench, "OURS", path)
    return path


def test_the_programs_own_step_is_scored_and_a_run_is_resumed(
    dialogues: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = bench.chosen(bench.ours(dialogues), None)
    said = {"and her mother?": ["Who was Jane Austen's mother?"], "How deep is Lake Arn?": []}
    status, model = run(monkeypatch, tmp_path, said[first.typed], "--limit", "1")
    shown = capsys.readouterr()
    assert status == 0 and "canard_dev.jsonl is not there" in shown.err
    assert not model.replies
    assert all("Q: Who wrote book" in prompt.messages[-1].content for prompt in model.prompts)
    status, model = run(monkeypatch, tmp_path, said[second.typed])
    shown = capsys.readouterr()
    assert status == 0 and not model.replies, "only the second is asked"
    assert (tmp_path / "out" / "rewriting.md").read_text() == shown.out
    full = "100.0 [100.0, 100.0]"
    assert f"| ours, leaves something out | 1 | rewritten | {full} | {full} | 2 of 2 | 0 | {full} | 0 |" in shown.out
    assert "| ours, leaves something out | 1 | as typed | 0.0 [0.0, 0.0] |" in shown.out
    assert f"| ours, stands alone | 1 | as typed | {full} | {full} | 2 of 2 | 0 | {full} |  |" in shown.out
    assert f"| ours, all | 2 | rewritten | {full} |" in shown.out
    lines = (tmp_path / "out" / "ours" / "predictions.jsonl").read_text().splitlines()
    assert {line["predicted"]: line["took_from"] for line in map(json.loads, lines)} == {
        "Who was Jane Austen's mother?": ["turn1"], "How deep is Lake Arn?": [],
    }  # fmt: skip


def test_what_nobody_said_is_refused(
    dialogues: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    emma, lake = held_out(2)
    why = dialogue(lake, ("why?", "Why did Jane Austen write Emma?"))
    written(dialogues, dialogue(emma, ("and her mother?", "Who was Jane Austen's mother?")), why)
    said = {"and her mother?": "Who was Ada Byron's mother?", "why?": "Why did Ada Byron write Emma?"}
    replies = [said[item.typed] for item in bench.chosen(bench.ours(dialogues), None)]
    assert run(monkeypatch, tmp_path, replies, "--only", "ours")[0] == 0
    shown = capsys.readouterr().out
    assert "| ours, leaves something out | 2 | rewritten | 0.0 [0.0, 0.0] |" in shown
    assert "| 2 of 5 | 0 | 50.0 [0.0, 100.0] | 1 |" in shown, "grammar does without one of them"
    assert "- why? → why? (refused: Why did Ada Byron write Emma?); reference: Why did" in shown


def test_another_run_and_bad_options_are_refused(
    dialogues: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refers = bench.chosen(bench.ours(dialogues), 1)[0].typed == "and her mother?"
    assert run(monkeypatch, tmp_path, ["x?"] * refers, "--limit", "1")[0] == 0
    capsys.readouterr()
    assert run(monkeypatch, tmp_path, [], "--limit", "1")[0] == 0, "all is there already"
    written(dialogues, dialogue(held_out(1)[0], ("why?", "Why?")))
    assert run(monkeypatch, tmp_path, [])[0] == 1
    assert "begun with other settings: questions was" in capsys.readouterr().err
    assert run(monkeypatch, tmp_path, [], "--only", "canard")[0] == 1, "what is asked for by name must be there"
    assert bench.main(["--out", str(tmp_path / "new"), "--table"]) == 1
    assert "holds no rewritings" in capsys.readouterr().err
    assert bench.main(["--out", str(tmp_path / "new"), "--", "top_k"]) == 1
    assert "is no setting" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        bench.main(["--out", str(tmp_path), "--limit", "0"])


def test_a_model_that_has_not_learnt_it_is_told(
    dialogues: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = Session(load_settings(), FakeBackbone())
    parts.skills = AdapterSkills(rewrites=False)
    monkeypatch.setattr(bench, "Session", lambda _: parts)
    options = ["--out", str(tmp_path / "out"), "--only", "ours", "--", "endpoint.url=http://localhost:1/v1"]
    assert bench.main([*options, "endpoint.model=m"]) == 1
    assert "has not learnt to rewrite" in capsys.readouterr().err
