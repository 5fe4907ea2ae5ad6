"""GET /v1/models, POST /v1/chat/completions and POST /v1/embeddings. A strategy is a model there."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from atomr_local.assistant.asked import QuestionOptions
from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import AtomrError
from atomr_local.reasoning.conversation import Conversation, EarlierTurn, turn_of
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import EvidenceTrace, Trace
from atomr_local.reasoning.trace.telling import pieces, root_of, told_answer, understood
from atomr_local.server.mcp import page_address, progress_text
from atomr_local.server.openapi import TEXT, Endpoint
from atomr_local.server.options import ServeOptions
from atomr_local.server.questions import (
    EventStream,
    JsonReply,
    Questions,
    Stopped,
    error_document,
    read_body,
    sent_event,
)
from atomr_local.server.routes import begun, checked_web, finished, stopped_error, trace_summary
from atomr_local.server.serving import LookupDesk, Refused
from atomr_local.settings.schema import Settings
from atomr_local.sources.document_places import place_words
from atomr_local.strategies.names import is_known
from atomr_local.strategies.registry import all_strategies
from atomr_local.system.log_file import log_error
from atomr_local.system.sanitize import sanitize, sanitize_line

# Chat messages as a question with the turns before it, and an answer as a message with its citations.

_LONGEST_TURN = 4000  # characters
_MOST_TURNS = 20
# How an answer is told, to be read again where the program has forgotten it.
_UNDERSTOOD = "\n\nUnderstood as: "
_ONE_ANSWER = "The answer is "
_MARKS = re.compile(r"(?: \[\d+\])+\s*$")


class Part(BaseModel):
    """A part of a message; only texts can be read."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    type: str
    text: str = ""


class Message(BaseModel):
    """A message of the chat."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    role: str = Field(max_length=40)
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """
        Raises:
            Refused: it holds something else than text.
        """
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type != "text" for part in self.content):
            raise Refused(400, "only texts can be read", hint="Send no images, sounds or files.", param="messages")
        return "\n".join(part.text for part in self.content)


def asked_of(
    messages: Sequence[Message], recent: Iterable[Trace], settings: Settings
) -> tuple[str, Conversation | None]:
    """The last message as the question, and the questions and answers before it.

    Args:
        recent: traces of earlier answers. A turn that is one of them is known with its entities.

    Raises:
        Refused: the last message is not the user's.
    """
    if not messages or messages[-1].role != "user":
        raise Refused(400, "the last message is not the user's", param="messages")
    known = {(_key(trace.question), _key(content_of(trace)[0])): trace for trace in recent}
    turns: list[EarlierTurn] = []
    identifier, asked = "", ""
    for message in messages[:-1]:
        if message.role == "user":
            asked = message.text
        elif message.role == "assistant" and asked:
            trace = known.get((_key(asked), _key(message.text)))
            if trace is not None and not turns:
                identifier = trace.conversation or trace.id
            turns.append(turn_of(trace) if trace is not None else _unknown_turn(asked, message.text, settings))
            asked = ""
    return messages[-1].text, Conversation(identifier, tuple(turns[-_MOST_TURNS:])) if turns else None


def _unknown_turn(question: str, answer: str, settings: Settings) -> EarlierTurn:
    # Nobody knows what such an answer was read in: it may be a private index.
    private = settings.privacy.indexes
    said, _, meant = answer.partition(_UNDERSTOOD)
    said = _MARKS.sub("", said)
    if said.startswith(_ONE_ANSWER):
        said = said.removeprefix(_ONE_ANSWER).removesuffix(".")
    return EarlierTurn(
        "",
        sanitize_line(meant or question)[:_LONGEST_TURN],
        sanitize_line(said)[:_LONGEST_TURN],
        settings={"text_index": private} if private else {},
    )


def _key(text: str) -> str:
    return " ".join(sanitize(text).split())


@dataclass(frozen=True, slots=True)
class Citation:
    """A mark in the text and what it stands for."""

    start: int
    end: int
    item: EvidenceTrace

    def annotation(self, server: str, trace: str) -> dict[str, Any]:
        """The citation as OpenAI's API has it. Evidence without an address of its own leads to the page that shows it.

        Args:
            server: its address, with a slash at the end.
            trace: id of the answer's trace.
        """
        url, place = self.item.locator.get("url"), place_words(self.item.locator)
        return {
            "type": "url_citation",
            "url_citation": {
                "start_index": self.start,
                "end_index": self.end,
                "title": sanitize_line(f"{self.item.title} ({place})" if place else self.item.title),
                "url": sanitize_line(url) if isinstance(url, str) else page_address(server, trace, self.item.id),
            },
        }


def content_of(trace: Trace) -> tuple[str, list[Citation]]:
    """The answer as a text with marks, [1] and so on, or why there is none; and what the marks stand for.

    Below it are the passages that it quotes, or those closest to the question, and how a follow-up question was
    understood: a client may show nothing but the text.
    """
    text, citations = _said(trace)
    meant = understood(trace) if trace.took_from else ""
    return f"{text}{_UNDERSTOOD}{meant}" if meant else text, citations


def _said(trace: Trace) -> tuple[str, list[Citation]]:
    citations: list[Citation] = []

    def cited(text: str, names: Iterable[str]) -> str:
        for item in pieces(trace, names):
            mark = f" [{len(citations) + 1}]"
            citations.append(Citation(len(text) + 1, len(text) + len(mark), item))
            text += mark
        return text

    root = root_of(trace)
    text, names = "", root.cited if root is not None else ()
    for part in told_answer(trace):
        match part.role:
            case "answer":
                text = cited(sanitize(part.text).strip(), names)
            case "quotation":
                lines = sanitize(part.text).strip().splitlines()
                text = cited(f"{_block(lines)}\n\n{part.source}", names)
            case "passages":
                text += f"\n\n{part.text}" if part.text else ""
                for passage in part.passages:
                    text += f"\n\n{_block(passage.lines)}\n\n{passage.source}"
                    text = cited(text, [passage.evidence] if part.text else ())
            case "advice":
                text += "\n" if citations else ""
                text += "".join(f"\n→ {sanitize_line(item)}" for item in part.items)
            case "guess":
                pass  # a chat would show it as an answer
            case _:
                text += part.line
    return text, citations


def _block(lines: Iterable[str]) -> str:
    return "\n".join(f"> {line}" for line in lines)


def usage_of(trace: Trace) -> dict[str, Any]:
    """The tokens of all model calls; those that came from the prefix cache count as cached."""
    totals = trace.totals
    return {
        "prompt_tokens": totals.prompt_tokens,
        "completion_tokens": totals.generated_tokens,
        "total_tokens": totals.prompt_tokens + totals.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": max(0, totals.prompt_tokens - totals.evaluated_tokens)},
    }


EMBEDDER = "embedder"
_OWNER = "atomr-local"
_MOST_INPUTS = 256
_LONGEST_INPUT = 100_000
# What would change the answer's form, and cannot be had; what only steers how a model samples is passed over.
_NOT_OFFERED = ("tools", "functions", "logprobs", "top_logprobs", "audio")


class StreamOptions(BaseModel):
    """Of a streamed answer."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    include_usage: bool = False


