"""Made documents as pandoc, LibreOffice and LaTeX write them, where these programs are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from made_documents.content import Source
from made_documents.gold import Gold, in_words, stated
from made_documents.office import write_pptx, write_xlsx
from made_documents.plain import gold_of_table, html_text, under_headings, write_markdown

PROGRAMS = ("pandoc", "soffice", "pdflatex")
_LATEX_SPECIAL = re.compile(r"([#$%&_{}])")


def installed(program: str) -> bool:
    return shutil.which(program) is not None


def run(command: list[str], folder: Path) -> None:
    """Run a program in the folder, which is its home too; it may take two minutes.

    Raises:
        subprocess.SubprocessError: it failed, or took longer.
    """
    environment = os.environ | {"HOME": str(folder)}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120, env=environment)


def written_by_tools(folder: Path, sources: Iterator[Source]) -> Iterator[Gold]:
    """Write a document with each program in each format; yields the gold."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        if installed("pandoc"):
            yield from _by_pandoc(folder, sources, work)
        if installed("pdflatex"):
            yield from _by_latex(folder, sources, work)
        if installed("soffice"):
            yield from _by_libreoffice(folder, sources, work)


def _by_pandoc(folder: Path, sources: Iterator[Source], work: Path) -> Iterator[Gold]:
    for suffix in ("docx", "odt", "epub", "html", "rtf", "pptx", "ipynb"):
        source = next(sources)
        name, kind = f"pandoc.{suffix}", f"{suffix.upper()}, pandoc"
        write_markdown(work, "in.md", source)
        run(["pandoc", "--standalone", "in.md", "-o", name], work)
        (work / name).rename(folder / name)
        if suffix == "pptx":  # a slide with the title, one for the first heading, and one for each part
            yield from (
                one
                for number, part in enumerate(source.parts, 3)
                for one in stated(kind, name, part, {"slide": number, "heading": part.subject})
            )
        elif suffix == "rtf":
            yield from (in_words(kind, name, fact, {}) for part in source.parts for fact in part.facts)
        else:
            yield from under_headings(kind, name, source)


def _by_latex(folder: Path, sources: Iterator[Source], work: Path) -> Iterator[Gold]:
    for columns in ("onecolumn", "twocolumn"):
        source = next(sources)
        name = f"latex-{columns}.pdf"
        kind = "PDF, LaTeX" if columns == "onecolumn" else "PDF, LaTeX, two columns"
        (work / "a.tex").write_text(_latex(source, columns), encoding="utf-8")
        for _ in range(2):
            run(["pdflatex", "-interaction=batchmode", "a.tex"], work)
        pages = dict(re.findall(r"\\newlabel\{(f\d+)\}\{\{[^{}]*\}\{(\d+)\}", (work / "a.aux").read_text("utf-8")))
        (work / "a.pdf").rename(folder / name)
        facts = [(part, fact) for part in source.parts for fact in part.facts]
        for number, (part, fact) in enumerate(facts):
            yield in_words(kind, name, fact, {"page": int(pages[f"f{number}"]), "heading": part.subject})


def _latex(source: Source, columns: str) -> str:
    """An article with a label at each fact, whose page LaTeX notes."""
    labels = {fact.sentence: i for i, fact in enumerate(fact for part in source.parts for fact in part.facts)}
    lines = [
        rf"\documentclass[{columns}]{{article}}", r"\usepackage[utf8]{inputenc}", r"\begin{document}",
        rf"\title{{{_tex(source.title)}}}\author{{A. Maker}}\date{{}}\maketitle",
    ]  # fmt: skip
    for part in source.parts:
        lines.append(rf"\section{{{_tex(part.subject)}}}")
        for sentence in part.sentences:
            label = rf"\label{{f{labels[sentence]}}}" if sentence in labels else ""
            lines.append(f"{label}{_tex(sentence)}")
    return "\n".join([*lines, r"\end{document}"])


def _tex(text: str) -> str:
    return _LATEX_SPECIAL.sub(r"\\\1", text)


def _by_libreoffice(folder: Path, sources: Iterator[Source], work: Path) -> Iterator[Gold]:
    for suffix in ("pdf", "docx", "odt", "rtf"):
        source = next(sources)
        kind = f"{suffix.upper()}, LibreOffice"
        (work / "office.html").write_text(html_text(source, page_breaks=True), encoding="utf-8")
        name = _converted(work, folder, "office.html", suffix, "--infilter=HTML (StarWriter)")
        if suffix == "pdf":  # a page with the title, and one for each part
            yield from _by_number(kind, name, source, "page", 2)
        elif suffix == "rtf":
            yield from (in_words(kind, name, fact, {}) for part in source.parts for fact in part.facts)
        else:
            yield from under_headings(kind, name, source)
    for suffix, place in (("odp", "slide"), ("pdf", "page")):
        source = next(sources)
        write_pptx(work, f"slides-{suffix}.pptx", source)
        name = _converted(work, folder, f"slides-{suffix}.pptx", suffix)
        yield from _by_number("ODP, LibreOffice" if suffix == "odp" else "PDF of slides", name, source, place, 1)
    source = next(sources)
    write_xlsx(work, "sheet.xlsx", source)
    yield from gold_of_table("ODS, LibreOffice", _converted(work, folder, "sheet.xlsx", "ods"), source, "List")


def _by_number(kind: str, name: str, source: Source, place: str, first: int) -> Iterator[Gold]:
    for number, part in enumerate(source.parts, first):
        yield from stated(kind, name, part, {place: number})


def _converted(work: Path, folder: Path, name: str, suffix: str, *options: str) -> str:
    run(["soffice", "--headless", "--convert-to", suffix, *options, name], work)
    made = work / Path(name).with_suffix(f".{suffix}")
    made.rename(folder / f"libreoffice-{made.name}")
    return f"libreoffice-{made.name}"
