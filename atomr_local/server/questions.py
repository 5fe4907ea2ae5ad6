"""Questions as they come in: checked, in their turn, limited in time, kept in the history, and known for a while."""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Unpack

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from atomr_local.assistant.asked import Asked, QuestionOptions
from atomr_local.assistant.assistant import Assistant
from atomr_local.assistant.history.pending import PendingNote, pending_question
from atomr_local.assistant.history.store import History, history_file, record_trace
from atomr_local.errors import (
    AtomrError,
    Cancelled,
    InputError,
    KnowledgeIndexError,
    MissingPartError,
    ModelError,
    PlanError,
    QueryError,
    SettingsError,
    SourceError,
    WebDisabledError,
)
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.trace.events import Event, Finished, WarningRaised
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.server.mcp import AT_MOST, LONGEST_QUESTION, LOOKED_FOR, MOST_CONDITIONS, MOST_VALUES, NAMED, VALUES
from atomr_local.server.options import ServeOptions
from atomr_local.server.serving import SAID_FIELDS, Desk, LookupDesk, Refused, without_paths
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sanitize import sanitize, sanitize_all, sanitize_line

_REMEMBERED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued(Event):
    """The question waits for its turn; comes before all events of the question itself."""

    ahead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped(Event):
    """The server has cancelled the question; comes before `Finished`."""

    cause: Literal["timeout", "shutdown"]
    reason: str


