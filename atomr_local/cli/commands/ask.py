"""`atomr ask`, `atomr plan`, `atomr sources`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from atomr_local.assistant.wishes import argument, flag, option, parameters
from atomr_local.cli.options import (
    ModelOptions,
    StrategyChoice,
    Within,
    assigned_options,
    check_assigned,
    command,
)
from atomr_local.cli.output import announce_remote, given_text, print_json
from atomr_local.errors import AtomrError, InputError, PlanError
from atomr_local.system.sanitize import sanitize, sanitize_line

_PLAN_BYTES = 64 << 20  # a plan may be a whole trace

if TYPE_CHECKING:
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.tree.nodes import Tree


@parameters
class AskWish:
    """A question or a file of them, how it is answered, and what is told."""

    question: str | None = argument(required=False)
    questions_file: str | None = option(
        "Ask the questions in this file, one a line (-: standard input); with --jsonl, print a trace a line.",
        "--file", metavar="FILE",
    )  # fmt: skip
    as_json: bool = flag("Print the trace as JSON.", "--json")
    as_jsonl: bool = flag("Print the events as they happen, one JSON object a line.", "--jsonl")
    plan_file: Path | None = option("Run this plan (compact notation, or the paper's JSON).", "--plan")
    method: StrategyChoice
    part: Within
    guess: bool = flag("If the answer is not found, show the best guess too, marked as a guess.")
    verbose: bool = flag("Tell also what each step thought, did, saw and weighed.")
    fail_if_unknown: bool = flag("Exit with status 3 if the answer is not found (else 0).")
    goes_on: bool = flag(
        "The question follows the last one asked: it may say “her”, “there” or “the other one”.", "--continue"
    )
    no_history: bool = flag("Do not keep this question (see `atomr history`).")
    chosen: ModelOptions


@command()
def ask(wish: AskWish) -> int:
    """Answer one question: the answer, its citations, and the tree with each node's answer.

    If the evidence does not support an answer, the command prints "Not found", the reason, and what to do. A QUESTION
    of - is read from standard input. With --file, questions are asked one after the other, and one that fails does
    not end the others.

    Exit status: 0 done, "not found" included; 1 an error (with --file: of any question); 2 wrong usage; 3 not found,
    with --fail-if-unknown; 130 cancelled.

    Example: atomr ask "Who is the mother of the author of Frankenstein?"
    Then: atomr ask --continue "and her father?"
    In a part of your documents: atomr ask "How much is the hotel limit?" --in hr/ --in after:2024
    """
    if wish.as_json and wish.as_jsonl:
        raise click.UsageError("use either --json or --jsonl")
    if wish.goes_on and wish.plan_file is not None:
        raise click.UsageError("use either --continue or --plan")
    if (wish.question is None) == (wish.questions_file is None):
        raise click.UsageError(
            "give a QUESTION, or --file with questions" if wish.question is None else "use either QUESTION or --file"
        )
    if wish.questions_file is not None and (wish.goes_on or wish.plan_file is not None or wish.as_json):
        raise click.UsageError("--file does not go with --continue, --plan or --json; --jsonl prints a trace a line")
    from atomr_local.assistant.asked import QuestionOptions
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.cli.asking import Asking, ask_all, exit_status, given_question, given_questions

    file = wish.questions_file
    questions = given_questions(file) if file is not None else [given_question(wish.question or "")]
    lines: Literal["events", "traces"] = "events" if file is None else "traces"
    output = "json" if wish.as_json else lines if wish.as_jsonl else "text"
    set_options = assigned_options(wish.method.assigned)
    with Assistant.open(**wish.chosen.overrides(strategies=set_options or None)) as assistant:
        check_assigned(set_options, wish.method.strategy or assistant.settings.strategy)
        announce_remote(assistant.settings)
        way = Asking(
            assistant,
            QuestionOptions(
                strategy=wish.method.strategy,
                plan=_read_plan(wish.plan_file, questions[0]) if wish.plan_file is not None else None,
                plan_origin="file",
                conversation=_conversation() if wish.goes_on else None,
                within=wish.part.within,
            ),
            output=output,
            guess=wish.guess,
            verbose=wish.verbose,
            keep=assistant.settings.history.keep and not wish.no_history,
        )
        if file is not None:
            return ask_all(questions, way, fail_if_unknown=wish.fail_if_unknown)
        return exit_status(way.ask(questions[0]), fail_if_unknown=wish.fail_if_unknown)


def _conversation() -> Conversation:
    """The conversation of the question that was asked last.

    Raises:
        InputError: the history holds no question.
        HistoryError: it cannot be read.
    """
    from atomr_local.assistant.history.store import History, history_file
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
    from atomr_local.assistant.asked import given_plan
    from atomr_local.settings.schema import load_settings
    from atomr_local.tree.errors import TreeError
    from atomr_local.tree.validation import check

    text = given_text(file, _PLAN_BYTES, hint="Give a UTF-8 text file.", refusal=PlanError)
    limits = load_settings().limits.of_plans()
    try:
        tree = given_plan(text, question)
        check(tree, limits)
    except TreeError as error:
        raise PlanError(f"{file}: {error}", hint="See `atomr tree --help` for the two notations.") from error
    return tree


@command()
def plan(
    *,
    question: str = argument(),
    as_json: bool = flag("Print the plan with its origin and attempts as JSON.", "--json"),
    paper: bool = flag("Print the published JSON notation."),
    chosen: ModelOptions,
) -> int:
    """Decompose a question into a reasoning tree, without answering it.

    Example: atomr plan "Who is the father of the director of Jaws?"
    """
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.tree.compact import to_compact
    from atomr_local.tree.paper import to_paper

    with Assistant.open(**chosen.overrides()) as assistant:
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


@command()
def sources(as_json: bool = flag("Print the list as JSON.", "--json")) -> None:
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
