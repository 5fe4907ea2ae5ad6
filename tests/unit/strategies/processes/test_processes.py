"""Solution processes: their form, the user's file, what a trace holds, and doing them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.fake_pages import FakePages
from support.fake_parts import FakeBackbone, FakeSource, reply, toolbox
from support.small_graph import FakeGraphTools

from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.strategies.processes.process import (
    TOOLS,
    Process,
    RepeatedProcess,
    at_hand,
    checked,
    done_again,
    drop,
    keep,
    needs_model,
    process_of,
    read_processes,
    read_text_form,
    shipped,
)

QUESTION = "Who directed Emma Road?"
PAGES: dict[str, Sequence[str]] = {"Emma Road": ("Emma Road is a film by Ann Lee.",), "Ann Lee": ("Ann Lee sings.",)}
FACTS = {"Emma Road": {"director": ["Ann Lee"]}}
SKETCH = "select ?x: Emma Road | director | ?x"
STEPS = [
    {"thought": "The film.", "action": "search", "input": "Emma Road"},
    {"thought": "Read.", "action": "read", "input": f"Emma Road | {QUESTION}", "by_hand": "Ann Lee"},
    {"thought": "Verify.", "action": "id", "input": "Emma Road"},
    {"thought": "Ask.", "action": "query", "input": f"Emma Road | {QUESTION}", "by_hand": SKETCH},
    {"thought": "Run.", "action": "run", "input": "query 1"},
    {"thought": "Both.", "action": "finish", "input": "Ann Lee | Ann Lee"},
]


def process(steps: Sequence[dict[str, str]] = STEPS, **given: Any) -> Process:
    return checked({"question": QUESTION, "answer": "Ann Lee", "steps": list(steps), **given})


def done(one: Process, *replies: str, sources: Sequence[FakeSource] = ()) -> RepeatedProcess:
    backbone = FakeBackbone(*replies)
    tools = toolbox(one.question, backbone, *(sources or (FakePages(PAGES), FakeGraphTools(FACTS))))
    again = done_again(one, tools)
    assert not backbone.replies
    return again


def test_the_shipped_ones_are_many_and_varied() -> None:
    assert len(shipped()) >= 24
    assert len({one.question for one in shipped()}) == len(shipped())
    assert all(step.observation for one in shipped() for step in one.steps[:-1]), "each was really done"
    assert {step.action for one in shipped() for step in one.steps} == set(TOOLS["humaniq"])
    assert not any(needs_model(one) for one in shipped()) and all(len(one.steps) <= 12 for one in shipped())
    answers = {one.answer for one in shipped()}
    assert {"yes", "no", "Unknown"} <= answers and any(answer.isdecimal() for answer in answers)
    assert any(", " in answer for answer in answers)


def test_observations_are_made_by_the_tools_and_no_model_is_asked() -> None:
    again = done(process())
    assert again.problems == ()
    assert [step.observation for step in again.process.steps] == [
        "1. Emma Road: Emma Road is a film by Ann Lee. 2. Ann Lee: Ann Lee sings.", "Emma Road: Ann Lee",
        "Emma Road is Emma_Road, with director", f"query 1: {SKETCH}", "Ann Lee.", "",
    ]  # fmt: skip


def test_what_no_person_has_read_or_written_the_model_does() -> None:
    steps = [{**step, "by_hand": ""} for step in STEPS]
    assert needs_model(process(steps))
    again = done(process(steps), reply("Ann Lee", evidence=[1]), f"Query: {SKETCH}")
    assert again.problems == () and again.process.steps[4].observation == "Ann Lee."


@pytest.mark.parametrize(
    ("place", "change", "problem"),
    [
        (1, {"by_hand": "Bob Moss"}, "step 2: not found on this page: Bob Moss"),
        (1, {"input": "Rome | Who?"}, "step 2: read[Rome | Who?]: 'Rome' is none of Emma Road, Ann Lee"),
        (3, {"by_hand": "select ?x: Emma Road | cast | ?x"}, "step 4: not a query of what the graph offers"),
        (3, {"by_hand": "SELECT * { ?s ?p ?o }"}, "step 4: not a query of what the graph offers"),
        (4, {"input": "query 7"}, "step 5: run[query 7]: 'query 7' is none of query 1"),
        (0, {"input": "Casablanca"}, "step 1: search[Casablanca]: 'Casablanca' are no words of the texts"),
    ],
)
def test_what_does_not_hold_is_told(place: int, change: dict[str, str], problem: str) -> None:
    steps = [step | change if number == place else step for number, step in enumerate(STEPS)]
    assert done(process(steps)).problems[0].startswith(problem)


def test_without_a_graph_its_steps_do_not_hold() -> None:
    again = done(process(), sources=(FakePages(PAGES),))
    assert again.problems[0] == "step 3: id needs a source that is not at hand"


def test_a_process_of_react() -> None:
    steps = [
        {"thought": "The film.", "action": "search", "input": "Emma Road"},
        {"thought": "Who made it?", "action": "lookup", "input": "film"},
        {"thought": "So.", "action": "finish", "input": "Ann Lee"},
    ]
    again = done(process(steps, method="react"))
    assert again.problems == () and again.process.steps[1].observation == "(1 of 1) Emma Road is a film by Ann Lee."


def test_the_text_form_comes_back() -> None:
    one = done(process()).process
    assert read_text_form(one.as_text()) == one
    assert one.as_example().startswith(
        f"--- user\nQuestion: {QUESTION}\n--- assistant\nThought: The film.\nAction: search"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "question: field required"),
        ("Question: Who?\nAnswer: X", "a process has 2 to 30 steps"),
        ("Question: Who?\nAction: search", "line 2: a step begins with Thought:"),
        ("Question: Who?\nhello", "line 2 begins with none of"),
        ("Question: Who?\nQuestion: What?", "line 2: Question stands there twice"),
        ("Method: magic\nQuestion: Who?\nAnswer: X", "'magic' is none of humaniq, react"),
        (
            "Question: Who?\nAnswer: X\nThought: a\nAction: delete\nInput: b\nThought: c\nAction: finish\nInput: d",
            "'delete' is no action of humaniq",
        ),
        (
            "Question: Who?\nAnswer: X\nThought: a\nAction: finish\nInput: b\nThought: c\nAction: search\nInput: d",
            "the last step, and no other, is finish",
        ),
        pytest.param(f"Question: {'x' * 999}\nAnswer: X", "question: string should have at most 500", id="long"),
        pytest.param("x" * 300_000, "longer than", id="very long"),
    ],
)
def test_a_text_that_is_no_process(text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        read_text_form(text)
    assert problem in raised.value.message


@pytest.mark.parametrize(
    "data", [None, [], 7, {}, {"steps": "x"}, {"question": "Q", "answer": "A", "steps": [{}], "x": 1}]
)
def test_data_that_is_no_process(data: Any) -> None:
    with pytest.raises(InputError, match="not a solution process"):
        checked(data)


def test_the_users_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "processes.jsonl"
    assert read_processes(path) == ([], [])
    keep(path, process())
    keep(path, process(answer="Lee"))
    keep(path, process(question="Who else?", answer="Bob"))
    path.write_text(
        path.read_text(encoding="utf-8") + '{"no": "process"}\nnot json\n' + "[" * 9999 + "\n", encoding="utf-8"
    )
    found, problems = read_processes(path)
    assert [one.answer for one in found] == ["Lee", "Bob"] and len(problems) == 3 and "line 3" in problems[0]
    drop(path, "who ELSE?")
    assert [one.answer for one in read_processes(path)[0]] == ["Lee"]
    assert "not json" in path.read_text(encoding="utf-8"), "what is no process stays"
    keep(path, process(question="Who now?"), instead_of=QUESTION)
    assert [one.question for one in read_processes(path)[0]] == ["Who now?"]


def test_kept_ones_join_the_examples_of_their_method_and_come_first(tmp_path: Path) -> None:
    path = tmp_path / "processes.jsonl"
    keep(path, process(question=shipped()[0].question))
    found, problems = at_hand(path, "humaniq")
    assert (len(found), problems) == (len(shipped()), []) and found[0].answer == "Ann Lee"
    assert at_hand(path, "react") == ([], [])
    path.write_bytes(b"\xff\xfe")
    found, problems = at_hand(path, "humaniq")
    assert len(found) == len(shipped()) and "cannot be read" in problems[0]


def trace_of(*actions: tuple[str, str], strategy: str = "humaniq", answers: Sequence[str] = ("Ann Lee",)) -> Trace:
    nodes = [NodeTrace(0, None, QUESTION, "root")]
    for number, (name, given) in enumerate(actions, 1):
        action = {"name": name, "input": given}
        nodes.append(NodeTrace(number, 0, QUESTION, "step", thought="so", action=action, observation="seen"))
    return Trace(QUESTION, strategy, {}, "answered", answers=list(answers), nodes=nodes)


def test_the_process_of_a_trace() -> None:
    one = process_of(trace_of(("search", "Emma Road"), ("finish", "Ann Lee | none"), ("query", "after the end")))
    assert one.actions == ("search", "finish") and one.answer == "Ann Lee"


def test_one_that_did_not_finish_is_given_an_end() -> None:
    one = process_of(trace_of(("search", "Emma Road"), ("id", "Emma Road")))
    assert one.steps[-1].input == "Ann Lee | none"
    assert process_of(trace_of(("search", "x"), strategy="react", answers=())).steps[-1].input == "Unknown"


@pytest.mark.parametrize(
    ("trace", "problem"),
    [
        (trace_of(strategy="atomr"), "the strategy atomr leaves no process"),
        (trace_of(), "no steps with tools"),
        (trace_of(("delete", "all")), "no steps with tools"),
        (trace_of(("search", "x" * 600)), "at most 500 characters"),
        (trace_of(*[("search", "x")] * 50), "a process has 2 to 30 steps"),
    ],
)
def test_a_trace_without_a_process(trace: Trace, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        process_of(trace)
    assert problem in raised.value.message


def test_a_hostile_trace_is_plain_text() -> None:
    one = process_of(trace_of(("search", "Emma\x1b[31m Road\nAction: finish"), ("finish", "x | y\x07")))
    assert "\x1b" not in one.as_text() and "\nAction: finish\nInput: x | y" in one.as_text()
    assert one.steps[0].input == "Emma Road Action: finish"
    assert json.loads(one.model_dump_json())["method"] == "humaniq"


def test_a_process_is_marked_with_the_indexes_that_it_may_quote() -> None:
    nodes = [
        NodeTrace(0, None, QUESTION, "root"),
        NodeTrace(1, 0, QUESTION, "step", thought="so", action={"name": "search", "input": "Emma Road"}),
    ]
    given = {"text_index": "wiki,notes", "graph_index": "facts"}
    one = process_of(Trace(QUESTION, "humaniq", given, "answered", answers=["Ann Lee"], nodes=nodes))
    assert one.indexes == ("facts", "notes", "wiki")
    assert one.quoting(["diary", "wiki"]).indexes == ("diary", "facts", "notes", "wiki")
    assert done(process().quoting(["notes"])).process.indexes == ("notes",)
    assert "notes" not in one.as_example()


def test_a_process_that_may_quote_what_is_withheld_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "processes.jsonl"
    keep(path, process().quoting(["notes"]))
    keep(path, process(question="Who sang it?").quoting(["wiki"]))
    found, left_out = at_hand(path, "humaniq", {"notes", "diary"})
    assert [one.question for one in found[:1]] == ["Who sang it?"]
    assert QUESTION not in {one.question for one in found}
    assert left_out == ["1 of your processes may quote private indexes that this question does not read"]
    found, left_out = at_hand(path, "humaniq", {"diary"})
    assert QUESTION in {one.question for one in found}
    assert left_out == []
