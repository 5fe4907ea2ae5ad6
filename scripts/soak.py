"""Whether a long run stays whole: thousands of questions in one process, with few file descriptors to spend.

    nice -n 10 python scripts/soak.py --questions 2000 --home /tmp/soak > soak.log

The process may open 256 files (`ulimit -n 256`). It asks questions of every kind, made from the starter's facts so that
nearly all differ: with plans on graph and text, planned by the model, by retrieval alone, from the model's memory,
about what nobody knows, malformed ones, corrections, SPARQL. Every tenth is cancelled at a random moment. Model,
adapter, indexes and settings are exchanged all along, always there and back. Every question goes into the history.

Every 50 questions, with the first settings in force, it prints: open descriptors, resident memory in MiB (and what of
it is the heap, not mapped files), threads, the questions so far by kind. The first row that counts is the one at 100
questions. It fails (exit 1) when later

- more than 5 descriptors or 30 MiB more are in use than at 100,
- a question fails that should not, or a malformed one does not,
- the starter's questions, asked with their plans at the beginning and at the end, are answered differently.

`--quick` does in seconds what shows a leak per question: 60 questions, 10 cancels, 4 exchanges, with given plans on
the graph alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local import Assistant
from atomr_local.assistant.history.store import record_trace
from atomr_local.errors import AtomrError
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system import paths
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError

_FIRST: dict[str, Any] = {
    "text_index": "starter", "graph_index": "starter", "sources": ("text", "graph"), "adapter": "auto",
    "top_k": 3, "strategy": "atomr", "llm": {"context_tokens": 4096, "drafting": True, "parallel": 4},
}  # fmt: skip
_OTHER: tuple[dict[str, Any], ...] = (
    {"graph_index": "soak"},
    {"text_index": "soak"},
    {"llm": {"context_tokens": 2048}},
    {"adapter": "none"},
    {"graph_index": "soak", "text_index": "soak", "top_k": 5},
    {"llm": {"drafting": False, "parallel": 2}},
    {"sources": ("graph",), "strategy": "rag"},
)
# The graph first, before counting begins: opening it anew would hide what its questions leave behind.
_OTHER_QUICK: tuple[dict[str, Any], ...] = ({"graph_index": "soak"}, {"llm": {"context_tokens": 2048}})
_KINDS = {
    "plan on the graph": 62, "plan on text": 4, "own plan": 4, "rag": 4, "closed-book": 3, "unanswerable": 6,
    "malformed": 8, "correction": 6, "sparql": 3,
}  # fmt: skip
_QUICK_KINDS = {"plan on the graph": 7, "unanswerable": 1, "malformed": 1, "correction": 1}
_HIDDEN = {"description", "also known as", "instance of"}
_STRANGERS = ("Zorblax", "Quintavia Morn", "the Ferrous Duchess", "Ylloria", "Prince Nebbish of Aldane")


@dataclass
class Bounds:
    """What may be in use more than after the first 100 questions."""

    descriptors: int = 5
    rss: float = 30.0


@dataclass
class Use:
    """What the process holds at one moment; memory in MiB."""

    descriptors: int
    rss: float
    heap: float
    threads: int

    @classmethod
    def now(cls) -> Use:
        held = dict.fromkeys(("VmRSS", "RssAnon"), 0.0)
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name in held:
                held[name] = int(value.split()[0]) / 1024
        descriptors = len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208 - one of them is the listing's own
        return cls(descriptors, held["VmRSS"], held["RssAnon"], threading.active_count())


@dataclass
class Soak:
    assistant: Assistant
    draw: random.Random
    kinds: dict[str, int]
    facts: list[dict[str, Any]]
    done: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)
    last: Trace | None = None

    def ask(self, kind: str, cancel: bool) -> None:
        """One question of this kind; with `cancel`, stopped at a random moment."""
        started = time.perf_counter()
        ask: dict[str, Callable[[], Iterator[object]]] = {
            "plan on the graph": lambda: self._planned(("graph",)),
            "plan on text": lambda: self._planned(("text",)),
            "own plan": lambda: self.assistant.ask(self._question()[0]),
            "rag": lambda: self.assistant.ask(self._question()[0], strategy="rag"),
            "closed-book": lambda: self.assistant.ask(self._question()[0], strategy="closed-book"),
            "unanswerable": self._unanswerable,
            "correction": self._correction,
        }
        if kind == "malformed":
            self._malformed()
        elif kind == "sparql":
            self._sparql()
        else:
            self._answered(kind, ask[kind](), self.draw.uniform(0, self.slowest.get(kind, 0.3)) if cancel else None)
        if not cancel:
            taken = time.perf_counter() - started
            self.slowest[kind] = 0.7 * self.slowest.get(kind, taken) + 0.3 * taken
        self.done[kind] += 1

    def _answered(self, kind: str, events: Iterator[object], cancel_after: float | None) -> None:
        timer = threading.Timer(cancel_after, self.assistant.cancel) if cancel_after is not None else None
        if timer is not None:
            timer.start()
        leave_after = self.draw.randint(2, 12) if timer is not None and self.draw.random() < 0.3 else None
        for number, _ in enumerate(events):
            if number == leave_after:  # as a program does that does not wait for the end
                events.close()  # type: ignore[attr-defined]
                break
        if timer is not None:
            timer.cancel()
            timer.join()
            self.done["cancelled"] += 1
        trace = self.assistant.last_trace
        if trace is None or leave_after is not None:
            return
        if trace.status == "failed" or (trace.status == "cancelled" and timer is None):
            self.problems.append(f"{kind}: {trace.question}: {trace.status}: {trace.warnings}")
        kept, notes = record_trace(trace)
        if kept is None or notes:
            self.problems.append(f"history: {notes}")
        if trace.status == "answered" and trace.plan.origin == "user" and trace.settings.get("graph_index"):
            self.last = trace

    def _question(self) -> tuple[str, str]:
        fact = self.draw.choice(self.facts)
        question = f"What is the {fact['p']} of {fact['s']}?"
        name = json.dumps(fact["s"], ensure_ascii=False)
        return question, f'1. What is {fact["s"]}? = Search({name})\n2. {question} = Relate([1], "{fact["p"]}")'

    def _planned(self, sources: tuple[str, ...]) -> Iterator[object]:
        question, plan = self._question()
        return self.assistant.ask(question, plan=parse_compact(plan, question), sources=sources)

    def _unanswerable(self) -> Iterator[object]:
        name, prop = self.draw.choice(_STRANGERS), self.draw.choice(self.facts)["p"]
        question = f"What is the {prop} of {name} the {self.draw.randint(2, 999)}th?"
        plan = f'1. Who is {name}? = Search("{name}")\n2. {question} = Relate([1], "{prop}")'
        return self.assistant.ask(question, plan=parse_compact(plan, question), sources=("graph",))

    def _correction(self) -> Iterator[object]:
        if self.last is None:
            return self._planned(("graph",))
        node = self.draw.choice([node for node in self.last.nodes if node.kind == "search"] or self.last.nodes)
        revision = Revision(self.last, answers={node.id: (str(self.draw.choice(self.facts)["s"]),)})
        return self.assistant.ask(self.last.question, revision=revision, sources=("graph",))

    def _malformed(self) -> None:
        broken: tuple[Callable[[], object], ...] = (
            lambda: list(self.assistant.ask(" \x00 ")),
            lambda: list(self.assistant.ask("why " * 2000)),
            lambda: list(self.assistant.ask("Why?", strategy="none such")),
            lambda: list(self.assistant.ask("Why?", sources=("cellar",))),
            lambda: parse_compact("1. Why? = Search(", "Why?"),
            lambda: self.assistant.query_graph("SELECT * { SERVICE <http://127.0.0.1:9/> {} }"),
            lambda: self.assistant.reconfigure(top_k=-1),
        )
        attempt = self.draw.choice(broken)
        try:
            attempt()
        except (AtomrError, TreeError):
            return
        self.problems.append("a malformed request was taken")

    def _sparql(self) -> None:
        found = self.assistant.query_graph(
            f"SELECT ?s ?o {{ ?s ?p ?o }} OFFSET {self.draw.randint(0, 5000)} LIMIT 20", timeout=60
        )
        if not found.rows:
            self.problems.append("a SPARQL query found nothing")

    def exchange(self, changes: dict[str, Any]) -> None:
        """Go on with other settings, ask once, and go back: two exchanges."""
        quick = self.kinds is _QUICK_KINDS
        self.assistant.reconfigure(**changes)
        events = self._planned(("graph",)) if quick else self.assistant.ask(self._question()[0])
        self._answered(f"with {changes}", events, None)
        self.assistant.reconfigure(**(_FIRST | {"model": "starter"} | ({"sources": ("graph",)} if quick else {})))
        self.assistant.preload()
        self.done["exchanges"] += 2


def known_answers(assistant: Assistant, sources: tuple[str, ...], limit: int) -> dict[str, list[str]]:
    """The starter's questions with their plans, and what is answered."""
    lines = (paths.starter_knowledge_dir() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in map(json.loads, lines[:limit]):
        for _ in assistant.ask(line["question"], plan=parse_compact(line["plan"], line["question"]), sources=sources):
            pass
        trace = assistant.last_trace
        found[line["question"]] = trace.answers if trace is not None else []
    return found


def second_indexes(text: bool) -> None:
    """A graph index and a text index beside the starter's, named soak, of a part of the same knowledge."""
    from atomr_local.indexing.embedding.embedder import SentenceEmbedder
    from atomr_local.indexing.graph_index.index import build_graph_index
    from atomr_local.indexing.store import index_path
    from atomr_local.indexing.text_index.index import build_text_index
    from atomr_local.models.catalog.find import find_embedder

    known = paths.starter_knowledge_dir()
    if not index_path("graph", "soak").exists():
        with tempfile.TemporaryDirectory() as directory:
            part = Path(directory, "facts.jsonl")
            lines = gzip.decompress((known / "facts.jsonl.gz").read_bytes()).decode().splitlines(keepends=True)
            part.write_text("".join(lines[:4000]), encoding="utf-8")
            build_graph_index([part], "soak", format="facts-jsonl")
    if text and not index_path("text", "soak").exists():
        embedder = SentenceEmbedder(find_embedder("starter"))
        build_text_index([known / "articles.jsonl"], "soak", embedder=embedder, limit=60)


def copied_model(home: Path) -> str:
    """The path of the starter's model under another name: another model, as far as the program knows."""
    from atomr_local.models.catalog.find import starter_model_path

    link = home / "copy.gguf"
    if not link.exists():
        link.symlink_to(starter_model_path())
    return str(link)


@contextmanager
def few_descriptors(limit: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def run(arguments: argparse.Namespace, home: Path) -> int:
    bounds, quick = Bounds(arguments.descriptors, arguments.rss), arguments.quick
    draw = random.Random(arguments.seed)
    facts = [
        fact
        for line in gzip.decompress((paths.starter_knowledge_dir() / "facts.jsonl.gz").read_bytes()).splitlines()
        if (fact := json.loads(line))["p"] not in _HIDDEN
    ]
    other = _OTHER_QUICK if quick else (*_OTHER, {"model": copied_model(home)})
    sources = ("graph",) if quick else ("text", "graph")
    second_indexes(text=not quick)
    every, first = (10, 20) if quick else (50, 100)
    kinds = _QUICK_KINDS if quick else _KINDS
    with Assistant.open(**(_FIRST | {"sources": sources})) as assistant:
        soak = Soak(assistant, draw, kinds, facts)
        assistant.preload()
        before = known_answers(assistant, sources, 6 if quick else 20)
        print("questions  exchanges  descriptors  RSS MiB  heap MiB  threads  seconds", flush=True)
        began, base, worst = time.monotonic(), Use.now(), Use(0, 0.0, 0.0, 0)
        cancels, pairs, gap = 0, 0, 2 * arguments.questions / max(1, arguments.exchanges)
        for number in range(1, arguments.questions + 1):
            kind = draw.choices(list(kinds), list(kinds.values()))[0]
            cancellable = kind not in {"malformed", "sparql"}
            # As many of the rest as there are still to be cancelled.
            cancel = (
                cancellable and draw.random() * (arguments.questions - number + 1) * 0.8 < arguments.cancels - cancels
            )
            soak.ask(kind, cancel)
            cancels += cancel
            if number > gap * pairs + 5 and 2 * pairs < arguments.exchanges:
                soak.exchange(other[pairs % len(other)])
                pairs += 1
            if number % every == 0:
                use = Use.now()
                print(
                    f"{number:9}  {2 * pairs:9}  {use.descriptors:11}  {use.rss:7.1f}  {use.heap:8.1f}  {use.threads:7}"
                    f"  {time.monotonic() - began:7.0f}", flush=True,
                )  # fmt: skip
                if number == first:
                    base = use
                elif number > first:
                    worst = Use(max(worst.descriptors, use.descriptors), max(worst.rss, use.rss), 0.0, 0)
        after = known_answers(assistant, sources, len(before))
    print(f"done: {dict(soak.done)}; seconds by kind: { {k: round(v, 2) for k, v in soak.slowest.items()} }")
    more = worst.descriptors - base.descriptors, worst.rss - base.rss
    print(f"more than after the first {first}: {more[0]:+} descriptors, {more[1]:+.1f} MiB at most")
    problems = soak.problems + [
        f"answered otherwise at the end: {question}: {before[question]} → {answers}"
        for question, answers in after.items()
        if answers != before[question]
    ]
    if more[0] > bounds.descriptors:
        problems.append(f"{more[0]} descriptors more, {bounds.descriptors} allowed")
    if more[1] > bounds.rss:
        problems.append(f"{more[1]:.1f} MiB more, {bounds.rss:g} allowed")
    for problem in problems[:20]:
        print(f"PROBLEM {problem}")
    print("whole" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--questions", type=int)
    parser.add_argument("--cancels", type=int, help="of the questions (default: a tenth)")
    parser.add_argument("--exchanges", type=int, help="of model, index or settings (default: a fortieth)")
    parser.add_argument("--descriptors", type=int, default=5, help="more than after 100 (default: %(default)s)")
    parser.add_argument("--rss", type=float, default=30.0, help="MiB more than after 100 (default: %(default)s)")
    parser.add_argument("--files", type=int, default=256, help="that may be open (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--home", type=Path, help="its ATOMR_HOME (default: a temporary one)")
    arguments = parser.parse_args()
    arguments.questions = arguments.questions or (60 if arguments.quick else 2000)
    arguments.cancels = (
        arguments.questions // (6 if arguments.quick else 10) if arguments.cancels is None else arguments.cancels
    )
    if arguments.exchanges is None:
        arguments.exchanges = 4 if arguments.quick else arguments.questions // 40
    with tempfile.TemporaryDirectory() as temporary:
        home = arguments.home or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        os.environ["ATOMR_HOME"] = str(home)
        with few_descriptors(arguments.files):
            sys.exit(run(arguments, home))


if __name__ == "__main__":
    main()
