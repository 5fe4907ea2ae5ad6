"""Made documents in formats of plain text: Markdown, text, HTML, CSV, RTF, e-mail, notebooks and source code."""

from __future__ import annotations

import csv
import html
import json
import mailbox
import re
import textwrap
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path

from made_documents.content import Part, Source
from made_documents.gold import Gold, in_row, in_words, stated


def write_markdown(folder: Path, name: str, source: Source, *, kind: str = "Markdown") -> list[Gold]:
    """A heading for each part, a sentence a line, and its facts."""
    lines = ["---", f"title: {source.title}", "tags: [made]", "---", "", f"# {source.title}", ""]
    gold = []
    for part in source.parts:
        lines += [f"## {part.subject}", ""]
        for sentence in part.sentences:
            lines += [sentence]
            gold += [
                in_words(kind, name, fact, {"line": len(lines), "heading": part.subject})
                for fact in part.facts
                if fact.sentence == sentence
            ]
        lines += [""]
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return gold


def write_text(folder: Path, name: str, source: Source) -> list[Gold]:
    """Plain text whose lines are wrapped by hand; a blank line between paragraphs, a paragraph for two sentences."""
    lines = [source.title, "=" * len(source.title), ""]
    gold = []
    for part in source.parts:
        lines += [part.subject, ""]
        for i in range(0, len(part.sentences), 2):
            pair = part.sentences[i : i + 2]
            paragraph = " ".join(pair)
            wrapped = textwrap.wrap(paragraph, 78)
            for fact in part.facts:
                if fact.sentence in pair:
                    before = paragraph[: paragraph.index(fact.sentence)] + fact.sentence.partition(" ")[0]
                    line = len(lines) + len(textwrap.wrap(before, 78))
                    gold.append(in_words("plain text", name, fact, {"line": line}))
            lines += [*wrapped, ""]
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return gold


def html_text(source: Source, *, page_breaks: bool = False) -> str:
    """The document as a page, with what a website puts around it; or as one that office programs print."""
    around = "" if page_breaks else "<nav><a href=/>Home</a> <a href=/all>All pages</a></nav><script>track()</script>"
    style = ' style="page-break-before: always"' if page_breaks else ""
    parts = "".join(
        f"<h2{style}>{html.escape(part.subject)}</h2><p>{html.escape(' '.join(part.sentences))}</p>"
        for part in source.parts
    )
    title = html.escape(source.title)
    return (
        f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>{title}</title></head>"
        f"<body>{around}<h1>{title}</h1>{parts}</body></html>"
    )


def write_html(folder: Path, name: str, source: Source) -> list[Gold]:
    (folder / name).write_text(html_text(source), encoding="utf-8")
    return under_headings("HTML", name, source)


def under_headings(kind: str, name: str, source: Source) -> list[Gold]:
    """Gold of a format whose places are headings."""
    return [one for part in source.parts for one in stated(kind, name, part, {"heading": part.subject})]


def table_of(source: Source) -> list[list[str]]:
    """The facts as a table: a row for each part, with the names of the columns above."""
    head = ["Name", *(fact.column for fact in source.parts[0].facts)]
    return [head, *([part.subject, *(fact.value for fact in part.facts)] for part in source.parts)]


def gold_of_table(kind: str, name: str, source: Source, sheet: str = "") -> list[Gold]:
    """Gold of a table that begins in the first row: each fact in the cells of its row."""
    last = chr(ord("A") + len(source.parts[0].facts))
    return [
        in_row(kind, name, fact, {"cells": f"{sheet}!A{row}:{last}{row}" if sheet else f"A{row}:{last}{row}"})
        for row, part in enumerate(source.parts, 2)
        for fact in part.facts
    ]


def write_csv(folder: Path, name: str, source: Source) -> list[Gold]:
    with (folder / name).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=";").writerows(table_of(source))
    return gold_of_table("CSV", name, source)


