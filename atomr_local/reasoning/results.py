"""The result of a node, as the nodes that depend on it see it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

from atomr_local.language.names import names_in
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.confidence import SUBJECT
from atomr_local.reasoning.planning.coverage import searched_name
from atomr_local.reasoning.reading.checks import supported
from atomr_local.reasoning.trace import Method, Outcome, StepNotes
from atomr_local.sources.protocol import Evidence, Quote, Value, ValueKind
from atomr_local.tree.calls import given_text
from atomr_local.tree.nodes import REFERENCE, Literal, Node, Operator, References, Tree

MOST_TOLD = 200


@dataclass(frozen=True, slots=True)
class Action:
    """The use of a tool: its name and what it was given."""

    name: str
    input: str

    def to_dict(self) -> dict[str, str]:
        """The action as events and the trace write it."""
        return {"name": self.name, "input": self.input}


@dataclass
class Result(StepNotes):
    """A node's result; no values means Unknown. Of a corrected step without values, `thought` is the new statement.

    Attributes:
        evidence: everything retrieved for it, best first.
        others: alternative answers, each with its confidence, best first.
        computed: whether the answer comes from a symbolic step, here or below, so that no passage contains it.
        none: whether the result is known to be empty, for example if no entity satisfies a condition.
        without: what the step found no value for, if it found values for others.
        action: the tool that the step used.
        candidates: the answers that were weighed, best first.
        quotes: where the answer stands in the evidence, or the sentences that tell a short answer.
    """

    values: tuple[Value, ...] = ()
    method: Method | None = None
    confidence: float | None = None
    evidence: list[Evidence] = field(default_factory=list)
    _: KW_ONLY
    others: tuple[tuple[Value, float], ...] = ()
    computed: bool = False
    none: bool = False
    without: tuple[Value, ...] = ()
    action: Action | None = None
    candidates: tuple[Candidate, ...] = ()
    quotes: tuple[Quote, ...] = ()

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
    def cited_evidence(self) -> list[Evidence]:
        return [item for item in self.evidence if item.id in self.cited]

    @property
    def quoted(self) -> str:
        """The text of all quotations."""
        texts = {item.id: item.text for item in self.evidence}
        return " ".join(texts[quote.evidence][quote.start : quote.end] for quote in self.quotes)

    def without_answer(self, reason: str) -> Result:
        """Its evidence and notes; the answer is noted behind the reason why it is none."""
        return Result(evidence=self.evidence, dropped=[*self.dropped, f"{reason}: {self.answer}"])

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
    """The citation check, which fails too where the evidence is about another; None for a result that no passage
    contains literally."""
    if result.computed or result.from_memory:
        return None
    by_id = {item.id: item for item in result.evidence}
    if result.signals.get(SUBJECT) == 0.0:
        return False
    return supported(result.texts, [by_id[item] for item in result.cited if item in by_id])


# Resolves references: replaces `[i]` by the values of step i.


def fill_question(tree: Tree, text: str, results: Mapping[int, Result]) -> str:
    """`text` with each `[i]` replaced by that node's answer as :attr:`Result.told` has it, or by its question in
    parentheses if it has none."""

    def replacement(match: re.Match[str]) -> str:
        number = int(match[1])
        result = results.get(number)
        if result is not None and result.values:
            return result.told
        try:
            asked = tree.node(number).question.rstrip("?")
        except KeyError:
            return match[0]
        return f"({REFERENCE.sub('it', asked)})"

    return REFERENCE.sub(replacement, text)


def asked_about(tree: Tree) -> tuple[str, ...]:
    """The name that a question of a single look-up is about.

    () if the plan has several, whose answer the page of another may tell, or if it is not known.
    """
    calls = [node.call for node in tree.nodes() if node.call is not None]
    if sum(call.operator is not Operator.SEARCH for call in calls) > 1 or any(n.operation for n in tree.nodes()):
        return ()
    found = [name for call in calls if call.arguments and (name := given_text(call.arguments[0]))]
    if tree.is_direct:  # the first word of a question has a capital letter whatever it is
        names = [name.rstrip("?!.") for name in names_in([tree.question])]
        found = [name for name in names if not tree.question.startswith(name)]
    return tuple(found) if len(found) == 1 else ()


def resolve_arguments(
    tree: Tree, node: Node, results: Mapping[int, Result], cap: int
) -> tuple[list[tuple[Value, ...]], list[str]]:
    """The values for the operator's arguments: the product over multi-valued references, at most `cap` of them.

    Returns:
        One tuple of values for each run of the operator, none if a referenced node has no answer; and notes about
        values beyond the cap and about names used instead of missing answers.
    """
    assert node.call is not None
    missing: list[int] = []
    dropped: list[str] = []

    def values_of(node_id: int) -> tuple[Value, ...]:
        result = results.get(node_id)
        if result is not None and result.values:
            return result.values
        if name := searched_name(tree.node(node_id)):
            dropped.append(f"step {node_id} found nothing; its name {name!r} is used as it stands")
            return (Value(name),)
        missing.append(node_id)
        return ()

    columns: list[tuple[Value, ...]] = []
    for argument in node.call.arguments:
        if isinstance(argument, References):
            columns.append(distinct([value for i in argument.ids for value in values_of(i)]))
        elif not argument.references:
            columns.append((Value(argument.text),))
        else:
            columns.append(_filled_texts(argument, {i: values_of(i) for i in argument.references}))
    if missing:
        return [], dropped
    total = math.prod(map(len, columns))
    if total > cap:
        dropped.append(f"{total - cap} of {total} combinations of values left out (limit {cap})")
    return list(itertools.islice(itertools.product(*columns), cap)), dropped


def _filled_texts(argument: Literal, answers: Mapping[int, tuple[Value, ...]]) -> tuple[Value, ...]:
    """The text once for each combination of the answers it refers to."""
    ids = list(answers)
    texts = []
    for chosen in itertools.product(*(answers[i] for i in ids)):
        by_id = dict(zip(ids, chosen, strict=True))
        texts.append(Value(REFERENCE.sub(lambda match, by_id=by_id: by_id[int(match[1])].text, argument.text)))  # type: ignore[misc]
    return tuple(texts)


def subjects(tree: Tree, node_id: int, results: Mapping[int, Result]) -> tuple[Value, ...]:
    """What a node's answer is about, nearest first: the chain of heads back to a name given in the plan."""
    chain: list[Value] = []
    seen: set[int] = set()
    current: int | None = node_id
    while current is not None and current not in seen:
        seen.add(current)
        node = tree.node(current)
        if node.call is None:
            if node.children:
                current = node.children[-1].id
                continue
            break
        head = node.call.arguments[0]
        if name := given_text(head):
            chain.append(Value(name))
            break
        current = head.references[0] if head.references else None
        if current is not None and node.call.operator is not Operator.SEARCH and current in results:
            chain.extend(results[current].values[:1])
    return distinct(chain)


