"""Lines of N-Triples as Wikidata's truthy dumps write them, taken in without parsing each into objects.

One expression knows the lines that make up nearly all of such a dump; it is stricter than the grammar, so that what it
accepts any parser accepts, and written as the parser would write it. Every other line goes through Oxigraph's parser
and :class:`TripleStatements`, in its place among the others: the index is the same, line for line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from atomr_local.indexing.graph_names_writer import NamesWriter
from atomr_local.indexing.graph_selection import Role, Selection
from atomr_local.indexing.graph_sink import Spool
from atomr_local.indexing.graph_statements import (
    ALIAS,
    ALT_LABEL,
    DESCRIPTIONS,
    LABELS,
    RANGES_OF,
    STATED,
    LabelWords,
    plain_text,
)
from atomr_local.indexing.graph_triples import TripleStatements
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.ntriples import LineBlock, must_have_triples, parse_lines
from atomr_local.indexing.vocabulary import ENTITY, PROPERTY

_GEO = "http://www.opengis.net/ont/geosparql#wktLiteral"
# No escapes, no control characters, nothing that is not UTF-8 (it becomes surrogates when it is decoded).
_TEXT = r'[^"\\\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]*'
_NAMING = "|".join(map(re.escape, sorted({*LABELS, ALT_LABEL, *DESCRIPTIONS})))
_TYPES = "|".join(map(re.escape, sorted({*RANGES_OF, _GEO})))
_LINE = re.compile(
    rf"(<({re.escape(ENTITY)}Q[1-9][0-9]{{0,11}})> <(?:{re.escape(PROPERTY)}(P[1-9][0-9]{{0,9}})|({_NAMING}))> "
    rf"(?:<({re.escape(ENTITY)}[QP][1-9][0-9]{{0,11}})>"
    rf'|"({_TEXT})"(?:@([a-z]{{2,3}}(?:-[a-z]{{2,8}})?)|\^\^<({_TYPES})>)?) \.\n)|(.*)\n'
)
_DIGITS = len(ENTITY) + 1


class LineStatements:
    """Takes in one block of a file's lines after the other.

    Args:
        statements: what the parsed lines of the same file go to.
        resumed: an earlier run has seen that the file is N-Triples.
        wanted: whether a line is of interest; others are neither parsed nor counted.
    """

    def __init__(
        self,
        path: Path,
        statements: TripleStatements,
        names: NamesWriter,
        words: LabelWords,
        selection: Selection,
        sink: Spool,
        skipped: Skipped,
        *,
        resumed: bool = False,
        wanted: Callable[[bytes], bool] | None = None,
    ) -> None:
        self._path = path
        self._statements = statements
        self._names = names
        self._words = words
        self._selection = selection
        self._sink = sink
        self._skipped = skipped
        self._before = skipped.count
        self._usable = resumed
        self._wanted = wanted
        self._others: list[tuple[int, bytes]] = []
        self._kept: dict[tuple[Role, str], bool] = {}
        self._fits: dict[str, int] = {}

    def take(self, block: LineBlock) -> None:  # noqa: PLR0912 - a call a line would double the time
        """Names into the name database, statements into the sink.

        Raises:
            InputError: the file is not N-Triples: its first block with filled lines has none.
        """
        statements, role_of, kept, others = self._statements, self._selection.role, self._kept, self._others
        plain = statements.plain
        facts: list[str] = []
        entities: list[str] = []
        uses: list[tuple[str, str]] = []
        # Only `begin` and the parsed lines change it.
        item = statements.item
        subject, role = "", Role.NONE
        for number, (line, iri, pid, naming, target, text, tag, datatype, other) in enumerate(
            _LINE.findall(block.data.decode("utf-8", "surrogateescape")), block.first
        ):
            if not iri or (naming and target):
                self._other(number, other or line[:-1])
                continue
            self._usable = True
            if others:
                self._parse_others()
                item = statements.item
            if iri != subject:
                subject, role = iri, role_of(int(iri[_DIGITS:]))
            if role is Role.NONE:
                continue
            if not pid:
                self._naming(iri, naming, text, tag)
                continue
            keeps = kept.get((role, pid))
            if keeps is None:
                keeps = kept[role, pid] = self._selection.keeps_of(role, pid)
            if not keeps:
                continue
            if iri != item:
                statements.begin(iri)
                item = iri
            if line in plain:
                continue
            plain.add(line)
            facts.append(line)
            entities.append(iri)
            if target:
                entities.append(target)
                uses.append((pid, "entities"))
            else:
                uses.append((pid, RANGES_OF.get(datatype, "texts")))
        if others:
            self._parse_others()
        self._sink.facts(facts)
        self._names.statements(entities, uses, PROPERTY)
        must_have_triples(self._path, self._usable, self._skipped, self._before)

    def _other(self, number: int, text: str) -> None:
        """Set a line aside for the parser, unless there is nothing on it or nothing wanted."""
        line = text.rstrip("\r").encode("utf-8", "surrogateescape")
        if not line or line.isspace() or line.lstrip().startswith(b"#"):
            return
        # The first lines are parsed in any case: they show whether the file is what it claims.
        if not self._usable or self._wanted is None or self._wanted(line):
            self._others.append((number, line))

    def _parse_others(self) -> None:
        triples = parse_lines(self._path, self._others, self._skipped)
        self._others.clear()
        self._usable = self._usable or bool(triples)
        self._statements.take(triples)

    def _naming(self, iri: str, predicate: str, value: str, tag: str) -> None:
        fit = self._fits.get(tag)
        if fit is None:
            fit = self._fits[tag] = self._words.fit(tag)
        text = plain_text(value) if fit else ""
        if not text:
            return
        if predicate in DESCRIPTIONS:
            self._names.description(iri, text)
        else:
            self._names.name(iri, text, ALIAS if predicate == ALT_LABEL else STATED * fit)
