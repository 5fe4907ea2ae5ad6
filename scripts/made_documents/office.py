"""Made documents as e-books and office files, without office programs."""

from __future__ import annotations

import html
import zipfile
from pathlib import Path

from made_documents.content import Source
from made_documents.gold import Gold, stated
from made_documents.plain import gold_of_table, table_of, under_headings

_NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
)
_PAGE = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><h1>{}</h1><p>{}</p></body></html>'
)


def write_epub(folder: Path, name: str, source: Source) -> list[Gold]:
    """An e-book with a chapter for each part."""
    chapters = range(len(source.parts))
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr(
            "META-INF/container.xml", '<container><rootfiles><rootfile full-path="book/c.opf"/></rootfiles></container>'
        )
        items = "".join(
            f'<item id="c{i}" href="chapter%20{i}.xhtml" media-type="application/xhtml+xml"/>' for i in chapters
        )
        refs = "".join(f'<itemref idref="c{i}"/>' for i in chapters)
        archive.writestr(
            "book/c.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            f"<dc:title>{html.escape(source.title)}</dc:title></metadata><manifest>{items}</manifest>"
            f"<spine>{refs}</spine></package>",
        )
        for i, part in enumerate(source.parts):
            text = html.escape(" ".join(part.sentences))
            archive.writestr(f"book/chapter {i}.xhtml", _PAGE.format(html.escape(part.subject), text))
    return under_headings("EPUB", name, source)


def write_odt(folder: Path, name: str, source: Source) -> list[Gold]:
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text", zipfile.ZIP_STORED)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        parts = "".join(
            f"<text:h text:outline-level='2'>{html.escape(part.subject)}</text:h>"
            f"<text:p>{html.escape(' '.join(part.sentences))}</text:p>"
            for part in source.parts
        )
        archive.writestr(
            "content.xml",
            f"<office:document-content {_NAMESPACES}><office:body><office:text>"
            f"<text:h text:outline-level='1'>{html.escape(source.title)}</text:h>{parts}"
            "</office:text></office:body></office:document-content>",
        )
    return under_headings("ODT", name, source)


def write_docx(folder: Path, name: str, source: Source) -> list[Gold]:
    """Needs python-docx."""
    import docx

    document = docx.Document()
    document.core_properties.title = source.title
    for part in source.parts:
        document.add_heading(part.subject, 1)
        document.add_paragraph(" ".join(part.sentences))
    document.save(str(folder / name))
    return under_headings("DOCX", name, source)


def write_pptx(folder: Path, name: str, source: Source) -> list[Gold]:
    """A slide for each part. Needs python-pptx."""
    import pptx

    presentation = pptx.Presentation()
    presentation.core_properties.title = source.title
    gold: list[Gold] = []
    for number, part in enumerate(source.parts, 1):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = part.subject
        slide.placeholders[1].text = "\n".join(part.sentences)
        gold += stated("PPTX", name, part, {"slide": number, "heading": part.subject})
    presentation.save(str(folder / name))
    return gold


def write_xlsx(folder: Path, name: str, source: Source, sheet: str = "List") -> list[Gold]:
    """Needs openpyxl."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in table_of(source):
        book.active.append(row)
    book.save(folder / name)
    return gold_of_table("XLSX", name, source, sheet)
