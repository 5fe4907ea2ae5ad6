"""Finds the available models and adapters, and the file that a setting names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from atomr_local import paths
from atomr_local.catalog.record import adapter_card
from atomr_local.catalog.starter import starter_embedder_path, starter_model_path
from atomr_local.errors import AtomrError, MissingPartError, ModelError
from atomr_local.gguf import GgufHeader, read_header

STARTER = "starter"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """An available model, adapter or embedder.

    Attributes:
        name: what the settings may call it.
        size: bytes on disk.
        header: what a GGUF file says about itself; None for an embedder or a file that cannot be read.
        problem: why the file cannot be used; empty when it can.
    """

    name: str
    kind: Literal["model", "adapter", "embedder"]
    path: Path
    size: int
    header: GgufHeader | None = None
    problem: str = ""


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.glob("*.gguf") if path.is_file())
    except OSError:
        return []


def _adapter_files() -> list[Path]:
    """Shipped adapters and the user's own, each once."""
    folders = dict.fromkeys((paths.adapters_dir(), paths.models_dir() / "adapters"))
    return [path for folder in folders for path in _files(folder)]


def _task_adapter_files() -> list[Path]:
    """Adapters for one task each: used with the adapter whose card names them, and by no setting."""
    return [
        path for folder in dict.fromkeys(file.parent for file in _adapter_files()) for path in _files(folder / "tasks")
    ]


def model_names() -> list[str]:
    """What `find_model` takes beside paths; no file is opened."""
    return [STARTER, *(path.stem for path in _files(paths.models_dir()))]


def adapter_names() -> list[str]:
    """What `find_adapter` takes beside paths; no file is opened."""
    return ["auto", "none", *(path.stem for path in _adapter_files())]


def _is_path(value: str) -> bool:
    return value.endswith(".gguf") or "/" in value or "\\" in value or value.startswith("~")


def _named(value: str, files: list[Path], what: str, names: list[str]) -> Path:
    for path in files:
        if path.stem == value:
            return path
    raise ModelError(
        f"there is no {what} named {value!r}", hint=f"Available: {', '.join(names)}. A path of a GGUF file works too."
    )


def find_model(name_or_path: str) -> Path:
    """The GGUF file that a setting means: `starter`, the name of a file in the models directory, or a path.

    A path is not checked to exist; loading it does that.

    Raises:
        ModelError: no model has this name; the hint lists the available ones.
        MissingPartError: the starter is asked for and not installed.
    """
    if name_or_path == STARTER:
        return starter_model_path()
    if _is_path(name_or_path):
        return Path(name_or_path).expanduser()
    return _named(name_or_path, _files(paths.models_dir()), "model", model_names())


def find_adapter(setting: str, model: Path) -> Path | None:
    """The adapter that a setting means for a model.

    Args:
        setting: `none`; `auto`, the first adapter whose card (a JSON file beside it, `<name>.json`) names in
            `base_model` the general.name of the model; the name of an adapter; or a path.

    Raises:
        ModelError: no adapter has this name, or the model file cannot be read.
    """
    if setting == "none":
        return None
    if setting == "auto":
        return _made_for(model)
    if _is_path(setting):
        return Path(setting).expanduser()
    return _named(setting, _adapter_files(), "adapter", adapter_names())


def _made_for(model: Path) -> Path | None:
    candidates = [(path, base) for path in _adapter_files() if (base := adapter_card(path).get("base_model"))]
    if not candidates:
        return None
    name = read_header(model).name
    return next((path for path, base in candidates if base == name), None)


def list_models() -> tuple[CatalogEntry, ...]:
    """Everything available: the starter's parts, the models directory, the adapters. Unusable files are listed too."""
    adapters = (*_adapter_files(), *_task_adapter_files())
    return (*_starter(), *map(_entry, _files(paths.models_dir())), *map(_entry, adapters))


def chosen_paths(model_setting: str, adapter_setting: str, embedder_setting: str) -> set[Path]:
    """Model, adapter and embedder that these settings choose; a choice that cannot be found is left out."""
    chosen: set[Path] = set()
    with contextlib.suppress(AtomrError):
        chosen.add(starter_embedder_path() if embedder_setting == STARTER else Path(embedder_setting).expanduser())
    with contextlib.suppress(AtomrError):
        model = find_model(model_setting)
        chosen.add(model)
        if adapter := find_adapter(adapter_setting, model):
            chosen.add(adapter)
    return {path.resolve() for path in chosen}


def _starter() -> Iterator[CatalogEntry]:
    with contextlib.suppress(MissingPartError):
        yield _entry(starter_model_path(), STARTER)
    with contextlib.suppress(MissingPartError):
        folder = starter_embedder_path()
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        yield CatalogEntry(STARTER, "embedder", folder, size)


def _entry(path: Path, name: str = "") -> CatalogEntry:
    name = name or path.stem
    try:
        header = read_header(path)
    except ModelError as error:
        kind: Literal["model", "adapter"] = "adapter" if path.parent.name in {"adapters", "tasks"} else "model"
        size = path.stat().st_size if path.exists() else 0
        return CatalogEntry(name, kind, path, size, problem=error.message)
    return CatalogEntry(name, "adapter" if header.kind == "adapter" else "model", path, header.size, header)
