"""What the shell completes beside commands and options: names of indexes, models, adapters and strategies, and keys and
values of settings.

The shell starts the program for every Tab, so what is needed is imported when it is needed. Names of files and folders
come from outside, and the shell puts what is chosen into its command line as it is. Only names that no shell reads as
anything else are offered.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args, get_origin

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from atomr_local.errors import AtomrError

VARIABLE = "_ATOMR_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
# No quote, blank, sign of a variable or pattern; no colon either, where bash and zsh cut words.
_HARMLESS = re.compile(r"[^\W_][\w.+@/-]*")
_Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_Names = Callable[[click.Context], Iterable[str]]


class _Bash(BashComplete):
    """Click's completion for bash, which gives `--option=value` as three words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = super().get_completion_args()
        if words and words[-1] == "=":
            words.pop()
        return words, incomplete


def prepare() -> None:
    """Complete in bash what stands behind `=` too."""
    add_completion_class(_Bash)


def script(shell: str) -> str:
    """What a shell reads to complete `atomr`."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    return found(click.Command("atomr"), {}, "atomr", VARIABLE).source()


def _offered(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete) and _HARMLESS.fullmatch(name)]


def _completer(names: _Names, *, several: bool = False, paths: bool = False) -> _Completer:
    """A completer of names.

    Args:
        several: names may follow each other, separated by commas.
        paths: a path may stand instead of a name; the shell completes it.
    """

    @functools.wraps(names)
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if paths and ("/" in incomplete or incomplete.startswith((".", "~"))):
            return [CompletionItem(incomplete, type="file")]
        before, comma, begun = incomplete.rpartition(",") if several else ("", "", incomplete)
        if comma and not all(_HARMLESS.fullmatch(name) for name in before.split(",")):
            return []
        with contextlib.suppress(AtomrError, OSError):  # nothing to offer; the command says what is wrong
            left = [name for name in names(ctx) if name not in before.split(",")]
            return [CompletionItem(before + comma + item.value) for item in _offered(left, begun)]
        return []

    return complete


def _indexes(*kinds: Literal["text", "graph"]) -> list[str]:
    from atomr_local.indexing.store import index_path, subdirectories

    found = [
        folder.name
        for kind in kinds
        for folder in subdirectories(index_path(kind, "starter").parent)
        if not folder.name.startswith(".")
    ]
    return list(dict.fromkeys([*found, "starter"]))


def _index_names(ctx: click.Context) -> list[str]:
    """The indexes of the kind that the command line says, else all."""
    kind = ctx.params.get("kind")
    return _indexes(kind) if kind in ("text", "graph") else _indexes("text", "graph")


def _named(module: str, function: str) -> _Names:
    """The names that a function gives, which is loaded when they are asked for."""
    return lambda _ctx: getattr(importlib.import_module(f"atomr_local.{module}"), function)()


_models, _adapters = _named("models.catalog.find", "model_names"), _named("models.catalog.find", "adapter_names")


def _models_and_adapters(ctx: click.Context) -> list[str]:
    return [*_models(ctx), *(name for name in _adapters(ctx) if name not in ("auto", "none"))]


def _offered_models(_ctx: click.Context) -> list[str]:
    from atomr_local.models.catalog.offered import catalogue

    return [model.name for model in catalogue().model]


def _keys(_ctx: click.Context) -> list[str]:
    from atomr_local.settings.schema import Settings, leaves

    return [key for key, _ in leaves(Settings.model_construct().model_dump())]


text_indexes = _completer(lambda _ctx: _indexes("text"), several=True)
graph_indexes = _completer(lambda _ctx: _indexes("graph"))
index_names = _completer(_index_names)
index_lists = _completer(lambda _ctx: _indexes("text", "graph"), several=True)
model_names = _completer(_models, paths=True)
adapter_names = _completer(_adapters, paths=True)
model_and_adapter_names = _completer(_models_and_adapters)
offered_models = _completer(_offered_models)
strategy_names = _completer(_named("strategies.names", "known_names"), several=True)
source_names = _completer(_named("sources.registry", "switched_names"), several=True)
setting_keys = _completer(_keys)

_VALUES: dict[str, _Completer] = {
    "model": model_names,
    "adapter": adapter_names,
    "strategy": strategy_names,
    "sources": source_names,
    "text_index": text_indexes,
    "graph_index": graph_indexes,
    "privacy.indexes": index_lists,
}


def setting_values(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What the setting named before may be, where that can be listed."""
    from atomr_local.settings.file import kind_of

    key = str(ctx.params.get("key") or "")
    if key in _VALUES:
        return _VALUES[key](ctx, param, incomplete)
    kind: Any = None
    with contextlib.suppress(AtomrError):
        kind = kind_of(key)
    if kind is bool:
        return _offered(("true", "false"), incomplete)
    return _offered(map(str, get_args(kind)), incomplete) if get_origin(kind) is Literal else []


# `atomr completion`: what a shell reads to complete commands, options and names.


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, and names of indexes, models and strategies.

    The shell reads it when it starts: see "Complete names with Tab" in docs/how-to/scripts.md.

    Example: eval "$(atomr completion bash)"
    """
    click.echo(script(shell), nl=False)
