"""The trace as others rely on it: its keys, its ids, cancellation, failure, replay. An assistant on fakes."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, entity, passages, reply, rows

from atomr_local.assistant import assistant as assistant_module
from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.errors import InputError, ModelError, PlanError, SettingsError
from atomr_local.reasoning.trace.events import AnswerReady, Event, Finished, NodeStarted, QuestionAsked
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import NodeTrace, Totals, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Value, ValueKind
from atomr_local.tree.compact import parse_compact

QUESTION = "Who is the father of Ann Lee?"
PLAN = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'
# Their names are pinned in support/public_interface.txt.
TRACE, NODE, TOTALS = ({field.name for field in fields(kind)} for kind in (Trace, NodeTrace, Totals))
SETTINGS = {"model", "adapter", "text_index", "graph_index", "sources", "web"}


def make_assistant(*replies: str | Exception) -> Assistant:
    graph = FakeSource("graph", {"Ann Lee": rows("Ann Lee", entity("Ann Lee"))})
    text = FakeSource("text", {"Ann Lee father": passages(("Bob Lee", "Bob Lee is the father of Ann Lee."))})
    assistant = Assistant(load_settings(), FakeBackbone(*replies))  # type: ignore[arg-type]
    assistant.parts.sources = {source.name: source for source in (text, graph)}  # type: ignore[misc]
    return assistant


READ = (PLAN, reply("Bob Lee", evidence=[1]))


def ask(assistant: Assistant, question: str = QUESTION, **options: Any) -> tuple[list[Event], Trace]:
    events = list(assistant.ask(question, **options))
    finished = [event for event in events if isinstance(event, Finished)]
    assert len(finished) == 1 and events[-1] is finished[0]
    assert isinstance(events[0], QuestionAsked)
    return events, finished[0].trace


def check(trace: Trace) -> dict[str, Any]:
    """The trace as JSON, exactly as the contract has it; ids consistent."""
    data: dict[str, Any] = json.loads(json.dumps(trace.to_dict(), allow_nan=False))
    assert set(data) == {"schema", *TRACE}
    assert data["schema"] == "atomr.trace/1"
    assert data["status"] in {"answered", "unknown", "cancelled", "failed"}
    assert data["basis"] in {"evidence", "model"}
    assert set(data["settings"]) >= SETTINGS
    assert set(data["plan"]) == {"compact", "origin", "attempts", "problems"}
    assert set(data["totals"]) == TOTALS
    assert set(data["totals"]["retrievals"]) == {"text", "graph", "web"}
    known = [item["id"] for item in data["evidence"]]
    assert len(known) == len(set(known))
    for item in data["evidence"]:
        assert set(item) == {"id", "source", "title", "text", "score", "query", "locator"}
        assert set(item["locator"]) in ({"passage", "span"}, {"sparql", "rows"}, {"url", "retrieved_at"})
    ids = [node["id"] for node in data["nodes"]]
    assert len(ids) == len(set(ids))
    for node in data["nodes"]:
        assert set(node) == NODE
        assert set(node["llm"]) == {"calls", "prompt_tokens", "evaluated_tokens", "generated_tokens"}
        assert node["kind"] in {"root", "parent", "search", "relate", "filter", "direct", "operation"}
        assert (node["parent"] is None) == (node["id"] == 0)
        assert node["parent"] is None or node["parent"] in ids
        assert set(node["cited"]) <= set(node["evidence"]) <= set(known)
        assert set(node["refs"]) <= set(ids)
        assert node["error"] is None or set(node["error"]) == {"title", "message"}
    return data


def without_times(value: Any) -> Any:
    """The trace without what differs between two runs: times, and its own random id."""
    if isinstance(value, dict):
        own = ("seconds", "id") if "schema" in value else ("seconds",)
        return {key: without_times(item) for key, item in value.items() if key not in own}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_an_answered_question_has_the_whole_contract() -> None:
    events, trace = ask(make_assistant(*READ))
    data = check(trace)
    assert (data["status"], data["basis"], data["answers"]) == ("answered", "evidence", ["Bob Lee"])
    assert data["answer"] == "The answer is Bob Lee."
    assert data["plan"]["origin"] == "model"
    assert data["plan"]["attempts"] == 1
    assert data["totals"]["llm_calls"] == 2
    assert data["totals"]["retrievals"] == {"text": 1, "graph": 2, "web": 0}
    assert [node["arguments"] for node in data["nodes"]] == [[], ["Ann Lee"], [[1], "father"]]
    assert [node["method"] for node in data["nodes"]] == ["child", "operator", "operator"]
    for event in events:
        assert json.loads(json.dumps(event.to_dict(), default=str))["event"]


def test_the_same_question_twice_gives_the_same_trace_and_the_plan_replays() -> None:
    first = check(ask(make_assistant(*READ))[1])
    assert without_times(check(ask(make_assistant(*READ))[1])) == without_times(first)
    plan = parse_compact(first["plan"]["compact"], QUESTION)
    again = check(ask(make_assistant(READ[1]), plan=plan)[1])
    assert without_times(again["nodes"]) == without_times(first["nodes"])
    assert without_times(again["evidence"]) == without_times(first["evidence"])
    assert again["plan"] == first["plan"] | {"origin": "user", "attempts": 0}


def test_from_the_models_own_knowledge_it_says_so() -> None:
    assistant = make_assistant(reply("Paris"))
    data = check(ask(assistant, "What is the capital of France?", strategy="closed-book")[1])
    assert data["basis"] == "model"
    assert data["answer"] == "From the model's own knowledge, not from evidence: Paris."
    assert data["nodes"][0]["method"] == "closed_book"


def test_unknown_is_an_honest_answer() -> None:
    data = check(ask(make_assistant(UNKNOWN), strategy="closed-book")[1])
    assert (data["status"], data["answers"]) == ("unknown", [])


def cancel_after(monkeypatch: pytest.MonkeyPatch, assistant: Assistant, count: int) -> list[Event]:
    """Cancel on the worker's own thread as soon as `count` events were recorded; gives what was recorded."""
    seen: list[Event] = []

    class CancellingRecorder(Recorder):
        def emit(self, event: Event) -> None:
            super().emit(event)
            seen.append(event)
            if len(seen) == count:
                assistant.cancel()

    monkeypatch.setattr(assistant_module, "Recorder", CancellingRecorder)
    return seen


