"""The one thread that loads, runs and frees an engine, with continuous batching (Yu et al., Orca, OSDI 2022).

Calls that run at the same time are sequences of one batch and get one token per step. A prompt is evaluated alone, for
it keeps the processor busy by itself. Each call gets, bit for bit, the output it would get alone: sequences share no
memory, and llama.cpp computes a row of a batch independently of the other rows (`test_backbone_batch.py`). Where it
does not, calls take turns.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from atomr_local.errors import Cancelled, ModelError
from atomr_local.models.llama.chat import EncodedPrompt
from atomr_local.models.llama.engine import AbortFlag, Engine, Part, quiet_c_stderr
from atomr_local.models.llama.prefix_cache import GRID_TOKENS, PrefixCache, Snapshots
from atomr_local.models.protocol import Finish, Generation, GenerationRequest, OutputText

# Chooses the next token: greedy or seeded, with or without a grammar.

_FIRST_CANDIDATES = 64


class GrammarMatcher:
    """A compiled GBNF grammar and its state for one output."""

    def __init__(self, engine: Engine, sampler: Any) -> None:
        self._api = engine.api
        self._sampler = sampler
        self._markers = engine.markers

    def allowed(self, tokens: Any) -> Any:
        """Which of `tokens`, an integer array (n,), may come next: booleans (n,).

        llama.cpp takes a marker such as <|im_start|> for its letters; the output would not show it, and what the model
        writes after it is another turn.
        """
        import numpy as np

        count = len(tokens)
        data = np.zeros(count, dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        data["id"] = tokens
        pointer = ctypes.cast(data.ctypes.data, ctypes.POINTER(self._api.llama_token_data))
        candidates = self._api.llama_token_data_array(data=pointer, size=count, selected=-1, sorted=False)
        self._api.llama_sampler_apply(self._sampler, ctypes.byref(candidates))
        return np.isfinite(data["logit"]) & ~self._markers[tokens]  # the sampler sets what it rejects to minus infinity

    def accept(self, token: int) -> None:
        self._api.llama_sampler_accept(self._sampler, token)


@contextlib.contextmanager
def compiled_grammar(engine: Engine, text: str | None) -> Iterator[GrammarMatcher | None]:
    """The grammar ready to use; None for no grammar.

    Raises:
        ModelError: the text is not a grammar with a rule `root`. It must be found out here: llama.cpp crashes
            when a malformed one is used, and takes an empty one for no grammar at all.
    """
    if text is None:
        yield None
        return
    source = text.encode("utf-8", "replace")
    handle = None
    if text.strip() and b"\0" not in source:
        with quiet_c_stderr():
            handle = engine.api.llama_sampler_init_grammar(engine.vocab, source, b"root")
    if not handle:
        raise ModelError(
            f"the output grammar cannot be parsed: {text[:80]!r}",
            title="Grammar not valid",
            hint="A grammar is GBNF with a rule named root.",
        )
    try:
        yield GrammarMatcher(engine, handle)
    finally:
        engine.api.llama_sampler_free(handle)


def log_probabilities(logits: Any, tokens: Sequence[int | None]) -> tuple[float, ...]:
    """Natural log-probabilities of tokens under the unconstrained model (temperature 1); nan for None.

    Raises:
        ModelError: the logits are not numbers.
    """
    normaliser = _normaliser(logits)
    return tuple(math.nan if token is None else min(0.0, float(logits[token]) - normaliser) for token in tokens)


def _normaliser(logits: Any) -> float:
    import numpy as np

    top = float(logits.max())
    if not np.isfinite(top):
        raise ModelError("the model computed no numbers: its weights or its adapter are damaged")
    return top + float(np.log(np.exp(logits - top).sum(dtype=np.float64)))


class Sampler:
    """Draws tokens from logits.

    A grammar is asked about the chosen token alone; only when that is rejected about others. With a vocabulary of
    50,000 that costs microseconds a token where masking every token costs tens of milliseconds, and the result
    is the same: the best allowed token, or a draw from the distribution restricted to the allowed tokens.
    """

    def __init__(self, temperature: float, seed: int, grammar: GrammarMatcher | None) -> None:
        import numpy as np

        self._np = np
        self._temperature = temperature
        self._random = np.random.default_rng(seed)
        self._grammar = grammar

    def choose(self, logits: Any) -> tuple[int | None, float]:
        """The next token and its natural log-probability under the unconstrained model (temperature 1).

        The token is None when the grammar allows none, not even the end.

        Raises:
            ModelError: the logits are not numbers.
        """
        np = self._np
        normaliser = _normaliser(logits)
        token: int | None = self._draw(logits)
        if self._grammar is not None:
            if not self._grammar.allowed(np.array([token]))[0]:
                token = self._draw_allowed(logits, self._grammar)
            if token is None:
                return None, 0.0
            self._grammar.accept(token)
        return token, min(0.0, float(logits[token]) - normaliser)

    def _draw(self, logits: Any) -> int:
        np = self._np
        if self._temperature <= 0:
            return int(logits.argmax())
        scaled = logits.astype(np.float64) / self._temperature
        cumulative = np.exp(scaled - scaled.max()).cumsum()
        drawn = int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))
        return min(drawn, len(logits) - 1)

    def _draw_allowed(self, logits: Any, grammar: GrammarMatcher) -> int | None:
        np = self._np
        if self._temperature <= 0:
            best = np.argpartition(logits, -_FIRST_CANDIDATES)[-_FIRST_CANDIDATES:]
            best = best[np.lexsort((best, -logits[best]))]
            allowed = grammar.allowed(best)
            if allowed.any():
                return int(best[allowed.argmax()])
        allowed = grammar.allowed(np.arange(len(logits)))
        if not allowed.any():
            return None
        return self._draw(np.where(allowed, logits, -np.inf))


# Prompt-lookup decoding: speculative decoding with drafts from known text instead of a second model.
#
# The last tokens are looked up in the prompt, the output so far and texts that resemble it. The tokens that followed
# there are evaluated in one batch with the next token. A token is kept only if the model chooses it, so greedy output
# does not change (Leviathan, Kalman and Matias, ICML 2023).

_LONGEST_MATCH = 3
_SHORTEST_MATCH = 2
# On two cores a batch is bound by arithmetic, not by memory: drafting three tokens more than halves the evaluations and
# saves a tenth of the time of a plan, drafting eight costs more than it saves (scripts/bench/backbone.py draft).
MOST_DRAFTED = 3


class PromptLookup:
    """Finds drafts for one output."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        """Index token sequences; later ones take precedence."""
        self._history: list[int] = []
        self._places: dict[tuple[int, ...], int] = {}  # the last tokens → where what followed them begins
        for text in texts:
            for token in text:
                self.add(token)
            self._history.append(-1)  # no match runs from one text into the next

    def add(self, token: int) -> None:
        """Append a generated token."""
        history = self._history
        # A place is indexed one token late, when something follows that can be drafted.
        for length in range(_SHORTEST_MATCH, _LONGEST_MATCH + 1):
            before = tuple(history[-length:])
            if len(before) == length and -1 not in before:
                self._places[before] = len(history)
        history.append(token)

    def draft(self, most: int) -> tuple[int, ...]:
        """At most `most` tokens that may follow the last one; () without a match."""
        for length in range(_LONGEST_MATCH, _SHORTEST_MATCH - 1, -1):
            place = self._places.get(tuple(self._history[-length:]))
            if place is not None:
                found = self._history[place : place + max(most, 0)]
                return tuple(found[: found.index(-1)] if -1 in found else found)
        return ()


# Decoding of one request on a slot: evaluates its prompt, then chooses its output token by token.


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRequest:
    """A request in the model's terms.

    Attributes:
        lookup: token sequences for prompt-lookup decoding; without any nothing is guessed, so that parallel calls fill
            batches alike.
        watch: tokens whose probability is wanted.
        task: the task whose adapter is applied; "" for none.
    """

    request: GenerationRequest
    prompt: EncodedPrompt
    output: OutputText
    flag: AbortFlag
    lookup: tuple[tuple[int, ...], ...]
    watch: tuple[int | None, ...]
    task: str = ""


class Slot:
    """A sequence of the engine, with a prefix cache of its own; used on the engine's thread only.

    Attributes:
        task: the task whose adapter computes it; "" for none.
    """

    def __init__(self, engine: Engine, number: int, snapshots: Snapshots) -> None:
        self.number = number
        self.task = ""
        self._engine = engine
        self._row = 0
        self._snapshots = snapshots
        self.cache = PrefixCache(self, GRID_TOKENS, snapshots)

    def serve(self, task: str) -> None:
        """Compute what follows with the adapter of a task. What was computed otherwise is not reused."""
        if task != self.task:
            self.task = task
            self.trim(0)
            self.cache = PrefixCache(self, GRID_TOKENS, None if task else self._snapshots)

    def forget(self, grid: int = GRID_TOKENS) -> None:
        """Clear the prefix cache, then evaluate in batches of `grid` tokens."""
        self.cache.clear()
        self.cache = PrefixCache(self, grid, self._snapshots)

    @property
    def can_trim(self) -> bool:
        return self._engine.can_trim

    @property
    def context_tokens(self) -> int:
        return self._engine.context_tokens

    def decode(self, tokens: Sequence[int], flag: AbortFlag) -> None:
        """Append tokens and compute the logits after the last one."""
        [self._row] = self._engine.decode([Part(self.number, tokens)], flag, self.task)

    def logits(self) -> Any:
        """The logits of this slot's own last `decode`, if nothing has been decoded since."""
        return self._engine.logits(self._row)

    def trim(self, length: int) -> bool:
        return self._engine.trim(self.number, length)

    def save(self) -> Any:
        return self._engine.save(self.number)

    def restore(self, state: Any) -> bool:
        return self._engine.restore(self.number, state)


