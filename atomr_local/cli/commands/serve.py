"""`atomr serve`: the assistant over HTTP."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local.cli.completion import strategy_names
from atomr_local.cli.options import model_options, overrides
from atomr_local.cli.output import announce_remote, note, note_sentence
from atomr_local.errors import AtomrError, Cancelled, InputError, MissingPartError
from atomr_local.input_files import read_text
from atomr_local.sanitize import sanitize_line
from atomr_local.system.installation import add_extra

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant
    from atomr_local.credentials import Secret

_PARTS = {"mcp", "mcp_types", "starlette", "uvicorn"}
_TOKEN_BYTES = 4096
_SLOW_SECONDS = 5.0  # of a start that says nothing


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8420, show_default=True, help="Port; 0: any free one.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the token that clients must send; ATOMR_SERVE_TOKEN sets it too.",
)
@click.option(
    "--allow-host", metavar="NAME", multiple=True, help="Another name that clients may reach it by; repeatable."
)
@click.option("--queue", type=click.IntRange(0, 10_000), default=32, show_default=True, help="Questions that may wait.")
@click.option(
    "--timeout", type=click.FloatRange(1, 86_400), default=600, show_default=True,
    help="Seconds that a question may take.",
)  # fmt: skip
@click.option(
    "--grace", type=click.FloatRange(0, 3600), default=10, show_default=True,
    help="Seconds that running questions have when the server is stopped.",
)  # fmt: skip
@click.option("--no-history", is_flag=True, help="Do not keep questions (see `atomr history`).")
@click.option(
    "-s", "--strategy", metavar="NAME", shell_complete=strategy_names,
    help="Reasoning method of questions that name none.",
)  # fmt: skip
@model_options
def serve(
    *,
    host: str,
    port: int,
    token_file: Path | None,
    allow_host: tuple[str, ...],
    queue: int,
    timeout: float,
    grace: float,
    no_history: bool,
    strategy: str | None,
    **options: object,
) -> None:
    """Serve the assistant over HTTP, until Ctrl-C or SIGTERM.

    Only programs of this machine can reach it, unless --host names another address; then every request must bring a
    token. Web search stays off without --web, whatever the settings say; no request can turn it on.

    Example: atomr serve --sources text,graph
    """
    options["web"] = bool(options.pop("web", None))
    slow = threading.Timer(_SLOW_SECONDS, note, ("Starting; the machine is busy, or this is the first start.",))
    slow.daemon = True
    slow.start()
    click.get_current_context().call_on_close(slow.cancel)
    try:
        from atomr_local.http_server.options import ServeOptions, check_address
        from atomr_local.http_server.running import listening_socket, run
        from atomr_local.mcp_server.server import check_handing_on
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PARTS:
            raise
        raise MissingPartError(
            f"`atomr serve` needs the package {(error.name or '').partition('.')[0]}",
            hint=f"Install it with: {add_extra('serve')}",
        ) from error
    from atomr_local.assistant import Assistant
    from atomr_local.strategies.registry import find_strategy

    given = ServeOptions(
        host=host,
        token=_token(token_file),
        names=allow_host,
        queue=queue,
        question_seconds=timeout,
        grace_seconds=grace,
        keep=not no_history,
    )
    check_address(given)
    with Assistant.open(**overrides(**options, strategy=strategy)) as assistant:
        find_strategy(assistant.settings.strategy)
        announce_remote(assistant.settings)
        if not given.local:
            check_handing_on(assistant)
        listener = listening_socket(host, port)
        slow.cancel()
        name = f"[{host}]" if ":" in host else host
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
    from atomr_local.credentials import Secret
    from atomr_local.http_server.options import TOKEN_VARIABLE, checked_token

    if file is None:
        given = os.environ.get(TOKEN_VARIABLE, "")
        return checked_token(given) if given else Secret()
    try:
        text = read_text(file, _TOKEN_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text"
        raise InputError(
            f"{sanitize_line(str(file))} cannot be read: {reason}", hint="Give a file that holds the token alone."
        ) from error
    return checked_token(text)
