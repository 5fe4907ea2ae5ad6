"""Train the span reader: a small adapter that makes the starter's sentence embedder read, on a CPU.

    scripts/train_span_reader.py --data reading.jsonl natural.jsonl --run RUN --out models/adapters/NAME

A question and one passage go through the encoder together; two numbers for each token say where an answer begins and
ends, and those of the first token stand for "not in this passage" (Devlin et al., NAACL 2019, section 4.3). Only LoRA
matrices (Hu et al., ICLR 2022) and those two rows are trained; OUT.safetensors holds them in float16, OUT.json says
what they were made for and of what.

The data is what build_reading_data.py, build_natural_data.py and build_training_data.py write; only the lines that
read passages are used, each passage for itself. Further passages without an answer are made of the same lines: the
question of another passage with the same title. RUN has a checkpoint and log.jsonl: a run cut off goes on when the
same command is given again. Seeded. Needs the extra `train`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.catalog.starter import starter_embedder_path
from atomr_local.output_files import put, write_output
from training.files import Line, read_lines
from training.models.checkpoints import Run

_PASSAGE = re.compile(r"^\[(\d+)\] (.+)$", re.M)
_CITED = re.compile(r"\[(\d+)\]")
_TRAINED = r"encoder\.layer\.\d+\.(attention\.self\.(query|key|value)|(attention\.)?output\.dense|intermediate\.dense)"
_LOG, _SAVE = 10, 100  # steps
_TASKS = frozenset({"read", "answer"})


@dataclass(frozen=True)
class Pair:
    """A question and a passage, with the places (characters) where the passage answers it, if it does."""

    question: str
    passage: str
    spans: tuple[tuple[int, int], ...] = ()


def occurrences(answer: str, text: str) -> list[tuple[int, int]]:
    """Where an answer stands in a text as whole words, in any case of letters."""
    pattern = r"(?<!\w)" + re.escape(answer) + r"(?!\w)"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def read_line(record: Line) -> tuple[str, list[str], list[str], set[int]]:
    """(question, passages, answers, numbers of the cited passages, from 1) of a line that reads."""
    text = record["messages"][-1]["content"]
    question = text.split("\n", 1)[0]
    passages = [match[2] for match in _PASSAGE.finditer(text)]
    cited = {int(number) for number in _CITED.findall(record["answer"])}
    said = _CITED.sub("", record["answer"]).strip()
    answers = [] if said == "Unknown" else [part.strip() for part in said.split(";") if part.strip()]
    return question, passages, answers, cited


def pairs_of(records: Iterable[Line], source: random.Random) -> list[Pair]:
    """The pairs of all lines. A passage that is not cited but holds an answer is left out: nobody knows."""
    pairs: dict[tuple[str, str], Pair] = {}
    of_title: dict[str, list[tuple[str, str, list[str]]]] = defaultdict(list)
    for record in records:
        if record.get("task") not in _TASKS or record.get("learn") is False:
            continue
        question, passages, answers, cited = read_line(record)
        others = []
        for number, passage in enumerate(passages, 1):
            spans = tuple(sorted({span for answer in answers for span in occurrences(answer, passage)}))
            if number in cited and spans:
                pairs[question, passage] = Pair(question, passage, spans)
                of_title[passage.split(": ", 1)[0]].append((question, passage, answers))
            elif not answers or (number not in cited and not spans):
                others.append(passage)
        for passage in source.sample(others, min(len(others), 1 if answers else 2)):
            pairs.setdefault((question, passage), Pair(question, passage))
    for known in of_title.values():
        for question, passage, answers in known:
            there = [other for _, other, _ in known if other != passage and question]
            there = [other for other in there if not any(occurrences(answer, other) for answer in answers)]
            if there and source.random() < 0.4:
                other = source.choice(there)
                pairs.setdefault((question, other), Pair(question, other))
    return list(pairs.values())


def batches(pairs: Sequence[Pair], tokens: int, seed: int) -> Iterator[list[Pair]]:
    """Without end: pairs of like length together, about so many tokens (of four letters) a batch."""
    source = random.Random(seed)
    while True:
        drawn = sorted(pairs, key=lambda p: (len(p.question) + len(p.passage)) * source.uniform(0.85, 1.15))
        made: list[list[Pair]] = [[]]
        for pair in drawn:
            longest = max(len(p.question) + len(p.passage) for p in [*made[-1], pair]) / 4
            if made[-1] and longest * (len(made[-1]) + 1) > tokens:
                made.append([])
            made[-1].append(pair)
        source.shuffle(made)
        yield from made


def encoded(tokenizer: Any, batch: Sequence[Pair], longest: int) -> tuple[Any, Any, Any]:
    """Tokens and, for each text and token, whether a right answer begins and ends there; the first token: none does."""
    import torch

    tokens = tokenizer(
        [pair.question for pair in batch],
        [pair.passage for pair in batch],
        padding=True,
        truncation="only_second",
        max_length=longest,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    offsets = tokens.pop("offset_mapping")
    begins, ends = torch.zeros(offsets.shape[:2]), torch.zeros(offsets.shape[:2])
    for row, pair in enumerate(batch):
        inside = [i for i, part in enumerate(tokens.sequence_ids(row)) if part == 1]
        for begin, end in pair.spans:
            first = [i for i in inside if offsets[row, i, 0] <= begin < offsets[row, i, 1]]
            last = [i for i in inside if offsets[row, i, 0] < end <= offsets[row, i, 1]]
            if first and last:
                begins[row, first[0]] = ends[row, last[0]] = 1.0
        if not begins[row].any():
            begins[row, 0] = ends[row, 0] = 1.0
    return tokens, begins, ends


def loss_of(logits: Any, right: Any, mask: Any) -> Any:
    """−log of the share of all right places, the mean of the texts."""
    import torch

    logits = logits.float().masked_fill(~mask, -1e4)
    share = torch.logsumexp(logits.masked_fill(right == 0, -1e4), -1) - torch.logsumexp(logits, -1)
    return -share.mean()


def readable(tokens: Any) -> Any:
    """Where an answer may begin or end: in the passage, or at the first token, which stands for none."""
    mask = tokens["token_type_ids"].bool() & tokens["attention_mask"].bool()
    mask[:, 0] = True
    return mask


def build(rank: int, seed: int) -> tuple[Any, Any, Any]:
    """(tokenizer, encoder with LoRA matrices, the two rows)."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel, AutoTokenizer

    torch.manual_seed(seed)
    base = starter_embedder_path()
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    encoder = AutoModel.from_pretrained(
        base, local_files_only=True, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0
    )
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=_TRAINED)
    head = torch.nn.Linear(encoder.config.hidden_size, 2)
    return tokenizer, get_peft_model(encoder, config), head


