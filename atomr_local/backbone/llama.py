"""A GGUF model run in this process by llama.cpp."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from pathlib import Path

from atomr_local.backbone.chat import ChatEncoder, EncodedPrompt
from atomr_local.backbone.drafting import MOST_DRAFTED, Drafter
from atomr_local.backbone.engine import AbortFlag, Engine
from atomr_local.backbone.output import OutputText
from atomr_local.backbone.prefix_cache import PrefixCache
from atomr_local.backbone.protocol import BackboneInfo, Completion, Finish, Prompt
from atomr_local.backbone.sampling import Sampler, compiled_grammar
from atomr_local.cancellation import Cancellation
from atomr_local.errors import Cancelled, ModelError
from atomr_local.gguf import check_adapter, check_model


class _Owner:
    """The one thread that loads, runs and frees an engine; llama.cpp allows no other while it runs."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Completion], Callable[[], Completion]] | None] = queue.SimpleQueue()
        self._flags: set[AbortFlag] = set()
        self._closed = False
        self.lock = threading.Lock()  # held while the engine is freed and while other threads use its vocabulary
        self.engine: Engine | None = None
        self.thread = threading.Thread(target=lambda: None)

    def start(self, load: Callable[[], Engine]) -> Engine:
        loaded: Future[Engine] = Future()
        self.thread = threading.Thread(target=self._run, args=(load, loaded), name="backbone", daemon=True)
        self.thread.start()
        return loaded.result()

    def _run(self, load: Callable[[], Engine], loaded: Future[Engine]) -> None:
        try:
            self.engine = load()
        except BaseException as error:
            loaded.set_exception(error)
            return
        loaded.set_result(self.engine)
        while (job := self._jobs.get()) is not None:
            future, work = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            del job, future, work  # a result must not live until the next call
        with self.lock:
            self.engine.close()
            self.engine = None

    def submit(self, work: Callable[[], Completion], flag: AbortFlag) -> Future[Completion]:
        future: Future[Completion] = Future()
        with self.lock:
            if self._closed:
                raise _closed_error()
            self._flags.add(flag)
            future.add_done_callback(lambda _: self._flags.discard(flag))
            self._jobs.put((future, work))
        return future

    def close(self) -> None:
        with self.lock:
            if not self._closed:
                self._closed = True
                for flag in list(self._flags):
                    flag.set()
                self._jobs.put(None)
        if self.thread.is_alive() and self.thread is not threading.current_thread():
            self.thread.join()


def _closed_error() -> ModelError:
    return ModelError("the model has been closed")


@dataclass(frozen=True, slots=True)
class _Call:
    """What one call of `complete` asks for."""

    prompt: EncodedPrompt
    max_tokens: int
    grammar: str | None
    temperature: float
    seed: int
    output: OutputText
    flag: AbortFlag
    drafts: tuple[tuple[int, ...], ...] = ()


