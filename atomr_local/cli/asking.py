"""Asks the questions of `atomr ask`, one or many, and prints what is found."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from atomr_local.cli.output import print_json
from atomr_local.cli.terminal import interrupt
from atomr_local.errors import AtomrError, InputError
from atomr_local.input_files import read_text
from atomr_local.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.tree.nodes import Tree

NOT_FOUND_STATUS = 3
_STATUS = {"failed": 1, "cancelled": 130}
_QUESTIONS_BYTES = 16 << 20


@dataclass(frozen=True)
class Asking:
    """How questions are asked and what is printed.

    Attributes:
        output: the answer as text, the trace as JSON, the events or the traces a line each.
        keep: in the history.
    """

    assistant: Assistant
    strategy: str | None
    plan: Tree | None
    conversation: Conversation | None
    output: Literal["text", "json", "events", "traces"]
    guess: bool
    verbose: bool
    keep: bool

    def ask(self, question: str) -> Trace | None:
        """Ask it, print what is found, and keep it; None if it was interrupted before it began.

        Raises:
            AtomrError: it cannot be asked.
        """
        from atomr_local.cli.answer_text import answer_text
        from atomr_local.cli.step_notes import StepNotes
        from atomr_local.history.pending import pending_question
        from atomr_local.reasoning.trace.events import Finished

        assistant, conversation = self.assistant, self.conversation
        events = assistant.ask(
            question, plan=self.plan, plan_origin="file", strategy=self.strategy, conversation=conversation
        )
        trace: Trace | None = None
        with pending_question(question, self.strategy or assistant.settings.strategy, keep=self.keep) as pending:
            with interrupt(assistant.cancel):  # what was found is still printed
                steps = StepNotes()
                for event in events:
                    if self.output == "events":
                        click.echo(json.dumps(event.to_dict(), default=str))
                    elif sys.stderr.isatty():  # a person is watching
                        for line in steps.of(event):
                            click.echo(line, err=True)
                    if isinstance(event, Finished):
                        trace = event.trace
            if trace is None:
                return None
            try:
                earlier = {turn.trace_id: turn.question for turn in conversation.turns} if conversation else {}
                text = answer_text(trace, guess=self.guess, earlier=earlier, verbose=self.verbose)
                _print(trace, text, self.output)
            finally:  # a reader that closed the pipe early has asked all the same
                if self.keep:
                    from atomr_local.history.recording import record_trace

                    for remark in record_trace(trace, pending)[1]:
                        click.echo(sanitize(remark), err=True)
        return trace


def exit_status(trace: Trace | None, *, fail_if_unknown: bool) -> int:
    """Of the command, for one question."""
    if trace is None:
        return 130
    return NOT_FOUND_STATUS if fail_if_unknown and trace.status == "unknown" else _STATUS.get(trace.status, 0)


def ask_all(questions: Sequence[str], way: Asking, *, fail_if_unknown: bool) -> int:
    """Ask them in turn; the exit status of the worst."""
    found = set()
    for place, question in enumerate(questions):
        if way.output == "text":
            click.echo(f"{chr(10) if place else ''}{sanitize_line(question)}")
        try:
            status = exit_status(way.ask(question), fail_if_unknown=fail_if_unknown)
        except AtomrError as error:
            click.echo(sanitize(f"{question!r:.80}: {error.in_full()}"), err=True)
            status = 1
        found.add(status)
        if status == 130:
            break
    return next((status for status in (130, 1, NOT_FOUND_STATUS) if status in found), 0)


def given_question(given: str) -> str:
    """The question, or what standard input has instead of "-"."""
    return _standard_input() if given == "-" else given


def given_questions(file: str) -> list[str]:
    """The lines of the file that are not empty.

    Raises:
        InputError: it cannot be read, or has no question.
    """
    try:
        text = _standard_input() if file == "-" else read_text(Path(file), _QUESTIONS_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise InputError(
            f"{file} cannot be read: {reason}", hint="Give a UTF-8 text file, a question a line."
        ) from error
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise InputError("there is no question to ask", hint="Give a UTF-8 text file, a question a line.")
    return found


def _standard_input() -> str:
    """All of standard input.

    Raises:
        InputError: it is not UTF-8, or too much.
    """
    read = sys.stdin.buffer.read(_QUESTIONS_BYTES + 1)
    if len(read) > _QUESTIONS_BYTES:
        raise InputError(f"standard input holds more than {_QUESTIONS_BYTES >> 20} MiB of questions")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("standard input is not UTF-8") from error


def _print(trace: Trace, text: str, output: str) -> None:
    from atomr_local.cli.answer_text import departures_text

    if output == "json":
        print_json(trace.to_dict())
    elif output == "traces":
        click.echo(json.dumps(trace.to_dict(), default=str))
    elif trace.status == "failed":
        click.echo(sanitize("\n".join(trace.warnings).replace("\n→", "\n  →")), err=True)
        if left := departures_text(trace):
            click.echo(left, err=True)
    elif output == "text":
        click.echo(text)
