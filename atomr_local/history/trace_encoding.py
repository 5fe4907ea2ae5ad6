"""How a trace is kept: compact JSON, compressed where that is worth its while, with a checksum."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from typing import Any, Literal

from atomr_local.reasoning.trace.schema import Trace

LARGEST_TRACE = 64 << 20
# A trace with evidence shrinks to about a fifth.
_COMPRESS_FROM = 4096


def encode(trace: Trace) -> bytes:
    """The trace as compact JSON in ASCII; numbers that JSON cannot write become null."""
    return json.dumps(finite(trace.to_dict()), separators=(",", ":"), default=str, allow_nan=False).encode("ascii")


def digest_of(trace: Trace) -> str:
    """What tells the kept trace from any other: SHA-256 of how it is kept, in hexadecimal digits."""
    return hashlib.sha256(encode(trace)).hexdigest()


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON cannot write: in lists, tuples and dictionaries."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def compress(data: bytes) -> tuple[Literal["json", "zlib"], bytes]:
    """The encoding of a trace's JSON in the file, and the data in it."""
    return ("json", data) if len(data) < _COMPRESS_FROM else ("zlib", zlib.compress(data))


def decode(encoding: str, digest: str, data: bytes) -> dict[str, Any]:
    """The JSON object that was kept.

    Raises:
        ValueError: it is damaged; the message says how.
    """
    try:
        data = decompress(encoding, data)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError("it does not match its checksum")
        document = json.loads(data)
    except (zlib.error, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(document, dict):
        raise ValueError("it is not a trace")
    return document


def decompress(encoding: str, data: bytes) -> bytes:
    """The encoded trace; data without compression as it is.

    Raises:
        ValueError: it is cut short or too large.
        zlib.error: it is damaged.
    """
    if encoding != "zlib":
        return data
    inflater = zlib.decompressobj()
    data = inflater.decompress(data, LARGEST_TRACE)
    if not inflater.eof:
        raise ValueError("it is cut short or too large")
    return data
