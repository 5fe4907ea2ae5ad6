"""Replays a trace into the state that the screen shows."""

from __future__ import annotations

from atomr_local.planning.planner import fallback_tree
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    EvidenceFound,
    Finished,
    LeavesMachine,
    NodeFinished,
    NodeStarted,
    PlanReady,
    QuestionAsked,
    QuestionUnderstood,
    SourcesSelected,
    WarningRaised,
)
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tui.question.state import QuestionState


def replay(trace: Trace) -> QuestionState:
    """The state after all of the trace's events; prompts and what the model wrote were not kept."""
    state = QuestionState(replayed=True)
    plan = trace.plan
    tree = plan_of(trace)
    state.apply(QuestionAsked(question=trace.question, strategy=trace.strategy, settings=trace.settings))
    if trace.conversation or trace.took_from:
        state.apply(
            QuestionUnderstood(
                understood_as=trace.understood_as, took_from=tuple(trace.took_from), conversation=trace.conversation
            )
        )
    state.apply(
        PlanReady(
            tree=tree, compact=plan.compact, origin=plan.origin, attempts=plan.attempts, problems=tuple(plan.problems)
        )
    )
    pieces = {
        item.id: Evidence(item.source, item.title, item.text, item.score, item.query, item.locator, id=item.id)
        for item in trace.evidence
    }
    # As they ran, a step after those that it takes from: what is the user's own passes upwards.
    order = {node.id: place for place, node in enumerate(tree.bottom_up())}
    for node in sorted(trace.nodes, key=lambda node: order.get(node.id, -1)):
        state.apply(NodeStarted(node_id=node.id, resolved_question=node.resolved_question))
        sources = tuple(node.sources)
        if sources:
            state.apply(SourcesSelected(node_id=node.id, sources=sources, reason="as recorded"))
        for source in dict.fromkeys((*SourceName, *(item.source for item in trace.evidence))):
            found = tuple(pieces[item] for item in node.evidence if item in pieces and pieces[item].source == source)
            if found:
                state.apply(EvidenceFound(node_id=node.id, source=source, evidence=found))
        state.apply(NodeFinished.from_fields(node.id, node))
    for item in trace.left_machine:
        state.apply(LeavesMachine(what=item.what, to=item.to, query=item.query))
    for warning in trace.warnings:
        state.apply(WarningRaised(message=warning))
    state.apply(
        AnswerReady(
            status=trace.status,
            answer=trace.answer,
            answers=tuple(trace.answers),
            confidence=trace.confidence,
            basis=trace.basis,
            reason=trace.reason,
            advice=tuple(trace.advice),
            guess=trace.guess,
        )
    )
    state.apply(Finished(trace=trace))
    state.calls = trace.totals.llm_calls
    state.generated_tokens = trace.totals.generated_tokens
    state.evaluated_tokens = trace.totals.evaluated_tokens
    return state


def plan_of(trace: Trace) -> Tree:
    """The trace's plan; one node for the whole question where the trace holds no plan that can be read."""
    question = trace.understood_as or trace.question
    try:
        tree = parse_compact(trace.plan.compact, question)
    except TreeError:
        return fallback_tree(question)
    if {node.id for node in tree.nodes()} != {node.id for node in trace.nodes}:
        return fallback_tree(question)
    return tree
