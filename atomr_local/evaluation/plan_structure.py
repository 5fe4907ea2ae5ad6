"""Compares the operators of a plan, and how they are connected, with a gold plan.

A plan's *structure* is what its answer is made of, as a nested term: an operator leaf is its operator over the terms
of the nodes that its arguments refer to; a direct node and a parent are "combine" over the terms of what they draw
on, in any order. A parent whose last child rests on all the others has that child's term, as the executor passes its
answer up. So these do not count: names, relations, conditions and questions, numbering, the order of independent
steps, and whether a chain is written flat or below a parent. A step left out, one too many, another operator, or one
that continues from another step, does.

    Where was the director of Metropolis born?    relate(relate(search))
    Who was born first, Newton or Leibniz?        combine(relate(search), relate(search))

Two terms have equal *operators* if each name occurs in both equally often.

The gold structure of a question is that of its gold plan, where one is given, or comes from its gold evidences, as
2WikiMultihopQA has them: each fact is a Relate of the fact whose tail is its head, else of a Search; the facts from
which none goes on are combined.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atomr_local.evaluation.bootstrap import mean_interval
from atomr_local.evaluation.datasets import Question, load_plans
from atomr_local.evaluation.gold_chain import gold_hops
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Node, NodeKind, Tree
from atomr_local.tree.validation import Limits, check

# The widest that the settings allow: what a run's own limits let through is valid here.
WIDEST = Limits(nodes=400, depth=32, fan_out=64)


@dataclass(frozen=True, slots=True)
class Structure:
    """A nested term, compared by its digest: written out, a term that shares its parts grows exponentially."""

    digest: str
    operators: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, name: str, parts: Sequence[Structure] = ()) -> Structure:
        """The term `name(parts…)`."""
        counted = Counter({name: 1})
        for part in parts:
            counted.update(dict(part.operators))
        text = f"{name}({','.join(part.digest for part in parts)})"
        return cls(hashlib.sha256(text.encode()).hexdigest(), frozenset(counted.items()))

    @classmethod
    def combine(cls, parts: Sequence[Structure]) -> Structure:
        """What several terms are drawn together to; their order does not count."""
        return cls.of("combine", sorted(parts, key=lambda part: part.digest))


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """What a trace's plan is worth.

    Attributes:
        valid: a plan that keeps the rules was run, not the fallback.
        at_once: … and it was the first attempt.
        structure_equal: to the gold one; None if there is none. A plan that is not valid is equal to none.
        operators_equal: the same of its operators.
    """

    valid: bool
    at_once: bool
    structure_equal: bool | None = None
    operators_equal: bool | None = None


def plan_structure(tree: Tree) -> Structure:
    """The structure of a valid tree.

    Raises:
        KeyError: a reference points to a node that is not answered before.
    """
    found: dict[int, Structure] = {}
    rests_on: dict[int, frozenset[int]] = {}
    for node in tree.bottom_up():
        below = {*(child.id for child in node.children), *(node.references if node is not tree.root else ())}
        rests_on[node.id] = frozenset({node.id}).union(*(rests_on[i] for i in below))
        found[node.id] = _term(node, found, rests_on)
    return found[tree.root.id]


def _term(node: Node, found: Mapping[int, Structure], rests_on: Mapping[int, frozenset[int]]) -> Structure:
    if node.call is not None:
        return Structure.of(str(node.kind), [found[i] for i in node.call.references])
    if not node.children:
        # The root is the user's own question: a bracketed number in it is text.
        # An operation draws its operands together as a direct step does: gold plans hold no operations.
        drawn = node.references if node.kind in (NodeKind.DIRECT, NodeKind.OPERATION) else ()
        return Structure.combine([found[i] for i in drawn])
    last = node.children[-1].id
    if rests_on[last].issuperset(child.id for child in node.children):
        return found[last]
    return Structure.combine([found[child.id] for child in node.children])


def gold_structure(question: Question) -> Structure | None:
    """The structure that the question's gold evidences ask for; None if it has none."""
    if not question.evidences:
        return None
    hops = gold_hops(question.question, question.evidences, question.gold_titles)
    terms: list[Structure] = []
    for hop in hops:
        head = Structure.of("search") if hop.previous is None else terms[hop.previous]
        terms.append(Structure.of("relate", [head]))
    going_on = {hop.previous for hop in hops}
    ends = [term for index, term in enumerate(terms) if index not in going_on]
    return ends[0] if len(ends) == 1 else Structure.combine(ends)


def judge_plan(question: str, plan: Mapping[str, Any], gold: Structure | None) -> PlanVerdict:
    """Judge the plan of a trace (`atomr.trace/1`).

    Args:
        gold: the structure that it should have, if that is known.
    """
    structure = None
    if plan["origin"] != "fallback":
        try:
            tree = parse_compact(plan["compact"], question)
            check(tree, WIDEST)
            structure = plan_structure(tree)
        except TreeError:
            pass
    valid = structure is not None
    at_once = valid and plan["attempts"] <= 1
    if gold is None:
        return PlanVerdict(valid, at_once)
    operators_equal = structure is not None and structure.operators == gold.operators
    return PlanVerdict(valid, at_once, structure == gold, operators_equal)


def gold_structures(questions: Sequence[Question], plans_file: Path | None = None) -> dict[str, Structure]:
    """Gold structures by question id, where they are known; a given plan counts more than the gold evidences.

    Raises:
        InputError: naming the file and line of a plan that is missing, not valid, or there twice.
    """
    known = {question.id: term for question in questions if (term := gold_structure(question)) is not None}
    given = load_plans(plans_file, questions, WIDEST) if plans_file else {}
    return known | {key: plan_structure(tree) for key, tree in given.items()}


def plan_figures(verdicts: Sequence[tuple[str, PlanVerdict]]) -> dict[str, Any] | None:
    """The plans of a run in figures.

    Args:
        verdicts: type of question and verdict.

    Returns:
        "n", and in % with intervals "plans_valid" and "plans_valid_at_once"; then, over the "with_gold" plans whose
        gold structure is known (None if it is of none), "plan_structure_equal", "plan_operators_equal" and
        "by_type". None if there is no plan.
    """
    if not verdicts:
        return None
    judged = [(kind, verdict) for kind, verdict in verdicts if verdict.structure_equal is not None]
    kinds = Counter(kind for kind, _ in judged)
    return {
        "n": len(verdicts),
        "plans_valid": _share(verdict.valid for _, verdict in verdicts),
        "plans_valid_at_once": _share(verdict.at_once for _, verdict in verdicts),
        "with_gold": len(judged),
        "plan_structure_equal": _share(verdict.structure_equal for _, verdict in judged),
        "plan_operators_equal": _share(verdict.operators_equal for _, verdict in judged),
        "by_type": {
            kind or "(none)": {
                "n": count,
                "plan_structure_equal": _share(v.structure_equal for other, v in judged if other == kind),
            }
            for kind, count in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        },
    }


def _share(truths: Iterable[bool | None]) -> dict[str, float] | None:
    values = [float(bool(truth)) for truth in truths]
    return asdict(mean_interval(values)) if values else None
