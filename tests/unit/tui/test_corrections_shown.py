"""A step that evidence has corrected or completed is marked everywhere, by a word too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support.grown_steps import grown_trace

from atomr_local.assistant.history.export import to_json, to_markdown
from atomr_local.assistant.history.export import unkept as kept
from atomr_local.assistant.history.trace_import import read_traces
from atomr_local.cli.asking import StepNotes, answer_text
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import Event, NodeFinished
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.reasoning.trace.telling import correction_text
from atomr_local.tui.question.correction import replay
from atomr_local.tui.screens.history.screen import previewed
from atomr_local.tui.widgets.node_panel import verdict
from atomr_local.tui.widgets.reasoning_view import label_of

COMPLETED = "completed: the model did not know"
CORRECTED = "corrected: the model had “G. W. Pabst”"


def trace(before: str | None) -> Trace:
    """Step 2, "Who directed Metropolis?", has been corrected from this."""
    found = grown_trace()
    return replace(
        found, nodes=[replace(node, corrected_from=before) if node.id == 2 else node for node in found.nodes]
    )


@pytest.mark.parametrize(("before", "told"), [("G. W. Pabst", CORRECTED), ("", COMPLETED)])
def test_the_command_line_export_and_history_say_so(before: str, told: str) -> None:
    given = trace(before)
    assert f"follow-up: Who directed Metropolis? → Fritz Lang  ({told}) [e1]" in answer_text(given)
    assert f"→ **Fritz Lang** [2], {told}" in to_markdown([kept(given)])
    console = Console(width=200)
    with console.capture() as shown:
        console.print(previewed(kept(given)))
    assert f"→ Fritz Lang ({told})" in shown.get()


@pytest.mark.parametrize(
    ("before", "mark"), [("G. W. Pabst", "↻ corrected G. W. Pabst"), ("", "↻ completed"), (None, "")]
)
def test_the_tree_marks_the_line_and_strikes_out_what_was_there(before: str | None, mark: str) -> None:
    view = replay(trace(before)).nodes[2]
    label = label_of(view)
    assert label.plain.startswith(f"2 ● follow-up Fritz Lang {mark} ← Who".replace("  ", " "))
    struck = [label.plain[span.start : span.end] for span in label.spans if "strike" in str(span.style)]
    assert struck == ([before] if before else [])
    assert ("↻" in verdict(view).plain) is (before is not None)


def test_progress_says_so() -> None:
    events: list[Event] = []
    grown_trace(sink=events.append)
    notes = StepNotes()
    lines = [
        line
        for event in events
        for line in notes.of(
            replace(event, corrected_from="G. W. Pabst")
            if isinstance(event, NodeFinished) and event.node_id == 2
            else event
        )
    ]
    assert f"… [2] follow-up: Who directed Metropolis? → Fritz Lang ({CORRECTED})" in lines


def test_a_file_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text(to_json([kept(trace("G. W. Pabst"))], several=False), encoding="utf-8")
    [reopened] = read_traces(file)
    assert [node.corrected_from for node in reopened.nodes] == [None, None, "G. W. Pabst", None]
    older = json.loads(file.read_text(encoding="utf-8"))
    for node in older["nodes"]:
        del node["corrected_from"]
    file.write_text(json.dumps(older), encoding="utf-8")
    assert read_traces(file)[0].nodes[2].corrected_from is None


def test_what_was_there_before_is_one_harmless_bounded_line() -> None:
    assert correction_text("a\x1b[2J\n\u202eb") == "corrected: the model had “a b”"
    assert len(correction_text("x" * 10_000)) < 200
    view = replay(trace("a\x1b[2J\n[bold]b" + "x" * 1000)).nodes[2]
    assert "\x1b" not in label_of(view).plain and "[bold]" in label_of(view).plain
    assert len(label_of(view).plain) < 200


def test_a_result_that_nothing_corrected_has_no_mark() -> None:
    assert Result().corrected_from is None
