"""The header of a GGUF file, read and checked without llama.cpp and without trusting the file.

llama.cpp ends the process on many values that it does not expect, so they are turned away here. The format: magic,
version, counts, typed key-value pairs, one record for each tensor, then the tensors' data, aligned (the GGUF
specification of the ggml project). What each bound follows from is named beside it, by llama.cpp's source file.
"""

from __future__ import annotations

import io
import math
import re
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

from atomr_local.errors import ModelError
from atomr_local.system.files import open_regular

# The types of the GGUF format: of values in the header, and of tensors.

STRING, ARRAY, BOOL = 8, 9, 7
I32, F32 = 5, 6
F32_TENSOR = 0
# value type → struct format
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}

# tensor type → name, elements of a block, bytes of a block
TENSOR_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18), 42: ("Q2_0", 64, 18),
}  # fmt: skip

# Types that ggml computes with on the way (Q8_1, Q8_K) or has given up: a tensor of such a type ends the process.
UNUSABLE_TENSOR_TYPES = frozenset((4, 5, 9, 15, 31, 32, 33, 36, 37, 38))
# Whole numbers and double precision: no matrix product takes them.
NO_WEIGHTS = frozenset((24, 25, 26, 27, 28))

# general.file_type → name of the quantisation recipe
FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS",
    20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M",
    28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
    39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}  # fmt: skip

# The vocabulary of a model file; refuses what crashes llama.cpp (src/llama-vocab.cpp).

TOKENS = "tokenizer.ggml.tokens"
TOKEN_TYPES = "tokenizer.ggml.token_type"  # noqa: S105
_MODEL = "tokenizer.ggml.model"
_BYTE = 6  # llama_token_type
_BYTE_TEXT = re.compile(rb"<0x[0-9A-Fa-f]{2}>")
# Tokenizers that write a byte which no token holds as the token of that byte, and know no other way.
_FALL_BACK_TO_BYTES = ("llama", "plamo2")
# Tokenizers that this program runs models with; "none" has no texts, "test" is llama.cpp's own.
_KNOWN = ("gpt2", "llama", "bert", "t5", "rwkv", "plamo2", "gemma4")


@dataclass(frozen=True, slots=True)
class TokenVocabulary:
    """Attributes: count: tokens; problem: what is wrong with them, empty when nothing is."""

    count: int
    problem: str = ""


def _problem(tokens: Sequence[bytes], types: array[int] | None, model: object) -> str:
    if not tokens:
        return "it has no tokens"
    if model not in _KNOWN:
        return f"{_MODEL} is {str(model)[:40]!r}"
    # llama.cpp reads a token up to its first null byte, gives an empty one such a text, and asserts that all differ.
    texts = [token.partition(b"\0")[0] or b"[EMPTY_%d]" % number for number, token in enumerate(tokens)]
    known = set(texts)
    if len(known) < len(texts):
        return f"{len(texts) - len(known)} of its {len(texts)} tokens occur twice"
    return _byte_problem(texts, types) or (_fallback_problem(known) if model in _FALL_BACK_TO_BYTES else "")


def _byte_problem(texts: Sequence[bytes], types: array[int] | None) -> str:
    """The byte of such a token is read from its text, unchecked (token_to_byte)."""
    if types is None:
        return ""
    if len(types) < len(texts):
        return f"{TOKEN_TYPES} has {len(types)} items for {len(texts)} tokens"
    for number, token in enumerate(texts):
        if types[number] == _BYTE and not _BYTE_TEXT.fullmatch(token):
            return f"token {number} stands for a byte and is called {token[:40]!r}"
    return ""


def _fallback_problem(known: set[bytes]) -> str:
    """Text with a byte that no token holds is an uncaught exception (byte_to_token)."""
    for byte in range(256):
        if b"<0x%02X>" % byte not in known and bytes([byte]) not in known:
            return f"no token stands for the byte {byte:#04x}"
    return ""


