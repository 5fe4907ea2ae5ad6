"""The result of a node, as the nodes that depend on it see it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from atomr_local.reasoning.reading.citation_verification import supported
from atomr_local.reasoning.trace.events import NodeFinished
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import Method, Outcome
from atomr_local.sources.protocol import Evidence, Value, ValueKind


@dataclass
class Result:
    """A node's result; no values means Unknown.

    Attributes:
        evidence: everything retrieved for it, best first.
        cited: ids of the evidence that the answer names.
        computation: the symbolic step that gave the answer, as text.
        dropped: what limits left out.
        computed: whether the answer comes from a symbolic step, here or below: no passage spells it out.
        reason: why there is no answer, a clause for people ("step 2 gave 'Paris'; a date is needed"); "" where unknown.
        none: whether it is known that nothing is the answer, as where no entity satisfies a condition.
        without: what the step was asked about and found nothing for, where it found something for others.
        signals: what speaks for and against the answer, by name ("link", "relation", "null", "verify", …); 0 to 1.
        linked: labels of the entities that the graph took the operator's first arguments for.
        near: if the graph has the entity but not what was asked: labels of its properties, the nearest first.
        others: answers that might stand in this one's place, each with its confidence, the surest first.
    """

    values: tuple[Value, ...] = ()
    method: Method | None = None
    confidence: float | None = None
    evidence: list[Evidence] = field(default_factory=list)
    cited: list[str] = field(default_factory=list)
    computation: str | None = None
    dropped: list[str] = field(default_factory=list)
    error: dict[str, str] | None = None
    others: tuple[tuple[Value, float], ...] = ()
    computed: bool = False
    reason: str = ""
    none: bool = False
    without: tuple[Value, ...] = ()
    signals: dict[str, float] = field(default_factory=dict)
    linked: tuple[str, ...] = ()
    near: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome | None:
        """How the step ended; None if it failed. A guess (signal "guess") is a value that was not found;
        nothing that is known to be nothing was computed."""
        if self.none and not self.values:
            return "computed"
        if not self.values or self.signals.get("guess"):
            return None if self.error and not self.values else "not found"
        if self.method == "closed_book":
            return "memory"
        return "computed" if self.computed and self.method is not None else "found"

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(value.text for value in self.values)

    @property
    def of(self) -> tuple[tuple[str, ...], ...]:
        """For each value the names of what it is a value of; () where none says so."""
        owners = tuple(tuple(owner.text for owner in value.of) for value in self.values)
        return owners if any(owners) else ()

    @property
    def scores(self) -> tuple[float, ...]:
        """How sure each of several values is by itself; () where that is not known of all."""
        scores = tuple(value.score for value in self.values if value.score is not None)
        return scores if len(self.values) == len(scores) > 1 else ()

    @property
    def entities(self) -> tuple[str | None, ...]:
        """For each value the graph entity that it names; empty if none names one."""
        iris = tuple(value.iri for value in self.values)
        return iris if any(iris) else ()

    @property
    def answer(self) -> str:
        return ", ".join(self.texts) if self.values else "Unknown"


def add_evidence(known: list[Evidence], found: Iterable[Evidence]) -> None:
    """Append what is not there yet, by id; the same passage has another score for another query."""
    ids = {item.id for item in known}
    for item in found:
        if item.id not in ids:
            ids.add(item.id)
            known.append(item)


def distinct(values: tuple[Value, ...] | list[Value]) -> tuple[Value, ...]:
    """Values in order, each once: by graph entity where known, else by text without regard to case.

    One that is of several things, such as the length that two rivers share, stays a value of each of them.
    """
    seen: dict[str, Value] = {}
    for value in values:
        key = value.iri or value.text.casefold()
        known = seen.get(key)
        if known is None:
            seen[key] = value
        elif value.of and value.of != known.of:
            seen[key] = replace(known, of=distinct((*known.of, *value.of)))
    return tuple(seen.values())


def product_confidence(*parts: float | None) -> float | None:
    """The product of those that are known; None when none is."""
    known = [part for part in parts if part is not None]
    return math.prod(known) if known else None


def text_values(texts: Iterable[str]) -> tuple[Value, ...]:
    return distinct([Value(text, ValueKind.TEXT) for text in texts])


def node_finished(
    recorder: Recorder, node_id: int, result: Result, *, supported: bool | None, seconds: float
) -> NodeFinished:
    """The event, not emitted yet.

    Args:
        supported: the result of the citation check.
        seconds: the node's wall-clock time.
    """
    return NodeFinished.from_fields(
        node_id,
        result,
        answers=result.texts,
        evidence=tuple(dict.fromkeys(item.id for item in result.evidence)),
        supported=supported,
        seconds=round(seconds, 3),
        llm=recorder.use_of(node_id),
    )


def citations_hold(result: Result) -> bool | None:
    """The citation check; None for a result that no passage spells out."""
    if result.computed or result.method == "closed_book":
        return None
    by_id = {item.id: item for item in result.evidence}
    return supported(result.texts, [by_id[item] for item in result.cited if item in by_id])
