"""`atomr serve`: the assistant over HTTP."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.assistant.wishes import flag, option, parameters
from atomr_local.cli.options import ModelOptions, command, strategy_option
from atomr_local.cli.output import announce_remote, given_text, note, note_sentence
from atomr_local.errors import AtomrError, Cancelled, InputError, MissingPartError
from atomr_local.system.installation import add_extra

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.system.credentials import Secret


_TOKEN_BYTES = 4096
_SLOW_SECONDS = 5.0  # of a start that says nothing


@contextmanager
def _parts(command: str, *packages: str) -> Iterator[None]:
    """Around the imports of a command: one of these packages that is not installed is named."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in packages:
            raise
        raise MissingPartError(
            f"`atomr {command}` needs the package {'mcp' if command == 'mcp' else missing}",
            hint=f"Install it with: {add_extra(command)}",
        ) from error


@parameters
class Served:
    """What questions of other programs are answered with."""

    strategy: str | None = strategy_option("Reasoning method of questions that name none.")
    chosen: ModelOptions

    def settings(self) -> dict[str, Any]:
        """As settings overrides; the web is off unless --web is given."""
        return self.chosen.overrides(web=bool(self.chosen.web), strategy=self.strategy)


@parameters
class ServeWish:
    """How the server listens, and what it answers with."""

    host: str = option("Address to listen on; others need a token.", default="127.0.0.1")
    port: int = option("Port; 0: any free one.", type=click.IntRange(0, 65535), default=8420)
    token_file: Path | None = option("File with the token that clients must send; ATOMR_SERVE_TOKEN sets it too.")
    allow_host: tuple[str, ...] = option("Another name that clients may reach it by; repeatable.", metavar="NAME")
    queue: int = option("Questions that may wait.", type=click.IntRange(0, 10_000), default=32)
    timeout: float = option("Seconds that a question may take.", type=click.FloatRange(1, 86_400), default=600)
    grace: float = option(
        "Seconds that running questions have when the server is stopped.", type=click.FloatRange(0, 3600), default=10
    )
    no_history: bool = flag("Do not keep questions (see `atomr history`).")
    served: Served


@command()
def serve(wish: ServeWish) -> None:
    """Serve the assistant over HTTP, until Ctrl-C or SIGTERM.

    Only programs of this machine can reach it, unless --host names another address; then every request must bring a
    token. Web search stays off without --web, whatever the settings say; no request can turn it on.

    Example: atomr serve --sources text,graph
    """
    slow = threading.Timer(_SLOW_SECONDS, note, ("Starting; the machine is busy, or this is the first start.",))
    slow.daemon = True
    slow.start()
    click.get_current_context().call_on_close(slow.cancel)
    with _parts("serve", "mcp", "mcp_types", "starlette", "uvicorn"):
        from atomr_local.server.app import listening_socket, run
        from atomr_local.server.mcp import check_handing_on
        from atomr_local.server.options import ServeOptions, check_address
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.strategies.registry import find_strategy

    given = ServeOptions(
        host=wish.host,
        token=_token(wish.token_file),
        names=wish.allow_host,
        queue=wish.queue,
        question_seconds=wish.timeout,
        grace_seconds=wish.grace,
        keep=not wish.no_history,
    )
    check_address(given)
    with Assistant.open(**wish.served.settings()) as assistant:
        find_strategy(assistant.settings.strategy)
        announce_remote(assistant.settings)
        if not given.local:
            check_handing_on(assistant)
        listener = listening_socket(wish.host, wish.port)
        slow.cancel()
        name = f"[{wish.host}]" if ":" in wish.host else wish.host
        note(f"Serving on http://{name}:{listener.getsockname()[1]} (Ctrl-C stops it)")
        if not given.local:
            note("The connection is not encrypted: put a proxy with TLS before it where others share the network.")
        threading.Thread(target=_preload, args=(assistant,), name="atomr-preload", daemon=True).start()
        run(assistant, given, listener, note)
        assistant.stop_loading()


def _preload(assistant: Assistant) -> None:
    try:
        assistant.preload(note_sentence)
    except Cancelled:
        return
    except AtomrError as error:  # look-ups may work all the same, and the next question tries again
        note(f"Questions cannot be answered yet: {error.in_full()}")
    else:
        note("Ready: model and indexes are loaded.")


def _token(file: Path | None) -> Secret:
    """The token of the file, else of the environment; empty if there is none.

    Raises:
        InputError: the file cannot be read, or the token is not usable.
    """
    from atomr_local.server.options import TOKEN_VARIABLE, checked_token
    from atomr_local.system.credentials import Secret

    if file is None:
        given = os.environ.get(TOKEN_VARIABLE, "")
        return checked_token(given) if given else Secret()
    hint = "Give a file that holds the token alone."
    return checked_token(given_text(file, _TOKEN_BYTES, hint=hint, no_text="it is not a text"))


# `atomr mcp`: the assistant as tools for other programs, over standard input and output.


@command()
def mcp(served: Served) -> None:
    """Serve the Model Context Protocol over standard input and output.

    A client such as an editor or a chat program starts this command itself. Its tools answer questions, search the text
    indexes, read pages, and find entities, relations and query results in the graph. Web search stays off without
    --web, whatever the settings say; no client can turn it on. Private indexes are refused without --share-private.

    Example: atomr mcp --sources text,graph
    """
    with _parts("mcp", "mcp", "mcp_types"):
        from atomr_local.server.mcp import check_handing_on, run
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.strategies.registry import find_strategy

    with Assistant.open(**served.settings()) as assistant:
        find_strategy(assistant.settings.strategy)
        announce_remote(assistant.settings)
        check_handing_on(assistant)
        if sys.stdin.isatty():
            raise InputError(
                "a client of the Model Context Protocol starts this command; standard input is a terminal",
                hint="See docs/how-to/mcp.md for how to add it to a client.",
            )
        run(assistant, note)
