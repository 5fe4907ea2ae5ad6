"""The text indexes that facts can be fetched for, and which Wikipedia their titles are of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry


@dataclass(frozen=True)
class TextIndex:
    """A text index that facts can be fetched for; `site` is where its titles are known, such as simplewiki."""

    name: str
    articles: int
    site: str


def text_indexes() -> list[TextIndex]:
    """The whole text indexes but the starter's. It reads the disk: call it from a worker."""
    from atomr_local.indexing.store import STARTER, list_indexes

    return [_text_index(entry) for entry in list_indexes() if entry.kind == "text" and entry.manifest is not None
            and entry.name != STARTER]  # fmt: skip


def _text_index(entry: IndexEntry) -> TextIndex:
    manifest = entry.manifest
    assert manifest is not None
    files = " ".join(item.path for item in manifest.inputs)
    return TextIndex(entry.name, int(manifest.counts.get("articles", 0)), site_of(files))


def site_of(files: str) -> str:
    """The Wikipedia that files of these names are of, named as Wikimedia or this program names them; else the English.

    In Wikidata's words, such as simplewiki.
    """
    dump = re.search(r"\b([a-z][a-z_]{1,39}wiki)-\d{8}-", files)
    if dump is not None:
        return dump[1]
    parquet = re.search(r"\bwikipedia-\d{8}\.([a-z-]{2,38})-\d{5}-of-", files)
    return f"{parquet[1].replace('-', '_')}wiki" if parquet is not None else "enwiki"
