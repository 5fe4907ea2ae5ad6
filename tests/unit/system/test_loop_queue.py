"""Items that threads hand to an event loop: all of them, in order, with few wake-ups, and none after its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from atomr_local.assistant.assistant import LoopQueue


async def test_what_threads_put_in_comes_out_in_the_order_of_each() -> None:
    queue: LoopQueue[tuple[int, int]] = LoopQueue(asyncio.get_running_loop())
    threads = [
        threading.Thread(target=lambda name=name: [queue.put((name, number)) for number in range(500)])
        for name in range(3)
    ]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(60):
        found = [await queue.get() for _ in range(1500)]
    for name in range(3):
        assert [number for whose, number in found if whose == name] == list(range(500))


async def test_the_loop_is_woken_once_for_what_comes_while_it_does_not_run() -> None:
    woken: list[Callable[..., Any]] = []
    loop = asyncio.get_running_loop()
    real = loop.call_soon_threadsafe

    class Counted:
        def call_soon_threadsafe(self, callback: Callable[..., Any]) -> None:
            woken.append(callback)
            real(callback)

    queue: LoopQueue[int] = LoopQueue(Counted())  # type: ignore[arg-type]
    for turn in range(3):
        for number in range(10):
            queue.put(number)
        assert [await queue.get() for _ in range(10)] == list(range(10))
        await asyncio.sleep(0)
        assert len(woken) == turn + 1


async def test_who_waits_is_woken() -> None:
    queue: LoopQueue[str] = LoopQueue(asyncio.get_running_loop())
    for text in ("first", "second"):
        waiting = asyncio.create_task(queue.get())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await asyncio.to_thread(queue.put, text)
        assert await asyncio.wait_for(waiting, 30) == text


def test_a_loop_that_has_ended_is_no_error_for_the_thread() -> None:
    async def make() -> LoopQueue[int]:
        return LoopQueue(asyncio.get_running_loop())

    queue = asyncio.run(make())
    for number in range(2):
        queue.put(number)  # raises nothing
    assert [asyncio.run(queue.get()) for _ in range(2)] == [0, 1]
