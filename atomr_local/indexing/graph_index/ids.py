"""Sets of Wikidata ids as bitmaps: 12 MB for a hundred million items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader

# Wikidata has some 140 million items; a number far beyond is a mistake, and must not take memory in proportion.
HIGHEST = 2_000_000_000
_QID = re.compile(r"(?:<?https?://www\.wikidata\.org/(?:entity|wiki)/|wd:)?Q([1-9]\d{0,11})>?")
_PID = re.compile(r"(?:<?https?://www\.wikidata\.org/(?:entity|prop/direct)/|wdt?:)?P([1-9]\d{0,7})>?")


class IdSet:
    """A set of numbers from 0 to :data:`HIGHEST`; greater ones are never in it."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._bits = bytearray()
        for number in numbers:
            self.add(number)

    def add(self, number: int) -> None:
        place = number >> 3
        if place >= len(self._bits):
            if number > HIGHEST:
                return
            self._bits.extend(bytes(max(place + 1 - len(self._bits), len(self._bits) // 4, 1024)))
        self._bits[place] |= 1 << (number & 7)

    def __contains__(self, number: int) -> bool:
        place = number >> 3
        return place < len(self._bits) and bool(self._bits[place] >> (number & 7) & 1)

    def __len__(self) -> int:
        return int.from_bytes(self._bits, "little").bit_count()

    def __iter__(self) -> Iterator[int]:
        for place, byte in enumerate(self._bits):
            if byte:
                yield from (place << 3 | bit for bit in range(8) if byte >> bit & 1)

    def to_bytes(self) -> bytes:
        return bytes(self._bits)

    @classmethod
    def from_bytes(cls, data: bytes) -> IdSet:
        found = cls()
        found._bits = bytearray(data)
        return found


def read_entity_ids(file: Path) -> IdSet:
    """The Q-ids of a file, one at the beginning of each line; empty lines and comments (#) are skipped.

    Raises:
        InputError: the file cannot be read, or a line contains no Q-id.
    """
    return IdSet(_read(file, _QID, "Q-id, such as Q42"))


def read_property_ids(file: Path) -> frozenset[str]:
    """The P-ids of a file, as :func:`read_entity_ids` reads Q-ids.

    Raises:
        InputError: the file cannot be read, or a line holds no P-id.
    """
    return frozenset(f"P{number}" for number in _read(file, _PID, "P-id, such as P31"))


def _read(file: Path, form: re.Pattern[str], what: str) -> Iterator[int]:
    found = False
    for line_number, line in LineReader(file):
        text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if not text or text.startswith("#"):
            continue
        match = form.fullmatch(re.split(r"[\s,;]", text, maxsplit=1)[0])
        if match is None:
            raise InputError(f"{file}, line {line_number}: no {what}", hint="One a line, first on its line.")
        number = int(match[1])
        if number > HIGHEST:
            raise InputError(f"{file}, line {line_number}: no {what}: the number is too great")
        found = True
        yield number
    if not found:
        raise InputError(f"{file}: contains no {what}")
