"""The GGUF header reader: real file, damaged files, hostile files."""

from __future__ import annotations

import ctypes
import importlib.util
import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.gguf_files import gguf_bytes, lora_adapter

from atomr_local.errors import ModelError
from atomr_local.models.gguf import TENSOR_TYPES, check_adapter, check_model, read_header

MODEL = {"general.architecture": "llama", "general.name": "tiny", "general.file_type": 15, "llama.context_length": 99}
TENSORS = {"w.weight": ((4, 2), bytes(32)), "v.weight": ((4, 8), bytes(128))}


def write(folder: Path, content: bytes) -> Path:
    path = folder / "file.gguf"
    path.write_bytes(content)
    return path


def test_reads_the_starter(starter_file: Path) -> None:
    header = check_model(starter_file)
    assert (header.kind, header.architecture, header.context_length) == ("model", "llama", 8192)
    assert header.parameters == 134_515_008
    assert header.quantisation == "Q4_1"
    assert header.size == starter_file.stat().st_size
    assert "tokenizer.chat_template" in header.values
    assert header.tensors["blk.0.attn_q.weight"] == (576, 576)


def test_reads_a_small_file(tmp_path: Path) -> None:
    values = {**MODEL, "tokenizer.tokens": ["a", "bc"], "x.flag": True, "x.number": 0.5}
    header = read_header(write(tmp_path, gguf_bytes(values, TENSORS)))
    assert (header.name, header.context_length, header.quantisation) == ("tiny", 99, "Q4_K_M")
    assert header.parameters == 40
    assert header.values["x.flag"] is True
    assert "tokenizer.chat_template" not in header.values


SHAPE = {**MODEL, "llama.block_count": 3, "llama.embedding_length": 64, "llama.attention.head_count": 8}


def test_state_bytes_of_the_starter(starter_file: Path) -> None:
    # 30 blocks, 3 of 9 heads with keys and values of 64 numbers, two bytes each
    assert check_model(starter_file).state_bytes == 30 * 3 * (64 + 64) * 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, 3 * 8 * (8 + 8) * 2),
        ({"attention.head_count_kv": 2}, 3 * 2 * (8 + 8) * 2),
        ({"attention.head_count_kv": 1, "attention.key_length": 16}, 3 * (16 + 16) * 2),
        ({"attention.key_length": 16, "attention.value_length": 4}, 3 * 8 * (16 + 4) * 2),
        ({"attention.value_length": 4}, 3 * 8 * (8 + 4) * 2),
    ],
)
def test_state_bytes(tmp_path: Path, values: dict[str, int], expected: int) -> None:
    header = read_header(
        write(tmp_path, gguf_bytes({**SHAPE, **{f"llama.{key}": value for key, value in values.items()}}, TENSORS))
    )
    assert header.state_bytes == expected


def test_state_bytes_of_missing_values(tmp_path: Path) -> None:
    """Too few rather than none: callers divide by it."""
    assert read_header(write(tmp_path, gguf_bytes(MODEL, TENSORS))).state_bytes == 4
    for key in ("block_count", "embedding_length", "attention.head_count"):
        some = {name: value for name, value in SHAPE.items() if name != f"llama.{key}"}
        assert read_header(write(tmp_path, gguf_bytes(some, TENSORS))).state_bytes > 0
    other = {**SHAPE, "general.architecture": "qwen2"}  # the values of another architecture count for nothing
    assert read_header(write(tmp_path, gguf_bytes(other, TENSORS))).state_bytes == 4


