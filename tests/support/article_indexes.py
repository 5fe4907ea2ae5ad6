"""Text indexes of a few articles that a test gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atomr_local.indexing import store
from atomr_local.indexing.text_index.index import build_text_index
from support.fake_embedder import FakeEmbedder

_DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><dbname>testwiki</dbname><namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>
{pages}</mediawiki>"""
_PAGE = """<page><title>{title}</title><ns>0</ns><id>{id}</id>{redirect}<revision><id>1</id>
<text xml:space="preserve">{text}</text></revision></page>
"""


def build_articles(folder: Path, name: str, articles: Mapping[str, str], *, prefix: str = "", **options: Any) -> Path:
    """An index of these texts by title in ATOMR_HOME; its directory.

    Args:
        folder: where the file of articles is written.
        prefix: of ids, before a number; empty: the title is the id.
    """
    rows = [
        {"id": f"{prefix}{number}" if prefix else title, "title": title, "text": text}
        for number, (title, text) in enumerate(articles.items())
    ]
    return _built(folder / f"{name}.jsonl", name, "\n".join(map(json.dumps, rows)), options)


def build_wiki(folder: Path, pages: Mapping[str, str]) -> Path:
    """An index "wiki" of these pages of wikitext; one that begins with "#" is a redirect to Lake Como."""
    text = ""
    for number, (title, content) in enumerate(pages.items(), 1):
        redirect = '<redirect title="Lake Como" />' if content.startswith("#") else ""
        text += _PAGE.format(title=title, id=number, redirect=redirect, text=content)
    return _built(folder / "dump.xml", "wiki", _DUMP.format(pages=text), {})


def _built(file: Path, name: str, text: str, options: dict[str, Any]) -> Path:
    file.write_text(text, encoding="utf-8")
    build_text_index([file], name, **{"embedder": FakeEmbedder()} | options)
    return store.index_path("text", name)
