#!/usr/bin/env python3
"""Whether the installed llama.cpp fits this machine's processor: scripts/install.sh builds it again if it does not.

A build for one processor runs wrong instructions, or runs slowly, on another; pip may have kept one that was made
elsewhere. A build with a CPU backend for each generation of processors fits them all. Prints why it does not fit, and
exits with 1.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Set
from pathlib import Path

# As llama.cpp tells what it was compiled with → the flag of the processor in /proc/cpuinfo, of x86-64 and of arm64.
FLAGS = {
    "SSE3": "pni", "SSSE3": "ssse3", "AVX": "avx", "AVX_VNNI": "avx_vnni", "AVX2": "avx2", "F16C": "f16c", "FMA": "fma",
    "BMI2": "bmi2", "AVX512": "avx512f", "AVX512_VBMI": "avx512vbmi", "AVX512_VNNI": "avx512_vnni",
    "AVX512_BF16": "avx512_bf16", "AMX_INT8": "amx_int8",
    "NEON": "asimd", "FP16_VA": "asimdhp", "DOTPROD": "asimddp", "MATMUL_INT8": "i8mm", "SVE": "sve", "SME": "sme",
}  # fmt: skip
# Without one of these that the processor has, a model runs much slower.
FAST = ("AVX2", "FMA", "F16C", "AVX512", "DOTPROD", "MATMUL_INT8")


def compiled(told: str) -> set[str]:
    """The features in llama.cpp's line on its system, such as "CPU : AVX = 1 | AVX2 = 1"."""
    return {name for name, value in re.findall(r"(\w+) = (\d+)", told) if int(value) and name in FLAGS}


def misfit(features: Set[str], flags: Set[str]) -> str:
    """Why a build with these features does not suit a processor with these flags; empty if it does."""
    lacking = sorted(name for name in features if FLAGS[name] not in flags)
    if lacking:
        return f"it needs {', '.join(lacking)}, which this processor lacks"
    unused = [name for name in FAST if FLAGS[name] in flags and name not in features]
    return f"it does not use {', '.join(unused)} of this processor" if unused else ""


def main() -> None:
    if platform.system() != "Linux":  # what the processor has is told elsewhere; the program's own trial tells the rest
        return
    import llama_cpp

    from atomr_local.models.llama.probe import read_processor

    if any(Path(llama_cpp.llama_cpp._base_path).glob("libggml-cpu-*.so")):
        return
    told = llama_cpp.llama_print_system_info().decode("utf-8", "replace")
    reason = misfit(compiled(told), read_processor().flags)
    if reason:
        print(f"llama.cpp was built for another processor: {reason}")
        sys.exit(1)


if __name__ == "__main__":
    main()
