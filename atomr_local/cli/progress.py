"""Progress of long work on standard error: a bar on a terminal, else a line for each stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class BuildState(Protocol):
    """Attributes: stage: what is going on; done, total: bytes of input."""

    @property
    def stage(self) -> str: ...

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...


@contextmanager
def build_progress(count: Callable[[BuildState], str]) -> Iterator[Callable[[BuildState], None]]:
    """A callback that shows how far a build is; `count` words what it has taken in, such as "512 passages"."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        last = ""

        def plain(state: BuildState) -> None:
            nonlocal last
            if state.stage != last:
                last = state.stage
                console.print(f"{state.stage} …", highlight=False)

        yield plain
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1, count="")

        def show(state: BuildState) -> None:
            bar.update(
                task, description=state.stage, completed=state.done, total=max(1, state.total), count=count(state)
            )

        yield show


def report_skipped(skipped: dict[str, object]) -> None:
    """Tell on standard error how many input lines were skipped, and the first of them."""
    import click

    from atomr_local.sanitize import sanitize_line

    if not skipped.get("count"):
        return
    click.echo(f"{skipped['count']} lines were skipped, such as:", err=True)
    samples = skipped.get("samples")
    for file, line, reason in samples if isinstance(samples, list) else ():
        click.echo(f"  {sanitize_line(str(file))}:{line}: {sanitize_line(str(reason))}", err=True)
