"""`atomr eval`: run, score, report, compare, matrix, table."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local.assistant.wishes import option, parameters
from atomr_local.cli.completion import strategy_names
from atomr_local.cli.options import (
    ModelChoice,
    ModelOptions,
    StrategyChoice,
    assigned_options,
    check_assigned,
    command,
    set_option,
)
from atomr_local.cli.output import announce_remote, note, print_json
from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.system.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atomr_lab.evaluation.datasets import Question, QuestionSet, SetsFile
    from atomr_lab.evaluation.matrix import Arm, Cell
    from atomr_lab.evaluation.runs import Progress
    from atomr_local.settings.schema import Settings
    from atomr_local.tree.nodes import Tree


# What `atomr eval` shows while it asks questions.


def progress_line() -> Callable[[Progress], None]:
    """A line for each question on standard error, with the running means of this run."""
    from atomr_lab.evaluation.runs import guessed_answer
    from atomr_local.reasoning.confidence import status_word

    exact: list[float] = []
    overlap: list[float] = []

    def show(progress: Progress) -> None:
        if not exact and progress.resumed:
            click.echo(f"{progress.resumed} of {progress.total} questions are answered already", err=True)
        exact.append(progress.score.em)
        overlap.append(progress.score.f1)
        means = f"EM {100 * sum(exact) / len(exact):.1f} F1 {100 * sum(overlap) / len(overlap):.1f}"
        mark = "✓" if progress.score.em else "✗"
        text = progress.predicted or status_word(progress.trace.status)
        if not progress.predicted and (guess := guessed_answer(progress.trace)):
            text += f" (a guess: {guess})"
        line = f"{progress.question.question} → {text}"
        seconds = progress.trace.totals.seconds
        click.echo(
            f"[{progress.done}/{progress.total}] {means} · {seconds:.1f} s · {mark} {sanitize_line(line)}", err=True
        )

    return show


# `atomr eval matrix` and `atomr eval table`: every strategy on every question set, and the table of them.

_FILE = click.Path(path_type=Path)
TABLE_FILE, TABLE_JSON = "table.md", "table.json"


def _names(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """A comma-separated list of names."""
    names = tuple(part.strip() for part in (value or "").split(",") if part.strip())
    if value is not None and not names:
        raise click.BadParameter("it names nothing")
    return names


@parameters
class MatrixWish:
    """What is asked, with which strategies, and where the runs are."""

    sets_file: Path = option("TOML: [[sets]] and [[ablations]]; see the docs.", "--sets", required=True)
    named: tuple[str, ...] = option(
        "Strategies, and ablations of the file, such as rag,atomr,atomr-no-rival.",
        "--strategies", metavar="LIST", shell_complete=strategy_names, required=True, callback=_names,
    )  # fmt: skip
    out: Path = option("Directory of the runs, one in OUT/SET/STRATEGY each.", required=True)
    folders: tuple[Path, ...] = option("Folder of the questions; repeatable. Default: FILE's.", "--data")
    only: tuple[str, ...] = option("Of the file's sets only these.", metavar="LIST", callback=_names)
    limit: int | None = option("Ask at most N questions of each set.", type=click.IntRange(min=1), metavar="N")
    assigned: tuple[str, ...] = set_option()
    chosen: ModelChoice


@command()
def matrix(wish: MatrixWish) -> int:
    """Ask every question set with every strategy, with one model, and write a table.

    The model is loaded once, and each set's indexes once. Web search is off. Run the same command again to resume; a
    finished run is not run again, a larger --limit extends it, and a run that was begun with other settings is refused.

    Example: atomr eval matrix --sets sets.toml --strategies rag,atomr,ircot --out runs/matrix --limit 50
    """
    from atomr_lab.evaluation.datasets import read_sets
    from atomr_lab.evaluation.matrix import arms, cells, run_cells
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.settings.schema import load_settings

    file = read_sets(wish.sets_file)
    asked = arms(file, wish.named)
    given = assigned_options(wish.assigned)
    _check_used(given, asked)
    settings = load_settings(**vars(wish.chosen), strategies=given or None)
    announce_remote(settings)
    sets = _chosen(file, wish.only)
    planned = cells(file, asked, wish.out, settings, sets=sets, folders=wish.folders, limit=wish.limit)
    runs = [cell for cell in planned if not cell.refused]
    for cell in planned:
        if cell.refused:
            note(f"{cell.name} is left out: {cell.refused}")
    if not runs:
        raise InputError("none of the strategies can be asked any of the sets", hint="The reasons stand above.")
    failed: list[tuple[Cell, AtomrError]] = []
    with Assistant.open(runs[0].settings) as assistant:
        progress = _Progress(len(runs))
        try:
            for cell, error in run_cells(
                assistant,
                runs,
                on_cell=progress.cell,
                on_stage=lambda stage: click.echo(f"… {sanitize_line(stage)}", err=True),
                on_progress=progress.question,
            ):
                failed.append((cell, error))
                note(f"{cell.name} stopped: {error.in_full()}")
        except Cancelled as cancelled:
            click.echo(cancelled.message, err=True)
            raise
    for cell, error in failed:
        note(f"not finished: {cell.name}: {error.message}")
    _write_table(wish.out, ())
    return 1 if failed else 0


@click.command()
@click.argument("directory", type=_FILE)
@click.option(
    "--baseline", "baselines", metavar="LIST", callback=_names,
    help="Strategies that the others are compared with; default: rag,atomr.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def table(directory: Path, baselines: tuple[str, ...], as_json: bool) -> None:
    """Print the table of a matrix: scores, differences to the baselines, cost, ablations, and stages of wrong answers.

    It is written to table.md and table.json in the directory, too. Differences are paired by question over those that
    both runs answered.

    Example: atomr eval table runs/matrix
    """
    figures, text = _write_table(directory, baselines)
    if as_json:
        print_json(figures)
    else:
        click.echo(text, nl=False)


def _write_table(directory: Path, baselines: Sequence[str]) -> tuple[dict[str, object], str]:
    import json

    from atomr_lab.evaluation.matrix_table import BASELINES, matrix_figures, matrix_markdown
    from atomr_lab.evaluation.runs import write_file

    figures = matrix_figures(directory, baselines or BASELINES)
    text = sanitize(matrix_markdown(figures))
    write_file(directory / TABLE_JSON, json.dumps(figures, indent=1) + "\n")
    write_file(directory / TABLE_FILE, text)
    note(f"The table is {directory / TABLE_FILE}")
    return figures, text


def _chosen(file: SetsFile, only: Sequence[str]) -> list[QuestionSet]:
    by_name = {item.name: item for item in file.sets}
    if unknown := set(only) - by_name.keys():
        raise InputError(f"{file.path} has no set {min(unknown)[:40]!r}", hint=f"There are: {', '.join(by_name)}.")
    return [by_name[name] for name in only]


def _check_used(given: dict[str, dict[str, object]], asked: Sequence[Arm]) -> None:
    for name in given:
        if name not in {arm.strategy for arm in asked}:
            raise InputError(f"--set {name}.… has no effect: {name} is not among the strategies")


class _Progress:
    """What is asked now, on standard error."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._number = 0
        self._show: Callable[[Progress], None] = lambda _: None

    def cell(self, cell: Cell) -> None:
        self._number += 1
        self._show = progress_line()
        click.echo(f"== {cell.name} ({self._number} of {self._runs} runs, {len(cell.questions)} questions)", err=True)

    def question(self, progress: Progress) -> None:
        self._show(progress)


