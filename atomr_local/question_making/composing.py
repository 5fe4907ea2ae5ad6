"""From a candidate to a question: its words, its answers and its gold plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atomr_local.page_facts.wordings import Wording, mention, wording_of
from atomr_local.planning.shorthand import search_for
from atomr_local.question_making.hops import Candidate, Form
from atomr_local.tree.compact import to_compact
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.operations import Operation, OperationCall

# Numbers of the plan's nodes.
_BRIDGE, _ANSWER, _LAST, _SEARCH, _RELATE = 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True)
class Composed:
    """A question made of a candidate.

    Attributes:
        form: short, yes/no or count.
        value: the value that a yes/no question asks to be confirmed; "" for others.
    """

    candidate: Candidate
    form: Form
    question: str
    answers: tuple[str, ...]
    value: str = ""

    @property
    def plan(self) -> Tree:
        return gold_plan(self.candidate, self.question, self.value)

    @property
    def compact(self) -> str:
        return to_compact(self.plan)

    @property
    def evidences(self) -> list[list[str]]:
        """The chain as [head, relation, tail]; of what is counted, the first."""
        return [[hop.head, hop.relation, hop.tail] for hop in (self.candidate.first, self.candidate.second)]

    @property
    def gold_titles(self) -> list[str]:
        return [hop.head for hop in (self.candidate.first, self.candidate.second) if hop.source == "text"]


def composed(candidate: Candidate) -> Composed:
    """The question for the second fact's value, or for the number of its values."""
    first, second = _wordings(candidate)
    described = first.describes(mention(candidate.first.head))
    if candidate.counted:
        return Composed(candidate, "count", second.counts(described), candidate.answers)
    return Composed(candidate, "short", second.asks(described), candidate.answers)


def confirming(candidate: Candidate, value: str, *, right: bool) -> Composed | None:
    """The question whether `value` is the second fact's value; None where its relation has no wording for it."""
    first, second = _wordings(candidate)
    if not second.yes_no or candidate.counted:
        return None
    question = second.confirms(first.describes(mention(candidate.first.head)), value)
    return Composed(candidate, "yes/no", question, ("yes" if right else "no",), value)


def gold_plan(candidate: Candidate, question: str, value: str = "") -> Tree:
    """The plan that answers the question: the bridge from the name, the values from the bridge."""
    first, second = _wordings(candidate)
    asked, search = search_for(candidate.first.head)
    bridge = Node(
        _BRIDGE,
        first.asks(mention(candidate.first.head)),
        children=(
            Node(_SEARCH, asked, search),
            Node(_RELATE, first.asks(f"[{_SEARCH}]"), _relate(_SEARCH, first.relation)),
        ),
    )
    wanted = second.question or f"What is the {second.relation} of {{x}}?"
    steps = [bridge, Node(_ANSWER, wanted.replace("{x}", f"[{_BRIDGE}]"), _relate(_BRIDGE, second.relation))]
    answer = References((_ANSWER,))
    if candidate.counted:
        steps.append(Node(_LAST, f"How many are [{_ANSWER}]?", operation=OperationCall(Operation.COUNT, (answer,))))
    if value:
        same = OperationCall(Operation.IS, (answer, Literal(value)), ("same",))
        steps.append(Node(_LAST, f"Is [{_ANSWER}] the same as {value}?", operation=same))
    return Tree(Node(0, question, children=tuple(steps)))


def _relate(node_id: int, relation: str) -> OperatorCall:
    return OperatorCall(Operator.RELATE, (References((node_id,)), Literal(relation)))


def _wordings(candidate: Candidate) -> Sequence[Wording]:
    found = [wording_of(hop.relation) for hop in (candidate.first, candidate.second)]
    if None in found:
        raise ValueError("a candidate's relation has no wording")
    return [wording for wording in found if wording is not None]
