"""Writes small GGUF files for tests."""

from __future__ import annotations

import struct
from pathlib import Path

Value = str | int | float | bool | list[str]


def _text(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def _value(value: Value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))


def gguf_bytes(values: dict[str, Value], tensors: dict[str, tuple[tuple[int, ...], bytes]], version: int = 3) -> bytes:
    """A GGUF file of F32 tensors: name → (shape, fastest dimension first; data)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    head += b"".join(_text(key) + _value(value) for key, value in values.items())
    data = b""
    for name, (shape, content) in tensors.items():
        head += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        head += struct.pack("<IQ", 0, len(data))
        data += content + bytes(-len(content) % 32)
    return head + bytes(-len(head) % 32) + data


def lora_adapter(
    path: Path, tensors: dict[str, tuple[tuple[int, ...], bytes]], *, architecture: str = "llama", alpha: float = 4.0
) -> Path:
    """A LoRA adapter with the given lora_a and lora_b tensors."""
    values: dict[str, Value] = {
        "general.type": "adapter",
        "general.architecture": architecture,
        "adapter.type": "lora",
        "adapter.lora.alpha": alpha,
    }
    path.write_bytes(gguf_bytes(values, tensors))
    return path
