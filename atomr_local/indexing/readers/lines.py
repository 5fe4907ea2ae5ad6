"""Lines of a plain or packed file in UTF-8, whatever its encoding, with the position in the file on disk."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from atomr_local.errors import InputError
from atomr_local.file_kinds import HEAD, FileKind, kind_of
from atomr_local.indexing.readers.encodings import as_utf8, encoding_of
from atomr_local.indexing.readers.packed import READ_PACKED, decompressed, is_packed
from atomr_local.input_files import open_regular
from atomr_local.sanitize import sanitize_line

MAX_LINE = 16 * 1024 * 1024
_SAMPLES = 5
_WHOLE_FILES = 100
_TRIAL = 200
T = TypeVar("T")


@dataclass
class Skipped:
    """Lines that could not be used: how many, and the first few as (file, line number, reason).

    Line 0 is the whole file: far more of these are kept, because each is one of the user's inputs.
    """

    count: int = 0
    samples: list[tuple[str, int, str]] = field(default_factory=list)

    @classmethod
    def restored(cls, data: dict[str, Any]) -> Skipped:
        """What a ledger kept, by the names of the fields. Raises KeyError, TypeError or ValueError where it is none."""
        samples = [(str(file), int(line), str(reason)) for file, line, reason in data["samples"]]
        return cls(int(data["count"]), samples)

    def add(self, path: Path, line: int, reason: str) -> None:
        self.count += 1
        if len(self.samples) < (_SAMPLES if line else _WHOLE_FILES):
            self.samples.append((str(path), line, sanitize_line(reason)[:200]))


class FileReader:
    """A file read from its beginning, unpacked, and how far it has been read.

    Attributes:
        after: lines (or what the reader counts) up to this number are skipped (resuming).
        position: bytes read so far of the file as it lies on disk (compressed bytes of a compressed file).
    """

    def __init__(self, path: Path, after: int = 0) -> None:
        self.path = path
        self.after = after
        self._raw: BinaryIO | None = None
        self._read = 0
        self._start: int | None = None  # where the text begins, in a plain file in UTF-8

    @property
    def position(self) -> int:
        if self._raw is not None and not self._raw.closed:
            self._read = self._raw.tell()
        return self._read

    def _opened(self, stack: ExitStack) -> BinaryIO:
        """The unpacked stream in UTF-8; closed with `stack`."""
        raw = stack.enter_context(open_regular(self.path))
        self._raw = raw
        packed = is_packed(raw.peek(6))
        unpacked = stack.enter_context(decompressed(raw))
        stream, mark = as_utf8(unpacked)
        self._start = mark if stream is unpacked and not packed else None
        return stack.enter_context(stream)


class LineReader(FileReader):
    """Iterates over (line number from 1, line as bytes) of one file.

    Where `after` is not 0, the file has shown before that it is what it claims.

    Raises (while iterating):
        InputError: the file cannot be opened, is truncated or damaged, or has a line over 16 MiB.
    """

    _taken: int | None = None
    """Bytes of the lines given so far; None where the file is packed and only blocks of it can be counted."""

    @property
    def position(self) -> int:
        return super().position if self._taken is None else self._taken

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        with reading(self.path, lambda: f"after line {number}"), ExitStack() as stack:
            stream = self._opened(stack)
            self._taken = self._start
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                if self._taken is not None:
                    self._taken += len(line)
                if len(line) > MAX_LINE:
                    raise InputError(f"{self.path}, line {number}: longer than {MAX_LINE >> 20} MiB")
                if number > self.after:
                    yield number, line.rstrip(b"\r\n")


def parsed(
    lines: LineReader,
    skipped: Skipped,
    parse: Callable[[bytes], T],
    texts: Iterable[tuple[int, bytes]] | None = None,
    *,
    claim: str,
    hint: str | Callable[[bytes], str],
    may_be_empty: bool,
) -> Iterator[tuple[int, T]]:
    """What `parse` makes of each filled line, with its number; where it raises ValueError, the line is skipped.

    Args:
        texts: what stands on the lines, with their numbers, where it is not the whole of them.
        claim: what to say of a file that holds none, before the reason of its first line: "not facts: ".
        hint: what to do then, or what gives it for the first filled line.

    Raises:
        InputError: none of the first 200 filled lines is usable, or the file is empty where it may not be.
    """
    # Whoever goes on after a line has read a usable one before it.
    usable, filled = lines.after > 0, 0
    first: tuple[int, str] | None = None
    beginning = b""
    for number, line in texts or lines:
        if not line.strip():
            continue
        filled += 1
        try:
            found = parse(line)
        except ValueError as error:
            skipped.add(lines.path, number, str(error))
            if first is None:
                first, beginning = (number, str(error)), line
            if not usable and filled >= _TRIAL:
                break
            continue
        usable = True
        yield number, found
    if not usable and not (may_be_empty and first is None):
        if first is not None and (kind := kind_in(lines.path)):
            raise InputError(f"{lines.path}: {claim}{kind.name}", hint=kind.advice)
        place, reason = first or (1, "the file is empty")
        advice = hint if isinstance(hint, str) else hint(beginning)
        raise InputError(f"{lines.path}, line {place}: {claim}{reason}", hint=advice)


def kind_in(path: Path) -> FileKind | None:
    """What the file is, or what is packed in it, where that is no text; None if it can be text.

    Raises:
        InputError: the file cannot be read.
    """
    with reading(path, lambda: "after line 0"), open_regular(path) as raw:
        head = raw.read(HEAD)
        kind = kind_of(head)
        if kind is not None and kind.packed in READ_PACKED:
            raw.seek(0)
            head = decompressed(raw).read(HEAD)
            kind = kind_of(head)
        return None if encoding_of(head)[0] != "utf-8" else kind


@contextmanager
def reading(path: Path, place: Callable[[], str]) -> Iterator[None]:
    """Errors of opening, reading and unpacking, with the file name and `place` ("after line 7").

    Raises:
        InputError: there was one.
    """
    try:
        yield
    except (EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}, {place()}: the compressed file is cut short") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a directory", hint="Give the files in it.") from error
    except (FileNotFoundError, PermissionError) as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except OSError as error:
        raise InputError(f"{path}, {place()}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # zlib.error is no OSError
        if type(error).__module__ == "zlib" or isinstance(error, lzma.LZMAError):
            raise InputError(f"{path}, {place()}: the compressed file is damaged") from error
        raise
