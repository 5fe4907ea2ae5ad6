"""One family of errors: title, message, hint."""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from atomr_local import errors
from atomr_local.cli.main import report
from atomr_local.errors import AtomrError, Cancelled, ModelError
from atomr_local.system.cancellation import Cancellation

FAMILY = [item for _, item in inspect.getmembers(errors, inspect.isclass) if issubclass(item, AtomrError)]


def test_each_has_a_title_of_its_own_and_is_caught_as_the_family() -> None:
    assert len({item.title for item in FAMILY}) == len(FAMILY) > 8
    error = ModelError("no such file", hint="Give another.")
    assert str(error) == "Model not usable: no such file"
    assert ModelError("x", title="Elsewhere").title == "Elsewhere"
    assert ModelError.title == "Model not usable"


def test_a_report_goes_to_standard_error_and_is_sanitised(capsys: pytest.CaptureFixture[str]) -> None:
    report(ModelError("bad \x1b[31mfile\x1b]0;x\x07", hint="Do \u202ethis."))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "Model not usable: bad file\n  → Do this.\n"


def test_cancellation_is_one_way_and_tells_everyone_once() -> None:
    cancellation = Cancellation()
    told: list[str] = []
    cancellation.on_cancel(lambda: told.append("early"))
    cancellation.check()
    assert not cancellation.wait(0)
    cancellation.cancel()
    cancellation.cancel()
    cancellation.on_cancel(lambda: told.append("late"))
    assert told == ["early", "late"]
    assert cancellation.cancelled and cancellation.wait(0)
    with pytest.raises(Cancelled):
        cancellation.check()


def test_the_switch_may_be_thrown_by_what_interrupts_a_registration() -> None:
    cancellation, told = Cancellation(), list[str]()

    class Interrupted(deque[Callable[[], None]]):
        def append(self, callback: Callable[[], None]) -> None:  # a handler of Ctrl-C runs here, on this thread
            cancellation.cancel()
            super().append(callback)
            cancellation.cancel()

    cancellation._callbacks = Interrupted()
    registering = threading.Thread(target=cancellation.on_cancel, args=(lambda: told.append("once"),), daemon=True)
    registering.start()
    registering.join(120)
    assert told == ["once"]


def test_threads_that_register_and_cancel_at_once_have_every_callback_run_once() -> None:
    for _ in range(50):
        cancellation, told = Cancellation(), list[int]()
        begin = threading.Barrier(4, timeout=120)

        def register(number: int, cancellation: Cancellation = cancellation, told: list[int] = told) -> None:
            begin.wait()  # noqa: B023
            if number == 0:
                cancellation.cancel()
            for i in range(20):
                cancellation.on_cancel(lambda i=i: told.append(100 * number + i))  # type: ignore[misc]

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(register, range(4)))
        assert sorted(told) == [100 * number + i for number in range(4) for i in range(20)]
