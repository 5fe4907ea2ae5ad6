"""GET /v1/models, POST /v1/chat/completions and POST /v1/embeddings. A strategy is a model there."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from atomr_local.asked import QuestionOptions
from atomr_local.assistant import Assistant
from atomr_local.errors import AtomrError
from atomr_local.http_server.ask import begun, checked_web, finished, stopped_error, trace_summary
from atomr_local.http_server.bodies import read_body
from atomr_local.http_server.openai_api.messages import Message, asked_of, content_of, usage_of
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.questions import Questions, Stopped
from atomr_local.http_server.replies import EventStream, JsonReply, error_document, sent_event
from atomr_local.log_file import log_error
from atomr_local.mcp_server.results import progress_text
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.serving.lookup_desk import LookupDesk
from atomr_local.serving.refused import Refused
from atomr_local.strategies.names import is_known
from atomr_local.strategies.registry import all_strategies

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

    async def models(self, request: Request) -> Response:
        names = await self._lookups.run(lambda _: all_strategies())
        return JsonReply({"object": "list", "data": [self._model(name) for name in (*names, EMBEDDER)]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != EMBEDDER:
            _check_model(name)
        return JsonReply(self._model(name))

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._created, "owned_by": _OWNER}

    async def chat(self, request: Request) -> ASGIApp:
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

    async def embeddings(self, request: Request) -> Response:
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
