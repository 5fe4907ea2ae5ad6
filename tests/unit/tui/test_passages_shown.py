"""The passages that an answer rests on, and those closest to a question without one, in the terminal UI."""

from __future__ import annotations

import pytest
from rich.console import Console
from support.quoting_traces import TEXT, closest_trace, quotation_trace, quoting_trace

from atomr_local.assistant.history.export import unkept
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.tui.question.correction import replay
from atomr_local.tui.screens.history.screen import previewed
from atomr_local.tui.widgets.answer_panel import answer_of


def test_an_answer_shows_the_sentence_it_rests_on() -> None:
    shown = answer_of(replay(quoting_trace()))
    assert shown.startswith("**The answer is cash\\.** [\\[e1\\]](evidence:e1)")
    assert "> The office is open from 9 to 17\\. **Permits are paid in cash\\.**  \n> Bring the following\\:" in shown
    assert ">\n> Permits \\(permits\\.pdf, p\\. 4, Fees\\) [\\[e1\\]](evidence:e1)" in shown


def test_a_quotation_keeps_its_lines() -> None:
    shown = answer_of(replay(quotation_trace()))
    assert shown.startswith("> **Bring the following\\:**  \n> **passport**  \n> **two photos**\n\nPermits ")
    assert shown.count("passport") == 1


def test_without_an_answer_the_closest_passages_come_before_what_to_do() -> None:
    state = replay(closest_trace())
    state.web_key = "f9"
    shown = answer_of(state)
    assert shown.index("Nothing in the text") < shown.index("**Not answered; closest in your documents**")
    assert shown.index("[\\[e2\\]](evidence:e2)") < shown.index("- Turn web search on\\: F9")
    assert "--" not in shown.replace("\\", "") and "`" not in shown.replace("\\", "")


@pytest.mark.parametrize("trace", [closest_trace(), quoting_trace()])
def test_the_history_shows_them_before_the_question_is_opened(trace: Trace) -> None:
    console = Console(width=100, record=True, force_terminal=True)
    console.print(previewed(unkept(trace)))
    shown = console.export_text()
    assert "Permits (permits.pdf, p. 4, Fees)" in shown and "Permits are paid in cash." in shown


def test_a_trace_is_read_and_replayed_with_what_it_quotes() -> None:
    state = replay(quoting_trace())
    result = state.nodes[0].result
    assert result is not None
    start, end = result.quotes[0]["span"]
    assert TEXT[start:end] == "Permits are paid in cash."