class ChatBody(BaseModel):
    """A chat to be answered. Fields that it does not have, such as temperature, are passed over."""

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)
    model: str = Field(max_length=64, description="A strategy, such as atomr or rag.")
    messages: list[Message] = Field(max_length=500)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None
    store: bool | None = Field(None, description="false: not in the history.")
    web_search_options: dict[str, Any] | None = Field(
        None,
        description="Asks for the web: refused unless the server allows it. What it holds is passed over.",
    )


class EmbeddingsBody(BaseModel):
    """Texts to be embedded."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    model: str = Field(max_length=4096, description="embedder: the one of the settings.")
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


class OpenAIEndpoints:
    """Serves clients of OpenAI's API. Belongs to one event loop."""

    def __init__(self, assistant: Assistant, questions: Questions, lookups: LookupDesk, options: ServeOptions) -> None:
        self._assistant = assistant
        self._questions = questions
        self._lookups = lookups
        self._options = options
        self._created = int(time.time())

    @Endpoint("GET", "/v1/models", "Models", name="listModels")
    async def models(self, request: Request) -> Response:
        """Strategies, and the embedder."""
        names = await self._lookups.run(lambda _: all_strategies())
        return JsonReply({"object": "list", "data": [self._model(name) for name in (*names, EMBEDDER)]})

    @Endpoint("GET", "/v1/models/{name}", "Model", name="getModel", place="Name of the model.")
    async def model(self, request: Request) -> Response:
        """One of them."""
        name = request.path_params["name"]
        if name != EMBEDDER:
            _check_model(name)
        return JsonReply(self._model(name))

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._created, "owned_by": _OWNER}

    @Endpoint("POST", "/v1/chat/completions", "Completion", body=ChatBody, also={"text/event-stream": {"schema": TEXT}})
    async def chat(self, request: Request) -> ASGIApp:
        """Answer a chat, as OpenAI's API does."""
        body = await read_body(request, ChatBody)
        _check_offered(body)
        _check_model(body.model)
        checked_web(self._assistant, True if body.web_search_options is not None else None)
        settings = self._assistant.settings
        question, conversation = asked_of(body.messages, self._questions.recent(), settings)
        options = QuestionOptions(
            strategy=body.model, conversation=conversation if settings.conversation.follow else None
        )
        events = self._questions.stream(question, keep=body.store is not False, **options)
        base = str(request.base_url)
        if not body.stream:
            return JsonReply(_completion(_answered(await finished(events)), body.model, base))
        chunks = _chunks(await begun(events), body, base)
        return EventStream(chunks, ping_seconds=self._options.ping_seconds)

    @Endpoint("POST", "/v1/embeddings", "Embeddings", body=EmbeddingsBody)
    async def embeddings(self, request: Request) -> Response:
        """Vectors of texts."""
        body = await read_body(request, EmbeddingsBody)
        if body.model not in (EMBEDDER, self._assistant.settings.embedder):
            raise _no_model(f"the embedder is named {EMBEDDER}")
        texts = [body.input] if isinstance(body.input, str) else body.input
        if not texts or len(texts) > _MOST_INPUTS or any(not text or len(text) > _LONGEST_INPUT for text in texts):
            raise Refused(
                400, f"1 to {_MOST_INPUTS} texts of 1 to {_LONGEST_INPUT} characters can be embedded", param="input"
            )
        identity, vectors = await self._lookups.run(lambda _: self._assistant.lookups.embed(texts))
        if body.dimensions not in (None, vectors.shape[1]):
            raise Refused(400, f"the embedder has {vectors.shape[1]} dimensions", param="dimensions")
        data = [
            {"object": "embedding", "index": number, "embedding": _written(vector, body.encoding_format)}
            for number, vector in enumerate(vectors)
        ]
        words = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": words, "total_tokens": words}
        return JsonReply({"object": "list", "data": data, "model": identity, "usage": usage})


