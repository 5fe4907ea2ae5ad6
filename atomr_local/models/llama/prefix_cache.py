"""The prefix cache: finds the part of a prompt that is already evaluated.

It has two stores. The sequence still holds the previous prompt, so a prompt with the same beginning continues there.
Snapshots, shared by all slots, keep the state at the end of each static part, so that kinds of prompts can alternate.

The cache gives bit for bit what a cold evaluation computes, so an answer does not depend on earlier questions.
Floating-point sums depend on how many tokens are evaluated together. Batches are therefore always cut at the same
places: at the end of the static part, where a prompt continues an earlier call, and every GRID_TOKENS from there and
from the beginning. Reuse starts only at such a place. Generated tokens are never reused.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

# Saved states of static prompt parts: in memory for all sequences, on disk between starts.

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


# Processor time to read 512 tokens of the starter: 128 at a time as little as all at once, 64 at a time 6% more.
GRID_TOKENS = 128
# How many of the first tokens are the static part, and how many an earlier prompt that this one continues from.
Marks = tuple[int, int]


class TokenSequence(Protocol):
    """The part of a model that the cache uses (see :class:`atomr_local.models.llama.scheduler.Slot`)."""

    @property
    def can_trim(self) -> bool: ...
    @property
    def context_tokens(self) -> int: ...
    def decode(self, tokens: Sequence[int], flag: Any) -> None: ...
    def trim(self, length: int) -> bool: ...
    def save(self) -> Any: ...
    def restore(self, state: Any) -> bool: ...


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common prefix."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))


class PrefixCache:
    """Evaluates prompts on one sequence; by default with snapshots of its own, of twice the length of a sequence."""

    def __init__(self, sequence: TokenSequence, grid: int = GRID_TOKENS, snapshots: Snapshots | None = None) -> None:
        self._sequence = sequence
        self._grid = grid
        self._live: tuple[int, ...] = ()  # the prompt tokens that the sequence begins with
        self._live_marks: Marks = (0, 0)
        self._snapshots = Snapshots(2 * sequence.context_tokens) if snapshots is None else snapshots

    def evaluate(self, tokens: Sequence[int], static: int, flag: Any, continued: int = 0) -> int:
        """Make the sequence hold exactly `tokens`, with logits after the last one.

        Args:
            static: how many of the first tokens are the static part.
            flag: passed to the sequence's decode.
            continued: how many of the first tokens are an earlier prompt; 0: the prompt continues from none.

        Returns:
            how many tokens had to be evaluated; at least 1.

        Raises:
            Cancelled, ModelError: from the sequence; the cache stays usable.
        """
        prompt = tuple(tokens)
        static = min(static, len(prompt) - 1)
        marks = (static, continued)
        try:
            start = reused = self._reuse(prompt, marks)
            for end in self._batch_ends(len(prompt), marks):
                if end <= start:
                    continue
                self._live, self._live_marks = prompt[:start], marks
                self._sequence.decode(prompt[start:end], flag)
                start = end
                if start == static:
                    self._remember(prompt[:static])
            self._live = prompt
        except BaseException:
            if not self._sequence.trim(len(self._live)):
                self._live = ()
            raise
        return len(prompt) - reused

    def reusable(self, tokens: Sequence[int], static: int, continued: int = 0) -> int:
        """How many of the first tokens the sequence holds already; 0 for a model that cannot take tokens back."""
        prompt = tuple(tokens)
        if not self._sequence.can_trim:
            return 0
        return self._usable(self._live, self._live_marks, prompt, (min(static, len(prompt) - 1), continued))

    def clear(self) -> None:
        """Forget everything."""
        self._live = ()
        self._snapshots.clear()
        self._sequence.trim(0)

    def _batch_ends(self, length: int, marks: Marks) -> list[int]:
        """Where the batches of a prompt of this length end."""
        ends: list[int] = []
        start = 0
        for mark in (*sorted({mark for mark in marks if 0 < mark < length}), length):
            ends += [*range(start + self._grid, mark, self._grid), mark]
            start = mark
        return ends

    def _usable(self, known: tuple[int, ...], known_marks: Marks, prompt: tuple[int, ...], marks: Marks) -> int:
        """How much of `known` can stand for the beginning of `prompt`: what is alike and was cut alike."""
        common = min(common_prefix(known, prompt), len(prompt) - 1)
        usable = 0
        both = zip(self._batch_ends(len(known), known_marks), self._batch_ends(len(prompt), marks), strict=False)
        for one, other in both:
            if one != other or one > common:
                break
            usable = one
        return usable

    def _reuse(self, prompt: tuple[int, ...], marks: Marks) -> int:
        """Bring the sequence to the longest known beginning of `prompt`; its length."""
        can_trim = self._sequence.can_trim
        live = self._usable(self._live, self._live_marks, prompt, marks) if can_trim else 0
        best, usable = None, live
        self._snapshots.find(prompt[: marks[0]])
        for prefix in self._snapshots:
            length = self._usable(prefix, (len(prefix), 0), prompt, marks)
            if length > usable and (can_trim or length == len(prefix)):
                best, usable = prefix, length
        if best is not None:
            restored = self._sequence.restore(self._snapshots[best])
            if restored and (usable == len(best) or self._sequence.trim(usable)):
                return usable
            if not restored:
                self._snapshots.drop(best)
            live = 0
        return live if self._sequence.trim(live) else 0

    def _remember(self, prefix: tuple[int, ...]) -> None:
        if self._snapshots.find(prefix):
            return
        state = self._sequence.save()
        if state is not None:
            self._snapshots.put(prefix, state)
