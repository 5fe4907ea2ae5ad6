#!/usr/bin/env python3
"""Train a LoRA adapter on the lean prompts and export it as GGUF.

    scripts/train_adapter.py --base starter --data training.jsonl --run RUN --name smollm2-135m-atomr
    scripts/train_adapter.py --run RUN --export models/adapters/smollm2-135m-atomr.gguf

Needs the extra `train` (peft, gguf). Base: the starter, a GGUF of a Llama-family model (its weights are dequantised:
LoRA, Hu et al., ICLR 2022, on frozen weights), or a Hugging Face directory. Runs on a CPU or one GPU. Everything is
seeded; a run cut off goes on from its last checkpoint when the same command is given again; RUN/log.jsonl has the
loss. Sequences of like length are batched up to a budget of tokens; loss on the answers only; logits are computed
only where there is loss. --data may name several files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
_GGUF_NAMES = {
    "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output",
    "gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down",
}  # fmt: skip


def base_path(base: str) -> Path:
    if base == "starter":
        from atomr_local.catalog.starter import starter_model_path

        return starter_model_path()
    return Path(base).expanduser()


def load_base(base: str) -> tuple[Any, Any]:
    """The frozen model in float32 and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = base_path(base)
    where: dict[str, Any] = (
        {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        if path.suffix == ".gguf"
        else {"pretrained_model_name_or_path": str(path)}
    )
    tokenizer = AutoTokenizer.from_pretrained(**where, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(**where, local_files_only=True, dtype=torch.float32)
    if model.config.model_type != "llama":
        raise SystemExit(f"{path}: {model.config.model_type} is not of the Llama family, whose layers this exports")
    return model, tokenizer


def encode(tokenizer: Any, records: Sequence[dict[str, Any]], limit: int) -> list[tuple[list[int], int]]:
    """(token ids, length of the prompt) of each record; those over `limit` tokens are left out and counted."""
    end = tokenizer.eos_token if "<|im_end|>" not in tokenizer.get_vocab() else "<|im_end|>"
    encoded, dropped = [], 0
    for record in records:
        text = tokenizer.apply_chat_template(record["messages"], tokenize=False, add_generation_prompt=True)
        prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
        answer = tokenizer(record["answer"] + end, add_special_tokens=False)["input_ids"]
        if len(prompt) + len(answer) > limit:
            dropped += 1
            continue
        encoded.append((prompt + answer, len(prompt)))
    print(f"{len(encoded)} sequences, {sum(len(t) for t, _ in encoded)} tokens, {dropped} over {limit}", flush=True)
    return encoded


def batches(
    encoded: Sequence[tuple[list[int], int]], budget: int, seed: int, epoch: int
) -> list[list[tuple[list[int], int]]]:
    """Sequences of like length together, at most `budget` tokens padded, in an order of the seed and epoch."""
    source = random.Random(seed * 1000 + epoch)
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i][0]) + source.random() * 40)
    made: list[list[tuple[list[int], int]]] = []
    current: list[tuple[list[int], int]] = []
    for index in order:
        longest = max([len(encoded[index][0]), *(len(tokens) for tokens, _ in current)])
        if current and longest * (len(current) + 1) > budget:
            made.append(current)
            current = []
        current.append(encoded[index])
    made.append(current)
    source.shuffle(made)
    return made


