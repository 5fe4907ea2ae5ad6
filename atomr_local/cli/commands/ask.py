"""`atomr ask`, `atomr plan`, `atomr sources`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.cli.completion import strategy_names
from atomr_local.cli.options import assigned_options, check_assigned, model_options, overrides, strategy_option
from atomr_local.cli.output import announce_remote, print_json
from atomr_local.errors import AtomrError, InputError, PlanError
from atomr_local.input_files import read_text
from atomr_local.sanitize import sanitize, sanitize_line

_PLAN_BYTES = 64 << 20  # a plan may be a whole trace

if TYPE_CHECKING:
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.tree.nodes import Tree


@click.command()
@click.argument("question", required=False)
@click.option(
    "--file",
    "questions_file",
    metavar="FILE",
    help="Ask the questions in this file, one a line (-: standard input); with --jsonl, print a trace a line.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the trace as JSON.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="Print the events as they happen, one JSON object a line.")
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    help="Run this plan (compact notation, or the paper's JSON).",
)
@click.option(
    "-s", "--strategy", metavar="NAME", shell_complete=strategy_names, help="Reasoning method; see `atomr strategies`."
)
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
    question: str | None,
    questions_file: str | None,
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

    If the evidence does not support an answer, the command prints "Not found", the reason, and what to do. A QUESTION
    of - is read from standard input. With --file, questions are asked one after the other, and one that fails does
    not end the others.

    Exit status: 0 done, "not found" included; 1 an error (with --file: of any question); 2 wrong usage; 3 not found,
    with --fail-if-unknown; 130 cancelled.

    Example: atomr ask "Who is the mother of the author of Frankenstein?"
    Then: atomr ask --continue "and her father?"
    """
    if as_json and as_jsonl:
        raise click.UsageError("use either --json or --jsonl")
    if goes_on and plan_file is not None:
        raise click.UsageError("use either --continue or --plan")
    if (question is None) == (questions_file is None):
        raise click.UsageError(
            "give a QUESTION, or --file with questions" if question is None else "use either QUESTION or --file"
        )
    if questions_file is not None and (goes_on or plan_file is not None or as_json):
        raise click.UsageError("--file does not go with --continue, --plan or --json; --jsonl prints a trace a line")
    from atomr_local.assistant import Assistant
    from atomr_local.cli.asking import Asking, ask_all, exit_status, given_question, given_questions

    questions = given_questions(questions_file) if questions_file is not None else [given_question(question or "")]
    set_options = assigned_options(assigned)
    with Assistant.open(**overrides(**options, strategies=set_options or None)) as assistant:
        check_assigned(set_options, strategy or assistant.settings.strategy)
        announce_remote(assistant.settings)
        way = Asking(
            assistant,
            strategy,
            plan=_read_plan(plan_file, questions[0]) if plan_file is not None else None,
            conversation=_conversation() if goes_on else None,
            output="json" if as_json else "text" if not as_jsonl else "events" if questions_file is None else "traces",
            guess=guess,
            verbose=verbose,
            keep=assistant.settings.history.keep and not no_history,
        )
        if questions_file is not None:
            return ask_all(questions, way, fail_if_unknown=fail_if_unknown)
        return exit_status(way.ask(questions[0]), fail_if_unknown=fail_if_unknown)


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


def _read_plan(file: Path, question: str) -> Tree:
    """The plan in the file: compact text, the paper's JSON, a JSON line of a tree file, or a whole trace.

    Raises:
        PlanError: it cannot be read or is not valid.
    """
    from atomr_local.asked import given_plan
    from atomr_local.settings.schema import load_settings
    from atomr_local.tree.errors import TreeError
    from atomr_local.tree.validation import check

    try:
        text = read_text(file, _PLAN_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise PlanError(f"{file} cannot be read: {reason}", hint="Give a UTF-8 text file.") from error
    limits = load_settings().limits.of_plans()
    try:
        tree = given_plan(text, question)
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
