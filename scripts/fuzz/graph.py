"""What the targets of graph readers share: a name database, and Oxigraph's parser as the judge of what is written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, RdfFormat, parse

from atomr_local.indexing.graph_index.bulk_loading import Spool, spool_files
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.terms import literal_text
from fuzz.properties import Broken, expect, scratch

LONGEST_LINE = 2 << 20


@contextmanager
def fresh_directory() -> Iterator[Path]:
    """An empty directory that is gone afterwards."""
    directory = Path(tempfile.mkdtemp(dir=scratch()))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@contextmanager
def fresh_names() -> Iterator[NamesWriter]:
    """An empty name database."""
    with fresh_directory() as directory, NamesWriter(directory) as names:
        yield names


def must_be_triples(lines: Sequence[str]) -> list[Any]:
    """The triples of lines that we wrote, as the build would load them."""
    text = "".join(lines)
    expect(max(map(len, lines), default=0) < LONGEST_LINE, "no line grows beyond measure")
    try:
        triples = list(parse(text.encode("utf-8"), format=RdfFormat.N_TRIPLES, lenient=True))
    except (SyntaxError, ValueError) as error:
        raise Broken(f"what is written can be loaded: {error}: {text[:600]!r}") from error
    for triple in triples:
        if isinstance(triple.object, Literal):
            lexical = triple.object.value
            shown = literal_text(lexical, triple.object.datatype.value)
            expect(len(shown) <= len(lexical) + 400, "a value that is shown is no longer than it is written", lexical)
    return triples


def spooled(directory: Path, spool: Spool) -> list[str]:
    """The lines of the spool, written and read back."""
    spool.write(0)
    return [
        f"{line}\n"
        for file in spool_files(directory, 0)
        for line in file.read_bytes().decode("utf-8").split("\n")
        if line
    ]
