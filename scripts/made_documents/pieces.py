"""What a document holds beside sentences under headings, and which of it readers keep of each format."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.process import parse
from made_documents.tools import installed, run

# Name of the piece → its source in Markdown, and what the text has to say if it is kept.
PIECES = {
    "emphasis": ("It is *strictly forbidden* to anchor here.", r"strictly forbidden"),
    "list item": ("- The ferryman keeps two lanterns.\n- One of them is red.", r"keeps two lanterns"),
    "quotation": ("> The quay was swept at dawn.", r"swept at dawn"),
    "code": ('```\nload("ballast", 40)\n```', r'load\("ballast", 40\)'),
    "row of a table": ("| Boat | Draught |\n|---|---|\n| Heron | 3 m |\n| Gull | 2 m |", r"Boat: Heron; Draught: 3 m"),
    "words of a table": ("| Net | Mesh |\n|---|---|\n| Trawl | narrow |\n| Seine | wide |", r"Seine.*wide"),
    "link": ("See [the tide tables of the port](https://example.org/tides).", r"tide tables of the port"),
    "footnote": ("The mast is new.[^1]\n\n[^1]: It was cut in the northern forest.", r"cut in the northern forest"),
    "caption": ("![The keeper of the light in his boat](picture.png)", r"keeper of the light"),
    "formula": ("The load is $w = 3 q$ at most.", r"w\s*=\s*3\s*q"),
    "other scripts": ("The ships are called Λήθη, Москва and Łódź.", r"Λήθη, Москва and Łódź"),
}
_FROM_MARKDOWN = ("md", "html", "docx", "odt", "epub", "rtf", "pptx", "ipynb")
_FROM_ODT = ("pdf", "docx", "rtf")
_PICTURE = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`"
    b"\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"
)


def lost_pieces() -> Iterator[tuple[str, list[str]]]:
    """For each format that pandoc and LibreOffice write: what its reader loses; nothing where pandoc is missing."""
    if not installed("pandoc"):
        return
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        source = "\n\n".join(["---\ntitle: The harbour\n---", "# Pieces", *(text for text, _ in PIECES.values())])
        (work / "in.md").write_text(source, encoding="utf-8")
        (work / "picture.png").write_bytes(_PICTURE)
        for suffix in _FROM_MARKDOWN:
            target = ["-t", "gfm"] if suffix == "md" else []
            run(["pandoc", "--standalone", "in.md", *target, "-o", f"out.{suffix}"], work)
            yield f"{suffix.upper()}, pandoc", _lost(work / f"out.{suffix}")
        for suffix in _FROM_ODT if installed("soffice") else ():
            run(["soffice", "--headless", "--convert-to", suffix, "--outdir", suffix, "out.odt"], work)
            yield f"{suffix.upper()}, LibreOffice", _lost(work / suffix / f"out.{suffix}")


def _lost(file: Path) -> list[str]:
    try:
        with file.open("rb") as stream:
            text = " ".join(" ".join(document.text.split()) for document in parse(stream, file.name))
    except UnreadableError as error:
        return [str(error)]
    return [name for name, (_, kept) in PIECES.items() if not re.search(kept, text)]
