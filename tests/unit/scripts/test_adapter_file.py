"""Adapters of training runs, written as GGUF and read again to go on from them."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

from training.models.adapter_file import adapter_state, write_adapter  # noqa: E402

NAME = "base_model.model.model.layers.0.mlp.down_proj"


@pytest.mark.parametrize(("kind", "off"), [("F16", 1e-3), ("Q8_0", 2e-2)])
def test_what_is_written_is_read_again_in_its_shape(tmp_path: Path, kind: str, off: float) -> None:
    source = np.random.default_rng(0)
    down = source.standard_normal((32, 96)).astype(np.float32)
    up = source.standard_normal((64, 32)).astype(np.float32)
    path = tmp_path / "some.gguf"
    write_adapter(
        path, {f"blk.0.ffn_down.weight.lora_{k}": w for k, w in (("a", down), ("b", up))}, alpha=64, kind=kind
    )
    state, scale = adapter_state(path, (9, 3))
    assert scale == 2.0
    assert np.abs(state[f"{NAME}.lora_A.weight"].numpy() - down).max() < off
    assert np.abs(state[f"{NAME}.lora_B.weight"].numpy() - up).max() < off
