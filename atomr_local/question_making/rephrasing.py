"""Other words for a question, by a model that can: kept only if it still asks the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.evaluation.plan_structure import plan_structure
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.page_facts.wordings import known_property
from atomr_local.question_making.checks import answer_leak, leaks
from atomr_local.question_making.composing import Composed
from atomr_local.reasoning.asking.forms import Form, Line
from atomr_local.sanitize import sanitize_line
from atomr_local.tree.nodes import Literal, Operator, Tree

if TYPE_CHECKING:
    from atomr_local.strategies.protocol import Toolbox

_QUESTION = "Rephrased"
_TOKENS = 80
_LONGEST = 300
_FORM = Form("atomr_local.question_making", "rephrase", (Line(_QUESTION, _TOKENS),))


class Rephrasing:
    """Has the model rephrase questions, one after the other.

    Args:
        tools: gives the tools for one question.
        read_plan: plans a question.
    """

    def __init__(self, tools: Callable[[str], Toolbox], read_plan: Callable[[str], Tree]) -> None:
        self._tools, self._read_plan = tools, read_plan

    def __call__(self, made: Composed) -> str:
        """Other words for the question; "" if none pass the checks."""
        try:
            [written] = self._tools(made.question).writer.write(None, "rephrase", _FORM, question=made.question)
            text = sanitize_line(written[_QUESTION])
            return text if problem_with(text, made) == "" and same_hops(self._read_plan(text), made) else ""
        except Cancelled:
            raise
        except AtomrError:  # the question in our words will do
            return ""


def problem_with(text: str, made: Composed) -> str:
    """Why a text is no other wording of the question; "" if it is one, as far as its words tell."""
    if not text.endswith("?") or len(text) > _LONGEST or text.count("?") > 1:
        return "it is not one question"
    if name_key(text) == name_key(made.question):
        return "it is the same question"
    asked = f" {name_key(text)} "
    for name in (made.candidate.first.head, made.value):
        if name and f" {name_key(split_qualifier(name)[0])} " not in asked:
            return f"it does not name {name}"
    if leaked := leaks(text, made.candidate.names):
        return f"it names {leaked}"
    if made.form != "yes/no" and (leaked := answer_leak(text, made.answers)):
        return f"it says {leaked}"
    return ""


def same_hops(tree: Tree, made: Composed) -> bool:
    """Whether a plan has the operators of the gold plan, and its relations in their order."""
    gold = made.plan
    if plan_structure(tree).digest != plan_structure(gold).digest:
        return False
    own, wanted = relations(tree), relations(gold)
    return len(own) == len(wanted) and all(_alike(one, other) for one, other in zip(own, wanted, strict=True))


def relations(tree: Tree) -> list[str]:
    """What the plan's Relates ask for, in the order of the chain: a step comes after what it refers to."""
    calls = {node.id: node.call for node in tree.nodes() if node.call is not None}
    related = {i: call for i, call in calls.items() if call.operator is Operator.RELATE}
    ordered = sorted(related, key=lambda i: (_depth(tree, i), i))
    return [
        " ".join(argument.text for argument in related[i].arguments[1:] if isinstance(argument, Literal))
        for i in ordered
    ]


def _depth(tree: Tree, node_id: int, seen: frozenset[int] = frozenset()) -> int:
    """How many steps lie before a node, along its references and what its references consist of."""
    if node_id in seen:
        return 0
    node = tree.node(node_id)
    before = [*(node.call.references if node.call is not None else ()), *(child.id for child in node.children)]
    return 1 + max((_depth(tree, one, seen | {node_id}) for one in before), default=0)


def _alike(one: str, other: str) -> bool:
    known = known_property(other)
    wordings = {name_key(other), *(map(name_key, known.names) if known is not None else ())}
    return name_key(one) in wordings
