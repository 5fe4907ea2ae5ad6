"""Plain mode on fakes: what is typed line by line, and what is printed for it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from support.ann_lee import PLAN, QUESTION, assistant_of, knowing, model
from support.fake_parts import FakeBackbone, reply
from support.grown_steps import grown_trace
from support.quoting_traces import closest_trace, quotation_trace, quoting_trace
from support.tui.fake_assistant import FakeAssistant, finished, script

from atomr_local.assistant.assistant import Assistant
from atomr_local.cli.plain import PlainSession, answer_lines
from atomr_local.reasoning.trace.events import Event, Finished, NodeFinished, PlanReady
from atomr_local.reasoning.trace.recorder import Recorder


class Typed:
    """Gives the lines one after the other, then the end of the input; keeps what is printed."""

    def __init__(self, *lines: str | BaseException) -> None:
        self.lines = list(lines)
        self.printed: list[str] = []

    def read(self, prompt: str) -> str:
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        self.printed.append(f"<{line}>")
        return line

    def into(self, assistant: Any) -> None:
        """Run a session of this assistant."""
        PlainSession(assistant, read=self.read, write=self.printed.append).run()

    def after(self, line: str) -> list[str]:
        """What was printed between this line and the next one."""
        start = self.printed.index(f"<{line}>") + 1
        rest = self.printed[start:]
        end = next((place for place, text in enumerate(rest) if text.startswith("<")), len(rest))
        return rest[:end]


def assistant(*replies: Any) -> Assistant:
    return assistant_of(FakeBackbone(*replies) if replies else model(), *knowing())


def session(*lines: str | BaseException, made: Assistant | None = None) -> Typed:
    typed = Typed(*lines)
    with made or assistant() as opened:
        typed.into(opened)
    told = [line for line in typed.printed if not line.startswith("<")]
    assert not any(character in line for line in told for character in "\x1b\n\x07")
    return typed


def test_a_question_is_answered_step_by_step() -> None:
    printed = session(QUESTION).after(QUESTION)
    steps = [line for line in printed if line.startswith("Step ")]
    assert "The question is broken down into 2 steps." in printed
    assert steps[0].startswith("Step 1: Who is Ann Lee? Answer: Ann Lee")
    assert steps[1].startswith("Step 2: Who is the father of Ann Lee? Answer: Bob Lee")
    assert "The answer is Bob Lee." in printed
    assert any(line.startswith("How sure: well supported, confidence 0.") for line in printed)
    assert printed[-1] == "It rests on text: Bob Lee."


def test_steps_and_evidence_are_read_on_request() -> None:
    typed = session(QUESTION, "/tree", "/step 2", "/evidence", "/evidence 1", "/plan")
    assert [line[:7] for line in typed.after("/tree")] == ["Step 1:", "Step 2:"]
    assert "Check: the cited passage contains this answer." in typed.after("/step 2")
    assert "It rests on text: Bob Lee." in typed.after("/step 2")
    assert "Bob Lee is the father of Ann." in typed.after("/evidence")
    assert typed.after("/evidence 1")[0].startswith("Evidence 1 of 1")
    assert '1. Who is Ann Lee? = Search("Ann Lee")' in typed.after("/plan")


def test_a_step_is_corrected_and_what_depends_on_it_runs_again() -> None:
    made = assistant(PLAN, reply("Bob Lee", evidence=[1]))
    typed = session(QUESTION, "/correct 2 Tom Lee; Jim Lee", "/step 2", made=made)
    assert any(line.startswith("Step 2: Who is the father of Ann Lee? Your answer: Tom Lee") for line in typed.printed)
    assert "Your answer: Tom Lee, Jim Lee." in typed.after("/step 2")
    assert "It rests on your answer to step 2." in typed.printed


def test_an_edited_plan_is_run_and_a_wrong_one_is_refused_with_nothing_lost() -> None:
    made = assistant(PLAN, reply("Bob Lee", evidence=[1]), reply("Bob Lee", evidence=[1]))
    typed = session(
        QUESTION,
        "/edit", "1. Who is Ann Lee? = Search(", ".",
        "/edit", ".",
        "/edit", '1. Who is Ann Lee? = Search("Ann Lee")', ".",
        "/tree",
        made=made,
    )  # fmt: skip
    assert any(line.startswith("Plan not usable") or "cannot be read" in line for line in typed.printed)
    assert "The plan is unchanged." in typed.printed
    assert "The question is broken down into 1 step." in typed.printed
    assert [line[:7] for line in typed.after("/tree")] == ["Step 1:"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/step", "a number is missing"),
        ("/step 9", "there is no step 9"),
        ("/step x\x1b[2J", "is no number"),
        ("/step ٣", "is no number"),
        ("/correct 2", "no answer is given"),
        ("/correct 2 ;;", "no answer is given"),
        ("/nothing", "there is no command /nothing"),
        ("/web perhaps", "web is on or off, not perhaps"),
        ("/open 99", "99"),
        ("/export", "no file is named"),
        ("/export /nowhere/answer.md", "there is no directory /nowhere"),
    ],
)
def test_what_cannot_be_done_is_told_and_the_session_goes_on(line: str, told: str) -> None:
    typed = session(QUESTION, line, "/tree")
    assert told in typed.after(line)[0]
    assert len(typed.after("/tree")) == 2


@pytest.mark.parametrize(
    "line", ["/tree", "/step 1", "/evidence", "/guess", "/correct 1 x", "/rerun", "/plan", "/edit"]
)
def test_without_a_question_there_is_nothing_to_show(line: str) -> None:
    assert session(line).after(line)[0] == "Input not usable: no question is open"


def test_a_question_without_an_answer_says_why() -> None:
    typed = session(QUESTION, "/guess", made=assistant(PLAN, *[reply()] * 9))
    assert any(line.startswith("Not found: ") for line in typed.after(QUESTION))
    assert typed.after("/guess") == ["There is no guess."]


def test_empty_lines_and_ctrl_c_at_the_prompt_end_nothing() -> None:
    typed = session("", KeyboardInterrupt(), QUESTION)
    assert typed.after("")[0] == "Type a question, or /help."
    assert "/quit ends the program." in typed.printed
    assert "The answer is Bob Lee." in typed.printed


def test_ctrl_c_stops_the_question_and_not_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made = assistant()
    asked = made.ask

    def ask(*given: Any, **named: Any) -> Any:
        for event in asked(*given, **named):
            if isinstance(event, PlanReady):
                signal.raise_signal(signal.SIGINT)
            yield event

    monkeypatch.setattr(made, "ask", ask)
    before = signal.getsignal(signal.SIGINT)
    typed = session(QUESTION, "/new", made=made)
    assert typed.after(QUESTION)[-1] == "Cancelled."
    assert typed.after("/new") == ["New conversation."]
    assert signal.getsignal(signal.SIGINT) is before


def test_questions_are_kept_listed_and_opened_again(tmp_path: Path) -> None:
    target = tmp_path / "answer.md"
    first = session(QUESTION, "/history", f"/export {target}")
    assert first.after("/history") == [f"1. {QUESTION} The answer is Bob Lee."]
    assert QUESTION in target.read_text()
    second = session("/history", "/open 1", "/evidence")
    assert second.after("/history") == [f"1. {QUESTION} The answer is Bob Lee."]
    assert second.after("/open 1")[:2] == [f"Question: {QUESTION}", "The answer is Bob Lee."]
    assert "Bob Lee is the father of Ann." in second.after("/evidence")


def test_nothing_is_kept_where_the_settings_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HISTORY__KEEP", "false")
    assert session(QUESTION, "/history").after("/history") == ["No questions are kept yet."]


def test_a_later_question_follows_the_earlier_until_a_new_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    made = assistant(PLAN, reply("Bob Lee", evidence=[1]), *[reply()] * 20)
    given: list[int] = []
    asked = made.ask

    def ask(*args: Any, conversation: Any = None, **named: Any) -> Any:
        given.append(len(conversation.turns) if conversation is not None else 0)
        return asked(*args, conversation=None, **named)

    monkeypatch.setattr(made, "ask", ask)
    session(QUESTION, "and her mother?", "/new", "Who is Bob Lee?", made=made)
    assert given[0] == 0 and given[1] == 1 and given[-1] == 0


def test_the_web_is_off_until_it_is_turned_on() -> None:
    made = assistant()
    typed = session("/web", "/web on", "/web off", made=made)
    assert typed.after("/web") == ["Web search is off."]
    assert typed.after("/web on") == ["Web search is on: search words leave this machine."]
    assert typed.after("/web off") == ["Web search is off."]
    assert not made.web_enabled


def test_help_lists_every_command() -> None:
    typed = session("/help")
    named = {word.strip(",:") for line in typed.after("/help")[1:] for word in line.partition(":")[0].split()}
    made = assistant()
    commands = set(PlainSession(made, read=typed.read, write=typed.printed.append)._commands) | {"/quit"}
    assert commands == {word for word in named if word.startswith("/")}


def test_steps_that_no_plan_has_are_told_as_they_are_added_and_as_they_end() -> None:
    events: list[Event] = []
    trace = grown_trace(sink=events.append)
    typed = Typed("Where was he born?", "/tree", "/step 1", "/step 3", "/plan", "/edit")
    fake = FakeAssistant([event for event in events if not isinstance(event, Finished)], trace=trace)
    typed.into(fake)
    told = typed.after("Where was he born?")
    assert told[:8] == [
        "There is no plan: each step follows from the ones before.",
        "Reasoning.",
        "Step 1 is added: round 1: What is Metropolis?",
        "Step 1: round 1: search[Metropolis]",
        "Step 2 is added, part of step 1: follow-up: Who directed Metropolis?",
        "Step 2: follow-up: Who directed Metropolis? Answer: Fritz Lang, well supported.",
        "Step 3 is added: round 2: Where was Fritz Lang born?",
        "Step 3: round 2: Where was Fritz Lang born? Answer: Vienna, well supported.",
    ]
    assert typed.after("/tree")[0] == "Step 1: round 1: search[Metropolis]"
    assert "Thought: I need the director of Metropolis first." in typed.after("/step 1")
    assert "Weighed: Vienna: from the text, rating -0.21" in typed.after("/step 3")
    assert typed.after("/plan") == ["There is no plan."]
    assert typed.after("/edit")[0].endswith("there is no plan to edit: each step followed from the ones before")


def test_the_passage_is_told_a_quotation_line_by_line() -> None:
    assert answer_lines(quoting_trace(), {})[2:] == [
        "It rests on text: Permits (permits.pdf, p. 4, Fees).",
        "The passage says: The office is open from 9 to 17. »Permits are paid in cash.« Bring the following: …",
    ]
    assert answer_lines(quotation_trace(), {}) == [
        "Quotation:",
        "Bring the following:",
        "passport",
        "two photos",
        "How sure: well supported, confidence 0.90.",
        "It rests on text: Permits (permits.pdf, p. 4, Fees).",
    ]


def test_a_guess_of_a_step_is_told_as_not_found_as_it_ends_and_in_the_tree() -> None:
    guess = finished(2, "Vienna", outcome="not found", confidence=0.2)
    events = [guess if isinstance(event, NodeFinished) and event.node_id == 2 else event for event in script()]
    recorder = Recorder("Where was he born?", "atomr", {}, lambda _: None)
    for event in events:
        recorder.emit(event)
    typed = Typed("Where was he born?", "/tree")
    typed.into(FakeAssistant(events, trace=recorder.trace))
    told = "Step 2: Where was Fritz Lang born? Not found."
    assert told in typed.after("Where was he born?")
    assert told in typed.after("/tree")


def test_without_an_answer_the_closest_passages_are_told() -> None:
    lines = answer_lines(closest_trace(), {})
    assert lines[1:3] == ["Not answered; closest in your documents:", "Permits (permits.pdf, p. 4, Fees):"]
    assert lines[5:8] == ["Permits (other.md, line 7):", "»Permits are nice.«", "You can: Turn web search on: /web on."]
    assert not any("--" in line or "F2" in line for line in lines)
