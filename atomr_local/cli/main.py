"""The `atomr` command. Command groups are imported on use, so that start-up stays fast."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

try:
    import click

    from atomr_local import __version__
    from atomr_local.errors import AtomrError, Cancelled
    from atomr_local.system.sanitize import sanitize, sanitize_line

    if TYPE_CHECKING:
        from importlib.metadata import EntryPoint

        from atomr_local.system.log_file import LogLevel
except KeyboardInterrupt:  # pressed before main() can report it
    print("Cancelled", file=sys.stderr)
    sys.exit(130)

# command → (module below atomr_local.cli, attribute, one line of help)
_COMMANDS = {
    "ask": ("commands.ask", "ask", "Answer one question."),
    "plan": ("commands.ask", "plan", "Decompose a question into a reasoning tree, without answering it."),
    "tree": ("commands.tree", "tree", "Check and convert reasoning trees."),
    "text": ("commands.text", "text", "Build and search text indexes."),
    "graph": ("commands.graph", "graph", "Build and query graph indexes."),
    "web": ("commands.web", "web", "Search the web, if it is turned on."),
    "indexes": ("commands.indexes", "indexes", "List the built indexes."),
    "models": ("commands.models", "models", "List, download, choose and check models and adapters."),
    "fetch": ("fetch", "fetch", "Download a Wikipedia, or facts from Wikidata."),
    "history": ("commands.history", "history", "Show, search, export and delete past questions."),
    "strategies": ("commands.strategies", "strategies", "List the reasoning methods and their options."),
    "sources": ("commands.ask", "sources", "List the knowledge sources."),
    "doctor": ("doctor", "doctor", "Check the installation and say what to fix."),
    "examples": ("commands.examples", "examples", "Keep your own example plans."),
    "processes": ("commands.processes", "processes", "Keep worked processes, which the strategy humaniq follows."),
    "mcp": ("commands.serve", "mcp", "Serve other programs over the Model Context Protocol."),
    "serve": ("commands.serve", "serve", "Serve other programs over HTTP."),
    "config": ("commands.config", "config", "Show and change the settings."),
    "completion": ("completion", "completion", "Complete commands and names with Tab, in bash, zsh and fish."),
}
_COMPLETES = "_ATOMR_COMPLETE"  # the shell asks what may follow: `completion.py`
# These load no native library that could crash.
_LIGHT = frozenset({"completion", "config", "examples", "history", "strategies", "tree"})


def _plugged() -> dict[str, EntryPoint]:
    """The commands of other packages by name; looking for them reads what is installed, so only where it matters."""
    from atomr_local.system.plugins import COMMAND_GROUP, offered

    return dict(sorted(offered(COMMAND_GROUP, _COMMANDS).items()))


def _loaded(part: EntryPoint) -> click.Command:
    from atomr_local.system.plugins import load

    command: click.Command = load(part, "command", click.Command, called=False)
    return command


class _LazyGroup(click.Group):
    """The program's commands, then those that other packages offer (docs/how-to/plug-in.md)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *_plugged()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            part = _plugged().get(cmd_name)
            return None if part is None else _loaded(part)
        module, attribute, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"atomr_local.cli.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; an unknown command is told with what was probably meant.

        Raises:
            click.UsageError: there is no such command.
        """
        given = args[0]
        no_name = given.startswith("-") or ctx.resilient_parsing
        if no_name or given in _COMMANDS or given in (known := self.list_commands(ctx)):
            return super().resolve_command(ctx, args)
        shown = sanitize_line(given)
        if " " in given.strip() or given.rstrip().endswith("?"):
            raise click.UsageError(f'there is no command {shown!r}. Ask a question with `atomr ask "…"`.', ctx)
        near = difflib.get_close_matches(given, known, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise click.UsageError(f"there is no command {shown!r}.{meant}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = [(name, entry[2]) for name, entry in _COMMANDS.items()]
        for name, part in _plugged().items():
            try:
                told = _loaded(part).get_short_help_str(80)
            except AtomrError as error:
                told = f"cannot be used: {error}"
            lines.append((name, sanitize_line(told)))
        with formatter.section("Commands"):
            formatter.write_dl(lines)


@click.command(cls=_LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="atomr")
@click.option(
    "--log-level",
    type=click.Choice(["off", "error", "warning", "info", "debug"]),
    default="warning",
    show_default=True,
    envvar="ATOMR_LOG_LEVEL",
    show_envvar=True,
    help="How much to write to the log file; `atomr doctor` names it.",
)
@click.option(
    "--plain", is_flag=True, help="Work line by line, without a screen: for screen readers, simple terminals and pipes."
)
@click.pass_context
def atomr(ctx: click.Context, log_level: LogLevel, plain: bool) -> None:
    """Ask questions on your own machine and check the answers.

    Without a command, the terminal UI opens; with --plain, a session without a screen.

    Example: atomr ask "Who directed the 1948 film of Hamlet?"
    """
    _start_logging(log_level, ctx.invoked_subcommand or "terminal UI")
    if ctx.obj is not None and ctx.invoked_subcommand not in _LIGHT:  # a process of its own
        from atomr_local.cli import crash_monitor

        crash_monitor.start()
        ctx.obj.callback(crash_monitor.end)
    if any(name.startswith("ATOMR_") and name != "ATOMR_HOME" for name in os.environ):
        from atomr_local.settings.schema import Settings, unknown_variables

        for warning in unknown_variables(Settings):
            click.echo(sanitize(warning), err=True)
    _note_old_names()
    if plain and ctx.invoked_subcommand is not None:
        raise click.UsageError(f"--plain takes no command; `atomr {ctx.invoked_subcommand}` has no screen anyway")
    if plain:
        from atomr_local.assistant.assistant import Assistant
        from atomr_local.cli.plain import run_plain

        with Assistant.open() as assistant:
            run_plain(assistant)
    elif ctx.invoked_subcommand is None:
        from atomr_local.cli.output import no_terminal

        if problem := no_terminal():
            raise click.UsageError(f'{problem}. Use `atomr --plain`, or ask with `atomr ask "…"`.')
        from atomr_local.cli.crash_monitor import full_screen
        from atomr_local.tui.app import run

        with full_screen():
            run()


def _note_old_names() -> None:
    """Report settings that still have the name of an earlier version."""
    from atomr_local.settings.schema import notes, parse_toml, read_settings_text
    from atomr_local.system.paths import config_file

    groups: Iterable[str] = ()
    with contextlib.suppress(AtomrError):  # a file that cannot be read is an error of the command that needs it
        path = config_file()
        groups = parse_toml(read_settings_text(path) or "", str(path))
    for warning in notes(os.environ, groups):
        click.echo(sanitize(warning), err=True)


def _start_logging(level: LogLevel, command: str) -> None:
    from atomr_local.system import log_file, paths

    with contextlib.suppress(AtomrError):  # ATOMR_HOME cannot be used: a command that needs it says so
        log_file.start_logging(level, paths.log_file())
        log_file.logger.info("atomr %s: %s", __version__, command)


def report(error: AtomrError) -> None:
    """Print title, message and hint on standard error."""
    click.echo(sanitize(f"{error.title}: {error.message}"), err=True)
    if error.hint:
        click.echo(sanitize(f"  → {error.hint}"), err=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Exit status: 0 done, 1 an error, 2 wrong usage, 130 cancelled."""
    at_end = contextlib.ExitStack()
    if _COMPLETES in os.environ:
        from atomr_local.cli.completion import prepare

        prepare()
    if arguments is None:
        _write_whole()
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) == "strict":  # a character that the terminal lacks is no reason to fail
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with _panics_as_errors():
            result: Any = atomr.main(
                args=arguments, prog_name="atomr", standalone_mode=False, obj=at_end if arguments is None else None
            )
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (Cancelled, KeyboardInterrupt, click.exceptions.Abort):
        click.echo("Cancelled", err=True)
        sys.exit(130)
    except BrokenPipeError:
        _forget_output()
        sys.exit(1)
    except Exception as error:
        from atomr_local.system.log_file import log_error

        if isinstance(error, OSError):
            _forget_output()
        log_error(error)
        report(_reported(error))
        sys.exit(1)
    finally:
        at_end.close()
        # Everything is reported: another Ctrl-C ends the process at once, whatever its threads do.
        if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(result if isinstance(result, int) else 0)


def _reported(error: Exception) -> AtomrError:
    """The error for the user, who is not to meet a traceback on the terminal."""
    if isinstance(error, AtomrError):
        return error
    if isinstance(error, OSError):
        what = f"{error.filename}: " if error.filename else ""
        return AtomrError(f"{what}{error.strerror or error}", title="Reading or writing failed")
    from atomr_local.tui.background import internal_error

    return internal_error(error, kept="")


@contextlib.contextmanager
def _panics_as_errors() -> Iterator[None]:
    """A panic of a library written in Rust, which is no `Exception`, is an error like others."""
    try:
        yield
    except BaseException as error:
        from atomr_local.indexing.foreign_errors import is_panic

        if not is_panic(error):
            raise
        text = "`atomr indexes verify` looks for damaged files."
        raise AtomrError(f"a library failed: {error}", hint=text, title="A library failed") from error


def _write_whole() -> None:
    """With PYTHONUNBUFFERED, Python drops what a write leaves over that Ctrl-Z has interrupted: buffer lines."""
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        whole = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)
        sys.stdout = io.TextIOWrapper(whole, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


def _forget_output() -> None:
    """Keep the interpreter from writing again, at its end, what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
