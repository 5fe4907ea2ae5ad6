"""What readers make of the files that they are tested with: passages, articles and facts.

Of the files in ../shared, of which nothing is copied into the project, digests are kept: of each line, article or fact.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.detect import detect_text_format, open_articles
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.text_index.documents import build_documents_index
from frozen_parts.cases import Case, Run
from frozen_parts.index_contents import manifest_lines, shortened, text_rows, triples
from frozen_parts.telling import Masks
from frozen_parts.worlds import ROOT, SHARED, home, masks

_EDITED = 1_700_000_000
_WHOLE = 24_000  # characters of passages that are kept as they are
_ARTICLES = 300  # of a file
_LINES = 20  # of a passage of which digests are kept
_FACTS = frozenset({"Q42.json", "commons_dump.ttl", "lexeme_dump.ttl"})


def cases(run: Run) -> Iterator[Case]:
    hidden = masks(run)
    with home(run.scratch / "home"):
        yield from _made(run, hidden)
        own = ROOT / "scripts" / "training_questions" / "documents_dev"
        yield from _folder("documents_dev", _copied(own, run.scratch / "documents_dev"), hidden)
        fixtures = SHARED / "fixtures"
        if not fixtures.is_dir():
            run.skipped["fixtures/"] = f"{fixtures} is not here"
            return
        for folder in ("files", "folders"):
            copied = _copied(fixtures / "documents" / folder, run.scratch / f"documents_{folder}")
            yield from _folder(f"fixtures/documents/{folder}", copied, hidden)
        for group in ("mediawiki", "zim", "crag", "more"):
            for file in sorted((fixtures / group).iterdir()):
                if file.name not in _FACTS and file.suffix != ".md":
                    yield Case(f"fixtures/{group}/{file.name}", tuple(_articles(file, hidden)))
        others = [fixtures / "more" / name for name in sorted(_FACTS)]
        for file in [*sorted((fixtures / "wikidata").iterdir()), *others]:
            yield Case(f"fixtures/{file.parent.name}/facts of {file.name}", tuple(_facts(file, hidden)))


def _made(run: Run, hidden: Masks) -> Iterator[Case]:
    """Documents of every kind, written by our own writers."""
    from made_documents.folder import make_folder

    folder = run.scratch / "made"
    make_folder(folder, seed=1, parts=2, notes=6, with_tools=False)
    # Office files hold the time of their making.
    yield from _folder("made", _same_times(folder), hidden, left_out=("inputs",))


def _copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    for path in (to, *to.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return _same_times(to)


def _same_times(folder: Path) -> Path:
    for file in folder.rglob("*"):
        os.utime(file, (_EDITED, _EDITED), follow_symlinks=False)
    return folder


def _folder(group: str, folder: Path, hidden: Masks, left_out: Sequence[str] = ()) -> Iterator[Case]:
    """A case for each document of a folder: what the index has of it."""
    from support.fake_embedder import FakeEmbedder

    name = group.replace("/", "-").replace("_", "-")
    build_documents_index([folder], name, embedder=FakeEmbedder(), vectors="later")
    directory = store.index_path("text", name)
    by_article: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in text_rows(directory):
        by_article[str(row["article"])].append(row)
    yield Case(f"{group}/manifest", manifest_lines(directory, hidden, left_out))
    for article, rows in sorted(by_article.items()):
        yield Case(f"{group}/{article}", tuple(_passages(rows, hidden, whole=not group.startswith("fixtures/"))))


def _passages(rows: Sequence[dict[str, Any]], hidden: Masks, *, whole: bool) -> Iterator[str]:
    """The passages of a document; not `whole`, for texts of others are not copied: digests of its lines."""
    texts = [hidden.text(_told(row)) for row in rows]
    everything = "\n".join(texts)
    yield f"{len(texts)} passages, {len(everything)} characters, {_digest(everything)}"
    for number, text in enumerate(texts, 1):
        if whole and len(everything) <= _WHOLE:
            yield from text.split("\n")
        else:
            lines = text.split("\n")
            yield f"passage {number}: {len(text)} characters, {' '.join(_digest(line)[:6] for line in lines[:_LINES])}"
            yield f" of all lines {_digest(text)}"


def _told(row: dict[str, Any]) -> str:
    of = {name: value for name, value in row.items() if name not in {"text", "article"}}
    return f"{json.dumps(of, ensure_ascii=False, sort_keys=True)}\n{row['text']}"


def _articles(file: Path, hidden: Masks) -> Iterator[str]:
    """What a reader of articles makes of a file."""
    told: list[str] = []
    begun = "it cannot be told"
    skipped = Skipped()
    try:
        begun = detect_text_format(file)
        for one in islice(open_articles(file).records(skipped), _ARTICLES):
            told += _article(one) if isinstance(one, Article) else [f"redirect {_digest(repr(one))}"]
    except AtomrError as error:
        told.append(hidden.text(f"error: {error.in_full()}"))
    yield f"format {begun}, {len(told)} lines, {_digest(chr(10).join(told))}"
    yield hidden.text(f"skipped: {skipped!r}")
    yield from told


def _article(article: Article) -> list[str]:
    described = {
        "id": article.id,
        "qid": article.qid,
        "metadata": article.metadata,
        "record": article.record,
        "lost": dict(article.lost),
        "sections": [[one.start, one.heading, one.kind, one.name] for one in article.sections],
    }
    described_text = json.dumps(described, ensure_ascii=False, sort_keys=True, default=str)
    named = _digest(article.title)
    return [f"title {named}, text {_digest(article.text)} ({len(article.text)}), others {_digest(described_text)}"]


def _facts(file: Path, hidden: Masks) -> Iterator[str]:
    """The graph that comes of a file of facts."""
    name = "facts-" + "".join(letter if letter.isalnum() else "-" for letter in file.name.casefold())
    try:
        build_graph_index([file], name, linearise=True)
    except AtomrError as error:
        yield hidden.text(f"error: {error.in_full()}")
        return
    directory = store.index_path("graph", name)
    yield from manifest_lines(directory, hidden)
    facts = [_digest(fact) for fact in triples(directory)]
    yield from shortened(facts)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
