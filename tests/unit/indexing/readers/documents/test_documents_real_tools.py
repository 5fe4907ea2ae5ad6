"""Documents as real programs write them: pandoc, LibreOffice and LaTeX, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.read_documents import read_document, titles_before

from atomr_local.indexing.readers.documents.document import Document

_SOURCE = """---
title: The river
author: A. Measurer
---

# Introduction

The river rises in the hills above the town and ends in the sea.

# Methods

The level was measured every morning with a staff of oak.

## Instruments

| Staff | Length |
|-------|--------|
| Oak   | 3 m    |
| Steel | 5 m    |

- The oak staff was made in 1891.
- The steel staff is newer.
"""
_STATED = (
    "The river rises in the hills above the town and ends in the sea.",
    "The level was measured every morning with a staff of oak.",
    "The oak staff was made in 1891.",
)
pytestmark = pytest.mark.slow


def made(command: list[str], *, folder: Path) -> None:
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, timeout=120, env=os.environ | {"HOME": str(folder)}
    )


def read_file(file: Path) -> Document:
    return read_document(file.read_bytes(), file.name)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "river.md"
    file.write_text(_SOURCE)
    return file


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="pandoc is not installed")
@pytest.mark.parametrize("suffix", ["docx", "odt", "epub", "html", "rtf", "ipynb", "md"])
def test_what_pandoc_writes(source: Path, suffix: str) -> None:
    file = source.with_name(f"out.{suffix}")
    format_ = ["-t", "gfm"] if suffix == "md" else []  # pandoc's own tables are drawn with spaces
    made(["pandoc", "--standalone", str(source), *format_, "-o", str(file)], folder=source.parent)
    document = read_file(file)
    for sentence in _STATED:
        assert sentence in document.text
    if suffix != "rtf":
        assert titles_before(document, "The level")[-1] == "Methods"
        assert "Instruments" in titles_before(document, "made in 1891")
        assert "Staff: Oak; Length: 3 m" in document.text
    if suffix not in {"rtf", "ipynb"}:
        assert document.title == "The river"


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="pandoc is not installed")
def test_slides_that_pandoc_writes(source: Path) -> None:
    file = source.with_name("out.pptx")
    made(["pandoc", str(source), "-o", str(file)], folder=source.parent)
    document = read_file(file)
    assert _STATED[1] in document.text
    assert document.place_kind == "slide"


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize("suffix", ["docx", "odt", "rtf", "pdf"])
def test_what_libreoffice_writes(source: Path, suffix: str) -> None:
    page = source.with_name("river.html")
    page.write_text(f"<html><body><h1>Methods</h1>{''.join(f'<p>{text}</p>' for text in _STATED)}</body></html>")
    made(
        ["soffice", "--headless", "--convert-to", suffix, "--infilter=HTML (StarWriter)", str(page)], folder=page.parent
    )
    document = read_file(page.with_suffix(f".{suffix}"))
    for sentence in _STATED:
        assert sentence in document.text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_what_latex_writes(tmp_path: Path, columns: str) -> None:
    body = "\n\n".join(f"\\section{{Part {i}}} {_STATED[i % 3]} {'More of it is said here. ' * 40}" for i in range(6))
    (tmp_path / "a.tex").write_text(f"\\documentclass[{columns}]{{article}}\\begin{{document}}{body}\\end{{document}}")
    made(["pdflatex", "-interaction=batchmode", "a.tex"], folder=tmp_path)
    document = read_file(tmp_path / "a.pdf")
    for sentence in _STATED:
        assert sentence in document.text
    assert [title for _, _, title in document.sections] == [f"{i + 1} Part {i}" for i in range(6)]
