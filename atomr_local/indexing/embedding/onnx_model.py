"""Writes ONNX models from arrays.

A model is one protobuf message (`onnx.proto` of the ONNX project); only the few fields that a feed-forward graph needs
are written. Large arrays stay outside of it and are handed to onnxruntime as they lie in memory, so that nothing is
exported to a file and no exporter is installed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FUSED = "com.microsoft"  # the domain of onnxruntime's own fused operators
_IR_VERSION = 9
_OPERATORS = 17  # version of ONNX's operators; LayerNormalization came with it
_FLOAT, _INT = 1, 2  # AttributeProto.AttributeType
FLOAT32, INT32 = 1, 6  # TensorProto.DataType
_EXTERNAL = 1  # TensorProto.DataLocation


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(tag: int, value: int) -> bytes:
    # Protobuf writes a negative number as the 64 bits of its two's complement.
    return _varint(tag << 3) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _bytes(tag: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(tag << 3 | 2) + _varint(len(data)) + data


def _attribute(name: str, value: float | int) -> bytes:
    if isinstance(value, float):
        return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT)
    return _bytes(1, name) + _number(3, value) + _number(20, _INT)


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    sizes = b"".join(_bytes(1, _number(1, size) if isinstance(size, int) else _bytes(2, size)) for size in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


@dataclass
class OnnxGraph:
    """A graph under construction, nodes in the order in which they are computed.

    Attributes:
        arrays: name → float32 array, constants of the graph that the model refers to.
    """

    arrays: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    _nodes: list[bytes] = field(default_factory=list)

    def constant(self, name: str, values: Any) -> str:
        """Keep an array under a name that nodes can read; returns the name."""
        self.arrays[name] = np.ascontiguousarray(values, dtype=np.float32)
        return name

    def node(self, operator: str, inputs: list[str], *, domain: str = "", out: str = "", **attributes: float) -> str:
        """Add a node; returns the name of its first output."""
        out = out or f"value{len(self._nodes)}"
        parts = [*(_bytes(1, name) for name in inputs), _bytes(2, out), _bytes(4, operator), _bytes(7, domain)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(_bytes(1, b"".join(parts)))
        return out

    def model(
        self,
        inputs: dict[str, tuple[int, tuple[str | int, ...]]],
        outputs: dict[str, tuple[int, tuple[str | int, ...]]],
    ) -> bytes:
        """The model, to be given to onnxruntime together with `arrays` as its external initializers.

        Args:
            inputs, outputs: name → type (FLOAT32 or INT32) and shape, a name for each size that varies.
        """
        tensors = [
            b"".join(_number(1, size) for size in array.shape)
            + _number(2, FLOAT32)
            + _bytes(8, name)
            + _bytes(13, _bytes(1, "location") + _bytes(2, "memory"))
            + _number(14, _EXTERNAL)
            for name, array in self.arrays.items()
        ]
        graph = b"".join(
            [
                *self._nodes,
                _bytes(2, "encoder"),
                *(_bytes(5, tensor) for tensor in tensors),
                *(_bytes(11, _value(name, *described)) for name, described in inputs.items()),
                *(_bytes(12, _value(name, *described)) for name, described in outputs.items()),
            ]
        )
        versions = [_number(2, _OPERATORS), _bytes(1, FUSED) + _number(2, 1)]
        return _number(1, _IR_VERSION) + _bytes(7, graph) + b"".join(_bytes(8, version) for version in versions)
