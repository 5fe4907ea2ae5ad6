"""A model on an OpenAI-compatible server, such as llama-server, Ollama or vLLM.

Only endpoint.url is ever contacted. Redirects are refused, and so are answers that contain the credentials. Every call
has a deadline, and every answer a size limit. Only llama.cpp's servers know GBNF grammars. A server that refuses one
is asked again with the JSON schema, if the request has one, and then without; others ignore grammars. The caller must
therefore reject output that does not fit.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
import weakref
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from atomr_local.errors import Cancelled, ModelError
from atomr_local.models.openai.address import EndpointError, EventStream, Watched, error_text
from atomr_local.models.protocol import (
    BackboneInfo,
    Finish,
    Generation,
    GenerationRequest,
    JsonSchema,
    OutputText,
    Prompt,
)
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.system.credentials import Secret, SecretUrl

T = TypeVar("T")

DEFAULT_CONTEXT = 4096
_BODY_BYTES = 4 << 20
_ANSWER_BYTES = 1 << 20  # and as much for each token as below: an event with log-probabilities is long
_TOKEN_BYTES = 1 << 13
_BYTES_PER_TOKEN = 3
_TURN_TOKENS = 8
# Optional parts of a request, in the order in which they are given up when a server refuses it.
_OPTIONAL = ("stream_options", "top_logprobs", "logprobs", "grammar", "response_format")
_TOP_TOKENS = 20  # the most that OpenAI's own servers give; others give at least as many
_REFUSALS = (400, 422, 500, 501)
_SAID = 300


class OpenAIBackbone:
    """The backbone of an endpoint; an event loop on a thread of its own makes the requests.

    Attributes:
        unsupported: optional parts of requests that the server has refused.
    """

    def __init__(
        self,
        url: SecretUrl | str,
        model: str = "",
        api_key: Secret | str = "",
        timeout: float = 120.0,
        *,
        deadline: float = 900.0,
        unencrypted: bool = False,
        use_proxy: bool = False,
    ) -> None:
        """Contact the server.

        Args:
            url: base address, such as http://127.0.0.1:8080/v1; a user name and password in it are sent as Basic
                authentication, a query with every request.
            model: name to ask for; empty: the first that the server lists.
            api_key: sent as a bearer token when not empty.
            timeout: seconds to wait between two fragments of an answer.
            deadline: seconds that one call may take in all.
            unencrypted: whether credentials may be sent to another machine over http.
            use_proxy: whether the proxies that the environment names are used.

        Raises:
            ModelError: the address is not usable or no such server answers there.
        """
        import httpx

        from atomr_local.models.openai.address import CredentialsTransport, checked_endpoint

        self.unsupported: frozenset[str] = frozenset()
        self._address = checked_endpoint(url, api_key, unencrypted=unencrypted)
        self._url = self._address.url
        self._client = httpx.AsyncClient(
            headers={"accept-encoding": "identity"},
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
            follow_redirects=False,
            transport=CredentialsTransport(self._address, use_proxy=use_proxy),
            trust_env=False,
        )
        self._deadline = deadline
        self._timeout = timeout
        self._turn = asyncio.Lock()
        self._gate = threading.Lock()  # nothing is handed to a loop that is about to end
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)
        thread.start()
        self._finalizer = weakref.finalize(self, _stop, self._loop, thread, self._client)
        try:
            name, context = self._run(self._discover(model))
        except BaseException:
            self.close()
            raise
        self._info = BackboneInfo(name, None, context, None if self._address.loopback else self._address.host)

    @property
    def info(self) -> BackboneInfo:
        """The context is the server's if it tells, else DEFAULT_CONTEXT."""
        return self._info

    def count_tokens(self, prompt: Prompt) -> int:
        """An estimate that errs on the large side: a token for 3 bytes of UTF-8, and 8 for each turn."""
        contents = [len(message.content.encode("utf-8", "replace")) for message in prompt.messages]
        return sum(-(-size // _BYTES_PER_TOKEN) + _TURN_TOKENS for size in contents) + _TURN_TOKENS

    def generate(self, request: GenerationRequest) -> Generation:
        """See :class:`atomr_local.models.protocol.Backbone`.

        Without log-probabilities from the server, the tokens are its fragments and `mean_probability` is None. Watched
        texts are looked for among the most likely tokens that the server lists; one that is not there gets the
        probability of the least likely of them, for its own can be no larger. Token counts are the server's if it
        reports them, else estimates.
        """
        # Credentials in the output end the call before any of them is passed on.
        output = OutputText((*request.stop, *self._address.telling()), request.on_text)
        started = time.perf_counter()
        watched = Watched(request.watch, request.watch_after)
        made = self._run(self._answer(request, output, watched), request.cancellation)
        if output.stop in self._address.telling():
            raise EndpointError(
                "the server sent the key or password back in its answer", hint="Ask whoever runs the server."
            )
        return replace(made, seconds=time.perf_counter() - started, watched=watched.logprobs)

    def _payload(self, request: GenerationRequest) -> dict[str, Any]:
        """The request as JSON, with all optional parts."""
        payload: dict[str, Any] = {
            "model": self._info.name,
            "messages": [{"role": message.role, "content": message.content} for message in request.prompt.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
            "logprobs": True,
        }
        if request.stop:
            payload["stop"] = list(request.stop)
        if request.watch:
            payload["top_logprobs"] = _TOP_TOKENS
        output = request.output
        if output is not None and not isinstance(output, JsonSchema):
            payload["grammar"] = output.gbnf
        if output is not None and output.json_schema is not None:
            schema = {"name": "output", "strict": True, "schema": output.json_schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": schema}
        return payload

    def close(self) -> None:
        """Break off what runs and close the connections. Idempotent."""
        with self._gate:
            self._finalizer()

    def _run(self, work: Coroutine[Any, Any, T], cancellation: Cancellation | None = None) -> T:
        """Do `work` on the loop; Cancelled as soon as the switch is thrown, the connection then closed."""
        with self._gate:
            if not self._finalizer.alive:
                work.close()
                raise EndpointError("the endpoint has been closed")
            future = asyncio.run_coroutine_threadsafe(self._cancellable(work, cancellation), self._loop)
        try:
            return future.result()
        except CancelledError:
            raise Cancelled() from None
        except BaseException:
            future.cancel()
            raise

    async def _cancellable(self, work: Coroutine[Any, Any, T], cancellation: Cancellation | None) -> T:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()

        def stop() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is left to stop
                loop.call_soon_threadsafe(task.cancel)

        if cancellation is not None:
            cancellation.on_cancel(stop)
        return await task

    async def _discover(self, model: str) -> tuple[str, int]:
        """The model's name and context, from the server's list of models."""
        status, body = await self._get(f"{self._url}/models")
        if status == 404 and model:  # not every server has a list
            return model, DEFAULT_CONTEXT
        if status != 200:
            raise self._refusal(status, body)
        listed = body.get("data") if isinstance(body, dict) else None
        if not isinstance(listed, list):
            raise EndpointError(
                "the server did not send a list of models", hint="endpoint.url is the address that ends in /v1."
            )
        entries = [entry for entry in listed if isinstance(entry, dict) and _is_name(entry.get("id"))]
        entries = [entry for entry in entries if self._address.hide(entry["id"]) == entry["id"]]
        names = [entry["id"] for entry in entries]
        if not model and not names:
            raise EndpointError("the server has no model", hint="Load a model there, or set endpoint.model.")
        chosen = next((entry for entry in entries if entry["id"] == model), entries[0] if entries else {})
        context = chosen.get("max_model_len")  # vLLM
        if type(context) is not int:
            context = await self._server_context()
        return model or names[0], context if type(context) is int and context > 0 else DEFAULT_CONTEXT

    async def _server_context(self) -> Any:
        """The context of a llama-server, None elsewhere."""
        try:
            status, body = await self._get(f"{self._url.removesuffix('/v1')}/props")
        except ModelError:
            return None
        settings = body.get("default_generation_settings") if status == 200 and isinstance(body, dict) else None
        return settings.get("n_ctx") if isinstance(settings, dict) else None

    async def _get(self, url: str) -> tuple[int, Any]:
        limit = min(self._timeout, self._deadline)
        async with self._faults(), self._limited(limit), self._client.stream("GET", url) as response:
            return response.status_code, await _body(response)

    async def _answer(self, request: GenerationRequest, output: OutputText, watched: Watched) -> Generation:
        payload = self._payload(request)
        async with self._turn, self._limited(self._deadline):
            given_up = set(self.unsupported)
            refusal: ModelError | None = None
            while True:
                sent = {key: value for key, value in payload.items() if key not in given_up}
                if "grammar" in sent:
                    sent.pop("response_format", None)  # it says less, and servers take only one of them
                async with self._faults(), self._request(sent) as response:
                    if response.status_code == 200:
                        self.unsupported = frozenset(given_up)
                        return await self._read(response, request, output, watched)
                    body = await _body(response)
                # The user is shown the refusal of the full request: perhaps nothing optional is to blame.
                refusal = refusal or self._refusal(response.status_code, body)
                optional = [key for key in _OPTIONAL if key in sent]
                if response.status_code not in _REFUSALS or not optional:
                    raise refusal
                blamed = [key for key in optional if key in error_text(body)] or optional[:1]
                if "grammar" in blamed and await self._knows_grammars(sent):
                    raise refusal  # it was this grammar
                given_up.update(blamed)

    async def _knows_grammars(self, request: dict[str, Any]) -> bool:
        simplest = {**request, "grammar": 'root ::= "a"', "max_tokens": 1}
        async with self._faults(), self._request(simplest) as response:
            return bool(response.status_code == 200)

    def _request(self, content: dict[str, Any]) -> contextlib.AbstractAsyncContextManager[Any]:
        return self._client.stream("POST", f"{self._url}/chat/completions", json=content)

    async def _read(
        self, response: Any, request: GenerationRequest, output: OutputText, watched: Watched
    ) -> Generation:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise EndpointError("the server does not stream its answers")
        events = EventStream(_ANSWER_BYTES + _TOKEN_BYTES * request.max_tokens, self._address.hide)
        finish: Finish | None = None
        prompt_tokens = cached_tokens = None
        count, surplus = 0, False
        async with contextlib.aclosing(events.fragments(response.aiter_raw())) as fragments:
            async for fragment in fragments:
                if fragment.prompt_tokens is not None:
                    prompt_tokens, cached_tokens = fragment.prompt_tokens, fragment.cached_tokens
                if fragment.finish:
                    finish = "length" if fragment.finish == "length" else "stop"
                for index, (text, logprob) in enumerate(fragment.pieces):
                    watched.see(output.text, fragment.alternatives[index : index + 1])
                    if output.stopped or count == request.max_tokens:  # the server goes on all the same
                        finish, surplus = "length", True
                        break
                    output.add(text.encode("utf-8", "replace"), logprob)
                    count += 1
                if surplus:
                    break
        if finish is None and not events.done:
            raise EndpointError("the server cut off its answer", hint="Look at the server's log, then ask again.")
        text, tokens = output.finish()
        read = prompt_tokens if prompt_tokens is not None else self.count_tokens(request.prompt)
        if output.stopped:
            finish = "stop"
        return Generation(text, tokens, finish or "stop", read, max(0, read - (cached_tokens or 0)), 0.0)

    @contextlib.asynccontextmanager
    async def _limited(self, seconds: float) -> AsyncIterator[None]:
        """A time for the whole, however often a byte comes."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise EndpointError(
                f"the server at {self._url} did not finish its answer within {seconds:g} seconds",
                hint="See what it is busy with, or raise endpoint.deadline.",
            ) from None

    @contextlib.asynccontextmanager
    async def _faults(self) -> AsyncIterator[None]:
        """Everything that a connection can meet, as ModelError."""
        import httpx

        try:
            yield
        except httpx.TimeoutException as error:
            connecting = isinstance(error, httpx.ConnectTimeout)
            what = "cannot be reached" if connecting else f"did not answer for {self._timeout:g} seconds"
            raise EndpointError(
                f"the server at {self._url} {what}", hint="See whether it runs, or raise endpoint.timeout."
            ) from None
        except httpx.ProxyError as error:
            raise EndpointError(
                f"the proxy does not lead to {self._url}: {self._address.hide(str(error))[:_SAID]}",
                hint="Correct the proxy in the environment, or set network.use_proxy = false.",
            ) from None
        except httpx.ConnectError as error:
            raise EndpointError(
                f"nothing answers at {self._url}: {error}", hint="Start the server, or correct endpoint.url."
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise EndpointError(
                f"the connection to {self._url} was lost: {self._address.hide(str(error))[:_SAID]}",
                hint="Look at the server's log, then ask again.",
            ) from None

    def _refusal(self, status: int, body: Any) -> ModelError:
        said = error_text(body, self._address.hide)
        if 300 <= status < 400:
            return EndpointError(
                f"{self._url} redirects elsewhere", hint="Set endpoint.url to the server's own address."
            )
        if status in (401, 403):
            return EndpointError(
                f"{self._url} refuses the key (status {status})",
                hint="Set endpoint.api_key, or a user name and password in endpoint.url.",
            )
        if status == 404:
            return EndpointError(
                f"{self._url} does not know this model or address: {said}",
                hint="Check endpoint.model, and that endpoint.url ends in /v1.",
            )
        if status == 429:
            return EndpointError(f"{self._url} has too much to do: {said}", hint="Wait a moment, then ask again.")
        hint = "The prompt may be too long for the server's context." if status in _REFUSALS else ""
        return EndpointError(f"{self._url} answered with status {status}: {said}", hint=hint)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 500


async def _body(response: Any) -> Any:
    """The JSON of a short answer, or its text when it is none."""
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > _BODY_BYTES:
            raise EndpointError("the server's answer is too long", hint="Check what answers at endpoint.url.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, client: Any) -> None:
    async def end() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await client.aclose()

    if thread is threading.current_thread():  # closed by its own listener; it cannot wait for itself
        loop.create_task(end()).add_done_callback(lambda _: loop.stop())
        return
    asyncio.run_coroutine_threadsafe(end(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
