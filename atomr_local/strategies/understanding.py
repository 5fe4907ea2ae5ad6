"""Rewrites a follow-up question so that it stands alone, before any strategy sees it."""

from __future__ import annotations

from atomr_local.reasoning.trace.events import QuestionUnderstood, WarningRaised
from atomr_local.strategies.protocol import Toolbox


def understand(question: str, tools: Toolbox, *, given: str | None, rewrites: bool) -> str:
    """The question to answer; emitted as an event, with the turns it refers to.

    The model's version counts only if the question or an earlier turn contains all of its names and numbers.

    Args:
        given: the user's own version of the question.
        rewrites: whether the model can rewrite follow-up questions.

    Raises:
        ModelError: the model failed.
        Cancelled: the question was cancelled.
    """
    conversation, problem = tools.conversation, ""
    understood = given or question
    if given is None and rewrites:
        written = tools.reader.standalone(question, conversation.lines())
        invented = conversation.unfounded(question, written)
        if written and not invented:
            understood = written
        else:
            problem = f"it would have asked about {', '.join(invented)}" if invented else "the model wrote nothing"
    elif given is None:
        problem = "this adapter has not learnt to read follow-up questions"
    if problem:
        tools.recorder.emit(WarningRaised(message=f"The question is taken as it was typed: {problem}."))
    taken = conversation.taken(question, understood)
    tools.recorder.emit(QuestionUnderstood(understood_as=understood, took_from=taken, conversation=conversation.id))
    return understood
