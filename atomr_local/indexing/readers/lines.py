"""Lines of a plain, gzip or bzip2 file, with the place in the file as it lies on disk."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from atomr_local.errors import InputError
from atomr_local.sanitize import sanitize_line

_MAGIC = {b"\x1f\x8b": "gzip", b"BZ": "bzip2"}
_MAX_LINE = 16 * 1024 * 1024
_SAMPLES = 5


@dataclass
class Skipped:
    """Lines that could not be used: how many, and the first few as (file, line number, reason)."""

    count: int = 0
    samples: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, path: Path, line: int, reason: str) -> None:
        self.count += 1
        if len(self.samples) < _SAMPLES:
            self.samples.append((str(path), line, sanitize_line(reason)[:200]))


class LineReader:
    """Iterates over (line number from 1, line as bytes) of one file.

    Attributes:
        position: bytes read so far of the file as it lies on disk (compressed bytes of a compressed file).

    Raises (while iterating):
        InputError: the file cannot be opened, is truncated or damaged, or has a line over 16 MiB.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw: BinaryIO | None = None

    @property
    def position(self) -> int:
        return self._raw.tell() if self._raw is not None and not self._raw.closed else 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        try:
            with ExitStack() as stack:
                self._raw = stack.enter_context(self.path.open("rb"))
                stream = stack.enter_context(_decompressed(self._raw))
                while line := stream.readline(_MAX_LINE + 1):
                    number += 1
                    if len(line) > _MAX_LINE:
                        raise InputError(f"{self.path}, line {number}: longer than {_MAX_LINE >> 20} MiB")
                    yield number, line.rstrip(b"\r\n")
        except (EOFError, gzip.BadGzipFile) as error:
            raise InputError(f"{self.path}, after line {number}: the compressed file is cut short") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"{self.path}, after line {number}: cannot be read: {reason}") from error
        except Exception as error:  # zlib.error is no OSError
            if type(error).__module__ == "zlib":
                raise InputError(f"{self.path}, after line {number}: the compressed file is damaged") from error
            raise


def _decompressed(raw: BinaryIO) -> BinaryIO:
    head = raw.read(2)
    raw.seek(0)
    kind = _MAGIC.get(head)
    if kind == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if kind == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(raw))
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), 1 << 20))
