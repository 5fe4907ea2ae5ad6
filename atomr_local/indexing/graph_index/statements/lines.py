"""N-Triples of Wikidata's truthy dumps, read in blocks without parsing every line.

What :class:`Columns` knows is taken from its columns. Every other line goes through Oxigraph's parser and
:class:`TripleStatements`, in its place among the others: the index is the same, line for line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from pathlib import Path

import numpy as np

from atomr_local.indexing.graph_index.bulk_loading import Spool
from atomr_local.indexing.graph_index.names.database import RANGES
from atomr_local.indexing.graph_index.names.writer import NamesWriter, Numbers
from atomr_local.indexing.graph_index.statements.terms import IDENTIFIERS, RANGES_OF, LabelWords, take_name
from atomr_local.indexing.graph_index.statements.triples import Columns, TripleStatements
from atomr_local.indexing.graph_index.subset import Role, Subset
from atomr_local.indexing.readers.facts.rdf import LineBlock, must_have_triples, parse_lines
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.language.properties import ENTITY, PROPERTY

_DIGITS = len(ENTITY) + 1
_PID = len(PROPERTY)
# A line without any of these is no statement of an item; with an escape it may be.
_OF_STATEMENTS = (b"/prop/direct/", b"/entity/statement/", b"\\")
_Name = tuple[int, str, str, str, int]  # line, IRI, predicate, text, how well its language serves


@dataclass
class LineStatements:
    """Takes in one block of a file's lines after the other.

    Attributes:
        statements: what the parsed lines of the same file go to.
        resumed: an earlier run has seen that the file is N-Triples.
        wanted: whether a line is of interest; others are neither parsed nor counted.
    """

    path: Path
    statements: TripleStatements
    names: NamesWriter
    words: LabelWords
    selection: Subset
    sink: Spool
    skipped: Skipped
    resumed: InitVar[bool] = False
    wanted: Callable[[bytes], bool] | None = None

    def __post_init__(self, resumed: bool) -> None:
        self._before = self.skipped.count
        self._usable = resumed

    def take(self, block: LineBlock) -> None:
        """Names into the name database, statements into the sink.

        Raises:
            InputError: the file is not N-Triples: its first block with filled lines has none.
        """
        columns = Columns(block.data)
        facts, names = self._chosen(columns)
        fact_lines = columns.lines[facts]
        taken = named = at = 0
        others = columns.others.tolist()
        while at < len(others):
            first, start = others[at], at
            self._usable = self._usable or bool(len(columns) and columns.lines[0] < first)
            # Lines between which none is known are parsed together.
            group: list[tuple[int, bytes]] = []
            while at < len(others) and others[at] - first == at - start:
                line = columns.other(others[at]).rstrip(b"\r")
                if self._is_wanted(line):
                    group.append((block.first + others[at], line))
                at += 1
            if not group:
                continue
            named = self._take_names(names, named, first)
            if any(mark in line for _, line in group for mark in _OF_STATEMENTS):
                before = int(fact_lines.searchsorted(first))
                self._take_facts(columns, facts[taken:before])
                taken = before
            triples = parse_lines(self.path, group, self.skipped)
            self._usable = self._usable or bool(triples)
            self.statements.take(triples)
        self._take_names(names, named, None)
        self._take_facts(columns, facts[taken:])
        self._usable = self._usable or bool(len(columns))
        must_have_triples(self.path, self._usable, self.skipped, self._before)

    def _is_wanted(self, line: bytes) -> bool:
        """Whether there is something on the line, and something wanted."""
        if not line or line.isspace() or line.lstrip().startswith(b"#"):
            return False
        # The first lines are parsed in any case: they show whether the file is what it claims.
        return not self._usable or self.wanted is None or self.wanted(line)

    def _chosen(self, columns: Columns) -> tuple[Numbers, list[_Name]]:
        """What of the block is kept: the rows of facts, and the names."""
        role_of, keeps_of = self.selection.role, self.selection.keeps_of
        roles = columns.subject.mapped(lambda iri: role_of(int(iri[_DIGITS:])), np.int8)
        factual = columns.predicate.mapped(lambda iri: iri.startswith(PROPERTY), np.bool_)
        kept = np.zeros(len(columns), np.bool_)
        for role in map(Role, np.unique(roles).tolist()):
            keeps = [keeps_of(role, iri[_PID:]) for iri in columns.predicate.texts]
            kept |= (roles == role) & np.array(keeps, np.bool_)[columns.predicate.codes]
        if self.selection.allowed is None:
            left = int(np.count_nonzero(factual & ~kept & (roles == Role.SUBJECT)))
            if left:
                self.statements.passed_over[IDENTIFIERS] += left
        fits = columns.suffix.mapped(lambda suffix: self.words.fit(suffix[1:] if suffix[:1] == "@" else ""), np.int8)
        rows = np.flatnonzero(~factual & (roles != Role.NONE) & (fits > 0))
        names = zip(
            columns.lines[rows].tolist(), columns.subject.of(rows), columns.predicate.of(rows), columns.texts(rows),
            fits[rows].tolist(), strict=True,
        )  # fmt: skip
        return np.flatnonzero(kept & factual), list(names)

    def _take_names(self, names: list[_Name], start: int, before: int | None) -> int:
        """Take in the names from `start` on that stand before a line; returns where the rest begins."""
        while start < len(names) and (before is None or names[start][0] < before):
            take_name(self.names.name, self.names.description, *names[start][1:])
            start += 1
        return start

    def _take_facts(self, columns: Columns, rows: Numbers) -> None:
        """Take in the statements of these rows, each once for every time that its item comes up."""
        if not len(rows):
            return
        statements, subject, predicate, value = self.statements, columns.subject, columns.predicate, columns.object
        items = subject.codes[rows]
        run = np.concatenate(([0], np.cumsum(items[1:] != items[:-1])))
        if statements.open and run[-1]:
            # What is held back of the first item is to come before the second one.
            second = int(np.searchsorted(run, 1))
            self._take_facts(columns, rows[:second])
            self._take_facts(columns, rows[second:])
            return
        item = subject.texts[items[0]]
        if item != statements.item:
            statements.begin(item)
        same = (run * len(predicate.texts) + predicate.codes[rows]) * len(value.texts) + value.codes[rows]
        new = np.sort(np.unique(same, return_index=True)[1])
        if statements.plain:
            head = int(np.searchsorted(run[new], 1))
            seen = [line in statements.plain for line in columns.written(rows[new[:head]])]
            new = np.delete(new, np.flatnonzero(seen))
        if run[-1]:
            statements.begin(subject.texts[items[-1]])
        statements.plain.update(columns.written(rows[new[run[new] == run[-1]]]))
        rows = rows[new]
        self.sink.facts(columns.joined(rows), len(rows))
        self._count(columns, rows)

    def _count(self, columns: Columns, rows: Numbers) -> None:
        literal = columns.literal[rows]
        kinds = columns.suffix.mapped(lambda suffix: RANGES.index(RANGES_OF.get(suffix[3:-1], "texts")), np.int64)
        uses = columns.predicate.codes[rows] * len(RANGES) + np.where(literal, kinds[rows], RANGES.index("entities"))
        counts = np.bincount(uses)
        predicates = columns.predicate.texts
        items, others = columns.targets(rows[~literal])
        self.names.statements(
            np.concatenate((columns.items[rows], items)),
            others,
            {
                (predicates[use // len(RANGES)], RANGES[use % len(RANGES)]): int(counts[use])
                for use in np.flatnonzero(counts).tolist()
            },
        )
