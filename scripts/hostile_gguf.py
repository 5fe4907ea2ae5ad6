"""Hostile GGUF files: tiny models and adapters that llama.cpp takes, and what an attacker or a bad disk makes of them.

`scripts/hostile_models.py` runs the program on each; the test suite takes some of the worst.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
_LAYOUTS = {
    U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<B", U64: "<Q", I64: "<q",
    F64: "<d",
}  # fmt: skip
TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
WIDTH, HEADS, GROUPS, FORWARD, BLOCKS = 64, 4, 2, 96, 2


@dataclass(frozen=True)
class Value:
    """A typed value of a header. `raw` replaces its encoding."""

    kind: int
    content: Any = None
    item: int = STRING
    raw: bytes | None = None

    def encode(self) -> bytes:
        if self.raw is not None:
            return struct.pack("<I", self.kind) + self.raw
        if self.kind == ARRAY:
            return struct.pack("<IIQ", ARRAY, self.item, len(self.content)) + b"".join(
                _scalar(self.item, item) for item in self.content
            )
        return struct.pack("<I", self.kind) + _scalar(self.kind, self.content)


@dataclass(frozen=True)
class Tensor:
    """Dimensions fastest first; `kind` is the ggml type; `offset` replaces the right one."""

    name: str
    shape: tuple[int, ...]
    data: bytes
    kind: int = 0
    offset: int | None = None


@dataclass(frozen=True)
class File:
    """A GGUF file to be written; mutations return another one."""

    values: dict[str, Value]
    tensors: tuple[Tensor, ...]
    version: int = 3
    again: tuple[str, ...] = ()  # keys that are written twice

    def encode(self) -> bytes:
        keys = [*self.values, *self.again]
        head = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(keys))
        head += b"".join(_scalar(STRING, key) + self.values[key].encode() for key in keys)
        data = bytearray()
        for tensor in self.tensors:
            head += _scalar(STRING, tensor.name) + struct.pack("<I", len(tensor.shape))
            head += b"".join(struct.pack("<Q", size % (1 << 64)) for size in tensor.shape)
            head += struct.pack("<IQ", tensor.kind, len(data) if tensor.offset is None else tensor.offset)
            data += tensor.data + bytes(-len(tensor.data) % 32)
        return head + bytes(-len(head) % 32) + bytes(data)

    def set(self, **changed: Value | None) -> File:
        """With other values; dots of a key are written as two underscores, None takes the key away."""
        values = dict(self.values)
        for key, value in changed.items():
            name = key.replace("__", ".")
            if value is None:
                values.pop(name, None)
            else:
                values[name] = value
        return replace(self, values=values)

    def put(self, key: str, value: Value | None) -> File:
        return self.set(**{key.replace(".", "__"): value})

    def with_tensor(self, name: str, **changed: Any) -> File:
        tensors = tuple(replace(tensor, **changed) if tensor.name == name else tensor for tensor in self.tensors)
        return replace(self, tensors=tensors)

    def without_tensor(self, name: str) -> File:
        return replace(self, tensors=tuple(tensor for tensor in self.tensors if tensor.name != name))


def _scalar(kind: int, content: Any) -> bytes:
    if kind == STRING:
        data = content if isinstance(content, bytes) else str(content).encode()
        return struct.pack("<Q", len(data)) + data
    return struct.pack(_LAYOUTS[kind], content)


def u32(number: int) -> Value:
    return Value(U32, number % (1 << 32))


def f32(number: float) -> Value:
    return Value(F32, number)


def text(content: str | bytes) -> Value:
    return Value(STRING, content)


def texts(content: list[str] | list[bytes]) -> Value:
    return Value(ARRAY, content, STRING)


def numbers(content: list[int] | list[float], item: int = I32) -> Value:
    return Value(ARRAY, content, item)


def _floats(count: int, random_: random.Random, scale: float) -> bytes:
    return struct.pack(f"<{count}f", *(random_.gauss(0, scale) for _ in range(count)))


def byte_tokens() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    places = {byte: chr(byte) for byte in kept} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [places[byte] for byte in range(256)]


def vocabulary(kind: str) -> dict[str, Value]:
    """A tokenizer of the 256 bytes, four words and three markers."""
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    if kind == "gpt2":
        tokens = [*marks, *byte_tokens(), "th", "in", "Paris", "Ġis"]
        types = [3] * 3 + [1] * (len(tokens) - 3)
        extra = {"tokenizer.ggml.merges": texts(["t h", "i n"]), "tokenizer.ggml.pre": text("smollm")}
    else:
        tokens = ["<unk>", *marks[1:], *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "▁is", "th", "Paris"]
        types = [2, 3, 3] + [6] * 256 + [1] * 4
        extra = {"tokenizer.ggml.scores": numbers([float(-n) for n in range(len(tokens))], F32)}
    return {
        "tokenizer.ggml.model": text(kind),
        "tokenizer.ggml.tokens": texts(tokens),
        "tokenizer.ggml.token_type": numbers(types),
        **extra,
        "tokenizer.ggml.bos_token_id": u32(1),
        "tokenizer.ggml.eos_token_id": u32(2),
        "tokenizer.ggml.unknown_token_id": u32(0),
        "tokenizer.ggml.add_bos_token": Value(BOOL, 0),
        "tokenizer.chat_template": text(TEMPLATE),
    }


def model(architecture: str = "llama", tokenizer: str = "gpt2", experts: int = 0, seed: int = 0) -> File:
    """A model of two blocks with random weights, which llama.cpp loads and runs."""
    random_ = random.Random(seed)
    words = vocabulary(tokenizer)
    size = len(words["tokenizer.ggml.tokens"].content)
    per_head = WIDTH // HEADS
    hyper: dict[str, Value] = {
        "context_length": u32(2048), "embedding_length": u32(WIDTH), "block_count": u32(BLOCKS),
        "feed_forward_length": u32(FORWARD), "attention.head_count": u32(HEADS), "attention.head_count_kv": u32(GROUPS),
        "attention.layer_norm_rms_epsilon": f32(1e-5), "rope.freq_base": f32(10000.0),
        "rope.dimension_count": u32(per_head), "vocab_size": u32(size),
    }  # fmt: skip
    if experts:
        hyper |= {"expert_count": u32(experts), "expert_used_count": u32(2)}
    values = {
        "general.architecture": text(architecture),
        "general.type": text("model"),
        "general.name": text("tiny"),
        "general.file_type": u32(0),
        **{f"{architecture}.{key}": value for key, value in hyper.items()},
        **words,
    }
    tensors: list[Tensor] = []

    def add(name: str, *shape: int, ones: bool = False) -> None:
        count = 1
        for dimension in shape:
            count *= dimension
        tensors.append(Tensor(name, shape, struct.pack("<f", 1.0) * count if ones else _floats(count, random_, 0.1)))

    add("token_embd.weight", WIDTH, size)
    add("output_norm.weight", WIDTH, ones=True)
    for block in range(BLOCKS):
        at = f"blk.{block}."
        add(at + "attn_norm.weight", WIDTH, ones=True)
        for name, width in (("q", WIDTH), ("k", GROUPS * per_head), ("v", GROUPS * per_head)):
            add(f"{at}attn_{name}.weight", WIDTH, width)
            if architecture == "qwen2":
                add(f"{at}attn_{name}.bias", width)
        if architecture == "qwen3":
            add(at + "attn_q_norm.weight", per_head, ones=True)
            add(at + "attn_k_norm.weight", per_head, ones=True)
        add(at + "attn_output.weight", WIDTH, WIDTH)
        add(at + "ffn_norm.weight", WIDTH, ones=True)
        if experts:
            add(at + "ffn_gate_inp.weight", WIDTH, experts)
            add(at + "ffn_gate_exps.weight", WIDTH, FORWARD, experts)
            add(at + "ffn_down_exps.weight", FORWARD, WIDTH, experts)
            add(at + "ffn_up_exps.weight", WIDTH, FORWARD, experts)
        else:
            add(at + "ffn_gate.weight", WIDTH, FORWARD)
            add(at + "ffn_down.weight", FORWARD, WIDTH)
            add(at + "ffn_up.weight", WIDTH, FORWARD)
    return File(values, tuple(tensors))


def adapter(name: str = "blk.0.attn_output.weight", seed: int = 1) -> File:
    """A LoRA adapter of rank 4 for :func:`model`."""
    random_ = random.Random(seed)
    values = {
        "general.architecture": text("llama"),
        "general.type": text("adapter"),
        "adapter.type": text("lora"),
        "adapter.lora.alpha": f32(8.0),
    }
    pair = (
        Tensor(f"{name}.lora_a", (WIDTH, 4), _floats(WIDTH * 4, random_, 0.1)),
        Tensor(f"{name}.lora_b", (4, WIDTH), _floats(WIDTH * 4, random_, 0.1)),
    )
    return File(values, pair)


@dataclass(frozen=True)
class Case:
    """One hostile file. `model` and `adapter` are its bytes; no adapter where there is none."""

    name: str
    model: bytes
    adapter: bytes | None = None
    tags: frozenset[str] = field(default_factory=frozenset)


INTEGERS = (0, 1, 2, 3, 5, 7, 63, 65, 127, 513, 100_000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
FLOATS = (float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1e38, 1e-45)


def other_types() -> Iterator[tuple[str, Value]]:
    """Values of every other type."""
    for kind in (U8, I8, U16, U64, I64, BOOL):
        yield f"type {kind}", Value(kind, 1)
    yield "f32", f32(1.5)
    yield "f64", Value(F64, 1.5)
    yield "text", text("8")
    yield "no text", text(b"\xff\xfe\x00")
    yield "array", numbers([1, 2])
    yield "empty array", numbers([])
    yield "array of texts", texts(["a"])
    yield "nested array", Value(ARRAY, raw=struct.pack("<IQ", ARRAY, 1) + struct.pack("<IQI", U32, 1, 7))
    yield "endless array", Value(ARRAY, raw=struct.pack("<IQ", U32, 1 << 60))
    yield "endless text", Value(STRING, raw=struct.pack("<Q", 1 << 62))
    yield "no type", Value(99, raw=b"\0" * 8)
