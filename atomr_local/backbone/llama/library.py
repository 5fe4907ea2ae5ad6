"""Imports llama_cpp on first use, with one CPU backend; collects its messages instead of printing them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from atomr_local.backbone.llama.cpu_variants import AUTO, load_variant
from atomr_local.errors import MissingPartError
from atomr_local.system.installation import add_packages
from atomr_local.system.threads import prepare_threads

ALL_LAYERS = -1
_messages: deque[str] = deque(maxlen=50)
_c_stderr = threading.Lock()
_loading = threading.Lock()
_cpu_variant = [""]
_callbacks: list[Any] = []  # what C code holds a pointer to must never be collected


def library(cpu_variant: str = AUTO) -> Any:
    """llama_cpp, imported on first need, its messages collected instead of printed.

    Args:
        cpu_variant: which CPU backend the first call loads (see `cpu_variants.py`); later calls keep that one.

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
    """What llama.cpp has complained about since they were cleared, on one line."""
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
