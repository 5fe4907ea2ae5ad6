"""A field of a step is declared once, and is then in every form of the step."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace.events import Event, NodeFinished
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.sources.protocol import Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tui.question.correction import replay
from atomr_local.tui.question.state import QuestionState

# The declarations with one more note, in a process of its own, before anything else has imported them.
_ADDED = """
import importlib.util, sys
sys.path[:] = sys.argv[1:]
spec = importlib.util.find_spec("atomr_local.reasoning.trace")
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
source = spec.loader.get_source(spec.name)
declared = 'thought: str = ""'
exec(compile(source.replace(declared, declared + '; mood: str = ""'), spec.origin, "exec"), module.__dict__)
from unit.reasoning.trace.test_one_record import check
check("mood", "glad")
print("checked")
"""
_VALUES = {
    "cited": list[str](), "computation": "2 + 2", "dropped": ["cut"], "error": {"title": "T", "message": "M"},
    "reason": "why", "signals": {"reading": 0.5}, "linked": ["Ann"], "near": ["spouse"], "thought": "so",
    "observation": "seen", "corrected_from": "was",
}  # fmt: skip


def check(name: str, value: object) -> None:
    """The note reaches the event, the trace, their JSON, an imported trace, and the screen, live and replayed."""
    events: list[Event] = []
    recorder = Recorder("Where?", "atomr", {}, events.append)
    steps = Steps(recorder, Cancellation())
    steps.begin("Where?")
    with steps.root("Where?") as step:
        step.result = Result((Value("York"),), "operator", **{name: value})  # type: ignore[arg-type]
    trace, live = recorder.finish(), QuestionState()
    for event in events:
        live.apply(event)
    [ended] = [event for event in events if isinstance(event, NodeFinished)]
    read = parse_trace(json.loads(json.dumps(trace.to_dict())))
    for holder in (ended, trace.node(0), read.node(0), live.nodes[0].result, replay(read).nodes[0].result):
        assert getattr(holder, name) == value
    assert ended.to_dict()[name] == trace.to_dict()["nodes"][0][name] == value


@pytest.mark.parametrize(("name", "value"), _VALUES.items())
def test_every_note_of_a_step_is_in_each_of_its_forms(name: str, value: object) -> None:
    check(name, value)


def test_a_note_that_is_added_to_the_declaration_is_in_each_of_its_forms_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ADDED, *sys.path], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "checked\n", done.stderr
