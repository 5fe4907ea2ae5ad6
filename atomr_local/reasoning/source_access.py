"""Opens pages for a strategy, and puts what is read of them into the trace."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, TypeVar

from atomr_local.errors import QueryError
from atomr_local.language.names import base_key, name_key, split_qualifier, telling_stems, words
from atomr_local.reasoning.retrieval import may_use
from atomr_local.reasoning.trace.events import EvidenceFound, RetrievalStarted
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.sources.protocol import (
    Evidence,
    GraphTools,
    KnowledgeSource,
    Linked,
    Page,
    Pages,
    PropertyOffer,
    QueryRows,
    Sentence,
    Value,
)
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize_all, sanitize_line

# How a tool that works on one source gets to it.

Offer = TypeVar("Offer")
Tool = TypeVar("Tool")


@dataclass
class SourceAccess(Generic[Offer]):
    """One source, for one question.

    Attributes:
        source: its name.
        offer: the source as what it offers.
        allowed: by node, the only sources that it may use; a node without an entry may use all.
    """

    source: str
    offer: Offer
    recorder: Recorder
    cancellation: Cancellation
    allowed: Mapping[int, frozenset[str]]

    def may_use(self, node_id: int) -> bool:
        """Whether the step may use the source.

        Raises:
            Cancelled: the question was cancelled.
        """
        self.cancellation.check()
        return may_use(self.allowed, node_id, self.source)

    @contextmanager
    def retrieval(self, node_id: int, query: str) -> Iterator[list[Evidence]]:
        """Tell the beginning and the end of a retrieval; what is put into the list was found by it."""
        self.recorder.emit(RetrievalStarted(node_id=node_id, source=self.source, query=query))
        found: list[Evidence] = []
        try:
            yield found
        finally:
            self.recorder.emit(EvidenceFound(node_id=node_id, source=self.source, evidence=tuple(found)))


class SourceTool(Generic[Offer]):
    """What works on one source.

    Attributes:
        source: the name of the source.
        access: the way to it.

    Raises (all methods):
        SourceError: the source failed.
        Cancelled: the question was cancelled.
    """

    def __init__(self, access: SourceAccess[Offer]) -> None:
        self.source = access.source
        self.access = access


@dataclass
class SourcesAtHand:
    """The sources of one question, by name; see :class:`SourceAccess`."""

    sources: Mapping[str, KnowledgeSource]
    recorder: Recorder
    cancellation: Cancellation
    allowed: Mapping[int, frozenset[str]]

    def tool(
        self, kind: Callable[[SourceAccess[Offer]], Tool], fits: Callable[[KnowledgeSource], Offer | None]
    ) -> Tool | None:
        """The tool on the first source that fits; None if none does.

        Args:
            fits: the source as what it offers; None if it does not offer it.
        """
        for name, source in self.sources.items():
            if (offer := fits(source)) is not None:
                return kind(SourceAccess(str(name), offer, self.recorder, self.cancellation, self.allowed))
        return None


# How a page that only lists what its name may mean goes on after the name, by key: "Mercury may also refer to".
_MEANINGS = re.compile(
    r" (?:may|can|might|could)(?: also)? (?:refer to|mean|stand for)\b"
    r"|(?: \w+){0,2} (?:commonly|often|usually) refers to\b"
)
_DISAMBIGUATION = "disambiguation"
# Of a page of meanings: what is followed, once, never from one such page to the next.
_MOST_FOLLOWED = 5


def page_reader(at_hand: SourcesAtHand) -> PageReader | None:
    """A reader of the first source that can open pages; None if none can."""
    return at_hand.tool(PageReader, lambda one: one if isinstance(one, Pages) and not one.pages_missing else None)


@dataclass(frozen=True, slots=True)
class Looked:
    """A sentence that holds the words: the `number`-th `of` those of its page."""

    sentence: Evidence
    number: int
    of: int


class OpenPage:
    """A page that a step has opened. What is read of it counts as found in that step, or in the one that is named.

    Attributes:
        title: the page's own, sanitised; not the redirect's.
        qid: the Wikidata id of what it is about; empty if it is not known.
        meanings: whether it only lists what its name may mean.
    """

    def __init__(self, access: SourceAccess[Pages], page: Page, node_id: int) -> None:
        self.title = sanitize_line(page.title)
        self.qid = sanitize_line(page.qid)
        self.meanings = is_of_meanings(page)
        self._access = access
        self._page = page
        self._node_id = node_id
        self._words = ""
        self._found: list[Sentence] = []
        self._next = 0

    def __len__(self) -> int:
        """How many sentences it has."""
        return len(self._page.sentences)

    def first(self, number: int, node_id: int | None = None) -> Evidence | None:
        """The first sentences, as one piece of evidence; None if the page is empty.

        Args:
            node_id: the step that reads them, if not the one that opened the page.
        """
        read = self._page.sentences[:number]
        return self._cited(read, self.title, node_id) if read else None

    def passages(self, most: int, node_id: int | None = None) -> list[Evidence]:
        """Its passages in order, the first so many, each a piece of evidence."""
        by_passage: dict[str, list[Sentence]] = {}
        for sentence in self._page.sentences:
            by_passage.setdefault(sentence.passage, []).append(sentence)
        return [self._cited(read, self.title, node_id) for read in list(by_passage.values())[:most]]

    def lookup(self, words: str, node_id: int | None = None) -> Looked | None:
        """The next sentence that holds these words; None if there are no more. Other words begin anew.

        Capitals and punctuation do not matter; a word may go on ("discover" is in "discovered"). If no sentence has the
        words beside each other, those that have all of them count.
        """
        self._access.cancellation.check()
        key = _key(words)
        if key != self._words:
            self._words, self._next = key, 0
            self._found = _holding(self._page.sentences, key)
        if self._next >= len(self._found):
            return None
        sentence = self._found[self._next]
        self._next += 1
        return Looked(self._cited((sentence,), sanitize_line(words), node_id), self._next, len(self._found))

    def _cited(self, read: Sequence[Sentence], query: str, node_id: int | None) -> Evidence:
        """The sentences with their place, taken into the trace."""
        passages = list(dict.fromkeys(sentence.passage for sentence in read))
        locator: dict[str, object] = {"passage": passages[0], "span": [read[0].start, read[-1].end]}
        if len(passages) > 1:
            locator["passages"] = passages
        if self._page.index:
            locator["index"] = self._page.index
        text = " ".join(sentence.text for sentence in read)
        source, recorder = self._access.source, self._access.recorder
        found = recorder.take_in([Evidence(source, self.title, text, 1.0, query, locator)])
        step = self._node_id if node_id is None else node_id
        recorder.emit(EvidenceFound(node_id=step, source=source, evidence=found))
        return found[0]


class PageReader(SourceTool[Pages]):
    """Opens pages of one source, by title or redirect."""

    def __init__(self, access: SourceAccess[Pages]) -> None:
        super().__init__(access)
        self._written: dict[str, str] = {}  # titles that the sanitiser changed, as the source has them

    def open(self, node_id: int, title: str) -> OpenPage | None:
        """The page with this title; None if there is none, or the step may not use the source.

        From a page that only lists what its name may mean, the first that it lists and that is there is opened instead.
        That is done once: a list of meanings that leads to others stays as it is.
        """
        access = self.access
        if not access.may_use(node_id):
            return None
        access.recorder.emit(RetrievalStarted(node_id=node_id, source=self.source, query=title))
        page = None
        try:
            page = access.offer.page(self._written.get(title, title))
            if page is not None and is_of_meanings(page):
                page = self._meant(page) or page
        finally:
            if page is None:  # the retrieval has ended, though nothing is there
                access.recorder.emit(EvidenceFound(node_id=node_id, source=self.source, evidence=()))
        access.cancellation.check()
        return OpenPage(access, page, node_id) if page is not None else None

    def similar(self, title: str, number: int) -> tuple[str, ...]:
        """Titles like this one, sanitised; each can be opened as it is."""
        self.access.cancellation.check()
        shown: dict[str, str] = {}
        for found in self.access.offer.similar_titles(self._written.get(title, title), number):
            if line := sanitize_line(found):
                shown.setdefault(line, found)
        self._written.update((line, found) for line, found in shown.items() if line != found)
        return tuple(shown)

    def _meant(self, page: Page) -> Page | None:
        """The first meaning that has a page of its own, which is no list of meanings again."""
        like = self.access.offer.similar_titles(page.title, _MOST_FOLLOWED)
        base = base_key(page.title)
        listed = " ".join(f" {name_key(sentence.text)} " for sentence in page.sentences)
        places = {title: listed.find(f" {name_key(title)} ") for title in like}
        # Those that it lists, in its order; then those that bear its name.
        order = sorted((place, title) for title, place in places.items() if place >= 0)
        titles = [title for _, title in order] + [t for t in like if places[t] < 0 and base_key(t) == base]
        for title in islice(titles, _MOST_FOLLOWED):
            self.access.cancellation.check()
            meant = self.access.offer.page(title)
            if meant is not None and not is_of_meanings(meant):
                return meant
        return None


def is_of_meanings(page: Page) -> bool:
    """Whether the page only lists what its name may mean."""
    if name_key(split_qualifier(page.title)[1]) == _DISAMBIGUATION:
        return True
    opening = base_key(page.sentences[0].text) if page.sentences else ""
    names = {base_key(page.title), name_key(page.title)} - {""}
    return any(opening.startswith(name) and _MEANINGS.match(opening, len(name)) is not None for name in names)


def _key(text: str) -> str:
    return " ".join(words(text))


def _holding(sentences: Sequence[Sentence], key: str) -> list[Sentence]:
    """The sentences that hold the words beside each other; where there are none, those that hold all of them."""
    if not key:
        return []
    keys = [(f" {_key(sentence.text)}", sentence) for sentence in sentences]
    beside = [sentence for text, sentence in keys if f" {key}" in text]
    return beside or [sentence for text, sentence in keys if all(f" {word}" in text for word in key.split())]


# Looks around in a graph for a strategy, and puts the queries that it runs into the trace.

SECONDS, MOST_ROWS = 5.0, 200
NO_ROWS = "no rows"
_ROWS_TOLD = 20


def graph_access(at_hand: SourcesAtHand) -> GraphAccess | None:
    """Access to the first source that is a graph to look around in; None if none is."""
    return at_hand.tool(GraphAccess, lambda one: one if isinstance(one, GraphTools) else None)


@dataclass(frozen=True, slots=True)
class Queried:
    """What a step's query gave, sanitised.

    Attributes:
        evidence: the query with its rows; None if it failed or the step may not use the graph.
        problem: why there is no evidence, in words; empty if it ran. No rows are no problem.
    """

    evidence: Evidence | None = None
    found: QueryRows | None = None
    problem: str = ""

    @property
    def values(self) -> tuple[Value, ...]:
        return self.found.values if self.found is not None else ()


class GraphAccess(SourceTool[GraphTools]):
    """Everything is sanitised. Only queries are retrievals; the rest is what a query can be made of."""

    def __init__(self, access: SourceAccess[GraphTools]) -> None:
        super().__init__(access)
        self._running = threading.Lock()
        self._session = access.offer.query_session()

    def close(self) -> None:
        """End the process of the question's queries: the question is over. Idempotent."""
        self._session.close()

    def may_use(self, node_id: int) -> bool:
        """Whether the step may use the graph."""
        return self.access.may_use(node_id)

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_all(self.access.offer.link(name, number, question))

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_all(self.access.offer.entity_of(title, qid))

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_all(self.access.offer.properties(iri, question))

    def label(self, iri: str) -> str:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_line(self.access.offer.label(iri))

    def query(
        self, node_id: int, sparql: str, *, seconds: float = SECONDS, most_rows: int = MOST_ROWS, asked: str = ""
    ) -> Queried:
        """Run a read-only query for the step; its rows are evidence. A query that is refused or stopped is told as a
        problem, for a strategy may go on without it. A question's queries run one at a time.

        Args:
            asked: the sketch that the query was made of, which is shown as what was asked for.
        """
        cancellation = self.access.cancellation
        if not self.may_use(node_id):
            return Queried(problem="the graph is not to be used in this step")
        asked = sanitize_line(asked)
        found, problem = None, ""
        with self.access.retrieval(node_id, asked or sparql) as evidence:
            try:
                with self._running:
                    cancellation.check()
                    rows = self._session.query(sparql, cancellation, seconds=seconds, most_rows=most_rows)
                found = sanitize_all(rows)
                evidence.extend(self.access.recorder.take_in([self._evidence(found, asked)]))
            except QueryError as error:
                problem = sanitize_line(error.message)
        return Queried(evidence[0] if evidence else None, found, problem)

    def _evidence(self, found: QueryRows, asked: str) -> Evidence:
        locator: dict[str, Any] = {"sparql": found.sparql, "rows": [dict(row) for row in found.rows]}
        if asked:
            locator["sketch"] = asked
        columns = "query" if found.boolean is not None else ", ".join(f"?{name}" for name in found.columns)
        return Evidence(self.source, asked or columns or "query", told(found), 1.0, asked or found.sparql, locator)


