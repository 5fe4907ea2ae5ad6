"""The final response of `humaniq`: text, graph and the model's own knowledge in one call, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.asking.forms import Form, Line, worked_examples
from atomr_local.reasoning.candidates import UNKNOWN, Candidate, mean
from atomr_local.reasoning.operations.comparison import alike
from atomr_local.reasoning.reading.citation_verification import holds
from atomr_local.reasoning.results import Result, text_values
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.closing import final_values, result_of

_PACKAGE = "atomr_local.strategies.humaniq"
_ANSWER = "Answer"
_FORM = Form(_PACKAGE, "response", (Line(_ANSWER),), worked_examples(_PACKAGE, "response_examples"))
OWN_ALONE = "neither the text nor the graph has an answer: this is the model's own knowledge"
OF_NONE = "the answer is none of those that were found: it is the model's own"
_NAMES = {"text": "the text", "graph": "the graph", "model": "the model's own knowledge"}


@dataclass
class Side:
    """What one origin answers.

    Attributes:
        leans: whether its answer rests on one of the other source, which it then cannot confirm.
    """

    origin: str
    values: tuple[Value, ...] = ()
    evidence: list[Evidence] = field(default_factory=list)
    leans: bool = False

    @property
    def answer(self) -> str:
        return ", ".join(value.text for value in self.values) or UNKNOWN

    @property
    def shown_by(self) -> list[Evidence]:
        """The evidence that holds the answer; all that it was concluded from, where none does."""
        held = [item for item in self.evidence if any(holds(value.text, item) for value in self.values)]
        return held or self.evidence


def responded(node_id: int, question: str, text: Side, graph: Side, tools: Toolbox) -> Result:
    """The answer to the question from its three sides.

    Its confidence is the mean of how surely the response was written and the share of the three sides that agree
    independently of each other.
    """
    own = Side("model")
    notes: list[str] = []
    try:
        recalled = result_of(tools.reader.from_memory(node_id, question), "closed_book", ())
        own.values = recalled.values
    except Cancelled:
        raise
    except AtomrError as error:
        recalled = Result()
        notes.append(f"the model's own knowledge was not asked: {error.message}")
    sides = (text, graph, own)
    known = [side for side in (text, graph) if side.values]
    if not known:
        recalled.dropped += [*notes, *([OWN_ALONE] if recalled.values else [])]
        return recalled
    values, sure = _written(node_id, question, sides, tools, notes)
    agreeing = [side for side in sides if side.values and same(side.values, values)]
    found = [side for side in agreeing if side is not own]
    if values and not found:
        notes.append(OF_NONE)
    share = len(independent(agreeing)) / len(sides)
    result = Result(
        values,
        "tool" if found else "closed_book",
        mean((sure, share)) if values else None,
        cited=[item.id for side in found for item in side.shown_by],
        dropped=[agreement(sides, values), *notes],
        candidates=tuple(
            Candidate(side.values, None, side.origin, tuple(item.id for item in side.shown_by if item.id))
            for side in sorted(sides, key=lambda side: side not in agreeing)
        ),
    )
    result.cited = list(dict.fromkeys(result.cited))
    result.computed = bool(found) and not any(
        holds(value.text, item) for value in values for side in found for item in side.evidence
    )
    return result if values else Result(dropped=result.dropped, candidates=result.candidates)


def _written(
    node_id: int, question: str, sides: Sequence[Side], tools: Toolbox, notes: list[str]
) -> tuple[tuple[Value, ...], float | None]:
    """The response, and how surely it was written."""
    text, graph, own = sides
    if tools.asking.lean:
        return _chosen(node_id, question, text, graph, tools)
    [written] = tools.writer.write(
        node_id, "final response", _FORM, question=question, text=text.answer, graph=graph.answer, own=own.answer
    )
    notes += written.dropped
    if written.problem is not None:
        notes.append(written.problem)
    values = final_values(written[_ANSWER]) if written[_ANSWER] else ()
    if not values:
        first = text if text.values else graph
        notes.append(f"the model gave no final response: this is the answer of {_NAMES[first.origin]}")
        return first.values, None
    # Several answers are several again, and an entity stays one.
    known = next((side.values for side in (graph, text, own) if side.values and same(side.values, values)), values)
    logprob = written.logprob(_ANSWER)
    return known, None if logprob is None else math.exp(logprob)


def _chosen(
    node_id: int, question: str, text: Side, graph: Side, tools: Toolbox
) -> tuple[tuple[Value, ...], float | None]:
    """Of a model that has learnt closed tasks alone: what both say, what one says, or what it makes of the two."""
    if not text.values or not graph.values or same(text.values, graph.values):
        return graph.values or text.values, None
    reading = tools.reader.from_steps(node_id, question, [(question, text.answer), (question, graph.answer)])
    made = text_values(reading.answers)
    known = next((side.values for side in (graph, text) if same(side.values, made)), ())
    return known or text.values, reading.confidence if known else None


def same(one: Sequence[Value], other: Sequence[Value]) -> bool:
    """Whether two answers name the same things, in any order."""
    keys = [answer_key(", ".join(value.text for value in values)) for values in (one, other)]
    if keys[0] == keys[1]:
        return True
    left = list(other)
    for value in one:
        match = next((item for item in left if alike(value, item) is True), None)
        if match is None:
            return _split(one, other)
        left.remove(match)
    return not left


def independent(agreeing: Sequence[Side]) -> list[Side]:
    """Those of sides that say the same whose answer does not rest on another's."""
    by_source = [side for side in agreeing if side.origin != "model"]
    own = [side for side in by_source if not side.leans] or by_source[:1]
    return [side for side in agreeing if side in own or side.origin == "model"]


def _split(one: Sequence[Value], other: Sequence[Value]) -> bool:
    """Whether one of the answers lists in one text what the other has apart."""
    alone, several = sorted((one, other), key=len)
    if len(alone) != 1 or len(several) < 2:
        return False
    parts = alone[0].text.replace(" and ", ", ").split(", ")
    return sorted(answer_key(part) for part in parts if part.strip()) == sorted(answer_key(v.text) for v in several)


def agreement(sides: Sequence[Side], response: Sequence[Value]) -> str:
    """Who says what, in a sentence: the agreement, or that there is none."""
    known = [side for side in sides if side.values]
    agreeing = [side for side in known if same(side.values, response)]
    others = [side for side in known if side not in agreeing]
    counted = independent(agreeing)
    leaning = [
        f"{_NAMES[side.origin]} says the same, but rests on {_NAMES['text' if side.origin == 'graph' else 'graph']}"
        for side in agreeing
        if side not in counted
    ]
    says = "; ".join([*leaning, *(f"{_NAMES[side.origin]} says {side.answer}" for side in others)])
    if not agreeing:
        return f"no agreement: {says}"
    told = " and ".join(filter(None, (", ".join(_NAMES[s.origin] for s in counted[:-1]), _NAMES[counted[-1].origin])))
    if len(counted) == 1:
        if not others:
            return f"{told} alone answers: {says or 'nothing verifies it'}"
        return f"disagreement: the answer is that of {told}; {says}"
    return f"{told} agree{'; ' + says if says else ''}"
