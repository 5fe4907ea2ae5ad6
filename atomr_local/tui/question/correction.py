"""Edited plans, checked, with one step replaced; and a trace replayed into the state that the screen shows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.reasoning.trace.events import planned
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.reasoning.trace.telling import kind_text
from atomr_local.settings.schema import LimitSettings
from atomr_local.tree.calls import format_call, parse_call, parse_quoted
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Node, Tree
from atomr_local.tree.operations import format_operation, named_operation, parse_operation
from atomr_local.tree.validation import validate
from atomr_local.tui.question.state import QuestionState

# Edited plans: parsing, checking, and replacing one step.

DIRECT = "Direct"


@dataclass(frozen=True)
class CheckedPlan:
    """What became of a plan's text: a tree that can be run, or what is wrong with it, by line where that is known."""

    tree: Tree | None
    problems: tuple[str, ...]


def check_plan(text: str, question: str, limits: LimitSettings) -> CheckedPlan:
    """Read and check a plan in compact notation. Never raises for a bad plan: it says what is wrong."""
    if not text.strip():
        return CheckedPlan(
            None, ('the plan is empty: write one step a line, such as 1. What is Petra? = Search("Petra")',)
        )
    try:
        tree = parse_compact(text, question)
    except TreeError as error:
        return CheckedPlan(None, (str(error),))
    return check_tree(tree, limits)


def check_tree(tree: Tree, limits: LimitSettings) -> CheckedPlan:
    """Check a tree against the rules; report weaknesses separately."""
    found = validate(tree, limits.of_plans())
    problems = tuple(problem.message for problem in found)
    return CheckedPlan(None if any(problem.fatal for problem in found) else tree, problems)


def operation_of(node: Node) -> tuple[str, str]:
    """The node's operator and its arguments as they are written; empty for a step without one."""
    if node.call is not None:
        name, _, rest = format_call(node.call).partition("(")
        return name, rest.removesuffix(")")
    if node.operation is not None:
        name, _, rest = format_operation(node.operation).partition("(")
        return name, rest.removesuffix(")")
    if node.instruction:
        return DIRECT, f'"{node.instruction}"'
    return "", ""


def with_step(tree: Tree, node_id: int, question: str, operator: str, arguments: str) -> Tree:
    """The tree with this node's question and operation exchanged.

    Raises:
        TreeError: the question is empty or the operation cannot be read.
        KeyError: there is no such node.
    """
    question = " ".join(question.split())
    if not question:
        raise TreeError("the question is empty")
    old = tree.node(node_id)
    new = replace(old, question=question, call=None, instruction="", operation=None)
    if operator == DIRECT:
        instruction = parse_quoted(arguments.strip())
        if not instruction or not instruction.strip():
            raise TreeError(f"{DIRECT} takes one quoted text")
        new = replace(new, instruction=instruction)
    elif operator and named_operation(operator) is not None:
        new = replace(new, operation=parse_operation(f"{operator}({arguments.strip()})"))
    elif operator:
        new = replace(new, call=parse_call(f"{operator}({arguments.strip()})").plain())
    return Tree(_exchanged(tree.root, new))


def _exchanged(node: Node, new: Node) -> Node:
    if node.id == new.id:
        return new
    return replace(node, children=tuple(_exchanged(child, new) for child in node.children))


# Replays a trace into the state that the screen shows.


def replay(trace: Trace) -> QuestionState:
    """The state after all of the trace's events; prompts and what the model wrote were not kept."""
    tree = _plan_of(trace)
    state = QuestionState(trace, tree=tree, replayed=True)
    if trace.conversation or trace.took_from:
        state.meant = trace.understood_as
    recorded = {node.id: node for node in trace.nodes}
    for node in tree.nodes():
        state.add(node, tree.parent_of(node.id), recorded.get(node.id) or planned(tree, node))
    below: defaultdict[int | None, list[NodeTrace]] = defaultdict(list)
    for step in recorded.values():
        below[step.parent].append(step)
    steps = below[None][:1]
    for step in steps:  # as the nodes tell it, whatever the plan says; what hangs below itself is never met
        steps += below[step.id]
        if step.id not in state.nodes and step.parent in state.nodes:
            state.add(Node(step.id, step.question), step.parent, step, kind_text(step.label, step.kind))
    for view in state.nodes.values():
        view.source_reason = "as recorded"
        if view.node.id in recorded and not _was_cut_off(trace, view.step):
            state.end(view)
    state.take_answer()
    state.finish(trace)
    return state


def _plan_of(trace: Trace) -> Tree:
    """The plan whose nodes the trace has; the question alone where there is none, or none that can be read.

    A trace may have steps that no plan has; where they stand is told by the nodes.
    """
    question = trace.understood_as or trace.question
    if trace.plan.origin == "steps":
        return fallback_tree(question)
    try:
        tree = parse_compact(trace.plan.compact, question)
    except TreeError:
        return fallback_tree(question)
    places = {node.id: node.parent for node in trace.nodes}
    if any(node.id not in places or places[node.id] != tree.parent_of(node.id) for node in tree.nodes()):
        return fallback_tree(question)
    return tree


def _was_cut_off(trace: Trace, node: NodeTrace) -> bool:
    """Whether the question ended before the step did, so that nothing was told of it."""
    told = node.answers or node.error or node.outcome or node.seconds or node.thought or node.action or node.dropped
    return trace.status not in {"answered", "unknown"} and not told
