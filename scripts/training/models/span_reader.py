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

from atomr_local.models.catalog.find import starter_embedder_path
from atomr_local.reasoning.reading.pointing import parse_pointing
from atomr_local.system.files import put, write_output
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


def pointed_pairs(record: Line, source: random.Random) -> Iterator[Pair]:
    """The pairs of a line that points: the sentences that are pointed at, or in them the words of the answer."""
    text = record["messages"][-1]["content"]
    question, *lines, _ = text.split("\n")
    passages: list[tuple[str, dict[int, tuple[int, int]]]] = []
    for line in lines:
        number, _, sentence = line.partition(" ")
        if line.startswith("["):
            passages.append((f"{line[1:-1]}:", {}))
        elif number.isdigit() and passages:
            shown, places = passages.pop()
            places[int(number)] = (len(shown) + 1, len(shown) + 1 + len(sentence))
            passages.append((f"{shown} {sentence}", places))
    parts = parse_pointing(record["answer"], max((n for _, places in passages for n in places), default=0))
    none = []
    for shown, places in passages:
        spans = set()
        for part in parts:
            numbers = [index + 1 for index in part.sentences if index + 1 in places]
            for first, last in _runs(numbers):
                begin, end = places[first][0], places[last][1]
                told = [
                    (begin + one, begin + two)
                    for answer in part.answers
                    if answer not in {"yes", "no"}
                    for one, two in occurrences(answer, shown[begin:end])
                ]
                spans.update(told or [(begin, end)])
        if spans:
            yield Pair(question, shown, tuple(sorted(spans)))
        elif not any(occurrences(a, shown) for part in parts for a in part.answers if a not in {"yes", "no"}):
            none.append(Pair(question, shown))
    yield from source.sample(none, min(len(none), 1 if parts else 2))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of the numbers that follow each other."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def pairs_of(records: Iterable[Line], source: random.Random) -> list[Pair]:
    """The pairs of all lines. A passage that is not cited but holds an answer is left out: nobody knows."""
    pairs: dict[tuple[str, str], Pair] = {}
    of_title: dict[str, list[tuple[str, str, list[str]]]] = defaultdict(list)
    for record in records:
        if record.get("learn") is False:
            continue
        if record.get("task") == "point":
            pairs.update({(pair.question, pair.passage): pair for pair in pointed_pairs(record, source)})
        if record.get("task") not in _TASKS:
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
            drawn = source.sample(known, min(len(known), 8))
            there = [other for _, other, _ in drawn if other != passage and question]
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


def export_arrays(run: Path, out: Path, longest: int) -> None:
    """Write what `train_span_batches.py` trained as the program reads it, with its card."""
    import numpy as np
    from safetensors.numpy import save

    with np.load(run) as stored:
        told = {name: int(stored[name]) for name in ("rank", "steps", "pairs")}
        put(out.with_suffix(".safetensors"), save({name: stored[name] for name in stored.files if name not in told}))
    base = hashlib.sha256((starter_embedder_path() / "model.safetensors").read_bytes()).hexdigest()
    card = {"kind": "span-reader", "base_sha256": base, "longest": longest, **told}
    write_output(out.with_suffix(".json"), json.dumps(card, indent=1) + "\n")


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


def pack(pairs: Sequence[Pair], longest: int, out: Path) -> None:
    """Write the pairs as arrays for `train_span_batches.py`, which needs no tokenizer."""
    import numpy as np
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(starter_embedder_path(), local_files_only=True)
    ids, firsts, ends, places, place_ends = [], [], [0], [], [0]
    for at in range(0, len(pairs), 256):
        some = pairs[at : at + 256]
        tokens = tokenizer(
            [pair.question for pair in some],
            [pair.passage for pair in some],
            truncation="only_second",
            max_length=longest,
            return_offsets_mapping=True,
        )
        for row, pair in enumerate(some):
            parts, offsets = tokens.sequence_ids(row), tokens["offset_mapping"][row]
            inside = [i for i, part in enumerate(parts) if part == 1]
            found = []
            for begin, end in pair.spans:
                first = [i for i in inside if offsets[i][0] <= begin < offsets[i][1]]
                last = [i for i in inside if offsets[i][0] < end <= offsets[i][1]]
                if first and last:
                    found.append((first[0], last[0]))
            if not inside or (pair.spans and not found):
                continue  # cut away
            ids.append(np.array(tokens["input_ids"][row], np.uint16))
            firsts.append(inside[0])
            ends.append(ends[-1] + len(ids[-1]))
            places += found
            place_ends.append(len(places))
    np.savez_compressed(
        out, ids=np.concatenate(ids), firsts=np.array(firsts, np.int16), ends=np.array(ends, np.int64),
        places=np.array(places, np.int16), place_ends=np.array(place_ends, np.int64),
    )  # fmt: skip
    print(f"{len(firsts)} of {len(pairs)} pairs, {ends[-1]} tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", default=[])
    parser.add_argument("--run", type=Path)
    parser.add_argument("--export", type=Path, help="write what train_span_batches.py trained to --out, and stop")
    parser.add_argument("--out", type=Path, help="without an ending")
    parser.add_argument("--pack", type=Path, help="write the pairs here, for train_span_batches.py, and stop")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rank", type=int, default=48)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--batch-tokens", type=int, default=3000)
    parser.add_argument("--longest", type=int, default=288, help="tokens of a question with a passage")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.export:
        export_arrays(given.export, given.out, given.longest)
        return
    records = [record for file in given.data for record in read_lines(file)]
    pairs = pairs_of(records, random.Random(given.seed))
    if given.pack:
        pack(pairs, given.longest, given.pack)
    elif given.run is None or given.out is None:
        parser.error("--run and --out are needed")
    else:
        train(pairs, given)