@pytest.mark.parametrize("count", range(2, 30))
def test_cancelling_at_any_event_leaves_a_valid_trace(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    assistant = make_assistant(*READ)
    seen = cancel_after(monkeypatch, assistant, count)
    _, trace = ask(assistant)
    data = check(trace)
    root_started = next((i for i, e in enumerate(seen, 1) if isinstance(e, NodeStarted) and e.node_id == 0), None)
    if root_started is None:
        assert data["status"] == "cancelled"
        assert data["answers"] == []
        assert len(seen) >= count
    else:
        assert count >= root_started  # the chain's last step needed nothing more that could be cancelled
        assert data["status"] == "answered"
    assert [event.status for event in seen if isinstance(event, AnswerReady)] == [data["status"]]


def test_after_a_cancelled_question_the_next_one_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    assistant = make_assistant(*READ)
    cancel_after(monkeypatch, assistant, 3)
    assert ask(assistant)[1].status == "cancelled"
    monkeypatch.undo()
    assistant.parts.backbone.replies = list(READ)  # type: ignore[union-attr]
    assert ask(assistant)[1].status == "answered"


def test_leaving_the_iterator_early_or_never_beginning_it_does_not_block_the_next_question() -> None:
    assistant = make_assistant(*READ)
    iterator = assistant.ask(QUESTION)
    next(iterator)
    with pytest.raises(InputError, match="another question"):
        assistant.ask(QUESTION)
    iterator.close()  # type: ignore[attr-defined]
    assistant.ask(QUESTION)
    assistant.parts.backbone.replies = list(READ)  # type: ignore[union-attr]
    assert ask(assistant)[1].status == "answered"


def test_a_second_question_does_not_take_the_firsts_stop_button() -> None:
    assistant = make_assistant(*READ)
    iterator = assistant.ask(QUESTION)
    next(iterator)
    running = assistant._cancellation
    with pytest.raises(InputError):
        assistant.ask(QUESTION)
    assert assistant._cancellation is running
    assistant.cancel()
    assert isinstance(list(iterator)[-1], Finished)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ModelError("the model broke", hint="Take another."), "Model not usable: the model broke\n→ Take another."),
        (RuntimeError("bug"), "Internal error: RuntimeError: bug"),
    ],
)
def test_a_failure_while_planning_fails_the_question_and_says_why(failure: Exception, told: str) -> None:
    data = check(ask(make_assistant(failure))[1])
    assert data["status"] == "failed"
    assert data["warnings"] == [told]


def test_a_bug_in_the_middle_still_ends_with_a_trace() -> None:
    data = check(ask(make_assistant(PLAN, ZeroDivisionError("oops")))[1])
    assert data["status"] == "failed"
    assert data["nodes"][1]["answers"] == ["Ann Lee"]  # what was found before stays


@pytest.mark.parametrize("question", ["", "  \n\t", "\x1b[2J\x00", "why " * 600])
def test_an_unusable_question_is_refused_at_once(question: str) -> None:
    with pytest.raises(InputError):
        make_assistant().ask(question)


