"""Dynamic source selection and retrieval for one node (AtomR, section 3.3)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atomr_local.errors import AtomrError, Cancelled, SourceError
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.reasoning.confidence import LINK, RELATION, TYPE_FIT, worst
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.checks import is_titled
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.results import add_evidence
from atomr_local.reasoning.trace.events import EvidenceFound, RetrievalStarted, SourcesSelected, WarningRaised
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import Evidence, GraphTools, KnowledgeSource, Request, Retrieval, SourceName, Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize
from atomr_local.tree.nodes import ROOT_ID, Operator

# From these scores of the entity and of the relation on, a graph answer stands without asking the model for sources.
# Relations are matched with a calibrated probability (scripts/train_relation_match.py): of the matches with at least
# 0.8, 97 of 100 are right on held-out questions.
SURE_LINK = 0.85
SURE_RELATION = 0.8
# Below this score the graph's answer is not used as the result; its rows remain evidence to read.
USABLE_RELATION = 0.5
# From this link score on, the graph knows the name (the linker's own limit).
LINKED = 0.6
# The most entities of a set for other sources: if the graph knows none of the set, and if it knows some.
MOST_READ, _MOST_READ_BESIDE = 16, 4
_QUERIES_SHOWN = 3
_GRAPH_ALONE: tuple[str, ...] = (SourceName.GRAPH,)
_FIXED = "set by the method"
_SURE = "rule: the graph links entity and relation surely"
# Of so many passages near a question the likeliest are read: the right one is among the first four of 84% of questions
# over documents, and among the first ten of 92%.
CANDIDATES = 10
_LOCAL = (SourceName.GRAPH, SourceName.TEXT)


@dataclass
class SourceResults:
    """What the chosen sources returned for one request.

    Attributes:
        evidence: of all sources, with ids.
        graph: the graph's retrieval, if it was chosen.
        probed: the graph's retrieval, if it was asked at all.
        values: the graph's own result, if its confidence is high enough.
    """

    evidence: list[Evidence] = field(default_factory=list)
    graph: Retrieval | None = None
    probed: Retrieval | None = None
    graph_evidence: tuple[Evidence, ...] = ()
    dropped: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def decided(self) -> bool:
        """Whether the graph has decided the request: it found values, or that there are none."""
        return self.graph is not None and self.graph.decided and match_confidence(self.graph) >= USABLE_RELATION**2

    @property
    def values(self) -> tuple[Value, ...]:
        return self.graph.values if self.graph is not None and self.decided else ()


Pick = Callable[[Sequence[Evidence]], Sequence[Evidence]]


@dataclass(frozen=True, slots=True)
class Choice:
    """The sources that a step asks, and what it takes of them.

    Attributes:
        sources: these, as far as they are at hand and the step may use them, without choosing; None: rules and the
            model choose. The first result notes those that were left out.
        reason: why these; the choice is then told even if none of them can be asked.
        most: the most entities of a set for which sources other than the graph are asked.
        pick: chooses from what a source finds; the others are not recorded.
    """

    sources: Sequence[str] | None = None
    reason: str = ""
    most: int = MOST_READ
    pick: Pick | None = None


FREE = Choice()
# A request, and what the graph has for it if it was asked first.
_Probed = tuple[Request, SourceResults | None]


def match_confidence(retrieval: Retrieval) -> float:
    """The confidence of the graph's answer: entity link times relation match, 0 to 1."""
    link = 1.0 if retrieval.link_score is None else retrieval.link_score
    relation = 1.0 if retrieval.relation_score is None else retrieval.relation_score
    return link * relation


def linked_names(gathered: Sequence[SourceResults]) -> tuple[str, ...]:
    """Labels of the entities that the graph linked the requests' first arguments to, each once."""
    graphs = [found.probed for found in gathered if found.probed is not None]
    return tuple(
        dict.fromkeys(
            graph.linked.text for graph in graphs if graph.linked is not None and (graph.link_score or 0.0) >= LINKED
        )
    )


