"""What `atomr ask` tells of the steps while it runs."""

from __future__ import annotations

from support.grown_steps import grown_trace
from support.tui.fake_assistant import script

from atomr_local.cli.asking import StepNotes
from atomr_local.reasoning.trace.events import Event


def told(events: list[Event]) -> list[str]:
    notes = StepNotes()
    return [line for event in events for line in notes.of(event)]


def test_steps_that_no_plan_has_are_told_as_they_end() -> None:
    events: list[Event] = []
    grown_trace(sink=events.append)
    assert told(events) == [
        "… reasoning",
        "… [1] round 1: search[Metropolis]",
        "… [2] follow-up: Who directed Metropolis? → Fritz Lang",
        "… [3] round 2: Where was Fritz Lang born? → Vienna",
        "… [0] Where was the director of Metropolis born?",
    ]


def test_steps_of_a_plan_are_told_as_they_begin() -> None:
    assert told(script())[0] == "… [3] What is Metropolis?"


def test_hostile_text_of_a_step_is_one_harmless_line() -> None:
    events: list[Event] = []
    grown_trace(sink=events.append, told="\x1b[2J\u202e\n[bold]")
    lines = told(events)
    assert len(lines) == 5
    assert not any(character in line for line in lines for character in "\x1b\n\u202e")
