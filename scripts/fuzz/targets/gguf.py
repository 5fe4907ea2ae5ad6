"""The header of a model file: read within its bounds or refused, before llama.cpp sees it."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import suppress

from atomr_local.errors import ModelError
from atomr_local.models.gguf import GgufHeader, check_adapter, check_model, read_header
from fuzz.properties import as_file, expect

INSTRUMENTED = ("atomr_local.models.gguf",)
DICTIONARY = (
    b"GGUF", b"\x03\0\0\0", b"\x02\0\0\0", b"\0\0\0\x03", b"general.type", b"general.architecture", b"general.name",
    b"general.alignment", b"general.file_type", b"llama", b"model", b"adapter", b"adapter.type", b"lora",
    b"adapter.lora.alpha", b"llama.block_count", b"llama.context_length", b"llama.embedding_length",
    b"token_embd.weight", b"llama.attention.head_count", b"llama.attention.head_count_kv", b"llama.attention.causal",
    b".lora_a", b".lora_b", b"tokenizer.chat_template", b"\x08\0\0\0", b"\x09\0\0\0", b"\x04\0\0\0", b"\x0a\0\0\0",
    b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\0\0\0\x40", b"\1\0\0\0\0\0\0\0", b"\0\0\0\x80\0\0\0\0",
    b"\x06\0\0\0\0\0\xc0\x7f",
)  # fmt: skip


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _pair(key: str, value: object) -> bytes:
    if isinstance(value, bool):
        return _text(key) + struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return _text(key) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return _text(key) + struct.pack("<If", 6, value)
    if isinstance(value, list):
        return _text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return _text(key) + struct.pack("<I", 8) + _text(str(value))


def _file(pairs: dict[str, object], tensors: dict[str, tuple[int, ...]]) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs))
    head += b"".join(_pair(key, value) for key, value in pairs.items())
    end = 0
    for name, shape in tensors.items():
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, end)
        end += 4 * math.prod(shape)
    return head + bytes(-len(head) % 32) + bytes(end)


_ADAPTER = {
    "general.type": "adapter", "general.architecture": "llama", "adapter.type": "lora", "adapter.lora.alpha": 4.0,
}  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield _file(
        {
            "general.architecture": "llama", "general.name": "a", "llama.block_count": 2, "llama.context_length": 64,
            "llama.embedding_length": 8, "llama.attention.head_count": 2, "tokenizer.ggml.tokens": ["a", "b"],
            "general.file_type": 7, "llama.attention.causal": True, "llama.rope.freq_base": 1e4,
        },
        {"token_embd.weight": (8, 2), "output.weight": (8,)},
    )  # fmt: skip
    yield _file(dict(_ADAPTER), {"token_embd.weight.lora_a": (8, 2), "token_embd.weight.lora_b": (2, 2)})
    yield _file({"general.architecture": "bert", "general.alignment": 8}, {})


def check(data: bytes) -> None:
    path = as_file(data, "model.gguf")
    try:
        header = read_header(path)
    except ModelError:
        return
    _check_bounds(header, len(data))
    with suppress(ModelError):
        check_model(path)
    with suppress(ModelError):
        check_adapter(path, header)


def _check_bounds(header: GgufHeader, size: int) -> None:
    expect(header.size == size, "the size is the file's")
    expect(header.parameters == sum(math.prod(shape) for shape in header.tensors.values()), "parameters are counted")
    # No type stores more than 8 elements in a byte.
    expect(header.parameters <= 8 * max(size, 0), "no more parameters than the file can hold", header.parameters)
    expect(all(1 <= len(shape) <= 4 and min(shape) > 0 for shape in header.tensors.values()), "shapes are plain")
    expect(all(len(name.encode()) <= 3 * 64 for name in header.tensors), "tensor names are short")
    context = header.context_length
    expect(context is None or 0 < context < 1 << 31, "the context length is bounded", context)
    expect(header.state_bytes > 0, "the state takes room", header.state_bytes)
    expect(bool(header.architecture), "the architecture is named")
