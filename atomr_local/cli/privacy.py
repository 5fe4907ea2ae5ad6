"""`--private`: an index that is made or taken in is private from its first moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from atomr_local.cli.output import note

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexKind

Command = TypeVar("Command", bound=Callable[..., Any])


def private_option(command: Command) -> Command:
    """--private/--no-private."""
    return click.option(
        "--private/--no-private",
        default=None,
        help="Mark the index as private, or take the mark away: nothing that is read in a private index leaves this "
        "machine without your word. Default: a new index of a folder of documents is private, others are not.",
    )(command)


@contextmanager
def marked_private(kind: IndexKind, name: str, wanted: bool | None, *, documents: bool = False) -> Iterator[None]:
    """Mark the index `name` before anything of it is there; a new one that fails is not marked any more.

    Args:
        wanted: what the user said; None: nothing.
        documents: it is made of the user's own documents.

    Raises:
        InputError: the name is no name of an index.
        SettingsError: the settings file cannot be read or written.
    """
    from atomr_local.indexing.builds.publishing import unfinished_path
    from atomr_local.indexing.store import check_name, index_names, index_path
    from atomr_local.settings.schema import load_settings
    from atomr_local.sources.privacy import mark_private

    def is_there() -> bool:
        return index_path(kind, name).exists() or unfinished_path(kind, name).exists()

    check_name(name)
    before = name in index_names(load_settings().privacy.indexes)
    now = (before or (documents and not is_there())) if wanted is None else wanted
    if now != before:
        mark_private([name], private=now)
    try:
        yield
    except BaseException:
        if now and not before and not is_there():
            mark_private([name], private=False)
        raise
    if now and not before:
        note(
            f"The index {name} is private: questions that read it use neither the web nor a model elsewhere. "
            f"`atomr indexes private {name} --off` takes that back."
        )
    elif before and not now:
        note(f"The index {name} is private no longer.")
