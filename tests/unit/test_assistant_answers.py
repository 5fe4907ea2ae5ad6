"""Answers for programs: blocking and with asyncio, one after the other and side by side."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.fake_parts import FakeBackbone, FakeSource, reply

from atomr_local import Answer, Assistant, Finished
from atomr_local.assistant.session import QuestionGate
from atomr_local.errors import Cancelled, InputError
from atomr_local.models.protocol import Generation, GenerationRequest
from atomr_local.settings.schema import load_settings
from atomr_local.system.cancellation import Cancellation

SUN = reply("the sun")


class Counting(FakeBackbone):
    """Answers slowly, not before so many calls have run at the same time, and counts how many do."""

    def __init__(self, seconds: float = 0.03, together: int = 1) -> None:
        super().__init__()
        self.most = self.now = 0
        self._seconds, self._together = seconds, together
        self._lock = threading.Lock()

    def generate(self, request: GenerationRequest) -> Generation:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            wait_until(lambda: self.most >= self._together)
            deadline = time.monotonic() + self._seconds
            while time.monotonic() < deadline:
                if request.cancellation is not None:
                    request.cancellation.check()
                time.sleep(0.005)
            with self._lock:
                self.replies = [SUN]
                return super().generate(request)
        finally:
            with self._lock:
                self.now -= 1


def assistant_of(backbone: FakeBackbone, parallel: int = 4) -> Assistant:
    assistant = Assistant(load_settings(llm={"parallel": parallel}), backbone)  # type: ignore[arg-type]
    assistant.parts.sources = {"text": FakeSource("text")}
    return assistant


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_an_answer_is_a_view_of_its_trace() -> None:
    with assistant_of(FakeBackbone(SUN)) as assistant:
        answer = assistant.answer("What shines?", strategy="closed-book")
        assert isinstance(answer, Answer)
        assert answer.trace is assistant.last_trace
    assert (answer.question, answer.status, answer.basis) == ("What shines?", "answered", "model")
    assert answer.values == ("the sun",)
    assert str(answer) == answer.text == "From the model's own knowledge, not from evidence: the sun."


def test_wrong_input_is_an_error_before_anything_runs() -> None:
    with assistant_of(FakeBackbone()) as assistant:
        with pytest.raises(InputError, match="empty"):
            assistant.answer("  ")
        with pytest.raises(InputError, match="empty"):
            asyncio.run(assistant.aanswer(""))
        with pytest.raises(TypeError):
            assistant.answer("Who wrote Emma?", colour="red")  # type: ignore[call-arg]


def test_what_goes_wrong_while_answering_is_told_by_the_answer() -> None:
    with assistant_of(FakeBackbone(RuntimeError("broken"))) as assistant:
        answer = assistant.answer("What shines?", strategy="closed-book")
    assert answer.status == "failed"
    assert answer.text


@pytest.mark.parametrize("parallel", [1, 3])
def test_questions_run_side_by_side_as_far_as_there_are_slots(parallel: int) -> None:
    backbone = Counting(together=parallel)
    with assistant_of(backbone, parallel) as assistant, ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(assistant.answer, f"What shines on {n}?", strategy="closed-book") for n in range(8)]
        answers = [job.result() for job in jobs]
    assert [answer.question for answer in answers] == [f"What shines on {n}?" for n in range(8)]
    assert {answer.status for answer in answers} == {"answered"}
    assert backbone.most == parallel


def test_nothing_is_exchanged_while_questions_run() -> None:
    with assistant_of(Counting(0.3)) as assistant, ThreadPoolExecutor(1) as pool:
        job = pool.submit(assistant.answer, "What shines?", strategy="closed-book")
        wait_until(lambda: assistant._gate.busy)
        with pytest.raises(InputError, match="another question"):
            assistant.reconfigure(top_k=3)
        with pytest.raises(InputError, match="another question"):
            assistant.ask("Who wrote Emma?")
        job.result()
        assistant.reconfigure(top_k=3)


def test_cancel_ends_what_runs_and_what_waits() -> None:
    with assistant_of(Counting(5), 1) as assistant, ThreadPoolExecutor(2) as pool:
        first = pool.submit(assistant.answer, "What shines?", strategy="closed-book")
        wait_until(lambda: assistant._gate.busy)
        second = pool.submit(assistant.answer, "What else shines?", strategy="closed-book")
        wait_until(lambda: len(assistant._running) == 2)
        assistant.cancel()
        assert first.result(5).status == "cancelled"
        with pytest.raises(Cancelled):
            second.result(5)


def test_asyncio_answers_several_questions() -> None:
    async def ask() -> list[Answer]:
        async with assistant_of(Counting()) as assistant:
            asked = (assistant.aanswer(f"What shines on {n}?", strategy="closed-book") for n in range(3))
            return list(await asyncio.gather(*asked))

    answers = asyncio.run(ask())
    assert [answer.question for answer in answers] == [f"What shines on {n}?" for n in range(3)]


def test_asyncio_streams_the_events_of_a_question() -> None:
    async def names() -> list[str]:
        async with assistant_of(FakeBackbone(SUN)) as assistant:
            return [type(event).__name__ async for event in assistant.astream("What shines?", strategy="closed-book")]

    told = asyncio.run(names())
    assert told[0] == "QuestionAsked"
    assert told[-1] == Finished.__name__


def test_cancelling_the_task_cancels_the_question() -> None:
    async def cancel() -> str:
        assistant = assistant_of(Counting(30))
        task = asyncio.create_task(assistant.aanswer("What shines?", strategy="closed-book"))
        while not assistant._gate.busy:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not assistant._gate.busy
        assert assistant.last_trace is None or assistant.last_trace.status == "cancelled"
        assistant.close()
        return "ended"

    assert asyncio.run(asyncio.wait_for(cancel(), 10)) == "ended"


def test_the_gate_lets_in_by_order_of_arrival() -> None:
    gate, came = QuestionGate(), []
    gate.try_enter()

    def enter(number: int) -> None:
        gate.enter(1, Cancellation())
        came.append(number)
        gate.leave()

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=enter, args=(number,)))
        threads[-1].start()
        wait_until(lambda: len(gate._waiting) == len(threads))
    gate.leave()
    for thread in threads:
        thread.join(5)
    assert came == list(range(5))
    assert not gate.busy


def test_the_gate_keeps_everybody_out_of_what_must_be_alone() -> None:
    gate, entered = QuestionGate(), threading.Event()

    def enter() -> None:
        gate.enter(4, Cancellation())
        entered.set()

    with gate.exclusive():
        with pytest.raises(InputError), gate.exclusive():
            pass
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.05)
    assert entered.wait(5)
    thread.join(5)
    gate.leave()
    assert not gate.busy
