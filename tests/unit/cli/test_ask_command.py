"""`atomr ask` and its neighbours as commands: exit status, what goes to which stream, errors without tracebacks."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from support.ann_lee import PLAN, QUESTION, answer_with, knowing, model
from support.command_line import Atomr
from support.fake_parts import FakeBackbone, reply
from support.grown_steps import GROWN_QUESTION, Scripted

from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.assistant.session import Session
from atomr_local.errors import AtomrError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.settings.schema import load_settings
from atomr_local.strategies.registry import STRATEGIES

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> FakeBackbone:
    return answer_with(monkeypatch, model(), *knowing())


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with an index is found beside the loading of a model, which takes seconds."""
    monkeypatch.setattr(Session, "_load_backbone", lambda *_: None)


def test_the_answer_its_evidence_and_the_tree_are_printed_clean(fakes: FakeBackbone, atomr: Atomr) -> None:
    out = atomr("ask", QUESTION).out
    assert out.splitlines()[0].startswith("The answer is Bob Lee.  (well supported, confidence 0.9")
    assert "  [e2] text: Bob Lee: Bob Lee is the father of Ann." in out
    assert "2. Who is the father of Ann Lee? → Bob Lee" in out
    assert "\x1b" not in out and "\x07" not in out


def test_an_option_of_the_strategy_is_set_for_one_question_and_kept_in_the_trace(
    fakes: FakeBackbone, atomr: Atomr
) -> None:
    fakes.replies = [reply("Bob Lee", evidence=[1])]
    trace = json.loads(
        atomr("ask", QUESTION, "--strategy", "rag", "--set", "rag.top_k=9", "--set", "rag.top_k=2", "--json").out
    )
    assert trace["settings"]["options"]["top_k"] == 2
    assert load_settings().strategies == {}


def test_json_prints_the_trace_and_nothing_else(fakes: FakeBackbone, atomr: Atomr) -> None:
    printed = atomr("ask", QUESTION, "--json", "--no-web")
    trace = json.loads(printed.out)
    assert trace["schema"] == "atomr.trace/1"
    assert trace["answers"] == ["Bob Lee"]
    assert trace["settings"]["web"] is False
    assert "\x1b" not in printed.out
    assert printed.err == ""


def test_jsonl_prints_one_event_a_line(fakes: FakeBackbone, atomr: Atomr) -> None:
    lines = [json.loads(line) for line in atomr("ask", QUESTION, "--jsonl").out.splitlines()]
    kinds = [line["event"] for line in lines]
    assert kinds[0] == "question_asked"
    assert kinds[-1] == "finished"
    assert {"plan_fragment", "plan_ready", "node_started", "evidence_found", "model_called", "answer_ready"} <= set(
        kinds
    )


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGIES, Scripted.name, Scripted())


def test_jsonl_tells_steps_as_they_are_added(fakes: FakeBackbone, scripted: None, atomr: Atomr) -> None:
    events = [
        json.loads(line) for line in atomr("ask", "--strategy", "scripted", "--jsonl", GROWN_QUESTION).out.splitlines()
    ]
    added = [event for event in events if event["event"] == "node_added"]
    assert [(event["node_id"], event["parent"], event["label"]) for event in added] == [
        (1, 0, "round 1"), (2, 1, "follow-up"), (3, 0, "round 2"),
    ]  # fmt: skip
    assert next(event for event in events if event["event"] == "plan_ready")["origin"] == "steps"
    ended = {event["node_id"]: event for event in events if event["event"] == "node_finished"}
    assert ended[1]["action"] == {"name": "search", "input": "Metropolis"}
    assert ended[3]["candidates"][0] == {"answer": "Vienna", "score": -0.21, "origin": "text", "evidence": ["e2"]}
    assert parse_trace(events[-1]["trace"]).nodes[3].label == "round 2"


