"""Requests in work: their bodies read with bounds, and their end when the client goes away or the server stops.

Whatever serves a request runs as a task that is cancelled then. A stream that is cut off by the server is ended as
its protocol wants it, so that the client sees its end and not a broken connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atomr_local.http_server.connections import whose
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.replies import error_reply, refusal
from atomr_local.log_file import log_error
from atomr_local.mcp_server.callers import GONE
from atomr_local.serving.desk import client
from atomr_local.serving.refused import Refused, stopping

_log = logging.getLogger(__name__)


class InFlight:
    """Serves requests and knows which are in work. Belongs to one event loop."""

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        self._app = app
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: set[asyncio.Task[None]] = set()
        self._inside = 0  # with those whose body is still arriving
        self._large = 0  # bytes of large bodies that are held
        self._closed = False

    @property
    def count(self) -> int:
        """Requests in work, without streams that only listen and have no end of their own."""
        return len(self._tasks - self._listening)

    def close(self) -> None:
        """Serve no further request but questions about health."""
        self._closed = True

    def cut_off(self) -> None:
        """End all requests now."""
        for task in tuple(self._tasks):
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client.set(whose(scope["client"][0]) if scope.get("client") else "")
        reply = _Reply(send, self._options.send_seconds)
        body, held = bytearray(), 0
        self._inside += 1
        try:
            self._check_open(scope)
            if self._inside > self._options.most_requests:
                raise Refused(503, "too many requests are in work", title="Not available", retry_after=5)
            there = await self._read(body, scope, receive)
            self._check_open(scope)  # again: it took a while
            if there:
                content, held = bytes(body), self._large_part(len(body))
                body.clear()
                await self._serve(scope, content, receive, reply)
        except Refused as refused:
            await refusal(refused, scope)(scope, receive, reply)
        finally:
            self._inside -= 1
            self._large -= held or self._large_part(len(body))

    def _check_open(self, scope: Scope) -> None:
        """
        Raises:
            Refused: the server stops.
        """
        if self._closed and scope["path"] != "/health":
            raise stopping()

    async def _serve(self, scope: Scope, body: bytes, receive: Receive, reply: _Reply) -> None:
        gone = scope[GONE] = asyncio.Event()
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def given() -> Message:
            if unread:
                return unread.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        task = asyncio.create_task(self._run(scope, given, reply))
        watching = asyncio.create_task(watch())
        self._tasks.add(task)
        if scope["method"] == "GET" and scope["path"].startswith("/mcp"):
            self._listening.add(task)
        try:
            await asyncio.wait((task, watching), return_when=asyncio.FIRST_COMPLETED)
            if not (task.done() or reply.ended):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        finally:
            task.cancel()  # the connection's own task was cancelled
            watching.cancel()
            self._tasks.discard(task)
            self._listening.discard(task)
        there = not gone.is_set()
        gone.set()
        if there:
            await reply.end(scope, receive)

    async def _run(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        try:
            await self._app(scope, receive, reply)
        except* TimeoutError:
            _log.info("A client took too long to read its answer")
        except* Exception as errors:  # starlette has answered by now; what is left is for the log
            log_error(errors.exceptions[0])

    async def _read(self, body: bytearray, scope: Scope, receive: Receive) -> bool:
        """Read the whole body; False if the client has gone.

        Raises:
            Refused: it is too large or too slow, or too much is held already.
        """
        most = self._options.body_bytes
        too_large = Refused(413, f"the body is larger than {most} bytes", hint="Send less at a time.")
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:12]) > most:
            raise too_large
        try:
            async with asyncio.timeout(self._options.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return False
                    before = self._large_part(len(body))
                    body += message.get("body", b"")
                    self._large += self._large_part(len(body)) - before
                    if len(body) > most:
                        raise too_large
                    if self._large > self._options.bodies_bytes and self._large_part(len(body)):
                        raise Refused(
                            503, "too many large bodies are held", title="Not available", retry_after=5, code="bodies"
                        )
                    if not message.get("more_body", False):
                        return True
        except TimeoutError:
            raise Refused(408, "the body did not arrive in time") from None

    def _large_part(self, size: int) -> int:
        """What a body of this size takes of the room that large bodies share."""
        return size if size > self._options.small_body_bytes else 0


class _Reply:
    """What is sent, with a limit on how long the client may take for each piece of it."""

    def __init__(self, send: Send, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._started = self.ended = False

    async def __call__(self, message: Message) -> None:
        if self.ended:
            return
        if message["type"] == "http.response.start":
            self._started = True
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self.ended = True
        async with asyncio.timeout(self._seconds):
            await self._send(message)

    async def end(self, scope: Scope, receive: Receive) -> None:
        """End what was cut off."""
        with contextlib.suppress(TimeoutError):
            if not self._started:
                await error_reply(stopping())(scope, receive, self)
            elif not self.ended:
                await self({"type": "http.response.body", "body": b"", "more_body": False})
