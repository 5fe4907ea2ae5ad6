"""The header of a GGUF file, read without llama.cpp and without trusting the file.

llama.cpp has crashed on damaged and hostile files, so they are turned away here. The format: magic, version,
counts, typed key-value pairs, one record for each tensor, then the tensors' data, aligned
(the GGUF specification of the ggml project).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from atomr_local.errors import ModelError
from atomr_local.input_files import open_regular

Scalar = int | float | bool | str

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_HEADER_BYTES = 256 << 20
_PAIRS = 1 << 16
_TENSORS = 1 << 17
_ARRAY_STRINGS = 1 << 22
_KEY_BYTES = 1 << 10
_TENSOR_NAME_BYTES = 64
_DIMENSIONS = 4
_LARGEST = 1 << 62

_STRING, _ARRAY, _BOOL = 8, 9, 7
# value type → struct format
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}

# tensor type → name, elements of a block, bytes of a block
_TENSOR_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18), 42: ("Q2_0", 64, 18),
}  # fmt: skip

# general.file_type → name of the quantisation recipe
_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS",
    20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M",
    28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
    39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says about itself.

    Attributes:
        kind: general.type: model, adapter, mmproj, …
        architecture: general.architecture, such as llama.
        name: general.name; empty when absent.
        context_length: tokens that the model was trained for; None when not said.
        parameters: elements of all tensors.
        quantisation: how the weights are stored, such as Q4_K_M.
        size: bytes of the file.
        values: every scalar of the header, untrusted text included.
        tensors: tensor name → dimensions, fastest first.
    """

    path: Path
    kind: str
    architecture: str
    name: str
    context_length: int | None
    parameters: int
    quantisation: str
    size: int
    values: dict[str, Scalar]
    tensors: dict[str, tuple[int, ...]]

    @property
    def state_bytes(self) -> int:
        """Bytes that one token takes in the context, keys and values in half precision, all heads counted."""

        def number(key: str, otherwise: int) -> int:
            value = self.values.get(f"{self.architecture}.{key}", otherwise)
            return value if type(value) is int and value > 0 else otherwise

        width, heads = number("embedding_length", 1), number("attention.head_count", 1)
        groups = number("attention.head_count_kv", heads)
        keys = number("attention.key_length", max(1, width // heads))
        return 2 * number("block_count", 1) * groups * (keys + number("attention.value_length", keys))

    @property
    def has_chat_template(self) -> bool:
        return "tokenizer.chat_template" in self.values


def read_header(path: Path) -> GgufHeader:
    """Read and check the header; the tensors' data is only checked to be there.

    Raises:
        ModelError: the file is missing, is no GGUF file, is damaged, cut short or too new.
    """
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise ModelError(f"{path} is a directory", hint="Name the GGUF file in it.")
        with open_regular(path) as stream:
            return _Reader(path, stream, size).header()
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist", hint="`atomr models list` shows what is at hand.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path} cannot be read: {reason}") from error


class _Reader:
    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self._path = path
        self._stream = stream
        self._size = size
        self._left = min(size, _HEADER_BYTES)

    def _damaged(self, what: str) -> NoReturn:
        raise ModelError(f"{self._path} is damaged: {what}", hint="Download the file again.")

    def _bytes(self, count: int) -> bytes:
        self._take(count)
        data = self._stream.read(count)
        if len(data) != count:
            self._damaged("it ends within its header")
        return data

    def _take(self, count: int) -> None:
        if count > self._left:
            self._damaged("it ends within its header" if self._size < _HEADER_BYTES else "its header is too large")
        self._left -= count

    def _skip(self, count: int) -> None:
        self._take(count)
        self._stream.seek(count, io.SEEK_CUR)

    def _number(self, layout: str) -> int:
        value: int = struct.unpack(layout, self._bytes(struct.calcsize(layout)))[0]
        return value

    def _text(self, limit: int, what: str) -> str:
        length = self._number("<Q")
        if length > limit:
            self._damaged(f"{what} of {length} bytes")
        return self._bytes(length).decode("utf-8", "replace")

    def header(self) -> GgufHeader:
        self._check_start()
        tensor_count, pair_count = self._number("<Q"), self._number("<Q")
        if tensor_count > _TENSORS or pair_count > _PAIRS:
            self._damaged(f"it claims {tensor_count} tensors and {pair_count} values")
        values: dict[str, Scalar] = {}
        keys: set[str] = set()
        for key, value in self._pairs(pair_count):
            if key in keys:
                self._damaged(f"the key {key!r} occurs twice")
            keys.add(key)
            if value is not None:
                values[key] = value
        tensors, parameters, end, largest_type = self._tensors(tensor_count)
        alignment = values.get("general.alignment", 32)
        if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
            self._damaged(f"general.alignment is {alignment!r}")
        begin = self._stream.tell()
        begin += -begin % alignment
        if tensors and begin + end > self._size:
            missing = begin + end - self._size
            raise ModelError(
                f"{self._path} is cut short: {missing} of {begin + end} bytes are missing",
                hint="Download the file again.",
            )
        architecture = values.get("general.architecture")
        if not isinstance(architecture, str) or not architecture:
            self._damaged("general.architecture is missing")
        for key in ("block_count", "embedding_length", "context_length"):
            value = values.get(f"{architecture}.{key}", 1)
            if type(value) is not int or not 0 < value < 1 << 31:
                self._damaged(f"{architecture}.{key} is {value!r}")
        context = values.get(f"{architecture}.context_length")
        file_type = values.get("general.file_type")
        return GgufHeader(
            path=self._path,
            kind=str(values.get("general.type", "model")),
            architecture=architecture,
            name=str(values.get("general.name", "")),
            context_length=context if type(context) is int else None,
            parameters=parameters,
            quantisation=_FILE_TYPES.get(file_type, largest_type) if type(file_type) is int else largest_type,
            size=self._size,
            values=values,
            tensors=tensors,
        )

    def _check_start(self) -> None:
        if self._size == 0:
            raise ModelError(f"{self._path} is empty", hint="Download the file again.")
        if self._size < 24 or self._bytes(4) != _MAGIC:
            raise ModelError(
                f"{self._path} is not a GGUF file",
                hint="Models for llama.cpp come as GGUF; other formats must be converted first.",
            )
        version = self._number("<I")
        if version in _VERSIONS:
            return
        if version & 0xFFFF == 0:
            raise ModelError(f"{self._path} is written for big-endian machines", hint="Download the ordinary file.")
        newer = version > max(_VERSIONS)
        raise ModelError(
            f"{self._path} has GGUF version {version}; versions {_VERSIONS[0]} and {_VERSIONS[-1]} can be read",
            hint="Upgrade llama-cpp-python and atomr-local." if newer else "Download a current file of this model.",
        )

    def _pairs(self, count: int) -> Iterator[tuple[str, Scalar | None]]:
        """Each key with its value; None for arrays, which are skipped."""
        for _ in range(count):
            key = self._text(_KEY_BYTES, "a key")
            kind = self._number("<I")
            if kind == _ARRAY:
                self._skip_array(key)
                yield key, None
            else:
                yield key, self._scalar(kind, key)

    def _scalar(self, kind: int, key: str) -> Scalar:
        if kind == _STRING:
            return self._text(self._left, f"the value of {key!r}")
        if kind not in _SCALARS:
            self._damaged(f"{key!r} has the unknown type {kind}")
        value = self._number(_SCALARS[kind])
        return bool(value) if kind == _BOOL else value

    def _skip_array(self, key: str) -> None:
        kind, count = self._number("<I"), self._number("<Q")
        if kind in _SCALARS:
            self._skip(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _STRING and count <= _ARRAY_STRINGS:
            for _ in range(count):
                self._skip(self._number("<Q"))
        else:
            self._damaged(f"{key!r} is an array of {count} elements of type {kind}")

    def _tensors(self, count: int) -> tuple[dict[str, tuple[int, ...]], int, int, str]:
        """The tensors; how many elements and bytes they have; the type that most elements have."""
        tensors: dict[str, tuple[int, ...]] = {}
        end = 0
        elements_of: dict[str, int] = {}
        for _ in range(count):
            name = self._text(_TENSOR_NAME_BYTES, "a tensor name")
            rank = self._number("<I")
            if not 0 < rank <= _DIMENSIONS:
                self._damaged(f"tensor {name!r} has {rank} dimensions")
            shape = tuple(self._number("<Q") for _ in range(rank))
            kind, offset = self._number("<I"), self._number("<Q")
            elements = 1
            for dimension in shape:
                elements *= dimension
            # A type newer than the table takes at least a bit for an element.
            type_name, block, block_bytes = _TENSOR_TYPES.get(kind, (f"type {kind}", 8, 1))
            if name in tensors or not 0 < elements < _LARGEST or (kind in _TENSOR_TYPES and shape[0] % block):
                self._damaged(f"tensor {name!r} has the shape {shape}")
            tensors[name] = shape
            elements_of[type_name] = elements_of.get(type_name, 0) + elements
            end = max(end, offset + elements // block * block_bytes)
        most = max(elements_of, key=lambda name: elements_of[name], default="")
        return tensors, sum(elements_of.values()), end, most


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
            f"{path} holds no model that generates text (type {header.kind!r}, architecture {header.architecture!r})",
            hint="Choose an instruction-tuned language model.",
        )
    return header


def check_adapter(path: Path, model: GgufHeader) -> GgufHeader:
    """The header of a LoRA adapter that is to be applied to `model`.

    Raises:
        ModelError: as :func:`read_header`, or the file is no adapter or one for another kind of model.
    """
    title = "Adapter not usable"
    try:
        header = read_header(path)
    except ModelError as error:
        raise ModelError(error.message, title=title, hint=error.hint) from error
    if header.kind != "adapter" or header.values.get("adapter.type") != "lora" or not header.tensors:
        raise ModelError(f"{path} is not a LoRA adapter", title=title, hint="Give a GGUF file of a LoRA adapter.")
    if header.architecture != model.architecture:
        raise ModelError(
            f"{path} is for the architecture {header.architecture!r}, {model.path.name} has {model.architecture!r}",
            title=title,
            hint="An adapter works only with the model that it was made for.",
        )
    for name, shape in header.tensors.items():
        base = name.removesuffix(".lora_a").removesuffix(".lora_b")
        expected = model.tensors.get(base)
        if base == name or expected is None:
            raise ModelError(
                f"{path} changes {base!r}, which {model.path.name} does not have",
                title=title,
                hint="An adapter works only with the model that it was made for.",
            )
        side = 0 if name.endswith(".lora_a") else 1
        if base != "token_embd.weight" and (len(shape) < 2 or len(expected) < 2 or shape[side] != expected[side]):
            raise ModelError(
                f"{path}: {name!r} has the shape {shape}, which does not fit {expected} of {model.path.name}",
                title=title,
                hint="An adapter works only with the model that it was made for.",
            )
    return header