def write_rtf(folder: Path, name: str, source: Source) -> list[Gold]:
    blocks = [source.title]
    for part in source.parts:
        blocks += [part.subject, " ".join(part.sentences)]
    body = "".join(rf"\pard {_rtf(block)}\par" + "\n" for block in blocks)
    (folder / name).write_text(rf"{{\rtf1\ansi\deff0{{\info{{\title {_rtf(source.title)}}}}}{body}}}", encoding="ascii")
    return [in_words("RTF", name, fact, {}) for part in source.parts for fact in part.facts]


def write_mail(folder: Path, name: str, part: Part) -> list[Gold]:
    (folder / name).write_bytes(bytes(_message(part, attached=True)))
    return list(stated("e-mail", name, part, {"title": part.subject}))


def write_mbox(folder: Path, name: str, source: Source) -> list[Gold]:
    box = mailbox.mbox(folder / name)
    for part in source.parts:
        box.add(_message(part, attached=False))
    box.close()
    return [one for part in source.parts for one in stated("mailbox", name, part, {"title": part.subject})]


def write_notebook(folder: Path, name: str, source: Source) -> list[Gold]:
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "source": [f"# {source.title}"]}]
    gold: list[Gold] = []
    for part in source.parts:
        text = f"## {part.subject}\n\n{' '.join(part.sentences)}\n"
        cells.append({"cell_type": "markdown", "source": text.splitlines(keepends=True)})
        gold += stated("notebook", name, part, {"cell": len(cells), "heading": part.subject})
        output = {"output_type": "stream", "name": "stdout", "text": [f"{len(cells)}\n"]}
        cells.append({"cell_type": "code", "source": f"measure({len(cells)})", "outputs": [output]})
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (folder / name).write_text(json.dumps(notebook), encoding="utf-8")
    return gold


def write_code(folder: Path, name: str, source: Source) -> list[Gold]:
    """A Python module: a function for each part, which its documentation states facts about, a sentence a line."""
    lines = [f'"""{source.title}."""', ""]
    gold: list[Gold] = []
    for part in source.parts:
        function = re.sub(r"\W+", "_", part.subject.casefold())
        lines += ["", f"def {function}() -> None:", f'    """{part.subject}.', ""]
        for sentence in part.sentences:
            lines.append(f"    {sentence}")
            gold += [
                in_words("source code", name, fact, {"line": len(lines)})
                for fact in part.facts
                if fact.sentence == sentence
            ]
        lines += ['    """', ""]
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return gold


def write_notes(folder: Path, notes: Sequence[Source]) -> list[Gold]:
    """A note for each source's only part, with front matter and links to others."""
    gold = []
    subjects = [note.parts[0].subject for note in notes]
    for number, note in enumerate(notes):
        part = note.parts[0]
        name = f"notes/{re.sub(r'[^a-z0-9]+', '-', part.subject.casefold())}-{number}.md"
        others = [subjects[(number * factor + 1) % len(subjects)] for factor in (3, 7, 11)]
        lines = ["---", f"title: {part.subject}", f"aliases: [N{number:04}]", "tags: [made, note]", "---", ""]
        lines += [" ".join(part.sentences), "", "See also " + ", ".join(f"[[{other}]]" for other in others) + ".", ""]
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
        gold += [in_words("note with links", name, fact, {"line": 7, "title": part.subject}) for fact in part.facts]
    return gold


def _message(part: Part, *, attached: bool) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Records <records@example.org>", "Reader <reader@example.org>"
    mail["Subject"], mail["Date"] = part.subject, "Mon, 05 Feb 2024 10:00:00 +0000"
    mail.set_content("\n".join(textwrap.wrap(" ".join(part.sentences), 72)) + "\n")
    if attached:
        mail.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="drawing.pdf")
    return mail


def _rtf(text: str) -> str:
    escaped = re.sub(r"([\\{}])", r"\\\1", text)
    return "".join(letter if letter.isascii() else rf"\u{ord(letter)}?" for letter in escaped)