_GOLD_PLANS = "JSON lines: id, plan (compact). Plans are judged by these instead of by the gold evidences."


@click.group()
def evaluate() -> None:
    """Run and score question sets.

    Example: atomr eval score predictions.jsonl
    """


@parameters
class RunWish:
    """What is asked, how, and where the run is."""

    questions_file: Path = option(
        "JSON lines: id, question, answers ([] if there is none); optional: type, kind, answerable.",
        "--questions", required=True,
    )  # fmt: skip
    out: Path = option("Directory of the run; an existing run is resumed.", required=True)
    method: StrategyChoice
    limit: int | None = option("Ask at most N questions.", type=click.IntRange(min=1), metavar="N")
    offset: int = option("Skip the first N questions.", type=click.IntRange(min=0), default=0, metavar="N")
    plans_file: Path | None = option(
        "JSON lines: id, plan (compact). Only these questions are asked, with these plans.", "--plans"
    )
    gold_plans: Path | None = option(_GOLD_PLANS)
    chosen: ModelOptions


@command(evaluate)
def run(wish: RunWish) -> None:
    """Ask a question set and write predictions, traces and a report.

    Run the same command again to resume an interrupted run.

    Example: atomr eval run --questions questions.jsonl --out runs/first --limit 100
    """
    from atomr_lab.evaluation.datasets import load_questions, read_predictions, summarize
    from atomr_lab.evaluation.markdown import write_report
    from atomr_lab.evaluation.report import build_report, gold_structures
    from atomr_lab.evaluation.runs import PREDICTIONS_FILE, describe_run
    from atomr_lab.evaluation.runs import run as run_questions
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.settings.schema import load_settings
    from atomr_local.strategies.options import options_of as check_options
    from atomr_local.strategies.registry import check_needs, check_plan, check_sources, find_strategy

    set_options = assigned_options(wish.method.assigned)
    settings = load_settings(**wish.chosen.overrides(strategy=wish.method.strategy, strategies=set_options or None))
    check_assigned(set_options, settings.strategy)
    method = find_strategy(settings.strategy)
    check_options(method, settings)
    check_needs(method, settings.sources, settings)
    check_sources(method, settings.sources, settings, web=settings.web.enabled)
    if wish.plans_file is not None:
        check_plan(method)
    if not method.uses_sources:
        settings = settings.model_copy(update={"sources": ()})
    announce_remote(settings)
    questions = load_questions(wish.questions_file, offset=wish.offset, limit=wish.limit)
    if not questions:
        raise InputError(f"{wish.questions_file} has no question after the first {wish.offset}")
    plans = None
    if wish.plans_file is not None:
        plans, questions = _with_plans(wish.plans_file, questions, settings)
    gold_structures(questions, wish.gold_plans)  # report a bad file before hours of work
    description = describe_run(settings, wish.questions_file, wish.plans_file)
    with Assistant.open(settings) as assistant:
        try:
            run_questions(
                assistant,
                questions,
                wish.out,
                description=description,
                plans=plans,
                before=lambda: assistant.preload(lambda stage: click.echo(f"… {sanitize_line(stage)}", err=True)),
                on_progress=progress_line(),
            )
        except Cancelled as cancelled:
            click.echo(cancelled.message, err=True)
            raise
    report = write_report(wish.out, build_report(wish.out, wish.gold_plans))
    click.echo(f"The report is {report}", err=True)
    click.echo(json.dumps(asdict(summarize(read_predictions(wish.out / PREDICTIONS_FILE)))))


