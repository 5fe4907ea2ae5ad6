"""What `atomr eval` shows while it asks questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from atomr_local.sanitize import sanitize_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from atomr_local.evaluation.runner import Progress


def progress_line() -> Callable[[Progress], None]:
    """A line for each question on standard error, with the running means of this run."""
    from atomr_local.evaluation.runner import guessed_answer
    from atomr_local.reasoning.confidence.words import status_word

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