def test_unknown_strategies_and_sources_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="tree-of-doom"):
        make_assistant().ask(QUESTION, strategy="tree-of-doom")
    with pytest.raises(SettingsError, match="sources"):
        make_assistant().ask(QUESTION, sources=["encyclopedia"])


def test_a_computed_comparison_is_in_the_trace() -> None:
    assistant = make_assistant()
    graph = FakeSource(
        "graph",
        {
            "Ann born": rows("Ann", Value("1950-03-01", ValueKind.DATE)),
            "Bob born": rows("Bob", Value("1948-01-01", ValueKind.DATE)),
        },
    )
    assistant.parts.sources = {graph.name: graph}  # type: ignore[dict-item]
    question = "Was Ann or Bob born first?"
    plan = parse_compact(
        '1. When was Ann born? = Relate("Ann", "born")\n2. When was Bob born? = Relate("Bob", "born")\n', question
    )
    data = check(ask(assistant, question, plan=plan, sources=["graph"])[1])
    assert data["answers"] == ["Bob"]
    assert data["nodes"][0]["method"] == "symbolic"
    assert data["nodes"][0]["computation"] == "Bob 1948-01-01 < Ann 1950-03-01"
    assert data["nodes"][0]["cited"] == ["e1", "e2"]
    assert data["settings"]["sources"] == ["graph"]
    assert data["settings"]["text_index"] is None


@pytest.mark.parametrize(
    "plan",
    [
        '1. Who is [1]? = Search("Ann Lee")',
        '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who? = Relate([7], "father")',
        "\n".join(f'{number}. Who? = Search("Ann Lee")' for number in range(1, 60)),
    ],
    ids=["refers to itself", "refers to nothing", "too large"],
)
def test_a_plan_of_another_program_that_breaks_a_rule_is_refused(plan: str) -> None:
    assistant = make_assistant()
    with pytest.raises(PlanError):
        assistant.ask(QUESTION, plan=parse_compact(plan, QUESTION))


def test_a_plan_of_operations_is_told_whole_and_read_again() -> None:
    plan = parse_compact(
        '0. Was Ann Lee\'s father Bob? = Answer(yes/no)\n1. Who is the father of Ann Lee? = Relate("Ann Lee", "father")\n'
        '2. Is [1] Bob Lee? = Is([1], "Bob Lee", "same")'
    )
    _, trace = ask(make_assistant(reply("Bob Lee", evidence=[1]), reply("Yes")), "was bob ann lee's father", plan=plan)
    data = check(trace)
    assert (data["question"], data["understood_as"]) == ("was bob ann lee's father", "Was Ann Lee's father Bob?")
    assert data["expects"] == {"type": "yes/no", "several": False}
    node = data["nodes"][2]
    assert (node["kind"], node["operation"], node["operands"], node["words"]) == (
        "operation",
        "Is",
        [[1], "Bob Lee"],
        ["same"],
    )
    assert parse_trace(data) == trace


def test_a_bracketed_number_of_the_question_is_text() -> None:
    plan = parse_compact('0. What is the father [1] of Ann Lee?\n1. Who is Ann Lee? = Search("Ann Lee")')
    _, trace = ask(make_assistant(reply("Bob Lee"), reply("Bob Lee")), plan=plan)
    assert trace.nodes[0].resolved_question == "What is the father [1] of Ann Lee?"


def test_a_plan_that_leaves_out_a_year_is_run_and_says_so() -> None:
    question = "Who was the father of Ann Lee in 1948?"
    _, trace = ask(make_assistant(PLAN, reply("Bob Lee", evidence=[1])), question)
    assert trace.plan.origin == "model"
    assert trace.plan.problems[-1] == "left out: 1948"
    assert "the plan leaves out 1948" in trace.warnings
    assert len(trace.nodes) > 1


def test_a_question_without_an_answer_has_the_closest_passages() -> None:
    events, trace = ask(make_assistant(PLAN, *[UNKNOWN] * 9))
    data = check(trace)
    assert data["status"] == "unknown"
    assert data["closest"] == [{"evidence": data["closest"][0]["evidence"], "spans": [[0, 33]]}]
    assert trace.evidence[int(data["closest"][0]["evidence"][1:]) - 1].text == "Bob Lee is the father of Ann Lee."
    [ready] = [event for event in events if isinstance(event, AnswerReady)]
    assert list(ready.closest) == trace.closest
    assert [item["kind"] for item in data["advised"]][-1] == "knowledge" and len(data["advised"]) == len(data["advice"])
    assert parse_trace(data) == trace
