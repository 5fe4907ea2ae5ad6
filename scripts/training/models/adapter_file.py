"""The base of an adapter, and the adapter's weights in and out of GGUF files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from training.models.checkpoints import Run

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
GGUF_NAMES = {
    "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output",
    "gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down",
}  # fmt: skip


def base_arguments(base: str) -> dict[str, Any]:
    """What transformers loads the base by: "starter", a GGUF file or a Hugging Face directory."""
    if base == "starter":
        from atomr_local.models.catalog.find import starter_model_path

        path = starter_model_path()
    else:
        path = Path(base).expanduser()
    name = "pretrained_model_name_or_path"
    where = {name: str(path.parent), "gguf_file": path.name} if path.suffix == ".gguf" else {name: str(path)}
    return {**where, "local_files_only": True}


def load_base(base: str) -> tuple[Any, Any]:
    """The frozen model in float32 and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = base_arguments(base)
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    if model.config.model_type != "llama":
        raise SystemExit(f"{base}: {model.config.model_type} is not of the Llama family, whose layers this exports")
    return model, tokenizer


def adapter_state(init: Path, heads: tuple[int, int]) -> tuple[dict[str, Any], float]:
    """The weights of a run's checkpoint or of an adapter's GGUF file by PEFT's names, and alpha / rank.

    Args:
        heads: attention heads for queries and for keys, for undoing GGUF's order of rows.
    """
    import torch

    if init.suffix != ".gguf":
        settings = json.loads((init.parent / "settings.json").read_text())
        return torch.load(init, weights_only=True)["adapter"], settings["alpha"] / settings["rank"]
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(str(init))
    alpha = float(reader.fields["adapter.lora.alpha"].contents())
    projections = {gguf_name: name for name, gguf_name in GGUF_NAMES.items()}
    state: dict[str, Any] = {}
    rank = 0
    for tensor in reader.tensors:
        _, layer, projection, _, side = tensor.name.split(".")
        name, letter = projections[projection], side.removeprefix("lora_").upper()
        weight = torch.tensor(dequantize(tensor.data, tensor.tensor_type).astype("float32"))
        if letter == "B" and name in {"q_proj", "k_proj"}:
            weight = unpermuted(weight, heads[0] if name == "q_proj" else heads[1])
        rank = weight.shape[0] if letter == "A" else weight.shape[1]
        block = "self_attn" if name in TARGETS[:4] else "mlp"
        state[f"base_model.model.model.layers.{layer}.{block}.{name}.lora_{letter}.weight"] = weight
    return state, alpha / rank


def begin_from(model: Any, state: dict[str, Any], scale: float) -> None:
    """Put earlier adapter weights into the model's, whose rank may be larger.

    Args:
        scale: alpha / rank of the earlier weights over that of the model.
    """
    import torch
    from peft import get_peft_model_state_dict, set_peft_model_state_dict

    now = get_peft_model_state_dict(model)
    if unknown := state.keys() - now.keys():
        raise SystemExit(f"--init: the model trains no {sorted(unknown)[0]}; lower --first-layer")
    for name, weight in state.items():
        whole = now[name].clone()
        rank = weight.shape[0] if "lora_A" in name else weight.shape[1]
        if "lora_A" in name:
            whole[:rank] = weight
        else:
            whole = torch.zeros_like(whole)
            whole[:, :rank] = weight * scale
        now[name] = whole
    set_peft_model_state_dict(model, now)


def permuted(weight: Any, heads: int) -> Any:
    """Rows of a q or k projection in the order of GGUF, which pairs rotary dimensions beside each other."""
    rows = weight.shape[0]
    return weight.reshape(heads, 2, rows // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def unpermuted(weight: Any, heads: int) -> Any:
    """The inverse of `permuted`."""
    rows = weight.shape[0]
    return weight.reshape(heads, rows // heads // 2, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def difference(
    state: dict[str, Any], earlier: dict[str, Any], scales: tuple[float, float], rank: int
) -> dict[str, Any]:
    """What an adapter adds to an earlier one, as an adapter of a given rank with alpha = rank: the best one by the sum
    of squares of what it leaves out (truncated singular value decomposition; Eckart and Young, 1936).

    Args:
        state, earlier: weights of both by PEFT's names.
        scales: alpha / rank of both.
    """
    import torch

    made = {}
    for name, first in state.items():
        if ".lora_A." not in name:
            continue
        other = name.replace(".lora_A.", ".lora_B.")
        rows, columns = [first.float()], [scales[0] * state[other].float()]
        if name in earlier:
            rows.append(earlier[name].float())
            columns.append(-scales[1] * earlier[other].float())
        left, upper = torch.linalg.qr(torch.cat(columns, 1))
        right, lower = torch.linalg.qr(torch.cat(rows).T)
        one, values, two = torch.linalg.svd(upper @ lower.T)
        root = values[:rank].sqrt()
        made[other] = left @ one[:, :rank] * root
        made[name] = root[:, None] * (two[:rank] @ right.T)
    return made


def export(run: Path, out: Path, over: Path | None = None, rank: int = 0) -> None:
    """Write the adapter of the run's checkpoint as GGUF in half precision.

    Args:
        over: an earlier adapter that the run began from: what is written is used on top of it.
        rank: of what is written, with `over`.
    """
    from transformers import AutoConfig

    settings = json.loads((run / "settings.json").read_text())
    config = AutoConfig.from_pretrained(**base_arguments(settings["base"]))
    state = Run(run).state()
    if state is None:
        raise SystemExit(f"{run} has no checkpoint")
    weights, alpha = state["adapter"], float(settings["alpha"])
    if over is not None:
        earlier, scale = adapter_state(over, (config.num_attention_heads, config.num_key_value_heads))
        weights = difference(weights, earlier, (alpha / settings["rank"], scale), rank)
        alpha = float(rank)
    found = {}
    for name, tensor in weights.items():
        parts = name.split(".")
        layer, projection = parts[parts.index("layers") + 1], next(part for part in parts if part in GGUF_NAMES)
        side = "a" if "lora_A" in name else "b"
        weight = tensor.float().numpy()
        if side == "b" and projection in {"q_proj", "k_proj"}:
            heads = config.num_attention_heads if projection == "q_proj" else config.num_key_value_heads
            weight = permuted(weight, heads)
        found[f"blk.{layer}.{GGUF_NAMES[projection]}.weight.lora_{side}"] = weight
    write_adapter(out, found, alpha=alpha)
    print(f"step {state['step']}")


def write_adapter(out: Path, weights: dict[str, Any], *, alpha: float, kind: str = "F16") -> None:
    """Write matrices, by their names in GGUF, as an adapter for llama.cpp.

    Args:
        weights: `lora_a` of (rank, inputs), `lora_b` of (outputs, rank), rows of q and k in GGUF's order.
        kind: "F16", or "Q8_0": blocks of 32 numbers of 8 bits with a scale.
    """
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.quants import quantize

    writer = GGUFWriter(str(out), "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_string("general.name", out.stem)
    for name, weight in sorted(weights.items()):
        if kind == "Q8_0":
            packed = quantize(np.ascontiguousarray(weight, dtype=np.float32), GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, packed, raw_dtype=GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(name, np.ascontiguousarray(weight.astype(np.float16)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")