Scalar = int | float | bool | str

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_HEADER_BYTES = 256 << 20
_PAIRS = 1 << 16
_TENSORS = 1 << 17
_ARRAY_STRINGS = 1 << 22
_KEY_BYTES = 1 << 10
_TENSOR_NAME_BYTES = 63
_TOKEN_BYTES = 1 << 16
_READ_NUMBERS = 1 << 12  # numbers of an array that are kept; token types are read apart
_DIMENSIONS = 4
_LEAST_ALIGNMENT = 32  # TENSOR_ALIGNMENT of ggml: tensors are computed with where they are mapped
_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The header of a GGUF file.

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
        kinds: key → type of its value, as the format numbers them; of arrays the type of their items.
        arrays: key → how many items an array has.
        numbers: key → the items of an array of at most 4,096 numbers.
        storage: tensor name → how it is stored, as ggml numbers the types.
        vocabulary: the tokens; None if the file lists none.
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
    kinds: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, tuple[int | float, ...]] = field(default_factory=dict)
    storage: dict[str, int] = field(default_factory=dict)
    vocabulary: TokenVocabulary | None = None

    @property
    def state_bytes(self) -> int:
        """Bytes that one token takes in the context, keys and values in half precision, all heads counted."""

        def number(key: str, otherwise: int) -> int:
            return max(self.whole(key, 0), 0) or otherwise

        width, heads = number("embedding_length", 1), number("attention.head_count", 1)
        groups = number("attention.head_count_kv", heads)
        keys = number("attention.key_length", max(1, width // heads))
        return 2 * number("block_count", 1) * groups * (keys + number("attention.value_length", keys))

    def whole(self, key: str, otherwise: int) -> int:
        """A whole number of the architecture."""
        value = self.values.get(f"{self.architecture}.{key}", otherwise)
        return value if type(value) is int else otherwise


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
            return _HeaderReader(path, stream, size).header()
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist", hint="`atomr models list` shows the available ones.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path} cannot be read: {reason}") from error


class _HeaderReader:
    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self._path = path
        self._stream = stream
        self._size = size
        self._left = min(size, _HEADER_BYTES)
        self._kinds: dict[str, int] = {}
        self._arrays: dict[str, int] = {}
        self._numbers: dict[str, tuple[int | float, ...]] = {}
        self._storage: dict[str, int] = {}
        self._tokens: list[bytes] | None = None
        self._token_types: array[int] | None = None

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
            if not key:
                self._damaged("a key is empty")
            if key in keys:
                self._damaged(f"the key {key!r} occurs twice")
            keys.add(key)
            if value is not None:
                values[key] = value
        alignment = values.get("general.alignment", 32)
        if type(alignment) is not int or alignment < _LEAST_ALIGNMENT or alignment & (alignment - 1):
            self._damaged(f"general.alignment is {alignment!r}")
        tensors, parameters, end, largest_type = self._tensors(tensor_count, alignment)
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
        vocabulary = None
        if (tokens := self._tokens) is not None:
            vocabulary = TokenVocabulary(len(tokens), _problem(tokens, self._token_types, values.get(_MODEL)))
        context = values.get(f"{architecture}.context_length")
        file_type = values.get("general.file_type")
        return GgufHeader(
            path=self._path,
            kind=str(values.get("general.type", "model")),
            architecture=architecture,
            name=str(values.get("general.name", "")),
            context_length=context if type(context) is int else None,
            parameters=parameters,
            quantisation=FILE_TYPES.get(file_type, largest_type) if type(file_type) is int else largest_type,
            size=self._size,
            values=values,
            tensors=tensors,
            kinds=self._kinds,
            arrays=self._arrays,
            numbers=self._numbers,
            storage=self._storage,
            vocabulary=vocabulary,
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
            kind = self._kinds[key] = self._number("<I")
            if kind == ARRAY:
                self._array(key)
                yield key, None
            else:
                yield key, self._scalar(kind, key)

    def _scalar(self, kind: int, key: str) -> Scalar:
        if kind == STRING:
            return self._text(self._left, f"the value of {key!r}")
        if kind not in SCALARS:
            self._damaged(f"{key!r} has the unknown type {kind}")
        value = self._number(SCALARS[kind])
        return bool(value) if kind == BOOL else value

    def _array(self, key: str) -> None:
        kind, count = self._number("<I"), self._number("<Q")
        self._kinds[key], self._arrays[key] = kind, count
        if kind in SCALARS:
            size = struct.calcsize(SCALARS[kind])
            if key == TOKEN_TYPES and kind == I32:
                self._token_types = array("i", self._bytes(count * size))
                if sys.byteorder == "big":
                    self._token_types.byteswap()
            elif count <= _READ_NUMBERS:
                self._numbers[key] = struct.unpack(f"<{count}{SCALARS[kind][1]}", self._bytes(count * size))
            else:
                self._take(count * size)
                self._stream.seek(count * size, io.SEEK_CUR)
        elif kind == STRING and count <= _ARRAY_STRINGS:
            texts = self._texts(count, _TOKEN_BYTES if key == TOKENS else self._left, key)
            if key == TOKENS:
                self._tokens = list(texts)
            else:
                for _ in texts:
                    pass
        else:
            self._damaged(f"{key!r} is an array of {count} elements of type {kind}")

    def _texts(self, count: int, longest: int, key: str) -> Iterator[bytes]:
        """The items of an array of texts. Vocabularies have hundreds of thousands: no call is made for each."""
        read, length_of = self._stream.read, struct.Struct("<Q").unpack
        left = self._left
        for _ in range(count):
            left -= 8
            if left < 0:
                self._take(self._left + 1)
            head = read(8)
            if len(head) != 8:
                self._damaged("it ends within its header")
            length = length_of(head)[0]
            if length > longest:
                self._damaged(f"a text of {length} bytes in {key!r}")
            left -= length
            if left < 0:
                self._take(self._left + 1)
            data = read(length)
            if len(data) != length:
                self._damaged("it ends within its header")
            yield data
        self._left = left

    def _tensors(self, count: int, alignment: int) -> tuple[dict[str, tuple[int, ...]], int, int, str]:
        """The tensors; how many elements and bytes they have; the type that most elements have."""
        tensors: dict[str, tuple[int, ...]] = {}
        end = place = 0
        known = True  # so far, how many bytes each tensor takes
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
            type_name, block, block_bytes = TENSOR_TYPES.get(kind, (f"type {kind}", 8, 1))
            if name in tensors or not 0 < elements < _LARGEST or (kind in TENSOR_TYPES and shape[0] % block):
                self._damaged(f"tensor {name!r} has the shape {shape}")
            if kind in UNUSABLE_TENSOR_TYPES:
                self._damaged(f"tensor {name!r} has the type {kind}, which no model is stored in")
            if known and offset != place:  # ggml/src/gguf.cpp takes no other place
                self._damaged(f"tensor {name!r} is at {offset} where {place} is its place")
            tensors[name] = shape
            self._storage[name] = kind
            elements_of[type_name] = elements_of.get(type_name, 0) + elements
            end = max(end, offset + elements // block * block_bytes)
            known = known and kind in TENSOR_TYPES
            place = end + -end % alignment
        most = max(elements_of, key=lambda name: elements_of[name], default="")
        return tensors, sum(elements_of.values()), end, most


# Bounds for the numbers of a model's header and the types of its tensors.
#
# llama.cpp compares tensors' shapes with most of these numbers and refuses what does not fit; what is checked here is
# what it asserts, which ends the process, or takes unseen (load_hparams in src/llama-model.cpp; src/llama-hparams.h;
# ggml/src/ggml.c).

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
    """The first value that llama.cpp must not be given, with its key or tensor; empty when there is none."""
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


# Checks a model or adapter file before llama.cpp sees it.

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
    """The fault of the other files of a model in several; llama.cpp opens them by name."""
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
    """The first value of a LoRA adapter that crashes llama.cpp (src/llama-adapter.cpp; ggml_mul_mat in ggml.c)."""
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
