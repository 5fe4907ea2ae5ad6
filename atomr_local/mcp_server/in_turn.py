"""Questions of one client in their turn, where no server of HTTP sees to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from atomr_local.assistant import Assistant
from atomr_local.reasoning.trace.events import Event
from atomr_local.serving.desk import Desk

_QUEUE = 32


def asked_in_turn(assistant: Assistant) -> Callable[..., AsyncGenerator[Event, None]]:
    """As :meth:`Assistant.astream`; as many at once as the model has slots, some wait, more are refused."""
    desk = Desk("questions", assistant.settings.llm.parallel, _QUEUE)

    async def stream(question: str, **options: Any) -> AsyncGenerator[Event, None]:
        ticket = desk.take()
        try:
            async for _ in ticket.turn():
                pass
            async with aclosing(assistant.astream(question, **options)) as events:
                async for event in events:
                    yield event
        finally:
            ticket.leave()

    return stream
