"""POST /api/ask: a question, its events as they come or its trace."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from atomr_local.asked import QuestionOptions, given_plan
from atomr_local.assistant import Assistant
from atomr_local.errors import AtomrError, PlanError, WebDisabledError
from atomr_local.http_server.bodies import AskBody, Correction, read_body
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.questions import Questions, Stopped
from atomr_local.http_server.replies import EventStream, JsonReply, error_document, sent_event
from atomr_local.log_file import log_error
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.serving.refused import Refused
from atomr_local.tree.errors import TreeError


class AskEndpoint:
    """Answers questions in the program's own form."""

    def __init__(self, assistant: Assistant, questions: Questions, options: ServeOptions) -> None:
        self._assistant = assistant
        self._questions = questions
        self._options = options

    async def ask(self, request: Request) -> ASGIApp:
        body = await read_body(request, AskBody)
        question, options = await self._asked(body)
        events = self._questions.stream(question, keep=body.keep, **options)
        if not body.stream:
            return JsonReply((await finished(events)).to_dict())
        return EventStream(told(await begun(events)), ping_seconds=self._options.ping_seconds)

    async def _asked(self, body: AskBody) -> tuple[str, QuestionOptions]:
        revision = await self._revision(body.revision) if body.revision is not None else None
        question = body.question or (revision.base.question if revision is not None else "")
        options = QuestionOptions(
            strategy=body.strategy or (revision.base.strategy if revision is not None else None),
            sources=checked_sources(self._assistant, body.sources),
            web=checked_web(self._assistant, body.web),
            revision=revision,
            conversation=await self._questions.conversation(body.earlier),
            understood=body.understood,
        )
        if body.plan is not None:
            try:
                text = body.plan if isinstance(body.plan, str) else json.dumps(body.plan)
                options["plan"] = given_plan(text, question)
            except TreeError as error:
                raise PlanError(str(error), hint="Give compact notation, the published JSON, or a trace.") from error
        return question, options

    async def _revision(self, given: Correction) -> Revision:
        return Revision(
            await self._questions.trace(given.trace),
            sources={_step(name): tuple(sources) for name, sources in given.sources.items()},
            answers={_step(name): tuple(answers) for name, answers in given.answers.items()},
            rerun=frozenset(given.rerun),
        )


def checked_sources(assistant: Assistant, given: list[str] | None) -> tuple[str, ...] | None:
    """The sources of a question: some of those that the server was started with.

    Raises:
        Refused: one is not among them.
    """
    if given is None:
        return None
    allowed = assistant.settings.sources
    if any(name not in allowed for name in given):
        raise Refused(
            400,
            f"a source is none of {', '.join(allowed)}",
            hint="The server was started with these. The web is asked for with web: true.",
            param="sources",
        )
    return tuple(given)


def checked_web(assistant: Assistant, given: bool | None) -> bool | None:
    """Whether a question may search the web.

    Raises:
        WebDisabledError: it may not, and asks for it.
    """
    if given and not assistant.web_enabled:
        raise WebDisabledError("the server searches no web", hint="Start it with --web.")
    return given


async def begun(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The events, once the first one has come.

    Raises:
        AtomrError: there is none, for the question is not served.
    """
    first = await anext(events)

    async def all_of_them() -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            yield first
            async for event in events:
                yield event

    return all_of_them()


async def told(events: AsyncGenerator[Event, None]) -> AsyncGenerator[bytes, None]:
    """The events as server-sent events; what ends them early is the last one."""
    try:
        async with aclosing(events):
            async for event in events:
                data = event.to_dict()
                yield sent_event(data, name=data["event"])
    except AtomrError as error:
        yield _failed(error)
    except Exception as error:
        log_error(error)
        yield _failed(AtomrError("an internal error; the log file tells where"))


def _failed(error: AtomrError) -> bytes:
    return sent_event({"event": "error"} | error_document(error), name="error")


async def finished(events: AsyncGenerator[Event, None]) -> Trace:
    """The trace of the question.

    Raises:
        AtomrError: the question is not served.
        Refused: the server cancelled it.
    """
    stopped: Stopped | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Stopped):
                stopped = event
            if isinstance(event, Finished):
                break
        else:
            raise AssertionError("a question ends with Finished")
    if stopped is not None:
        raise stopped_error(stopped)
    return event.trace


def stopped_error(stopped: Stopped) -> Refused:
    """The error for a question that the server has cancelled."""
    status = 504 if stopped.cause == "timeout" else 503
    return Refused(status, stopped.reason, title="Stopped", code=stopped.cause)


def _step(name: str) -> int:
    if not (name.isascii() and name.isdigit() and len(name) < 6):
        raise Refused(400, "a step is not named by its number", param="revision")
    return int(name)


def trace_summary(trace: Trace) -> dict[str, Any]:
    """What clients of other protocols are told of a trace beside their own fields."""
    return {
        "trace": trace.id,
        "status": trace.status,
        "answers": trace.answers,
        "confidence": trace.confidence,
        "basis": trace.basis,
        "reason": trace.reason,
        "advice": trace.advice,
        "guess": trace.guess.answers if trace.guess is not None else [],
    }
