"""The tools of the strategies: pages, words, graphs, and what may be sent to the web."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from urllib.parse import unquote

from atomr_local.language.names import answer_key, names_in, phrase, words
from atomr_local.language.words import english
from atomr_local.reasoning.asking.forms import Field, Line, OneOf, Pair, WordsOf, halves
from atomr_local.reasoning.reading.checks import are_verdicts, holds
from atomr_local.reasoning.results import add_evidence, text_values
from atomr_local.reasoning.retrieval import Choice, SourceResults
from atomr_local.reasoning.source_access import NO_ROWS, OpenPage, PageReader
from atomr_local.reasoning.sparql.writer import NO_SKETCH, NOTHING_OFFERED, Sketch, has_rows, values_of
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.sources.protocol import Evidence, Request, SourceName, Value, ValueKind
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.loop import INPUT, NextQuestions, Observation, Tool
from atomr_local.system.sanitize import sanitize_line

# The tools of `humaniq`: pages that are searched and read, and a graph that is queried. What was seen can be named.
#
# A person's process goes through the same tools; what the person read or sketched is checked instead of asking a model.

TITLES = 5  # that a search shows
_PASSAGES = 40  # of a page that are looked at
_READ = 3  # of these that are read
_PROPERTIES = 8
_MOST_OFFERED = 40  # pages, entities or ids that an input may name, the last ones seen
NONE = "none"
NOT_ON_PAGE = "not found on this page"
NOT_A_QUERY = "not a query of what the graph offers"
NO_PAGES, NO_GRAPH = "no pages are at hand", "no graph is at hand"


@dataclass(eq=False)
class HumanTools:
    """The tools, and what they have given so far.

    Attributes:
        evidence: everything that they found.
        read: the answers that were read in the text, the last one last, each with what it was read in.
        rows: the values that queries gave, the last ones last, each with what shows them.
        pages: titles that were seen.
        entities: by the name that they are told by.
    """

    question: str
    tools: QuestionContext
    evidence: list[Evidence] = field(default_factory=list, init=False)
    read: list[tuple[tuple[Value, ...], list[Evidence]]] = field(default_factory=list, init=False)
    rows: list[tuple[tuple[Value, ...], list[Evidence]]] = field(default_factory=list, init=False)
    pages: dict[str, None] = field(default_factory=dict, init=False)
    entities: dict[str, Value] = field(default_factory=dict, init=False)
    sketches: dict[str, Sketch] = field(default_factory=dict, init=False)
    read_at_all: bool = field(default=False, init=False)
    queried_at_all: bool = field(default=False, init=False)
    _failed: list[Sketch] = field(default_factory=list, init=False)
    _ids: dict[str, str] = field(default_factory=dict, init=False)

    def at_hand(self) -> tuple[Tool, ...]:
        """The tools for a loop; of those that need a graph none without one."""
        text = (
            Tool("search", lambda names: WordsOf(INPUT, names), self.search),
            Tool("read", lambda _names: self._asked_of(self.pages), self.reads),
        )
        graph = (
            Tool("id", lambda _names: _one_of(self.pages), self.id),
            Tool("query", lambda _names: self._asked_of(self.entities), self.query),
            Tool("run", lambda _names: _one_of(self.sketches), self.run),
            Tool("label", lambda _names: _one_of(self._ids), self.label),
        )
        known = Line("", 40)
        finish = Tool("finish", lambda _names: Pair(INPUT, known, known, NONE))
        return (*(text if self.has_text else ()), *(graph if self.has_graph else ()), finish)

    @property
    def has_text(self) -> bool:
        return self.tools.pages is not None

    @property
    def has_graph(self) -> bool:
        return self.tools.graph is not None and self.tools.sparql is not None

    def use(self, node_id: int, action: str, given: str, by_hand: str = "") -> Observation:
        """The output of the tool with this name.

        Args:
            by_hand: what a person took from it, or "none"; "" asks the model.
        """
        if action == "read":
            return self.reads(node_id, given, by_hand)
        if action == "query":
            return self.query(node_id, given, by_hand)
        others = {"search": self.search, "id": self.id, "run": self.run, "label": self.label}
        return others[action](node_id, given)

    def search(self, node_id: int, query: str) -> Observation:
        """Titles of pages with their first sentence."""
        pages = self.tools.pages
        if pages is None:
            return Observation(NO_PAGES)
        found: dict[str, Evidence] = {}
        opened = pages.open(node_id, query)
        like = pages.similar(query, TITLES)
        for page in (opened, *(pages.open(node_id, title) for title in like)):
            first = page.first(1) if page is not None and page.title not in found and len(found) < TITLES else None
            if page is not None and first is not None:
                found[page.title] = first
        self._saw_pages(found)
        add_evidence(self.evidence, found.values())
        told = [f"{number}. {title}: {item.text}" for number, (title, item) in enumerate(found.items(), 1)]
        return Observation(
            " ".join(told) or f"no page like “{query}”", evidence=tuple(found.values()), names=tuple(found)
        )

    def reads(self, node_id: int, given: str, by_hand: str = "") -> Observation:
        """The answer to a question that a page gives."""
        title, asked = halves(given)
        pages = self.tools.pages
        if pages is None:
            return Observation(NO_PAGES)
        self.read_at_all = True
        page = pages.open(node_id, title)
        if page is None:
            return Observation(f"no page “{title}”")
        self._saw_pages([page.title])
        shown = self._passages(page, asked or self.question, by_hand)
        add_evidence(self.evidence, shown)
        answers: tuple[str, ...] = ()
        cited: list[Evidence] = []
        if by_hand and by_hand != NONE:
            answers = tuple(part.strip() for part in by_hand.split(";") if part.strip())
            cited = shown if are_verdicts(answers) else _holding(answers, shown)
            if not cited:
                return Observation(f"{NOT_ON_PAGE}: {by_hand}", page.title, tuple(shown))
        elif not by_hand:
            reading = self.tools.reader.from_evidence(node_id, asked or self.question, shown)
            answers, cited = reading.answers, list(reading.cited)
        if not answers:
            return Observation(NOT_ON_PAGE, page.title, tuple(shown))
        values = text_values(answers)
        self.read.append((values, cited))
        return Observation(
            "; ".join(answers), page.title, (*cited, *(item for item in shown if item not in cited)), answers
        )

    def id(self, node_id: int, title: str) -> Observation:
        """The graph's entity of a page, and what it tells about it."""
        pages, graph = self.tools.pages, self.tools.graph
        if graph is None:
            return Observation(NO_GRAPH)
        page = pages.open(node_id, title) if pages is not None else None
        value = graph.entity_of(page.title if page is not None else title, page.qid if page is not None else "")
        if value is None or value.iri is None:
            return Observation(f"the graph has no entity of “{title}”")
        name = self._saw_entity(value)
        offered = dict.fromkeys(item.label for item in graph.properties(value.iri, self.question))
        facts = ", ".join(list(offered)[:_PROPERTIES])
        ident = short_id(value.iri)
        known = name if ident == name else f"{name} is {ident}"
        return Observation(f"{known}, with {facts}" if facts else f"{known}, of which nothing is told", names=(name,))

    def query(self, node_id: int, given: str, by_hand: str = "") -> Observation:
        """A query for a question about an entity."""
        name, asked = halves(given)
        writer, entity = self.tools.sparql, self._entity(name)
        if writer is None:
            return Observation(NO_GRAPH)
        self.queried_at_all = True
        question = asked or self.question
        offer = writer.offer(node_id, question, [entity] if entity is not None else [])
        if offer.empty:
            return Observation(NOTHING_OFFERED)
        if by_hand == NONE:
            return Observation(NO_SKETCH)
        if by_hand:
            sketch = writer.sketched(offer, by_hand)
            if sketch is None:
                return Observation(f"{NOT_A_QUERY}: {by_hand}")
        else:
            # One that gave rows may be the right one for a later step too; names may be those of other entities now.
            sketched = ((one, writer.sketched(offer, one.text)) for one in self._failed)
            failed = [one.text for one, now in sketched if now is not None and now.sparql == one.sparql]
            written = writer.write(node_id, question, offer=offer, without=failed)
            if not written:
                return Observation(NO_SKETCH)
            sketch = written[0]
        number = f"query {len(self.sketches) + 1}"
        self.sketches[number] = sketch
        return Observation(f"{number}: {sketch.text}")

    def run(self, node_id: int, number: str) -> Observation:
        """The rows of a query."""
        writer, sketch = self.tools.sparql, self.sketches.get(number)
        if writer is None or sketch is None:
            return Observation(NO_GRAPH if writer is None else f"there is no {number}")
        queried = writer.run(node_id, sketch)
        found = (queried.evidence,) if queried.evidence is not None else ()
        add_evidence(self.evidence, found)
        if queried.problem or not has_rows(queried):
            self._failed.append(sketch)
            return Observation(queried.problem or NO_ROWS, evidence=found)
        values = values_of(queried)
        self.rows.append((values, list(found)))
        names = [self._saw_entity(value) for value in values if value.iri is not None]
        return Observation(found[0].text if found else "", evidence=found, names=tuple(names))

    def label(self, _node_id: int, ident: str) -> Observation:
        """The name of an id."""
        graph, iri = self.tools.graph, self._ids.get(ident)
        if graph is None or iri is None:
            return Observation(NO_GRAPH if graph is None else f"{ident} was not seen")
        name = self._saw_entity(Value(graph.label(iri), ValueKind.ENTITY, iri))
        return Observation(f"{ident} is {name}", names=(name,))

    def by_source(self) -> tuple[list[Evidence], list[Evidence]]:
        """The evidence of the text, and the rows of the graph."""
        rows = [item for _, items in self.rows for item in items]
        pages = self.tools.pages
        return [item for item in self.evidence if pages is not None and item.source == pages.source], rows

    def _passages(self, page: OpenPage, asked: str, by_hand: str) -> list[Evidence]:
        """The passages of a page to read: those that suit the question best; for a person those with the answer."""
        passages = page.passages(_PASSAGES)
        if by_hand and by_hand != NONE:
            held = [item for item in passages if any(holds(part.strip(), item) for part in by_hand.split(";"))]
            return (held or passages)[:_READ]
        return self.tools.ranking.ranked(asked, passages, _READ, self.tools.cancellation)

    def _asked_of(self, names: Iterable[str]) -> Field | None:
        """The form of a question about one of these pages or entities."""
        name = _one_of(names, "")
        return Pair(INPUT, name, Line("", 40), self.question) if name is not None else None

    def _entity(self, name: str) -> Value | None:
        """The entity of this name; one that was not seen is linked."""
        if name in self.entities or self.tools.graph is None:
            return self.entities.get(name)
        linked = self.tools.graph.link(name, 1, self.question)
        return linked[0].entity if linked else None

    def _saw_pages(self, titles: Iterable[str]) -> None:
        for title in titles:
            self.pages[title] = self.pages.pop(title, None)

    def _saw_entity(self, value: Value) -> str:
        """The name that it is told by: its own, unless another entity has it."""
        iri = value.iri or ""
        self._ids[short_id(iri)] = iri
        name = sanitize_line(value.text) or short_id(iri)
        if name in self.entities and self.entities[name].iri != iri:
            name = f"{name} ({short_id(iri)})"
        self.entities[name] = value
        return name


