"""OCR by the program Tesseract, for pages whose letters are pictures, or are letters that nobody can tell.

Tesseract gets a picture that PDFium made of the page, never the file, and inherits the limits of the process that reads
documents: its memory, and no sockets.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from itertools import groupby
from statistics import mean, median
from typing import Any

from atomr_local.errors import InputError, MissingPartError
from atomr_local.indexing.readers.documents.pdf_page import EDGE, Line, Piece

SECONDS = 1800.0  # by the clock, for the pages of one file
_SECONDS_A_PAGE = 60.0
_DOTS = 300.0  # to the inch
_MOST_DOTS = 30e6  # of a page
# Of 100: of the words of a page, of a line, and of one word. Pictures and writing by hand have less.
_SURE, _SURE_OF_LINE, _SURE_OF_WORD = 75.0, 60.0, 30.0
_UNSURE = "[…]"  # stands for a word


def check_languages(languages: str) -> None:
    """Raise an error unless Tesseract can read these languages, as in "deu+eng".

    Raises:
        MissingPartError: it is not installed.
        InputError: it lacks a language.
    """
    if (program := shutil.which("tesseract")) is None:
        raise MissingPartError(
            "--ocr needs the program tesseract, which is not installed",
            hint="Install it: apt install tesseract-ocr, or brew install tesseract.",
        )
    told = subprocess.run((program, "--list-langs"), capture_output=True, text=True, timeout=20, check=False).stdout
    known = {*told.splitlines()[1:]} - {"osd"}
    if lacking := [one for one in languages.split("+") if one not in known]:
        raise InputError(
            f"--ocr: tesseract does not know the language {lacking[0]!r}",
            hint=f"It knows {', '.join(sorted(known)) or 'none'}. Others are packages, such as tesseract-ocr-deu.",
        )


class PageReader:
    """Reads pages of one file by OCR, until its time is over.

    Args:
        languages: of Tesseract, as in "deu+eng".
    """

    def __init__(self, languages: str) -> None:
        self._languages = languages
        self._program = shutil.which("tesseract") or "tesseract"
        self._until = time.monotonic() + SECONDS

    def lines(self, page: Any) -> list[Line]:
        """The lines of the page, an empty one after each paragraph; [] where they are not sure, or take too long."""
        width, height = page.get_size()
        scale = min(_DOTS / 72, (_MOST_DOTS / max(1.0, width * height)) ** 0.5)
        command = (
            self._program, "stdin", "stdout", "-l", self._languages, "--dpi", str(round(72 * scale)), "--psm", "3",
            "-c", "tessedit_create_tsv=1",
        )  # fmt: skip
        seconds = min(_SECONDS_A_PAGE, self._until - time.monotonic())
        environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
        try:
            told = subprocess.run(
                command, input=_picture(page, scale), capture_output=True, timeout=max(0.0, seconds), check=True,
                env=environment,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return []
        return _lines(told.stdout.decode("utf-8", "replace"), scale, height)


def _picture(page: Any, scale: float) -> bytes:
    """The page in shades of grey, as PGM."""
    bitmap = page.render(scale=scale, grayscale=True)
    rows, step = memoryview(bitmap.buffer).cast("B"), bitmap.stride
    lines = (rows[at : at + bitmap.width] for at in range(0, bitmap.height * step, step))
    return b"".join((b"P5 %d %d 255\n" % (bitmap.width, bitmap.height), *lines))


def _lines(table: str, scale: float, height: float) -> list[Line]:
    """The lines of Tesseract's table. A row is a word: its block, paragraph, line and box, and how sure it is."""
    rows = csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    words = [row for row in rows if row["level"] == "5" and (row["text"] or "").strip()]
    if not words or _sureness(words) < _SURE:
        return []
    size = round(median(int(word["height"]) for word in words) / scale, 1)
    lines: list[Line] = []
    for _, paragraph in groupby(words, lambda word: (word["block_num"], word["par_num"])):
        for _, found in groupby(paragraph, lambda word: word["line_num"]):
            line = _line(list(found), size, scale, height)
            lines += [line] if line is not None else []
        lines.append(Line(""))
    return lines


def _line(words: Sequence[dict[str, str]], size: float, scale: float, height: float) -> Line | None:
    """The line; None of words that are not sure."""
    if _sureness(words) < _SURE_OF_LINE:
        return None
    text, placed = "", []
    for word in words:
        shown = word["text"].strip() if _sureness([word]) >= _SURE_OF_WORD else _UNSURE
        left = int(word["left"]) / scale
        placed.append(Piece(len(text), len(text) + len(shown), left, left + int(word["width"]) / scale))
        text += f"{shown} "
    y = height - max(int(word["top"]) + int(word["height"]) for word in words) / scale
    is_at_edge = not EDGE * height < y < (1 - EDGE) * height
    return Line(text.rstrip(), size, y, placed[0].left, placed[-1].right, True, placed, is_at_edge)


def _sureness(words: Sequence[dict[str, str]]) -> float:
    return mean(float(word["conf"]) for word in words)
