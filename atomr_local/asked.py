"""What one question asks for: the question, plan, sources and strategy, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from atomr_local.errors import InputError, PlanError
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.privacy import check_private
from atomr_local.sources.registry import permitted
from atomr_local.strategies.options import StrategyOptions, options_of
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.registry import find_strategy
from atomr_local.strategies.requirements import (
    check_needs,
    check_only_source,
    check_plan,
    check_revision,
    check_sources,
)
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree
from atomr_local.tree.paper import load_json, parse_paper
from atomr_local.tree.validation import check

_LONGEST_QUESTION = 2000


class QuestionOptions(TypedDict, total=False):
    """What may be said beside a question; see :meth:`Assistant.ask`."""

    plan: Tree | None
    plan_origin: PlanOrigin
    strategy: str | None
    sources: Sequence[str] | None
    web: bool | None
    revision: Revision | None
    conversation: Conversation | None
    understood: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call of :meth:`Assistant.ask` asks for."""

    question: str
    method: Strategy
    options: StrategyOptions
    plan: Tree | None
    origin: PlanOrigin
    sources: tuple[str, ...]
    web: bool
    revision: Revision | None
    conversation: Conversation | None
    understood: str | None

    @classmethod
    def checked(
        cls,
        question: str,
        settings: Settings,
        web_switch: bool,
        *,
        plan: Tree | None = None,
        plan_origin: PlanOrigin = "user",
        strategy: str | None = None,
        sources: Sequence[str] | None = None,
        web: bool | None = None,
        revision: Revision | None = None,
        conversation: Conversation | None = None,
        understood: str | None = None,
    ) -> Asked:
        """What is asked for; what is left out is as the settings and the switch for web search have it.

        Raises what :meth:`Assistant.ask` raises.
        """
        question = checked_question(question)
        web = web_switch if web is None else web
        understood = None if understood is None else checked_question(understood)
        method = find_strategy(strategy or settings.strategy)
        local = tuple(settings.sources if sources is None else load_settings(sources=tuple(sources)).sources)
        options = options_of(method, settings)
        if revision is not None:
            check_revision(method)
            plan = plan or revision.plan
            revision = revision.checked(plan, permitted(local, web=web))
        if plan is not None:
            check_plan(method)
            try:
                check(plan, settings.limits.of_plans())
            except TreeError as error:
                raise PlanError(str(error), hint="Correct the plan; `atomr tree check` says what is wrong.") from error
        check_needs(method, local, settings)
        check_sources(method, local, settings, web=web)
        check_only_source(method, options, permitted(local, web=web))
        earlier = [turn.settings for turn in conversation.turns] if conversation is not None else []
        earlier += [revision.base.settings] if revision is not None else []
        check_private(settings, local if method.uses_sources else (), web=web, earlier=earlier)
        return cls(question, method, options, plan, plan_origin, local, web, revision, conversation, understood)


def given_plan(text: str, question: str) -> Tree:
    """The plan in a text: compact notation, the paper's JSON, a JSON line of a tree file, or a whole trace.

    Raises:
        TreeError: it is none of them.
    """
    data = load_json(text) if text.lstrip().startswith("{") else None
    if data is None:
        return parse_compact(text, question)
    if isinstance(data, dict) and isinstance(data.get("plan"), dict):  # a trace
        return parse_compact(str(data["plan"].get("compact", "")), question)
    return parse_paper(data.get("reasoning_tree", data) if isinstance(data, dict) else data, question)


def parse_plan(text: str, question: str) -> Tree:
    """The plan for the question that a text holds: compact notation, the published JSON, or the JSON of a trace.

    Raises:
        PlanError: it is none of them. Whether the plan keeps the rules and limits is checked when it is asked.
    """
    try:
        return given_plan(text, question)
    except TreeError as error:
        raise PlanError(str(error), hint="Give compact notation, the published JSON, or a trace.") from error


def checked_question(question: str) -> str:
    """The question on one line.

    Raises:
        InputError: it is empty or too long.
    """
    question = sanitize_line(question)
    if not question:
        raise InputError(
            "the question is empty", hint='Ask something, such as: atomr ask "What is the capital of Japan?"'
        )
    if len(question) > _LONGEST_QUESTION:
        raise InputError(
            f"the question has {len(question)} characters, more than {_LONGEST_QUESTION}", hint="Shorten it."
        )
    return question
