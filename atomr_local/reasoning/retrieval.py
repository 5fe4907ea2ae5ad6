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
from atomr_local.sources.protocol import (
    Evidence,
    KnowledgeSource,
    Request,
    Retrieval,
    SetSource,
    SourceName,
    Value,
)
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


def is_sure(request: Request, graph: Retrieval) -> bool:
    """Whether the graph's answer is confident. That an entity fails a Filter's condition is an answer too."""
    return (
        graph.decided
        and (bool(graph.values) or request.operator is Operator.FILTER)
        and (graph.link_score or 0.0) >= SURE_LINK
        and (graph.relation_score is None or graph.relation_score >= SURE_RELATION)
    )


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

    def gather(
        self,
        node_id: int,
        requests: Sequence[Request],
        most: int = MOST_READ,
        sources: Sequence[str] | None = None,
    ) -> list[SourceResults]:
        """Choose the sources once for the node, then ask them for every request.

        Args:
            most: the most entities of a set for which sources other than the graph are asked.
            sources: ask these, without choosing. Those that are not at hand, or that the node may not use, are left
                out, which the first result notes.
        """
        if sources is not None:
            return self._gather_fixed(node_id, requests, most, tuple(dict.fromkeys(map(str, sources))))
        if not self.permitted(node_id):
            return [SourceResults() for _ in requests]
        probes = self._probe(node_id, requests)
        if self.asks_set(node_id, requests):
            return self._gather_set(node_id, requests, probes, most)
        chosen, reason = self._choose(node_id, requests, probes)
        self.recorder.emit(SourcesSelected(node_id=node_id, sources=chosen, reason=reason))
        pairs = list(zip(requests, probes, strict=True))
        return run_each(lambda pair: self._ask(node_id, pair[0], chosen, pair[1]), pairs, self.settings.llm.parallel)

    def asks_set(self, node_id: int, requests: Sequence[Request]) -> bool:
        """Whether the requests are about several entities that the graph can look up together."""
        return (
            self.settings.features.source_rules
            and len(requests) > 1
            and SourceName.GRAPH in self.permitted(node_id)
            and isinstance(self.sources[SourceName.GRAPH], SetSource)
            and all(request.arguments and request.arguments[0].iri is not None for request in requests)
            and all(request.arguments[1:] == requests[0].arguments[1:] for request in requests)
        )

    def _gather_set(
        self, node_id: int, requests: Sequence[Request], probes: Sequence[SourceResults | None], most: int
    ) -> list[SourceResults]:
        """Confident answers of the graph for entities of a set stand. Other sources are asked for the remaining
        entities only, up to a limit, because each of them costs a reading."""
        pairs = list(zip(requests, probes, strict=True))
        opened = [
            (request, probe)
            for request, probe in pairs
            if probe is None or probe.graph is None or not is_sure(request, probe.graph)
        ]
        read = opened[: most if len(opened) == len(pairs) else min(most, _MOST_READ_BESIDE)]
        chosen: tuple[str, ...] = (SourceName.GRAPH,)
        reason = "rule: the graph links entity and relation surely"
        if read:
            chosen, reason = self._choose(node_id, [request for request, _ in read], [probe for _, probe in read])
        only = (SourceName.GRAPH,)
        told = chosen if len(read) == len(pairs) else tuple(dict.fromkeys((*only, *chosen)))
        self.recorder.emit(SourcesSelected(node_id=node_id, sources=told, reason=reason))
        being_read = {id(request) for request, _ in read}
        gathered = run_each(
            lambda pair: self._ask(node_id, pair[0], chosen if id(pair[0]) in being_read else only, pair[1]),
            pairs,
            self.settings.llm.parallel,
        )
        if len(opened) > len(read) and chosen != only:
            left = f"{len(opened) - len(read)} of {len(pairs)} were looked up in the graph alone (limit {len(read)})"
            gathered[0].dropped.append(left)
        return gathered

    def _gather_fixed(
        self, node_id: int, requests: Sequence[Request], most: int, wanted: Sequence[str]
    ) -> list[SourceResults]:
        permitted = self.permitted(node_id)
        names = tuple(name for name in permitted if name in wanted)
        notes = [
            f"{name} was not asked: {'not to be used in this step' if name in self.sources else 'it is not at hand'}"
            for name in wanted
            if name not in permitted
        ]
        gathered = [SourceResults() for _ in requests]
        if names and requests:
            self.recorder.emit(SourcesSelected(node_id=node_id, sources=names, reason="set by the method"))
            probes: Sequence[SourceResults | None] = [None] * len(requests)
            beyond = names
            if SourceName.GRAPH in names and self.asks_set(node_id, requests):
                probes, beyond = self._probe(node_id, requests), (SourceName.GRAPH,)
            gathered = run_each(
                lambda item: self._ask(node_id, item[1], names if item[0] < most else beyond, item[2]),
                list(zip(range(len(requests)), requests, probes, strict=True)),
                self.settings.llm.parallel,
            )
            if beyond != names and len(requests) > most:
                left = len(requests) - most
                notes.append(f"{left} of {len(requests)} were looked up in the graph alone (limit {most})")
        if gathered:
            gathered[0].dropped.extend(notes)
        return gathered

    def everywhere(self, node_id: int, request: Request) -> SourceResults:
        """Ask every source available, without choosing."""
        names = self.permitted(node_id)
        self.recorder.emit(SourcesSelected(node_id=node_id, sources=names, reason="all sources"))
        return self._ask(node_id, request, names, None)

    def nearest(self, node_id: int, question: str, number: int) -> SourceResults:
        """The passages nearest to the question as it is asked, best first. The graph is not asked.

        Of some more that each source finds those are taken that most likely answer, by :meth:`Reader.likeliest`.

        Args:
            number: passages of each source.
        """
        names = tuple(name for name in self.permitted(node_id) if name != SourceName.GRAPH)
        self.recorder.emit(SourcesSelected(node_id=node_id, sources=names, reason="passages nearest to the question"))
        request = Request(question, question, top_k=max(number, CANDIDATES))
        return self._ask(node_id, request, names, None, lambda found: self.reader.likeliest(question, found, number))

    def _probe(self, node_id: int, requests: Sequence[Request]) -> list[SourceResults | None]:
        """Ask the graph first: it answers in milliseconds, and its answer decides whether others are asked."""
        if SourceName.GRAPH not in self.permitted(node_id):
            return [None] * len(requests)
        graph = self.sources[SourceName.GRAPH]
        if isinstance(graph, SetSource) and self.asks_set(node_id, requests):
            return list(self._set(node_id, graph, requests))
        found = [self._one(node_id, SourceName.GRAPH, request) for request in requests]
        if self.asked_again is not None and len(requests) == 1:
            return [self.asked_again(node_id, requests[0], found[0])]
        return list(found)

    def _set(self, node_id: int, graph: SetSource, requests: Sequence[Request]) -> list[SourceResults]:
        """One request for all of them."""
        self.cancellation.check()
        query = ", ".join(dict.fromkeys(request.query for request in requests[:_QUERIES_SHOWN]))
        more = f" and {len(requests) - _QUERIES_SHOWN} more" if len(requests) > _QUERIES_SHOWN else ""
        self.recorder.emit(RetrievalStarted(node_id=node_id, source=SourceName.GRAPH, query=query + more))
        try:
            found = graph.retrieve_set(requests, self.cancellation)
        except Cancelled:
            raise
        except SourceError as error:
            return [self._failed(node_id, SourceName.GRAPH, error)] * len(requests)
        return [self._taken_in(node_id, SourceName.GRAPH, retrieval) for retrieval in found]

    def _choose(
        self, node_id: int, requests: Sequence[Request], probes: Sequence[SourceResults | None]
    ) -> tuple[tuple[str, ...], str]:
        names = self.permitted(node_id)
        if len(names) == 1:
            return names, "only source"
        graphs = [probe.graph for probe in probes if probe is not None and probe.graph is not None]
        if self.settings.features.source_rules and len(graphs) == len(requests) and all(map(is_sure, requests, graphs)):
            return (SourceName.GRAPH,), "rule: the graph links entity and relation surely"
        if graphs and not any(graph.evidence for graph in graphs):
            names = tuple(name for name in names if name != SourceName.GRAPH)
            if len(names) == 1:
                return names, "rule: the graph has nothing on it"
        options = [
            ", ".join(combination)
            for size in range(1, len(names) + 1)
            for combination in itertools.combinations(names, size)
        ]
        answer = self.reader.choose(node_id, requests[0].question, options)
        return tuple(answer.split(", ")), "model"

    def _ask(
        self,
        node_id: int,
        request: Request,
        chosen: Sequence[str],
        probe: SourceResults | None,
        pick: Callable[[Sequence[Evidence]], Sequence[Evidence]] | None = None,
    ) -> SourceResults:
        """What the chosen sources have.

        Args:
            pick: chooses from what a source finds; the others are not recorded.
        """
        merged = SourceResults(probed=probe.graph if probe is not None else None)
        if probe is not None and SourceName.GRAPH not in chosen:
            merged.problems.extend(probe.problems)

        def one(name: str) -> SourceResults:
            return probe if name == SourceName.GRAPH and probe is not None else self._one(node_id, name, request, pick)

        for name, found in zip(chosen, run_each(one, chosen, self.settings.llm.parallel), strict=True):
            add_evidence(merged.evidence, found.evidence)
            merged.dropped.extend(found.dropped)
            merged.problems.extend(found.problems)
            if name == SourceName.GRAPH:
                merged.graph, merged.graph_evidence = found.graph, found.graph_evidence
                merged.probed = found.graph
        return merged

    def _one(
        self,
        node_id: int,
        name: str,
        request: Request,
        pick: Callable[[Sequence[Evidence]], Sequence[Evidence]] | None = None,
    ) -> SourceResults:
        self.cancellation.check()
        self.recorder.emit(RetrievalStarted(node_id=node_id, source=name, query=request.query))
        try:
            retrieval = self.sources[name].retrieve(request, self.cancellation)
        except Cancelled:
            raise
        except SourceError as error:
            return self._failed(node_id, name, error)
        if pick is not None:
            retrieval = replace(retrieval, evidence=tuple(pick(retrieval.evidence)))
        return self._taken_in(node_id, name, retrieval)

    def _failed(self, node_id: int, name: str, error: SourceError) -> SourceResults:
        """The empty result of a source that failed: the others may still have an answer."""
        where = "" if node_id == ROOT_ID else f"step {node_id}: "
        self.recorder.emit(WarningRaised(message=f"{where}{error.title}: {error.message}"))
        return SourceResults(problems=[f"{name}: {error.message}"])

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