class Decoding:
    """A request that is decoded on a slot. The result depends on nothing but the request.

    Attributes:
        result: None until the text is complete.
    """

    def __init__(self, engine: Engine, slot: Slot, call: EncodedRequest) -> None:
        self.slot = slot
        self.call = call
        self.result: Generation | None = None
        self._engine = engine
        self._started = time.perf_counter()
        self._open = contextlib.ExitStack()
        self._evaluated = 0
        self._remaining = call.request.max_tokens
        self._held = len(call.prompt.tokens)  # tokens of the sequence that are right
        self._draft: tuple[int, ...] = ()
        self._index = 0  # where in the slot's last batch the token stands that is written on from
        self._watching = bool(call.watch)
        self._watched = (math.nan,) * len(call.watch)
        self._lookup: PromptLookup | None = None
        if call.lookup and call.request.temperature <= 0 and engine.can_trim:
            self._lookup = PromptLookup([*call.lookup, call.prompt.tokens[call.prompt.static :]])

    def begin(self) -> tuple[int, ...]:
        """Read the prompt and choose the first token.

        Returns:
            the tokens to be evaluated next, the chosen one and its draft; empty when the text is complete.

        Raises:
            Cancelled: the flag was set.
            ModelError: the grammar is invalid, or the model failed.
        """
        request, prompt = self.call.request, self.call.prompt
        gbnf = request.output.gbnf if request.output is not None else None
        grammar = self._open.enter_context(compiled_grammar(self._engine, gbnf))
        self._evaluated = self.slot.cache.evaluate(prompt.tokens, prompt.static, self.call.flag, prompt.continued)
        self._sampler = Sampler(request.temperature, request.seed, grammar)
        return self.advance(lambda _: self.slot.logits())

    def advance(self, logits: Callable[[int], Any]) -> tuple[int, ...]:
        """Choose what follows the tokens evaluated last.

        Args:
            logits: index among the tokens that this call last gave back → their logits.

        Returns and raises the same as :meth:`begin`.
        """
        call, engine = self.call, self._engine
        while True:
            if call.flag.is_set:
                raise Cancelled()
            row = logits(self._index)
            if self._watching and call.output.text == call.request.watch_after:
                self._watched, self._watching = log_probabilities(row, call.watch), False
            token, logprob = self._sampler.choose(row)
            if token is None or engine.is_end(token):
                return self._end("stop")
            call.output.add(engine.token_bytes(token), logprob)
            self._remaining -= 1
            if call.output.stopped:
                return self._end("stop")
            if self._remaining == 0:
                return self._end("length")
            self._held += 1
            if self._lookup is not None:
                self._lookup.add(token)
                if self._index < len(self._draft) and token == self._draft[self._index]:
                    self._index += 1  # drafted rightly: what follows it has been evaluated
                    continue
                if self._index < len(self._draft) and not self.slot.trim(self._held - 1):
                    raise ModelError("the model could not take tokens back")
                self._draft = self._lookup.draft(min(MOST_DRAFTED, self._remaining - 1))
            self._index = 0
            return (token, *self._draft)

    def close(self) -> None:
        """Free the grammar. Idempotent."""
        self._open.close()

    def _end(self, finish: Finish) -> tuple[int, ...]:
        text, tokens = self.call.output.finish()
        seconds = time.perf_counter() - self._started
        submitted = len(self.call.prompt.tokens)
        self.result = Generation(text, tokens, finish, submitted, self._evaluated, seconds, self._watched)
        return ()


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