@pytest.mark.parametrize("value", [0, -1, -(1 << 62), "8", "many", True, False, 0.5, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "key",
    ["attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"],
)
def test_state_bytes_of_hostile_values(tmp_path: Path, key: str, value: Any) -> None:
    """They count as missing."""
    header = read_header(write(tmp_path, gguf_bytes(SHAPE, TENSORS)))
    without = {name: given for name, given in header.values.items() if name != f"llama.{key}"}
    hostile = replace(header, values={**without, f"llama.{key}": value})
    assert hostile.state_bytes == replace(header, values=without).state_bytes > 0


def test_state_bytes_are_never_none_for_more_heads_than_numbers(tmp_path: Path) -> None:
    for heads in (65, (1 << 32) - 1):
        values = {**SHAPE, "llama.attention.head_count": heads, "llama.attention.head_count_kv": 1}
        assert read_header(write(tmp_path, gguf_bytes(values, TENSORS))).state_bytes > 0


def test_tensor_types_are_those_of_the_library() -> None:
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        pytest.skip("llama-cpp-python is not installed")
    libraries = sorted((Path(spec.origin).parent / "lib").glob("libggml-base.*"))
    if not libraries:
        pytest.skip("the library ggml-base is not a file of its own here")
    ggml = ctypes.CDLL(str(libraries[0]))
    ggml.ggml_type_name.restype = ctypes.c_char_p
    ggml.ggml_blck_size.restype = ctypes.c_int64
    ggml.ggml_type_size.restype = ctypes.c_size_t
    for kind, (name, block, size) in TENSOR_TYPES.items():
        library_name = ggml.ggml_type_name(kind).decode().upper()
        assert (library_name, ggml.ggml_blck_size(kind), ggml.ggml_type_size(kind)) == (name, block, size)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"GGUF", "not a GGUF file"),
        (b"PK\3\4" + bytes(100), "not a GGUF file"),
        (gguf_bytes(MODEL, TENSORS, version=4), "version 4"),
        (gguf_bytes(MODEL, TENSORS, version=1), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (gguf_bytes(MODEL, TENSORS)[:-1], "cut short: 1 of"),
        (gguf_bytes(MODEL, TENSORS)[:60], "ends within its header"),
        (gguf_bytes({}, TENSORS), "general.architecture is missing"),
        (gguf_bytes({**MODEL, "llama.context_length": 0}, TENSORS), "context_length is 0"),
        (gguf_bytes({**MODEL, "llama.block_count": "many"}, TENSORS), "block_count is 'many'"),
        (gguf_bytes({**MODEL, "general.alignment": 3}, TENSORS), "alignment is 3"),
        (gguf_bytes(MODEL, {"w": ((1 << 61, 4), b"")}), "shape"),
        (gguf_bytes(MODEL, {"w": ((0, 4), b"")}), "shape"),
        (gguf_bytes(MODEL, {"w": ((1,) * 5, b"")}), "5 dimensions"),
        (gguf_bytes(MODEL, {"w" * 65: ((1,), bytes(4))}), "a tensor name of 65 bytes"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1), "claims"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "claims"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 63), "a key of"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<IQ", 8, 1 << 40),
            "value",
        ),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 4, 1 << 62), "ends within"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 9, 1), "array of 1 elements"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IQ", 99, 1), "unknown type 99"),
    ],
)
def test_damaged_files_are_told_apart(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_header(write(tmp_path, content))
    assert said in caught.value.message
    assert "file.gguf" in caught.value.message
    assert caught.value.hint


def test_the_same_key_twice_is_refused(tmp_path: Path) -> None:
    pair = struct.pack("<Q", 1) + b"k" + struct.pack("<II", 4, 1)
    content = b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + pair + pair
    with pytest.raises(ModelError, match="twice"):
        read_header(write(tmp_path, content))


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(ModelError, match="is a directory"):
        read_header(tmp_path)
    with pytest.raises(ModelError, match="cannot be read"):
        read_header(Path("a\0b.gguf"))


def test_what_is_no_language_model_is_refused(tmp_path: Path) -> None:
    for values in ({"general.type": "adapter"}, {"general.type": "mmproj"}, {"llama.attention.causal": False}):
        with pytest.raises(ModelError):
            check_model(write(tmp_path, gguf_bytes({**MODEL, **values}, TENSORS)))
    with pytest.raises(ModelError, match="no model"):
        check_model(write(tmp_path, gguf_bytes(MODEL, {})))
    assert check_model(write(tmp_path, gguf_bytes(MODEL, TENSORS))).name == "tiny"


def test_adapters_must_fit_the_model(tmp_path: Path) -> None:
    model = check_model(write(tmp_path, gguf_bytes(MODEL, TENSORS)))
    good = {"w.weight.lora_a": ((4, 1), bytes(16)), "w.weight.lora_b": ((1, 2), bytes(8))}
    adapter = tmp_path / "adapter.gguf"
    assert check_adapter(lora_adapter(adapter, good), model).kind == "adapter"
    with pytest.raises(ModelError, match="architecture 'qwen2'"):
        check_adapter(lora_adapter(adapter, good, architecture="qwen2"), model)
    with pytest.raises(ModelError, match="does not have"):
        check_adapter(lora_adapter(adapter, {"x.weight.lora_a": ((4, 1), bytes(16))}), model)
    with pytest.raises(ModelError, match="does not fit"):
        check_adapter(lora_adapter(adapter, {"w.weight.lora_a": ((5, 1), bytes(20))}), model)
    with pytest.raises(ModelError, match="not a LoRA adapter"):
        check_adapter(model.path, model)
    with pytest.raises(ModelError) as caught:
        check_adapter(tmp_path / "none.gguf", model)
    assert caught.value.title == "Adapter not usable"


@pytest.mark.slow
def test_mutated_headers_raise_nothing_but_model_errors(starter_file: Path, tmp_path: Path) -> None:
    random_ = random.Random(20)
    with starter_file.open("rb") as stream:
        start = stream.read(4000)
    small = gguf_bytes({**MODEL, "tokenizer.tokens": ["a", "bc"], "x.flag": True}, TENSORS)
    refused = 0
    for round_ in range(1500):
        content = bytearray(small if round_ % 2 else start)
        for _ in range(random_.choice((1, 1, 2, 8))):
            at = random_.randrange(4, len(content))
            width = random_.choice((1, 2, 4, 8))
            value = random_.choice((0, 1, 0xFF, 1 << 31, (1 << 63) - 1, (1 << 64) - 1, random_.getrandbits(64)))
            content[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        if random_.random() < 0.2:
            del content[random_.randrange(len(content)) :]
        try:
            check_model(write(tmp_path, bytes(content)))
        except ModelError:
            refused += 1
    assert 700 < refused < 1500  # some mutations only touch names or data


def test_the_mutated_real_header_in_full(starter_file: Path, tmp_path: Path) -> None:
    """A few hundred kB of the real file, tokens and merges included."""
    random_ = random.Random(21)
    with starter_file.open("rb") as stream:
        start = stream.read(400_000)
    for _ in range(40):
        content = bytearray(start)
        for _ in range(20):
            content[random_.randrange(4, len(content))] = random_.randrange(256)
        with pytest.raises(ModelError):
            check_model(write(tmp_path, bytes(content)))
