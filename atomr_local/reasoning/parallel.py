"""Runs independent steps and operator calls at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


def run_graph(items: Sequence[int], depends: Mapping[int, Set[int]], work: Callable[[int], None], limit: int) -> None:
    """Do the work of every item after the items that it depends on, at most `limit` at once.

    Raises:
        the error of the first item, in the order of `items`, that failed; nothing new starts after an error.
    """
    if limit <= 1:
        for item in items:
            work(item)
        return
    open_items = {item: set(depends[item]) for item in items}
    running: dict[Future[None], int] = {}
    errors: dict[int, BaseException] = {}
    with ThreadPoolExecutor(limit, thread_name_prefix="atomr-step") as pool:
        while True:
            ready = [item for item, missing in open_items.items() if not missing and not errors]
            # None waits inside the pool, where it would start even after an error.
            for item in ready[: limit - len(running)]:
                del open_items[item]
                running[pool.submit(work, item)] = item
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                if (error := future.exception()) is not None:
                    errors[item] = error
                for missing in open_items.values():
                    missing.discard(item)
    if errors:
        raise errors[min(errors, key=list(items).index)]


def run_each(work: Callable[[_Item], _Made], items: Sequence[_Item], limit: int) -> list[_Made]:
    """The results of the work on every item, in order, at most `limit` at once. Raises the first error."""
    if limit <= 1 or len(items) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(limit, len(items)), thread_name_prefix="atomr-run") as pool:
        return list(pool.map(work, items))
