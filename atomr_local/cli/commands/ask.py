"""`atomr ask`, `atomr plan`, `atomr sources`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.cli.options import assigned_options, check_assigned, model_options, overrides, strategy_option
from atomr_local.cli.output import announce_remote, print_json
from atomr_local.cli.terminal import interrupt
from atomr_local.errors import AtomrError, InputError, PlanError
from atomr_local.input_files import read_text
from atomr_local.sanitize import sanitize, sanitize_line

NOT_FOUND_STATUS = 3
_STATUS = {"failed": 1, "cancelled": 130}
_PLAN_BYTES = 64 << 20  # a plan may be a whole trace

if TYPE_CHECKING:
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.tree.nodes import Tree


@click.command()
@click.argument("question")
@click.option("--json", "as_json", is_flag=True, help="Print the trace as JSON.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="Print the events as they happen, one JSON object a line.")
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    help="Run this plan (compact notation, or the paper's JSON).",
)
@click.option("--strategy", metavar="NAME", help="Reasoning method; see `atomr strategies`.")
@strategy_option
@click.option("--guess", is_flag=True, help="If the answer is not found, show the best guess too, marked as a guess.")
@click.option("--verbose", is_flag=True, help="Tell also what each step thought, did, saw and weighed.")
@click.option("--fail-if-unknown", is_flag=True, help="Exit with status 3 if the answer is not found (else 0).")
@click.option(
    "--continue", "goes_on", is_flag=True,
    help="The question follows the last one asked: it may say “her”, “there” or “the other one”.",
)  # fmt: skip
@click.option("--no-history", is_flag=True, help="Do not keep this question (see `atomr history`).")
@model_options
def ask(
    *,
    question: str,
    as_json: bool,
    as_jsonl: bool,
    plan_file: Path | None,
    strategy: str | None,
    assigned: tuple[str, ...],
    guess: bool,
    verbose: bool,
    fail_if_unknown: bool,
    goes_on: bool,
    no_history: bool,
    **options: object,
) -> int:
    """Answer one question: the answer, its citations, and the tree with each node's answer.

    If the evidence does not support an answer, the command prints "Not found", the reason, and what to do.

    Exit status: 0 done, "not found" included; 1 an error; 3 not found, with --fail-if-unknown; 130 cancelled.

    Example: atomr ask "Who is the mother of the author of Frankenstein?"
    Then: atomr ask --continue "and her father?"
    """
    if as_json and as_jsonl:
        raise click.UsageError("use either --json or --jsonl")
    if goes_on and plan_file is not None:
        raise click.UsageError("use either --continue or --plan")
    from atomr_local.assistant import Assistant
    from atomr_local.cli.answer_text import answer_text
    from atomr_local.cli.step_notes import StepNotes
    from atomr_local.history.pending import pending_question

    set_options = assigned_options(assigned)
    with Assistant.open(**overrides(**options, strategies=set_options or None)) as assistant:
        check_assigned(set_options, strategy or assistant.settings.strategy)
        announce_remote(assistant.settings)
        plan = _read_plan(plan_file, question) if plan_file is not None else None
        conversation = _conversation() if goes_on else None
        events = assistant.ask(
            question,
            plan=plan,
            plan_origin="file",
            strategy=strategy,
            conversation=conversation,
        )
        keep = assistant.settings.history.keep and not no_history
        with pending_question(question, strategy or assistant.settings.strategy, keep=keep) as pending:
            with interrupt(assistant.cancel):  # what was found is still printed
                steps = StepNotes()
                for event in events:
                    if as_jsonl:
                        click.echo(json.dumps(event.to_dict(), default=str))
                    elif sys.stderr.isatty():  # a person is watching
                        for line in steps.of(event):
                            click.echo(line, err=True)
            trace = assistant.last_trace
            if trace is None:
                return 130
            try:
                earlier = {turn.trace_id: turn.question for turn in conversation.turns} if conversation else {}
                text = answer_text(trace, guess=guess, earlier=earlier, verbose=verbose)
                _print(trace, text, as_json=as_json, as_jsonl=as_jsonl)
            finally:  # a reader that closed the pipe early has asked all the same
                if keep:
                    from atomr_local.history.recording import record_trace

                    for remark in record_trace(trace, pending)[1]:
                        click.echo(sanitize(remark), err=True)
    return NOT_FOUND_STATUS if fail_if_unknown and trace.status == "unknown" else _STATUS.get(trace.status, 0)


def _conversation() -> Conversation:
    """The conversation of the question that was asked last.

    Raises:
        InputError: the history holds no question.
        HistoryError: it cannot be read.
    """
    from atomr_local.history.store import History, history_file
    from atomr_local.reasoning.conversation import Conversation

    kept = []
    if history_file().exists():
        with History.open() as history:
            kept = history.conversation()
    if not kept:
        raise InputError(
            "there is no earlier question to continue from",
            hint="Ask one without --continue first, and let it be kept in the history (no --no-history).",
        )
    return Conversation.of(item.trace for item in kept)


def _print(trace: Trace, text: str, *, as_json: bool, as_jsonl: bool) -> None:
    from atomr_local.cli.answer_text import departures_text

    if as_json:
        print_json(trace.to_dict())
    elif trace.status == "failed":
        click.echo(sanitize("\n".join(trace.warnings).replace("\n→", "\n  →")), err=True)
        if left := departures_text(trace):
            click.echo(left, err=True)
    elif not as_jsonl:
        click.echo(text)


def _read_plan(file: Path, question: str) -> Tree:
    """The plan in the file: compact text, the paper's JSON, a JSON line of a tree file, or a whole trace.

    Raises:
        PlanError: it cannot be read or is not valid.
    """
    from atomr_local.settings.schema import load_settings
    from atomr_local.tree.compact import parse_compact
    from atomr_local.tree.errors import TreeError
    from atomr_local.tree.paper import load_json, parse_paper
    from atomr_local.tree.validation import check

    try:
        text = read_text(file, _PLAN_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise PlanError(f"{file} cannot be read: {reason}", hint="Give a UTF-8 text file.") from error
    limits = load_settings().limits.of_plans()
    try:
        data = load_json(text) if text.lstrip().startswith("{") else None
        if data is None:
            tree = parse_compact(text, question)
        elif isinstance(data, dict) and isinstance(data.get("plan"), dict):  # a trace
            tree = parse_compact(str(data["plan"].get("compact", "")), question)
        else:
            tree = parse_paper(data.get("reasoning_tree", data) if isinstance(data, dict) else data, question)
        check(tree, limits)
    except TreeError as error:
        raise PlanError(f"{file}: {error}", hint="See `atomr tree --help` for the two notations.") from error
    return tree


@click.command()
@click.argument("question")
@click.option("--json", "as_json", is_flag=True, help="Print the plan with its origin and attempts as JSON.")
@click.option("--paper", is_flag=True, help="Print the published JSON notation.")
@model_options
def plan(question: str, as_json: bool, paper: bool, **options: object) -> int:
    """Decompose a question into a reasoning tree, without answering it.

    Example: atomr plan "Who is the father of the director of Jaws?"
    """
    from atomr_local.assistant import Assistant
    from atomr_local.tree.compact import to_compact
    from atomr_local.tree.paper import to_paper

    with Assistant.open(**overrides(**options)) as assistant:
        announce_remote(assistant.settings)
        ready = assistant.plan(question)
    if as_json:
        print_json(ready.to_dict() | {"reasoning_tree": to_paper(ready.tree)})
    elif paper:
        print_json(to_paper(ready.tree))
    else:
        if ready.origin == "fallback":
            click.echo("No valid plan was found; this is the fallback plan.", err=True)
        click.echo(sanitize(to_compact(ready.tree, with_root=True)).rstrip("\n"))
    return 0


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def sources(as_json: bool) -> None:
    """List the knowledge sources, those of other packages included, and whether the settings use them.

    Example: atomr sources
    """
    from atomr_local.settings.schema import load_settings
    from atomr_local.sources.protocol import SourceName
    from atomr_local.sources.registry import find_source, permitted, switched_names

    settings = load_settings()
    used = permitted(settings.sources, web=settings.web.enabled)
    known: list[dict[str, Any]] = []
    for name in (*switched_names(), SourceName.WEB.value):
        host, problem, ready = "", "", ""
        try:
            found = find_source(name)
            host = found.network
            ready = found.readiness(settings)
        except AtomrError as error:
            problem = error.message
        known.append({"name": name, "used": name in used, "network": host, "ready": ready, "problem": problem})
    if as_json:
        print_json(known)
        return
    for item in known:
        told = f"not usable: {item['problem']}" if item["problem"] else item["ready"]
        told += f" (queries go to {item['network']})" if item["network"] else ""
        click.echo(f"{'on' if item['used'] else 'off':<4} {item['name']:<12} {sanitize_line(told)}")
