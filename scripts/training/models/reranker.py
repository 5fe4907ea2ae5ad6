"""Train a small cross-encoder for `retrieval.reranker` out of the starter's sentence embedder, on a CPU.

    ATOMR_HOME=DIR scripts/train_reranker.py --set 2wiki FILE.jsonl INDEX [--set NAME FILE INDEX ...]
        [--own scripts/training_questions/passages.jsonl ...] --run RUN --out models/reranker

Questions are those of the first four fifths of each set, whole and hop by hop as `scripts/bench/retrieval.py` reads
them, and our own on the pages of a set's index (`corpus` is the set's name). None is used that needs a passage which a
question of a last fifth needs. What the hybrid search finds for a question without answering it are its negatives; the
loss is the cross-entropy of the right passage among some of them (Gao, Dai and Callan, ECIR 2021).

RUN keeps what was mined, a checkpoint and log.jsonl: a run cut off goes on when the same command is given again. OUT
has the model after every checkpoint. Seeded. Needs nothing beyond the program itself.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.retrieval import LAST_FIFTH, Passages, Query, every, holding, read_passages, read_queries

from atomr_local.errors import AtomrError, ModelError
from atomr_local.indexing.embedding.embedder import SentenceEmbedder
from atomr_local.indexing.store import index_path
from atomr_local.models.catalog.find import find_embedder
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Request, Value
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.threads import prepare_threads
from atomr_local.tree.nodes import Operator
from training.files import read_lines, write_lines
from training.models.checkpoints import Run

_FOUND = 30  # passages that a search gives; the reranker reads as many
_NEAR = 10  # two of the three negatives of a question are among the first so many
_WARMUP, _LOG, _SAVE = 15, 5, 25  # steps
Group = dict[str, Any]


def own_queries(records: Iterable[dict[str, Any]], name: str, passages: Passages) -> Iterator[Query]:
    """Our own questions on the corpus `name`, whole and step by step; plans and the unanswerable have no passage."""
    for record in records:
        if record.get("corpus") != name:
            continue
        steps = record.get("steps", [])
        titles = [step["title"] for step in steps if step.get("title")]
        needed = tuple(every([title], passages) for title in dict.fromkeys(titles))
        yield Query("question", 0.0, record["question"], needed)
        for step in [record] if record["kind"] == "single" else steps:
            found = holding([step["title"]], step["answer"], passages) if step.get("title") else frozenset()
            yield Query("hop", 0.0, step["question"], (found,))


def allowed(queries: Sequence[Query], held: frozenset[str]) -> list[Query]:
    """Those with a passage to find, and none that the held-back questions need; each wording once."""
    chosen: dict[str, Query] = {}
    for query in queries:
        needed = frozenset().union(*query.needed)
        if query.place < LAST_FIFTH and needed and not needed & held:
            chosen.setdefault(query.text, query)
    return list(chosen.values())


def mined(query: Query, source: TextSource) -> Group | None:
    """What the search finds, as the reranker would read it: right passages and others. None without both."""
    operator, arguments = (Operator.RELATE, (Value(query.head),)) if query.head else (None, ())
    found = source.retrieve(Request(query.text, query.text, operator, arguments, _FOUND), Cancellation()).evidence
    needed = frozenset().union(*query.needed)
    group: Group = {"query": query.text, "kind": query.kind, "right": [], "others": []}
    for item in found:
        group["right" if item.locator["passage"] in needed else "others"].append(f"{item.title}: {item.text}")
    return group if group["right"] and group["others"] else None


def mine(given: argparse.Namespace, embedder: SentenceEmbedder) -> Iterator[Group]:
    """The groups of all sets, at most as many of a kind and set as were asked for."""
    records = [record for file in given.own for record in read_lines(file)]
    for name, file, index in given.set:
        directory = index_path("text", index)
        passages = read_passages(directory)
        queries, _ = read_queries(Path(file), passages)
        held = frozenset(i for q in queries if q.place >= LAST_FIFTH for needed in q.needed for i in needed)
        fit = allowed([*queries, *own_queries(records, name, passages)], held)
        random.Random(given.seed).shuffle(fit)
        chosen = [q for kind in ("question", "hop") for q in [q for q in fit if q.kind == kind][: given.limit]]
        print(f"{name}: {len(chosen)} of {len(fit)} questions and hops; {len(held)} passages held back", flush=True)
        source = TextSource(directory, embedder)
        yield from filter(None, (mined(query, source) for query in chosen))
        source.close()


def batches(groups: Sequence[Group], size: int, seed: int) -> Iterator[list[list[tuple[str, str]]]]:
    """Without end: groups of (question, passage), the right one first, of like length together."""
    source = random.Random(seed)
    while True:
        drawn = []
        for group in groups:
            near = source.sample(group["others"][:_NEAR], min(2, len(group["others"])))
            rest = [text for text in group["others"] if text not in near]
            passages = [source.choice(group["right"]), *near, *source.sample(rest, min(1, len(rest)))]
            drawn.append([(group["query"], text) for text in passages])
        drawn.sort(key=lambda pairs: sum(len(text) for _, text in pairs) * source.uniform(0.9, 1.1))
        made = [drawn[i : i + size] for i in range(0, len(drawn), size)]
        source.shuffle(made)
        yield from made


def train(groups: Sequence[Group], base: Path, given: argparse.Namespace) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(given.seed)
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    if AutoConfig.from_pretrained(base, local_files_only=True).model_type != "bert":
        raise ModelError(f"the embedder in {base} is no BERT, which this trains", hint="Use the starter.")
    model = AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=1, local_files_only=True, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0
    )
    # Too few pairs to change what words mean, and what is not trained costs no way back.
    for part in (model.bert.embeddings, *model.bert.encoder.layer[: given.frozen]):
        part.requires_grad_(False)
    head = list(model.classifier.parameters())
    body = [p for p in model.bert.parameters() if p.requires_grad]
    rates = (given.rate, 10 * given.rate)  # the head begins with nothing
    optimiser = torch.optim.AdamW([{"params": body}, {"params": head}], weight_decay=0.01)
    step, run = 0, Run(given.run)
    if state := run.state():
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        step = state["step"]
    print(f"{len(groups)} groups; from step {step} to {given.steps}", flush=True)

    def save() -> None:
        run.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step})
        model.save_pretrained(given.out)
        tokenizer.save_pretrained(given.out)

    began, losses = time.monotonic(), []
    model.train()
    for number, batch in enumerate(batches(groups, given.batch, given.seed)):
        if number < step:
            continue  # done before the run was cut off
        done = max(step / given.steps, (time.monotonic() - began) / (60 * given.minutes))
        if done >= 1:
            break
        for part, rate in zip(optimiser.param_groups, rates, strict=True):
            part["lr"] = rate * min((step + 1) / _WARMUP, 1 - done)
        queries, passages = zip(*(pair for group in batch for pair in group), strict=True)
        limits = {"truncation": "longest_first", "max_length": given.longest}
        tokens = tokenizer(list(queries), list(passages), padding=True, return_tensors="pt", **limits)
        scores = model(**tokens).logits[:, 0].split([len(group) for group in batch])
        loss: Any = torch.stack([-torch.log_softmax(group, 0)[0] for group in scores]).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        losses.append(float(loss.detach()))
        if step % _LOG == 0:
            entry = {"step": step, "loss": sum(losses) / len(losses), "seconds": round(time.monotonic() - began, 1)}
            run.log(entry)
            losses.clear()
        if step % _SAVE == 0:
            save()
    save()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", nargs=3, metavar=("NAME", "FILE", "INDEX"), required=True)
    parser.add_argument("--own", type=Path, nargs="*", default=[], help="files of scripts/training_questions")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300, help="questions, and hops, of a set")
    parser.add_argument("--steps", type=int, default=220)
    parser.add_argument("--minutes", type=float, default=1e9, help="end after so long: the rate falls to 0 by then")
    parser.add_argument("--frozen", type=int, default=2, help="lowest layers that stay as they are")
    parser.add_argument("--batch", type=int, default=8, help="questions of a step")
    parser.add_argument("--longest", type=int, default=112, help="tokens of a pair")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    prepare_threads()
    kept = given.run / "groups.jsonl"
    try:
        base = find_embedder(load_settings().embedder)
        if not kept.exists():
            found = list(mine(given, SentenceEmbedder(base)))
            given.run.mkdir(parents=True, exist_ok=True)
            write_lines(kept, found)
        train(read_lines(kept), base, given)
    except AtomrError as error:
        sys.exit(str(error))
