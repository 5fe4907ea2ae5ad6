"""Train an adapter within a budget of minutes, in large batches: for one GPU; a CPU runs the same, slower.

    scripts/pack_training_data.py --base starter --data A.jsonl B.jsonl:0.5 --out tokens.npz --weights base.npz
    scripts/train_large_batches.py --weights base.npz --data tokens.npz --init init.npz --minutes 9 --out RUN

Reads only arrays that `pack_training_data.py` wrote, and needs only torch and numpy, so that it runs where nothing else
is installed. The model is written out here for Llama's layers: each weight is W + scale · B·A, computed once for a
batch, so that a low-rank update costs no more than full training; matrix products run in bfloat16 of weights kept in
float32. Sequences of like length are batched up to a budget of tokens; loss on the answers only, and logits only where
there is loss. The learning rate is a cosine over the time that is left, so that a run ends when its minutes do.

RUN/adapter.npz has the matrices in half precision (LoRA, Hu et al., ICLR 2022), RUN/log.json the losses.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_WIDTH_STEP = 32
_LOG = 50


def load_weights(path: Path) -> tuple[dict[str, Any], dict[str, int | float]]:
    """The base's tensors in float32, and its shape: layers, heads, key heads, head size, rope base, epsilon."""
    with np.load(path) as stored:
        shape = json.loads(str(stored["shape"]))
        tensors = {name: torch.from_numpy(dequantised(stored, name)) for name in shape.pop("tensors")}
    return tensors, shape


def dequantised(stored: Any, name: str) -> Any:
    """A tensor as float32: stored as it is, or as 4 or 8 bit blocks with a scale and a least value for each."""
    if name in stored:
        return stored[name].astype(np.float32)
    quants, scales = stored[f"{name}.q"], stored[f"{name}.d"].astype(np.float32)
    rows, columns = stored[f"{name}.shape"]
    if f"{name}.m" not in stored:
        return (quants.astype(np.float32).reshape(-1, 32) * scales.reshape(-1, 1)).reshape(rows, columns)
    low, high = quants & 15, quants >> 4  # the first and the second half of a block of 32
    whole = np.concatenate([low, high], axis=-1).astype(np.float32).reshape(-1, 32)
    least = stored[f"{name}.m"].astype(np.float32).reshape(-1, 1)
    return (whole * scales.reshape(-1, 1) + least).reshape(rows, columns)


class LowRankLlama(torch.nn.Module):
    """A Llama with low-rank updates of all its linear layers. Only those are parameters.

    Args:
        tensors: of the base by names of Hugging Face's Llama without "model."; rows of q and k in their order there.
    """

    def __init__(self, tensors: dict[str, Any], shape: dict[str, Any], rank: int, scale: float) -> None:
        super().__init__()
        self.shape, self.scale = shape, scale
        self.embedding: Any
        self.register_buffer("embedding", tensors["embed_tokens.weight"])
        self.register_buffer("last_norm", tensors["norm.weight"])
        self.down, self.up = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        for i in range(shape["layers"]):
            for norm in ("input_layernorm", "post_attention_layernorm"):
                self.register_buffer(f"{norm}_{i}", tensors[f"layers.{i}.{norm}.weight"])
            for name in LINEAR:
                block = "self_attn" if name in LINEAR[:4] else "mlp"
                weight = tensors[f"layers.{i}.{block}.{name}.weight"]
                self.register_buffer(f"{name}_{i}", weight)
                down = torch.empty(rank, weight.shape[1])
                torch.nn.init.kaiming_uniform_(down, a=math.sqrt(5))
                self.down[f"{name}_{i}"] = torch.nn.Parameter(down)
                self.up[f"{name}_{i}"] = torch.nn.Parameter(torch.zeros(weight.shape[0], rank))
        self.layer: Callable[..., Any] = layer

    def weight(self, name: str, half: Any) -> Any:
        return (getattr(self, name) + self.scale * (self.up[name] @ self.down[name])).to(half)

    def hidden(self, ids: Any, half: Any) -> Any:
        """The last hidden states (batch, tokens, width) of token ids, padded on the right."""
        shape = self.shape
        x = functional.embedding(ids, self.embedding).float()
        angles = torch.arange(ids.shape[1], device=ids.device, dtype=torch.float32)[:, None] * (
            shape["rope"]
            ** (-torch.arange(0, shape["size"], 2, device=ids.device, dtype=torch.float32) / shape["size"])
        )
        turn = torch.cat([angles, angles], -1)
        cos, sin = turn.cos().to(half), turn.sin().to(half)
        for i in range(shape["layers"]):
            weights = [self.weight(f"{name}_{i}", half) for name in LINEAR]
            norms = getattr(self, f"input_layernorm_{i}"), getattr(self, f"post_attention_layernorm_{i}")
            x = self.layer(x, cos, sin, *norms, *weights, shape["heads"], shape["key_heads"], shape["epsilon"])
        return normed(x, self.last_norm, shape["epsilon"], half)


