"""How much of the made documents an index holds, and how well it is found and cited."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.indexing.embedding.embedder import Embedder
from atomr_local.indexing.store import index_path, read_manifest
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.sources.document_places import DocumentPlaces, file_path, page_at
from atomr_local.sources.protocol import Evidence, Request, SourceName
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from made_documents.folder import MadeFolder
from made_documents.gold import Gold

FIRST = 3
_CELLS = re.compile(r"(?:(?P<sheet>.*)!)?[A-Z]+(?P<first>\d+)(?::[A-Z]+(?P<last>\d+))?")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what was found.

    Attributes:
        rank: of the first right passage, from 1; 0 if none of the first ten is right.
        cited: whether its citation names the right place.
        opens: whether the file would be opened at the right page; None where the file has no pages.
    """

    gold: Gold
    rank: int
    cited: bool
    opens: bool | None


@dataclass(slots=True)
class Kept:
    """How many facts of a kind of document there are, are in a passage, and have the right place there.

    `opens`: of those that are placed on a page, how many open at the very page; 0 where the kind has no pages.
    """

    facts: int = 0
    stated: int = 0
    placed: int = 0
    opens: int = 0


def ask(index: str, questions: Sequence[Gold], embedder: Embedder) -> list[Asked]:
    """Ask the index for each fact, as a question is searched for."""
    found = []
    with closing(TextSource(index_path("text", index), embedder)) as source:
        for gold in questions:
            request = Request(gold.question, gold.question, top_k=10)
            evidence = source.retrieve(request, Cancellation()).evidence
            rank = next((i for i, one in enumerate(evidence, 1) if states(one, gold)), 0)
            right = evidence[rank - 1] if rank else None
            cited = right is not None and is_placed(right, gold)
            opens = right is not None and _opens(right, gold) if "page" in gold.place else None
            found.append(Asked(gold, rank, cited, opens))
    return found


def kept_by_kind(index: str, made: MadeFolder) -> dict[str, Kept]:
    """For each kind of document, what of its facts is in the index."""
    by_file: dict[str, list[Evidence]] = {}
    for one in _passages(index_path("text", index)):
        by_file.setdefault(str(one.locator.get("file")), []).append(one)
    kinds: dict[str, Kept] = {}
    for gold in made.gold:
        kept = kinds.setdefault(gold.kind, Kept())
        kept.facts += 1
        stating = [one for one in by_file.get(gold.file, ()) if states(one, gold)]
        kept.stated += bool(stating)
        placed = [one for one in stating if is_placed(one, gold)]
        kept.placed += bool(placed)
        kept.opens += "page" in gold.place and any(_opens(one, gold) for one in placed)
    return kinds


def states(evidence: Evidence, gold: Gold) -> bool:
    """Whether the passage is of the right file and says the fact."""
    text = _plain(evidence.text)
    return evidence.locator.get("file") == gold.file and all(_plain(phrase) in text for phrase in gold.phrases)


def is_placed(evidence: Evidence, gold: Gold) -> bool:
    """Whether the passage's place includes that of the fact, in every respect that is known of it."""
    locator = evidence.locator
    for name, wanted in gold.place.items():
        if name == "title":
            right = evidence.title == wanted
        elif name == "heading":
            right = _plain(wanted) in _plain(str(locator.get("heading", "")))
        elif name == "cells":
            right = _holds_row(str(locator.get("cells", "")), wanted)
        else:
            first, last = _span(locator.get(name))
            right = first <= wanted <= last
        if not right:
            return False
    return True


def _opens(evidence: Evidence, gold: Gold) -> bool:
    """Whether the file opens at the page on which the fact's words begin, as the sentence that is cited."""
    at = max(0, evidence.text.find(gold.phrases[0]))
    there = file_path(evidence.locator) is not None
    return there and page_at(evidence.locator, at) == int(gold.place["page"])


def _passages(directory: Path) -> Iterable[Evidence]:
    """Every passage with its place, as a citation would have it."""
    columns = ["id", "title", "section", "text", "start", "end"]
    with closing(DocumentPlaces(directory, read_manifest(directory))) as places:
        for row in connect(directory).open_table(TABLE).to_arrow().select(columns).to_pylist():
            locator = {"passage": row["id"], "span": [row["start"], row["end"]], "section": row["section"]}
            yield places.placed(Evidence(SourceName.TEXT, row["title"], row["text"], 1.0, "", locator))


def _holds_row(cells: str, wanted: str) -> bool:
    found, asked = _CELLS.fullmatch(cells), _CELLS.fullmatch(wanted)
    if found is None or asked is None or found["sheet"] != asked["sheet"]:
        return False
    return int(found["first"]) <= int(asked["first"]) <= int(found["last"] or found["first"])


def _span(place: Any) -> tuple[int, int]:
    """The first and the last number of a place; none is before any."""
    if isinstance(place, int):
        return place, place
    return (int(place[0]), int(place[1])) if isinstance(place, list | tuple) else (0, -1)


def _plain(text: str) -> str:
    """Without regard to spaces and to ways of writing one letter, such as ligatures."""
    return " ".join(unicodedata.normalize("NFKC", text).split())
