"""The one thread that loads, runs and frees an engine, with continuous batching (Yu et al., Orca, OSDI 2022).

Calls that run at the same time are sequences of one batch and get one token per step. A prompt is evaluated alone, for
it keeps the processor busy by itself. Each call gets, bit for bit, the output it would get alone: sequences share no
memory, and llama.cpp computes a row of a batch independently of the other rows (`test_backbone_batch.py`). Where it
does not, calls take turns.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from atomr_local.backbone.llama.decoding import Decoding, EncodedRequest, Slot
from atomr_local.backbone.llama.engine import Engine, Part
from atomr_local.backbone.llama.prefix_cache import GRID_TOKENS
from atomr_local.backbone.llama.snapshots import Snapshots
from atomr_local.backbone.protocol import Generation
from atomr_local.errors import ModelError

_Job = tuple["Future[Generation]", EncodedRequest]
_Running = dict[Decoding, tuple[int, ...]]  # with the tokens to be evaluated next


class Scheduler:
    """Runs calls on the slots of an engine; the others wait in order of arrival.

    Attributes:
        engine: None before it is loaded and after it is freed.
        lock: held while the engine is freed; other threads hold it while they use the vocabulary.
    """

    def __init__(self, snapshots: Snapshots, *, reuse: bool = True, batching: bool = True) -> None:
        """Make a scheduler.

        Args:
            reuse: use the prefix cache.
            batching: decode calls in one batch; otherwise they take turns, token by token.
        """
        self._reuse = reuse
        self._batching = batching
        self.engine: Engine | None = None
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=lambda: None)
        self._snapshots = snapshots
        self._news = threading.Condition(self.lock)
        self._waiting: deque[_Job] = deque()
        self._calls: set[EncodedRequest] = set()
        self._futures: dict[Decoding, Future[Generation]] = {}
        self._idle: list[Slot] = []
        self._closed = False

    def start(self, load: Callable[[], Engine]) -> Engine:
        """Load the engine on the thread; raises what loading raises."""
        loaded: Future[Engine] = Future()
        self.thread = threading.Thread(target=self._run, args=(load, loaded), name="backbone", daemon=True)
        self.thread.start()
        return loaded.result()

    def submit(self, call: EncodedRequest) -> Future[Generation]:
        """Raises ModelError when closed."""
        future: Future[Generation] = Future()
        with self._news:
            if self._closed:
                raise closed_error()
            self._calls.add(call)
            future.add_done_callback(lambda _: self._calls.discard(call))
            self._waiting.append((future, call))
            self._news.notify()
        return future

    def forget(self, grid: int = GRID_TOKENS) -> None:
        """Clear the prefix caches in memory, then evaluate prompts in batches of `grid`. Only while no call runs."""
        for slot in self._idle:
            slot.forget(grid)

    def close(self) -> None:
        """Stop what runs and free the engine. Idempotent; calls that run or wait end as cancelled."""
        with self._news:
            if not self._closed:
                self._closed = True
                for call in list(self._calls):
                    call.flag.set()
                self._news.notify()
        if self.thread.is_alive() and self.thread is not threading.current_thread():
            self.thread.join()

    # On the thread.

    def _run(self, load: Callable[[], Engine], loaded: Future[Engine]) -> None:
        try:
            engine = self.engine = load()
        except BaseException as error:
            loaded.set_exception(error)
            return
        self._idle = [Slot(engine, number, self._snapshots) for number in reversed(range(engine.sequences))]
        loaded.set_result(engine)
        running: _Running = {}
        while self._admit(engine, running):
            self._step(engine, running)
        with self.lock:
            engine.close()
            self.engine = None

    def _admit(self, engine: Engine, running: _Running) -> bool:
        """Start waiting calls on idle slots; if nothing runs, wait for a call. False when closed and done."""
        while True:
            with self._news:
                while not running and not self._waiting and not self._closed:
                    self._news.wait()
                if not self._waiting or not self._idle:
                    return bool(running or self._waiting)
                future, call = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                decoding = Decoding(engine, self._slot_for(call), call)
                self._futures[decoding] = future
                self._take(running, decoding, decoding.begin)
            del future, call  # a result must not live until the next call

    def _slot_for(self, call: EncodedRequest) -> Slot:
        """The idle slot with the longest reusable prefix of the prompt."""
        prompt = call.prompt

        def reusable(slot: Slot) -> int:
            alike = slot.task == call.task
            return slot.cache.reusable(prompt.tokens, prompt.static, prompt.continued) if alike else -1

        best = max(self._idle, key=reusable)
        self._idle.remove(best)
        best.serve(call.task)
        if not self._reuse:
            best.forget()
        return best

    def _step(self, engine: Engine, running: _Running) -> None:
        """Evaluate the last tokens of every call and choose the next ones.

        Calls with one token share a batch. A call with a draft has its own: llama.cpp would split the batch. So has one
        with the adapter of a task, which llama.cpp rounds otherwise for several rows.
        """
        single = [one for one, tokens in running.items() if self._batching and len(tokens) == 1 and not one.call.task]
        others = [[one] for one in running if one not in single]
        for together in ([single] if single else []) + others:
            parts = [Part(one.slot.number, running[one], len(running[one]) > 1) for one in together]
            # One call's switch must not stop the others; alone it may stop the evaluation itself.
            flag = together[0].call.flag if len(together) == 1 else None
            try:
                rows = engine.decode(parts, flag, together[0].call.task)
            except Exception as error:
                for decoding in together:
                    self._finish(running, decoding, error)
                continue
            for decoding, row in zip(together, rows, strict=True):
                self._take(running, decoding, lambda: decoding.advance(lambda i: engine.logits(row + i)))  # noqa: B023

    def _take(self, running: _Running, decoding: Decoding, choose: Callable[[], tuple[int, ...]]) -> None:
        try:
            tokens = choose()
        except BaseException as error:
            self._finish(running, decoding, error)
            return
        if tokens:
            running[decoding] = tokens
        else:
            self._finish(running, decoding, None)

    def _finish(self, running: _Running, decoding: Decoding, error: BaseException | None) -> None:
        running.pop(decoding, None)
        decoding.close()
        self._idle.append(decoding.slot)
        future = self._futures.pop(decoding)
        if error is not None:
            future.set_exception(error)
        elif decoding.result is not None:
            future.set_result(decoding.result)


def closed_error() -> ModelError:
    return ModelError("the model has been closed")
