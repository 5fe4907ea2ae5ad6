"""A folder of files made to do harm, built as a user does it: each costs itself only, and is listed with its reason."""

from __future__ import annotations

import functools
import resource
from pathlib import Path

import pytest
from support import hostile_documents as hostile
from support.edited_folder import index_content
from support.fake_embedder import FakeEmbedder
from support.office_files import e_book, open_text

from atomr_local.indexing.text_index import documents as documents_build
from atomr_local.indexing.text_index.documents import build_documents_index

pytestmark = pytest.mark.slow
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_SECONDS = 4  # of processor time for a file that stalls
_PLENTY = 30  # for one that does not, on any machine


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Harmless files, each with the part of it that holds its words."""
    docx, openpyxl, pptx = (pytest.importorskip(name) for name in ("docx", "openpyxl", "pptx"))
    folder = tmp_path_factory.mktemp("whole")
    document = docx.Document()
    document.add_paragraph("Words of a document.")
    document.save(folder / "a.docx")
    book = openpyxl.Workbook()
    book.active.append(["Name", "Born"])
    book.save(folder / "a.xlsx")
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[5])
    slides.save(folder / "a.pptx")
    (folder / "a.epub").write_bytes(e_book({"a.xhtml": "<p>Words of a chapter.</p>"}))
    (folder / "a.odt").write_bytes(open_text(""))
    parts = {
        "a.docx": "word/document.xml", "a.xlsx": "xl/worksheets/sheet1.xml", "a.pptx": "ppt/slides/slide1.xml",
        "a.epub": "b/a.xhtml", "a.odt": "content.xml",
    }  # fmt: skip
    return {name: (folder / name, part) for name, part in parts.items()}


def unread_of(folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: int = _PLENTY) -> dict[str, str]:
    """Build an index of the folder, with a good file in it, and tell what was not read, and why.

    Args:
        seconds: of processor time for a file.
    """
    (folder / "good.txt").write_text("A good file about bees.")
    hasty = functools.partial(documents_build.DocumentParser, seconds=seconds)
    monkeypatch.setattr(documents_build, "DocumentParser", hasty)
    manifest = build_documents_index([folder], "hostile", embedder=FakeEmbedder())
    assert "A good file about bees." in str(index_content("hostile"))
    return dict(manifest.settings["documents"]["unread"]["samples"])


def most_memory_of_children() -> int:
    """MiB that any ended child of this process had."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def processor_time_of_children() -> float:
    """Seconds that the ended children of this process have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_files_that_unpack_to_gigabytes(
    whole: dict[str, tuple[Path, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (file, part) in whole.items():
        hostile.bomb(file, part, tmp_path / f"true-{name}", gigabytes=3)
        hostile.bomb(file, part, tmp_path / f"lying-{name}", gigabytes=3, declared=2_000)
        assert (tmp_path / f"true-{name}").stat().st_size < 5 << 20
    before, most = processor_time_of_children(), most_memory_of_children()
    unread = unread_of(tmp_path, monkeypatch)
    for name in whole:
        assert "unpacks to 3072 MiB" in unread[f"true-{name}"]
        assert "ZIP bomb?" in unread[f"true-{name}"]
    # What unpacks to more than it says is read as far as it says, and is no document then.
    for name, (_, part) in whole.items():
        assert unread[f"lying-{name}"].startswith(f"its part {part} is damaged")
    # The system only tells the most that any child had, so a larger one of an earlier test hides these.
    assert most_memory_of_children() < max(1_000, most + 1)
    assert processor_time_of_children() - before < _PLENTY * len(whole)


def test_entities_without_end(
    whole: dict[str, tuple[Path, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (file, part) in whole.items():
        hostile.with_part(file, part, hostile.laughs(), tmp_path / name)
    others = {
        "workbook.xlsx": ("a.xlsx", "xl/workbook.xml"), "strings.xlsx": ("a.xlsx", "xl/sharedStrings.xml"),
        "slides.pptx": ("a.pptx", "ppt/presentation.xml"), "styles.docx": ("a.docx", "word/styles.xml"),
        "meta.odt": ("a.odt", "meta.xml"), "package.epub": ("a.epub", "b/c.opf"),
    }  # fmt: skip
    for name, (of, part) in others.items():
        hostile.with_part(whole[of][0], part, hostile.laughs(), tmp_path / name)
    hostile.with_part(
        whole["a.docx"][0], "word/document.xml", hostile.laughs().encode("utf-16"), tmp_path / "wide.docx"
    )
    unread = unread_of(tmp_path, monkeypatch)
    chapter = unread.pop("a.epub", "it has no text")
    assert chapter == "it has no text"  # a page of HTML has no entities of its own
    assert unread == dict.fromkeys(
        [*(name for name in whole if name != "a.epub"), *others, "wide.docx"],
        "its XML declares entities, which no such document needs",
    )
    assert "lollol" not in str(index_content("hostile"))


def test_pdfs_that_loop_or_stall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "pages.pdf").write_bytes(hostile.pdf_of_looping_pages())
    (tmp_path / "forms.pdf").write_bytes(hostile.pdf_of_forms_in_themselves())
    (tmp_path / "unpacks.pdf").write_bytes(hostile.pdf_that_unpacks(3))
    (tmp_path / "whole.pdf").write_bytes(
        hostile.pdf_with_content(hostile.stream(b"BT /F 20 Tf 50 700 Td (Words of a whole page.) Tj ET"))
    )
    unread = unread_of(tmp_path, monkeypatch, _SECONDS)
    assert unread.keys() == {"pages.pdf", "forms.pdf", "unpacks.pdf"}
    assert unread["pages.pdf"] == "its pages cannot be read"
    stalled = "reading it takes too "
    assert unread["forms.pdf"].startswith(stalled)
    assert unread["unpacks.pdf"].startswith(stalled)
    assert "Words of a whole page." in str(index_content("hostile"))


def test_markup_of_ten_thousand_levels(
    whole: dict[str, tuple[Path, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep.html").write_text(hostile.deep_html(10_000))
    chapter = hostile.deep_html(10_000)[: -len("words")] + "letters"  # not the same text, or it is a copy
    hostile.with_part(whole["a.epub"][0], "b/a.xhtml", chapter, tmp_path / "deep.epub")
    deep = "<x>" * 10_000 + "words" + "</x>" * 10_000
    content = f'<office:document-content xmlns:office="{_OFFICE}"><office:body><office:text>{deep}</office:text></office:body></office:document-content>'
    hostile.with_part(whole["a.odt"][0], "content.xml", content, tmp_path / "deep.odt")
    unread = unread_of(tmp_path, monkeypatch)
    assert unread.keys() == {"deep.odt"}
    assert "Excessive depth" in unread["deep.odt"]
    found = str(index_content("hostile"))
    assert found.count("deep words") == 2
    assert found.count("last words") == found.count("last letters") == 1
