"""The choices of the settings screen: available models, adapters, indexes, strategies and themes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.tui.themes import names


@dataclass(frozen=True)
class SettingChoice:
    """A value, and what it is in a few words; both come from outside."""

    value: str
    about: str = ""


Choices = Mapping[str, tuple[SettingChoice, ...]]
FREE = frozenset({"model", "adapter", "embedder", "text_index", "graph_index"})  # these take a path or name besides


def at_hand() -> Choices:
    """What is available, by dotted key. Reads the header of every model file: for a thread of its own.

    Raises:
        AtomrError: a directory cannot be read.
    """
    from atomr_local.catalog.find import list_models
    from atomr_local.indexing.builds.space import human_size
    from atomr_local.indexing.store import STARTER, list_indexes

    found: dict[str, list[SettingChoice]] = {
        "model": [],
        "adapter": [SettingChoice("auto", "the one made for the model"), SettingChoice("none", "the model as it is")],
        "embedder": [],
    }
    for entry in list_models():
        name = str(entry.path) if entry.kind == "embedder" and entry.name != STARTER else entry.name
        about = f"unusable: {entry.problem}" if entry.problem else human_size(entry.size)
        found[entry.kind].append(SettingChoice(name, about))
    for kind in ("text", "graph"):
        found[f"{kind}_index"] = [SettingChoice("", "the only one built, else the starter"), SettingChoice(STARTER)]
    for index in list_indexes():
        offered = found[f"{index.kind}_index"]
        about = f"not usable: {index.problem}" if index.manifest is None else human_size(index.manifest.bytes)
        if index.name not in {choice.value for choice in offered}:
            offered.append(SettingChoice(index.name, about))
    return {key: tuple(choices) for key, choices in found.items()} | known()


def known() -> dict[str, tuple[SettingChoice, ...]]:
    """What is known without looking at files."""
    from atomr_local.strategies.registry import all_strategies

    return {
        "strategy": tuple(SettingChoice(name, strategy.summary) for name, strategy in all_strategies().items()),
        "ui.theme": (SettingChoice("", "chosen from the terminal"), *(SettingChoice(name) for name in names())),
    }


def checks() -> dict[str, Callable[[Any], object]]:
    """Whether there is what a setting names, by dotted key. Each raises an AtomrError where there is not."""
    from atomr_local.catalog.find import find_model
    from atomr_local.strategies.registry import find_strategy

    return {
        "model": lambda value: _is_file(find_model(value)),
        "adapter": _adapter,
        "embedder": _embedder,
        "text_index": lambda value: _index("text", value),
        "graph_index": lambda value: _index("graph", value),
        "strategy": find_strategy,
    }


def _adapter(value: str) -> None:
    from atomr_local.catalog.find import find_adapter

    if value not in {"auto", "none"}:
        path = find_adapter(value, Path())
        if path is not None:
            _is_file(path)


def _embedder(value: str) -> None:
    from atomr_local.catalog.find import STARTER

    if value != STARTER and not Path(value).expanduser().is_dir():
        raise AtomrError(f"there is no directory {value}")


def _index(kind: str, value: str) -> None:
    from atomr_local.indexing.store import STARTER, check_name, index_names, list_indexes

    names = index_names(value)
    if kind != "text" and len(names) > 1:
        raise AtomrError(f"{value!r} names several {kind} indexes", hint="Name one.")
    built = [index.name for index in list_indexes() if index.kind == kind]
    for name in names:
        if name != STARTER and check_name(name) not in built:
            raise AtomrError(f"there is no {kind} index named {name!r}", hint=f"Built: {', '.join(built) or 'none'}.")


def _is_file(path: Path) -> None:
    if not path.is_file():
        raise AtomrError(f"there is no file {path}")
