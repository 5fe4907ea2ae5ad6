"""Prepared weights: the adapter merged in, stored in the format that llama.cpp computes fastest here.

An adapter that is applied while the model runs adds two small products to each large one, and llama.cpp has fast
kernels on processors for some ways of storing weights only (`scripts/bench/backbone.py weights` measures both). So
the first load of a model with an adapter writes one merged file into the cache, W + alpha / rank * B A (LoRA, Hu et al.
2021), quantised by llama.cpp; later loads read it. What cannot be prepared is loaded as it is.

The name of a prepared file ends in the BLAKE2b digest of its content, so that one rename publishes both. Every load
reads the whole file and compares: 0.9 s of one core for a gigabyte, 0.13 s for the starter's 145 MB in Q8_0, and
llama.cpp reads the file anyway. A sample of blocks would be quicker and would miss the few bits that change an answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from atomr_local.errors import ModelError
from atomr_local.models.gguf import GgufHeader
from atomr_local.models.llama.engine import ALL_LAYERS, RunOptions, Storage, layers_on_gpu, library
from atomr_local.system.files import process_alive
from atomr_local.system.offline_imports import import_without_sockets

WEIGHTS = "weights"  # the folder in the cache directory

# Merged on the way: two bytes of memory and disk for each parameter, four where the model has four.
MOST_PARAMETERS = 500_000_000
_KEPT = 3  # prepared files; the one unused for longest goes first
_SCRATCH = ".making-"
_MAKING = re.compile(r"\.making-(?P<pid>\d+)-\w+")
VERSION = "1"
_DIGEST_BYTES = 16
_NAME = re.compile(rf"[0-9a-f]{{32}}\.(?P<digest>[0-9a-f]{{{2 * _DIGEST_BYTES}}})\.gguf")
_FASTEST: tuple[str, ...] = ("Q4_0", "Q8_0")
_FILE_TYPES = {"F16": "MOSTLY_F16", "Q8_0": "MOSTLY_Q8_0", "Q4_0": "MOSTLY_Q4_0"}
# No room or rights, no `gguf` package, and what that package raises for a file that it does not understand.
_TROUBLE = (OSError, ImportError, MemoryError, ValueError, TypeError, LookupError, NotImplementedError)


def fingerprint(*parts: str, files: Sequence[Path | None]) -> str:
    """Names texts and the present state of files, 32 hexadecimal digits; another name once a file changes."""
    told = list(parts)
    for path in files:
        if path is not None:
            found = path.stat()
            told += [str(path.resolve()), str(found.st_size), str(found.st_mtime_ns)]
    return hashlib.sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def suited(storage: Storage) -> Storage:
    """The storage that `auto` means here: F16 where the processor converts it (x86-64 since 2012), else Q8_0.

    With quantised weights llama.cpp rounds activations to 8 bits before each product. A last bit that another build
    rounds otherwise is thereby amplified, layer by layer, to 0.25 in the difference of the two best tokens'
    log-probabilities; with F16 it stays at 0.01 (docs/builds.md), so that near ties rarely turn. Processors without
    the conversion emulate it slowly, and on ARM llama.cpp accumulates F16 products in F16.
    """
    if storage != "auto":
        return storage
    return "F16" if b"F16C = 1" in library().llama_print_system_info() else "Q8_0"


def rows_alike(stored: str) -> bool:
    """Whether a row of a batch gets the same bits as alone; llama.cpp has another kernel for a single row of floats."""
    return stored not in {"F16", "BF16", "F32"}


def worth_preparing(
    model: GgufHeader, adapter: Path | None, storage: Storage = "Q8_0", gpu_layers: int = ALL_LAYERS
) -> bool:
    """Whether preparing makes the model faster, and this machine can do it in seconds."""
    if model.parameters > MOST_PARAMETERS or layers_on_gpu(gpu_layers):
        return False
    return adapter is not None or model.quantisation not in (*_FASTEST, suited(storage))


def weights_to_run(
    model: GgufHeader,
    adapter: Path | None,
    options: RunOptions,
    notify: Callable[[str], None] | None = None,
) -> tuple[Path, Path | None]:
    """The file to load, and the adapter to apply while it runs: prepared weights where they can be had.

    With layers on the GPU the file is run as it is; `notify`: see :func:`prepare`.
    """
    storage, cache = options.storage, options.cache
    if storage is not None and cache is not None and worth_preparing(model, adapter, storage, options.gpu_layers):
        with contextlib.suppress(ModelError):  # slower without, and as right
            return prepare(model, adapter, storage, cache / WEIGHTS, notify), None
    return model.path, adapter


def prepare(
    model: GgufHeader,
    adapter: Path | None,
    storage: Storage,
    folder: Path,
    notify: Callable[[str], None] | None = None,
) -> Path:
    """The prepared weights, made now if they are not there. Two processes may make them at once; each is whole.

    Args:
        notify: takes a sentence for the user when kept weights turn out to be damaged and are rebuilt.

    Raises:
        ModelError: they cannot be made: no room, a tensor that cannot be merged, or llama.cpp refused.
    """
    storage = suited(storage)
    name = fingerprint(VERSION, storage, files=(model.path, adapter))
    kept = _kept(folder, name, notify)
    if kept is not None:
        return kept
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < 6 * model.parameters + (64 << 20):
            raise ModelError(f"{folder} has no room for prepared weights of {model.path.name}")
        _clear_abandoned(folder)
        with tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getpid()}-", dir=folder) as scratch:
            merged = model.path
            if adapter is not None:
                merged = Path(scratch) / "merged.gguf"
                _merge(model.path, adapter, merged)
            made = Path(scratch) / "made.gguf"
            _quantise(merged, made, storage)
            path = folder / f"{name}.{_digest(made)}.gguf"
            made.replace(path)
    except _TROUBLE as error:
        raise ModelError(f"weights cannot be prepared in {folder}: {error}") from error
    _evict(folder, path)
    return path


def is_prepared(model: Path, adapter: Path | None, options: RunOptions) -> bool:
    """Whether weights made of these files are kept, so that the files themselves are not read any more.

    llama.cpp is not loaded to find out.
    """
    if options.storage is None or options.cache is None:
        return False
    kinds = [kind for kind in _FILE_TYPES if options.storage in ("auto", kind)]
    try:
        names = {fingerprint(VERSION, kind, files=(model, adapter)) for kind in kinds}
    except OSError:
        return False
    return any(path.name.partition(".")[0] in names for path in prepared_files(options.cache / WEIGHTS))


def prepared_files(folder: Path) -> list[Path]:
    """The prepared weights that are kept in a folder; none where it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    except OSError:
        return []


