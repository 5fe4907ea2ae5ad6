"""The plan notation that a model writes: with line 0 and typed operations, or an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from atomr_local.planning.grammar import plan_grammar
from atomr_local.planning.grammar_untyped import untyped_plan_grammar

# 2: line 0 and typed operations. 1: neither.
PlanForm = Literal[1, 2]


def plan_form(card: Mapping[str, Any]) -> PlanForm:
    """The form of plans that an adapter's card tells.

    Args:
        card: empty if there is no adapter, or none with a card: such a model is shown the form by examples.

    Returns:
        what stands under "plans"; where a card of lean prompts does not say, the form of before it had to.
    """
    if card.get("prompts") != "lean":
        return 2
    return 2 if card.get("plans") == 2 else 1


def grammar_of_plans(form: PlanForm, question: str, given: Sequence[str] = ()) -> str:
    """The grammar of plans of this form, GBNF; see :func:`plan_grammar` for the arguments."""
    return plan_grammar(question, given) if form == 2 else untyped_plan_grammar(question)