class Questions:
    """Asks the assistant. Belongs to one event loop."""

    def __init__(
        self, assistant: Assistant, options: ServeOptions, lookups: LookupDesk, allowed: Callable[[], None]
    ) -> None:
        self._assistant = assistant
        self._options = options
        self._lookups = lookups
        self._allowed = allowed
        self.desk = Desk("questions", assistant.settings.llm.parallel, options.queue)
        self._running: dict[Cancellation, Stopped | None] = {}  # with why the server cancelled it
        self._recent: OrderedDict[str, Trace] = OrderedDict()

    async def stream(
        self, question: str, *, keep: bool = True, **options: Unpack[QuestionOptions]
    ) -> AsyncGenerator[Event, None]:
        """The events of the question; the first comes as soon as it is known to be served.

        Raises (with the first event):
            AtomrError: what :meth:`Assistant.ask` raises.
            Refused: the queue is full, or the server stops.
        """
        settings = self._assistant.settings
        if self.desk.full or not self._options.local:  # else the question itself is checked as soon
            await asyncio.to_thread(self._check, question, options)
        keep = keep and self._options.keep and settings.history.keep
        ticket = self.desk.take()
        try:
            async for ahead in ticket.turn():
                yield Queued(ahead=ahead)
            with pending_question(question, options.get("strategy") or settings.strategy, keep=keep) as note:
                try:
                    async with aclosing(self._run(question, note, options, keep=keep)) as events:
                        async for event in events:
                            yield event
                except (asyncio.CancelledError, GeneratorExit):  # the client has gone: it is not interrupted
                    if note is not None:
                        note.remove()
                    raise
        finally:
            ticket.leave()

    def _check(self, question: str, options: QuestionOptions) -> None:
        self._allowed()
        Asked.checked(question, self._assistant.settings, self._assistant.web_enabled, **options)

    async def _run(
        self, question: str, note: PendingNote | None, options: QuestionOptions, *, keep: bool
    ) -> AsyncGenerator[Event, None]:
        cancellation = Cancellation()
        self._running[cancellation] = None
        seconds = self._options.question_seconds
        late = Stopped(cause="timeout", reason=f"It took longer than {seconds:g} seconds.")
        timer = asyncio.get_running_loop().call_later(seconds, self._stop, cancellation, late)
        try:
            async with aclosing(self._assistant.astream(question, cancellation=cancellation, **options)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._remember(event.trace)
                        if stopped := self._running[cancellation]:
                            yield stopped
                        if keep:
                            for remark in (await asyncio.to_thread(record_trace, event.trace, note))[1]:
                                yield WarningRaised(message=remark)
                    yield event
        finally:
            timer.cancel()
            del self._running[cancellation]

    def stop_all(self) -> None:
        """Cancel what runs, for the server stops; the streams come to their end."""
        for cancellation in tuple(self._running):
            self._stop(cancellation, Stopped(cause="shutdown", reason="The server was stopped."))

    def _stop(self, cancellation: Cancellation, why: Stopped) -> None:
        self._running[cancellation] = why
        cancellation.cancel()

    def _remember(self, trace: Trace) -> None:
        self._recent[trace.id] = trace
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    def forget(self, name: str) -> None:
        """The trace with this id was deleted."""
        self._recent.pop(name, None)

    def recent(self) -> list[Trace]:
        """The last traces of this server, the latest first."""
        return list(reversed(self._recent.values()))

    def check_history(self) -> None:
        """
        Raises:
            Refused: other machines can ask, and earlier questions may have read a private index.
        """
        privacy = self._assistant.settings.privacy
        if not self._options.local and privacy.indexes and not privacy.share:
            raise Refused(
                403,
                "the history may hold what was read in a private index",
                hint="Ask on the machine itself, or let it leave the machine: --share-private.",
            )

    async def trace(self, name: str) -> Trace:
        """The trace with this id, or of the history's question with this number.

        Raises:
            Refused: there is none.
            HistoryError: the history cannot be read.
        """
        found = self._recent.get(name)
        if found is None:
            self.check_history()
            found = await self._lookups.run(lambda _: _kept_trace(name))
        if found is None:
            raise Refused(404, "there is no such trace", hint="GET /api/traces lists those that are kept.")
        return found

    async def conversation(self, names: Sequence[str]) -> Conversation | None:
        """The conversation of the traces with these ids, oldest first; None if there are none.

        Raises:
            Refused: one of them is not known.
        """
        return Conversation.of([await self.trace(name) for name in names]) if names else None


def _kept_trace(name: str) -> Trace | None:
    if not history_file().exists():
        return None
    with History.open() as history:
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 16 else history.number_of(name)
        try:
            return history.get(number).trace if number is not None else None
        except InputError:  # no such question
            return None


# What requests ask for, checked: bodies in JSON and parameters of the query.

_LONGEST_PLACE = 80
_LONGEST_PROBLEM = 200
_Body = TypeVar("_Body", bound=BaseModel)
TraceName = Annotated[str, Field(max_length=64, pattern=r"^[0-9A-Za-z]+$")]
Condition = Annotated[str, Field(max_length=500)]
Question = Annotated[str, Field(max_length=LONGEST_QUESTION)]


class Given(BaseModel):
    """A body of our own API: a field that it does not have is an error, so that no wish is passed over in silence."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)


class Correction(Given):
    """What of an earlier answer is corrected. Steps are named by their numbers in the plan."""

    trace: TraceName = Field(description="Id of the trace of the corrected answer.")
    answers: dict[str, list[str]] = Field({}, max_length=400, description="By step, the answers that the user gives.")
    sources: dict[str, list[str]] = Field({}, max_length=400, description="By step, the only sources that it may use.")
    rerun: list[int] = Field([], max_length=400, description="Steps to run again although they did not change.")


class AskBody(Given):
    """A question and how it is to be answered."""

    question: Question = Field("", description="In English. May be left out with a revision: the corrected question.")
    strategy: str | None = Field(None, max_length=64, description="Reasoning method; default: the server's.")
    sources: list[str] | None = Field(
        None, max_length=16, description="Local sources to use, of those that the server uses; default: all of these."
    )
    web: bool | None = Field(None, description="Whether the web may be searched, if the server allows it.")
    within: list[Condition] = Field(
        [], alias="in", max_length=MOST_CONDITIONS, description="The part of the text index to ask: paths, patterns, "
        "#tag, after:2024-05, before:2024-05-31. The other sources are left out.",
    )  # fmt: skip
    plan: str | dict[str, Any] | None = Field(
        None, description="Run this plan: compact notation, the published JSON, or a whole trace."
    )
    revision: Correction | None = Field(None, description="Corrections of an earlier answer.")
    earlier: list[TraceName] = Field(
        [], max_length=20, description="Ids of the traces of the conversation before, oldest first."
    )
    understood: Question | None = Field(None, description="How a follow-up question is meant; else the model says it.")
    keep: bool = Field(True, description="Whether the history may keep the question.")
    stream: bool = Field(True, description="Events as they come; false: the trace at the end, as JSON.")


async def read_body(request: Request, kind: type[_Body]) -> _Body:
    """The request's body.

    Raises:
        Refused: it is not what it should be; the message names the first field that is wrong.
    """
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = sanitize_line(".".join(str(part) for part in first["loc"]))[:_LONGEST_PLACE]
        told = sanitize_line(first["msg"])[:_LONGEST_PROBLEM]
        if first["type"] == "json_invalid":
            raise Refused(400, told, hint="Send a JSON object.", code="invalid_json") from None
        raise Refused(400, f"{place}: {told}" if place else told, param=place or None, code=first["type"]) from None


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query, as it is described and checked; `most`: characters, or with a default the number."""

    name: str
    description: str
    most: int
    default: int = 0

    def text(self, request: Request) -> str:
        """
        Raises:
            Refused: it is missing or too long.
        """
        text = request.query_params.get(self.name, "")
        if not text.strip():
            raise Refused(400, f"the parameter {self.name} is missing", param=self.name)
        if len(text) > self.most:
            raise Refused(400, f"the parameter {self.name} has more than {self.most} characters", param=self.name)
        return text

    def number(self, request: Request) -> int:
        """
        Raises:
            Refused: it is no whole number, or more than the most.
        """
        text, told = request.query_params.get(self.name, str(self.default)), f"the parameter {self.name}"
        if not (text.isascii() and text.isdigit() and len(text) < 16 and 1 <= int(text) <= self.most):
            raise Refused(400, f"{told} is no whole number from 1 to {self.most}", param=self.name)
        return int(text)


class Query:
    """What the queries of requests may have."""

    WORDS = Parameter("q", *LOOKED_FOR)
    NAME = Parameter("name", *NAMED)
    TITLE = Parameter("title", "Title of the page.", NAMED[1])
    ENTITY = Parameter("entity", "Name of the entity.", NAMED[1])
    RELATION = Parameter("relation", "Relation in words, such as mother.", NAMED[1])
    MOST_FOUND = Parameter("limit", AT_MOST, 50, 5)
    MOST_FACTS = Parameter("limit", AT_MOST, MOST_VALUES, VALUES)
    MOST_LISTED = Parameter("limit", AT_MOST, 200, 50)
    BEFORE = Parameter("before", "Only questions with a lower number.", 10**15 - 1, 10**15 - 1)


# Answers as JSON and as server-sent events, and the one form of errors.
#
# An error is {"error": {"title", "message", "hint", "type", "param", "code"}}: title, message and hint are those of
# every error of the program; message, type, param and code are what clients of OpenAI's API look for.

_LONGEST_MESSAGE = 600
_MOST_WAITING = 1 << 16  # bytes
# The first that an error is an instance of.
_STATUSES: tuple[tuple[type[AtomrError], int], ...] = (
    (WebDisabledError, 403),
    (InputError, 400),
    (SettingsError, 400),
    (PlanError, 400),
    (QueryError, 400),
    (KnowledgeIndexError, 503),
    (ModelError, 503),
    (MissingPartError, 503),
    (SourceError, 502),
    (Cancelled, 503),
)
_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def status_of(error: AtomrError) -> int:
    """The status of HTTP for an error of the program."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def error_document(error: AtomrError) -> dict[str, Any]:
    """The error as JSON."""
    status = status_of(error)
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {
        "error": {
            "title": sanitize(error.title),
            "message": without_paths(sanitize(error.message))[:_LONGEST_MESSAGE],
            "hint": without_paths(sanitize(error.hint))[:_LONGEST_MESSAGE],
            "type": kind,
            "param": getattr(error, "param", None),
            "code": getattr(error, "code", None),
        }
    }


def json_text(data: Any) -> str:
    """JSON in ASCII on one line: texts are sanitised, numbers that JSON cannot write become null.

    What the program says in it names no folder of this machine.
    """
    return json.dumps(_sendable(data, said=False), separators=(",", ":"), default=str, allow_nan=False)


def _sendable(data: Any, *, said: bool) -> Any:
    """The data as it may be sent. `said`: whether it is what the program itself says."""
    if isinstance(data, str):
        text = sanitize(data)
        return without_paths(text) if said else text
    if data is None or isinstance(data, int):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {
            sanitize(key) if isinstance(key, str) else key: _sendable(item, said=said or key in SAID_FIELDS)
            for key, item in data.items()
        }
    if isinstance(data, list | tuple):
        return [_sendable(item, said=said) for item in data]
    return sanitize_all(data)


class JsonReply(Response):
    """Data as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json_text(content).encode("ascii")


def error_reply(error: AtomrError) -> Response:
    """The error with its status."""
    status = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, Refused) and error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JsonReply(error_document(error), status_code=status, headers=headers)