# Combinations of the answers that a question rests on, one candidate of each step (RoHT, section 3.3).


@dataclass(frozen=True)
class Combination:
    """One candidate of each step that is referred to.

    Attributes:
        results: of all steps, those of the referred ones with the chosen candidate alone.
        scores: of the chosen candidates; 0 for a step without an answer, None where it is not known.
    """

    results: Mapping[int, Result]
    scores: tuple[float | None, ...] = ()


def combinations(results: Mapping[int, Result], steps: Sequence[int], cap: int) -> tuple[list[Combination], int]:
    """The `cap` combinations with the highest mean score, best first, and how many others there are.

    Without steps there is one, which chooses nothing.
    """
    columns = [_candidates(results.get(step, Result())) for step in steps]
    # The best sums over all columns continue the best ones over the first columns, so that no others are kept.
    best: list[tuple[Candidate, ...]] = [()]
    for column in columns:
        longer = [(*chosen, one) for chosen in best for one in column]
        best = sorted(longer, key=lambda chosen: -sum(one.score or 0.0 for one in chosen))[:cap]
    made = []
    for chosen in best:
        alone = {
            step: replace(
                results.get(step, Result()),
                values=one.values, cited=list(one.evidence), quotes=(), confidence=one.score, none=False,
            )
            for step, one in zip(steps, chosen, strict=True)
        }  # fmt: skip
        made.append(Combination({**results, **alone}, tuple(one.score for one in chosen)))
    return made, math.prod(map(len, columns)) - len(made)


def _candidates(result: Result) -> list[Candidate]:
    if not result.values:
        return [Candidate((), 0.0, "")]
    own = Candidate(result.values, result.confidence, "", tuple(result.cited))
    known = [one for one in result.candidates if one.values]
    if not known:
        return [own]
    # The winner's values may know more: what they denote, and what they are values of.
    return [replace(known[0], values=own.values), *known[1:]]