def test_a_grown_tree_is_printed_kept_and_shown_again(fakes: FakeBackbone, scripted: None, atomr: Atomr) -> None:
    printed = atomr("ask", "--strategy", "scripted", "--verbose", GROWN_QUESTION).out
    assert "    1. round 1: search[Metropolis]" in printed
    assert "weighed: Vienna: from the text, rating -0.21" in printed
    shown = atomr("history", "show", "1", "--verbose").out
    assert shown.endswith(printed)
    assert "weighed" not in atomr("history", "show", "1").out


def test_an_unknown_answer_is_no_error_and_a_failure_is_one(atomr: Atomr, fakes: FakeBackbone) -> None:
    fakes.replies = [reply()]
    assert atomr("ask", QUESTION, "--strategy", "closed-book").out.startswith("Not found: ")
    fakes.replies = [reply()]
    assert atomr("ask", QUESTION, "--strategy", "closed-book", "--fail-if-unknown", status=3).err == ""
    fakes.replies = [RuntimeError("a bug")]
    assert "Internal error: RuntimeError: a bug" in atomr.refused("ask", QUESTION, "--strategy", "closed-book")


def test_json_of_a_failed_question_is_still_a_trace(fakes: FakeBackbone, atomr: Atomr) -> None:
    fakes.replies = [RuntimeError("a bug")]
    assert json.loads(atomr("ask", QUESTION, "--json", status=1).out)["status"] == "failed"