@evaluate.command()
@click.argument("predictions", type=_FILE)
def score(predictions: Path) -> None:
    """Score a predictions file: n, EM, cover-EM, F1, F1 of guesses, precision and coverage, in %.

    Each line is a JSON object with "question", "predicted" (empty: declined) and "gold", a list of answers of which any
    is right; "guess" is optional. A question with "answerable": false or an empty "gold" has no answer: it counts in
    precision and coverage alone. Precision is the mean F1 of the answers given.

    Example: atomr eval score predictions.jsonl
    """
    from atomr_lab.evaluation.datasets import read_predictions, summarize

    click.echo(json.dumps(asdict(summarize(read_predictions(predictions)))))


@evaluate.command()
@click.argument("directory", type=_FILE)
@click.option("--gold-plans", type=_FILE, help=_GOLD_PLANS)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(directory: Path, gold_plans: Path | None, as_json: bool) -> None:
    """Rebuild the report of a run from its predictions and traces, and print it.

    Example: atomr eval report runs/first
    """
    from atomr_lab.evaluation.markdown import report_markdown, write_report
    from atomr_lab.evaluation.report import build_report

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
    from atomr_lab.evaluation.markdown import comparison_markdown
    from atomr_lab.evaluation.report import compare_runs

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
    from atomr_lab.evaluation.datasets import load_plans

    plans = load_plans(plans_file, questions, settings.limits.of_plans())
    planned = [question for question in questions if question.id in plans]
    if not planned:
        raise InputError(f"{plans_file} has no plan for any of the questions", hint="Plans are matched by id.")
    if len(planned) < len(questions):
        click.echo(f"{len(questions) - len(planned)} questions without a plan are left out", err=True)
    return plans, planned
