"""What a run has added to an earlier adapter, as an adapter of a rank of its own."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from training.models.adapter_file import difference  # noqa: E402

NAME = "base_model.model.model.layers.4.self_attn.q_proj"


def state(rank: int, seed: int) -> dict[str, Any]:
    source = torch.Generator().manual_seed(seed)
    return {
        f"{NAME}.lora_A.weight": torch.randn(rank, 12, generator=source),
        f"{NAME}.lora_B.weight": torch.randn(9, rank, generator=source),
    }


def product(weights: dict[str, Any]) -> Any:
    return weights[f"{NAME}.lora_B.weight"] @ weights[f"{NAME}.lora_A.weight"]


def test_on_top_of_the_earlier_adapter_it_is_the_later_one() -> None:
    earlier, later = state(2, 1), state(3, 2)
    made = difference(later, earlier, (2.0, 0.5), rank=5)
    assert torch.allclose(product(made) + 0.5 * product(earlier), 2.0 * product(later), atol=1e-4)


def test_a_smaller_rank_leaves_out_as_little_as_can_be() -> None:
    earlier, later = state(2, 1), state(3, 2)
    whole = product(later) - product(earlier)
    made = difference(later, earlier, (1.0, 1.0), rank=2)
    assert made[f"{NAME}.lora_A.weight"].shape == (2, 12)
    left_out = torch.linalg.svdvals(whole)[2:].square().sum().sqrt()
    assert torch.isclose((whole - product(made)).norm(), left_out, rtol=1e-4)


def test_a_layer_that_the_earlier_one_lacks_is_taken_whole() -> None:
    later = state(3, 2)
    made = difference(later, {}, (1.0, 1.0), rank=3)
    assert torch.allclose(product(made), product(later), atol=1e-4)
