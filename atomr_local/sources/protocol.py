"""The protocol of knowledge sources. Reasoning knows sources only through this file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Literal, Protocol, Self, runtime_checkable

from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator


class SourceName(StrEnum):
    """The names of our own sources. Others are in :mod:`atomr_local.sources.registry`."""

    TEXT = "text"
    GRAPH = "graph"
    WEB = "web"


class ValueKind(StrEnum):
    ENTITY = "entity"
    DATE = "date"
    NUMBER = "number"
    BOOLEAN = "boolean"
    RELATION = "relation"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Value:
    """One answer value on its way between nodes.

    Attributes:
        text: what is shown and what fills `[i]`: a label, or a date, a number or a text as the source writes it.
        kind: what the text denotes.
        iri: the graph entity it denotes, where known, so that the next hop need not link it again.
        score: how sure the source is, 0 to 1; None if it cannot say.
        of: what it is a value of, such as the river of a length; several where they share it. Values are equal without
            regard to it.
    """

    text: str
    kind: ValueKind = ValueKind.TEXT
    iri: str | None = None
    score: float | None = None
    of: tuple[Value, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One retrieved thing that an answer may rest on.

    Attributes:
        id: "e1", "e2", … within one trace; empty until the trace has taken it in.
        source: "text", "graph", "web" or the name of another package's source.
        title: page title, entity label or title of the web page.
        text: the passage, the graph's rows as short sentences, or the web snippet. Untrusted.
        score: larger is better; comparable within one source and query only.
        query: what the source was asked.
        locator: where it is, in JSON's types, such as {"passage", "span"}, {"passage", "redirect": the name asked for,
            which leads to the page}, {"sparql", "rows": [{variable: value}], "sketch"} or {"url", "retrieved_at": ISO
            8601}; of a list of all documents {"files"}, their number.
    """

    source: str
    title: str
    text: str
    score: float
    query: str
    locator: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """Characters `start` to `end` of the text of a piece of evidence, which has the id `evidence`."""

    evidence: str
    start: int
    end: int

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The quote that :meth:`to_dict` wrote."""
        return cls(str(given["evidence"]), *given["span"])

    def to_dict(self) -> dict[str, Any]:
        """The quote as events and the trace write it."""
        return {"evidence": self.evidence, "span": [self.start, self.end]}


SearchMode = Literal["hybrid", "dense", "words"]
"""How a source searches: by vectors and by words, by vectors alone, by words alone."""


Day = tuple[int, int, int]
"""Year, month, day."""


@dataclass(frozen=True, slots=True)
class Within:
    """A part of a text index. A condition that is empty limits nothing; all the others have to hold.

    Attributes:
        given: the conditions as they were written.
        paths: of documents or their folders, or patterns as of fnmatch, one of which has to fit; of an index of
            articles, titles.
        tags: in small letters without "#"; a document has to have one of them.
        after: the first day that a document may be of.
        before: the day that it has to be before.
    """

    given: tuple[str, ...]
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    after: Day | None = None
    before: Day | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One retrieval.

    Attributes:
        question: what it is for: the node's question with references filled in. Used to choose sources, to link names
            and to rerank, never as the query.
        query: what is searched (an operator's arguments joined, AtomR section 3.1).
        operator: the operator to be run on the evidence; None for direct RAG on a question.
        arguments: the operator's arguments, one value each, references filled in.
        top_k: how many pieces of evidence are wanted.
        mode: how to search. A source that cannot search so searches as it always does.
        within: the part of the text index that is searched; None: all of it.
    """

    question: str
    query: str
    operator: Operator | None = None
    arguments: tuple[Value, ...] = ()
    top_k: int = 3
    mode: SearchMode = "hybrid"
    within: Within | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a source found.

    Attributes:
        evidence: best first; at most the request's top_k for text and web.
        values: the operator's result where the source can compute it itself (the graph); else empty. For
            Filter: the entities that satisfy the condition.
        link_score: how surely the head entity was linked, 0 to 1 (graph only).
        relation_score: how surely the relation or condition was matched to properties, 0 to 1 (graph only).
        decided: True when the source understood the request fully, so that empty `values` mean
            "nothing satisfies it" rather than "not understood".
        dropped: what a limit left out, in words.
        linked: the entity that the request's first argument was taken for; None if it was not found (graph only).
        near: where a relation gave no values: labels of properties that the linked entity has, the nearest first, at
            most :data:`MOST_NEAR` (graph only).
        type_fit: how well the values' types suit what the question asks for, 0 (a date where a person is asked for) to
            1; None if either is not known (graph only).
    """

    evidence: tuple[Evidence, ...] = ()
    values: tuple[Value, ...] = ()
    link_score: float | None = None
    relation_score: float | None = None
    decided: bool = False
    dropped: tuple[str, ...] = field(default=())
    linked: Value | None = None
    near: tuple[str, ...] = ()
    type_fit: float | None = None


MOST_NEAR = 8


class KnowledgeSource(Protocol):
    """A place to look things up. Implementations are thread-safe for `retrieve`."""

    @property
    def name(self) -> str: ...

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """Look the request up.

        Raises:
            SourceError: the source failed (time-out, rate limit, damaged index).
            Cancelled: `cancellation` was thrown.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a page: `page text[start:end]`, inside the passage with the id `passage`, as evidence has it."""

    text: str
    passage: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its sentences in order. Untrusted.

    Attributes:
        qid: the Wikidata id of what it is about, such as "Q42"; empty if it is not known.
        index: name of its index, where several are searched.
    """

    title: str
    sentences: tuple[Sentence, ...]
    qid: str = ""
    index: str = ""


