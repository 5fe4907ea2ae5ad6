"""Bounds for the numbers of a model's header and the types of its tensors.

llama.cpp compares tensors' shapes with most of these numbers and refuses what does not fit; what is checked here is
what it asserts, which ends the process, or takes unseen (load_hparams in src/llama-model.cpp; src/llama-hparams.h;
ggml/src/ggml.c).
"""

from __future__ import annotations

import math
import re

from atomr_local.gguf.header import GgufHeader
from atomr_local.gguf.types import F32_TENSOR, NO_WEIGHTS

_LAYERS, _EXPERTS = 512, 1024  # LLAMA_MAX_LAYERS, LLAMA_MAX_EXPERTS
_LEAST_CONTEXT = 32  # fewer tokens than sequences that run at once is an assertion, and no prompt fits
_TEMPLATE_CHARACTERS = 1 << 18
_NAME_CHARACTERS = 1 << 12

# key behind the architecture → least and most, of a number or of each of a list
_WHOLE: dict[str, tuple[int, int]] = {
    "context_length": (_LEAST_CONTEXT, 1 << 30),
    "embedding_length": (1, 1 << 20),
    "block_count": (1, _LAYERS),
    "feed_forward_length": (0, 1 << 24),
    "expert_feed_forward_length": (0, 1 << 24),
    "expert_shared_feed_forward_length": (0, 1 << 24),
    "attention.head_count": (0, 1 << 14),
    "attention.head_count_kv": (0, 1 << 14),
    "attention.key_length": (1, 1 << 14),
    "attention.value_length": (1, 1 << 14),
    "rope.dimension_count": (0, 1 << 14),
    "rope.dimension_sections": (0, 1 << 13),
    "rope.scaling.original_context_length": (0, 1 << 30),
    "vocab_size": (1, 1 << 24),
    "expert_count": (0, _EXPERTS),
    "expert_used_count": (0, _EXPERTS),
    "expert_group_count": (0, _EXPERTS),
    "expert_group_used_count": (0, _EXPERTS),
    "nextn_predict_layers": (0, _LAYERS),
}
# least and most, both included; a subnormal scale is no number to divide by
_REAL: dict[str, tuple[float, float]] = {
    "attention.layer_norm_rms_epsilon": (0.0, 1.0),
    "attention.layer_norm_epsilon": (0.0, 1.0),
    "attention.group_norm_epsilon": (0.0, 1.0),
    "rope.freq_base": (1.0, 1e15),
    "rope.freq_base_swa": (1.0, 1e15),
    "rope.scaling.factor": (0.0, 1e6),
    "rope.scale_linear": (0.0, 1e6),
    "rope.scaling.attn_factor": (0.0, 1e6),
}
_ROPE_SCALING = ("none", "linear", "yarn", "longrope")  # LLAMA_ROPE_SCALING_TYPES
_MATRIX = re.compile(r"(token_embd|output|blk\.\d+\.(attn|ffn)_\w+)\.weight")


def model_problem(header: GgufHeader) -> str:
    """What of a model's header llama.cpp must not be given, naming the key or tensor; empty when nothing is."""
    vocabulary = header.vocabulary.problem if header.vocabulary is not None else ""
    return _texts(header) or _numbers(header) or _heads(header) or _experts(header) or vocabulary or _storage(header)


def _texts(header: GgufHeader) -> str:
    scaling = header.values.get(f"{header.architecture}.rope.scaling.type", "none")
    if scaling not in _ROPE_SCALING:
        return f"{header.architecture}.rope.scaling.type is {str(scaling)[:40]!r}"
    if header.values.get("tokenizer.ggml.pre") == "whitespace":  # an uncaught exception at eight thousand spaces
        return "tokenizer.ggml.pre is 'whitespace'"
    for key, most in (("tokenizer.chat_template", _TEMPLATE_CHARACTERS), ("general.name", _NAME_CHARACTERS)):
        length = len(str(header.values.get(key, "")))
        if length > most:
            return f"{key} has {length} characters"
    return ""


