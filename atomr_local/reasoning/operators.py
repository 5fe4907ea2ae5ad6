"""The three operators on retrieved evidence (AtomR, sections 3.1 and 3.3).

A confident answer of the graph is used unchanged, and a Search for the title of a page is answered with that title.
Otherwise the model reads the evidence. If an operator has no result, direct RAG on the same evidence follows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from atomr_local.errors import ModelError
from atomr_local.language.names import base_key, comparable, name_key
from atomr_local.language.question_kind import defined_topic
from atomr_local.reasoning.confidence import AGREE, FAILED_SOURCE, GUESS, NULL, SUBJECT, TYPE_FIT, worst
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.reading.checks import about, agreement, holds, misfit, opening, row_alone, topic_page
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.results import Result, add_evidence, distinct
from atomr_local.reasoning.retrieval import (
    MOST_READ,
    Choice,
    Retriever,
    SourceResults,
    linked_names,
    match_confidence,
    match_signals,
)
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import Evidence, Request, Retrieval, SourceName, Value, ValueKind
from atomr_local.tree.nodes import Operator

# From this share of the top-k score on, the published code keeps the first passage alone.
_DOMINANT = {Operator.SEARCH: 0.75, Operator.RELATE: 0.85}
_DOMINANT_FILTER_OVERLAP = 0.85
# Confidence of a quoted page of a topic: the question may ask for more than the topic.
_QUOTED = 0.75
_QUOTED_AS_TYPED = 0.6
# The passages in which the model names the sentences that answer.
POINTED_PASSAGES = 4
# A reading with less confidence keeps alternatives.
UNSURE = 0.6
# A reading of the entity's own page with this confidence needs no other passages.
SURE = 0.9
# A reading that the model verifies with a lower probability is not sure.
_SAID = 0.5
GUESSED = "a guess: the evidence did not tell"


def overlap_coefficient(query: str, text: str) -> float:
    """|q ∩ p| / min(|q|, |p|) over the sets of words (AtomR, section 3.1, Filter)."""
    q, p = set(comparable(query)), set(comparable(text))
    return len(q & p) / min(len(q), len(p)) if q and p else 0.0


def _dominant(evidence: list[Evidence], operator: Operator) -> list[Evidence]:
    """The first piece alone if it has most of the score of its source; else all."""
    total = sum(item.score for item in evidence)
    share = _DOMINANT.get(operator)
    if share is None or len(evidence) < 2 or total <= 0 or len({item.source for item in evidence}) > 1:
        return evidence
    return evidence[:1] if evidence[0].score / total >= share else evidence


def _called(request: Request, found: SourceResults) -> tuple[str, ...]:
    """The names of a look-up's head: the argument, and the label of the entity that the graph surely takes it for."""
    return tuple(dict.fromkeys((request.arguments[0].text, *linked_names([found]))))


def _note_link(request: Request, graph: Retrieval, result: Result) -> None:
    """Record for whom the graph answers, where that is not the name as it was asked."""
    head, linked = request.arguments[0], graph.linked
    if linked is None:
        return
    if base_key(linked.text) != base_key(head.text):
        result.dropped.append(f"“{head.text}” is taken for “{linked.text}”")
    elif request.operator is Operator.RELATE:
        result.signals[SUBJECT] = 1.0


def _belong(reading: Result, request: Request, found: SourceResults) -> None:
    """Record the owner of the values of a Relate and of their alternatives: the entity that the graph linked if the
    values are the graph's, else the argument."""
    head = request.arguments[0]
    linked = found.graph.linked if found.graph is not None and found.values and head.iri is None else None
    head = replace(linked, of=head.of) if linked is not None else head
    reading.values = tuple(replace(value, of=(head,)) for value in reading.values)
    reading.others = tuple((replace(value, of=(head,)), confidence) for value, confidence in reading.others)


