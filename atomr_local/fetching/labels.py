"""What a graph index shows by ids because it has no labels for it: which labels to download."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.graph_index.ids import IdSet
from atomr_local.indexing.graph_index.names.database import Names
from atomr_local.indexing.store import IndexEntry, check_name, index_path, read_manifest
from atomr_local.language.properties import ENTITY, PROPERTY

_OF_WIKIDATA = re.compile(f"(?:{re.escape(ENTITY)}|{re.escape(PROPERTY)})" + r"([QP])([1-9]\d{0,11})")


@dataclass(frozen=True)
class Unlabelled:
    """What of a graph index has no label.

    Attributes:
        items, properties: those of Wikidata, by their numbers.
        others: how many are not Wikidata's, so that it has no labels of them.
        entry: the index.
    """

    items: IdSet
    properties: IdSet
    others: int
    entry: IndexEntry

    @property
    def language(self) -> str:
        """Of the index's labels."""
        manifest = self.entry.manifest
        language = manifest.settings.get("language", "en") if manifest is not None else "en"
        return language if isinstance(language, str) else "en"


def unlabelled_in(name: str) -> Unlabelled:
    """What has no label in the graph index `name`.

    Raises:
        KnowledgeIndexError: there is no such index, or it cannot be read.
    """
    directory = index_path("graph", check_name(name))
    if not directory.is_dir():
        raise KnowledgeIndexError(
            f"there is no graph index named {name!r}", hint="`atomr indexes list` shows what there is."
        )
    entry = IndexEntry("graph", name, directory, read_manifest(directory))
    found = Unlabelled(IdSet(), IdSet(), 0, entry)
    others = 0
    with closing(Names(directory)) as names:
        for iri in names.unlabelled():
            match = _OF_WIKIDATA.fullmatch(iri)
            if match is None:
                others += 1
            else:
                (found.items if match[1] == "Q" else found.properties).add(int(match[2]))
    return Unlabelled(found.items, found.properties, others, entry)
