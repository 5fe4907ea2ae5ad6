"""Checks a model or adapter file before llama.cpp sees it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from atomr_local.errors import ModelError
from atomr_local.gguf.bounds import model_problem
from atomr_local.gguf.header import GgufHeader, read_header
from atomr_local.gguf.types import F32, NO_WEIGHTS

_FILES = 256  # of one model
_ALPHA = "adapter.lora.alpha"
_LARGEST_ALPHA = 1e6
_EMBEDDING = "token_embd.weight"


def check_model(path: Path) -> GgufHeader:
    """The header of a file that is to be run as a language model.

    Raises:
        ModelError: as :func:`read_header`, or the file holds something else.
    """
    header = read_header(path)
    if header.kind == "adapter":
        raise ModelError(
            f"{path} is an adapter, not a model", hint="Give it as the adapter, beside the model it was made for."
        )
    generates = header.values.get(f"{header.architecture}.attention.causal", True) is not False
    if header.kind != "model" or not header.tensors or not generates:
        raise ModelError(
            f"{path} has no model that generates text (type {header.kind!r}, architecture {header.architecture!r})",
            hint="Choose an instruction-tuned language model.",
        )
    if problem := model_problem(header) or _split_problem(header):
        raise ModelError(f"{path} cannot be run: {problem}", hint="Download the file again, or choose another model.")
    return header


def _split_problem(header: GgufHeader) -> str:
    """What is wrong with the other files of a model in several; llama.cpp opens them by name."""
    count, number = header.values.get("split.count", 0), header.values.get("split.no", 0)
    if count in (0, 1):
        return ""
    if type(count) is not int or not 0 < count <= _FILES or number != 0:
        return f"it is file {number} of {count} of a model in several; give the first one"
    first = f"-00001-of-{count:05}.gguf"
    if not header.path.name.endswith(first):
        return f"it is the first of {count} files, and is not called …{first}"
    for other in range(2, count + 1):
        name = f"{header.path.name.removesuffix(first)}-{other:05}-of-{count:05}.gguf"
        try:
            read_header(header.path.with_name(name))
        except ModelError as error:
            return error.message
    return ""


def check_adapters(paths: Iterable[Path | None], model: GgufHeader) -> None:
    """:func:`check_adapter` for each that there is."""
    for path in paths:
        if path is not None:
            check_adapter(path, model)


def check_adapter(path: Path, model: GgufHeader) -> GgufHeader:
    """The header of a LoRA adapter that is to be applied to `model`.

    Raises:
        ModelError: as :func:`read_header`, or the file is no adapter or one for another kind of model.
    """
    try:
        header = read_header(path)
    except ModelError as error:
        raise _adapter_error(error.message, error.hint) from error
    if header.kind != "adapter" or header.values.get("adapter.type") != "lora" or not header.tensors:
        raise _adapter_error(f"{path} is not a LoRA adapter", "Give a GGUF file of a LoRA adapter.")
    if header.architecture != model.architecture:
        raise _adapter_error(
            f"{path} is for the architecture {header.architecture!r}, {model.path.name} has {model.architecture!r}"
        )
    for name, shape in header.tensors.items():
        base = name.removesuffix(".lora_a").removesuffix(".lora_b")
        expected = model.tensors.get(base)
        if base == name or expected is None:
            raise _adapter_error(f"{path} changes {base!r}, which {model.path.name} does not have")
        side = 0 if name.endswith(".lora_a") else 1
        if base != _EMBEDDING and (len(shape) < 2 or len(expected) < 2 or shape[side] != expected[side]):
            raise _adapter_error(
                f"{path}: {name!r} has the shape {shape}, which does not fit {expected} of {model.path.name}"
            )
    if problem := _adapter_problem(header, model):
        raise _adapter_error(
            f"{path} cannot be applied: {problem}", "Download the file again, or make the adapter again."
        )
    return header


def _adapter_error(
    message: str, hint: str = "An adapter works only with the model that it was made for."
) -> ModelError:
    return ModelError(message, title="Adapter not usable", hint=hint)


def _adapter_problem(adapter: GgufHeader, model: GgufHeader) -> str:
    """What of a LoRA adapter crashes llama.cpp (src/llama-adapter.cpp; ggml_mul_mat in ggml/src/ggml.c)."""
    alpha = adapter.values.get(_ALPHA, 0.0)
    # A value of another type is an assertion, not an error, in gguf_get_val_f32.
    single = adapter.kinds.get(_ALPHA, F32) == F32 and _ALPHA not in adapter.arrays
    if not single or not isinstance(alpha, float) or not 0 <= alpha <= _LARGEST_ALPHA:
        return f"{_ALPHA} is {str(alpha)[:40]!r} of the type {adapter.kinds.get(_ALPHA)}"
    for name in adapter.tensors:
        if problem := _tensor_problem(name, adapter, model):
            return problem
    return ""


def _tensor_problem(name: str, adapter: GgufHeader, model: GgufHeader) -> str:
    base, side = name.rsplit(".lora_", 1)
    shape, whole = adapter.tensors[name], model.tensors[base]
    if adapter.storage.get(name) in NO_WEIGHTS:
        return f"{name!r} is stored as whole numbers or in double precision"
    if len(whole) < 2:
        return f"{base!r} is no matrix"
    if base == _EMBEDDING and "output.weight" not in model.tensors:  # build_lora_mm would apply it the other way round
        return f"it changes {base!r}, which the model also writes with"
    other = adapter.tensors.get(f"{base}.lora_{'b' if side == 'a' else 'a'}")
    if other is None:
        return ""  # llama.cpp says so
    first, second = (_padded(shape), _padded(other)) if side == "a" else (_padded(other), _padded(shape))
    if base == _EMBEDDING:
        fits = (first[0], first[1], second[1]) == (second[0], whole[1], whole[0])
    else:
        fits = (first[0], second[1], first[1]) == (whole[0], whole[1], second[0])
    if not fits or _padded(shape)[2:] != _padded(whole)[2:]:
        return f"the pair for {base!r} has the shapes {first} and {second}, which do not fit {whole}"
    return ""


def _padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """All four dimensions, as ggml has them."""
    return (*shape, 1, 1, 1)[:4]
