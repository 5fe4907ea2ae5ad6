"""Looking things up in the sources without asking a question: no model is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError
from atomr_local.parts import Parts, quiet
from atomr_local.question_gate import QuestionGate
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import (
    Evidence,
    GraphTools,
    KnowledgeSource,
    Linked,
    Page,
    Pages,
    PropertyOffer,
    Request,
    Retrieval,
    SourceName,
    Value,
    ValueKind,
)
from atomr_local.tree.calls import Operator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LONGEST = 2000


class Lookups:
    """What the local sources of the settings hold. Thread-safe; also beside running questions.

    All texts that it gives come from the sources: untrusted.

    Raises (all methods):
        InputError: a text is empty or too long, or the settings do not use the source.
        AtomrError: the source cannot be opened, or failed.
    """

    def __init__(self, parts: Parts, gate: QuestionGate) -> None:
        self._parts = parts
        self._gate = gate

    def search_text(
        self, query: str, *, limit: int = 5, cancellation: Cancellation | None = None
    ) -> tuple[Evidence, ...]:
        """The passages that suit the query best, best first."""
        query = _checked("query", query)
        with self._open(SourceName.TEXT) as source:
            return source.retrieve(Request(query, query, top_k=limit), cancellation or Cancellation()).evidence

    def read_page(self, title: str) -> Page | None:
        """The page with this title, or the one that a redirect of this title leads to; None if there is none."""
        title = _checked("title", title)
        with self._pages() as pages:
            return pages.page(title)

    def similar_titles(self, title: str, *, limit: int = 5) -> tuple[str, ...]:
        """Titles of pages like this one."""
        title = _checked("title", title)
        with self._pages() as pages:
            return pages.similar_titles(title, limit)

    def find_entity(self, name: str, *, limit: int = 5) -> tuple[Linked, ...]:
        """The entities of the graph that the name may mean, best first."""
        name = _checked("name", name)
        with self._graph() as graph:
            return graph.link(name, limit)

    def entity(self, qid: str) -> Value | None:
        """The entity with this Wikidata id, such as "Q42"; None if the graph does not have it."""
        qid = _checked("id", qid)
        with self._graph() as graph:
            return graph.entity_of("", qid)

    def properties(self, iri: str) -> tuple[PropertyOffer, ...]:
        """What the graph states of the entity with this IRI, with a few values of each property."""
        iri = _checked("IRI", iri)
        with self._graph() as graph:
            return graph.properties(iri)

    def relate(self, entity: str, relation: str, *, cancellation: Cancellation | None = None) -> Retrieval:
        """One hop in the graph: what `relation` ("mother", "place of birth") leads to from the entity."""
        entity, relation = _checked("entity", entity), _checked("relation", relation)
        arguments = (Value(entity, ValueKind.ENTITY), Value(relation))
        request = Request("", f"{entity} {relation}", Operator.RELATE, arguments)
        with self._open(SourceName.GRAPH) as source:
            return source.retrieve(request, cancellation or Cancellation())

    def embed(self, texts: Sequence[str]) -> tuple[str, NDArray[np.float32]]:
        """What names the embedder of the settings and its weights, and the texts' unit vectors, one a row.

        Raises:
            ModelError: the embedder cannot be used.
        """
        with self._gate.beside():
            self._parts.load((), quiet, alone=lambda: self._gate.single, model=False)
            embedder = self._parts.embedder()
            return embedder.identity, embedder.encode(texts)

    @contextmanager
    def _pages(self) -> Iterator[Pages]:
        with self._open(SourceName.TEXT) as source:
            if not isinstance(source, Pages):
                raise InputError("the source text cannot open pages")
            yield source

    @contextmanager
    def _graph(self) -> Iterator[GraphTools]:
        with self._open(SourceName.GRAPH) as source:
            if not isinstance(source, GraphTools):
                raise InputError("the source graph cannot be looked around in")
            yield source

    @contextmanager
    def _open(self, name: SourceName) -> Iterator[KnowledgeSource]:
        check_used(self._parts.settings, name)
        with self._gate.beside():
            self._parts.load((name,), quiet, alone=lambda: self._gate.single, model=False)
            yield self._parts.sources[name]


def check_used(settings: Settings, name: SourceName) -> None:
    """
    Raises:
        InputError: the settings do not use this source.
    """
    if name not in settings.sources:
        raise InputError(
            f"the settings do not use the source {name.value}", hint=f"Add it: --sources {name.value}, or sources."
        )


def _checked(what: str, text: str) -> str:
    text = sanitize_line(text)
    if not text:
        raise InputError(f"the {what} is empty")
    if len(text) > _LONGEST:
        raise InputError(f"the {what} has {len(text)} characters, more than {_LONGEST}", hint="Shorten it.")
    return text
