"""What the targets share: broken properties, bounds on one input, and inputs made long."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

# The first byte of an input that repeats a part of itself; it stands in no UTF-8 text.
REPEATS = 0xF5
LONGEST = 40_000


class Broken(Exception):
    """A property that must hold does not; the message begins with a name that stays the same for the same fault."""


def expect(holds: bool, name: str, detail: object = "") -> None:
    """Raise :class:`Broken` unless `holds`."""
    if not holds:
        raise Broken(f"{name}: {detail!r:.400}" if detail != "" else name)


def expanded(data: bytes) -> bytes:
    """The input as the target gets it.

    Most faults of time and depth need long inputs, which a fuzzer finds slowly. So `F5 count count head unit rest`
    stands for the first `head` bytes of `rest`, the next `unit` bytes `count` times, and what is left of it; at most
    40,000 bytes are repeated.
    """
    if len(data) < 6 or data[0] != REPEATS:
        return data[:LONGEST]
    count, head, unit, rest = int.from_bytes(data[1:3], "little"), data[3], data[4], data[5:]
    return rest[:head] + (rest[head : head + unit] * count)[:LONGEST] + rest[head + unit :]


def repeated(unit: bytes, count: int, *, head: bytes = b"", tail: bytes = b"") -> bytes:
    """The short form of `unit` `count` times between `head` and `tail`; of both 255 bytes at most."""
    return bytes([REPEATS]) + count.to_bytes(2, "little") + bytes([len(head), len(unit)]) + head + unit + tail


def as_text(data: bytes) -> str:
    """The input as text; lone surrogates, which JSON can spell, are kept where the bytes spell them."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


@cache
def scratch() -> Path:
    """A directory of this process for files that a parser must be given as files; run.py removes it."""
    return Path(tempfile.mkdtemp(prefix="atomr-fuzz-"))


def as_file(data: bytes, name: str = "input") -> Path:
    """The input as a file, the same one each time."""
    path = scratch() / name
    path.write_bytes(data)
    return path
