#!/usr/bin/env python3
"""Compares, word for word, what the readers of documents give with what a short walk over each format finds.

    scripts/bench/reading_documents.py [FOLDER …] [--made] [--examples] [--json FILE] [--table] [--docs]

The walks (`scripts/made_documents/walkers.py`) go over each format's own XML or text and know nothing of the readers.
Of every file of a known kind in the folders, and of made files with `--made`, these are counted for each format: words
and numbers that the reader loses, words and numbers that only the reader has (a number that it changes is lost and
invented), words in another order, and words at another place or under another heading. Files that only one of the two
can read are listed. A folder that is not there is said to be skipped.

`--table` prints what each format keeps and loses of notes, comments, charts and the like, from files made for that
(`scripts/made_documents/kept.py`); `--docs` writes it into docs/how-to/own-documents.md.

Exit status: 1 if a format is over a bound of `BOUNDS`, a made file cannot be read, or, with `--table`, the table in the
documentation is not this one; else 0.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from made_documents.comparing import Compared, compared
from made_documents.folder import make_folder
from made_documents.kept import table
from made_documents.walkers import WALKS, pieces_of

from atomr_local.indexing.readers.documents.document import UnreadableError
from atomr_local.indexing.readers.documents.process import parse

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/own-documents.md"
BEGIN, END = "<!-- kept and lost: scripts/bench/reading_documents.py --docs -->\n", "<!-- end -->"
HEAD = ["| format | kept | lost |", "|---|---|---|"]
# What may be wrong: so many in 1,000 words, numbers, or words that could be compared.
BOUNDS = {
    "lost": ("lost", "words", 15.0),
    "numbers lost": ("numbers_lost", "numbers", 25.0),
    "numbers invented": ("numbers_invented", "numbers", 15.0),
    "disordered": ("disordered", "ordered", 10.0),
    "misplaced": ("misplaced", "placed", 10.0),
}
# Of made files nothing may be wrong, but for what a format is known to lose.
MADE = dict.fromkeys(BOUNDS, 0.0)
_FEWEST = 200  # words: fewer make no share


def compare(files: Iterable[Path]) -> tuple[dict[str, Compared], list[str]]:
    """What was found by format, and the files that only one of the two could read."""
    found: dict[str, Compared] = {}
    unread: list[str] = []
    for file in files:
        kind = file.suffix.lower().removeprefix(".")
        if kind not in WALKS:
            continue
        try:
            pieces = pieces_of(file.read_bytes(), kind)
        except Exception as error:  # whatever damage leads the XML parser to
            pieces = None
            why = f"{type(error).__name__}: {error}"
        try:
            with file.open("rb") as stream:
                documents = [one.as_json() for one in parse(stream, file.name)]
        except UnreadableError as error:
            if pieces and any(one.place or not one.aside for one in pieces):
                unread.append(f"{file}: not read: {error}")
            continue
        if pieces is None:
            unread.append(f"{file}: read, but not walked over: {why}")
            continue
        found.setdefault(kind, Compared()).add(compared(file.name, pieces, documents))
    return found, unread


def over(found: dict[str, Compared], bounds: dict[str, float]) -> list[str]:
    """What is over its bound, in words."""
    return [
        f"{kind}: {what}: {one.share(bad, of):.1f} in 1,000, more than {bounds[what]:g}"
        for kind, one in found.items()
        for what, (bad, of, _) in BOUNDS.items()
        if one.words >= _FEWEST and one.share(bad, of) > bounds[what]
    ]


def show(found: dict[str, Compared], *, examples: bool) -> None:
    names = (
        "files",
        "words",
        "lost",
        "numbers",
        "numbers_lost",
        "invented",
        "numbers_invented",
        "disordered",
        "misplaced",
    )
    print(f"{'format':<8}" + "".join(f"{name.replace('_', ' '):>18}" for name in names))
    for kind, one in sorted(found.items()):
        print(f"{kind:<8}" + "".join(f"{getattr(one, name):>18,}" for name in names))
        for what, lines in one.examples.items() if examples else ():
            print(f"  {what}:", *lines, sep="\n    ")


def documented(write: bool) -> bool:
    """Whether the documentation's table is the one that is measured now; `write`: make it so."""
    text = PAGE.read_text(encoding="utf-8")
    now = f"{BEGIN}\n" + "\n".join([*HEAD, *table()]) + f"\n\n{END}"
    new = re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: now, text, flags=re.S)
    print("\n".join([*HEAD, *table()]))
    if write:
        PAGE.write_text(new, encoding="utf-8")
    return write or (BEGIN in text and new == text)


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.exists():
            print(f"skipped: {folder} is not there")
        yield from [folder] if folder.is_file() else sorted(one for one in folder.rglob("*") if one.is_file())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--made", action="store_true", help="compare made files too, on which nothing may be wrong")
    parser.add_argument("--examples", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found")
    parser.add_argument(
        "--table", action="store_true", help="print what each format keeps and loses, and check the docs"
    )
    parser.add_argument("--docs", action="store_true", help="write that table into the documentation")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong: list[str] = []
    report = {}
    if options.made:
        with tempfile.TemporaryDirectory() as scratch:
            made = make_folder(Path(scratch), seed=36, parts=10, notes=5, with_tools=True)
            files = [one for one in _files([Path(scratch)]) if one.name not in made.unreadable]
            report["made"], unread = compare(files)
        print(f"made files; without those of {', '.join(made.missing) or 'nothing'}")
        show(report["made"], examples=options.examples)
        wrong += over(report["made"], MADE) + unread
    if options.folders:
        report["folders"], unread = compare(_files(options.folders))
        show(report["folders"], examples=options.examples)
        print(*unread, sep="\n")
        wrong += over(report["folders"], {what: bound for what, (_, _, bound) in BOUNDS.items()})
    if (options.table or options.docs) and not documented(options.docs):
        wrong.append(f"{PAGE.name} has another table of what is kept and lost: run this with --docs")
    if options.json:
        told = {which: {kind: asdict(one) for kind, one in found.items()} for which, found in report.items()}
        options.json.write_text(json.dumps(told, indent=1, ensure_ascii=False), encoding="utf-8")
    print(*(f"wrong: {one}" for one in wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
