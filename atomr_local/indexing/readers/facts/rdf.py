"""Facts in RDF: N-Triples and Turtle through Oxigraph's parser."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pyoxigraph import BlankNode, Quad, RdfFormat, parse

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import MAX_LINE, FileReader, LineReader, Skipped, reading

# Reads N-Triples in blocks through Oxigraph's parser; malformed lines are skipped one by one.

_BLOCK_LINES = 5_000
_BLOCK_BYTES = 4 << 20
_TRIAL = 1_000
_CHUNK = 1 << 20


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
        triples = parse_lines(lines.path, block, skipped)
        usable += len(triples)
        must_have_triples(lines.path, usable, skipped, first)
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


class LineBlock(NamedTuple):
    """Whole lines, the last one ended too; `first` and `record` are the numbers of the first and the last of them."""

    first: int
    record: int
    data: bytes


class LineBlocks(FileReader):
    """Iterates over blocks of a file's lines, cut at the same places each time; raises as :class:`LineReader`."""

    def __iter__(self) -> Iterator[LineBlock]:
        number = 0
        rest = b""
        with reading(self.path, lambda: f"after line {number}"), ExitStack() as stack:
            stream = self._opened(stack)
            while chunk := stream.read(_CHUNK):
                end = chunk.rfind(b"\n") + 1
                if len(rest) + (chunk.find(b"\n") if end else len(chunk)) > MAX_LINE:
                    raise InputError(f"{self.path}, line {number + 1}: longer than {MAX_LINE >> 20} MiB")
                if not end:
                    rest += chunk
                    continue
                block, rest = rest + chunk[:end], chunk[end:]
                first, number = number + 1, number + block.count(b"\n")
                if number > self.after:
                    yield self._cut(first, number, block)
            if rest:
                yield LineBlock(number + 1, number + 1, rest + b"\n")

    def _cut(self, first: int, last: int, block: bytes) -> LineBlock:
        """The block without the lines that an earlier run is done with."""
        while first <= self.after:
            block = block[block.index(b"\n") + 1 :]
            first += 1
        return LineBlock(first, last, block)


def must_have_triples(path: Path, usable: int, skipped: Skipped, first: int) -> None:
    """Make sure that some lines of the first block were N-Triples.

    Args:
        usable: how many of the lines were.
        first: what `skipped` had counted before the file.

    Raises:
        InputError: none of its filled lines was.
    """
    if usable or skipped.count == first:
        return
    raise _not_such(path, skipped, "N-Triples", "Each line is: <subject> <predicate> <object or literal> .")


def _not_such(path: Path, skipped: Skipped, format: str, hint: str) -> InputError:
    """The error of a file that is not of the format, with the first reason why."""
    reasons = [sample for sample in skipped.samples if sample[0] == str(path)]
    where = f", line {reasons[0][1]}: not {format}: {reasons[0][2]}" if reasons else f" is not {format}"
    return InputError(f"{path}{where}", hint=hint)


def parse_lines(path: Path, block: Sequence[tuple[int, bytes]], skipped: Skipped) -> list[Quad]:
    """The triples of numbered lines of the file; malformed lines are counted in `skipped`."""
    try:
        return list(parse(b"\n".join(line for _, line in block) + b"\n", format=RdfFormat.N_TRIPLES))
    except (SyntaxError, ValueError):
        pass  # find the lines at fault
    triples: list[Quad] = []
    for number, line in block:
        try:
            triples.extend(parse(line + b"\n", format=RdfFormat.N_TRIPLES))
        except (SyntaxError, ValueError) as error:
            skipped.add(path, number, getattr(error, "msg", None) or str(error))
    return triples


# Reads Turtle through Oxigraph's parser, which continues after a malformed statement.

_BLOCK_TRIPLES = 5_000
_TURTLE_TRIAL = 100
_RECENT = 100_000
# How Oxigraph names a node without a label: a random number, another one at each reading.
_RANDOM = re.compile(r"[0-9a-f]{24,32}")


class TurtleReader(FileReader):
    """The triples of one file in blocks; `after` counts triples, which are parsed and skipped."""

    def __init__(self, path: Path, after: int = 0) -> None:
        super().__init__(path, after)
        self._numbers: OrderedDict[str, int] = OrderedDict()
        self._anonymous = 0

    def blocks(self, skipped: Skipped) -> Iterator[Block]:
        """The triples; malformed statements are counted in `skipped`, those before `after` too.

        Raises:
            InputError: the file cannot be read, or is not Turtle: its first 100 statements have no triple.
        """
        number = 0
        triples: list[Quad] = []
        with reading(self.path, lambda: f"after triple {number}"), ExitStack() as stack:
            for parsed in self._quads(self._opened(stack), skipped):
                number += 1
                quad = self._stable(parsed)
                if number <= self.after:
                    continue
                triples.append(quad)
                if len(triples) >= _BLOCK_TRIPLES:
                    yield Block(number, triples)
                    triples = []
            if triples:
                yield Block(number, triples)

    def _quads(self, stream: BinaryIO, skipped: Skipped) -> Iterator[Quad]:
        first = skipped.count
        usable = 0
        parser: Any = parse(stream, format=RdfFormat.TURTLE)
        while True:
            try:
                quad = next(parser)
            except StopIteration:
                break
            except (SyntaxError, ValueError) as error:
                line, reason = getattr(error, "lineno", None) or 0, getattr(error, "msg", None) or str(error)
                skipped.add(self.path, line, reason)
                if not usable and skipped.count - first >= _TURTLE_TRIAL:
                    break
                continue
            usable += 1
            yield quad
        if not usable and skipped.count > first:
            raise _not_such(self.path, skipped, "Turtle", "Turtle begins with lines such as: @prefix wd: <http://…> .")

    def _stable(self, quad: Quad) -> Quad:
        """The triple with nodes that have no label named by their order, the same at every reading."""
        subject, value = quad.subject, quad.object
        if not isinstance(subject, BlankNode) and not isinstance(value, BlankNode):
            return quad
        return Quad(
            self._named(subject) if isinstance(subject, BlankNode) else subject,
            quad.predicate,
            self._named(value) if isinstance(value, BlankNode) else value,
        )

    def _named(self, node: BlankNode) -> BlankNode:
        if not _RANDOM.fullmatch(node.value):
            return node
        number = self._numbers.get(node.value)
        if number is None:
            self._anonymous += 1
            number = self._numbers[node.value] = self._anonymous
            if len(self._numbers) > _RECENT:  # all that is said of such a node stands together
                self._numbers.popitem(last=False)
        return BlankNode(f"anonymous{number}")
