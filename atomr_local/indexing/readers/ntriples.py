"""N-Triples, streamed in blocks through Oxigraph's parser; malformed lines are set aside one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader, Skipped

if TYPE_CHECKING:
    from pyoxigraph import Quad

_BLOCK_LINES = 5_000
_BLOCK_BYTES = 4 << 20
_TRIAL = 1_000


class Block(NamedTuple):
    """Triples in the order of the file; `record` is the ordinal of the last line or triple that is now done with."""

    record: int
    triples: list[Quad]


def read_ntriples(
    lines: LineReader, skipped: Skipped, wanted: Callable[[bytes], bool] | None = None
) -> Iterator[Block]:
    """The file's triples, a block at a time; malformed lines are counted in `skipped`.

    Args:
        wanted: whether a line is of interest; others are neither parsed nor counted.

    Raises:
        InputError: the file is not N-Triples: its first block of filled lines has none.
    """
    usable = 1 if lines.after else 0
    first = skipped.count
    block: list[tuple[int, bytes]] = []
    size = number = seen = 0

    def parsed() -> Block:
        nonlocal usable, block, size, seen
        triples = _parse_block(lines, block, skipped)
        usable += len(triples)
        _must_have_triples(lines, usable, skipped, first)
        block, size, seen = [], 0, 0
        return Block(number, triples)

    for number, line in lines:
        if not line or line.isspace() or line.lstrip().startswith(b"#"):
            continue
        seen += 1
        # The first lines are parsed in any case: they show whether the file is what it claims.
        if not usable or wanted is None or wanted(line):
            block.append((number, line))
            size += len(line)
        if seen >= (_BLOCK_LINES if usable else _TRIAL) or size >= _BLOCK_BYTES:
            yield parsed()
    if seen:
        yield parsed()


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
