#!/usr/bin/env python3
"""What our PDF reader gives against other libraries: words and numbers lost, numbers changed, order, time.

    scripts/bench/pdfs.py FOLDER [--readers atomr pypdfium2 pdfminer pdfplumber pypdf pymupdf]
        [--files] [--json OUT]

FOLDER holds PDFs, at any depth. The others are installed by hand, where wanted: `pip install pdfplumber pypdf pymupdf`
(PyMuPDF has the AGPL: for measuring alone).

Nothing tells the right text of a real file. A word, a number or a pair of words that follow each other counts as the
file's if it is in what two of three engines read; a reader is measured by engines other than its own. The engines are
PDFium, pdfminer.six, pypdf and MuPDF; pdfplumber reads by pdfminer, ours by PDFium.

- words lost: of the different words of a file, those that the reader does not have.
- numbers lost; changed: of the different numbers. One that no engine has was changed.
- pairs: of the pairs of words that follow each other, those that the reader has. Ours leaves out running heads and
  page numbers, and puts columns and tables together by rows.
- seconds: for all files, in a process a file.

A reader that fails or takes more than two minutes for a file has no words of it. `--files` lists what ours lost.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

SECONDS = 120
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\xad\u2010\ufffe\x02](?:\s*\n\s*)?(?=[^\W\d_])")  # at the end of a line or not
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_TOKEN = re.compile(rf"{_NUMBER.pattern}|{_WORD.pattern}")
_MAKERS = {
    "pdfTeX": "pdfe?tex", "LuaTeX": "lua(?:hb)?tex", "XeTeX": "xdvipdfmx|xetex", "dvips, dvipdfmx": "dvipdfm|dvips",
    "Microsoft Word": r"microsoft\S* (?:office )?word", "Microsoft, other": "microsoft",
    "LibreOffice": "libreoffice|openoffice", "Chrome (Skia)": "skia", "InDesign": "indesign",
    "wkhtmltopdf (Qt)": r"\bqt\b|wkhtmltopdf", "Quartz": "quartz|mac os x", "WeasyPrint": "weasyprint",
    "Typst": "typst", "Prince": "prince", "groff": "groff", "Ghostscript": "ghostscript", "Distiller": "distiller",
    "iText": "itext", "ReportLab": "reportlab", "FOP": "apache fop", "cairo": "cairo",
    "Adobe, other": "adobe|acrobat",
}  # fmt: skip


def _pdfium(path: str) -> str:
    pdf = importlib.import_module("pypdfium2").PdfDocument(path)
    return "\n".join(pdf[i].get_textpage().get_text_range() for i in range(len(pdf)))


def _pdfminer(path: str) -> str:
    return str(importlib.import_module("pdfminer.high_level").extract_text(path))


def _pdfplumber(path: str) -> str:
    with importlib.import_module("pdfplumber").open(path) as pdf:
        return "\n".join(page.extract_text() or "" for page in pdf.pages)


def _pypdf(path: str) -> str:
    return "\n".join(page.extract_text() for page in importlib.import_module("pypdf").PdfReader(path).pages)


def _pymupdf(path: str) -> str:
    pdf = importlib.import_module("pymupdf").open(path)
    return "\n".join(page.get_text() for page in pdf)


def _atomr(path: str) -> str:
    from atomr_local.indexing.readers.documents.pdf import parse_pdf

    with Path(path).open("rb") as stream:
        document = parse_pdf(stream)
    headings = "\n".join(title for _, _, title in document.sections)
    return f"{document.title}\n{headings}\n{document.text}"


# By name: what reads, and by which engine.
READERS: dict[str, tuple[Callable[[str], str], str]] = {
    "atomr": (_atomr, "pdfium"),
    "pypdfium2": (_pdfium, "pdfium"),
    "pdfminer": (_pdfminer, "pdfminer"),
    "pdfplumber": (_pdfplumber, "pdfminer"),
    "pypdf": (_pypdf, "pypdf"),
    "pymupdf": (_pymupdf, "mupdf"),
}
ENGINES = {"pdfium": "pypdfium2", "pdfminer": "pdfminer", "pypdf": "pypdf", "mupdf": "pymupdf"}


@dataclass
class Read:
    """What one reader gave of a file."""

    words: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    seconds: float = 0.0
    error: str = ""


@dataclass
class Loss:
    """How many words, numbers and pairs files have, and how many of them a reader does not."""

    files: int = 0
    words: int = 0
    lost: int = 0
    numbers: int = 0
    lost_numbers: int = 0
    changed: int = 0
    pairs: int = 0
    lost_pairs: int = 0
    failed: int = 0
    seconds: float = 0.0


def read(name: str, path: Path) -> Read:
    """What the reader gives, in a process of its own."""
    command = [sys.executable, __file__, str(path), "--one", name]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        told = json.loads(done.stdout.decode("utf-8", "replace").splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        seconds = SECONDS if isinstance(error, subprocess.TimeoutExpired) else 0
        return Read(seconds=seconds, error=type(error).__name__)
    text = unicodedata.normalize("NFKC", _HYPHEN.sub("", told["text"])).replace("\xad", "").casefold()
    tokens = _TOKEN.findall(text)
    numbers = {token for token in tokens if token[0].isdigit()}
    return Read(set(tokens) - numbers, numbers, set(pairwise(tokens)), told["seconds"], told["error"])


def one(name: str, path: Path) -> dict[str, Any]:
    """In the process of its own: text, seconds without the import of the library, and what went wrong."""
    function = READERS[name][0]
    text, error = "", ""
    started = time.perf_counter()
    try:
        text = function(str(path))
    except Exception as problem:  # a library fails as it likes
        error = f"{type(problem).__name__}: {problem}"[:200]
    return {"text": text, "seconds": time.perf_counter() - started, "error": error}


def agreed(sets: Iterable[set[Any]]) -> set[Any]:
    """What two of them have at least."""
    counts: dict[Any, int] = defaultdict(int)
    for found in sets:
        for item in found:
            counts[item] += 1
    return {item for item, count in counts.items() if count >= 2}


def add(loss: Loss, own: Read, name: str, results: dict[str, Read]) -> dict[str, list[str]]:
    """Count what a reader lost of one file; the words and numbers."""
    others = [results[by] for engine, by in ENGINES.items() if engine != READERS[name][1] and by in results]
    words, numbers = agreed(other.words for other in others), agreed(other.numbers for other in others)
    pairs = agreed(other.pairs for other in others)
    changed = own.numbers.difference(*(results[by].numbers for by in ENGINES.values() if by in results and by != name))
    loss.files += 1
    loss.words, loss.lost = loss.words + len(words), loss.lost + len(words - own.words)
    loss.numbers, loss.lost_numbers = loss.numbers + len(numbers), loss.lost_numbers + len(numbers - own.numbers)
    loss.changed += len(changed)
    loss.pairs, loss.lost_pairs = loss.pairs + len(pairs), loss.lost_pairs + len(pairs - own.pairs)
    loss.failed += bool(own.error)
    loss.seconds += own.seconds
    return {"words": sorted(words - own.words), "numbers": sorted(numbers - own.numbers), "changed": sorted(changed)}


def maker(path: Path) -> str:
    """The program that made the file, by what it says itself."""
    try:
        pdf = importlib.import_module("pypdfium2").PdfDocument(path)
    except Exception:  # it cannot be opened
        return "other"
    said = " ".join(pdf.get_metadata_value(key) for key in ("Creator", "Producer")).casefold()
    return next((name for name, pattern in _MAKERS.items() if re.search(pattern, said)), "other")


def row(name: str, loss: Loss) -> str:
    def share(part: int, whole: int) -> str:
        return f"{100 * part / whole:.2f}" if whole else "-"

    cells = (
        name, loss.files, loss.failed, loss.words, share(loss.lost, loss.words), loss.numbers,
        share(loss.lost_numbers, loss.numbers), share(loss.changed, loss.numbers),
        share(loss.pairs - loss.lost_pairs, loss.pairs), f"{loss.seconds:.1f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", choices=READERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        sys.stdout.write("\n" + json.dumps(one(given.one, given.folder)) + "\n")
        return
    losses: dict[str, Loss] = defaultdict(Loss)
    makers: dict[str, Loss] = defaultdict(Loss)
    told = []
    for path in sorted(given.folder.rglob("*.pdf")):
        results = {name: read(name, path) for name in given.readers}
        for name, own in results.items():
            lost = add(losses[name], own, name, results)
            if name == "atomr":
                made_by = maker(path)
                add(makers[made_by], own, name, results)
                told.append({"file": str(path), "maker": made_by, "error": own.error, "seconds": own.seconds, **lost})
                if given.files and any(lost.values()):
                    print(path.name, own.error, {key: value[:20] for key, value in lost.items() if value}, flush=True)
    head = "files | failed | words | lost % | numbers | lost % | changed % | pairs kept % | seconds |"
    for title, rows in (("reader", losses), ("maker (our reader)", makers)):
        print(f"| {title} | {head}\n|{'---|' * 10}")
        for name, loss in sorted(rows.items(), key=lambda item: title != "reader" and -item[1].files):
            print(row(name, loss))
        print()
    if given.json:
        losses_told = {"readers": losses, "makers": makers}
        tables = {key: {name: asdict(loss) for name, loss in rows.items()} for key, rows in losses_told.items()}
        given.json.write_text(json.dumps(tables | {"files": told}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
