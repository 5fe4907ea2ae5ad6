#!/usr/bin/env python3
"""How well a folder of documents of every kind is read, found and cited.

    scripts/bench/documents.py [--notes 1000] [--parts 10] [--questions 30] [--seed N]
        [--without-tools] [--keep DIR] [--json]

The folder is made first (`scripts/made_documents`): documents with invented facts in every format, 1,000 notes with
links, a scan, an encrypted and several broken files; beside those of our own writers, documents of pandoc, LibreOffice
and LaTeX where these are installed. Then `atomr text build FOLDER` builds the index in a temporary home, and it is
asked for facts in other words than the documents have, as many of each kind.

A passage is right if it is of the right file and says the fact. Its citation is right if file, page, slide, cell,
line, row, heading and title are those where the fact was written, as far as the format has them. `opens` counts PDFs
whose citation opens at the very page. The table says what every format loses: of all its facts, how many are in a
passage, and how many have the right place there. Last come pieces of documents that are no sentences under headings,
such as tables, footnotes and formulas: which of them each reader loses, in files of pandoc and LibreOffice.

Exit status: 0 if nine of ten questions have a right passage among the first three and all citations of those are
right; else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from made_documents.folder import MadeFolder, make_folder
from made_documents.measuring import FIRST, Asked, ask, kept_by_kind
from made_documents.pieces import lost_pieces

from atomr_local.errors import AtomrError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.store import index_path, read_manifest
from atomr_local.models.catalog.find import find_embedder
from atomr_local.settings.schema import load_settings
from atomr_local.system.threads import prepare_threads

INDEX = "made"
AIM = 0.9
ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path, home: Path) -> float:
    """Build the index as a user does; seconds by the clock. Raises AtomrError if the command fails."""
    environment = os.environ | {"ATOMR_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "atomr_local", "text", "build", str(folder), "--name", INDEX]
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AtomrError(f"the build failed: {done.stderr[-500:]}")
    return time.perf_counter() - started


def wrongly_read(made: MadeFolder) -> list[str]:
    """Files that were to be refused and were not, or for another reason."""
    samples = read_manifest(index_path("text", INDEX)).settings["documents"]["unread"]["samples"]
    told = {str(path): str(reason) for path, reason in samples}
    wrong = [path for path, reason in made.unreadable.items() if reason not in told.get(path, "")]
    return wrong + [path for path in told if path not in made.unreadable]


def report_of(made: MadeFolder, asked: Sequence[Asked], seconds: float, *, with_tools: bool) -> dict[str, Any]:
    found = [one for one in asked if 0 < one.rank <= FIRST]
    paged = [one for one in found if one.opens is not None]
    counts = read_manifest(index_path("text", INDEX)).counts
    return {
        "documents": counts["articles"],
        "passages": counts["passages"],
        "seconds": round(seconds, 1),
        "missing": list(made.missing),
        "questions": len(asked),
        "found": len(found),
        "cited": sum(one.cited for one in found),
        "paged": len(paged),
        "opens": sum(bool(one.opens) for one in paged),
        "wrongly_read": wrongly_read(made),
        "kinds": {kind: asdict(kept) for kind, kept in kept_by_kind(INDEX, made).items()},
        "lost": dict(lost_pieces()) if with_tools else {},
        "missed": [
            {"file": one.gold.file, "question": one.gold.question, "rank": one.rank, "cited": one.cited,
             "opens": one.opens, "wanted": one.gold.place}
            for one in asked
            if not 0 < one.rank <= FIRST or not one.cited or one.opens is False
        ],
    }  # fmt: skip


def show(report: dict[str, Any]) -> None:
    print(f"{report['documents']} documents, {report['passages']} passages, built in {report['seconds']} s")
    if report["missing"]:
        print(f"not installed, so without their documents: {', '.join(report['missing'])}")
    print(f"right passage among the first {FIRST}: {report['found']} of {report['questions']}; "
          f"citation right: {report['cited']} of {report['found']}; "
          f"opens at the right page: {report['opens']} of {report['paged']}")  # fmt: skip
    for one in report["missed"]:
        print(f"  {one['file']}: {one['question']} rank {one['rank']}, cited {one['cited']}, opens {one['opens']}")
    for path in report["wrongly_read"]:
        print(f"  not refused as it should be: {path}")
    print(f"\n{'kind':<36} {'facts':>6} {'in a passage':>13} {'place right':>12} {'opens there':>12}")
    for kind, kept in report["kinds"].items():
        print(f"{kind:<36} {kept['facts']:>6} {kept['stated']:>13} {kept['placed']:>12} {kept['opens'] or '':>12}")

    for kind, lost in report["lost"].items():
        print(f"{kind} loses {', '.join(lost) or 'nothing'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--parts", type=int, default=10, help="subjects of each document, five facts each")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--without-tools", action="store_true", help="no documents of pandoc, LibreOffice and LaTeX")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the documents to this new folder, and keep it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    prepare_threads()
    try:
        embedder = SentenceEmbedder(find_embedder(load_settings().embedder))
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep or Path(scratch) / "documents"
            with_tools = not options.without_tools
            made = make_folder(
                folder, seed=options.seed, parts=options.parts, notes=options.notes, with_tools=with_tools
            )
            os.environ["ATOMR_HOME"] = str(Path(scratch) / "home")
            seconds = build(folder, Path(scratch) / "home")
            questions = made.questions(options.questions, options.seed)
            report = report_of(made, ask(INDEX, questions, embedder), seconds, with_tools=with_tools)
    except AtomrError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(report, indent=1)) if options.json else show(report)
    enough = report["found"] >= AIM * report["questions"]
    right = report["cited"] == report["found"] and report["opens"] == report["paged"] and not report["wrongly_read"]
    return 0 if enough and right else 1


if __name__ == "__main__":
    sys.exit(main())