def match_signals(gathered: Sequence[SourceResults]) -> dict[str, float]:
    """The lowest link score, relation score and fit of type over the requests that the graph was asked."""
    graphs = [found.probed for found in gathered if found.probed is not None]
    told = [{LINK: graph.link_score, RELATION: graph.relation_score, TYPE_FIT: graph.type_fit} for graph in graphs]
    return worst({name: share for name, share in one.items() if share is not None} for one in told)


def is_sure(request: Request, graph: Retrieval | None) -> bool:
    """Whether the graph's answer is confident. That an entity fails a Filter's condition is an answer too."""
    return (
        graph is not None
        and graph.decided
        and (bool(graph.values) or request.operator is Operator.FILTER)
        and (graph.link_score or 0.0) >= SURE_LINK
        and (graph.relation_score is None or graph.relation_score >= SURE_RELATION)
    )


def _to_read(pairs: Sequence[_Probed], choice: Choice) -> tuple[Sequence[_Probed], Sequence[_Probed]]:
    """Of a set, the requests that the graph leaves open, and those of them for which other sources are asked.

    Where the sources are not chosen, the graph's confident answers stand.
    """
    opened = pairs
    if choice.sources is None:
        opened = [(request, probe) for request, probe in pairs if probe is None or not is_sure(request, probe.graph)]
    most = choice.most if len(opened) == len(pairs) else min(choice.most, _MOST_READ_BESIDE)
    return opened, opened[:most]


def may_use(allowed: Mapping[int, frozenset[str]], node_id: int, source: str) -> bool:
    """Whether the node may use the source; a node without an entry in `allowed` may use all."""
    return source in allowed.get(node_id, {source})


