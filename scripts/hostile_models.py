"""Run the program on hostile models and adapters, and on damaged weights and caches; count what goes wrong.

    python scripts/hostile_models.py models             # about 1,500 files (scripts/hostile_cases.py)
    python scripts/hostile_models.py models --every 5   # each fifth
    python scripts/hostile_models.py damages            # 200 damages of the starter's weights and caches

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
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from hostile_cases import cases

from atomr_local.backbone.engine import library
from atomr_local.backbone.llama import LlamaBackbone
from atomr_local.backbone.protocol import Message, Prompt
from atomr_local.errors import AtomrError

SECONDS = 30
_MEMORY = 12 << 30
PROMPT = Prompt((Message("system", "Answer briefly."),), (Message("user", "Where is Paris? ñ 😀\n"),))


def answer(model: Path, adapter: Path | None, cache: Path | None) -> str:
    """Load and write eight tokens, freely and within a grammar."""
    backbone = LlamaBackbone.load(model, adapter, context_tokens=512, storage="Q8_0" if cache else None, cache=cache)
    try:
        free = backbone.complete(PROMPT, max_tokens=8)
        bound = backbone.complete(PROMPT, max_tokens=4, grammar='root ::= [a-z ]+ | "Paris"')
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
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        return 1 if models(given.every, given.only, given.seconds) else 0
    return 130


if __name__ == "__main__":
    sys.exit(main())
