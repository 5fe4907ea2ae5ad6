"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click

from atomr_local.assistant.wishes import Parameter, argument, declared, flag, option, parameters, parameters_of
from atomr_local.cli import completion
from atomr_local.cli.output import note
from atomr_local.errors import InputError
from atomr_local.system.sanitize import sanitize

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexKind

Result = TypeVar("Result")


# Commands: functions that declare their parameters in the signature, and the parameters as click has them.


def command(group: click.Group | None = None, name: str = "") -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, with the parameters that its signature declares (:mod:`assistant.wishes`).

    Args:
        group: it belongs to; none: it stands alone.
        name: of the command; by default that of the function.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run(**given: Any) -> Any:
            return function(**_values(function, given))

        decorated: Callable[..., Any] = run
        for parameter in reversed(list(parameters_of(function))):
            decorated = _of_click(parameter)(decorated)
        called = name or function.__name__.strip("_").replace("_", "-")
        return click.command(called)(decorated) if group is None else group.command(called)(decorated)

    return decorate


def _values(form: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What is given, by the fields of the class or function."""
    return {
        name: kind(**_values(kind, given)) if is_dataclass(kind) and isinstance(kind, type) else given[name]
        for name, kind, _ in declared(form)
    }


def _of_click(parameter: Parameter) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorator of click."""
    kind, made = parameter.kind, dict[str, Any]()
    if parameter.several:
        made["multiple" if parameter.names else "nargs"] = True if parameter.names else -1
    if parameter.completes:
        made["shell_complete"] = getattr(completion, parameter.completes)
    if (parse := parameter.parse) is not None:
        made["callback"] = lambda _ctx, _param, value: None if value is None else parse(value)
    elif "callback" in parameter.settings:
        pass
    elif kind is bool:
        made |= {"default": None} if parameter.optional else {"is_flag": True}  # None: neither of the two forms
    elif kind is Path:
        made["type"] = click.Path(path_type=Path)
    else:
        made["type"] = click.Choice(get_args(kind)) if get_origin(kind) is Literal else kind
    make = click.option if parameter.names else click.argument
    return make(parameter.name, *parameter.names, **made | parameter.settings)


def called_for(wish: Any, function: Callable[..., Result], **more: Any) -> Result:
    """What the function gives for a wish: its parameters are the fields of their names, and what else is given."""
    said = {name.strip("_"): value for name, value in vars(wish).items()}
    return function(**{name: value for name, value in said.items() if name in signature(function).parameters} | more)


# What several commands share.

JSON_ALONE = flag("Print JSON and nothing else.", "--json")
AS_JSON = flag("Print JSON.", "--json")
TEXT_FILE = click.File(encoding="utf-8")
NUMBER = argument(type=click.IntRange(min=1))
KIND = Literal["text", "graph"]


def _sources(value: str) -> tuple[str, ...]:
    """A comma-separated list of sources other than the web, each once."""
    from atomr_local.sources.registry import switched_names

    names = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    known = switched_names()
    if not names or any(name not in known for name in names):
        listed = f"{', '.join(known[:-1])} and {known[-1]}"
        raise click.BadParameter(f"{value!r} is not a list of {listed}; the web is turned on with --web")
    return names


@parameters
class ModelChoice:
    """The model that answers."""

    model: str | None = option("Model to use (default: the settings').", metavar="NAME|PATH", completes="model_names")
    adapter: str | None = option(
        "LoRA adapter: auto, none, a name or a GGUF file.", metavar="NAME|PATH", completes="adapter_names"
    )


@parameters
class ModelOptions(ModelChoice):
    """The model that answers, and what it may read."""

    text_index: str | None = option(
        "Text index to search, or several searched together.", metavar="NAME[,NAME…]", completes="text_indexes"
    )
    graph_index: str | None = option("Graph index to search.", metavar="NAME", completes="graph_indexes")
    sources: tuple[str, ...] | None = option(
        "Sources that may be used besides the web, such as text,graph.",
        metavar="LIST", parse=_sources, completes="source_names",
    )  # fmt: skip
    web: bool | None = option("Allow or forbid web search for this question.")
    share_private: bool = flag("Let what is read in private indexes leave this machine.")

    def overrides(self, **more: Any) -> dict[str, Any]:
        """These options, and others, as settings overrides."""
        return overrides(**vars(self) | more)


@parameters
class Within:
    """A part of the text index."""

    within: tuple[str, ...] = option(
        "Only documents in this file or folder, matching this pattern, with this tag, or dated from then on or "
        "before then; repeatable.",
        "--in", metavar="PATH|GLOB|#TAG|after:DATE|before:DATE",
    )  # fmt: skip


set_option = functools.partial(
    option,
    "Set an option of the strategy, such as rag.top_k=5; repeatable. `atomr strategies NAME` lists them.",
    "--set",
    metavar="NAME.OPTION=VALUE",
)


def strategy_option(text: str) -> Any:
    """The option for a reasoning method."""
    return option(text, "-s", "--strategy", metavar="NAME", completes="strategy_names")


@parameters
class StrategyChoice:
    """The reasoning method and its options."""

    strategy: str | None = strategy_option("Reasoning method; see `atomr strategies`.")
    assigned: tuple[str, ...] = set_option()


def assigned_options(assigned: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What --set gives, as the setting `strategies`.

    Raises:
        SettingsError: there is no such strategy or option, or the value is not usable.
    """
    from atomr_local.strategies.options import checked_options
    from atomr_local.strategies.registry import find_strategy

    given: dict[str, dict[str, Any]] = {}
    for text in assigned:
        place, sign, value = text.partition("=")
        name, dot, option = (part.strip() for part in place.partition("."))
        if not (sign and dot and name and option):
            raise click.UsageError(f"--set: {text!r:.80} is not of the form NAME.OPTION=VALUE, such as rag.top_k=5")
        options = checked_options(find_strategy(name), {option: value.strip()})
        given.setdefault(name, {})[option] = getattr(options, option)
    return given


def check_assigned(assigned: Mapping[str, object], strategy: str) -> None:
    """Refuse options of a strategy that is not used.

    Raises:
        InputError: an option would have no effect.
    """
    for name in assigned:
        if name != strategy:
            raise InputError(
                f"--set {name}.… has no effect: the strategy is {strategy}",
                hint=f"Add --strategy {name}, or see `atomr strategies {strategy}`.",
            )


def overrides(**options: Any) -> dict[str, Any]:
    """The given options as settings overrides; `web` becomes web.enabled, `share_private` privacy.share."""
    web = options.pop("web", None)
    share = options.pop("share_private", False)
    given = {key: value for key, value in options.items() if value is not None}
    if web is not None:
        given["web"] = {"enabled": web}
    if share:
        given["privacy"] = {"share": True}
    return given


# `--private`: an index that is made or taken in is private from its first moment.


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


# What the commands on the user's own items share: `atomr examples` and `atomr processes` number them alike.

Item = TypeVar("Item")


def told_problems(path: Path, read: Callable[[Path], tuple[list[Item], list[str]]]) -> tuple[Path, list[Item]]:
    """The file and its items; the problems of lines that hold none are told."""
    found, problems = read(path)
    for problem in problems:
        click.echo(sanitize(f"skipped: {problem}"), err=True)
    return path, found


def numbered(found: Sequence[Item], number: int, what: str, command: str) -> Item:
    """The item with this number, from 1.

    Raises:
        InputError: there are not so many.
    """
    if number > len(found):
        raise InputError(f"there is no {what} {number}", hint=f"There are {len(found)}: see `atomr {command} list`.")
    return found[number - 1]
