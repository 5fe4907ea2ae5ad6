"""Formats a trace for the terminal: the answer, its citations, and the tree with each node's answer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from atomr_local.cli.output import interrupt, print_json
from atomr_local.errors import AtomrError, InputError
from atomr_local.files import read_text
from atomr_local.reasoning.confidence import NOT_FOUND, confidence_text
from atomr_local.reasoning.trace.events import Event, NodeAdded, NodeFinished, NodeStarted, StageChanged
from atomr_local.reasoning.trace.schema import (
    MISFIT,
    OWN,
    EvidenceTrace,
    NodeTrace,
    Trace,
    check_text,
    computation_text,
    correction_text,
    left_machine,
    taken_from,
    understood,
    warning_text,
)
from atomr_local.reasoning.trace.telling import (
    ShownPassage,
    advice_texts,
    is_stage,
    passages_of,
    step_details,
    step_title,
    winner_text,
)
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.sources.document_places import place_words

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.tree.nodes import Tree


# Asks the questions of `atomr ask`, one or many, and prints what is found.

NOT_FOUND_STATUS = 3
_STATUS = {"failed": 1, "cancelled": 130}
_QUESTIONS_BYTES = 16 << 20


@dataclass(frozen=True)
class Asking:
    """How questions are asked and what is printed.

    Attributes:
        within: the part of the text index that is asked; empty: all of it.
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
    within: Sequence[str] = ()

    def ask(self, question: str) -> Trace | None:
        """Ask it, print what is found, and keep it; None if it was interrupted before it began.

        Raises:
            AtomrError: it cannot be asked.
        """
        from atomr_local.history.pending import pending_question
        from atomr_local.reasoning.trace.events import Finished

        assistant, conversation = self.assistant, self.conversation
        events = assistant.ask(
            question,
            plan=self.plan,
            plan_origin="file",
            strategy=self.strategy,
            conversation=conversation,
            within=self.within,
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
                    from atomr_local.history.store import record_trace

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


_PASSAGE = 160
_STEP = re.compile(r"step (\d+): (.*)")


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
    heading, passages = passages_of(trace)
    quotation = trace.answer_kind == "quotation"
    lines = _not_found(trace, guess, heading, passages) if declined else _answer(trace, passages if quotation else ())
    if meant := understood(trace):
        lines += ["", f"Understood as: {meant}"]
        lines += [f"  taken from: “{question}”" for question in taken_from(trace, earlier or {})]
    root = next((node for node in trace.nodes if node.parent is None), None)
    cited = root.cited if root is not None and (guess or not declined) else []
    by_id = {item.id: item for item in trace.evidence}
    if cited:
        lines += ["", "Evidence of the guess" if declined else "Evidence"]
        quoted = {} if declined else {one.evidence: [] if quotation else one.lines for one in passages}
        for item in (by_id[item] for item in cited if item in by_id):
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
    lines += [f"Note: {warning}" for warning in _folded(trace.warnings)]
    if text := departures_text(trace):
        lines += ["", text]
    return "\n".join(lines)


def _answer(trace: Trace, quoted: Iterable[ShownPassage]) -> list[str]:
    """The answer; a quotation as a block with its source below."""
    if sources := ", ".join(passage.source for passage in quoted):
        block = [f"  │ {line.rstrip()}".rstrip() for line in sanitize(trace.answer).splitlines()]
        return [*block, _sure(f"  {sources}", trace.confidence)]
    said = sanitize_line(trace.answer)
    return [f"{said}  ({OWN})" if trace.by_user else _sure(said, trace.confidence)]


def _not_found(trace: Trace, guess: bool, heading: str, closest: Iterable[ShownPassage]) -> list[str]:
    """Why there is no answer, what comes closest, what to do about it, and the guess or where it is."""
    lines = [f"{NOT_FOUND.capitalize()}: {sanitize_line(trace.reason)}"]
    if near := [line for one in closest for line in (f"  {one.source}", *(f"    {text}" for text in one.lines))]:
        lines += ["", heading, *near, ""]
    lines += [f"  → {sanitize_line(item)}" for item in advice_texts(trace.advised, trace.advice)]
    if trace.guess is None or not trace.guess.answers:
        return lines
    if not guess:
        return [*lines, "  There is a guess: --guess shows it."]
    whence = " from the model's own knowledge" if trace.guess.basis == "model" else ""
    text = f"A guess{whence}, not an answer: {sanitize_line(trace.guess.text)}"
    return [*lines, "", _sure(text, trace.guess.confidence)]


def _sure(text: str, confidence: float | None) -> str:
    return f"{text}  ({confidence_text(confidence)})" if confidence is not None else text


def departures_text(trace: Trace) -> str:
    """What was sent to other machines, on one line; empty if nothing was."""
    text = sanitize_line(left_machine(trace.left_machine))
    return f"Left the machine: {text}" if text else ""


def _folded(warnings: list[str]) -> list[str]:
    """Each warning once, with the steps that met it: an unreachable source fails in every one of them."""
    steps: dict[str, list[str]] = {}
    for warning in map(sanitize_line, map(warning_text, warnings)):
        match = _STEP.fullmatch(warning)
        steps.setdefault(match[2] if match else warning, []).extend([match[1]] if match else [])
    return [
        f"step{'s' if len(numbers) > 1 else ''} {', '.join(dict.fromkeys(numbers))}: {text}" if numbers else text
        for text, numbers in steps.items()
    ]


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
    lost = node.outcome == "not found"
    cited = "".join(f" [{item}]" for item in node.cited) if node.cited and depth and not lost else ""
    computed = node.method in ("symbolic", "computed")
    how = f"  ({sanitize_line(computation_text(node.computation))})" if computed and node.computation else ""
    label = f"{node.id}. " if node.parent is not None else ""
    error = f"  ! {sanitize_line(node.error['message'])}" if node.error else ""
    title = step_title(node, node.label, node.resolved_question)
    line = f"  {'  ' * depth}{label}{title} → "
    if is_stage(node, node.label, node.question):
        lines = [line.removesuffix(" → ") + cited + error]
    elif lost:
        text = f"  (a guess: {sanitize_line(node.answer)})" if guess and node.answers else ""
        lines = [f"{line}{NOT_FOUND}{text}{error}"]
    else:
        whence = f"  ({OWN})" if trace.is_given(node) else ""
        misfit = f"  ({MISFIT})" if node.misfit else ""
        if node.outcome == "memory":
            whence = "  (from the model's own knowledge)"
        elif node.corrected_from is not None:
            whence = f"  ({correction_text(node.corrected_from)})"
        elif origin := winner_text(node):
            whence = f"  ({origin})"
        unsure = f"  ({check_text(node)})" if node.supported is False else ""
        answer = sanitize_line(node.answer or "—")
        lines = [line + answer + how + whence + cited + unsure + misfit + error]
    if verbose:
        lines += [f"      {'  ' * depth}{name}: {text}" for name, text in step_details(node)]
    for child in trace.nodes:
        if child.parent == node.id:
            lines += _branch(trace, child, depth + 1, guess, verbose)
    return lines


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
    title = step_title(event, added.label, added.question)
    if event.error is not None:
        return f"{title} ! {sanitize_line(event.error.get('message', ''))}"
    if is_stage(event, added.label, added.question):
        return title
    found = event.outcome != "not found" and event.answers
    mended = f" ({correction_text(event.corrected_from)})" if found and event.corrected_from is not None else ""
    return f"{title} → {sanitize_line(event.answer) if found else NOT_FOUND}{mended}"
