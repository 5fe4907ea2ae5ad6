"""A llama.cpp that was built for another processor is told from one that fits."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.script_loader import load_script

from atomr_local.models.llama.probe import read_processor

fits = load_script("llama_fits")
ZEN = "CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | AVX512 = 1 | LLAMAFILE = 1 | REPACK = 1 |"
CPUINFO = "processor\t: 0\nflags\t\t: fpu pni avx f16c fma avx2 avx512f\nprocessor\t: 1\nflags\t\t: none\n"


@pytest.fixture
def flags(tmp_path: Path) -> frozenset[str]:
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    return read_processor(tmp_path / "cpuinfo").flags


def test_features_and_flags_are_read(flags: frozenset[str]) -> None:
    assert fits.compiled(ZEN) == {"SSE3", "AVX", "AVX2", "F16C", "FMA", "AVX512"}
    assert fits.compiled("CPU : AVX = 0 | AVX2 = 1") == {"AVX2"}
    assert flags == {"fpu", "pni", "avx", "f16c", "fma", "avx2", "avx512f"}


def test_a_build_for_this_processor_fits(flags: frozenset[str]) -> None:
    assert fits.misfit(fits.compiled(ZEN), flags) == ""


@pytest.mark.parametrize(
    ("missing", "told"),
    [("avx512f", "it needs AVX512, which this processor lacks"), ("avx2", "it needs AVX2, which this processor lacks")],
)
def test_a_build_that_needs_more_does_not_fit(missing: str, told: str, flags: frozenset[str]) -> None:
    assert fits.misfit(fits.compiled(ZEN), flags - {missing}) == told


def test_a_build_that_leaves_the_processor_unused_does_not_fit(flags: frozenset[str]) -> None:
    old = fits.compiled(ZEN) - {"AVX512", "FMA"}
    assert fits.misfit(old, flags) == "it does not use FMA, AVX512 of this processor"
