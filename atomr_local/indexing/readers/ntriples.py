"""N-Triples, streamed in blocks through Oxigraph's parser; malformed lines are set aside one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader, Skipped

if TYPE_CHECKING:
    from pyoxigraph import Quad

_BLOCK_LINES = 5_000
_BLOCK_BYTES = 4 << 20
_TRIAL = 1_000


def read_ntriples(lines: LineReader, skipped: Skipped) -> Iterator[list[Quad]]:
    """The file's triples, a block at a time; malformed lines are counted in `skipped`.

    Raises:
        InputError: the file is not N-Triples: its first block of filled lines has none.
    """
    usable = 0
    first = skipped.count
    block: list[tuple[int, bytes]] = []
    size = 0

    def parse() -> list[Quad]:
        return _parse_block(lines, block, skipped)

    for number, line in lines:
        if not line or line.isspace() or line.lstrip().startswith(b"#"):
            continue
        block.append((number, line))
        size += len(line)
        full = len(block) >= (_BLOCK_LINES if usable else _TRIAL) or size >= _BLOCK_BYTES
        if not full:
            continue
        triples = parse()
        usable += len(triples)
        _must_have_triples(lines, usable, skipped, first)
        yield triples
        block, size = [], 0
    if block:
        triples = parse()
        usable += len(triples)
        _must_have_triples(lines, usable, skipped, first)
        yield triples


def _must_have_triples(lines: LineReader, usable: int, skipped: Skipped, first: int) -> None:
    if usable or skipped.count == first:
        return
    reasons = [sample for sample in skipped.samples if sample[0] == str(lines.path)]
    where = f", line {reasons[0][1]}: not N-Triples: {reasons[0][2]}" if reasons else " is not N-Triples"
    raise InputError(f"{lines.path}{where}", hint="Each line is: <subject> <predicate> <object or literal> .")


def _parse_block(lines: LineReader, block: list[tuple[int, bytes]], skipped: Skipped) -> list[Quad]:
    from pyoxigraph import RdfFormat, parse

    try:
        return list(parse(b"\n".join(line for _, line in block) + b"\n", format=RdfFormat.N_TRIPLES))
    except (SyntaxError, ValueError):
        pass  # find the lines at fault
    triples: list[Quad] = []
    for number, line in block:
        try:
            triples.extend(parse(line + b"\n", format=RdfFormat.N_TRIPLES))
        except (SyntaxError, ValueError) as error:
            skipped.add(lines.path, number, getattr(error, "msg", None) or str(error))
    return triples
