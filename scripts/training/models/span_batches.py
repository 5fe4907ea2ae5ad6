"""Train the span reader within a budget of minutes on a GPU, from pairs that `train_span_reader.py --pack` wrote.

    scripts/train_span_batches.py --base EMBEDDER --pairs pairs.npz --minutes 4 --out reader
    scripts/train_span_reader.py --export reader.npz --out models/span-reader/NAME

The same model and loss as there (`span_reader.py`); needs torch, transformers and peft, and nothing of the program.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

_TRAINED = r"encoder\.layer\.\d+\.(attention\.self\.(query|key|value)|(attention\.)?output\.dense|intermediate\.dense)"


class Pairs:
    def __init__(self, path: Path) -> None:
        with np.load(path) as stored:
            self.ids, self.firsts, self.ends = stored["ids"], stored["firsts"], stored["ends"]
            self.places, self.place_ends = stored["places"], stored["place_ends"]
        self.sizes = np.diff(self.ends)

    def batch(self, rows: Any, device: str) -> tuple[Any, ...]:
        width = int(self.sizes[rows].max())
        ids, kinds, mask = (np.zeros((len(rows), width), np.int64) for _ in range(3))
        begins, finishes = np.zeros((len(rows), width), bool), np.zeros((len(rows), width), bool)
        for i, row in enumerate(rows):
            start, end = self.ends[row], self.ends[row + 1]
            ids[i, : end - start], mask[i, : end - start] = self.ids[start:end], 1
            kinds[i, self.firsts[row] : end - start] = 1
            found = self.places[self.place_ends[row] : self.place_ends[row + 1]]
            for first, last in found if len(found) else ((0, 0),):
                begins[i, first] = finishes[i, last] = True
        return tuple(torch.from_numpy(one).to(device) for one in (ids, kinds, mask, begins, finishes))

    def batches(self, rows: Any, tokens: int, source: Any) -> list[Any]:
        made: list[list[int]] = [[]]
        longest = 0
        for row in sorted(rows, key=lambda r: self.sizes[r] * source.uniform(0.85, 1.15)):
            longest = max(longest, int(self.sizes[row]))
            if made[-1] and longest * (len(made[-1]) + 1) > tokens:
                made.append([])
                longest = int(self.sizes[row])
            made[-1].append(row)
        source.shuffle(made)
        return [np.array(one) for one in made]


def loss_of(logits: Any, right: Any, mask: Any) -> Any:
    logits = logits.float().masked_fill(~mask, -1e4)
    share = torch.logsumexp(logits.masked_fill(~right, -1e4), -1) - torch.logsumexp(logits, -1)
    return -share.mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--epochs", type=float, default=5.0, help="at most")
    parser.add_argument("--rank", type=int, default=96)
    parser.add_argument("--rate", type=float, default=8e-4)
    parser.add_argument("--batch-tokens", type=int, default=16384)
    parser.add_argument("--held", type=int, default=2000)
    given = parser.parse_args()
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel

    torch.manual_seed(0)
    source = np.random.RandomState(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = AutoModel.from_pretrained(given.base, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0).float()
    config = LoraConfig(r=given.rank, lora_alpha=2 * given.rank, target_modules=_TRAINED)
    model = get_peft_model(encoder, config).to(device)
    head = torch.nn.Linear(encoder.config.hidden_size, 2).to(device)
    pairs = Pairs(given.pairs)
    rows = source.permutation(len(pairs.sizes))
    held, rows = rows[: given.held], rows[given.held :]

    def told(batch: Any) -> tuple[Any, Any]:
        ids, kinds, mask, begins, ends = pairs.batch(batch, device)
        with torch.autocast(device, torch.bfloat16):
            logits = head(model(input_ids=ids, token_type_ids=kinds, attention_mask=mask).last_hidden_state)
        readable = kinds.bool() & mask.bool()
        readable[:, 0] = True
        loss = loss_of(logits[..., 0], begins, readable) + loss_of(logits[..., 1], ends, readable)
        none = torch.softmax(logits[..., 0].float().masked_fill(~readable, -1e4), -1)[:, 0]
        return loss, torch.stack([none.detach(), begins[:, 0].float()], -1)

    def measured() -> str:
        with torch.no_grad():
            found = [told(batch) for batch in pairs.batches(held, given.batch_tokens, np.random.RandomState(1))]
        scores = torch.cat([one for _, one in found]).cpu().numpy()
        order = scores[:, 0].argsort()
        ranks = np.empty(len(order))
        ranks[order] = np.arange(1, len(order) + 1)
        positive = scores[:, 1] > 0.5
        count = positive.sum()
        auroc = (ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(order) - count))
        return f"loss {np.mean([float(loss) for loss, _ in found]):.3f}, AUROC of none {auroc:.3f}"

    body = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW([*body, *head.parameters()], lr=given.rate, weight_decay=0.01)
    start, step, epoch = time.time(), 0, 0
    batches = pairs.batches(rows, given.batch_tokens, source)
    an_epoch = len(batches)
    print(f"{len(rows)} pairs, {an_epoch} batches; before: {measured()}", flush=True)
    while (part := max((time.time() - start) / (60 * given.minutes), step / (given.epochs * an_epoch))) < 1:
        if not batches:
            epoch += 1
            batches = pairs.batches(rows, given.batch_tokens, source)
        for group in optimiser.param_groups:
            group["lr"] = given.rate * min(1.0, (step + 1) / 60) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * part)))
        loss, _ = told(batches.pop())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*body, *head.parameters()], 1.0)
        optimiser.step()
        step += 1
        if step % 100 == 0:
            print(
                f"span {step} of {given.epochs * an_epoch:.0f}: {float(loss):.3f} {time.time() - start:.0f} s",
                flush=True,
            )
    print(f"after {step / an_epoch:.2f} epochs: {measured()}", flush=True)
    found = {"span.weight": head.weight, "span.bias": head.bias}
    for name, module in model.named_modules():
        if hasattr(module, "lora_A") and "default" in module.lora_A:
            at = name.removeprefix("base_model.model.")
            found[f"{at}.lora_a"] = module.lora_A["default"].weight
            found[f"{at}.lora_b"] = module.lora_B["default"].weight * module.scaling["default"]
    arrays = {name: tensor.detach().half().cpu().numpy() for name, tensor in found.items()}
    about: dict[str, Any] = {"steps": step, "pairs": len(rows), "rank": given.rank}
    np.savez(given.out, **about | arrays)


if __name__ == "__main__":
    main()
