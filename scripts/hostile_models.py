"""Run the program on hostile models and adapters, and on damaged weights and caches; count what goes wrong.

    python scripts/hostile_models.py models             # about 1,500 files (scripts/hostile_cases.py)
    python scripts/hostile_models.py models --every 5   # each fifth
    python scripts/hostile_models.py damages            # 200 damages of weights, read prompts, a model and an adapter

A file passes where loading it and writing eight tokens ends in an answer or in one error of the program's own, within
30 seconds. A signal, a hang, a traceback, or for damages another answer without a word, is a failure: the exit status
is 1 then.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import hostile_gguf
from hostile_cases import cases

from atomr_local.errors import AtomrError
from atomr_local.models.catalog.find import ModelRecord, sha256_of, verify_model
from atomr_local.models.llama import LlamaBackbone, RunOptions
from atomr_local.models.llama.engine import library
from atomr_local.models.llama.prefix_cache import PREFIXES, damaged_snapshots
from atomr_local.models.llama.weights import WEIGHTS, is_whole, prepared_files
from atomr_local.models.protocol import GenerationRequest, Grammar, Message, Prompt

SECONDS = 30
_MEMORY = 12 << 30
PROMPT = Prompt((Message("system", "Answer briefly."),), (Message("user", "Where is Paris? ñ 😀\n"),))


def answer(model: Path, adapter: Path | None, cache: Path | None) -> str:
    """Load and write eight tokens, freely and within a grammar."""
    backbone = LlamaBackbone.load(
        model, adapter, RunOptions(context_tokens=512, storage="Q8_0" if cache else None, cache=cache)
    )
    try:
        free = backbone.generate(GenerationRequest(PROMPT, max_tokens=8))
        bound = backbone.generate(GenerationRequest(PROMPT, max_tokens=4, output=Grammar('root ::= [a-z ]+ | "Paris"')))
        return free.text + "|" + bound.text
    finally:
        backbone.close()


def child(folder: Path, model: Path, adapter: Path | None, cache: Path | None) -> None:
    """Run one file in this process and end it; the outcome is written to a file."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ["GGML_NO_BACKTRACE"] = "1"  # no debugger is started
        handle = os.open(folder / "printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        try:
            outcome = {"state": "answered", "told": answer(model, adapter, cache)}
        except AtomrError as error:
            outcome = {"state": "refused", "told": str(error)}
        except BaseException:
            outcome = {"state": "traceback", "told": traceback.format_exc()}
        (folder / "outcome").write_text(json.dumps(outcome))
        status = 0
    finally:
        os._exit(status)


def run(model: Path, adapter: Path | None, cache: Path | None, folder: Path, seconds: float) -> dict[str, str]:
    """The outcome of one file, run in a process of its own."""
    (folder / "outcome").unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        child(folder, model, adapter, cache)
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            break
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return {"state": "hang", "told": ""}
        time.sleep(0.01)
    printed = (folder / "printed").read_text(errors="replace") if (folder / "printed").exists() else ""
    if os.WIFSIGNALED(status):
        return {"state": "signal", "told": f"{signal.Signals(os.WTERMSIG(status)).name}: {printed[-400:]}"}
    outcome: dict[str, str] = json.loads((folder / "outcome").read_text())
    return outcome


def damaged_copy(content: bytes, random_: random.Random) -> tuple[str, bytes]:
    """A name and the content with bits turned, a block zeroed or written twice, or the end missing or too long."""
    data = bytearray(content)
    kind = random_.randrange(8)
    if kind <= 2:
        count = (1, 8, 2000)[kind]
        for _ in range(count):
            data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
        return f"{count} bits", bytes(data)
    at = random_.randrange(len(data))
    block = min(len(data) - at, random_.choice((1, 512, 4096, 65536)))
    if kind == 3:
        data[at : at + block] = bytes(block)
        return f"{block} zeros", bytes(data)
    if kind == 4:
        other = random_.randrange(len(data) - block + 1)
        data[at : at + block] = data[other : other + block]
        return f"{block} bytes from elsewhere", bytes(data)
    if kind == 5:
        return f"cut to {at}", bytes(data[:at])
    if kind == 6:
        return "longer", bytes(data) + bytes(block)
    return "empty", b""


def is_found(what: str, file: Path, cache: Path) -> bool:
    """Whether what `atomr models verify` does finds the damage."""
    if what == "weights":
        return not is_whole(file)
    if what == "prompt":
        return bool(damaged_snapshots(cache / PREFIXES)[1])
    return bool(verify_model(file).problem)


def damages(count: int, seconds: float) -> int:
    """Damage prepared weights, read prompts, a model and an adapter in turn; the number of failures."""
    library()
    counts: collections.Counter[str] = collections.Counter()
    random_ = random.Random(3)
    with tempfile.TemporaryDirectory(prefix="atomr-damages-") as name:
        folder = Path(name)
        cache, whole = folder / "cache", folder / "whole"
        model, adapter = folder / "model.gguf", folder / "adapter.gguf"
        model.write_bytes(hostile_gguf.model().encode())
        adapter.write_bytes(hostile_gguf.adapter().encode())
        size = model.stat().st_size
        record = ModelRecord("https://example.org/model.gguf", "none", size, sha256_of(model), True, "2026-01-01")
        model.with_suffix(".json").write_bytes(record.text())
        adapter.with_suffix(".json").write_text(json.dumps({"sha256": sha256_of(adapter)}))
        right = run(model, adapter, cache, folder, seconds)
        shutil.copytree(cache, whole)
        for number in range(count):
            [weights] = prepared_files(cache / WEIGHTS)
            targets = {"weights": weights, "prompt": random_.choice(sorted(cache.rglob("*.prefix"))), "model": model}
            targets["adapter"] = adapter
            what = sorted(targets)[number % len(targets)]
            file, content = targets[what], targets[what].read_bytes()
            kind, wrong = damaged_copy(content, random_)
            if wrong == content:
                counts["unchanged"] += 1
                continue
            stamp = file.stat()
            file.write_bytes(wrong)
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as a disk would damage it
            found = is_found(what, file, cache)
            outcome = run(model, adapter, cache, folder, seconds)
            state = outcome["state"]
            if not found:
                state = "changed"  # verify says that it is whole
            elif what in ("weights", "prompt") and outcome != right:
                state = "changed"
            counts[f"{what}: {state}"] += 1
            if state in BAD:
                counts["bad"] += 1
                print(f"{state}: {what}, {kind}: {outcome['told'][-600:]}", flush=True)
            file.write_bytes(content)
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            shutil.rmtree(cache)
            shutil.copytree(whole, cache)
    print(json.dumps(counts))
    return counts["bad"]


BAD = ("signal", "hang", "traceback", "changed")


def models(every: int, only: list[str], seconds: float) -> int:
    """Run the cases; the number of failures."""
    library()  # once, before the forks
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="atomr-hostile-") as name:
        folder = Path(name)
        for number, case in enumerate(cases()):
            if number % every or (only and not any(part in case.name for part in only)):
                continue
            model = folder / "model.gguf"
            model.write_bytes(case.model)
            adapter = None
            if case.adapter is not None:
                adapter = folder / "adapter.gguf"
                adapter.write_bytes(case.adapter)
            cache = folder / "cache" if number % 2 else None
            outcome = run(model, adapter, cache, folder, seconds)
            shutil.rmtree(folder / "cache", ignore_errors=True)
            counts[outcome["state"]] += 1
            if outcome["state"] in BAD or ("sound" in case.tags and outcome["state"] != "answered"):
                print(f"{outcome['state']}: {case.name}: {outcome['told'][-600:]}", flush=True)
                counts["sound refused"] += outcome["state"] not in BAD
            elif only:
                print(f"{outcome['state']}: {case.name}: {outcome['told'][:200]!r}")
    print(json.dumps(counts))
    return sum(counts[state] for state in (*BAD, "sound refused"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("models", "damages"))
    parser.add_argument("--every", type=int, default=1, help="take each so manieth file only")
    parser.add_argument(
        "--only", action="append", default=[], help="take only files whose name contains this; repeatable"
    )
    parser.add_argument("--count", type=int, default=200, help="how many damages")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        if given.what == "damages":
            return 1 if damages(given.count, given.seconds) else 0
        return 1 if models(given.every, given.only, given.seconds) else 0
    return 130


if __name__ == "__main__":
    sys.exit(main())