def _holding(answers: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence that holds the answers; none unless all are held."""
    cited = [item for item in evidence if any(holds(answer, item) for answer in answers)]
    return cited if all(any(holds(answer, item) for item in cited) for answer in answers) else []


def short_id(iri: str) -> str:
    """The end of an IRI, such as "Q7186"."""
    return sanitize_line(unquote(re.split(r"[/#:]", iri.rstrip("/#:"))[-1])) or iri


def _one_of(names: Iterable[str], label: str = INPUT) -> OneOf | None:
    """One of the last names seen; None without any."""
    lines = [name for name in names if sanitize_line(name) == name and name]
    return OneOf(label, tuple(lines[-_MOST_OFFERED:])) if lines else None


# The tools of `react`: pages are opened by title, and words are looked up on the open one.

_SENTENCES = 5
_TITLES = 5


@dataclass(eq=False)
class PageTools:
    """The tools over pages; the last page that was opened is the open one.

    Attributes:
        asking: what is to be found out; None: the model's own thoughts say so.
    """

    reader: PageReader
    asking: NextQuestions | None = None
    _open: OpenPage | None = field(default=None, init=False)
    _like: tuple[str, ...] = field(default=(), init=False)  # titles like what no page is called
    _searched: set[str] = field(default_factory=set, init=False)

    def at_hand(self) -> tuple[Tool, ...]:
        return (
            Tool("search", self._title, self._search, self._sought),
            Tool("lookup", self._words, self._lookup, self._place),
            Tool("finish", self._answer),
        )

    def _title(self, names: tuple[str, ...]) -> Field | None:
        if self.asking is None:
            return WordsOf(INPUT, names)
        if self.asking.finished:
            return None
        named = tuple(names_in([self.asking.pending]))
        untried = tuple(title for title in (*self._like, *named) if self._sought(title) not in self._searched)
        if self._like and untried:  # no page is called so: a title like it has to do, as it is
            return OneOf(INPUT, untried)
        return WordsOf(INPUT, named or names)

    def _words(self, _names: tuple[str, ...]) -> Field | None:
        finished = self.asking is not None and self.asking.finished
        return Line(INPUT) if self._open is not None and not finished else None

    def _answer(self, _names: tuple[str, ...]) -> Field | None:
        if self.asking is None or (self.asking.finished and not self.asking.answer):
            return Line(INPUT)
        return OneOf(INPUT, (self.asking.answer,)) if self.asking.finished else None

    def _search(self, node_id: int, title: str) -> Observation:
        self._searched.add(self._sought(title))
        page = self.reader.open(node_id, title)
        if page is None:
            like = self.reader.similar(title, _TITLES)
            told = f". Titles like it: {'; '.join(like)}" if like else ""
            self._like = like
            return Observation(f"no page “{title}”{told}", names=like)
        self._open = page
        first = page.first(_SENTENCES)
        if first is None:
            return Observation("this page is empty", page.title)
        if self.asking is not None and self.asking.read(node_id, [first]):
            self._like = ()
        return Observation(first.text, page.title, (first,), (page.title,))

    def _lookup(self, node_id: int, words: str) -> Observation:
        looked = self._open.lookup(words, node_id) if self._open is not None else None
        if looked is None:
            return Observation("no more results")
        if self.asking is not None and self.asking.read(node_id, [looked.sentence]):
            self._like = ()
        text = f"({looked.number} of {looked.of}) {looked.sentence.text}"
        return Observation(text, evidence=(looked.sentence,), more=True)

    def _sought(self, title: str) -> str:
        """For another question, a page that was opened before may tell something else."""
        return f"{answer_key(title)}: {answer_key(self._pending)}"

    def _place(self, words: str) -> str:
        """On another page, or for another question, the same words are another action."""
        page = self._open.title if self._open is not None else ""
        return f"{page}: {words.casefold()}: {answer_key(self._pending)}"

    @property
    def _pending(self) -> str:
        return self.asking.pending if self.asking is not None else ""


# Text that a strategy may send to the web: words of the question and of answers that the user sees, and ordinary words.
#
# Never others of passages: a hostile passage can make the model write a query with private text of other passages in
# it. The ordinary words, with which facts are asked for, are a fixed list. Only a few of them go with one query, so
# that they cannot spell a message, and never alone. Nor can the way in which a query is written: a word goes as the
# question or the answer spells it, and no more often than it stands there.

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_MOST_ADDED = 8  # words that neither the question nor an answer has
_MOST_SMALL = 3  # times that one word such as "of" goes


def fit_for_web(query: str, question: str, answers: Iterable[str] = ()) -> str:
    """The words of `query` that the question or an answer has, and what it asks with, in their order.

    The question itself goes as it is, and in place of a query that names nothing of the question or of an answer.

    Args:
        answers: of earlier steps, as the user sees them.
    """
    if query == question:
        return question
    told = _KnownWords((question, *answers))
    small = english().stop
    kept, added, named = list[str](), 0, False
    for place, word in enumerate(_WORD.findall(query)):
        parts = words(word)
        if told.has(parts):
            if known := told.take(parts):
                named = named or not small.issuperset(parts)
                kept.append(known)
        elif added < _MOST_ADDED and len(parts) == 1 and _is_ordinary(word, parts[0], first=not place):
            added += 1
            kept.append(parts[0].capitalize() if word[0].isupper() else parts[0])
    return " ".join(kept) if named else question


class _KnownWords:
    """The words of texts that the user sees, as they are spelt there and as often as one of the texts has them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._spelt: dict[tuple[str, ...], str] = {}  # by the parts of the word
        self._left: Counter[str] = Counter()
        for text in texts:
            found = {tuple(words(word)): word for word in reversed(_WORD.findall(text))}
            self._spelt = found | self._spelt
            self._left |= Counter(words(text)) | Counter(part for word in _WORD.findall(text) for part in words(word))
        self._known = frozenset(self._left)
        for part in self._known & english().stop:
            self._left[part] = max(self._left[part], _MOST_SMALL)

    def has(self, parts: Sequence[str]) -> bool:
        """Whether the texts have all parts of the word."""
        return bool(parts) and self._known.issuperset(parts)

    def take(self, parts: Sequence[str]) -> str:
        """The word of these parts as it goes; "" if one of them has gone as often as it may."""
        wanted = Counter(parts)
        if not wanted <= self._left:
            return ""
        self._left -= wanted
        return self._spelt.get(tuple(parts)) or phrase([self._spelt.get((part,), part) for part in parts])


def _is_ordinary(word: str, key: str, *, first: bool) -> bool:
    """Whether the word asks for a fact; in capitals it is one of a name, but at the beginning."""
    return (first or word.islower()) and (key in english().stop or key in english().asking)


# Asks the sources what a model has written. The one way from a written query to the web.

Found = TypeVar("Found")
_LOCAL = (SourceName.TEXT, SourceName.GRAPH)


class SearchedOnce(Generic[Found]):
    """Results of the queries of one question. Each is searched once, in a step of its own."""

    def __init__(self, tools: QuestionContext) -> None:
        self._tools = tools
        self._found: dict[str, list[Found]] = {}  # by query

    def found(self, parent: Step, query: str, label: str, search: Callable[[Step], list[Found]]) -> list[Found]:
        """The results of `search` in a step below `parent`; for a repeated query, those of the first search."""
        key = answer_key(query)
        if key not in self._found:
            with self._tools.steps.open(query, parent.id, label) as below:
                self._found[key] = []
                self._found[key] = search(below)
        return self._found[key]


def searched(
    tools: QuestionContext,
    node_id: int,
    request: Request,
    question: str,
    *,
    answers: Collection[str] = (),
    sources: Sequence[str] | None = None,
) -> SourceResults:
    """Evidence of the sources. The web is asked in words of the question and of the answers alone.

    Args:
        question: the whole question.
        answers: of earlier steps, as the user sees them.
        sources: only these, of those that the step may use; by default all.
    """
    permitted = tools.retriever.permitted(node_id)
    asked = permitted if sources is None else sources
    by_query: dict[str, list[str]] = {}
    for name in asked:
        query = request.query if name in _LOCAL else fit_for_web(request.query, question, answers)
        by_query.setdefault(query, []).append(name)
    merged = SourceResults()
    for query, names in by_query.items():
        [found] = tools.retriever.ask(node_id, [replace(request, query=query)], Choice(names))
        add_evidence(merged.evidence, found.evidence)
        merged.dropped += found.dropped
        merged.problems += found.problems
        if found.graph is not None:
            merged.graph, merged.graph_evidence = found.graph, found.graph_evidence
    if len(by_query) > 1:
        tell_sources(tools, node_id, asked)
    return merged


def tell_sources(tools: QuestionContext, node_id: int, asked: Collection[str]) -> None:
    """Say which sources a step asks, of those that it may."""
    told = tuple(name for name in tools.retriever.permitted(node_id) if name in asked)
    tools.recorder.emit(SourcesSelected(node_id=node_id, sources=told, reason="set by the method"))


def told(evidence: Sequence[Evidence]) -> str:
    """The titles of what was found, each once."""
    return "; ".join(dict.fromkeys(item.title for item in evidence)) or "nothing was found"
