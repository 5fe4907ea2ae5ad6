"""The one thread that loads, runs and frees an engine; llama.cpp allows no other while it runs.

Calls that run at once are decoded as sequences of one batch, a token each a step (continuous batching, Yu et al.,
Orca, OSDI 2022). A prompt is read by itself: that fills the processor alone. Each call gets, bit for bit, what it would
get alone: its sequence shares no memory with another, and llama.cpp computes a row of a batch alike whatever
stands in the others (`tests/end_to_end/test_backbone_batch.py`). Where it does not, calls take turns.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from atomr_local.backbone.llama.decoding import Decoding, EncodedRequest
from atomr_local.backbone.llama.engine import Engine, Part
from atomr_local.backbone.llama.prefix_cache import GRID_TOKENS
from atomr_local.backbone.llama.slot import Slot
from atomr_local.backbone.llama.snapshots import Snapshots
from atomr_local.backbone.protocol import Generation
from atomr_local.errors import ModelError

_Job = tuple["Future[Generation]", EncodedRequest]
_Running = dict[Decoding, tuple[int, ...]]  # with the tokens to be evaluated next


class Scheduler:
    """Runs calls on an engine, as many at once as it has sequences, the others in the order in which they came.

    Attributes:
        engine: None before it is loaded and once it is freed.
        lock: held while the engine is freed, and to be held by other threads that use its vocabulary.
    """

    def __init__(self, snapshots: Snapshots, *, reuse: bool = True, batching: bool = True) -> None:
        """Make a scheduler.

        Args:
            reuse: go on from what has been read; without, every prompt is read from its beginning.
            batching: calls that write go into one batch; without, they take turns, token by token.
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
        """Drop what has been read of prompts from memory; read on in batches of `grid`. Only while no call runs."""
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
        """Begin calls that wait while there are slots, waiting for one if nothing runs; False at the end."""
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
        """The idle slot that holds most of the prompt."""
        prompt = call.prompt
        best = max(self._idle, key=lambda slot: slot.cache.reusable(prompt.tokens, prompt.static, prompt.continued))
        self._idle.remove(best)
        if not self._reuse:
            best.forget()
        return best

    def _step(self, engine: Engine, running: _Running) -> None:
        """Evaluate what every call wrote last, and let each choose on.

        One token each makes one batch. A call with a draft goes by itself: llama.cpp would cut the batch up.
        """
        single = [one for one, tokens in running.items() if self._batching and len(tokens) == 1]
        others = [[one] for one in running if one not in single]
        for together in ([single] if single else []) + others:
            parts = [Part(one.slot.number, running[one], len(running[one]) > 1) for one in together]
            # One call's switch must not stop the others; alone it may stop the evaluation itself.
            flag = together[0].call.flag if len(together) == 1 else None
            try:
                rows = engine.decode(parts, flag)
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
