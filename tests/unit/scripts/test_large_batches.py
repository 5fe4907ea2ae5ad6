"""Training in large batches: the model written out there, its packing, and the way back into a GGUF adapter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
torch = pytest.importorskip("torch")
SHAPE: dict[str, Any] = {"layers": 2, "heads": 4, "key_heads": 2, "size": 8, "rope": 10000.0, "epsilon": 1e-5}
LINEAR = {
    "self_attn.q_proj": (32, 32), "self_attn.k_proj": (16, 32), "self_attn.v_proj": (16, 32),
    "self_attn.o_proj": (32, 32), "mlp.gate_proj": (64, 32), "mlp.up_proj": (64, 32), "mlp.down_proj": (32, 64),
}  # fmt: skip


def tensors() -> dict[str, np.ndarray]:
    source = np.random.RandomState(0)
    made = {"embed_tokens.weight": source.randn(50, 32) * 0.1, "norm.weight": np.ones(32)}
    for i in range(SHAPE["layers"]):
        for name, size in LINEAR.items():
            made[f"layers.{i}.{name}.weight"] = source.randn(*size) * 0.1
        for name in ("input_layernorm", "post_attention_layernorm"):
            made[f"layers.{i}.{name}.weight"] = 1 + 0.1 * source.randn(32)
    return {name: value.astype(np.float32) for name, value in made.items()}


def base_file(folder: Path) -> Path:
    arrays = tensors()
    np.savez(folder / "base.npz", shape=np.array(json.dumps(SHAPE | {"tensors": list(arrays)})), **arrays)
    return folder / "base.npz"


def token_file(folder: Path) -> Path:
    source = np.random.RandomState(1)
    sizes = [5, 9, 12, 7] * 6
    ends = np.concatenate([[0], np.cumsum(sizes)])
    ids = np.concatenate([np.arange(size) % 7 + 3 for size in sizes]).astype(np.uint16)
    learnt = source.rand(len(ids)) < 0.7
    np.savez(
        folder / "tokens.npz", ids=ids, learnt=np.packbits(learnt), ends=ends, task=np.arange(len(sizes)) % 2,
        names=np.array(["one", "two"]),
    )  # fmt: skip
    return folder / "tokens.npz"


def test_it_computes_what_the_library_computes(tmp_path: Path) -> None:
    from training.models.large_batches import LowRankLlama, load_weights
    from transformers import LlamaConfig, LlamaModel

    weights, shape = load_weights(base_file(tmp_path))
    mine = LowRankLlama(weights, shape, rank=4, scale=2.0)
    for name in mine.up:
        torch.nn.init.normal_(mine.up[name], std=0.1)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, rms_norm_eps=1e-5,
    )  # fmt: skip
    library = LlamaModel(config).eval()
    state = {name: torch.from_numpy(value) for name, value in tensors().items()}
    for name, weight in list(state.items()):
        if (parts := name.split("."))[-2] in {one.split(".")[1] for one in LINEAR}:
            at = f"{parts[3]}_{parts[1]}"
            state[name] = weight + 2.0 * (mine.up[at] @ mine.down[at]).detach()
    library.load_state_dict(state)
    ids = torch.tensor([[3, 9, 27, 4, 1], [8, 8, 2, 0, 0]])
    with torch.no_grad():
        assert torch.allclose(mine.hidden(ids, torch.float32)[0], library(ids[:1]).last_hidden_state[0], atol=1e-4)


def test_blocks_of_a_gguf_become_the_numbers_that_they_stand_for() -> None:
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize, quantize
    from training.models.large_batches import dequantised

    wanted = np.random.RandomState(2).randn(4, 64).astype(np.float32)
    raw = quantize(wanted, GGMLQuantizationType.Q8_0)
    parts = raw.reshape(4, 2, -1)
    stored = {
        "w.shape": np.array([4, 64]), "w.d": np.ascontiguousarray(parts[..., :2]).view(np.float16),
        "w.q": np.ascontiguousarray(parts[..., 2:]).view(np.int8),
    }  # fmt: skip
    assert np.allclose(dequantised(stored, "w"), dequantize(raw, GGMLQuantizationType.Q8_0))


@pytest.mark.slow
def test_a_run_lowers_the_loss_and_goes_on_from_an_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.models.large_batches import main

    base, tokens = base_file(tmp_path), token_file(tmp_path)
    script = str(ROOT / "scripts" / "training" / "models" / "large_batches.py")

    def command(out: str, *more: str) -> list[str]:
        return [
            script, "--weights", str(base), "--data", str(tokens), "--out", str(tmp_path / out), "--minutes", "1",
            "--epochs", "20", "--batch-tokens", "128", "--rank", "4", "--rate", "0.02", "--warmup", "2", "--held", "4", *more,
        ]  # fmt: skip

    def losses(out: str) -> dict[str, float]:
        return json.loads((tmp_path / out / "log.json").read_text())["after"]  # type: ignore[no-any-return]

    # As it runs where only torch and numpy are.
    subprocess.run([sys.executable, *command("first")], check=True, capture_output=True, timeout=200)
    assert max(losses("first").values()) < 3.5  # of 50 tokens at random: 3.9
    begun = command("second", "--init", str(tmp_path / "first" / "adapter-0.npz"), "--rate", "0", "--epochs", "1")
    monkeypatch.setattr(sys, "argv", begun)
    main()
    assert losses("second") == pytest.approx(losses("first"), abs=0.02)
