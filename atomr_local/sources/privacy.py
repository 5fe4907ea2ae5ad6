"""Private indexes: what is read in them must not leave this machine without the user's word.

A question that may read a private index is refused as a whole where web search is on or the model is on another
machine. Nothing less would do: words of an answer go into the next query, and evidence goes into every prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.builds.publishing import seal, unfinished_path
from atomr_local.indexing.store import KINDS, IndexKind, index_names, index_path, resolve
from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.system.sanitize import sanitize_line

_HINT = (
    "Turn web search off (--no-web; F2 in the terminal UI), use a model on this machine, or leave the index out "
    "(--text-index, --graph-index, --sources). To let it leave this machine: --share-private, privacy.share in the "
    "settings, or `atomr indexes private NAME --off` (F5, then P on the index)."
)


def private_indexes(settings: Settings, local: Collection[str]) -> list[str]:
    """The private indexes that a question over these local sources may read."""
    private = set(index_names(settings.privacy.indexes))
    if not private:
        return []
    return sorted(private.intersection(read_indexes(settings, local)))


def withheld_indexes(settings: Settings, local: Collection[str]) -> frozenset[str]:
    """The private indexes that a question over these local sources does not read.

    What was quoted of them elsewhere, such as in a worked process, is not shown to the model for it either: the
    question may use the web, and its trace tells only of the indexes that it read.
    """
    if settings.privacy.share:
        return frozenset()
    return frozenset(index_names(settings.privacy.indexes)).difference(private_indexes(settings, local))


def read_indexes(settings: Settings, local: Collection[str]) -> list[str]:
    """The names of all indexes that a question over these local sources may read."""
    configured: dict[IndexKind, str] = {"text": settings.text_index, "graph": settings.graph_index}
    return sorted({name for kind in KINDS if kind in local for name in _resolved(kind, configured[kind])})


def indexes_of(trace_settings: Mapping[str, Any]) -> list[str]:
    """The names of all indexes that the question of a trace could read, by the trace's settings."""
    return sorted({name for kind in KINDS for name in index_names(str(trace_settings.get(f"{kind}_index") or ""))})


def check_private(
    settings: Settings, local: Collection[str], *, web: bool, earlier: Iterable[Mapping[str, Any]] = ()
) -> None:
    """Refuse a question that could carry words of a private index to another machine.

    Args:
        local: the local sources that the question may use.
        web: whether it may search the web.
        earlier: settings of the traces of earlier answers that it rests on.

    Raises:
        InputError: it could.
    """
    if settings.privacy.share:
        return
    ways = ["web search is on"] if web else []
    if host := settings.endpoint.url.remote_host():
        ways.append(f"the model is on another machine ({host})")
    if not ways:
        return
    how = " and ".join(ways)
    if names := private_indexes(settings, local):
        raise InputError(f"{_told(names)} private, and {how}: words of it would leave this machine", hint=_HINT)
    private = set(index_names(settings.privacy.indexes))
    before = {name for trace in earlier for name in indexes_of(trace)}
    if names := sorted(private & before):
        raise InputError(
            f"an earlier answer that this question rests on read what is private ({', '.join(names)}), and {how}",
            hint="Begin a new conversation, turn web search off (--no-web), or use a model on this machine. To let it "
            "leave this machine: --share-private, or privacy.share in the settings.",
        )


def must_stay(settings: Settings, name: str) -> bool:
    """Whether the index is private, and the user has not said that what is private may leave this machine."""
    return not settings.privacy.share and name in index_names(settings.privacy.indexes)


def check_handed_on(settings: Settings, name: str) -> None:
    """Refuse to write a private index for others.

    Raises:
        InputError: the index is private.
    """
    if must_stay(settings, name):
        raise InputError(f"{_told([name])} private", hint="To write it for others all the same: --share-private.")


def check_sent(settings: Settings, name: str, what: str, host: str, otherwise: str = "--share-private") -> None:
    """Refuse to send to another machine what stands in a private index.

    Args:
        what: what would be sent, such as "the titles of its articles".
        host: where to.
        otherwise: how the user can say that it may be sent, beside privacy.share in the settings.

    Raises:
        InputError: the index is private.
    """
    if must_stay(settings, name):
        raise InputError(
            f"{_told([name])} private, and {what} would go to {sanitize_line(host)}",
            hint=f"Nothing was sent. To send them all the same: {otherwise}, or privacy.share in the settings.",
        )


def mark_private(names: Sequence[str], *, private: bool = True) -> tuple[list[str], Path]:
    """Write to the settings file that these indexes are private, or are so no longer. What there is of a private one
    only its owner may read.

    Returns:
        All names that are private now, and the settings file.

    Raises:
        SettingsError: the settings file cannot be read or written.
    """
    before = index_names(load_settings().privacy.indexes)
    now = list(dict.fromkeys([*before, *names])) if private else [name for name in before if name not in names]
    file = save_settings({"privacy.indexes": ",".join(now) or None})
    for kind, name in ((kind, name) for kind in KINDS for name in names if private):
        seal(index_path(kind, name))
        seal(unfinished_path(kind, name))
    return now, file


def check_derived(settings: Settings, name: str, derived: str) -> None:
    """Refuse to make a public index of what stands in a private one.

    Raises:
        InputError: `name` is private, and `derived`, which is made of it, is not.
    """
    if must_stay(settings, name) and not must_stay(settings, derived):
        raise InputError(
            f"{_told([name])} private, and an index {sanitize_line(derived)} made of it would not be",
            hint="Leave out --name: the graph then has the private name. Or allow it with --share-private.",
        )


def _resolved(kind: IndexKind, configured: str) -> list[str]:
    try:
        return index_names(resolve(kind, configured))
    except AtomrError:  # told where it is opened
        return index_names(configured)


def _told(names: list[str]) -> str:
    listed = ", ".join(map(sanitize_line, names))
    return f"the index {listed} is" if len(names) == 1 else f"the indexes {listed} are"
