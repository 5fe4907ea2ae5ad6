"""Result reuse: after a correction, unaffected steps keep their results.

Nodes are compared by content: the operator, the words and the nodes they depend on. Numbers do not count, because a
plan may have been renumbered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from atomr_local.errors import InputError
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.results import Action, Result, fill_question
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace import StepNotes, take_over
from atomr_local.reasoning.trace.events import EvidenceFound, NodeStarted, SourcesSelected
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.sources.protocol import Evidence, Quote, SourceName, Value, ValueKind
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import REFERENCE, Literal, Node, Operator, Tree

# Revision: the user's corrections of an answer, checked.

_LONGEST_ANSWER = 500
_MOST_ANSWERS = 100


@dataclass(frozen=True)
class Revision:
    """The user's corrections of an answered question. Nodes have the numbers of the new plan.

    Attributes:
        base: the trace of the corrected answer.
        sources: by node, the only sources that it may use, among those of the question.
        answers: answers given by the user; such a node does not run.
        rerun: nodes to run again although they did not change.
    """

    base: Trace
    sources: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    answers: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    rerun: frozenset[int] = frozenset()

    def checked(self, tree: Tree, available: Collection[str]) -> Revision:
        """The revision with its answers cleaned.

        Args:
            available: the sources that the question may use.

        Raises:
            InputError: it names an unknown node or source, or an answer is empty or too long.
        """
        known = {node.id for node in tree.nodes()}
        for node_id in (*self.sources, *self.answers, *self.rerun):
            if node_id not in known:
                raise InputError(
                    f"the plan has no step {node_id}", hint="Steps are named by their numbers in the plan."
                )
        for node_id, names in self.sources.items():
            for name in names:
                if name not in {*SourceName, *available}:
                    raise InputError(f"step {node_id}: there is no source named {sanitize_line(str(name))!r}")
            if not set(names) & set(available):
                raise InputError(
                    f"step {node_id} may use {', '.join(names) or 'nothing'}, and the question may not use that",
                    hint="Switch the source on, or let the step use others.",
                )
        return replace(self, answers={i: _answers(i, given) for i, given in self.answers.items()})

    @property
    def named(self) -> frozenset[int]:
        """The nodes that a correction names."""
        return frozenset({*self.sources, *self.answers, *self.rerun})

    @property
    def plan(self) -> Tree:
        """The plan of the corrected answer.

        Raises:
            InputError: the trace holds no whole plan.
        """
        if self.base.plan.origin == "steps":
            raise InputError(
                "the answer has no plan: each of its steps followed from the ones before",
                hint="Ask the question again.",
            )
        try:
            return parse_compact(self.base.plan.compact, self.base.question)
        except TreeError as error:
            raise InputError(f"the answer's plan cannot be read: {error.message}", hint="Give the plan.") from error


def _answers(node_id: int, given: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, str):
        given = (given,)
    texts = tuple(dict.fromkeys(text for item in given if (text := sanitize_line(item))))
    if not texts:
        raise InputError(f"the answer given for step {node_id} is empty")
    if len(texts) > _MOST_ANSWERS or any(len(text) > _LONGEST_ANSWER for text in texts):
        raise InputError(
            f"the answer given for step {node_id} is too long",
            hint=f"At most {_MOST_ANSWERS} answers of {_LONGEST_ANSWER} characters each.",
        )
    return texts


_STEP = re.compile(r"\bstep (\d{1,4})\b")
_EVIDENCE = re.compile(r"\A(e\d+)\b")
_IRI = re.compile(r"https?://[^\s<>\"{}|\\^`]+")
_DESCRIBED = re.compile(r"\{ <([^<>\s]+)> \?property \?value \. \}")


@dataclass
class ResultCache:
    """What a run knows beyond its trace, for a later revision.

    Attributes:
        results: by node, with the entities of the answers.
        allowed: by node, the sources that it was restricted to.
    """

    results: dict[int, Result] = field(default_factory=dict)
    allowed: dict[int, frozenset[str]] = field(default_factory=dict)


class ReusedResults:
    """Maps nodes of a plan to the nodes of the corrected answer whose results they keep."""

    def __init__(self, tree: Tree, revision: Revision, earlier: ResultCache, available: Collection[str]) -> None:
        """Compare.

        Args:
            earlier: the cache of the run that made `revision.base`; empty if it is not available.
            available: the sources that the question may use.
        """
        self.revision = revision
        self._earlier = earlier
        self._available = frozenset(available)
        self._base = {node.id: node for node in revision.base.nodes}
        self.nodes = self._matched(tree)

    def _matched(self, tree: Tree) -> dict[int, int]:
        """Nodes of the new plan that keep a result, each with its number in the base."""
        try:
            base = self.revision.plan
        except InputError:
            return {}
        alike: dict[Any, list[int]] = {}
        same = {node.id: node.id for node in base.nodes()}
        for node in base.bottom_up():
            found = self._base.get(node.id)
            # An imported trace may not fit its own plan.
            form = _form(base, node, same)
            if form is not None and found is not None and found.question == node.question and _finished(found):
                alike.setdefault(form, []).append(node.id)
        matched: dict[int, int] = {}
        for node in tree.bottom_up():
            if node.id in self.revision.rerun:
                continue
            form = _form(tree, node, matched)
            candidates = [i for i in alike.get(form, []) if self._usable(node.id, i)] if form is not None else []
            if candidates:
                taken = set(matched.values())
                matched[node.id] = min(candidates, key=lambda i, own=node.id: (i != own, i in taken))  # type: ignore[misc]
        return matched

    def _usable(self, node_id: int, base_id: int) -> bool:
        """Whether the base's result fits the answers and sources of the revision."""
        found = self._base[base_id]
        given = self.revision.answers.get(node_id)
        if given is not None:
            return found.by_user and tuple(found.answers) == given
        wanted = self.revision.sources.get(node_id)
        if wanted is None:
            return set(found.sources) <= self._available
        allowed = self._available.intersection(wanted)
        return allowed in (frozenset(found.sources), self._earlier.allowed.get(base_id))

    def report(self, tree: Tree, cache: ResultCache, recorder: Recorder, steps: Steps) -> None:
        """Add every kept result to the trace and to `cache`, for the nodes that depend on it."""
        for node in tree.bottom_up():
            if node.id not in self.nodes:
                continue
            recorded, result = self._result(node.id, recorder, cache.results)
            question = fill_question(tree, node.instruction or node.question, cache.results)
            recorder.emit(NodeStarted(node_id=node.id, resolved_question=question))
            sources = tuple(recorded.sources)
            if sources:
                recorder.emit(SourcesSelected(node_id=node.id, sources=sources, reason="kept"))
            for name in dict.fromkeys(item.source for item in result.evidence):
                found = tuple(item for item in result.evidence if item.source == name)
                recorder.emit(EvidenceFound(node_id=node.id, source=name, evidence=found))
            steps.report(node.id, result, 0.0, as_in=recorded)
            cache.results[node.id] = result
            allowed = self._earlier.allowed.get(self.nodes[node.id])
            if allowed is not None:
                cache.allowed.setdefault(node.id, allowed)

    def _result(self, node_id: int, recorder: Recorder, before: Mapping[int, Result]) -> tuple[NodeTrace, Result]:
        """The node of the base, and its result with this trace's numbers of steps and evidence."""
        base_id = self.nodes[node_id]
        node = self._base[base_id]
        by_id = {item.id: item for item in self.revision.base.evidence}
        known = [by_id[item] for item in node.evidence if item in by_id]
        taken = recorder.take_in(known)
        names = {old.id: new.id for old, new in zip(known, taken, strict=True)}
        remembered = self._earlier.results.get(base_id)
        steps = {old: new for new, old in self.nodes.items()}
        result = Result(
            values=remembered.values if remembered is not None else _owned(_values(node, taken), node, before, steps),
            method=node.method,
            confidence=node.confidence,
            evidence=list(taken),
            # No passage contains literally what was computed.
            computed=(node.supported is None and bool(node.answers) and node.method != "closed_book")
            if remembered is None
            else remembered.computed,
            action=Action(node.action["name"], node.action["input"]) if node.action is not None else None,
            candidates=tuple(_weighed(node, remembered, names)),
            quotes=tuple(
                replace(quote, evidence=names[quote.evidence])
                for quote in map(Quote.from_dict, node.quotes)
                if quote.evidence in names
            ),
        )
        take_over(node, result, StepNotes)
        result.cited = [names[item] for item in node.cited if item in names]
        result.computation = _renumbered(node.computation, steps, names) if node.computation is not None else None
        result.dropped = [_renumbered(note, steps, names) for note in node.dropped]
        result.reason = node.reason if node.operation is not None else ""
        return node, result

    def given(self, node_id: int) -> Result | None:
        """The user's own answer, if there is one: with full confidence and without evidence."""
        texts = self.revision.answers.get(node_id)
        if texts is None:
            return None
        return Result(tuple(Value(text) for text in texts), None, 1.0, computed=True)

    @property
    def corrected(self) -> bool:
        """Whether an answer is the user's own: no other answer may replace it then."""
        return bool(self.revision.answers) or any(self._base[i].by_user for i in self.nodes.values())


