#!/usr/bin/env python3
"""Train a LoRA adapter on the lean prompts and export it as GGUF.

    scripts/train_adapter.py --base starter --data training.jsonl --run RUN --name smollm2-135m-atomr
    scripts/train_adapter.py --run RUN --export models/adapters/smollm2-135m-atomr.gguf

Needs the extra `train` (peft, gguf). Base: the starter, a GGUF of a Llama-family model (its weights are dequantised:
LoRA, Hu et al., ICLR 2022, on frozen weights), or a Hugging Face directory. Runs on a CPU or one GPU. Everything is
seeded; a run cut off goes on from its last checkpoint when the same command is given again; RUN/log.jsonl has the
loss. Sequences of like length are batched up to a budget of tokens; loss on the answers only; logits are computed
only where there is loss. --data may name several files. Matrix products run in bfloat16 where the processor has
instructions for it (three times as fast on such a CPU); weights, gradients and the optimiser stay in float32.

--init takes a checkpoint of another run or an adapter's GGUF file. Its rank may be smaller than --rank and its layers
fewer: what it lacks begins as LoRA begins (A random, B zero), so that the first step computes what the old one did.

A line of the data is {"messages", "answer"}; with "learn": false there is no loss on "answer"; "then" holds further
turns, {"ask", "answer"} each, with loss on their answers.
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


# Token ids, and for each whether it is learnt (whether there is loss on predicting it).
Encoded = tuple[list[int], list[bool]]


def encode(tokenizer: Any, records: Sequence[dict[str, Any]], limit: int) -> list[Encoded]:
    """(token ids, which of them are learnt) of each record; those over `limit` tokens are left out and counted."""
    end = tokenizer.eos_token if "<|im_end|>" not in tokenizer.get_vocab() else "<|im_end|>"
    encoded, dropped = [], 0
    for record in records:
        tokens: list[int] = []
        learnt: list[bool] = []

        def add(text: str, learn: bool, tokens: list[int] = tokens, learnt: list[bool] = learnt) -> None:
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            tokens += ids
            learnt += [learn] * len(ids)

        messages = list(record["messages"])
        opened = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        add(opened, False)
        add(record["answer"] + end, record.get("learn", True))
        written = opened + record["answer"] + end
        messages.append({"role": "assistant", "content": record["answer"]})
        for turn in record.get("then", []):
            messages.append({"role": "user", "content": turn["ask"]})
            opened = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            if not opened.startswith(written):
                raise SystemExit("the model's chat template changes earlier turns: `then` cannot be trained with it")
            add(opened[len(written) :], False)
            add(turn["answer"] + end, True)
            written = opened + turn["answer"] + end
            messages.append({"role": "assistant", "content": turn["answer"]})
        if len(tokens) > limit:
            dropped += 1
            continue
        encoded.append((tokens, learnt))
    print(f"{len(encoded)} sequences, {sum(len(t) for t, _ in encoded)} tokens, {dropped} over {limit}", flush=True)
    return encoded


def batches(encoded: Sequence[Encoded], budget: int, seed: int, epoch: int) -> list[list[Encoded]]:
    """Sequences of like length together, at most `budget` tokens padded, in an order of the seed and epoch."""
    source = random.Random(seed * 1000 + epoch)
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i][0]) + source.random() * 40)
    made: list[list[Encoded]] = []
    current: list[Encoded] = []
    for index in order:
        longest = max([len(encoded[index][0]), *(len(tokens) for tokens, _ in current)])
        if current and longest * (len(current) + 1) > budget:
            made.append(current)
            current = []
        current.append(encoded[index])
    made.append(current)
    source.shuffle(made)
    return made


def loss_of(model: Any, batch: Sequence[Encoded], device: str) -> tuple[Any, int]:
    """Mean cross-entropy over the answers' tokens, and how many there are."""
    import torch

    width = max(len(tokens) for tokens, _ in batch)
    ids = torch.zeros((len(batch), width), dtype=torch.long)
    mask = torch.zeros((len(batch), width), dtype=torch.long)
    wanted = torch.zeros((len(batch), width), dtype=torch.bool)
    for row, (tokens, learnt) in enumerate(batch):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
        wanted[row, : len(tokens) - 1] = torch.tensor(learnt[1:])
    ids, mask, wanted = ids.to(device), mask.to(device), wanted.to(device)
    inner = model.get_base_model()
    hidden = inner.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    logits = inner.lm_head(hidden[:, :-1][wanted[:, :-1]])
    targets = ids[:, 1:][wanted[:, :-1]]
    return torch.nn.functional.cross_entropy(logits.float(), targets), int(targets.numel())


def half_precision(device: str) -> bool:
    """Whether matrix products in bfloat16 are fast here."""
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    flags = Path("/proc/cpuinfo")
    return flags.exists() and "avx512_bf16" in flags.read_text()


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

    reader = GGUFReader(str(init))
    alpha = float(reader.fields["adapter.lora.alpha"].contents())
    projections = {gguf_name: name for name, gguf_name in _GGUF_NAMES.items()}
    state: dict[str, Any] = {}
    rank = 0
    for tensor in reader.tensors:
        _, layer, projection, _, side = tensor.name.split(".")
        name, letter = projections[projection], side.removeprefix("lora_").upper()
        weight = torch.tensor(tensor.data.astype("float32"))
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
        heads = (model.config.num_attention_heads, model.config.num_key_value_heads)
        state, earlier = adapter_state(given.init, heads)
        begin_from(model, state, earlier / (given.alpha / given.rank))
    half = half_precision(device)
    print(f"matrix products in {'bfloat16' if half else 'float32'}", flush=True)
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
        with torch.autocast(device, dtype=torch.bfloat16, enabled=half):
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


def unpermuted(weight: Any, heads: int) -> Any:
    """The inverse of `permuted`."""
    rows = weight.shape[0]
    return weight.reshape(heads, rows // heads // 2, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


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
    parser.add_argument("--init", type=Path, help="begin with this run's checkpoint.pt or adapter.gguf")
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