@runtime_checkable
class Pages(Protocol):
    """A source that opens whole pages. Thread-safe."""

    @property
    def name(self) -> str: ...

    @property
    def pages_missing(self) -> str:
        """Why it cannot open pages, in words; empty if it can."""
        ...

    def page(self, title: str) -> Page | None:
        """The page with this title, or the one that this redirect leads to; capitals and punctuation may differ.

        Raises:
            SourceError: the source failed, or cannot open pages.
        """
        ...

    def similar_titles(self, name: str, number: int) -> tuple[str, ...]:
        """Titles like the name, the most alike first, and after them those of pages that hold its words.

        The page that the name itself opens is not among them.

        Raises:
            SourceError: the source failed, or cannot open pages.
        """
        ...


@dataclass(frozen=True, slots=True)
class HeldDocument:
    """A document of a collection. Untrusted.

    Attributes:
        id: by which the collection knows it; a file of several documents, such as a mailbox, has several.
        file: its path below its folder; what tells several folders and indexes apart stands before it.
    """

    id: str
    file: str
    title: str


@dataclass(frozen=True, slots=True)
class HeldPassage:
    """A passage of a document: its text[start:end], and the headings that it begins under, the outer first."""

    id: str
    text: str
    start: int
    end: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldDate:
    """The day of a document, and what tells it, as a clause ("it states 2024-05-03 as “date”").

    Attributes:
        stated: whether the document tells it itself.
    """

    day: date
    how: str
    stated: bool


class Collection(Protocol):
    """All documents that a source was made of, or those of a part of it. Thread-safe.

    Attributes:
        part: the conditions of the part, in words; "" for all.

    Raises (all methods):
        SourceError: the source failed.
    """

    @property
    def part(self) -> str: ...

    def documents(self) -> Sequence[HeldDocument]:
        """Those that could be read, in order."""
        ...

    def tagged(self, tag: str) -> frozenset[str]:
        """Ids of the documents that have the tag, or one below it."""
        ...

    def may_hold(self, words: Sequence[str]) -> frozenset[str] | None:
        """Ids of the documents that may hold all of the words: none that does is missing. None: any may.

        Args:
            words: in small letters, without accents, as punctuation divides them.
        """
        ...

    def texts(
        self, documents: Sequence[str], cancellation: Cancellation, *, opening: bool = False
    ) -> Iterator[tuple[str, Sequence[HeldPassage]]]:
        """What the documents with these ids say, in order, those without a text left out; with `opening` their first
        passage alone."""
        ...

    def dates(self, documents: Sequence[str], cancellation: Cancellation, *, changed: bool) -> dict[str, HeldDate]:
        """The day that each document states, else that of its name, else that its file was changed; with `changed` the
        last alone."""
        ...

    def cited(self, title: str, passage: HeldPassage, query: str) -> Evidence:
        """The passage as evidence, with its file and the place in it."""
        ...