def told(found: QueryRows) -> str:
    """The rows in short sentences, entities by their labels; the first ones of many."""
    if found.boolean is not None:
        return "Yes." if found.boolean else "No."
    lines = []
    for row in found.rows[:_ROWS_TOLD]:
        cells = [(name, row[name]) for name in found.columns if name in row]
        shown = [(name, found.labels.get(text) or text) for name, text in cells]
        lines.append("; ".join(text if len(found.columns) == 1 else f"{name}: {text}" for name, text in shown) + ".")
    if more := max(0, len(found.rows) - _ROWS_TOLD):
        lines.append(f"And {'at least ' if found.cut else ''}{more} more.")
    elif found.cut:
        lines.append("And more.")
    return " ".join(lines) or f"{NO_ROWS.capitalize()}."


# Finds facts as text for a strategy, and puts what was found into the trace.


def fact_reader(at_hand: SourcesAtHand) -> FactReader | None:
    """A reader of the first source that has facts as text; None if none has."""
    return at_hand.tool(FactReader, lambda one: one if isinstance(one, GraphTools) and not one.facts_missing else None)


class FactReader(SourceTool[GraphTools]):
    """Searches the facts of one source."""

    def search(self, node_id: int, query: str, k: int) -> list[Evidence]:
        """The k facts that suit the words of the query best, best first, as evidence of the step; none if the step may
        not use the source."""
        access = self.access
        if not access.may_use(node_id):
            return []
        with access.retrieval(node_id, query) as evidence:
            found = access.offer.facts(query, k, access.cancellation)
            lines = [replace(one, title=sanitize_line(one.title), text=sanitize_line(one.text)) for one in found]
            evidence.extend(access.recorder.take_in(lines))
        return evidence


# Evidence of several kinds in one list by the words that it shares with a query.

# Of BM25, as SQLite's FTS5 has them.
_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6


def ranked_by_words(query: str, evidence: Sequence[Evidence], k: int) -> list[Evidence]:
    """The k pieces that suit the words of the query best, by BM25 over these pieces alone; ties stay in their order."""
    wanted = telling_stems(query)
    texts = [Counter(telling_stems(f"{item.title} {item.text}")) for item in evidence]
    scores = bm25(list(dict.fromkeys(wanted)), texts)
    order = sorted(range(len(evidence)), key=lambda place: -scores[place])
    return [evidence[place] for place in order[:k]]


def bm25(query: Sequence[str], texts: Sequence[Counter[str]]) -> list[float]:
    """The score of each text (its words, counted) for the words of a query."""
    sizes = [text.total() for text in texts]
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    scores = [0.0] * len(texts)
    for word in query:
        holding = sum(word in text for text in texts)
        weight = max(_LEAST_IDF, math.log((len(texts) - holding + 0.5) / (holding + 0.5)))
        for place, text in enumerate(texts):
            if (count := text[word]) and mean:
                scores[place] += weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * sizes[place] / mean))
    return scores