def loss_of(model: Any, batch: Sequence[tuple[list[int], int]], device: str) -> tuple[Any, int]:
    """Mean cross-entropy over the answers' tokens, and how many there are."""
    import torch

    width = max(len(tokens) for tokens, _ in batch)
    ids = torch.zeros((len(batch), width), dtype=torch.long)
    mask = torch.zeros((len(batch), width), dtype=torch.long)
    wanted = torch.zeros((len(batch), width), dtype=torch.bool)
    for row, (tokens, start) in enumerate(batch):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
        wanted[row, start - 1 : len(tokens) - 1] = True
    ids, mask, wanted = ids.to(device), mask.to(device), wanted.to(device)
    inner = model.get_base_model()
    hidden = inner.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    logits = inner.lm_head(hidden[:, :-1][wanted[:, :-1]])
    targets = ids[:, 1:][wanted[:, :-1]]
    return torch.nn.functional.cross_entropy(logits.float(), targets), int(targets.numel())


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def train(given: argparse.Namespace) -> None:
    import torch
    from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict

    run: Path = given.run
    run.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = {key: _plain(value) for key, value in vars(given).items() if key not in {"export", "minutes"}}
    settings["data_sha256"] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in given.data]
    recorded = run / "settings.json"
    if recorded.exists() and json.loads(recorded.read_text()) != settings:
        raise SystemExit(f"{run} was begun with other settings or data: {recorded}")
    recorded.write_text(json.dumps(settings, indent=1))
    model, tokenizer = load_base(given.base)
    records = [json.loads(text) for path in given.data for text in path.read_text("utf-8").splitlines() if text.strip()]
    encoded = encode(tokenizer, records, given.longest)
    layers = list(range(given.first_layer, model.config.num_hidden_layers))
    config = LoraConfig(
        r=given.rank, lora_alpha=given.alpha, lora_dropout=0.0, target_modules=TARGETS, layers_to_transform=layers
    )
    model = get_peft_model(model, config).to(device)
    model.print_trainable_parameters()
    if given.init:
        set_peft_model_state_dict(model, torch.load(given.init, weights_only=True)["adapter"])
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=given.rate, weight_decay=0.0, betas=(0.9, 0.99))
    steps_an_epoch = len(batches(encoded, given.batch_tokens, given.seed, 0))
    total = math.ceil(given.epochs * steps_an_epoch)

    def rate(step: int) -> float:
        warm = min(1.0, (step + 1) / given.warmup)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, step / total)))
        return float(warm * (0.05 + 0.95 * cosine))

    step, checkpoint = 0, run / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        set_peft_model_state_dict(model, state["adapter"])
        optimiser.load_state_dict(state["optimiser"])
        step = state["step"]
        print(f"going on at step {step} of {total}", flush=True)

    def save() -> None:
        partial = checkpoint.with_suffix(".partial")
        state = {"adapter": get_peft_model_state_dict(model), "optimiser": optimiser.state_dict(), "step": step}
        torch.save(state, partial)
        partial.replace(checkpoint)

    began = time.monotonic()
    model.train()
    for batch in _from(step, encoded, given):
        if step >= total or (given.minutes and time.monotonic() - began > given.minutes * 60):
            break
        for group in optimiser.param_groups:
            group["lr"] = given.rate * rate(step)
        loss, count = loss_of(model, batch, device)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        step += 1
        if step % 10 == 0:
            entry = {
                "step": step, "of": total, "loss": round(float(loss.detach()), 4), "tokens": count,
                "seconds": round(time.monotonic() - began, 1),
            }  # fmt: skip
            with (run / "log.jsonl").open("a") as log:
                log.write(json.dumps(entry) + "\n")
            print(entry, flush=True)
        if step % given.save_every == 0:
            save()
    save()
    print(f"stopped at step {step} of {total}", flush=True)


def _from(step: int, encoded: Sequence[Any], given: argparse.Namespace) -> Iterator[list[Any]]:
    """The batches from a step on, epoch after epoch."""
    epoch = 0
    while True:
        made = batches(encoded, given.batch_tokens, given.seed, epoch)
        if step < len(made):
            yield from made[step:]
            step = 0
        else:
            step -= len(made)
        epoch += 1


def permuted(weight: Any, heads: int) -> Any:
    """Rows of a q or k projection in the order of GGUF, which pairs rotary dimensions beside each other."""
    rows = weight.shape[0]
    return weight.reshape(heads, 2, rows // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def export(given: argparse.Namespace) -> None:
    """Write the adapter of RUN's checkpoint as GGUF in half precision, and what is known of it beside it."""
    import numpy as np
    import torch
    from gguf import GGUFWriter
    from transformers import AutoConfig

    settings = json.loads((given.run / "settings.json").read_text())
    path = base_path(settings["base"])
    where: dict[str, Any] = (
        {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        if path.suffix == ".gguf"
        else {"pretrained_model_name_or_path": str(path)}
    )
    config = AutoConfig.from_pretrained(**where, local_files_only=True)
    state = torch.load(given.run / "checkpoint.pt", weights_only=True)
    writer = GGUFWriter(str(given.export), "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(settings["alpha"]))
    writer.add_string("general.name", given.export.stem)
    for name, tensor in sorted(state["adapter"].items()):
        parts = name.split(".")
        layer, projection = parts[parts.index("layers") + 1], next(part for part in parts if part in _GGUF_NAMES)
        side = "a" if "lora_A" in name else "b"
        weight = tensor.float().numpy()
        if side == "b" and projection in {"q_proj", "k_proj"}:
            heads = config.num_attention_heads if projection == "q_proj" else config.num_key_value_heads
            weight = permuted(weight, heads)
        writer.add_tensor(
            f"blk.{layer}.{_GGUF_NAMES[projection]}.weight.lora_{side}", np.ascontiguousarray(weight.astype(np.float16))
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{given.export}: {given.export.stat().st_size / 1e6:.1f} MB, step {state['step']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="starter")
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--init", type=Path, help="a checkpoint of another run to begin with")
    parser.add_argument("--export", type=Path, help="write the run's adapter here instead of training")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--alpha", type=float, default=32.0)
    parser.add_argument("--first-layer", type=int, default=8, help="layers below stay as they are")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--batch-tokens", type=int, default=1500)
    parser.add_argument("--longest", type=int, default=640)
    parser.add_argument("--save-every", type=int, default=25)
    parser.add_argument("--minutes", type=float, default=0, help="stop (to be gone on with) after this long")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.export is not None:
        export(given)
    elif not given.data:
        sys.exit("--data: give the file that scripts/build_training_data.py wrote")
    else:
        train(given)


if __name__ == "__main__":
    main()
