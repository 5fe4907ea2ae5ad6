"""Writes a folder of documents of every kind, and says what stands where."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from made_documents import office, plain
from made_documents.content import Source, sources
from made_documents.gold import Gold
from made_documents.pdf_pages import write_pdf, write_scan
from made_documents.tools import PROGRAMS, installed, written_by_tools


@dataclass(frozen=True)
class MadeFolder:
    """What was written.

    Attributes:
        gold: every fact of the documents that can be read.
        unreadable: why each of the others cannot be read, as a part of what the report of the build says.
        missing: programs and packages whose documents are not there.
    """

    gold: tuple[Gold, ...]
    unreadable: dict[str, str]
    missing: tuple[str, ...]

    def questions(self, number: int, seed: int) -> list[Gold]:
        """Facts to ask for: from each kind of document as many as from any other, or one fewer."""
        chance = random.Random(seed)
        kinds: dict[str, list[Gold]] = {}
        for one in self.gold:
            kinds.setdefault(one.kind, []).append(one)
        for found in kinds.values():
            chance.shuffle(found)
        rounds = (found[i] for i in range(number) for found in kinds.values() if i < len(found))
        return [one for one, _ in zip(rounds, range(number), strict=False)]


def make_folder(folder: Path, *, seed: int, parts: int, notes: int, with_tools: bool) -> MadeFolder:
    """Write the documents.

    Args:
        parts: subjects of each document, with five facts each.
        notes: how many notes with links, of one subject each.
        with_tools: write documents with pandoc, LibreOffice and LaTeX too, where they are installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = sources(random.Random(seed), parts)
    missing = [name for name in ("docx", "pptx", "openpyxl") if find_spec(name) is None]
    gold = list(_written_here(folder, source, missing))
    # Names of the notes come twice only by chance: another seed makes them.
    single = sources(random.Random(seed + 1), 1, remarks=2)
    gold += plain.write_notes(folder, [next(single) for _ in range(notes)])
    if with_tools:
        missing += [program for program in PROGRAMS if not installed(program)]
        gold += written_by_tools(folder, source)
    return MadeFolder(tuple(gold), _write_unreadable(folder, next(source)), tuple(missing))


def _written_here(folder: Path, source: Iterator[Source], missing: list[str]) -> Iterator[Gold]:
    yield from plain.write_markdown(folder, "notes.md", next(source))
    yield from plain.write_text(folder, "chronicle.txt", next(source))
    yield from plain.write_html(folder, "page.html", next(source))
    yield from write_pdf(folder, "report.pdf", next(source))
    yield from write_pdf(folder, "journal.pdf", next(source), columns=2)
    yield from write_pdf(folder, "restricted.pdf", next(source), password="")
    yield from office.write_epub(folder, "book.epub", next(source))
    yield from office.write_odt(folder, "letter.odt", next(source))
    yield from plain.write_csv(folder, "table.csv", next(source))
    yield from plain.write_rtf(folder, "memo.rtf", next(source))
    (folder / "mail").mkdir()
    for number, part in enumerate(next(source).parts, 1):
        yield from plain.write_mail(folder, f"mail/{number}.eml", part)
    yield from plain.write_mbox(folder, "letters.mbox", next(source))
    yield from plain.write_notebook(folder, "lab.ipynb", next(source))
    yield from plain.write_code(folder, "survey.py", next(source))
    if "docx" not in missing:
        yield from office.write_docx(folder, "minutes.docx", next(source))
    if "pptx" not in missing:
        yield from office.write_pptx(folder, "talk.pptx", next(source))
    if "openpyxl" not in missing:
        yield from office.write_xlsx(folder, "list.xlsx", next(source))


def _write_unreadable(folder: Path, source: Source) -> dict[str, str]:
    """Scanned, locked and broken documents."""
    write_scan(folder, "scan.pdf", 3)
    write_pdf(folder, "locked.pdf", source, password="secret")
    write_pdf(folder, "cut.pdf", source)
    whole = (folder / "cut.pdf").read_bytes()
    (folder / "cut.pdf").write_bytes(whole[: len(whole) // 20])
    office.write_epub(folder, "cut.epub", source)
    whole = (folder / "cut.epub").read_bytes()
    (folder / "cut.epub").write_bytes(whole[: len(whole) // 2])
    (folder / "noise.docx").write_bytes(random.Random(0).randbytes(5_000))
    (folder / "empty.md").write_bytes(b"")
    return {
        "scan.pdf": "a scan?", "locked.pdf": "encrypted with a password", "cut.pdf": "damaged", "cut.epub": "damaged",
        "noise.docx": "neither text nor of a kind that is read", "empty.md": "it is empty",
    }  # fmt: skip