@dataclass
class Retriever:
    """Chooses sources for a request, asks them, and puts what they found into the trace.

    Attributes:
        allowed: by node, the only sources that it may use; a node without an entry may use all.
        asked_again: asks the graph in another way where its answer to a step's only request is not sure.
    """

    sources: Mapping[str, KnowledgeSource]
    reader: Reader
    recorder: Recorder
    cancellation: Cancellation
    settings: Settings
    allowed: Mapping[int, frozenset[str]] = field(default_factory=dict)
    asked_again: Callable[[int, Request, SourceResults], SourceResults] | None = None

    def permitted(self, node_id: int) -> tuple[str, ...]:
        """The sources at hand that the node may use."""
        return tuple(name for name in self.sources if may_use(self.allowed, node_id, name))

    @property
    def names(self) -> tuple[str, ...]:
        """The sources at hand."""
        return tuple(map(str, self.sources))

    def locally(self) -> Retriever:
        """The same over the local sources alone."""
        return replace(self, sources={name: source for name, source in self.sources.items() if name in _LOCAL})

    def known(self, name: str) -> bool:
        """Whether a local source finds the name in this spelling.

        Raises:
            Cancelled: the question was cancelled.
        """
        key = f" {name_key(name)} "
        return any(key in f" {name_key(f'{item.title} {item.text}')} " for item in self._looked_up(name))

    def has_page(self, name: str) -> bool:
        """Whether a local source has a page or an entity of exactly this name; its title may have an article as well.
        A title with a qualifier tells that other things have the name: "Older (album)".

        Raises:
            Cancelled: the question was cancelled.
        """
        found = (item for item in self._looked_up(name) if is_titled(item, name))
        return any(not split_qualifier(item.title)[1] for item in found)

    def _looked_up(self, name: str) -> Iterator[Evidence]:
        """What the local sources have of the name, one after another; no step is recorded."""
        request = Request(f"Who or what is {name}?", name, Operator.SEARCH, (Value(name),))
        for source in (self.sources[which] for which in _LOCAL if which in self.sources):
            try:
                yield from source.retrieve(request, self.cancellation).evidence
            except Cancelled:
                raise
            except AtomrError:
                continue  # the step that looks the name up will report it

    def ask(self, node_id: int, requests: Sequence[Request], choice: Choice = FREE) -> list[SourceResults]:
        """Ask the sources of the choice for every request of a step.

        A set of entities is looked up in the graph together. Other sources are asked for some of them only, because
        each of them costs a reading.
        """
        permitted, free = self.permitted(node_id), choice.sources is None
        wanted = permitted if choice.sources is None else tuple(dict.fromkeys(map(str, choice.sources)))
        names = tuple(name for name in permitted if name in wanted)
        notes = [
            f"{name} was not asked: {'not to be used in this step' if name in self.sources else 'it is not at hand'}"
            for name in wanted
            if name not in permitted
        ]
        results = [SourceResults() for _ in requests]
        if requests and (names or choice.reason):
            together = SourceName.GRAPH in names and self.asks_set(node_id, requests)
            probed = SourceName.GRAPH in names and (free or together)
            probes = self._probe(node_id, requests, together) if probed else [None] * len(requests)
            pairs = list(zip(requests, probes, strict=True))
            opened, read = _to_read(pairs, choice) if together else (pairs, pairs)
            chosen, told, reason = names, names, choice.reason or _FIXED
            if free:
                chosen, reason = self._choose(names, node_id, read) if read else (_GRAPH_ALONE, _SURE)
                told = chosen if len(read) == len(pairs) else tuple(dict.fromkeys((*_GRAPH_ALONE, *chosen)))
            self.recorder.emit(SourcesSelected(node_id=node_id, sources=told, reason=reason))
            being_read = {id(request) for request, _ in read}

            def merged(pair: _Probed) -> SourceResults:
                of = chosen if id(pair[0]) in being_read else _GRAPH_ALONE
                return self._merged(node_id, pair, of, choice.pick)

            results = run_each(merged, pairs, self.settings.llm.parallel)
            if len(opened) > len(read) and chosen != _GRAPH_ALONE:
                left = f"{len(opened) - len(read)} of {len(pairs)}"
                notes.append(f"{left} were looked up in the graph alone (limit {len(read)})")
        if results:
            results[0].dropped.extend(notes)
        return results

    def asks_set(self, node_id: int, requests: Sequence[Request]) -> bool:
        """Whether the requests are about several entities that the graph can look up together."""
        return (
            self.settings.features.source_rules
            and len(requests) > 1
            and SourceName.GRAPH in self.permitted(node_id)
            and isinstance(self.sources[SourceName.GRAPH], GraphTools)
            and all(request.arguments and request.arguments[0].iri is not None for request in requests)
            and all(request.arguments[1:] == requests[0].arguments[1:] for request in requests)
        )

    def everywhere(self, node_id: int, request: Request) -> SourceResults:
        """Ask every source available, without choosing."""
        return self.ask(node_id, [request], Choice(self.permitted(node_id), "all sources"))[0]

    def nearest(self, node_id: int, question: str, number: int) -> SourceResults:
        """The passages nearest to the question as it is asked, best first. The graph is not asked.

        Of some more that each source finds those are taken that most likely answer, by :meth:`Reader.likeliest`.

        Args:
            number: passages of each source.
        """
        names = tuple(name for name in self.permitted(node_id) if name != SourceName.GRAPH)
        request = Request(question, question, top_k=max(number, CANDIDATES))
        likeliest = Choice(
            names, "passages nearest to the question", pick=lambda found: self.reader.likeliest(question, found, number)
        )
        return self.ask(node_id, [request], likeliest)[0]

    def _probe(self, node_id: int, requests: Sequence[Request], together: bool) -> Sequence[SourceResults]:
        """Ask the graph first: it answers in milliseconds, and its answer decides whether others are asked."""
        if together:
            return self._asked(node_id, SourceName.GRAPH, requests)
        found = [self._asked(node_id, SourceName.GRAPH, [request])[0] for request in requests]
        if self.asked_again is not None and len(requests) == 1:
            return [self.asked_again(node_id, requests[0], found[0])]
        return found

    def _choose(self, names: tuple[str, ...], node_id: int, asked: Sequence[_Probed]) -> tuple[tuple[str, ...], str]:
        """The sources for these requests, by rule or by the model, and who chose them."""
        if len(names) == 1:
            return names, "only source"
        graphs = [(request, probe.graph) for request, probe in asked if probe is not None and probe.graph is not None]
        surely = len(graphs) == len(asked) and all(itertools.starmap(is_sure, graphs))
        if self.settings.features.source_rules and surely:
            return _GRAPH_ALONE, _SURE
        if graphs and not any(graph.evidence for _, graph in graphs):
            names = tuple(name for name in names if name != SourceName.GRAPH)
            if len(names) == 1:
                return names, "rule: the graph has nothing on it"
        options = [
            ", ".join(combination)
            for size in range(1, len(names) + 1)
            for combination in itertools.combinations(names, size)
        ]
        answer = self.reader.choose(node_id, asked[0][0].question, options)
        return tuple(answer.split(", ")), "model"

    def _merged(self, node_id: int, asked: _Probed, chosen: Sequence[str], pick: Pick | None) -> SourceResults:
        """What the chosen sources have for a request; the graph may have been asked before."""
        request, probe = asked
        merged = SourceResults(probed=probe.graph if probe is not None else None)
        if probe is not None and SourceName.GRAPH not in chosen:
            merged.problems.extend(probe.problems)

        def one(name: str) -> SourceResults:
            if name == SourceName.GRAPH and probe is not None:
                return probe
            return self._asked(node_id, name, [request], pick)[0]

        for name, found in zip(chosen, run_each(one, chosen, self.settings.llm.parallel), strict=True):
            add_evidence(merged.evidence, found.evidence)
            merged.dropped.extend(found.dropped)
            merged.problems.extend(found.problems)
            if name == SourceName.GRAPH:
                merged.graph = merged.probed = found.graph
                merged.graph_evidence = found.graph_evidence
        return merged

    def _asked(
        self, node_id: int, name: str, requests: Sequence[Request], pick: Pick | None = None
    ) -> list[SourceResults]:
        """What one source has for each request; several requests are looked up together. A source that fails gives
        nothing, for the others may still have an answer."""
        self.cancellation.check()
        query = ", ".join(dict.fromkeys(request.query for request in requests[:_QUERIES_SHOWN]))
        more = f" and {len(requests) - _QUERIES_SHOWN} more" if len(requests) > _QUERIES_SHOWN else ""
        self.recorder.emit(RetrievalStarted(node_id=node_id, source=name, query=query + more))
        source = self.sources[name]
        try:
            if len(requests) > 1 and isinstance(source, GraphTools):
                found = source.retrieve_set(requests, self.cancellation)
            else:
                found = [source.retrieve(request, self.cancellation) for request in requests]
        except SourceError as error:
            where = "" if node_id == ROOT_ID else f"step {node_id}: "
            self.recorder.emit(WarningRaised(message=f"{where}{error.title}: {error.message}"))
            return [SourceResults(problems=[f"{name}: {error.message}"])] * len(requests)
        if pick is not None:
            found = [replace(one, evidence=tuple(pick(one.evidence))) for one in found]
        return [self._taken_in(node_id, name, one) for one in found]

    def _taken_in(self, node_id: int, name: str, retrieval: Retrieval) -> SourceResults:
        # An answer that is used unchanged has to match its evidence, which the trace holds sanitised.
        retrieval = replace(retrieval, values=_shown(retrieval.values))
        evidence = self.recorder.take_in(retrieval.evidence)
        self.recorder.emit(EvidenceFound(node_id=node_id, source=name, evidence=evidence))
        gathered = SourceResults(list(evidence), dropped=list(retrieval.dropped))
        if name == SourceName.GRAPH:
            gathered.graph, gathered.graph_evidence = retrieval, evidence
        return gathered


def _shown(values: Sequence[Value]) -> tuple[Value, ...]:
    """The values with sanitised texts. An entity whose text becomes empty is shown by its IRI; other empty values are
    removed.
    """
    texts = ((value, sanitize(value.text)) for value in values)
    cleaned = (value if text == value.text else replace(value, text=text) for value, text in texts)
    return tuple(
        value if value.text.strip() else replace(value, text=sanitize(value.iri or ""))
        for value in cleaned
        if value.text.strip() or value.iri
    )
