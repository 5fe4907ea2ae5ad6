"""Made documents as PDF without other programs: text that flows over pages, in one column or two."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

from made_documents.content import Source
from made_documents.gold import Gold, in_words
from made_documents.pdf_file import HEIGHT, page, pdf

_BODY, _HEADING, _EDGE = 10, 15, 8
_LEADING = 14
_TOP, _BOTTOM = HEIGHT - 70, 60
_MARGIN, _GAP = 45, 265


@dataclass
class _Flow:
    """Lines set one below the other, column after column, page after page."""

    columns: int
    characters: int
    pages: list[list[tuple[int, int, int, str]]]
    column: int = 0
    y: int = _TOP

    def line(self, text: str, size: int) -> int:
        """Set a line; the number of its page, from 1."""
        if self.y < _BOTTOM:
            self.column, self.y = self.column + 1, _TOP
            if self.column == self.columns:
                self.column = 0
                self.pages.append([])
        self.pages[-1].append((_MARGIN + self.column * _GAP, self.y, size, text))
        self.y -= _LEADING
        return len(self.pages)

    def space(self, lines: int) -> None:
        """Leave room; a heading does not stand alone at the foot of a column."""
        self.y -= _LEADING * lines
        if self.y < _BOTTOM + 3 * _LEADING:
            self.y = _BOTTOM - 1


def write_pdf(folder: Path, name: str, source: Source, *, columns: int = 1, password: str | None = None) -> list[Gold]:
    """The document as PDF with heads and page numbers; its gold with the page on which each fact begins."""
    flow = _Flow(columns, 95 if columns == 1 else 50, [[]])
    pages_of: dict[str, int] = {}
    flow.line(source.title, 20)
    for part in source.parts:
        flow.space(2)
        flow.line(part.subject, _HEADING)
        pages_of.update(_paragraph(flow, part.sentences))
    streams = []
    for number, lines in enumerate(flow.pages, 1):
        head = (_MARGIN, HEIGHT - 40, _EDGE, f"{source.title}, first edition")
        streams.append(page([head, *lines, (290, 30, _EDGE, f"Page {number} of {len(flow.pages)}")]))
    (folder / name).write_bytes(pdf(streams, title=source.title, password=password))
    kind = "PDF, own writer" if columns == 1 else "PDF, own writer, two columns"
    if password is not None:
        kind = "PDF, encrypted without a password"
    return [
        in_words(kind, name, fact, {"page": pages_of[fact.sentence], "heading": part.subject})
        for part in source.parts
        for fact in part.facts
    ]


def write_scan(folder: Path, name: str, pages: int) -> None:
    (folder / name).write_bytes(pdf([b""] * pages, picture=True))


def _paragraph(flow: _Flow, sentences: tuple[str, ...]) -> dict[str, int]:
    """Set the sentences as one paragraph, the lines wrapped; the page on which each begins."""
    begins, at = [], 0
    for sentence in sentences:
        begins.append(at)
        at += len(sentence) + 1
    set_lines, reached = [], 0
    for line in textwrap.wrap(" ".join(sentences), flow.characters, break_on_hyphens=False):
        set_lines.append((reached, flow.line(line, _BODY)))
        reached += len(line) + 1
    return {
        sentence: [number for start, number in set_lines if start <= begin][-1]
        for sentence, begin in zip(sentences, begins, strict=True)
    }
