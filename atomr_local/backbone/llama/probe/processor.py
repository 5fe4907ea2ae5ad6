"""The processor of this machine: its name, and the features that llama.cpp's kernels use."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_MOST_BYTES = 1 << 16  # of /proc/cpuinfo: the first processor's entry, however many there are
_MODEL_KEYS = ("model name", "Model", "Hardware", "uarch")
_FLAG_KEYS = ("flags", "Features", "isa")
# Name of a feature as people know it → the flags that all have to be there, of x86-64 or of arm64.
_FEATURES: tuple[tuple[str, frozenset[str]], ...] = (
    ("AVX2", frozenset({"avx2"})),
    ("FMA", frozenset({"fma"})),
    ("F16C", frozenset({"f16c"})),
    ("AVX-VNNI", frozenset({"avx_vnni"})),
    ("AVX-512", frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})),
    ("AVX-512 VBMI", frozenset({"avx512vbmi"})),
    ("AVX-512 VNNI", frozenset({"avx512_vnni"})),
    ("AVX-512 BF16", frozenset({"avx512_bf16"})),
    ("AMX", frozenset({"amx_tile", "amx_int8"})),
    ("NEON", frozenset({"asimd"})),
    ("FP16", frozenset({"asimdhp"})),
    ("dot product", frozenset({"asimddp"})),
    ("I8MM", frozenset({"i8mm"})),
    ("SVE", frozenset({"sve"})),
    ("SVE2", frozenset({"sve2"})),
    ("SME", frozenset({"sme"})),
    ("BF16", frozenset({"bf16"})),
)


@dataclass(frozen=True)
class Processor:
    """Attributes: model: its name; flags: its features as the system calls them; machine: architecture, as x86_64."""

    model: str
    flags: frozenset[str]
    machine: str

    @property
    def features(self) -> tuple[str, ...]:
        """The features that matter for the speed of a model, as people know them."""
        return tuple(name for name, needed in _FEATURES if needed <= self.flags)


def read_processor(cpuinfo: Path = _CPUINFO) -> Processor:
    """Look at this machine's processor; what cannot be found out is left empty. Quick: at most a few milliseconds."""
    machine = platform.machine()
    try:
        with cpuinfo.open("rb") as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return Processor(platform.processor(), frozenset(), machine)
    entries: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:  # the first processor's values; on arm64 the model may stand behind all processors
            entries.setdefault(key.strip(), value.strip())
    model = next((entries[key] for key in _MODEL_KEYS if entries.get(key)), "")
    if not model:  # arm64 without a name: maker and part number
        model = " ".join(entries[key] for key in ("CPU implementer", "CPU part") if key in entries)
    flags = next((entries[key] for key in _FLAG_KEYS if key in entries), "")
    return Processor(model or platform.processor() or "unknown", frozenset(flags.split()), machine)
