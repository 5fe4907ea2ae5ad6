"""A GGUF model run in this process by llama.cpp."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path

from atomr_local.errors import Cancelled, ModelError
from atomr_local.models.gguf import check_adapters, check_model
from atomr_local.models.llama.chat import ChatEncoder, EncodedPrompt
from atomr_local.models.llama.engine import (
    DEFAULTS,
    AbortFlag,
    Engine,
    RunOptions,
    layers_on_gpu,
    library,
    loaded_cpu_variant,
)
from atomr_local.models.llama.prefix_cache import PREFIXES, Snapshots
from atomr_local.models.llama.scheduler import EncodedRequest, Scheduler, closed_error
from atomr_local.models.llama.weights import (
    MOST_PARAMETERS,
    VERSION,
    fingerprint,
    rows_alike,
    suited,
    weights_to_run,
)
from atomr_local.models.protocol import BackboneInfo, Generation, GenerationRequest, OutputText, Prompt

# Memory that the sequences which run at once may take, keys and values together.
_SEQUENCE_BYTES = 1 << 30
_PREFIX_FILE_BYTES = 512 << 20


class LlamaBackbone:
    """The in-process backbone. Make it with :meth:`load`, free it with :meth:`close`."""

    def __init__(
        self,
        scheduler: Scheduler,
        engine: Engine,
        encoder: ChatEncoder,
        info: BackboneInfo,
        *,
        speculative: bool = True,
    ) -> None:
        self._speculative = speculative
        self._scheduler = scheduler
        self._engine = engine
        self._encoder = encoder
        self._info = info
        # Also when the interpreter ends: freeing a library under a running thread crashes.
        self._finalizer = weakref.finalize(self, scheduler.close)

    @classmethod
    def load(
        cls,
        model: Path,
        adapter: Path | None = None,
        options: RunOptions = DEFAULTS,
        notify: Callable[[str], None] | None = None,
    ) -> LlamaBackbone:
        """Load a model; blocks for as long as that takes.

        Args:
            adapter: a LoRA adapter (GGUF) made for this model.
            notify: takes a message for the user, for example that damaged weights are rebuilt.

        Raises:
            ModelError: a file is missing, damaged, too new or does not fit; the message names it.
            MissingPartError: llama-cpp-python is not installed.
        """
        library(options.cpu_variant)
        header = check_model(model)
        check_adapters((adapter, *options.task_adapters.values()), header)
        weights, applied = weights_to_run(header, adapter, options, notify)
        context = min(options.context_tokens, header.context_length or options.context_tokens)
        sequences = max(1, min(options.parallel, _SEQUENCE_BYTES // max(1, header.state_bytes * context)))
        prepared = "" if options.storage is None or weights == model else suited(options.storage)
        # What each way of running computes differs in the last bits.
        way = prepared + ("" if options.extra_buffers else " without extra buffers")
        if layers := layers_on_gpu(options.gpu_layers):
            way += f" with {layers} layers on the GPU"
        prefixes = None
        if options.reuse and options.cache is not None:  # they hold for these weights and this build of llama.cpp only
            build = (library().__version__, loaded_cpu_variant())  # each rounds in its own way
            prefixes = options.cache / PREFIXES / fingerprint(*build, VERSION, way, files=(model, adapter))
        scheduler = Scheduler(
            Snapshots(2 * context, prefixes, _PREFIX_FILE_BYTES),
            reuse=options.reuse,
            # A large model is read from memory once for all of a batch: taking turns would be too slow.
            batching=rows_alike(prepared or header.quantisation) or header.parameters > MOST_PARAMETERS,
        )

        options = replace(options, context_tokens=context)
        engine = scheduler.start(lambda: Engine(weights, applied, options, sequences=sequences, notify=notify))
        try:
            encoder = ChatEncoder(engine, model.name)
        except BaseException:
            scheduler.close()
            raise
        info = BackboneInfo(model.stem, adapter.stem if adapter else None, engine.context_tokens)
        return cls(scheduler, engine, encoder, info, speculative=options.speculative)

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
        with self._scheduler.lock:
            if self._scheduler.engine is None:
                raise closed_error()
            return self._encoder.encode(prompt)

    def generate(self, request: GenerationRequest) -> Generation:
        """See :class:`atomr_local.models.protocol.Backbone`.

        A temperature above 0 draws from the whole distribution, reproducibly for a seed. `seconds` does not count
        the wait for another call to end. What `on_text` raises ends the call and is raised here.
        """
        prompt = self._encode(request.prompt)
        length, room = len(prompt.tokens), self._info.context_tokens
        if length + request.max_tokens > room:
            raise ModelError(
                f"the prompt of {length} tokens with {request.max_tokens} for the answer takes "
                f"{length + request.max_tokens} tokens, the context of {self._info.name} has {room}",
                title="Prompt too long",
                hint="Allow less evidence (limits.evidence_tokens) or set a larger llm.context_tokens.",
            )
        flag, plain = AbortFlag(), self._encoder.plain
        call = EncodedRequest(
            request,
            prompt,
            output=OutputText((*request.stop, *self._encoder.stop), request.on_text),
            flag=flag,
            lookup=tuple(map(plain, request.lookup_texts)) if self._speculative else (),
            watch=tuple(next(iter(plain(text)), None) for text in request.watch),
            task=request.task if request.task in self._engine.tasks else "",
        )
        future = self._scheduler.submit(call)
        if request.cancellation is not None:

            def stop_now() -> None:
                flag.set()
                future.cancel()  # a call that still waits for its turn ends at once

            request.cancellation.on_cancel(stop_now)
        try:
            return future.result()
        except CancelledError:
            raise Cancelled() from None
        except BaseException:
            flag.set()  # the caller was interrupted: nobody waits for the rest
            raise

    def close(self) -> None:
        """Stop what runs and free the model. Idempotent; a call that runs ends as cancelled."""
        self._finalizer()
