"""What is in built indexes: rows, names, facts and manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.starter import ensure_index
from atomr_local.indexing.text_index.documents import build_documents_index, sync_documents_index
from atomr_local.indexing.text_index.index import build_text_index
from frozen_parts.cases import Case, Run
from frozen_parts.index_contents import manifest_lines, shortened, tables, text_rows, triples
from frozen_parts.telling import Masks
from frozen_parts.worlds import home, masks

_EDITED = 1_700_000_000


def cases(run: Run) -> Iterator[Case]:
    from support.fake_embedder import FakeEmbedder

    hidden = masks(run)
    embedder = FakeEmbedder()
    with home(run.scratch / "home"):
        ensure_index("graph", "starter")
        yield from _graph("starter", hidden)
        ensure_index("text", "starter", lambda: embedder)
        yield from _text("starter", hidden)
        articles, facts = _world(run.scratch)
        build_text_index([articles], "small", embedder=embedder)
        yield from _text("small", hidden)
        build_text_index([_more(run.scratch)], "small", embedder=embedder, add=True)
        yield from _text("small", hidden, " with more")
        build_graph_index([facts], "small", linearise=True)
        yield from _graph("small", hidden)
        folder = _folder(run.scratch)
        build_documents_index([folder], "folder", embedder=embedder, vectors="now")
        yield from _text("folder", hidden)
        _edit(folder)
        sync_documents_index("folder", embedder=embedder)
        yield from _text("folder", hidden, " after a sync")


def _text(name: str, hidden: Masks, after: str = "") -> Iterator[Case]:
    directory = store.index_path("text", name)
    yield Case(f"text {name}{after}/manifest", manifest_lines(directory, hidden))
    rows = (hidden.text(json.dumps(row, ensure_ascii=False)) for row in text_rows(directory))
    yield Case(f"text {name}{after}/passages", shortened(rows))
    yield from _tables(f"text {name}{after}", directory, hidden)


def _graph(name: str, hidden: Masks) -> Iterator[Case]:
    directory = store.index_path("graph", name)
    yield Case(f"graph {name}/manifest", manifest_lines(directory, hidden))
    yield Case(f"graph {name}/statements", shortened(triples(directory)))
    yield from _tables(f"graph {name}", directory, hidden)


def _tables(name: str, directory: Path, hidden: Masks) -> Iterator[Case]:
    for table, rows in tables(directory):
        yield Case(f"{name}/{table}", shortened(map(hidden.text, rows)))


def _world(scratch: Path) -> tuple[Path, Path]:
    """Files of articles and facts about the same things."""
    from support.crossing_world import PAGES
    from support.graph_world import WORLD

    articles, facts = scratch / "articles.jsonl", scratch / "facts.jsonl"
    pages = [{"id": title.casefold(), "title": title, "text": text, "qid": f"Q{number}", "lang": "en"}
             for number, (title, text) in enumerate(PAGES.items(), 1)]  # fmt: skip
    articles.write_text("".join(json.dumps(page) + "\n" for page in pages), encoding="utf-8")
    lines = [dict(zip("spo", line.split(" | "), strict=True)) for line in WORLD.strip().splitlines()]
    facts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return articles, facts


def _more(scratch: Path) -> Path:
    """One article that has changed, and a new one."""
    file = scratch / "more.jsonl"
    pages = [
        {"id": "ann lee", "title": "Ann Lee", "text": "Ann Lee was a film director. She made three films."},
        {"id": "new", "title": "The Fen", "text": "The Fen is a 1960 film. " * 40, "section": "History"},
    ]
    file.write_text("".join(json.dumps(page) + "\n" for page in pages), encoding="utf-8")
    return file


def _folder(scratch: Path) -> Path:
    from support.small_collection import FILES

    folder = scratch / "folder"
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    _same_times(folder)
    return folder


def _edit(folder: Path) -> None:
    """A file is new, one has changed, one is gone."""
    (folder / "notes" / "new.md").write_text("# New\n\nThis note is new.\n", encoding="utf-8")
    (folder / "notes" / "wasps.md").write_text("# Wasps\n\nWasps make paper.\n", encoding="utf-8")
    (folder / "notes" / "travel.md").unlink()
    _same_times(folder)


def _same_times(folder: Path) -> None:
    import os

    for file in folder.rglob("*"):
        os.utime(file, (_EDITED, _EDITED))
