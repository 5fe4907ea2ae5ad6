"""Token sequences on llama.cpp. The only file that calls its C interface for inference.

An :class:`Engine` belongs to the thread that made it; only :meth:`Engine.tokenize` and its siblings that read
the vocabulary may be called from elsewhere, and never after :meth:`Engine.close`.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from atomr_local.errors import Cancelled, MissingPartError, ModelError
from atomr_local.system.installation import add_packages
from atomr_local.system.threads import batch_threads, generation_threads, prepare_threads

# Chooses llama.cpp's CPU backend for this processor.
#
# The README's command builds llama.cpp with one CPU backend for each generation of processors
# (`GGML_CPU_ALL_VARIANTS`), as libraries of their own beside `libllama`. Each says whether this processor can run it,
# and how much of the processor it uses (`ggml_backend_score`). One of them must be loaded before a model is. Because
# nothing is compiled for the building machine alone, an installation may be moved or shared between machines.
#
# A build with a single backend, linked in, has no such libraries and needs none of this.

AUTO = "auto"
_PREFIX = "libggml-cpu-"
_SUFFIX = ".so"  # also on macOS, where modules keep it


@dataclass(frozen=True, slots=True)
class CpuVariant:
    """A CPU backend that was built.

    Attributes:
        name: such as haswell, zen4 or armv8.2_1.
        score: 0 when this processor cannot run it; the highest suits it best.
    """

    name: str
    path: Path
    score: int


def library_directory(api: Any) -> Path:
    """Where the imported llama_cpp keeps its libraries."""
    return Path(api.llama_cpp._base_path)


def variants(directory: Path) -> list[CpuVariant]:
    """The CPU backends in `directory`, the one that suits this processor best first; none in a build with one.

    Loading a backend runs no instruction that a lesser processor lacks: its score is compiled for the oldest.
    """
    found = []
    for path in sorted(directory.glob(f"{_PREFIX}*{_SUFFIX}")):
        try:
            score = ctypes.CDLL(str(path)).ggml_backend_score
        except (OSError, AttributeError):  # damaged, or no backend
            continue
        score.restype = ctypes.c_int
        found.append(CpuVariant(path.name[len(_PREFIX) : -len(_SUFFIX)], path, int(score())))
    return sorted(found, key=lambda variant: (-variant.score, variant.name))


def load_variant(api: Any, wanted: str = AUTO) -> str:
    """Load the CPU backend named `wanted`, or the best one, and any other backend that was built beside it.

    Call it once in a process, after `llama_cpp` is imported and before a model is loaded. Only llama_cpp's own
    directory is searched; ggml's default would include the current directory.

    Returns:
        the name of the variant; empty for a build whose single CPU backend is linked in.

    Raises:
        ModelError: there is no such variant, or none for this processor.
    """
    directory = library_directory(api)
    built = variants(directory)
    if not built:
        if wanted != AUTO:
            raise ModelError(
                f"llm.cpu_variant is {wanted!r}, but this build of llama.cpp has a single CPU backend",
                hint='Set llm.cpu_variant to "auto", or build llama.cpp with the README\'s command.',
            )
        return ""
    usable = [variant for variant in built if variant.score > 0]
    chosen = next((variant for variant in usable if wanted in (AUTO, variant.name)), None)
    if chosen is None:
        names = ", ".join(variant.name for variant in usable) or "none"
        raise ModelError(
            f"this processor has no CPU backend {wanted!r}; it can run: {names}"
            if wanted != AUTO
            else "none of the CPU backends that were built runs on this processor",
            hint='Set llm.cpu_variant to "auto".' if wanted != AUTO else "Install again with the README's command.",
        )
    # Through libllama, whose ggml it must be: a wheel holds copies where a build has links.
    load = api.llama_cpp._lib.ggml_backend_load
    load.restype, load.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    for path in (chosen.path, *_others(directory)):
        if not load(str(path).encode()) and path == chosen.path:
            raise ModelError(f"{path} cannot be loaded", hint="Install llama-cpp-python again.")
    return chosen.name


def _others(directory: Path) -> list[Path]:
    """Backends for other devices (CUDA, Vulkan, …) that a build of one's own may have beside the CPU's."""
    known = {"libggml", "libggml-base"}
    found = directory.glob(f"libggml-*{_SUFFIX}")
    return sorted(path for path in found if path.stem not in known and not path.name.startswith(_PREFIX))


# Imports llama_cpp on first use, with one CPU backend; collects its messages instead of printing them.

ALL_LAYERS = -1
_messages: deque[str] = deque(maxlen=50)
_c_stderr = threading.Lock()
_loading = threading.Lock()
_cpu_variant = [""]
_callbacks: list[Any] = []  # what C code holds a pointer to must never be collected


def library(cpu_variant: str = AUTO) -> Any:
    """llama_cpp, imported on first need, its messages collected instead of printed.

    Args:
        cpu_variant: which CPU backend the first call loads (see :func:`load_variant`); later calls keep that one.

    Raises:
        MissingPartError: llama-cpp-python is not installed.
        ModelError: there is no such CPU backend, or none for this processor.
    """
    with _loading:
        llama_cpp = import_library()
        if not _callbacks:

            @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator, unused-ignore]
            def collect(level: int, text: bytes, user_data: Any) -> None:  # noqa: ARG001
                if level in (3, 4, 5) and text:  # warnings, errors and their continuation
                    _messages.append(text.decode("utf-8", "replace"))

            llama_cpp.llama_log_set(collect, None)
            _cpu_variant[:] = [load_variant(llama_cpp, cpu_variant)]
            llama_cpp.llama_backend_init()
            _callbacks.append(collect)
        # Another user of the library in this process may have put its own printer back.
        llama_cpp.llama_log_set(_callbacks[0], None)
        return llama_cpp


def loaded_cpu_variant() -> str:
    """The CPU backend in use: its name, or an empty text for a build with a single one. Loads the library."""
    library()
    return _cpu_variant[0]


def layers_on_gpu(wanted: int) -> int:
    """How many layers go to the GPU (-1: all) of those that are wanted there: none where the library knows no GPU."""
    return wanted if library().llama_supports_gpu_offload() else 0


def import_library() -> Any:
    """llama_cpp, imported and no more: no CPU backend is loaded, and messages are printed.

    Raises:
        MissingPartError: llama-cpp-python is not installed.
    """
    prepare_threads()
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else it starts a debugger when it aborts
    try:
        import llama_cpp
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingPartError(
            f"llama-cpp-python cannot be loaded: {error}", hint=f"Install it with: {add_packages('llama-cpp-python')}"
        ) from error
    return llama_cpp


def clear_messages() -> None:
    """Forget what llama.cpp has complained about so far."""
    _messages.clear()


def last_messages() -> str:
    """Warnings and errors of llama.cpp since they were cleared, on one line."""
    return " ".join("".join(_messages).split())


@contextlib.contextmanager
def quiet_c_stderr() -> Iterator[None]:
    """Drop what C code prints on its standard error stream; the file descriptor, Python's, is left alone.

    For the one thing that llama.cpp prints past its log callback, the complaint about a grammar. Does nothing
    where the stream cannot be reached.
    """
    libc = ctypes.CDLL(None)
    try:
        stream = ctypes.c_void_p.in_dll(libc, "__stderrp" if sys.platform == "darwin" else "stderr")
    except ValueError:
        yield
        return
    libc.fopen.restype = ctypes.c_void_p
    libc.fclose.argtypes = [ctypes.c_void_p]
    nothing = libc.fopen(os.devnull.encode(), b"w")
    if not nothing:
        yield
        return
    with _c_stderr:
        kept, stream.value = stream.value, nothing
        try:
            yield
        finally:
            stream.value = kept
            libc.fclose(nothing)


# Gives memory that holds nothing yet back to the system.
#
# llama.cpp writes zeros over the whole memory of a context when it makes it, so that all of it is resident from the
# beginning: 360 MB for the starter, of which a day of questions reaches a fraction. A page of zeros that is given back
# reads as zeros again, so nothing changes but the memory in use.

_MAPS = Path("/proc/self/maps")
_ANONYMOUS = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 00000000 00:00 0 *$", re.MULTILINE)
# What may lie in one piece with the memory of a context: the system joins neighbours, such as room for its sums.
_NEIGHBOURS = 256 << 20
_SMALLEST = 64 << 20  # of a context whose memory is looked for
_CHUNK = 4 << 20
_OWN_PAGES = 2  # of glibc's notes on a block: it was mapped for itself

Piece = tuple[int, int]


def pieces() -> frozenset[Piece]:
    """The pieces of anonymous memory that this process has, as (begin, end); empty if the system does not tell."""
    try:
        found = _ANONYMOUS.findall(_MAPS.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return frozenset()
    return frozenset((int(begin, 16), int(end, 16)) for begin, end in found)


def release_untouched(size: int, before: Collection[Piece]) -> int:
    """Give back the zeros of the piece of memory of about `size` bytes that was made since `before`; on Linux alone.

    A piece that holds `size` bytes in one block, and little else, holds that block in its middle, wherever the block
    begins; only this block is looked at, and given back if it is all zeros. Nothing may use it meanwhile.

    Args:
        before: what :func:`pieces` gave before the memory was made. What was there already is not looked at.

    Returns:
        how many bytes were given back.
    """
    if size < _SMALLEST:
        return 0
    made = pieces().difference(before)
    fitting = [(begin, end) for begin, end in made if size <= end - begin <= size + min(size // 2, _NEIGHBOURS)]
    return sum(_release(end - size, begin + size, size) for begin, end in fitting)


def _release(begin: int, end: int, size: int) -> int:
    """Give this back if it is all zeros, and the rest of the block where its beginning can be told."""
    page = mmap.PAGESIZE
    begin, end = -(-begin // page) * page, end // page * page
    if not all(_zero(start, min(_CHUNK, end - start)) for start in range(begin, end, _CHUNK)):
        return 0
    first = begin
    while first > end - size and _zero(first - page, page):
        first -= page
    # The C library notes the size of a block of its own pages before it, in the first of them.
    noted = ctypes.c_uint64.from_address(first - page + 8).value if first > end - size else 0
    if size <= noted & ~7 <= size + (1 << 16) and noted & 7 == _OWN_PAGES:
        last = (first - page + size) // page * page
        if all(_zero(start, min(_CHUNK, last - start)) for start in range(end, last, _CHUNK)):
            begin, end = first, max(end, last)
    system = ctypes.CDLL(None, use_errno=True)
    system.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return end - begin if system.madvise(begin, end - begin, mmap.MADV_DONTNEED) == 0 else 0


def _zero(start: int, size: int) -> bool:
    block = memoryview((ctypes.c_char * size).from_address(start)).cast("B")
    return not np.frombuffer(block, dtype=np.uint64).any()


Storage = Literal["auto", "F16", "Q8_0", "Q4_0"]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a model is run.

    Attributes:
        context_tokens: wanted context of a sequence; capped to what the model was trained for.
        threads, batch_threads: while generating and while reading a prompt; 0 chooses for this machine.
        speculative: prompt-lookup decoding (see `scheduler.py`).
        reuse: use the prefix cache (see `prefix_cache.py`).
        parallel: sequences at most; fewer where their memory would exceed a gigabyte.
        storage: how prepared weights are stored (see `weights.py`); None: the file is run as it is.
        cache: the directory for prepared weights, snapshots and verdicts of trials; None: none of them is kept.
        cpu_variant: llama.cpp's CPU backend, see :func:`load_variant`; the first load in a process decides.
        extra_buffers: let llama.cpp keep weights in layouts of its own that suit the processor (AMX, repacked
            blocks). Faster; the probe turns it off where it crashes.
        task_adapters: by task (`GenerationRequest.task`), an adapter that is applied to its calls besides.
        gpu_layers: layers wanted on the GPU, where the library knows one; -1: all. If loading fails so, the
            processor takes them all.
    """

    context_tokens: int = 4096
    threads: int = 0
    batch_threads: int = 0
    speculative: bool = True
    reuse: bool = True
    parallel: int = 4
    storage: Storage | None = None
    cache: Path | None = None
    cpu_variant: str = AUTO
    extra_buffers: bool = True
    task_adapters: Mapping[str, Path] = field(default_factory=dict)
    gpu_layers: int = ALL_LAYERS


