"""What the check of frozen behaviour finds, how it says so, and what it does not look at."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from frozen_parts.cases import Case, Run, compare, difference, keep, read_lines, write_lines
from frozen_parts.replaying import NotRecorded, ReplayingBackbone, ReplayingEmbedder, Replies, Vectors
from frozen_parts.telling import Masks, lines_of
from support.fake_parts import FakeBackbone, Told
from support.places import ROOT
from support.script_loader import load_script

from atomr_local.models.protocol import Choice, GenerationRequest, Message, Prompt

INSTRUCTIONS = "Answer the question.\nUse the passages only."
PASSAGES = "Passage: Metropolis is a film by Fritz Lang.\nQuestion: {}"


def request(question: str, **changed: object) -> GenerationRequest:
    prompt = Prompt((Message("system", INSTRUCTIONS),), (Message("user", PASSAGES.format(question)),))
    return GenerationRequest(prompt, **({"max_tokens": 20, "output": Choice(("yes", "no"))} | changed))


def recorded(folder: Path, *questions: str) -> Replies:
    """What is recorded of a model that was asked these questions."""
    file = folder / "replies.jsonl.xz"
    backbone = ReplayingBackbone(Replies.read(file), lambda: FakeBackbone(*(["Fritz Lang"] * len(questions))))
    for question in questions:
        backbone.generate(request(question))
        backbone.count_tokens(request(question).prompt)
    backbone._record.write()
    return Replies.read(file)


def run(folder: Path) -> Run:
    return Run(False, folder, folder)


def test_a_changed_prompt_is_told_with_its_first_different_line(tmp_path: Path) -> None:
    backbone = ReplayingBackbone(recorded(tmp_path, "Who directed Metropolis?", "Is it a film?"))
    assert backbone.generate(request("Is it a film?")).text == "Fritz Lang"
    with pytest.raises(NotRecorded):
        backbone.generate(request("Who directed Metropolis then?"))
    told = backbone.unknown.splitlines()
    assert told[0] == "a prompt that is not recorded, line 4 of the nearest one"
    assert told[1] == "  recorded: user: Question: Who directed Metropolis?"
    assert told[2] == "  now:      user: Question: Who directed Metropolis then?"


def test_a_prompt_that_goes_on_is_told_too(tmp_path: Path) -> None:
    backbone = ReplayingBackbone(recorded(tmp_path, "Who directed Metropolis?"))
    with pytest.raises(NotRecorded, match="line 5 is there only in the one now: user: Be short"):
        backbone.generate(request("Who directed Metropolis?\nBe short."))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"max_tokens": 21}, "another max_tokens"),
        ({"seed": 4}, "another seed"),
        ({"temperature": 0.5}, "another temperature"),
        ({"stop": ("\n",)}, "another stop"),
        ({"output": Choice(("yes", "no", "perhaps"))}, "another grammar"),
        ({"output": None}, "another output"),
        ({"watch": ("yes",)}, "another watch"),
        ({"task": "point"}, "another task"),
    ],
)
def test_everything_that_decides_a_reply_is_part_of_the_request(
    tmp_path: Path, changed: dict[str, object], told: str
) -> None:
    backbone = ReplayingBackbone(recorded(tmp_path, "Is it a film?"))
    with pytest.raises(NotRecorded):
        backbone.generate(request("Is it a film?", **changed))
    assert backbone.unknown.startswith(f"a recorded prompt with {told}")


def test_what_changes_the_speed_alone_is_not(tmp_path: Path) -> None:
    backbone = ReplayingBackbone(recorded(tmp_path, "Is it a film?"))
    assert backbone.generate(request("Is it a film?", lookup_texts=("a film",))).text == "Fritz Lang"
    assert backbone.unknown == ""


def test_a_reply_comes_again_as_the_recording_run_saw_it(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl.xz"
    heard: list[str] = []
    asked = request("Is it?", watch=("yes", "no"), on_text=heard.append)
    first = ReplayingBackbone(Replies.read(file), lambda: FakeBackbone(Told("It is one.", 0.87654321, 0.5, 0.25)))
    reply = first.generate(asked)
    first._record.write()
    again = ReplayingBackbone(Replies.read(file)).generate(asked)
    assert again == reply
    assert heard == ["It", " is", " one."] * 2
    assert again.tokens[0].logprob == pytest.approx(math.log(0.87654321), abs=1e-4)
    assert again.seconds == 0.0 and again.evaluated_tokens == again.prompt_tokens


def test_of_texts_that_are_not_ours_digests_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "shared.xz"
    first = ReplayingBackbone(Replies.read(file, digested=True), lambda: FakeBackbone("yes"))
    first.generate(request("Is it a film?"))
    first._record.write()
    assert "Metropolis" not in json.dumps(read_lines(file))
    backbone = ReplayingBackbone(Replies.read(file, digested=True))
    assert backbone.generate(request("Is it a film?")).text == "yes"
    with pytest.raises(NotRecorded):
        backbone.generate(request("Is it long?"))
    assert backbone.unknown.splitlines() == [
        "a prompt that is not recorded, line 4 of the nearest one",
        "  recorded: (a text that is not kept)",
        "  now:      user: Question: Is it long?",
    ]


def test_what_was_not_asked_again_is_not_kept(tmp_path: Path) -> None:
    record = recorded(tmp_path, "Is it a film?", "Is it long?")
    ReplayingBackbone(record).generate(request("Is it long?"))
    record.write()
    assert len(Replies.read(record.file).replies) == 1


def test_a_changed_answer_is_told_by_its_question(tmp_path: Path) -> None:
    answers = {"Who directed Metropolis?": "Fritz Lang", "Who was his father?": "Anton Lang"}

    def cases(given: dict[str, str]) -> list[Case]:
        hidden = Masks()
        return [
            Case(f"starter/{question}", lines_of({"trace": {"answers": [answer], "long": "x" * 200}}, hidden))
            for question, answer in given.items()
        ]

    keep(tmp_path / "kept.xz", cases(answers))
    assert not compare(tmp_path / "kept.xz", run(tmp_path), cases(answers)).differences
    found = compare(tmp_path / "kept.xz", run(tmp_path), cases(answers | {"Who was his father?": "Otto Lang"}))
    [(name, told)] = found.differences.items()
    assert (name, found.same) == ("starter/Who was his father?", 1)
    assert told.splitlines() == [
        "line 3, in trace",
        '  recorded: answers: ["Anton Lang"]',
        '  now:      answers: ["Otto Lang"]',
    ]


def test_cases_that_are_new_gone_or_cannot_be_made_here(tmp_path: Path) -> None:
    keep(tmp_path / "kept.xz", [Case("a/1", ("x",)), Case("b/1", ("x",)), Case("c/1", ("x",))])
    here = run(tmp_path)
    here.skipped["c/"] = "no data"
    found = compare(tmp_path / "kept.xz", here, [Case("a/1", ("x",)), Case("a/2", ("y",)), Case("a/3", (), "it broke")])
    assert found.left_out == 1
    assert found.differences == {
        "a/2": "it is not recorded",
        "a/3": "it broke",
        "b/1": "it is recorded, and was not made now",
    }


def test_a_case_with_a_problem_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a/1: it broke"):
        keep(tmp_path / "kept.xz", [Case("a/1", (), "it broke")])
    with pytest.raises(ValueError, match="two of this name"):
        keep(tmp_path / "kept.xz", [Case("a/1", ()), Case("a/1", ())])


def test_a_difference_far_inside_a_long_line_is_shown() -> None:
    told = difference(["a" * 500 + "x" + "b" * 500], ["a" * 500 + "y" + "b" * 500])
    assert "x" in told.splitlines()[1] and "y" in told.splitlines()[2]
    assert all(len(line) < 200 for line in told.splitlines())


def test_numbers_may_differ_where_processors_round_otherwise_and_not_more() -> None:
    assert difference(["score: 0.123456, 3"], ["score: 0.123457, 3"]) == ""
    assert difference(["score: 0.1234"], ["score: 0.1235"])
    assert difference(["calls: 3"], ["calls: 4"])


def test_masks_hide_ids_durations_times_and_folders_only(tmp_path: Path) -> None:
    hidden = Masks({"home": tmp_path, "inner": tmp_path / "deep"}, {"version": "0.1.0"})
    given = {
        "id": "0123456789abcdef" * 2,
        "evidence": "e1",
        "completion": "chatcmpl-18ec049145dc7bb5",
        "seconds": 1.25,
        "born": "1890-12-05",
        "at": "2026-11-27T21:24:42+00:00",
        "file": f"{tmp_path}/deep/a.txt",
        "version": "atomr 0.1.0",
        "sha256": "ab" * 32,
        "confidence": 0.123456789,
        "calls": 4,
        "sure": True,
        "none": None,
    }
    assert hidden.value(given) == given | {
        "id": "<id>",
        "completion": "chatcmpl-<id>",
        "seconds": "<duration>",
        "at": "<time>",
        "file": "<inner>/a.txt",
        "version": "atomr <version>",
        "confidence": 0.123457,
    }


def test_long_texts_have_their_own_lines() -> None:
    assert lines_of({"a": [1, 2], "prompt": "one\ntwo", "list": [{"b": "x" * 120}]}, Masks()) == (
        "{",
        " a: [1, 2]",
        " prompt: |",
        "  one",
        "  two",
        " list: [",
        "  {",
        f'   b: "{"x" * 120}"',
    )


def test_the_same_records_are_the_same_bytes(tmp_path: Path) -> None:
    records = [["a", {"b": [1.5, None, "é"]}], ["c"]]
    for name in ("one.xz", "two.xz"):
        write_lines(tmp_path / name, records)
    assert (tmp_path / "one.xz").read_bytes() == (tmp_path / "two.xz").read_bytes()
    assert read_lines(tmp_path / "one.xz") == json.loads(json.dumps(records))
    assert read_lines(tmp_path / "absent.xz") == []


def test_a_vector_comes_back_near_what_it_was(tmp_path: Path) -> None:
    class Real:
        def encode(self, texts: list[str]) -> np.ndarray:
            vectors = np.random.default_rng(len(texts)).normal(size=(len(texts), 384)).astype(np.float32)
            return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    vectors = Vectors(tmp_path / "vectors.xz")
    first = ReplayingEmbedder(vectors, Real).encode(["a", "b"])
    vectors.write()
    replayed = ReplayingEmbedder(Vectors(tmp_path / "vectors.xz"))
    np.testing.assert_array_equal(replayed.encode(["a", "b"]), first)
    np.testing.assert_allclose((first * Real().encode(["a", "b"])).sum(axis=1), 1.0, atol=0.03)
    with pytest.raises(NotRecorded):
        replayed.encode(["a", "something else"])
    assert "something else" in replayed.unknown


def test_every_part_is_recorded_and_told() -> None:
    frozen = load_script("frozen")
    assert frozen.__doc__ is not None
    for part in frozen.PARTS:
        assert (ROOT / "tests" / "frozen" / f"{part}.jsonl.xz").is_file()
        assert f"\n    {part} " in frozen.__doc__
        assert callable(frozen.cases_of(part))


def test_a_part_that_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = load_script("frozen")

    def broken(_run: Run) -> list[Case]:
        raise ImportError("no such name")

    monkeypatch.setattr(frozen, "cases_of", lambda _part: broken)
    outcome, skipped, seconds = frozen.checked("help")
    told = frozen.told("help", outcome, skipped, seconds)
    assert "1 differ" in told and "ImportError: no such name" in told
