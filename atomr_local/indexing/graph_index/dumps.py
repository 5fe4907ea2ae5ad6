"""The records of a dump, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from atomr_local.indexing.readers.facts.ntriples import read_ntriples
from atomr_local.indexing.readers.facts.turtle import TurtleReader
from atomr_local.indexing.readers.facts.wikidata_json import read_entities
from atomr_local.indexing.readers.lines import LineReader, Skipped


class DumpReader(Protocol):
    """Tells how many bytes of its file are read."""

    @property
    def position(self) -> int: ...


def read_dump(
    path: Path,
    kind: str,
    after: int,
    skipped: Skipped,
    line_filter: Callable[[bytes], bool] | None,
    entity_filter: Callable[[str, bytes], bool] | None,
) -> tuple[DumpReader, Iterator[tuple[int, list[Any]]]]:
    """The reader of a dump, and its records: triples, or entities where the kind is wikidata-json."""
    if kind == "turtle":
        turtle = TurtleReader(path, after)
        return turtle, turtle.blocks(skipped)
    lines = LineReader(path, after)
    if kind == "wikidata-json":
        return lines, read_entities(lines, skipped, entity_filter)
    return lines, read_ntriples(lines, skipped, line_filter)
