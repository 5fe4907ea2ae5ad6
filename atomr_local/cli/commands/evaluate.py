"""`atomr eval`: run, score, report, compare, matrix, table."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local.cli.commands.matrix import matrix, table
from atomr_local.cli.completion import strategy_names
from atomr_local.cli.eval_progress import progress_line
from atomr_local.cli.options import assigned_options, check_assigned, model_options, overrides, strategy_option
from atomr_local.cli.output import announce_remote, print_json
from atomr_local.errors import Cancelled, InputError
from atomr_local.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from atomr_local.evaluation.datasets import Question
    from atomr_local.settings.schema import Settings
    from atomr_local.tree.nodes import Tree

_FILE = click.Path(path_type=Path)
_QUESTIONS = "JSON lines: id, question, answers ([] if there is none); optional: type, kind, answerable."
_GOLD_PLANS = "JSON lines: id, plan (compact). Plans are judged by these instead of by the gold evidences."


@click.group()
def evaluate() -> None:
    """Run and score question sets.

    Example: atomr eval score predictions.jsonl
    """


@evaluate.command()
@click.option("--questions", "questions_file", type=_FILE, required=True, help=_QUESTIONS)
@click.option("--out", type=_FILE, required=True, help="Directory of the run; an existing run is resumed.")
@click.option(
    "-s", "--strategy", metavar="NAME", shell_complete=strategy_names, help="Reasoning method; see `atomr strategies`."
)
@strategy_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask at most N questions.")
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N questions.")
@click.option(
    "--plans",
    "plans_file",
    type=_FILE,
    help="JSON lines: id, plan (compact). Only these questions are asked, with these plans.",
)
@click.option("--gold-plans", type=_FILE, help=_GOLD_PLANS)
@model_options
def run(
    *,
    questions_file: Path,
    out: Path,
    strategy: str | None,
    assigned: tuple[str, ...],
    limit: int | None,
    offset: int,
    plans_file: Path | None,
    gold_plans: Path | None,
    **options: object,
) -> None:
    """Ask a question set and write predictions, traces and a report.

    Run the same command again to resume an interrupted run.

    Example: atomr eval run --questions questions.jsonl --out runs/first --limit 100
    """
    from atomr_local.assistant import Assistant
    from atomr_local.evaluation.datasets import load_questions, read_predictions, summarize
    from atomr_local.evaluation.markdown import write_report
    from atomr_local.evaluation.plan_structure import gold_structures
    from atomr_local.evaluation.report import build_report
    from atomr_local.evaluation.run_directory import PREDICTIONS_FILE, describe_run
    from atomr_local.evaluation.runner import run as run_questions
    from atomr_local.settings.schema import load_settings
    from atomr_local.strategies.options import options_of
    from atomr_local.strategies.registry import find_strategy
    from atomr_local.strategies.requirements import check_needs, check_plan, check_sources

    set_options = assigned_options(assigned)
    settings = load_settings(**overrides(strategy=strategy, **options, strategies=set_options or None))
    check_assigned(set_options, settings.strategy)
    method = find_strategy(settings.strategy)
    options_of(method, settings)
    check_needs(method, settings.sources, settings)
    check_sources(method, settings.sources, settings, web=settings.web.enabled)
    if plans_file is not None:
        check_plan(method)
    if not method.uses_sources:
        settings = settings.model_copy(update={"sources": ()})
    announce_remote(settings)
    questions = load_questions(questions_file, offset=offset, limit=limit)
    if not questions:
        raise InputError(f"{questions_file} has no question after the first {offset}")
    plans = None
    if plans_file is not None:
        plans, questions = _with_plans(plans_file, questions, settings)
    gold_structures(questions, gold_plans)  # report a bad file before hours of work
    description = describe_run(settings, questions_file, plans_file)
    with Assistant.open(settings) as assistant:
        try:
            run_questions(
                assistant,
                questions,
                out,
                description=description,
                plans=plans,
                before=lambda: assistant.preload(lambda stage: click.echo(f"… {sanitize_line(stage)}", err=True)),
                on_progress=progress_line(),
            )
        except Cancelled as cancelled:
            click.echo(cancelled.message, err=True)
            raise
    report = write_report(out, build_report(out, gold_plans))
    click.echo(f"The report is {report}", err=True)
    click.echo(json.dumps(asdict(summarize(read_predictions(out / PREDICTIONS_FILE)))))


@evaluate.command()
@click.argument("predictions", type=_FILE)
def score(predictions: Path) -> None:
    """Score a predictions file: n, EM, cover-EM, F1, F1 of guesses, precision and coverage, in %.

    Each line is a JSON object with "question", "predicted" (empty: declined) and "gold", a list of answers of which any
    is right; "guess" is optional. A question with "answerable": false or an empty "gold" has no answer: it counts in
    precision and coverage alone. Precision is the mean F1 of the answers given.

    Example: atomr eval score predictions.jsonl
    """
    from atomr_local.evaluation.datasets import read_predictions, summarize

    click.echo(json.dumps(asdict(summarize(read_predictions(predictions)))))


@evaluate.command()
@click.argument("directory", type=_FILE)
@click.option("--gold-plans", type=_FILE, help=_GOLD_PLANS)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(directory: Path, gold_plans: Path | None, as_json: bool) -> None:
    """Rebuild the report of a run from its predictions and traces, and print it.

    Example: atomr eval report runs/first
    """
    from atomr_local.evaluation.markdown import report_markdown, write_report
    from atomr_local.evaluation.report import build_report

    built = build_report(directory, gold_plans)
    write_report(directory, built)
    if as_json:
        print_json(built)
    else:
        click.echo(report_markdown(built), nl=False)


@evaluate.command()
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(first: Path, second: Path, as_json: bool) -> None:
    """Compare two runs on the questions that both answered, with paired bootstrap intervals.

    Differences are second minus first, in all and by type of question; then where each run's wrong answers went wrong,
    and which questions the second run answers better or worse.

    Example: atomr eval compare runs/rag runs/atomr
    """
    from atomr_local.evaluation.comparison import compare_runs
    from atomr_local.evaluation.markdown import comparison_markdown

    compared = compare_runs(first, second)
    if as_json:
        print_json(compared)
    else:
        click.echo(sanitize(comparison_markdown(str(first), str(second), compared)), nl=False)


evaluate.add_command(matrix)
evaluate.add_command(table)


def _with_plans(
    plans_file: Path, questions: list[Question], settings: Settings
) -> tuple[dict[str, Tree], list[Question]]:
    """The plans, and those questions that have one."""
    from atomr_local.evaluation.datasets import load_plans

    plans = load_plans(plans_file, questions, settings.limits.of_plans())
    planned = [question for question in questions if question.id in plans]
    if not planned:
        raise InputError(f"{plans_file} has no plan for any of the questions", hint="Plans are matched by id.")
    if len(planned) < len(questions):
        click.echo(f"{len(questions) - len(planned)} questions without a plan are left out", err=True)
    return plans, planned
