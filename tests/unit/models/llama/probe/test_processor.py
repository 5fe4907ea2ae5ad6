from __future__ import annotations

from pathlib import Path

import pytest

from atomr_local.models.llama.probe import read_processor

SAPPHIRE_RAPIDS = """processor\t: 0
model name\t: Intel(R) Xeon(R) Platinum 8481C
flags\t\t: fpu avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni avx512_bf16 amx_bf16 amx_tile amx_int8

processor\t: 1
model name\t: another
flags\t\t: fpu
"""
GRAVITON = """processor\t: 0
BogoMIPS\t: 2100.00
Features\t: fp asimd asimdhp asimddp sve i8mm bf16
CPU implementer\t: 0x41
CPU part\t: 0xd40

processor\t: 1
Features\t: fp
"""


@pytest.mark.parametrize(
    ("text", "model", "features"),
    [
        (
            SAPPHIRE_RAPIDS,
            "Intel(R) Xeon(R) Platinum 8481C",
            ("AVX2", "FMA", "F16C", "AVX-512", "AVX-512 VNNI", "AVX-512 BF16", "AMX"),
        ),
        (GRAVITON, "0x41 0xd40", ("NEON", "FP16", "dot product", "I8MM", "SVE", "BF16")),
        ("processor : 0\nmodel name : Old\nflags : fpu avx512f\n", "Old", ()),
    ],
)
def test_model_and_features_of_the_first_processor(
    tmp_path: Path, text: str, model: str, features: tuple[str, ...]
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    found = read_processor(tmp_path / "cpuinfo")
    assert (found.model, found.features) == (model, features)


def test_no_more_is_read_than_the_first_entry_can_take(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("model name : One\n" + "x" * 10_000_000)
    assert read_processor(tmp_path / "cpuinfo").model == "One"


def test_a_system_without_that_file_is_no_error(tmp_path: Path) -> None:
    assert read_processor(tmp_path / "none").machine
