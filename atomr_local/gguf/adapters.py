"""Refuses LoRA adapters that crash llama.cpp (src/llama-adapter.cpp; ggml_mul_mat in ggml/src/ggml.c)."""

from __future__ import annotations

from atomr_local.gguf.header import GgufHeader
from atomr_local.gguf.types import F32, NO_WEIGHTS

_ALPHA = "adapter.lora.alpha"
_LARGEST_ALPHA = 1e6
_EMBEDDING = "token_embd.weight"


def adapter_problem(adapter: GgufHeader, model: GgufHeader) -> str:
    """What is wrong with a header that is known to be a LoRA adapter's; empty when nothing is."""
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
