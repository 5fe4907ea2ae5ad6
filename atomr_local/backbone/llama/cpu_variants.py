"""Chooses llama.cpp's CPU backend for this processor.

The README's command builds llama.cpp with one CPU backend for each generation of processors (`GGML_CPU_ALL_VARIANTS`),
as libraries of their own beside `libllama`. Each says whether this processor can run it, and how much of the
processor it uses (`ggml_backend_score`). One of them must be loaded before a model is. Because nothing is compiled for
the building machine alone, an installation may be moved or shared between machines.

A build with a single backend, linked in, has no such libraries and needs none of this.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import ModelError

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
