"""Typical lines of Wikidata's truthy dumps as Arrow columns, one block at a time.

One expression knows these lines; it is stricter than the grammar, so that what it accepts any parser accepts, and
written as the parser would write it. Where things lie in a line that it accepts follows from where its angle brackets
and quotation marks are, for there are no others in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from atomr_local.indexing.graph_index.names.statement_counts import Numbers
from atomr_local.indexing.graph_index.statements.terms import NAMING, RANGES_OF
from atomr_local.language.properties import ENTITY, PROPERTY

Marks = NDArray[np.bool_]
_GEO = "http://www.opengis.net/ont/geosparql#wktLiteral"
_NAMING = "|".join(map(re.escape, sorted(NAMING)))
_TYPES = "|".join(map(re.escape, sorted({*RANGES_OF, _GEO})))
_DIGITS = len(ENTITY) + len("Q")
# No escapes and no characters that a parser might refuse or write in another way.
_TEXT = r'"[^"\\\x00-\x1f\x7f-\x{9f}\x{fffe}\x{ffff}]*"'
_LITERAL = rf"{_TEXT}(?:@[a-z]{{2,3}}(?:-[a-z]{{2,8}})?|\^\^<(?:{_TYPES})>)?"
# For RE2.
LINE = (
    rf"^<{re.escape(ENTITY)}Q[1-9][0-9]{{0,11}}> "
    rf"<(?:{re.escape(PROPERTY)}P[1-9][0-9]{{0,9}}> (?:<{re.escape(ENTITY)}[QP][1-9][0-9]{{0,11}}>|{_LITERAL})"
    rf"|(?:{_NAMING})> {_LITERAL}) \.\n$"
)


class Column:
    """Texts out of a block, each kept once.

    Attributes:
        codes: for each row, the place of its text in `texts`.
        texts: the different ones.
    """

    def __init__(self, data: bytes, starts: Numbers, ends: Numbers) -> None:
        encoded = _cut(data, starts, ends).dictionary_encode()
        self.codes: Numbers = encoded.indices.to_numpy()
        self.texts: list[str] = encoded.dictionary.to_pylist()

    def of(self, rows: Numbers) -> list[str]:
        """The texts of these rows."""
        return [self.texts[code] for code in self.codes[rows].tolist()]

    def mapped(self, meaning: Callable[[str], Any], kind: type[np.generic]) -> NDArray[Any]:
        """What each row's text means, asked once a text."""
        return np.fromiter(map(meaning, self.texts), kind, len(self.texts))[self.codes]


class Columns:
    """The known lines of a block in their order, one row each.

    Attributes:
        lines: each row's line in the block, from 0.
        others: the lines that are not known.
        literal: whether each row's object is a literal.
        subject, predicate: IRIs.
        items: the number of each subject's Q-id.
        object: terms as they are written.
        suffix: what follows the text of a literal: "", "@en" or "^^<datatype>"; "" for an entity.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        marks = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(marks == ord("\n")) + 1
        starts = np.concatenate(([0], ends[:-1]))
        known = pc.match_substring_regex(_cut(data, starts, ends), LINE).to_numpy(zero_copy_only=False)
        try:
            data.decode()
        except UnicodeDecodeError:
            known &= np.fromiter(map(_is_text, data.split(b"\n")[:-1]), np.bool_, len(known))
        self.lines: Numbers = np.flatnonzero(known)
        self.others: Numbers = np.flatnonzero(~known)
        self._line_starts, self._line_ends = starts, ends
        self._starts, self._ends = starts, ends = starts[known], ends[known]
        self._terms = ends - len(" .\n")
        # One more, so that there is one to find though there is no known line.
        closed = np.append(np.flatnonzero(marks == ord(">")), (0, 0))
        place = np.searchsorted(closed[:-2], starts)
        subjects, predicates = closed[place], closed[place + 1]
        self._objects = predicates + len("> ")
        self.literal: Marks = marks[self._objects] == ord('"')
        quotes = np.append(np.flatnonzero(marks == ord('"')), 0)
        self._text_ends = np.where(self.literal, quotes[np.searchsorted(quotes[:-1], ends) - 1], self._terms - 1)
        self._marks = marks
        self.subject = Column(data, starts + 1, subjects)
        self.items: Numbers = self.subject.mapped(lambda iri: int(iri[_DIGITS:]), np.int64)
        self.predicate = Column(data, subjects + len("> <"), predicates)
        self.object = Column(data, self._objects, self._terms)
        self.suffix = Column(data, self._text_ends + 1, self._terms)

    def __len__(self) -> int:
        return len(self.lines)

    def other(self, line: int) -> bytes:
        """A line of the block, without its end."""
        return self._data[self._line_starts[line] : self._line_ends[line] - 1]

    def texts(self, rows: Numbers) -> list[str]:
        """The texts of the literals in these rows."""
        found: list[str] = _cut(self._data, self._objects[rows] + 1, self._text_ends[rows]).to_pylist()
        return found

    def targets(self, rows: Numbers) -> tuple[Numbers, list[str]]:
        """The entities that these rows, none with a literal, point to: the numbers of items, the IRIs of others."""
        starts, ends = self._objects[rows] + len("<"), self._terms[rows] - len(">")
        item = self._marks[starts + len(ENTITY)] == ord("Q")
        numbers = _cut(self._data, starts[item] + _DIGITS, ends[item]).cast(pa.int64()).to_numpy()
        return numbers.astype(np.int64), _cut(self._data, starts[~item], ends[~item]).to_pylist()

    def written(self, rows: Numbers) -> list[str]:
        """The lines of these rows, with their ends."""
        found: list[str] = _cut(self._data, self._starts[rows], self._ends[rows]).to_pylist()
        return found

    def joined(self, rows: Numbers) -> str:
        """The same as one text."""
        lines = _cut(self._data, self._starts[rows], self._ends[rows])
        return lines.buffers()[2].to_pybytes().decode() if len(rows) else ""


def _cut(data: bytes, starts: Numbers, ends: Numbers) -> pa.StringArray:
    """Pieces of the data, in their order, none overlapping another, as a dense array."""
    edges = np.empty(2 * len(starts), np.int32)
    edges[0::2], edges[1::2] = starts, ends
    between = pa.Array.from_buffers(
        pa.string(), max(len(edges) - 1, 0), [None, pa.py_buffer(edges), pa.py_buffer(data)]
    )  # fmt: skip
    # Every other one is what lies between two pieces.
    return between.take(pa.array(np.arange(0, len(edges), 2, dtype=np.int32)))


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