class LlamaBackbone:
    """The in-process backbone. Make it with :meth:`load`, free it with :meth:`close`."""

    def __init__(
        self, owner: _Owner, engine: Engine, encoder: ChatEncoder, info: BackboneInfo, *, drafting: bool = True
    ) -> None:
        self._drafting = drafting
        self._owner = owner
        self._engine = engine
        self._encoder = encoder
        self._cache = PrefixCache(engine)
        self._info = info
        # Also when the interpreter ends: freeing a library under a running thread crashes.
        self._finalizer = weakref.finalize(self, owner.close)

    @classmethod
    def load(
        cls,
        model: Path,
        adapter: Path | None = None,
        *,
        context_tokens: int = 4096,
        threads: int = 0,
        batch_threads: int = 0,
        drafting: bool = True,
    ) -> LlamaBackbone:
        """Load a model; blocks for as long as that takes.

        Args:
            adapter: a LoRA adapter (GGUF) made for this model.
            context_tokens: wanted context; capped to what the model was trained for.
            threads, batch_threads: while generating and while reading a prompt; 0 chooses for this machine.
            drafting: evaluate what is likely to come next together with what comes next (see `drafting.py`).

        Raises:
            ModelError: a file is missing, damaged, too new or does not fit; the message names it.
            MissingPartError: llama-cpp-python is not installed.
        """
        header = check_model(model)
        if adapter is not None:
            check_adapter(adapter, header)
        owner = _Owner()
        engine = owner.start(
            lambda: Engine(model, adapter, context_tokens=context_tokens, threads=threads, batch=batch_threads)
        )
        try:
            encoder = ChatEncoder(engine, model.name)
        except BaseException:
            owner.close()
            raise
        info = BackboneInfo(model.stem, adapter.stem if adapter else None, engine.context_tokens)
        return cls(owner, engine, encoder, info, drafting=drafting)

    @property
    def info(self) -> BackboneInfo:
        return self._info

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of the prompt; only tokenises, on the calling thread.

        Raises:
            ModelError: the model is closed, or its template cannot render the prompt.
        """
        return len(self._encode(prompt).tokens)

    def _encode(self, prompt: Prompt) -> EncodedPrompt:
        with self._owner.lock:
            if self._owner.engine is None:
                raise _closed_error()
            return self._encoder.encode(prompt)

    def complete(
        self,
        prompt: Prompt,
        *,
        max_tokens: int,
        grammar: str | None = None,
        stop: tuple[str, ...] = (),
        temperature: float = 0.0,
        seed: int = 0,
        on_text: Callable[[str], None] | None = None,
        cancellation: Cancellation | None = None,
        drafts: Sequence[str] = (),
    ) -> Completion:
        """See :class:`atomr_local.backbone.protocol.Backbone`.

        A temperature above 0 draws from the whole distribution, reproducibly for a seed. `seconds` does not count
        the wait for another call to end. What `on_text` raises ends the call and is raised here.
        """
        if max_tokens < 1:
            raise ValueError("max_tokens must be at least 1")
        encoded = self._encode(prompt)
        needed, room = len(encoded.tokens) + max_tokens, self._info.context_tokens
        if needed > room:
            raise ModelError(
                f"the prompt of {len(encoded.tokens)} tokens with {max_tokens} for the answer takes {needed} tokens, "
                f"the context of {self._info.name} has {room}",
                title="Prompt too long",
                hint="Allow less evidence (limits.evidence_tokens) or set a larger llm.context_tokens.",
            )
        flag = AbortFlag()
        stop = (*stop, *self._encoder.stop)
        known = tuple(self._encoder.plain(text) for text in drafts) if self._drafting else ()
        call = _Call(encoded, max_tokens, grammar, temperature, seed, OutputText(stop, on_text), flag, known)
        future = self._owner.submit(lambda: self._generate(call), flag)
        if cancellation is not None:

            def stop_now() -> None:
                flag.set()
                future.cancel()  # a call that still waits for its turn ends at once

            cancellation.on_cancel(stop_now)
        try:
            return future.result()
        except CancelledError:
            raise Cancelled() from None
        except BaseException:
            flag.set()  # the caller was interrupted: nobody waits for the rest
            raise

    def _generate(self, call: _Call) -> Completion:
        """The call itself, on the owner thread."""
        started = time.perf_counter()
        engine, output = self._engine, call.output
        finish: Finish = "length"
        with compiled_grammar(engine, call.grammar) as grammar:
            evaluated = self._cache.evaluate(call.prompt.tokens, call.prompt.static, call.flag)
            sampler = Sampler(call.temperature, call.seed, grammar)
            drafter = self._drafter(call)
            held = len(call.prompt.tokens)  # tokens of the sequence that are right
            draft: tuple[int, ...] = ()
            index = -1  # where in the last batch the token stands that is written on from
            for remaining in range(call.max_tokens, 0, -1):
                if call.flag.is_set:
                    raise Cancelled()
                token, logprob = sampler.choose(engine.logits(index))
                if token is None or engine.is_end(token):
                    finish = "stop"
                    break
                output.add(engine.token_bytes(token), logprob)
                if output.stopped:
                    finish = "stop"
                    break
                if remaining == 1:
                    continue
                held += 1
                if drafter is not None:
                    drafter.add(token)
                    if draft and index < len(draft) and token == draft[index]:
                        index += 1  # drafted rightly: what follows it has been evaluated
                        continue
                    if draft and index < len(draft) and not engine.trim(held - 1):
                        raise ModelError(f"{self._info.name} could not take tokens back")
                    draft = drafter.draft(min(MOST_DRAFTED, remaining - 2))
                    index = 0
                engine.decode((token, *draft), call.flag, every=bool(draft))
                index = 0 if draft else -1
        text, tokens = output.finish()
        seconds = time.perf_counter() - started
        return Completion(text, tokens, finish, len(call.prompt.tokens), evaluated, seconds)

    def _drafter(self, call: _Call) -> Drafter | None:
        """For greedy output of a model that can take tokens back."""
        if not self._drafting or call.temperature > 0 or not self._engine.can_trim:
            return None
        return Drafter([*call.drafts, call.prompt.tokens[call.prompt.static :]])

    def close(self) -> None:
        """Stop what runs and free the model. Idempotent; a call that runs ends as cancelled."""
        self._finalizer()
