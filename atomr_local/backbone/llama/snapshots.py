"""Saved states of static prompt parts: in memory for all sequences, on disk between starts."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Prefix = tuple[int, ...]
PREFIXES = "prefixes"  # the folder in the cache directory
_DIGEST_BYTES = 32
_SUFFIX = ".prefix"


def damaged_snapshots(root: Path) -> tuple[int, list[Path]]:
    """Read all states kept on disk for all models: how many there are, and those that are damaged."""
    found, damaged = 0, []
    for path in root.glob(f"*/*{_SUFFIX}"):
        found += 1
        try:
            whole = _is_whole(path, path.read_bytes())
        except OSError:
            whole = False
        if not whole:
            damaged.append(path)
    return found, damaged


def _is_whole(path: Path, data: bytes) -> bool:
    return len(data) > _DIGEST_BYTES and _digest(path, memoryview(data)[_DIGEST_BYTES:]) == data[:_DIGEST_BYTES]


def _digest(path: Path, state: memoryview | bytes) -> bytes:
    digest = hashlib.sha256(f"{path.parent.name}/{path.name}\0".encode())
    digest.update(state)
    return digest.digest()


class Snapshots:
    """Keeps states by the tokens that they stand for. The least recently used goes first, in memory and on disk.

    A file holds the state behind a SHA-256 digest of it and of the file's own name, so that neither damaged content nor
    a file in the wrong place passes. Such a file is deleted and its prompt read again,
    for llama.cpp trusts what it is given.
    """

    def __init__(self, most_tokens: int, folder: Path | None = None, most_bytes: int = 0) -> None:
        """Make a store.

        Args:
            most_tokens: tokens of the states in memory together at most.
            folder: where states are kept on disk: one for each model, adapter and build of llama.cpp, for a state
                means nothing to others. None: not on disk.
            most_bytes: bytes of the files in the folder's parent together at most.
        """
        self._most_tokens = most_tokens
        self._folder = folder if most_bytes > 0 else None
        self._most_bytes = most_bytes
        self._states: OrderedDict[Prefix, Any] = OrderedDict()

    def __iter__(self) -> Iterator[Prefix]:
        """Those in memory."""
        return iter(list(self._states))

    def __getitem__(self, prefix: Prefix) -> Any:
        """The state of a prefix in memory, now the most recently used."""
        self._states.move_to_end(prefix)
        return self._states[prefix]

    def find(self, prefix: Prefix) -> bool:
        """Whether the state is there; it is taken into memory from disk if it is only there."""
        if prefix not in self._states and (state := self._read(prefix)) is not None:
            self._keep(prefix, state)
        return prefix in self._states

    def put(self, prefix: Prefix, state: Any) -> None:
        self._keep(prefix, state)
        self._write(prefix, state)

    def drop(self, prefix: Prefix) -> None:
        """Forget a state that turned out to be of no use."""
        self._states.pop(prefix, None)
        path = self._path(prefix)
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget everything in memory."""
        self._states.clear()

    def _keep(self, prefix: Prefix, state: Any) -> None:
        self._states[prefix] = state
        self._states.move_to_end(prefix)
        while sum(map(len, self._states)) > self._most_tokens:
            self._states.popitem(last=False)

    def _path(self, prefix: Prefix) -> Path | None:
        if self._folder is None or not prefix:
            return None
        return self._folder / f"{hashlib.sha256(struct.pack(f'<{len(prefix)}i', *prefix)).hexdigest()[:40]}{_SUFFIX}"

    def _read(self, prefix: Prefix) -> Any:
        path = self._path(prefix)
        if path is None:
            return None
        try:
            data = path.read_bytes()
            os.utime(path)  # used just now
        except OSError:
            return None
        if not _is_whole(path, data):
            self.drop(prefix)
            return None
        import ctypes

        state = data[_DIGEST_BYTES:]
        return (ctypes.c_uint8 * len(state)).from_buffer_copy(state)

    def _write(self, prefix: Prefix, state: Any) -> None:
        path = self._path(prefix)
        data = memoryview(state).cast("B") if path is not None else b""
        if path is None or len(data) + _DIGEST_BYTES > self._most_bytes:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._make_room(path.parent.parent, len(data) + _DIGEST_BYTES)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as stream:
                try:
                    stream.write(_digest(path, data))
                    stream.write(data)
                    stream.close()
                    Path(stream.name).replace(path)
                except BaseException:
                    Path(stream.name).unlink(missing_ok=True)
                    raise
        except OSError:
            return  # slower without, and as right

    def _make_room(self, folder: Path, needed: int) -> None:
        """Delete the files used longest ago, of every model, until `needed` bytes have room."""
        found = [(path.stat().st_mtime, path.stat().st_size, path) for path in folder.glob("*/*")]
        total = sum(size for _, size, _ in found) + needed
        for _, size, path in sorted(found):
            if total <= self._most_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size
