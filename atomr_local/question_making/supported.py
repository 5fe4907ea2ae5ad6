"""Which questions the indexes still support: whether each fact stands where its line says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from atomr_local.errors import SourceError
from atomr_local.language.literals import parse_date
from atomr_local.language.names import name_key
from atomr_local.question_making.hops import Hop
from atomr_local.question_making.knowledge import Knowledge, Property
from atomr_local.question_making.lines import Line
from atomr_local.sources.graph.knowledge_graph import bound


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A question whose facts are no longer as they were. Untrusted."""

    line: Line
    problems: tuple[str, ...]


def unsupported(lines: Iterable[Line], knowledge: Knowledge) -> Iterator[Unsupported]:
    """The questions that the indexes no longer support, each with what is missing.

    What the web said is not looked for again.
    """
    for line in lines:
        problems = tuple(problem for hop in line.hops for problem in _problems(hop, knowledge))
        if problems:
            yield Unsupported(line, problems)


def _problems(hop: Hop, knowledge: Knowledge) -> Iterator[str]:
    if hop.source == "text":
        yield from _in_passage(hop, knowledge)
    elif hop.source == "graph":
        yield from _in_graph(hop, knowledge)


def _in_passage(hop: Hop, knowledge: Knowledge) -> Iterator[str]:
    for identifier in hop.evidence:
        passage = knowledge.passages.passage(identifier)
        if passage is None:
            yield f"the passage {identifier} is gone"
        elif name_key(passage.title) != name_key(hop.head):
            yield f"the passage {identifier} is of the page {passage.title!r}, not {hop.head!r}"
        elif not any(
            fact.relation == hop.relation and fact.value == hop.tail for fact in knowledge.facts(passage)
        ) and not (hop.span and passage.text[hop.span[0] : hop.span[1]] == hop.tail):
            yield f"the passage {identifier} no longer says {hop.relation}: {hop.tail}"


def _in_graph(hop: Hop, knowledge: Knowledge) -> Iterator[str]:
    """The entity of the triples must have these values of the relation, and no others."""
    subject = hop.evidence[0].partition("> ")[0].removeprefix("<")
    found = _properties(subject, knowledge)
    now = next((prop for prop in found if prop.label == hop.relation), None)
    if now is None:
        yield f"the graph has no {hop.relation} of {hop.head}"
        return
    told, known = ({_key(value): value for value in values} for values in (hop.tails, now.values))
    if gone := told.keys() - known.keys():
        yield f"the graph no longer says {hop.relation} of {hop.head}: {told[min(gone)]}"
    elif more := known.keys() - told.keys():
        yield f"the graph says another {hop.relation} of {hop.head}: {known[min(more)]}"


def _key(value: str) -> str:
    """Equal for equal values, a date in any form."""
    date = parse_date(value, bare_year=False)
    return str(date) if date is not None else name_key(value)


def _properties(subject: str, knowledge: Knowledge) -> list[Property]:
    try:
        bound(subject)
    except SourceError:  # the file is not ours
        return []
    return knowledge.properties(subject)