def normed(x: Any, weight: Any, epsilon: float, half: Any) -> Any:
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight).to(half)


def turned(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary positions on halves of the head (Su et al., 2021), as Hugging Face's Llama pairs them."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def layer(
    x: Any, cos: Any, sin: Any, norm: Any, second_norm: Any,
    q: Any, k: Any, v: Any, o: Any, gate: Any, up: Any, down: Any,
    heads: int, key_heads: int, epsilon: float,
) -> Any:  # fmt: skip
    """One block of Llama; x in float32, the products in the weights' type."""
    batch, tokens, _ = x.shape
    h = normed(x, norm, epsilon, q.dtype)
    one = turned(functional.linear(h, q).view(batch, tokens, heads, -1).transpose(1, 2), cos, sin)
    two = turned(functional.linear(h, k).view(batch, tokens, key_heads, -1).transpose(1, 2), cos, sin)
    three = functional.linear(h, v).view(batch, tokens, key_heads, -1).transpose(1, 2)
    seen = functional.scaled_dot_product_attention(one, two, three, is_causal=True, enable_gqa=True)
    x = x + functional.linear(seen.transpose(1, 2).reshape(batch, tokens, -1), o).float()
    h = normed(x, second_norm, epsilon, q.dtype)
    return x + functional.linear(functional.silu(functional.linear(h, gate)) * functional.linear(h, up), down).float()