DEFAULTS = RunOptions()
BATCH_TOKENS = 512
_LONGEST_RUN = 2000  # of characters; 8,000 are safe on a stack of 8 MB, 60,000 are not
_LONG_RUN = re.compile(rf"\S{{{_LONGEST_RUN}}}|\s{{{_LONGEST_RUN}}}")
_ABORTED = 2


def _abort_flag_reader(api: Any) -> Any:
    """A C function that says whether the byte it is given a pointer to is set.

    It is asked between all the operations of an evaluation, from a thread that holds every other one up: Python
    would have to take its interpreter lock each time. `strlen` of a two-byte buffer is 0 or 1 without it.
    """
    return ctypes.cast(ctypes.CDLL(None).strlen, api.ggml_abort_callback)


class AbortFlag:
    """A switch that stops an evaluation from any thread."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(2)

    def set(self) -> None:
        self.memory[0] = b"\1"

    @property
    def is_set(self) -> bool:
        return self.memory[0] != b"\0"


@dataclass(frozen=True, slots=True)
class Part:
    """The tokens of one sequence in a batch.

    Attributes:
        tokens: to be appended to the sequence.
        every: compute the logits after each of them, not only after the last.
    """

    sequence: int
    tokens: Sequence[int]
    every: bool = False


class Engine:
    """A loaded model with a context of several sequences, each in memory of its own.

    That they share none makes what a sequence computes independent, bit for bit, of what stands in the others and
    of what is evaluated beside it.

    Attributes:
        n_vocab: vocabulary size.
        context_tokens: length of a sequence at most.
        can_trim: whether the end of a sequence can be cut off; recurrent and hybrid models cannot.
        sequences: how many there are.
        tasks: those that have an adapter of their own.
        gpu_layers: layers of the model that are on the GPU; -1: all.
    """

    def __init__(
        self,
        model: Path,
        adapter: Path | None,
        options: RunOptions,
        *,
        sequences: int = 1,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """Load.

        Args:
            adapter: applied to everything; None if there is none, or the weights contain it.
            notify: takes a sentence for the user where the processor took the layers that were wanted on the GPU.

        Raises:
            ModelError: llama.cpp cannot load the model or an adapter.
            MissingPartError: llama-cpp-python is not installed.
        """
        self.api: Any = library()
        self._model: Any = None
        self._context: Any = None
        self._batch: Any = None
        self.sequences = sequences

        def load(layers: int) -> None:
            self.gpu_layers = layers
            try:
                self._load(model, options.extra_buffers)
                self._open(options, model)
                self._adapters = [self._load_adapter(adapter)] if adapter is not None else []
                self._task_adapters = {task: self._load_adapter(path) for task, path in options.task_adapters.items()}
                self._task = ""
                if self._adapters:
                    self._apply("")
            except BaseException:
                self.close()
                raise

        wanted = layers_on_gpu(options.gpu_layers)
        try:
            load(wanted)
        except ModelError as error:
            if not wanted:
                raise
            load(0)
            if notify is not None:
                notify(_on_processor(model, wanted, error))

    def _load(self, model: Path, extra_buffers: bool) -> None:
        clear_messages()
        parameters = self.api.llama_model_default_params()
        parameters.n_gpu_layers = self.gpu_layers
        parameters.use_extra_bufts = extra_buffers
        self._model = self.api.llama_model_load_from_file(str(model).encode("utf-8", "surrogateescape"), parameters)
        if not self._model:
            raise _load_error(model)

    def _open(self, options: RunOptions, model: Path) -> None:
        api = self.api
        if api.llama_model_has_encoder(self._model) or api.llama_model_is_diffusion(self._model):
            raise ModelError(
                f"{model} does not generate text token by token", hint="Choose an instruction-tuned language model."
            )
        self.vocab: Any = api.llama_model_get_vocab(self._model)
        self.n_vocab: int = api.llama_vocab_n_tokens(self.vocab)
        trained = api.llama_model_n_ctx_train(self._model)
        self.context_tokens: int = min(options.context_tokens, trained) if trained > 0 else options.context_tokens
        self.can_trim = not (api.llama_model_is_recurrent(self._model) or api.llama_model_is_hybrid(self._model))
        settings = api.llama_context_default_params()
        settings.n_ctx = self.context_tokens * self.sequences
        settings.n_batch = settings.n_ubatch = min(BATCH_TOKENS, self.context_tokens)
        settings.n_seq_max = self.sequences
        settings.kv_unified = False
        settings.n_threads = generation_threads(options.threads)
        settings.n_threads_batch = batch_threads(options.batch_threads)
        settings.swa_full = True  # a pruned window could not be trimmed back
        settings.no_perf = True
        if not self.gpu_layers:
            if layers_on_gpu(ALL_LAYERS):  # it would use the GPU for long batches all the same
                settings.offload_kqv = settings.op_offload = False
            # On a processor, flash attention reads prompts 3% faster but generates after 1,500 tokens at 0.7 of the
            # speed (processor time, starter model).
            settings.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_DISABLED
        before = pieces()
        self._context = api.llama_init_from_model(self._model, settings)
        if not self._context:
            raise ModelError(
                f"a context of {self.context_tokens} tokens for {model} cannot be made: {last_messages()}",
                hint="There may not be enough memory: set a smaller llm.context_tokens.",
            )
        release_untouched(settings.n_ctx * self._token_state(), before)
        self._memory: Any = api.llama_get_memory(self._context)
        self._batch = api.llama_batch_init(BATCH_TOKENS, 0, 1)
        self._reader: Any = _abort_flag_reader(api)
        self._no_reader: Any = api.ggml_abort_callback(0)
        self._flag: AbortFlag | None = None
        # Every call into C gives up the interpreter lock, and a busy thread gives it back after 5 ms.
        self.token_bytes = cache(self._token_bytes)
        self.is_end = cache(self._is_end)

    def _token_state(self) -> int:
        """Bytes of keys and values of a token, in 16 bits each; of models with heads of another width about so many."""
        api, model = self.api, self._model
        width = api.llama_model_n_embd(model) // max(1, api.llama_model_n_head(model))
        return int(2 * 2 * api.llama_model_n_layer(model) * api.llama_model_n_head_kv(model) * width)

    @property
    def tasks(self) -> frozenset[str]:
        return frozenset(self._task_adapters)

    def _load_adapter(self, adapter: Path) -> Any:
        clear_messages()
        handle = self.api.llama_adapter_lora_init(self._model, str(adapter).encode("utf-8", "surrogateescape"))
        if not handle:
            raise ModelError(
                f"{adapter} does not fit the model: {last_messages() or 'llama.cpp refused it'}",
                title="Adapter not usable",
                hint="An adapter works only with the model that it was trained on.",
            )
        return handle

    def _apply(self, task: str) -> None:
        """Have what follows computed with the adapters of a task; "": of none."""
        self._task = task
        handles = [*self._adapters, *(handle for name, handle in self._task_adapters.items() if name == task)]
        count = len(handles)
        pointers = (self.api.llama_adapter_lora_p_ctypes * count)(*handles)
        if self.api.llama_set_adapters_lora(self._context, pointers, count, (ctypes.c_float * count)(*[1.0] * count)):
            raise ModelError("an adapter cannot be applied", title="Adapter not usable")

    def metadata(self, key: str) -> str | None:
        """A value of the model file's header, as text; None when absent."""
        name = key.encode()
        size = self.api.llama_model_meta_val_str(self._model, name, ctypes.create_string_buffer(1), 1)
        if size < 0:
            return None
        buffer = ctypes.create_string_buffer(size + 1)
        self.api.llama_model_meta_val_str(self._model, name, buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")

    # The vocabulary: read only, from any thread.

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Token ids of `text`; markers such as <|im_end|> become control tokens only when `special`.

        A run of thousands of characters without white space, or of white space alone, is tokenised in pieces: for the
        pre-tokenizers of many models llama.cpp matches it with std::regex, which recurses for every character and
        overflows the stack.
        """
        if len(text) > _LONGEST_RUN and _LONG_RUN.search(text):
            return [token for piece in _pieces(text) for token in self._tokens(piece, special)]
        return self._tokens(text, special)

    def _tokens(self, text: str, special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (ctypes.c_int32 * room)()
        count = self.api.llama_tokenize(self.vocab, data, len(data), buffer, room, False, special)
        if count < 0:
            raise ModelError(f"a text of {len(data)} bytes cannot be tokenised")
        return buffer[:count]

    def _token_bytes(self, token: int) -> bytes:
        """The text of a token: bytes, perhaps part of a character; empty for control tokens. Seen as `token_bytes`."""
        for room in (64, 4096):
            buffer = ctypes.create_string_buffer(room)
            size = self.api.llama_token_to_piece(self.vocab, token, buffer, room, 0, False)
            if size >= 0:
                return buffer.raw[:size]
        return b""

    def token_text(self, token: int) -> str:
        """A token as the vocabulary writes it, markers included; empty for -1."""
        text = self.api.llama_vocab_get_text(self.vocab, token) if token >= 0 else b""
        return (text or b"").decode("utf-8", "replace")

    def _is_end(self, token: int) -> bool:
        """Whether a token ends the turn. Seen as `is_end`."""
        return bool(self.api.llama_vocab_is_eog(self.vocab, token))

    @cached_property
    def markers(self) -> Any:
        """Which tokens are markers of turns and files that end nothing: booleans (n_vocab,)."""
        is_control = self.api.llama_vocab_is_control
        return np.array([is_control(self.vocab, token) and not self.is_end(token) for token in range(self.n_vocab)])

    # The sequences.

    def decode(self, parts: Sequence[Part], flag: AbortFlag | None, task: str = "") -> list[int]:
        """Append tokens (at most BATCH_TOKENS in all) to sequences, each at most once, in one batch.

        Args:
            task: one of :attr:`tasks`, with whose adapter the batch is computed; "" for none.

        Returns:
            for each part, the row of its first logits: after its first token with `every`, else after its last.

        Raises:
            Cancelled: `flag` was set; the sequences are as before or longer, so trim them.
            ModelError: llama.cpp failed.
        """
        api, batch = self.api, self._batch
        if task != self._task:
            self._apply(task)
        if flag is not self._flag:
            self._flag = flag  # kept alive for as long as llama.cpp holds the pointer
            pointer = ctypes.cast(flag.memory, ctypes.c_void_p) if flag is not None else None
            api.llama_set_abort_callback(self._context, self._reader if flag is not None else self._no_reader, pointer)
        row, rows = 0, []
        for part in parts:
            begin = self.length(part.sequence)
            last = len(part.tokens) - 1
            rows.append(row if part.every else row + last)
            for index, token in enumerate(part.tokens):
                batch.token[row] = token
                batch.pos[row] = begin + index
                batch.n_seq_id[row] = 1
                batch.seq_id[row][0] = part.sequence
                batch.logits[row] = part.every or index == last
                row += 1
        batch.n_tokens = row
        status = api.llama_decode(self._context, batch)
        if status == _ABORTED or (flag is not None and flag.is_set):
            raise Cancelled()
        if status != 0:
            raise ModelError(f"llama.cpp could not evaluate {row} tokens (status {status})")
        return rows

    def logits(self, row: int) -> Any:
        """Logits of the last batch: float32 (n_vocab,), a view that the next decode overwrites."""
        pointer = self.api.llama_get_logits_ith(self._context, row)
        if not pointer:
            raise ModelError("llama.cpp returned no logits")
        return np.ctypeslib.as_array(pointer, shape=(self.n_vocab,))

    def length(self, sequence: int) -> int:
        """How many tokens the sequence holds."""
        return int(self.api.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def trim(self, sequence: int, length: int) -> bool:
        """Cut a sequence to its first `length` tokens; False when the model cannot (it is then empty)."""
        if length > 0 and self.can_trim and self.api.llama_memory_seq_rm(self._memory, sequence, length, -1):
            complete = self.api.llama_memory_seq_pos_min(self._memory, sequence) == 0
            if complete and self.length(sequence) == length:
                return True
        self.api.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        return length == 0

    def save(self, sequence: int) -> Any:
        """The state of a sequence, an opaque buffer; None when it cannot be had."""
        size = self.api.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        written = self.api.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return buffer if written == size else None

    def restore(self, sequence: int, state: Any) -> bool:
        """Replace a sequence by a saved one; False (and an empty sequence) when that fails."""
        self.trim(sequence, 0)
        if self.api.llama_state_seq_set_data(self._context, state, len(state), sequence) == len(state):
            return True
        self.trim(sequence, 0)
        return False

    def close(self) -> None:
        """Free the model. Idempotent."""
        if self._batch is not None:
            self.api.llama_batch_free(self._batch)
        if self._context:
            self.api.llama_free(self._context)
        if self._model:
            self.api.llama_model_free(self._model)
        self._context = self._model = self._batch = None


def _pieces(text: str) -> Iterator[str]:
    """The text cut behind each run that is as long as may be."""
    begin = 0
    for match in _LONG_RUN.finditer(text):
        yield text[begin : match.end()]
        begin = match.end()
    yield text[begin:]


def _on_processor(model: Path, layers: int, error: ModelError) -> str:
    which = "all layers" if layers == ALL_LAYERS else f"{layers} layers"
    return (
        f"{model.name} cannot be loaded with {which} on the GPU ({error.message}); it runs on the processor, which is "
        "slower. A smaller llm.gpu_layers needs less of the GPU's memory, and 0 does without it."
    )


def _load_error(model: Path) -> ModelError:
    reason = last_messages()
    if "unknown model architecture" in reason:
        name = reason.split("unknown model architecture:", 1)[1].split()[0].strip("'\"")
        return ModelError(
            f"{model} has the architecture {name!r}, which this llama.cpp does not know",
            hint="Upgrade llama-cpp-python, or choose another model.",
        )
    return ModelError(
        f"{model} cannot be loaded: {reason or 'llama.cpp gave no reason'}",
        hint="Download the file again, or choose another model (see `atomr models list`).",
    )
