"""Formats a trace for the terminal: the answer, its citations, and the tree with each node's answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from atomr_local.cli.output import given_text, interrupt, print_json
from atomr_local.errors import AtomrError, InputError
from atomr_local.reasoning.confidence import NOT_FOUND, confidence_text
from atomr_local.reasoning.trace import telling
from atomr_local.reasoning.trace.events import Event, NodeAdded, NodeFinished, NodeStarted, StageChanged
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.sources.document_places import place_words
from atomr_local.system.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from atomr_local.assistant.asked import QuestionOptions
    from atomr_local.assistant.assistant import Assistant


# Asks the questions of `atomr ask`, one or many, and prints what is found.

NOT_FOUND_STATUS = 3
_STATUS = {"failed": 1, "cancelled": 130}
_QUESTIONS_BYTES = 16 << 20
_FILE_HINT = "Give a UTF-8 text file, a question a line."


@dataclass(frozen=True)
class Asking:
    """How questions are asked and what is printed.

    Attributes:
        options: what is said beside each question.
        output: the answer as text, the trace as JSON, the events or the traces a line each.
        keep: in the history.
    """

    assistant: Assistant
    options: QuestionOptions
    output: Literal["text", "json", "events", "traces"]
    guess: bool
    verbose: bool
    keep: bool

    def ask(self, question: str) -> Trace | None:
        """Ask it, print what is found, and keep it; None if it was interrupted before it began.

        Raises:
            AtomrError: it cannot be asked.
        """
        from atomr_local.assistant.history.pending import pending_question
        from atomr_local.reasoning.trace.events import Finished

        assistant, conversation = self.assistant, self.options.get("conversation")
        events = assistant.ask(question, **self.options)
        trace: Trace | None = None
        strategy = self.options.get("strategy") or assistant.settings.strategy
        with pending_question(question, strategy, keep=self.keep) as pending:
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
                    from atomr_local.assistant.history.store import record_trace

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
    text = _standard_input() if file == "-" else given_text(Path(file), _QUESTIONS_BYTES, hint=_FILE_HINT)
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise InputError("there is no question to ask", hint=_FILE_HINT)
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

    if output == "json":
        print_json(trace.to_dict())
    elif output == "traces":
        click.echo(json.dumps(trace.to_dict(), default=str))
    elif trace.status == "failed":
        click.echo(sanitize("\n".join(trace.warnings).replace("\n→", "\n  →")), err=True)
        if left := telling.departures_text(trace):
            click.echo(left, err=True)
    elif output == "text":
        click.echo(text)


_PASSAGE = 160


def answer_text(
    trace: Trace, *, guess: bool = False, earlier: Mapping[str, str] | None = None, verbose: bool = False
) -> str:
    """The whole text, sanitised, without colour; every line from outside is one line.

    Args:
        guess: where the question was declined, show the best guess too, with what it rests on.
        earlier: questions by trace id that this one may have taken something from.
        verbose: tell also what each step thought, did, saw and weighed, and the graph queries of the evidence.
    """
    declined = trace.status == "unknown" and bool(trace.reason)  # earlier versions said it in the answer
    parts = list(telling.told_answer(trace, "command"))
    lines = [line for part in parts for line in _lines(part, trace, guess)]
    if meant := telling.understood(trace):
        lines += ["", f"Understood as: {meant}"]
        lines += [f"  taken from: “{question}”" for question in telling.taken_from(trace, earlier or {})]
    root = telling.root_of(trace)
    if root is not None and root.cited and (guess or not declined):
        lines += ["", "Evidence of the guess" if declined else "Evidence"]
        quoted = {
            one.evidence: one.lines if part.role == "passages" else []
            for part in ([] if declined else parts)
            for one in part.passages
        }
        for item in telling.pieces(trace, root.cited):
            lines.append(f"  {_citation(item, item.id not in quoted)}")
            lines += [f"       {line}" for line in quoted.get(item.id, ())]
            lines += _query(item) if verbose else []
    if own := [f"step {node.id}" for node in trace.nodes if node.by_user]:
        lines += ["", f"Your own answers: {', '.join(own)}"]
    if root is not None and len(trace.nodes) > 1:
        lines += ["", "Tree"]
        lines += _branch(trace, root, 0, guess, verbose)
    if trace.plan.origin == "fallback" and trace.plan.attempts:
        lines += ["", "No valid plan was found: the question was answered directly from what was found."]
    if trace.plan.origin == "example":
        lines += ["", "The plan is one that you kept for this question (`atomr examples`)."]
    lines += [f"Note: {sanitize_line(warning)}" for warning in telling.gathered(trace.warnings)]
    if text := telling.departures_text(trace):
        lines += ["", text]
    return "\n".join(lines)


def _lines(part: telling.Part, trace: Trace, guess: bool) -> Iterator[str]:
    """A part of the answer."""
    match part.role:
        case "answer":
            said = sanitize_line(part.text)
            yield f"{said}  ({telling.OWN})" if trace.by_user else _sure(said, part.confidence)
        case "quotation":
            yield from (f"  │ {line.rstrip()}".rstrip() for line in sanitize(part.text).splitlines())
            yield _sure(f"  {part.source}", part.confidence)
        case "passages" if part.text:
            yield from ("", part.text)
            for passage in part.passages:
                yield from (f"  {passage.source}", *(f"    {line}" for line in passage.lines))
            yield ""
        case "passages":
            pass  # told with the evidence
        case "advice":
            yield from (f"  → {sanitize_line(item)}" for item in part.items)
        case "guess" if guess:
            yield from ("", _sure(part.line, part.confidence))
        case "guess":
            yield "  There is a guess: --guess shows it."
        case _:
            yield part.line


def _sure(text: str, confidence: float | None) -> str:
    return f"{text}  ({confidence_text(confidence)})" if confidence is not None else text


def _citation(item: EvidenceTrace, with_text: bool) -> str:
    text = f": {sanitize_line(item.text)}" if with_text else ""
    if len(text) > _PASSAGE:
        text = text[: _PASSAGE - 1].rstrip() + "…"
    place = f" <{sanitize_line(str(item.locator['url']))}>" if "url" in item.locator else ""
    if words := sanitize_line(place_words(item.locator)):
        place = f" ({words})"
    index = f" ({sanitize_line(str(item.locator['index']))})" if item.locator.get("index") else ""
    return f"[{item.id}] {item.source}{index}: {sanitize_line(item.title)}{text}{place}"


def _query(item: EvidenceTrace) -> list[str]:
    """The graph query of a piece of evidence, and how many rows it gave."""
    if "sparql" not in item.locator:
        return []
    rows = item.locator.get("rows")
    many = [f"       rows: {len(rows)}"] if isinstance(rows, list) else []
    return [f"       query: {sanitize_line(str(item.locator['sparql']))}", *many]


def _branch(trace: Trace, node: NodeTrace, depth: int, guess: bool, verbose: bool) -> list[str]:
    told = telling.remarks(node, given=trace.is_given(node))
    cited = "".join(f" [{item}]" for item in node.cited) if depth and node.outcome != "not found" else ""
    label = f"{node.id}. " if node.parent is not None else ""
    line = f"  {'  ' * depth}{label}{telling.step_title(node, node.label, node.resolved_question)}"
    if telling.is_stage(node, node.label, node.question):
        line += cited
    elif node.outcome == "not found":
        line += f" → {NOT_FOUND}"
        if guess and node.answers:
            line += f"  (a guess: {sanitize_line(node.answer)})"
    else:
        whence = next((role for role in ("memory", "corrected", "won", "own") if role in told), "")
        how, doubts = _in_brackets(told, "computed", whence), _in_brackets(told, "doubt", "misfit")
        line += f" → {sanitize_line(node.answer or '—')}{how}{cited}{doubts}"
    lines = [f"{line}  ! {told['failed']}" if "failed" in told else line]
    if verbose:
        lines += [f"      {'  ' * depth}{name}: {text}" for name, text in telling.step_details(node)]
    for child in trace.nodes:
        if child.parent == node.id:
            lines += _branch(trace, child, depth + 1, guess, verbose)
    return lines


def _in_brackets(told: Mapping[str, str], *roles: str) -> str:
    return "".join(f"  ({told[role]})" for role in roles if role in told)


# Progress of a question on standard error: the steps of a plan as they begin, steps that no plan has as they end.


class StepNotes:
    """The lines for each event, sanitised. What a step without a plan did is known only when it ends."""

    def __init__(self) -> None:
        self._added: dict[int, NodeAdded] = {}

    def of(self, event: Event) -> Iterator[str]:
        match event:
            case StageChanged():
                yield f"… {sanitize_line(event.stage)}"
            case NodeAdded():
                self._added[event.node_id] = event
            case NodeStarted() if event.node_id not in self._added:
                yield f"… [{event.node_id}] {sanitize_line(event.resolved_question)}"
            case NodeFinished() if event.node_id in self._added:
                yield f"… [{event.node_id}] {_ended(event, self._added[event.node_id])}"


def _ended(event: NodeFinished, added: NodeAdded) -> str:
    title = telling.step_title(event, added.label, added.question)
    if event.error is not None:
        return f"{title} ! {sanitize_line(event.error.get('message', ''))}"
    if telling.is_stage(event, added.label, added.question):
        return title
    found = telling.is_found(event)
    mended = f" ({telling.correction_text(event.corrected_from)})" if found and event.corrected_from is not None else ""
    return f"{title} → {sanitize_line(event.answer) if found else NOT_FOUND}{mended}"
