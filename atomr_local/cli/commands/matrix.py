"""`atomr eval matrix` and `atomr eval table`: every strategy on every question set, and the table of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local.cli.completion import strategy_names
from atomr_local.cli.eval_progress import progress_line
from atomr_local.cli.options import assigned_options, model_and_adapter, strategy_option
from atomr_local.cli.output import announce_remote, note, print_json
from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atomr_local.evaluation.matrix import Arm, Cell
    from atomr_local.evaluation.runner import Progress
    from atomr_local.evaluation.sets_file import QuestionSet, SetsFile

_FILE = click.Path(path_type=Path)
TABLE_FILE, TABLE_JSON = "table.md", "table.json"


def _names(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """A comma-separated list of names."""
    names = tuple(part.strip() for part in (value or "").split(",") if part.strip())
    if value is not None and not names:
        raise click.BadParameter("it names nothing")
    return names


@click.command()
@click.option("--sets", "sets_file", type=_FILE, required=True, help="TOML: [[sets]] and [[ablations]]; see the docs.")
@click.option(
    "--strategies", "named", metavar="LIST", shell_complete=strategy_names, required=True, callback=_names,
    help="Strategies, and ablations of the file, such as rag,atomr,atomr-no-rival.",
)  # fmt: skip
@click.option("--out", type=_FILE, required=True, help="Directory of the runs, one in OUT/SET/STRATEGY each.")
@click.option(
    "--data", "folders", type=_FILE, multiple=True, help="Folder of the questions; repeatable. Default: FILE's."
)
@click.option("--only", metavar="LIST", callback=_names, help="Of the file's sets only these.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask at most N questions of each set.")
@strategy_option
@model_and_adapter
def matrix(
    *,
    sets_file: Path,
    named: tuple[str, ...],
    out: Path,
    folders: tuple[Path, ...],
    only: tuple[str, ...],
    limit: int | None,
    assigned: tuple[str, ...],
    model: str | None,
    adapter: str | None,
) -> int:
    """Ask every question set with every strategy, with one model, and write a table.

    The model is loaded once, and each set's indexes once. Web search is off. Run the same command again to resume; a
    finished run is not run again, a larger --limit extends it, and a run that was begun with other settings is refused.

    Example: atomr eval matrix --sets sets.toml --strategies rag,atomr,ircot --out runs/matrix --limit 50
    """
    from atomr_local.assistant import Assistant
    from atomr_local.evaluation.matrix import arms, cells, run_cells
    from atomr_local.evaluation.sets_file import read_sets
    from atomr_local.settings.schema import load_settings

    file = read_sets(sets_file)
    asked = arms(file, named)
    given = assigned_options(assigned)
    _check_used(given, asked)
    settings = load_settings(model=model, adapter=adapter, strategies=given or None)
    announce_remote(settings)
    planned = cells(file, asked, out, settings, sets=_chosen(file, only), folders=folders, limit=limit)
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
    _write_table(out, ())
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

    from atomr_local.evaluation.matrix_markdown import matrix_markdown
    from atomr_local.evaluation.matrix_table import BASELINES, matrix_figures
    from atomr_local.evaluation.run_directory import write_file

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