def _numbers(header: GgufHeader) -> str:
    """Every number of the architecture: finite, in 32 bits with a sign, and within its bounds."""
    prefix = f"{header.architecture}."
    for key, items in [*((key, (value,)) for key, value in header.values.items()), *header.numbers.items()]:
        name = key.removeprefix(prefix)
        if name == key or (isinstance(items[0] if items else 0, str) and name not in _WHOLE and name not in _REAL):
            continue
        for value in items:
            if not _is_good(name, value):
                return f"{key} is {str(value)[:40]}"
    if header.whole("nextn_predict_layers", 0) > header.whole("block_count", _LAYERS):
        return f"{prefix}nextn_predict_layers is more than block_count"
    return ""


def _is_good(name: str, value: object) -> bool:
    if name in _WHOLE:
        least, most = _WHOLE[name]
        return type(value) is int and least <= value <= most
    if name in _REAL:
        low, high = _REAL[name]
        return isinstance(value, float) and low <= value <= high
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and -(1 << 31) <= value < 1 << 31


def _each(header: GgufHeader, name: str, otherwise: int) -> list[int] | None:
    """A number for each block, which may stand as one for all; None if a list has another length."""
    count = header.whole("block_count", 0)
    key = f"{header.architecture}.{name}"
    if key in header.arrays:
        items = [int(item) for item in header.numbers.get(key, ())]
        return items if len(items) == count else None
    return [header.whole(name, otherwise)] * count


def _heads(header: GgufHeader) -> str:
    """Heads share the width and each other's keys evenly, and rotate no more than they have."""
    at = f"{header.architecture}.attention"
    lists = {name: _each(header, name, 0) for name in ("attention.head_count", "feed_forward_length")}
    heads = lists["attention.head_count"]
    groups = heads
    if f"{at}.head_count_kv" in header.values or f"{at}.head_count_kv" in header.arrays:
        groups = lists["attention.head_count_kv"] = _each(header, "attention.head_count_kv", 0)
    for name, found in lists.items():
        if found is None:
            return f"{header.architecture}.{name} is a list of another length than block_count"
    width = header.whole("embedding_length", 1)
    for number, (own, shared) in enumerate(zip(heads or (), groups or (), strict=True)):
        if own and shared and (shared > own or own % shared):
            return f"block {number} has {own} attention heads and {shared} of keys and values"
        if own and not shared and any(f"blk.{number}.attn_{part}.weight" in header.tensors for part in ("k", "qkv")):
            return f"block {number} attends without keys"
        if own > width:
            return f"block {number} has {own} attention heads for a width of {width}"
    most = max(heads or [0])
    length = header.whole("attention.key_length", width // most if most else 0)
    rotated = header.whole("rope.dimension_count", length)
    if rotated % 2 or (most and rotated > length):
        return f"{header.architecture}.rope.dimension_count is {rotated} for heads of {length}"
    return ""


def _experts(header: GgufHeader) -> str:
    """The assertions of load_hparams."""
    experts, groups = header.whole("expert_count", 0), header.whole("expert_group_count", 0)
    listed = _each(header, "expert_used_count", 0)
    if listed is None:
        return f"{header.architecture}.expert_used_count is a list of another length than block_count"
    used = max(listed, default=0)
    if used > experts or (experts and not used) or (groups and groups >= experts):
        return f"it uses {used} of {experts} experts in {groups} groups"
    if groups > 1:
        chosen = header.whole("expert_group_used_count", 0)
        if experts % groups or not 0 < chosen < groups:
            return f"it uses {chosen} of {groups} groups of {experts} experts"
    return ""


def _storage(header: GgufHeader) -> str:
    """Vectors are added and multiplied in single precision only; no product takes matrices of whole numbers."""
    for name, kind in header.storage.items():
        shape = header.tensors[name]
        if len(shape) == 1 and kind != F32_TENSOR and name.endswith((".weight", ".bias")):
            return f"{name} is a vector and is not stored as F32"
        if kind in NO_WEIGHTS and _MATRIX.fullmatch(name):
            return f"{name} is stored as whole numbers or in double precision"
    return ""