def test_ctrl_c_cancels_and_what_was_found_is_printed(
    fakes: FakeBackbone, atomr: Atomr, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel, cancelled = Assistant.cancel, threading.Event()

    def told(self: Assistant) -> None:
        cancel(self)
        cancelled.set()

    def interrupted(_prompt: object) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        assert cancelled.wait(120)  # the main thread takes the signal before the next step
        return PLAN

    monkeypatch.setattr(Assistant, "cancel", told)

    fakes.replies = [interrupted]
    before = signal.getsignal(signal.SIGINT)
    assert json.loads(atomr("ask", QUESTION, "--json", status=130).out)["status"] == "cancelled"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_plan_file_in_either_notation_is_executed(fakes: FakeBackbone, atomr: Atomr, tmp_path: Path) -> None:
    from atomr_local.tree.compact import parse_compact
    from atomr_local.tree.paper import to_paper

    compact, paper = tmp_path / "plan.txt", tmp_path / "plan.json"
    compact.write_text(PLAN, encoding="utf-8")
    paper.write_text(json.dumps(to_paper(parse_compact(PLAN, QUESTION))), encoding="utf-8")
    for file in (compact, paper):
        fakes.replies = [reply("Bob Lee", evidence=[1])]
        assert json.loads(atomr("ask", QUESTION, "--plan", str(file), "--json").out)["plan"]["origin"] == "file"


@pytest.mark.parametrize(
    "content",
    [
        b'1. Who? = Destroy("x")\n',
        b'1. Who is [2]? = Search("[2]")\n2. Who? = Search("x")\n',
        b'{"plan": {"compact": 7}}',
        b"{not json",
        b"{}",
        b"",
        b"\xff\xfe\x00",
        None,
    ],
)
def test_a_wrong_plan_file_is_named(fakes: FakeBackbone, atomr: Atomr, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "plan.txt"
    if content is not None:
        file.write_bytes(content)
    error = atomr.refused("ask", QUESTION, "--plan", str(file))
    assert error.startswith("Plan not valid: ")
    assert "plan.txt" in error
    assert "→ " in error


@pytest.mark.parametrize("question", ["", "   ", "\x1b[2J"])
def test_an_empty_question_is_refused_with_an_example(fakes: FakeBackbone, atomr: Atomr, question: str) -> None:
    error = atomr.refused("ask", question)
    assert error.startswith("Input not usable: the question is empty")
    assert "atomr ask" in error


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_a_model_path_that_does_not_exist(atomr: Atomr, tmp_path: Path, json_flag: list[str]) -> None:
    printed = atomr(
        "ask", QUESTION, "--model", str(tmp_path / "no.gguf"), "--strategy", "closed-book", *json_flag, status=1
    )
    if json_flag:
        assert "no.gguf" in json.loads(printed.out)["warnings"][0]
    else:
        assert "Model not usable" in printed.err and "no.gguf" in printed.err and "\n  → " in printed.err
    assert "Traceback" not in printed.err


def test_a_model_file_that_is_none(atomr: Atomr, tmp_path: Path) -> None:
    file = tmp_path / "text.gguf"
    file.write_text("not a model", encoding="utf-8")
    error = atomr.refused("ask", QUESTION, "--model", str(file), "--strategy", "closed-book")
    assert "text.gguf" in error
    assert "not usable" in error


def test_a_model_name_that_is_unknown_is_told_with_those_at_hand(atomr: Atomr) -> None:
    error = atomr.refused("ask", QUESTION, "--model", "gigantic", "--strategy", "closed-book")
    assert "'gigantic'" in error
    assert "starter" in error


def fake_index(kind: Any, name: str) -> None:
    with publishing.resumable(kind, name) as scratch:
        publishing.publish(scratch, store.Manifest(kind, name, {"entities": 0, "triples": 0, "properties": 0}, []))


def test_a_missing_index_and_several_are_told_with_the_option(no_model: None, atomr: Atomr) -> None:
    graph_only = ("--sources", "graph", "--model", "starter")
    error = atomr.refused("ask", QUESTION, *graph_only, "--graph-index", "nowhere")
    assert "Index not usable: there is no graph index named 'nowhere'" in error
    fake_index("graph", "one")
    fake_index("graph", "two")
    error = atomr.refused("ask", QUESTION, *graph_only)
    assert "several graph indexes are built: one, two" in error
    assert "--graph-index" in error


def test_an_index_name_cannot_leave_the_directory(no_model: None, atomr: Atomr) -> None:
    error = atomr.refused("ask", QUESTION, "--sources", "graph", "--graph-index", "../../etc")
    assert "etc" in error


def test_settings_that_do_not_parse_stop_every_command_that_reads_them(atomr: Atomr, own_home: Path) -> None:
    (own_home / "config.toml").write_text("top_k = 'many'", encoding="utf-8")
    for command in (["ask", QUESTION], ["plan", QUESTION], ["config", "show"]):
        error = atomr.refused(*command)
        assert "Settings not usable: top_k" in error
        assert "config.toml" in error


def test_plan_prints_compact_paper_or_json(fakes: FakeBackbone, atomr: Atomr) -> None:
    fakes.replies = [PLAN] * 3
    assert atomr("plan", QUESTION).out == f"0. {QUESTION}\n{PLAN}"
    assert json.loads(atomr("plan", QUESTION, "--json").out)["origin"] == "model"
    assert QUESTION in atomr("plan", QUESTION, "--paper").out


def test_a_fallback_plan_is_said_to_be_one(fakes: FakeBackbone, atomr: Atomr) -> None:
    fakes.replies = ["no plan", "none again"]
    printed = atomr("plan", QUESTION)
    assert "fallback" in printed.err
    assert printed.out == f"0. {QUESTION}\n"


def test_config_shows_all_but_secrets_and_where_it_lies(
    atomr: Atomr, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMR_ENDPOINT__API_KEY", "hush")
    out = atomr("config", "show").out
    assert json.loads(out)["web"]["enabled"] is False
    assert "hush" not in out
    assert atomr("config", "path").out.strip() == str(own_home.resolve() / "config.toml")


def test_an_error_without_hint_has_no_arrow(capsys: Capture) -> None:
    from atomr_local.cli.main import report

    report(AtomrError("plain"))
    assert capsys.readouterr().err == "Something went wrong: plain\n"