@dataclass
class Operators:
    """Runs operators, and answers by direct RAG.

    Attributes:
        entity: returns the graph entity that a name stood for earlier in the conversation.
    """

    retriever: Retriever
    reader: Reader
    settings: Settings
    entity: Callable[[str], str | None] | None = None

    def locally(self) -> Operators:
        """The same over the local sources alone: for words that the user has not seen, which may not leave."""
        return replace(self, retriever=self.retriever.locally())

    def run(
        self,
        node_id: int,
        operator: Operator,
        question: str,
        combinations: Sequence[tuple[Value, ...]],
        most: int = MOST_READ,
    ) -> Result:
        """Run the operator once for each combination of argument values and join the results.

        Args:
            most: the most runs if the entities cannot be looked up together.

        Raises:
            ModelError: the model failed.
            Cancelled: the question was cancelled.
        """
        top_k = self.settings.top_k
        requests = [
            Request(question, " ".join(value.text for value in arguments), operator, self._identified(arguments), top_k)
            for arguments in combinations
        ]
        result = Result()
        if len(requests) > most and not self.retriever.asks_set(node_id, requests):
            left = len(requests) - most
            result.dropped.append(f"{left} of {len(requests)} combinations of values left out (limit {most})")
            requests = requests[:most]
        gathered = self.retriever.ask(node_id, requests, Choice(most=most))
        for found in gathered:
            add_evidence(result.evidence, found.evidence)
            result.dropped.extend(note for note in found.dropped if note not in result.dropped)
        result.signals.update(match_signals(gathered))
        result.linked = list(linked_names(gathered))
        result.near = list(dict.fromkeys(label for found in gathered if found.probed for label in found.probed.near))
        if operator is Operator.FILTER:
            self._filter(node_id, requests, gathered, result)
        else:
            pairs = list(zip(requests, gathered, strict=True))
            readings = run_each(lambda pair: self._one(node_id, *pair), pairs, self.settings.llm.parallel)
            for (request, found), reading in zip(pairs, readings, strict=True):
                if len(pairs) > 1 and reading.signals.get(SUBJECT) == 0.0:
                    told = f"{request.arguments[0].text}: “{', '.join(reading.texts)}” is told of another"
                    reading.dropped, reading.values, reading.signals = [*reading.dropped, told], (), {}
                if operator is Operator.RELATE:
                    _belong(reading, request, found)
                self._join(result, reading)
            if operator is Operator.RELATE and result.values:
                result.without = tuple(
                    request.arguments[0] for request, one in zip(requests, readings, strict=True) if not one.values
                )
        result.values = distinct(result.values)
        compared(result)
        # That the graph knows no entity that passes the Filter is an answer.
        known_empty = operator is Operator.FILTER and bool(gathered) and all(found.decided for found in gathered)
        if not result.values and not known_empty:
            names = _called(requests[0], gathered[0]) if operator is Operator.RELATE and len(requests) == 1 else ()
            self._direct_rag(node_id, question, result, names)
        problems = [problem for found in gathered for problem in found.problems]
        if problems and not result.values:
            result.error = {"title": "Source failed", "message": "; ".join(problems)}
        if len(combinations) > 1:
            result.others = ()
        _note_doubts(question, result, problems)
        return result

    def direct_rag(self, node_id: int, question: str, *, everywhere: bool = False, names: Sequence[str] = ()) -> Result:
        """Retrieve for the question itself and answer from what is found.

        Args:
            everywhere: without choosing sources.
            names: of the one that the question is about; without them whom the evidence is about is not checked.
        """
        request = Request(question, question, top_k=self.settings.top_k)
        if everywhere:
            found = self.retriever.everywhere(node_id, request)
        else:
            [found] = self.retriever.ask(node_id, [request])
        result = Result(evidence=list(found.evidence))
        self._direct_rag(node_id, question, result, names)
        compared(result)
        result.dropped = [*found.dropped, *result.dropped]
        _note_doubts(question, result, found.problems)
        return result

    def pointed(self, node_id: int, question: str) -> Result:
        """Answer the whole question in the sentences that tell it, from the passages nearest to it; only if the reader
        points."""
        found = self.retriever.nearest(node_id, question, POINTED_PASSAGES)
        result = Result(evidence=list(found.evidence), dropped=list(found.dropped))
        if found.evidence:
            self._point(node_id, question, result)
        _note_doubts(question, result, found.problems)
        return result

    def guess_pointed(self, node_id: int, question: str, result: Result) -> None:
        """Add the most likely sentences in the evidence to a pointed result without an answer."""
        if result.evidence and not result.values:
            self._point(node_id, question, result, guess=True)
            if result.values:
                result.dropped.append(GUESSED)
                result.signals[GUESS] = 1.0

    def _point(self, node_id: int, question: str, result: Result, *, guess: bool = False) -> None:
        reading = self.reader.pointed(node_id, question, result.evidence, guess=guess)
        self._take(node_id, result, reading)
        if reading.null is not None:  # how likely there is no answer counts for a guess too
            result.signals[NULL] = reading.null
        if result.values:
            result.method = "direct_rag"

    def from_source(
        self, node_id: int, operator: Operator, question: str, arguments: tuple[Value, ...], source: SourceName
    ) -> Result:
        """What one source alone has for the operator: the graph's values, or what the model reads in passages."""
        query = " ".join(value.text for value in arguments)
        request = Request(question, query, operator, arguments, self.settings.top_k)
        [found] = self.retriever.ask(node_id, [request], Choice((source,)))
        result = Result(evidence=list(found.evidence), dropped=list(found.dropped))
        if source == SourceName.GRAPH and not found.values:
            return result
        run = self._one(node_id, request, found)
        if operator is Operator.RELATE:
            _belong(run, request, found)
        result.signals.update(match_signals([found]))
        self._join(result, run)
        compared(result)
        _note_doubts(question, result, found.problems)
        return result

    def summary(self, node_id: int, question: str, typed: str = "", *, alone: bool = False) -> Result:
        """The opening of the page about the question's topic; without such a page, an answer read elsewhere.

        Args:
            typed: the question as the user typed it; the plan may spell the name differently.
            alone: the question must be exactly the page's title, and nothing else is read.
        """
        request = Request(question, defined_topic(question) or question, top_k=self.settings.top_k)
        found = self.retriever.everywhere(node_id, request)
        result = Result(evidence=list(found.evidence), dropped=list(found.dropped))
        page = topic_page(question, found.evidence, alone=alone)
        sure = _QUOTED
        if page is None and typed:
            page, sure = topic_page(typed, found.evidence), _QUOTED_AS_TYPED
        if page is not None:
            self._add(result, (Value(opening(page)),), [page.id], sure)
        elif not alone:
            self._direct_rag(node_id, question, result)
            compared(result)
        return result

    def guess(self, node_id: int, question: str, evidence: Sequence[Evidence]) -> Result:
        """The most likely answer in the evidence, for a question that would otherwise stay Unknown."""
        result = Result(evidence=list(evidence))
        self._take(node_id, result, self.reader.whole(node_id, question, evidence[: self.settings.top_k], guess=True))
        if result.values:
            result.method = "direct_rag"
            result.dropped.append(GUESSED)
            result.signals[GUESS] = 1.0
        return result

    def _identified(self, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
        """The arguments; a name that the conversation has used before refers to the same entity."""
        head, *others = arguments
        if self.entity is None or head.iri is not None or (iri := self.entity(head.text)) is None:
            return arguments
        return (replace(head, iri=iri), *others)

    def _one(self, node_id: int, request: Request, found: SourceResults) -> Result:
        """One run of Search or Relate."""
        result = Result()
        if found.values and found.graph is not None:
            self._add(result, found.values, [item.id for item in found.graph_evidence], match_confidence(found.graph))
            _note_link(request, found.graph, result)
            return result
        if request.operator is Operator.SEARCH:
            name = request.arguments[0].text
            if page := self._titled(name, found.evidence):
                self._add(result, (Value(page.title, ValueKind.ENTITY),), [page.id], None)
                return result
            # A name without a page stays as it is: the model would only read about something else.
            if mentioned := [
                item.id for item in found.evidence if item.source != SourceName.GRAPH and holds(name, item)
            ]:
                self._add(result, (Value(name),), mentioned[:1], None)
                return result
        evidence = _dominant(found.evidence, request.operator or Operator.RELATE)
        if evidence:
            question, head = request.question, request.arguments[0].text
            if len(request.arguments) > 1 and head.casefold() not in question.casefold():
                question = f"{question} ({head})"  # the node's question does not name this run's head
            reading = self._looked_up(node_id, question, request, evidence)
            if request.operator is Operator.RELATE:
                reading = self._of_subject(node_id, question, _called(request, found), reading, found.evidence)
            self._take(node_id, result, reading)
            result.others = tuple((Value(text), confidence) for text, confidence in reading.others)
        return result

    def _looked_up(self, node_id: int, question: str, request: Request, evidence: Sequence[Evidence]) -> Reading:
        """A cascade: the entity's own page alone if it comes first, then all evidence if that reading is not sure.

        Most answers are on that page, which saves half of the reading.
        """
        related = request.operator is Operator.RELATE and len(evidence) > 1
        if self.settings.features.page_alone and related and self._titled(request.arguments[0].text, evidence[:1]):
            reading = self.reader.from_evidence(node_id, question, evidence[:1])
            if reading.answers and (reading.confidence or 0.0) >= SURE:
                reading = self.reader.checked(node_id, reading)
                if min(reading.verified, default=1.0) >= _SAID:
                    return reading
        reading = self.reader.from_evidence(
            node_id, question, evidence, unsure=UNSURE if self.settings.features.beam else 0.0
        )
        if self.settings.features.vote:
            reading = self.reader.voted(node_id, question, evidence, reading, whole=False)
        return reading

    def _of_subject(
        self, node_id: int, question: str, names: Sequence[str], reading: Reading, evidence: Sequence[Evidence]
    ) -> Reading:
        """The reading with whether its evidence is about the one with these names; where it is in another's row of a
        table, that one's row is read alone."""
        told = about(names, reading.answers, reading.cited, evidence)
        if told.row:
            item = next(item for item in reading.cited if told.row in item.text.splitlines())
            again = self.reader.from_evidence(node_id, question, [row_alone(item, told.row)])
            if again.answers and about(names, again.answers, again.cited).subject:
                note = f"read again in the row of {names[0]}: the first answer was in that of {told.whom}"
                return replace(again, subject=True, dropped=(*reading.dropped, *again.dropped, note))
        return replace(reading, subject=told.subject)

    def _join(self, result: Result, run: Result) -> None:
        """Add one run's result to those before it."""
        result.dropped.extend(note for note in run.dropped if note not in result.dropped)
        result.error = run.error or result.error
        result.computation = run.computation or result.computation
        result.others = run.others
        if run.values:
            self._add(result, run.values, run.cited, run.confidence)
            result.signals = worst([result.signals, run.signals])

    @staticmethod
    def _titled(name: str, evidence: Sequence[Evidence]) -> Evidence | None:
        """The passage of the page with this name; the name may lack the title's parenthetical."""
        texts = [item for item in evidence if item.source == SourceName.TEXT]
        for key in (name_key, base_key):
            for item in texts:
                if key(item.title) == key(name):
                    return item
        return None

    def _filter(
        self, node_id: int, requests: Sequence[Request], gathered: Sequence[SourceResults], result: Result
    ) -> None:
        open_requests: list[tuple[Request, SourceResults]] = []
        for request, found in zip(requests, gathered, strict=True):
            if found.decided and found.graph is not None:
                if found.values:
                    passed = tuple(replace(value, of=request.arguments[0].of) for value in found.values)
                    self._add(result, passed, [item.id for item in found.graph_evidence], match_confidence(found.graph))
                result.method = "operator"
            else:
                open_requests.append((request, found))
        kept = self._overlapping(open_requests, result)
        if not kept:
            return
        candidates = [request.arguments[0] for request, _ in kept]
        evidence: list[Evidence] = []
        for rank in range(self.settings.top_k):  # round robin, so that the weakest evidence comes last
            for _, found in kept:
                add_evidence(evidence, found.evidence[rank : rank + 1])
        condition = kept[0][0].arguments[-1].text
        reading = self.reader.select(node_id, [value.text for value in candidates], condition, evidence)
        by_text = {value.text: value for value in candidates}
        self._take(node_id, result, reading, [by_text[text] for text in reading.answers if text in by_text])

    def _overlapping(
        self, open_requests: Sequence[tuple[Request, SourceResults]], result: Result
    ) -> list[tuple[Request, SourceResults]]:
        scored = []
        for request, found in open_requests:
            overlaps = (overlap_coefficient(request.query, f"{e.title} {e.text}") for e in found.evidence)
            scored.append((max(overlaps, default=0.0), request, found))
        dominant = any(overlap > _DOMINANT_FILTER_OVERLAP for overlap, _, _ in scored)
        threshold = _DOMINANT_FILTER_OVERLAP if dominant else self.settings.filter_overlap
        kept = [(request, found) for overlap, request, found in scored if overlap >= threshold]
        result.dropped.extend(
            f"{request.arguments[0].text}: evidence overlaps the condition by {overlap:.2f}, under {threshold}"
            for overlap, request, _ in scored
            if overlap < threshold
        )
        return kept

    def _direct_rag(self, node_id: int, question: str, result: Result, names: Sequence[str] = ()) -> None:
        if not result.evidence:
            return
        reading = self.reader.whole(node_id, question, result.evidence)
        if self.settings.features.vote:
            reading = self.reader.voted(node_id, question, result.evidence, reading)
        if names:
            reading = self._of_subject(node_id, question, names, reading, result.evidence)
        self._take(node_id, result, reading)
        if result.values:
            result.method = "direct_rag"
            if result.error is not None:  # the operator's output was unusable, this answer is not
                result.dropped.append(result.error["message"])
                result.error = None

    @staticmethod
    def _add(result: Result, values: tuple[Value, ...], cited: Sequence[str], confidence: float | None) -> None:
        result.values += values
        result.cited.extend(item for item in cited if item not in result.cited)
        result.method = "operator"
        if confidence is not None:
            result.confidence = confidence if result.confidence is None else min(result.confidence, confidence)

    def _take(self, node_id: int, result: Result, reading: Reading, values: Sequence[Value] | None = None) -> None:
        """Verify the reading and add it to the result."""
        result.dropped.extend(note for note in reading.dropped if note not in result.dropped)
        if reading.problem is not None:
            result.error = {"title": ModelError.title, "message": reading.problem}
        reading = self.reader.checked(node_id, reading)
        taken = values_read(reading) if values is None else tuple(values)
        result.quotes += reading.quotes
        if taken:
            self._add(result, taken, [item.id for item in reading.cited], reading.confidence)
            result.signals = worst([result.signals, reading.signals])


def values_read(reading: Reading) -> tuple[Value, ...]:
    """The answers of a reading; each of several has its score from verification, or else from reading."""
    several = (reading.verified or reading.each) if len(reading.answers) > 1 else ()
    scores: Sequence[float | None] = several or [None]
    pairs = zip(reading.answers, itertools.cycle(scores), strict=False)
    return distinct([Value(text, ValueKind.TEXT, score=score) for text, score in pairs])


def compared(result: Result) -> None:
    """Record whether other places in the evidence contain the answer too."""
    share = agreement(result.texts, result.evidence)
    if share is not None:
        result.signals[AGREE] = share


def _note_doubts(question: str, result: Result, problems: Sequence[str]) -> None:
    """Put into the signals what speaks against an answer whatever evidence contains it: a source that failed, and
    another kind of answer than the question asks for."""
    if problems:
        result.signals[FAILED_SOURCE] = 1.0
    if misfit(question, result.texts):
        result.signals[TYPE_FIT] = 0.0