def _written(vector: NDArray[np.float32], form: str) -> str | list[float]:
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(number) for number in vector]


def _check_offered(body: ChatBody) -> None:
    """
    Raises:
        Refused: something is asked for that would change the form of the answer.
    """
    given = body.model_extra or {}
    wanted = next((name for name in _NOT_OFFERED if given.get(name)), "")
    if body.n not in (None, 1):
        wanted = "n"
    if body.response_format is not None and body.response_format.get("type") != "text":
        wanted = "response_format"
    if "audio" in (given.get("modalities") or ()):
        wanted = "modalities"
    if wanted:
        raise Refused(400, f"{wanted} is not offered", hint="Leave it out.", param=wanted, code="unsupported_parameter")


def _check_model(name: str) -> None:
    """
    Raises:
        Refused: no strategy has this name.
    """
    if not is_known(name):
        raise _no_model("a model is a strategy here")


def _no_model(why: str) -> Refused:
    return Refused(
        404, f"there is no such model: {why}", hint="GET /v1/models lists them.", param="model", code="model_not_found"
    )


def _answered(trace: Trace) -> Trace:
    """
    Raises:
        Refused: the question failed, or was cancelled.
    """
    if trace.status in ("failed", "cancelled"):
        raise Refused(500 if trace.status == "failed" else 503, trace.answer, title="Not answered", code=trace.status)
    return trace


def _completion(trace: Trace, model: str, base: str) -> dict[str, Any]:
    content, citations = content_of(trace)
    message = {
        "role": "assistant",
        "content": content,
        "refusal": None,
        "annotations": [item.annotation(base, trace.id) for item in citations],
    }
    return {
        "id": f"chatcmpl-{trace.id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": usage_of(trace),
        "atomr": trace_summary(trace),
    }


async def _chunks(events: AsyncGenerator[Event, None], body: ChatBody, base: str) -> AsyncGenerator[bytes, None]:
    """The answer as chunks of a chat completion; what the steps do comes first, as reasoning."""
    frame: dict[str, Any] = {
        "id": f"chatcmpl-{time.time_ns():x}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body.model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sent_event(frame | {"choices": [choice]} | more)

    try:
        async with aclosing(events):
            yield chunk({"role": "assistant", "content": ""})
            async for event in events:
                if isinstance(event, Stopped):
                    raise stopped_error(event)
                if isinstance(event, Finished):
                    trace = _answered(event.trace)
                    content, citations = content_of(trace)
                    yield chunk({"content": content})
                    marks = [item.annotation(base, trace.id) for item in citations]
                    yield chunk({"annotations": marks}, "stop", atomr=trace_summary(trace))
                    if body.stream_options is not None and body.stream_options.include_usage:
                        yield sent_event(frame | {"choices": [], "usage": usage_of(trace)})
                    yield b"data: [DONE]\n\n"
                elif message := progress_text(event):
                    yield chunk({"reasoning_content": f"{message}\n"})
    except AtomrError as error:
        yield sent_event(error_document(error))
    except Exception as error:
        log_error(error)
        yield sent_event(error_document(AtomrError("an internal error; the log file tells where")))