def refusal(error: AtomrError, scope: Scope) -> Response:
    """The error, for a request whose body nobody has read to its end: the connection is closed behind it."""
    reply = error_reply(error)
    headers = dict(scope["headers"])
    if headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers:
        reply.headers["Connection"] = "close"
    return reply


def sent_event(data: Any, *, name: str = "") -> bytes:
    """One server-sent event; JSON in ASCII has no line break that could end it early."""
    return (f"event: {name}\n" if name else "").encode("ascii") + f"data: {json_text(data)}\n\n".encode("ascii")


class EventStream:
    """Server-sent events as they come, with a comment where nothing comes for a while. An ASGI application.

    What is there at once is sent at once: each piece that is sent costs a pass through all layers of the server.
    """

    def __init__(
        self, chunks: AsyncGenerator[bytes, None], *, ping_seconds: float, headers: Mapping[str, str] | None = None
    ) -> None:
        self._chunks = chunks
        self._ping_seconds = ping_seconds
        given = {"content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no", **(headers or {})}
        self._headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiting = bytearray()
        filled, taken = asyncio.Event(), asyncio.Event()

        async def put() -> None:
            ended = False
            while not ended:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._ping_seconds):
                        await filled.wait()
                filled.clear()
                taken.set()
                ended = over
                piece = bytes(waiting) or (b"" if ended else b": \n\n")
                waiting.clear()
                # Where it cannot be sent, nobody listens any more.
                await send({"type": "http.response.body", "body": piece, "more_body": not ended})

        over = False
        async with aclosing(self._chunks) as chunks, asyncio.TaskGroup() as group:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers})
            group.create_task(put())
            async for chunk in chunks:
                waiting += chunk
                filled.set()
                while len(waiting) > _MOST_WAITING:
                    taken.clear()
                    await taken.wait()
            over = True
            filled.set()