@runtime_checkable
class HasCollection(Protocol):
    """A source that may be made of documents."""

    def collection(self, within: Within | None = None) -> Collection | None:
        """All its documents, or those of the part; None if it was not made of documents."""
        ...


@dataclass(frozen=True, slots=True)
class Linked:
    """An entity that a name may mean; the value's score says how surely. Untrusted."""

    entity: Value
    description: str = ""


@dataclass(frozen=True, slots=True)
class PropertyOffer:
    """A property that an entity has.

    Attributes:
        inverse: the entity is the property's value.
        count: statements of it about the entity; a lower bound where there are very many.
        values: what is at the other end, a few.
    """

    iri: str
    label: str
    inverse: bool
    count: int
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryRows:
    """What a query gave. Untrusted.

    Attributes:
        sparql: the query as it was run.
        columns: its variables; none for an ASK.
        rows: texts by column; an unbound variable is absent.
        boolean: the answer of an ASK.
        cut: there are more rows than the limit.
        values: those of the first column, entities and properties with their labels.
        labels: of the entities and properties in the rows, by IRI, and literals as the source writes them ("330 m").
    """

    sparql: str
    columns: tuple[str, ...] = ()
    rows: tuple[Mapping[str, str], ...] = ()
    boolean: bool | None = None
    cut: bool = False
    values: tuple[Value, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


class QuerySession(Protocol):
    """The queries of one question, run in one process. Thread-safe, one at a time."""

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        """Run a read-only query. Its process ends with its time, with too much memory, and with the cancellation.

        Raises:
            SourceError: the graph failed.
            QueryError: it is refused, malformed, or took too long or too much memory.
            Cancelled: `cancellation` was thrown.
        """
        ...

    def close(self) -> None:
        """End what runs and what is kept for further queries; there are none after this. Idempotent."""
        ...


@runtime_checkable
class GraphTools(Protocol):
    """What a source that is a graph offers beside look-ups. Thread-safe.

    Raises (all methods):
        SourceError: the graph failed.
    """

    @property
    def name(self) -> str: ...

    def retrieve_set(self, requests: Sequence[Request], cancellation: Cancellation) -> list[Retrieval]:
        """Look requests up at once where they are one operator over several entities; what each found, in their order.
        What one query found is one piece of evidence.

        Raises:
            Cancelled: `cancellation` was thrown.
        """
        ...

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        """Entities that the name may mean, best first; none if no name of the graph is near enough."""
        ...

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        """The entity that a page is about: the one with its Wikidata id, else the one named exactly so."""
        ...

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        """What there is to follow from the entity, forward and inverse: what the question asks for first, then the
        most used."""
        ...

    def label(self, iri: str) -> str:
        """The label of an entity or a property, or a readable form of its IRI."""
        ...

    def query_session(self) -> QuerySession:
        """A session of its own, which the caller closes; nothing is started before the first query."""
        ...

    @property
    def facts_missing(self) -> str:
        """Why :meth:`facts` cannot be asked, with what to do, in words; empty if it can."""
        ...

    def facts(self, query: str, number: int, cancellation: Cancellation) -> tuple[Evidence, ...]:
        """The facts, as text ("subject relation object"), that suit the words of the query best by BM25, best first;
        each cites its statement.

        Raises:
            SourceError: the graph failed, or has no facts as text.
            Cancelled: `cancellation` was thrown.
        """
        ...