class Tokens:
    """Packed examples: ids, which are learnt, and the task of each."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as stored:
            self.ids, self.ends, self.task = stored["ids"], stored["ends"], stored["task"]
            self.learnt = np.unpackbits(stored["learnt"])[: len(self.ids)].astype(bool)
            self.names = [str(name) for name in stored["names"]]
        self.sizes = np.diff(self.ends)

    def batch(self, rows: Sequence[int], device: str) -> tuple[Any, Any]:
        width = -(-int(max(self.sizes[row] for row in rows)) // _WIDTH_STEP) * _WIDTH_STEP
        ids, wanted = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), bool)
        for i, row in enumerate(rows):
            start, end = self.ends[row], self.ends[row + 1]
            ids[i, : end - start] = self.ids[start:end]
            wanted[i, : end - start - 1] = self.learnt[start + 1 : end]
        return torch.from_numpy(ids).to(device), torch.from_numpy(wanted).to(device)

    def batches(self, rows: Sequence[int], budget: int, seed: int) -> list[list[int]]:
        source = random.Random(seed)
        made: list[list[int]] = []
        current: list[int] = []
        longest = 0
        for row in sorted(rows, key=lambda i: self.sizes[i] + source.random() * 40):
            wider = -(-max(longest, int(self.sizes[row])) // _WIDTH_STEP) * _WIDTH_STEP
            if current and wider * (len(current) + 1) > budget:
                made.append(current)
                current, wider = [], -(-int(self.sizes[row]) // _WIDTH_STEP) * _WIDTH_STEP
            current.append(row)
            longest = wider
        source.shuffle(made)
        return [*made, current]


def loss_of(model: LowRankLlama, ids: Any, wanted: Any, half: Any, reduction: str = "mean") -> Any:
    hidden = model.hidden(ids, half)[:, :-1][wanted[:, :-1]]
    logits = functional.linear(hidden, model.embedding.to(half)).float()
    return functional.cross_entropy(logits, ids[:, 1:][wanted[:, :-1]], reduction=reduction)


def begin(model: LowRankLlama, path: Path) -> None:
    """Begin with an adapter whose rank may be smaller; what it adds stays the same."""
    with np.load(path) as stored, torch.no_grad():
        scale = float(stored["scale"]) / model.scale
        for name in model.down:
            if f"{name}.down" in stored:
                down = torch.from_numpy(stored[f"{name}.down"].astype(np.float32))
                up = torch.from_numpy(stored[f"{name}.up"].astype(np.float32)) * scale
                model.down[name][: len(down)] = down
                model.up[name].zero_()
                model.up[name][:, : up.shape[1]] = up


def losses(
    model: LowRankLlama, tokens: Tokens, rows: Sequence[int], budget: int, device: str, half: Any
) -> dict[str, float]:
    """Mean loss of a token by task."""
    told = {}
    with torch.no_grad():
        for task, name in enumerate(tokens.names):
            total = count = 0.0
            mine = [row for row in rows if tokens.task[row] == task]
            for batch in tokens.batches(mine, budget, 0) if mine else ():
                ids, wanted = tokens.batch(batch, device)
                total += float(loss_of(model, ids, wanted, half, "sum"))
                count += int(wanted[:, :-1].sum())
            if count:
                told[name] = round(total / count, 4)
    return told


def train(given: argparse.Namespace) -> None:
    began = time.time()
    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    half = torch.bfloat16 if device == "cuda" or given.half else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = True
    tensors, shape = load_weights(given.weights)
    model = LowRankLlama(tensors, shape, given.rank, given.scale)
    if given.init:
        begin(model, given.init)
    model = model.to(device)
    tokens = Tokens(given.data)
    rows = np.random.RandomState(given.seed).permutation(len(tokens.sizes)).tolist()
    held = min(given.held, len(rows) // 10)
    kept, rows = rows[:held], rows[held:]
    print(f"{len(rows)} examples, {int(tokens.sizes.sum())} tokens, loaded in {time.time() - began:.0f} s", flush=True)
    print("before", losses(model, tokens, kept, given.batch_tokens, device, half), flush=True)
    if device == "cuda" and given.compile:
        first = tokens.batch(tokens.batches(rows, given.batch_tokens, 0)[0], device)
        plain = float(loss_of(model, *first, half).detach())
        try:
            model.layer = torch.compile(layer, dynamic=True)
            loss_of(model, *first, half).backward()
            print(f"compiled at {time.time() - began:.0f} s; loss {plain:.4f} plain, "
                  f"{float(loss_of(model, *first, half).detach()):.4f} compiled", flush=True)  # fmt: skip
        except Exception as error:  # compiling is for speed alone
            print(f"not compiled: {error!r:.300}", flush=True)
            model.layer = layer
        model.zero_grad(set_to_none=True)
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(
        parameters, lr=given.rate, weight_decay=0.01, betas=(0.9, 0.98), fused=device == "cuda"
    )
    log: list[dict[str, Any]] = []
    start, step, seen, epoch = time.time(), 0, 0, 0
    batches = tokens.batches(rows, given.batch_tokens, given.seed)
    an_epoch = len(batches)
    while (part := max((time.time() - start) / (60 * given.minutes), step / (given.epochs * an_epoch))) < 1:
        if not batches:
            epoch += 1
            batches = tokens.batches(rows, given.batch_tokens, given.seed + epoch)
        ids, wanted = tokens.batch(batches.pop(), device)
        cosine = 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * part))
        for group in optimiser.param_groups:
            group["lr"] = given.rate * min(1.0, (step + 1) / given.warmup) * cosine
        loss = loss_of(model, ids, wanted, half)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        step += 1
        seen += ids.numel()
        if step % _LOG == 0:
            entry = {"step": step, "an epoch": an_epoch, "loss": round(float(loss.detach()), 4),
                     "seconds": round(time.time() - start, 1), "tokens": seen}  # fmt: skip
            log.append(entry)
            print(entry, flush=True)
            if step % (20 * _LOG) == 0:
                save(model, given.out)
    save(model, given.out)
    after = losses(model, tokens, kept, given.batch_tokens, device, half)
    print("after", after, f"{step / an_epoch:.2f} epochs, {seen / (time.time() - start):.0f} tokens/s", flush=True)
    (given.out / "log.json").write_text(json.dumps({"steps": log, "after": after}))


def save(model: LowRankLlama, out: Path) -> None:
    """The matrices in half precision, in files of less than 15 MB."""
    out.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {}
    size = number = 0
    for name in model.down:
        for side, tensor in (("down", model.down[name]), ("up", model.up[name])):
            arrays[f"{name}.{side}"] = tensor.detach().half().cpu().numpy()
            size += arrays[f"{name}.{side}"].nbytes
        if size > 14_000_000:
            np.savez(out / f"adapter-{number}.npz", scale=model.scale, **arrays)
            arrays, size, number = {}, 0, number + 1
    np.savez(out / f"adapter-{number}.npz", scale=model.scale, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--init", type=Path, help="an adapter to begin with, as an array file")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--epochs", type=float, default=6.0, help="at most")
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--scale", type=float, default=2.0, help="alpha / rank")
    parser.add_argument("--rate", type=float, default=8e-4)
    parser.add_argument("--warmup", type=int, default=40, help="steps")
    parser.add_argument("--batch-tokens", type=int, default=32768)
    parser.add_argument("--held", type=int, default=1500, help="examples kept out, for the loss at the end")
    parser.add_argument("--half", action="store_true", help="bfloat16 on a CPU too")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
