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

--over with --export writes an adapter for a task alone: what the run has added to the adapter it began from, at --rank.
The program applies it to the calls of that task, on top of the other one, which stays as it is (`task_adapters` in its
card).

A line of the data is {"messages", "answer"}; with "learn": false there is no loss on "answer"; "then" holds further
turns, {"ask", "answer"} each, with loss on their answers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.files import read_lines
from training.models.adapter_file import TARGETS, adapter_state, begin_from, export, load_base
from training.models.checkpoints import Run

# Token ids, and for each whether it is learnt (whether there is loss on predicting it).
Encoded = tuple[list[int], list[bool]]


def encode(tokenizer: Any, records: Sequence[dict[str, Any]], limit: int, *, quiet: bool = False) -> list[Encoded]:
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
    if not quiet:
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


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def train(given: argparse.Namespace) -> None:
    import torch
    from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict

    run = Run(given.run)
    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = {key: _plain(value) for key, value in vars(given).items() if key not in {"export", "minutes"}}
    settings["data_sha256"] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in given.data]
    recorded = given.run / "settings.json"
    if recorded.exists() and json.loads(recorded.read_text()) != settings:
        raise SystemExit(f"{given.run} was begun with other settings or data: {recorded}")
    recorded.write_text(json.dumps(settings, indent=1))
    model, tokenizer = load_base(given.base)
    encoded = encode(tokenizer, [record for path in given.data for record in read_lines(path)], given.longest)
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

    step = 0
    if saved := run.state():
        set_peft_model_state_dict(model, saved["adapter"])
        optimiser.load_state_dict(saved["optimiser"])
        step = saved["step"]
        print(f"going on at step {step} of {total}", flush=True)

    def save() -> None:
        weights = get_peft_model_state_dict(model)
        run.save({"adapter": weights, "optimiser": optimiser.state_dict(), "step": step})

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
            run.log(entry)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="starter")
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--init", type=Path, help="begin with this run's checkpoint.pt or adapter.gguf")
    parser.add_argument("--over", type=Path, help="with --export: what the run has added to this adapter.gguf")
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
        export(given.run, given.export, given.over, given.rank)
    elif not given.data:
        sys.exit("--data: give the file that scripts/build_training_data.py wrote")
    else:
        train(given)
