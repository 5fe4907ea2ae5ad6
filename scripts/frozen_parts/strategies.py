"""What every reasoning method does on a few questions: all events, with the prompts, and the trace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from atomr_local import Assistant
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.strategies.registry import STRATEGIES
from frozen_parts.cases import Case, Run
from frozen_parts.telling import Masks, lines_of
from frozen_parts.worlds import Answered, Models, ask, case, home, is_starter_here, masks, models, settings_of

QUESTIONS = {
    "lean": (
        "Where was the director of Metropolis born?",
        "Who was the father of Marie Curie?",
        "Which film has the older director, Vertigo or Metropolis?",
        "How many countries border Germany?",
        "who runs honda these days, the CEO",
    ),
    "full": (
        "Where was the director of Metropolis born?",
        "Which country is larger, France or Kenya?",
    ),
}
# What a question is asked with, beside the defaults, by the default method.
_ONE = QUESTIONS["lean"][0]
_TEXT = "What is Finlandia?"
_SWITCHED = (
    "cut_evidence", "span_answers", "symbolic", "source_rules", "page_first", "page_alone", "beam", "judge_plans",
    "guess", "verify", "follow_ups", "collections", "pointing", "span_reader", "rival", "ask_on", "write_queries",
    "vote", "other_source", "decline",
)  # fmt: skip
_ON_BY_DEFAULT = frozenset(_SWITCHED) - {"write_queries", "vote", "other_source"}
_SETTINGS: tuple[Mapping[str, Any], ...] = (
    *({"features": {name: name not in _ON_BY_DEFAULT}} for name in _SWITCHED),
    {"limits": {"calls": 2}},
    {"limits": {"evidence_tokens": 64}},
    {"top_k": 1},
    {"sources": ("text",)},
    {"sources": ("graph",)},
)
_SELDOM = (
    "What is Finlandia?",
    "Which of the places Slovenia borders pay in euro?",
    "Is Larry Page among Stanford University's graduates, and who else is?",
    "What did Laurence Olivier do in the 1948 film of Hamlet?",
    "Why is Hamlet sad?",
)
_PLAN = (
    '1. Who directed Metropolis? = Relate("Metropolis", "director")\n'
    '2. When was [1] born? = Relate([1], "date of birth")'
)
_DIALOGUE = ("Who directed Metropolis?", "and where was he born?", "What about Vertigo?")


def cases(run: Run) -> Iterator[Case]:
    if missing := is_starter_here():
        run.skipped["lean/"] = run.skipped["full/"] = missing
        return
    hidden = masks(run)
    with home(run.scratch / "home"), models(run, "strategies") as known:
        for style, one in known.items():
            yield from _methods(run, one, QUESTIONS[style], hidden)
        yield from _changed(known["lean"], hidden)
        for one in known.values():
            yield from _given(one, hidden)
        yield from _more(known["full"], hidden)


def _methods(run: Run, used: Models, questions: Sequence[str], hidden: Masks) -> Iterator[Case]:
    # The worked examples of dsp depend on what was asked before.
    with used.assistant(strategies={"dsp": {"demonstrations": 0}}) as assistant:
        assistant.preload()
        for strategy in STRATEGIES:
            for question in questions:
                name = f"{used.style}/{strategy}/{question}"
                yield _asked(name, used, hidden, assistant, question, strategy=strategy)
            run.tell(f"strategies: {used.style} {strategy}, {used.backbone.asked} replies asked for")
            if run.recording:
                used.save()


def _changed(used: Models, hidden: Masks) -> Iterator[Case]:
    """The default method with one setting that is not the default."""
    for changed in _SETTINGS:
        with used.assistant(**changed) as assistant:
            for question in (_ONE, _TEXT):
                yield _asked(f"{used.style}/{settings_of(changed)}/{question}", used, hidden, assistant, question)


def _given(used: Models, hidden: Masks) -> Iterator[Case]:
    """What a person may give beside the question: a plan, a conversation."""
    from atomr_local.tree.compact import parse_compact

    with used.assistant() as assistant:
        question = "When was the director of Metropolis born?"
        plan = parse_compact(_PLAN, question)
        yield _asked(f"{used.style}/with a plan/{question}", used, hidden, assistant, question, plan=plan)
        traces: list[Trace] = []
        for question in _DIALOGUE:
            conversation = Conversation.of(traces)
            name = f"{used.style}/in a conversation/{question}"
            yield _asked(name, used, hidden, assistant, question, conversation=conversation)
            if assistant.last_trace is not None:
                traces.append(assistant.last_trace)


def _more(used: Models, hidden: Masks) -> Iterator[Case]:
    """Questions by which a model without an adapter gets prompts that it gets seldom."""
    with used.assistant() as assistant:
        for question in _SELDOM:
            yield _asked(f"{used.style}/seldom asked/{question}", used, hidden, assistant, question)


def _asked(name: str, used: Models, hidden: Masks, assistant: Assistant, question: str, **options: Any) -> Case:
    return case(name, lambda: told(ask(assistant, question, **options), hidden), used)


def told(answered: Answered, hidden: Masks) -> list[str]:
    """All events in order; the last one's trace is as it is exported."""
    found: list[str] = []
    for event in answered.events:
        plain = json.loads(json.dumps(event.to_dict(), default=str))
        found += lines_of(plain, hidden)
    return found
