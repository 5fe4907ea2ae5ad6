"""Reads Turtle through Oxigraph's parser, which continues after a malformed statement."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from pyoxigraph import BlankNode, Quad, RdfFormat, parse

from atomr_local.errors import InputError
from atomr_local.indexing.readers.facts.ntriples import Block
from atomr_local.indexing.readers.lines import FileReader, Skipped, reading

_BLOCK_TRIPLES = 5_000
_TRIAL = 100
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
                if not usable and skipped.count - first >= _TRIAL:
                    break
                continue
            usable += 1
            yield quad
        if not usable and skipped.count > first:
            mine = [sample for sample in skipped.samples if sample[0] == str(self.path)]
            where = f", line {mine[0][1]}: not Turtle: {mine[0][2]}" if mine else " is not Turtle"
            raise InputError(f"{self.path}{where}", hint="Turtle begins with lines such as: @prefix wd: <http://…> .")

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