def _form(tree: Tree, node: Node, numbers: Mapping[int, int]) -> Any:
    """The content of a node, with references renamed by `numbers`; None if it depends on a node without a number."""
    rests_on = {*node.references, *(child.id for child in node.children)}
    if not rests_on <= numbers.keys():
        return None

    def named(text: str) -> str:
        return " ".join(REFERENCE.sub(lambda match: f"[{numbers[int(match[1])]}]", text).split())

    arguments = node.call.arguments if node.call is not None else node.operation.operands if node.operation else ()
    call: tuple[Any, ...] = tuple(
        named(argument.text) if isinstance(argument, Literal) else tuple(numbers[i] for i in argument.ids)
        for argument in arguments
    )
    if node.operation is not None:
        call = (str(node.operation.operation), node.operation.words, *call)
    return (
        node.kind,
        call,
        named(node.question),
        named(node.instruction),
        tuple(numbers[child.id] for child in node.children),
        tree.expects,
        tree.question if node.call is None else "",  # computed steps also depend on the whole question
    )


def _weighed(node: NodeTrace, remembered: Result | None, names: Mapping[str, str]) -> Iterator[Candidate]:
    """The candidates of the base with this trace's numbers of evidence."""
    known = remembered.candidates if remembered is not None else map(Candidate.from_dict, node.candidates)
    for candidate in known:
        yield replace(candidate, evidence=tuple(names[item] for item in candidate.evidence if item in names))


