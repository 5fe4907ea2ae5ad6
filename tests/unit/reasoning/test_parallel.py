"""What runs together: order, overlap, limit, errors. Overlap is proved with barriers, never with sleeps."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from atomr_local.errors import Cancelled
from atomr_local.reasoning import parallel
from atomr_local.reasoning.parallel import run_each, run_graph

PATIENCE = 120.0  # seconds; only what fails lasts so long


class Watched:
    """Work that keeps what began and ended, and how much ran at once at most."""

    def __init__(self, work: Callable[[int], object] = lambda _item: None) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._running = 0
        self.most = 0
        self.begun: list[int] = []
        self.done: list[int] = []
        self.before: dict[int, set[int]] = {}  # what was done when an item began

    def __call__(self, item: int) -> int:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
            self.begun.append(item)
            self.before[item] = set(self.done)
        try:
            self._work(item)
        finally:
            with self._lock:
                self._running -= 1
                self.done.append(item)
        return item * 10


def moment(_item: int) -> None:
    time.sleep(random.random() * 0.002)


def failing(*items: int, by: type[Exception] = ValueError) -> Callable[[int], None]:
    def work(item: int) -> None:
        if item in items:
            raise by(f"item {item}")

    return work


def no_needs(items: range) -> dict[int, set[int]]:
    return {item: set() for item in items}


@pytest.mark.parametrize("limit", [1, 2, 4, 9])
@pytest.mark.parametrize("seed", range(5))
def test_each_item_is_worked_once_and_after_all_that_it_depends_on(limit: int, seed: int) -> None:
    chance = random.Random(seed)
    items = list(range(20))
    chance.shuffle(items)
    depends = {item: set(chance.sample(items[:i], chance.randint(0, min(i, 3)))) for i, item in enumerate(items)}
    work = Watched(moment)
    run_graph(items, depends, work, limit)
    assert sorted(work.done) == sorted(items)
    assert len(work.begun) == len(items)
    assert all(depends[item] <= work.before[item] for item in items)
    assert work.most <= limit


@pytest.mark.parametrize("limit", [0, 1])
def test_one_at_a_time_keeps_the_order_on_the_callers_thread(limit: int) -> None:
    threads: set[int] = set()
    work = Watched(lambda _item: threads.add(threading.get_ident()))
    run_graph([3, 1, 2], {1: set(), 2: set(), 3: set()}, work, limit)
    assert work.begun == [3, 1, 2]
    assert threads == {threading.get_ident()}


def test_nothing_to_do_is_done() -> None:
    run_graph([], {}, failing(), 4)
    assert run_each(failing(), [], 4) == []


def test_independent_items_overlap_and_no_more_of_them_than_the_limit() -> None:
    barrier = threading.Barrier(2, timeout=PATIENCE)
    work = Watched(lambda _item: barrier.wait())  # passes only where two run at once
    run_graph(range(8), no_needs(range(8)), work, 2)
    assert work.most == 2
    assert sorted(work.done) == list(range(8))


def test_one_item_does_not_wait_for_others_that_it_does_not_depend_on() -> None:
    last_began = threading.Event()

    def work(item: int) -> None:
        if item == 0:
            assert last_began.wait(PATIENCE)  # 2 rests on 1 only, so it runs while 0 still does
        if item == 2:
            last_began.set()

    run_graph([0, 1, 2], {0: set(), 1: set(), 2: {1}}, work, 2)


def test_the_items_that_are_ready_begin_in_their_order() -> None:
    barrier = threading.Barrier(2, timeout=PATIENCE)

    def together(item: int) -> None:
        if item in (4, 3):
            barrier.wait()  # neither ends, and lets another in, before both have begun

    work = Watched(together)
    run_graph([5, 4, 3, 2, 1], {item: ({5} if item < 5 else set()) for item in range(1, 6)}, work, 2)
    assert work.begun[0] == 5
    assert set(work.begun[1:3]) == {4, 3}


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_nothing_that_depends_on_an_error_begins(limit: int) -> None:
    work = Watched(failing(0))
    with pytest.raises(ValueError, match="item 0"):
        run_graph([0, 1, 2], {0: set(), 1: {0}, 2: {1}}, work, limit)
    assert work.begun == [0]


def test_nothing_independent_begins_after_an_error_either_and_what_runs_comes_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, wait = threading.Event(), parallel.wait

    def waited(*args: Any, **options: Any) -> Any:
        ended = wait(*args, **options)
        if any(future.exception() is not None for future in ended.done):
            known.set()
        return ended

    def work(item: int) -> None:
        if item == 0:
            raise ValueError("item 0")
        assert known.wait(PATIENCE)  # the error is known by the time that a place is free

    monkeypatch.setattr(parallel, "wait", waited)
    watched = Watched(work)
    with pytest.raises(ValueError, match="item 0"):
        run_graph(range(10), no_needs(range(10)), watched, 2)
    assert sorted(watched.begun) == sorted(watched.done) == [0, 1]


@pytest.mark.parametrize("kind", [ValueError, Cancelled])
def test_of_several_errors_that_of_the_first_item_is_raised(kind: type[Exception]) -> None:
    later_failed = threading.Event()

    def work(item: int) -> None:
        if item == 7:  # first by order, last by time
            assert later_failed.wait(PATIENCE)
            raise kind("first")
        try:
            raise RuntimeError("later")
        finally:
            later_failed.set()

    with pytest.raises(kind, match="first"):
        run_graph([7, 3], {7: set(), 3: set()}, work, 2)


def test_cancelled_is_raised_when_all_that_ran_were_cancelled() -> None:
    barrier = threading.Barrier(3, timeout=PATIENCE)

    def work(_item: int) -> None:
        barrier.wait()
        raise Cancelled()

    watched = Watched(work)
    with pytest.raises(Cancelled):
        run_graph(range(9), no_needs(range(9)), watched, 3)
    assert len(watched.begun) == 3


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_each_gives_what_it_made_in_order(limit: int) -> None:
    work = Watched(moment)
    assert run_each(work, range(12), limit) == [item * 10 for item in range(12)]
    assert work.most <= limit


def test_each_overlaps_up_to_the_limit() -> None:
    barrier = threading.Barrier(3, timeout=PATIENCE)
    work = Watched(lambda _item: barrier.wait())
    assert run_each(work, range(9), 3) == [item * 10 for item in range(9)]
    assert work.most == 3


@pytest.mark.parametrize("items", [[4], [4, 5]])
def test_each_uses_the_callers_thread_where_nothing_can_overlap(items: list[int]) -> None:
    made = run_each(lambda _item: threading.get_ident(), items, 4 if len(items) == 1 else 1)
    assert set(made) == {threading.get_ident()}


@pytest.mark.parametrize("kind", [ValueError, Cancelled])
def test_each_raises_the_first_error_by_order(kind: type[Exception]) -> None:
    later_failed = threading.Event()

    def work(item: int) -> None:
        if item == 1:
            assert later_failed.wait(PATIENCE)
            raise kind("first")
        if item == 2:
            later_failed.set()
            raise RuntimeError("later")

    with pytest.raises(kind, match="first"):
        run_each(work, [0, 1, 2], 3)


@pytest.mark.parametrize("limit", [1, 4])
def test_each_raises_what_one_at_a_time_raises(limit: int) -> None:
    with pytest.raises(ValueError, match="item 3"):
        run_each(failing(3, 5, 6), range(8), limit)
