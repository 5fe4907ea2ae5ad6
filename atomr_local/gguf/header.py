"""The header of a GGUF file: magic, version, counts, typed key-value pairs, and one record for each tensor."""

from __future__ import annotations

import io
import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

from atomr_local.errors import ModelError
from atomr_local.gguf.types import ARRAY, BOOL, FILE_TYPES, I32, SCALARS, STRING, TENSOR_TYPES, UNUSABLE_TENSOR_TYPES
from atomr_local.gguf.vocabulary import TOKEN_TYPES, TOKENS, TokenVocabulary
from atomr_local.input_files import open_regular

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
            vocabulary=None if self._tokens is None else TokenVocabulary.of(self._tokens, self._token_types, values),
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
                self._skip(count * size)
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