def is_whole(path: Path) -> bool:
    """Whether prepared weights are, to the bit, what was written; reads the whole file.

    Raises:
        OSError: the file cannot be read.
    """
    match = _NAME.fullmatch(path.name)
    return match is not None and _digest(path) == match["digest"]


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES)).hexdigest()


def _kept(folder: Path, name: str, notify: Callable[[str], None] | None) -> Path | None:
    """The weights of this fingerprint that are there and whole. Those that are not are deleted."""
    damaged = False
    for path in prepared_files(folder):
        if not path.name.startswith(f"{name}."):
            continue
        with contextlib.suppress(OSError):
            if is_whole(path):
                os.utime(path)  # used just now
                return path
            damaged = True
            path.unlink()
    if damaged and notify is not None:
        notify(f"The prepared weights in {folder} were damaged. They are rebuilt once.")
    return None


def _clear_abandoned(folder: Path) -> None:
    """Delete what processes that died were making: whether they live is asked, for a clock may jump."""
    for path in folder.glob(f"{_SCRATCH}*"):
        match = _MAKING.fullmatch(path.name)
        if match is not None and not process_alive(int(match["pid"])):
            shutil.rmtree(path, ignore_errors=True)


def _merge(model: Path, adapter: Path, out: Path) -> None:
    import numpy as np

    import_without_sockets()
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, dequantize

    def weights(tensor: Any) -> Any:
        return dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)

    source, change = GGUFReader(model), GGUFReader(adapter)
    factors = {tensor.name: weights(tensor) for tensor in change.tensors}
    alpha = 0.0  # llama.cpp scales by 1 then
    if field := change.fields.get("adapter.lora.alpha"):
        alpha = float(field.contents())
    writer = GGUFWriter(out, source.fields["general.architecture"].contents())
    for key, field in source.fields.items():
        if key.startswith("GGUF.") or key in {"general.alignment", "general.architecture", "general.file_type"}:
            continue
        kind, sub = field.types[0], field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(key, field.contents(), kind, sub_type=sub)
    for tensor in source.tensors:
        values = weights(tensor)
        first, second = factors.pop(f"{tensor.name}.lora_a", None), factors.pop(f"{tensor.name}.lora_b", None)
        if first is not None or second is not None:
            if first is None or second is None or values.ndim != 2 or first.ndim != 2:
                raise ModelError(f"{adapter} cannot be merged: {tensor.name!r} is no pair for a matrix")
            rank = first.shape[0]
            if second.shape != (values.shape[0], rank) or first.shape[1] != values.shape[1]:
                raise ModelError(f"{adapter} cannot be merged: {tensor.name!r} has another shape")
            values = values + (alpha / rank if alpha else 1.0) * (second @ first)
        elif values.ndim < 2 or tensor.tensor_type == GGMLQuantizationType.F32:
            writer.add_tensor(tensor.name, values)  # some operations take nothing else
            continue
        writer.add_tensor(tensor.name, values.astype(np.float16))
    if factors:
        raise ModelError(f"{adapter} cannot be merged: the model has nothing for {min(factors)!r}")
    writer.add_file_type(int(GGMLQuantizationType.F16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _quantise(source: Path, out: Path, storage: Storage) -> None:
    api = library()
    settings = api.llama_model_quantize_default_params()
    settings.ftype = getattr(api, f"LLAMA_FTYPE_{_FILE_TYPES[storage]}")
    settings.allow_requantize = True
    names = [str(path).encode("utf-8", "surrogateescape") for path in (source, out)]
    if api.llama_model_quantize(*names, ctypes.byref(settings)):
        raise ModelError(f"llama.cpp could not quantise {source.name} to {storage}")


def _evict(folder: Path, newest: Path) -> None:
    """Keep the files used last; one that another process has mapped stays usable there."""
    with contextlib.suppress(OSError):
        others = [path for path in folder.glob("*.gguf") if path != newest]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_KEPT - 1 :]:
            path.unlink(missing_ok=True)