def _finished(node: NodeTrace) -> bool:
    """Whether the base has a result; a failed node without one runs again."""
    return bool(node.answer) and (node.error is None or bool(node.answers))


def _renumbered(text: str, steps: Mapping[int, int], evidence: Mapping[str, str]) -> str:
    """A note of the base with this plan's numbers."""

    def step(match: re.Match[str]) -> str:
        number = int(match[1])
        return match[0].replace(match[1], str(steps.get(number, number)))

    text = _STEP.sub(step, REFERENCE.sub(step, text))
    return _EVIDENCE.sub(lambda match: evidence.get(match[1], match[1]), text)


def _values(node: NodeTrace, evidence: tuple[Evidence, ...]) -> tuple[Value, ...]:
    """The answers with their entities, from the trace or, in older traces, from the graph's rows."""
    told = zip(node.answers, node.entities, strict=False)
    known = {text: iri for text, iri in told if isinstance(iri, str) and _IRI.fullmatch(iri)}
    for item in evidence:
        if item.source != SourceName.GRAPH:
            continue
        described = _DESCRIBED.search(str(item.locator.get("sparql", "")))
        if described is not None and node.kind == Operator.SEARCH.lower() and _IRI.fullmatch(described[1]):
            known.setdefault(item.title, described[1])
        for row in item.locator.get("rows") or ():
            for name, value in row.items():
                label = row.get(f"{name}Label")
                if isinstance(label, str) and isinstance(value, str) and _IRI.fullmatch(value):
                    known.setdefault(label, value)
    return tuple(Value(text, ValueKind.ENTITY, known[text]) if text in known else Value(text) for text in node.answers)


def _owned(
    values: tuple[Value, ...], node: NodeTrace, before: Mapping[int, Result], steps: Mapping[int, int]
) -> tuple[Value, ...]:
    """The values with their owners in the trace: entities of earlier steps if known, else names."""
    if len(node.of) != len(values):
        return values
    known = {value.text: value for i in node.refs if steps.get(i) in before for value in before[steps[i]].values}
    return tuple(
        replace(value, of=tuple(known.get(name, Value(name)) for name in names))
        for value, names in zip(values, node.of, strict=True)
    )