def export(model: Any, head: Any, given: argparse.Namespace, told: dict[str, Any]) -> None:
    """Write the matrices, scaled so that weight + B·A is the trained weight, and the card."""
    import torch
    from safetensors.torch import save

    found: dict[str, Any] = {"span.weight": head.weight, "span.bias": head.bias}
    for name, module in model.named_modules():
        if hasattr(module, "lora_A") and "default" in module.lora_A:
            at = name.removeprefix("base_model.model.")
            found[f"{at}.lora_a"] = module.lora_A["default"].weight
            found[f"{at}.lora_b"] = module.lora_B["default"].weight * module.scaling["default"]
    arrays = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in found.items()}
    put(given.out.with_suffix(".safetensors"), save(arrays))
    base = hashlib.sha256((starter_embedder_path() / "model.safetensors").read_bytes()).hexdigest()
    card = {"kind": "span-reader", "base_sha256": base, "rank": given.rank, "longest": given.longest, **told}
    write_output(given.out.with_suffix(".json"), json.dumps(card, indent=1) + "\n")


def train(pairs: Sequence[Pair], given: argparse.Namespace) -> None:
    import torch

    tokenizer, model, head = build(given.rank, given.seed)
    body = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW([{"params": body}, {"params": head.parameters()}], weight_decay=0.01)
    step, run = 0, Run(given.run)
    if state := run.state():
        model.load_state_dict(state["model"], strict=False)
        head.load_state_dict(state["head"])
        optimiser.load_state_dict(state["optimiser"])
        step = state["step"]
    print(f"{len(pairs)} pairs, {sum(bool(p.spans) for p in pairs)} with an answer; step {step} of {given.steps}")

    def save() -> None:
        kept = {name: value for name, value in model.state_dict().items() if "lora_" in name}
        run.save({"model": kept, "head": head.state_dict(), "optimiser": optimiser.state_dict(), "step": step})
        export(model, head, given, {"steps": step, "pairs": len(pairs)})

    began, losses = time.monotonic(), []
    model.train()
    for number, batch in enumerate(batches(pairs, given.batch_tokens, given.seed)):
        if number < step:
            continue  # done before the run was cut off
        if step >= given.steps:
            break
        warm = min(1.0, (step + 1) / given.warmup)
        for group in optimiser.param_groups:
            group["lr"] = given.rate * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / given.steps)))
        tokens, begins, ends = encoded(tokenizer, batch, given.longest)
        mask = readable(tokens)
        with torch.autocast("cpu", torch.bfloat16):
            logits = head(model(**tokens).last_hidden_state)
        loss = loss_of(logits[..., 0], begins, mask) + loss_of(logits[..., 1], ends, mask)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*body, *head.parameters()], 1.0)
        optimiser.step()
        step += 1
        losses.append(float(loss.detach()))
        if step % _LOG == 0:
            seconds = round(time.monotonic() - began, 1)
            entry = {"step": step, "loss": round(sum(losses) / len(losses), 4), "seconds": seconds}
            print(entry, flush=True)
            run.log(entry)
            losses.clear()
        if step % _SAVE == 0:
            save()
    save()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="without an ending")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rank", type=int, default=48)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--batch-tokens", type=int, default=3000)
    parser.add_argument("--longest", type=int, default=288, help="tokens of a question with a passage")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    records = [record for file in given.data for record in read_lines(file)]
    train(pairs_of(records, random.Random(given.seed)), given)
