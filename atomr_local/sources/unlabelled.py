"""What is said of entities that are shown by their ids because the graph has no label of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomr_local.indexing.graph_index.statements.terms import NO_LABEL, identifier_of, shown_name
from atomr_local.language.properties import ENTITY
from atomr_local.sources.protocol import Value

_NAMED = 3


def unlabelled(values: Iterable[Value]) -> list[str]:
    """The IRIs of the values whose text is an id, said to be one."""
    nameless = ((value.iri, value.text) for value in values if value.text.endswith(NO_LABEL))  # quick, of thousands
    return [iri for iri, text in nameless if iri is not None and text == shown_name(iri)]


def unlabelled_note(iris: Sequence[str], index: str) -> list[str]:
    """What is said of them; nothing where their IRIs read as names.

    Args:
        index: the name of the graph index.
    """
    ids = [identifier for iri in iris if (identifier := identifier_of(iri))]
    if not ids:
        return []
    of_wikidata = any(iri.startswith(ENTITY) for iri in iris)
    advice = f": `atomr fetch wikidata --labels-for {index}` adds labels" if of_wikidata else ""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return [f"{', '.join(ids[:_NAMED])}{more}: no label in this graph{advice}"]
