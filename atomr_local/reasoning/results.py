"""The result of a node, as the nodes that depend on it see it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.reading.citation_verification import supported
from atomr_local.reasoning.trace.schema import Method, Outcome
from atomr_local.sources.protocol import Evidence, Value, ValueKind

MOST_TOLD = 200


@dataclass(frozen=True, slots=True)
class Action:
    """The use of a tool: its name and what it was given."""

    name: str
    input: str


@dataclass
class Result:
    """A node's result; no values means Unknown.

    Attributes:
        evidence: everything retrieved for it, best first.
        cited: ids of the evidence that the answer names.
        computation: the symbolic step that gave the answer, as text.
        dropped: notes about what limits left out.
        computed: whether the answer comes from a symbolic step, here or below, so that no passage contains it.
        reason: why there is no answer, as a clause ("step 2 gave 'Paris'; a date is needed"); "" if unknown.
        none: whether the result is known to be empty, for example if no entity satisfies a condition.
        without: what the step found no value for, if it found values for others.
        signals: signals for and against the answer by name ("link", "relation", "null", "verify", …); 0 to 1.
        linked: labels of the entities that the graph linked the operator's first arguments to.
        near: if the graph has the entity but not what was asked: labels of its most similar properties, best first.
        others: alternative answers, each with its confidence, best first.
        thought: what the model wrote before it acted or answered.
        action: the tool that the step used.
        observation: what the tool returned, as the model saw it.
        candidates: the answers that were weighed, best first.
        corrected_from: what the model had written before evidence corrected it; "" if it did not know; None if
            nothing was corrected. Of a step without answers it is a statement, and `thought` the corrected one.
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
    thought: str = ""
    action: Action | None = None
    observation: str = ""
    candidates: tuple[Candidate, ...] = ()
    corrected_from: str | None = None

    @property
    def outcome(self) -> Outcome | None:
        """How the step ended; None if it failed. A guess counts as not found, a known empty result as computed."""
        if self.none and not self.values:
            return "computed"
        if not self.values or self.signals.get("guess"):
            return None if self.error and not self.values else "not found"
        if self.from_memory:
            return "memory"
        return "computed" if self.computed and self.method is not None else "found"

    @property
    def from_memory(self) -> bool:
        """Whether the answer is the model's own knowledge, and no evidence is cited for any part of it."""
        chosen = self.method == "aggregate" and bool(self.signals.get("memory")) and not self.cited
        return self.method == "closed_book" or chosen

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(value.text for value in self.values)

    @property
    def of(self) -> tuple[tuple[str, ...], ...]:
        """For each value the names of what it is a value of; () if none is known."""
        owners = tuple(tuple(owner.text for owner in value.of) for value in self.values)
        return owners if any(owners) else ()

    @property
    def scores(self) -> tuple[float, ...]:
        """The score of each of several values; () if not all are known."""
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

    @property
    def told(self) -> str:
        """The answer as a question or a model's prompt has it: of more than MOST_TOLD values the first, and how many
        others there are."""
        if len(self.values) <= MOST_TOLD:
            return self.answer
        return f"{', '.join(value.text for value in self.values[:MOST_TOLD])} and {len(self.values) - MOST_TOLD} more"


def add_evidence(known: list[Evidence], found: Iterable[Evidence]) -> None:
    """Append new evidence, compared by id: the same passage has different scores for different queries."""
    ids = {item.id for item in known}
    for item in found:
        if item.id not in ids:
            ids.add(item.id)
            known.append(item)


def distinct(values: tuple[Value, ...] | list[Value]) -> tuple[Value, ...]:
    """Values in order, each once: compared by graph entity if known, else by text without regard to case.

    A value of several things, such as the length of two rivers, keeps all of them.
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
    """The product of the known parts; None if there is none."""
    known = [part for part in parts if part is not None]
    return math.prod(known) if known else None


def text_values(texts: Iterable[str]) -> tuple[Value, ...]:
    return distinct([Value(text, ValueKind.TEXT) for text in texts])


def citations_hold(result: Result) -> bool | None:
    """The citation check; None for a result that no passage contains literally."""
    if result.computed or result.from_memory:
        return None
    by_id = {item.id: item for item in result.evidence}
    return supported(result.texts, [by_id[item] for item in result.cited if item in by_id])
