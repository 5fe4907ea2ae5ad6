"""What `--help` says, of every command and group."""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.testing import CliRunner

from frozen_parts.cases import Case, Run
from frozen_parts.worlds import home, masks

_WIDTH = 100


def cases(run: Run) -> Iterator[Case]:
    from atomr_local.cli.main import atomr

    hidden = masks(run)
    with home(run.scratch / "home"):
        for names, _command in commands(atomr, ()):
            result = CliRunner(env={"COLUMNS": str(_WIDTH)}).invoke(
                atomr, [*names, "--help"], prog_name="atomr", terminal_width=_WIDTH
            )
            lines = [f"exit {result.exit_code}", *hidden.text(result.output).splitlines()]
            yield Case(" ".join(("atomr", *names)), tuple(lines))


def commands(command: click.Command, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command with all below it, by the words that lead to it."""
    yield names, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            if (below := command.get_command(context, name)) is not None:
                yield from commands(below, (*names, name))
