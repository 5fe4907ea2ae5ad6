#!/usr/bin/env python3
"""Fuzz the parsers of everything that comes from outside.

    python scripts/fuzz/run.py gguf --seconds 60       one target or several, one after the other
    python scripts/fuzz/run.py --all                   each target for 60 seconds, as .ci/nightly does
    python scripts/fuzz/run.py --list                  the targets
    python scripts/fuzz/run.py gguf --input FILE       check one input, such as a find, and show the traceback

Inputs that reach new code are kept in --work (runs/fuzz/TARGET/corpus) and are the start of the next run. A fault is
kept as runs/fuzz/TARGET/finds/*.input with a .txt that says what happened; the run goes on. Exit status 1 if there was
one. Needs atheris (pip install 'atomr-local[fuzz]'); without it hypothesis makes the inputs, which finds less.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[0] = str(HERE.parent)
sys.path.insert(1, str(ROOT))

# What libFuzzer writes: "#1024 pulse  cov: 71 ft: 92 ..." and, at the end, its statistics.
_STATUS = re.compile(r"^#(\d+)\s.*?cov: (\d+) ft: (\d+)", re.M)
_UNITS = re.compile(r"^stat::number_of_executed_units:\s+(\d+)", re.M)
_SPARE = 120  # seconds beyond its time after which a silent process is ended


@dataclass
class Report:
    """What a run of one target did.

    Attributes:
        seconds, processor: time by the clock, and of the processor: on a busy machine far less.
        inputs: how many were checked.
        edges: branches of the instrumented packages that were reached; 0 without atheris.
        finds: faults, by what they are.
        stopped: how often the process ended by itself: a hang, a flood or a crash.
    """

    target: str
    engine: str
    seconds: float = 0.0
    processor: float = 0.0
    inputs: int = 0
    edges: int = 0
    slowest: float = 0.0
    stopped: int = 0
    finds: list[str] = field(default_factory=list)

    def line(self) -> str:
        found = "; ".join(self.finds) or "no finds"
        return (
            f"{self.target:14} {self.inputs:>9} inputs {self.edges:>5} edges {self.seconds:>6.0f} s "
            f"({self.processor:.0f} s of the processor)  "
            f"slowest {self.slowest:.1f} s  {found}"
        )


def target_names() -> list[str]:
    return sorted(file.stem for file in (HERE / "targets").glob("*.py") if file.stem != "__init__")


def fuzz(name: str, seconds: int, work: Path, seed: int, engine: str) -> Report:
    """Run one target; a process that ends before its time is followed by another."""
    report = Report(name, engine)
    work = work / name
    work.mkdir(parents=True, exist_ok=True)
    (work / "slowest").unlink(missing_ok=True)
    began, before = time.monotonic(), _processor_time()
    while (left := seconds - (time.monotonic() - began)) > 1:
        status, said = _run_engine(name, int(left) or 1, work, seed + report.stopped, engine)
        (work / "log.txt").write_text(said, encoding="utf-8")
        report.inputs += _inputs(said)
        report.edges = max([report.edges, *(int(edges) for _, edges, _ in _STATUS.findall(said))])
        report.finds += [line.removeprefix("FIND ") for line in said.splitlines() if line.startswith("FIND ")]
        if status == 0:
            break
        report.stopped += 1
        report.finds.append(f"the process ended with status {status}: {_last_words(said)}")
        if report.stopped >= 20:
            break
    report.finds = sorted(set(report.finds))
    report.seconds = round(time.monotonic() - began, 1)
    report.processor = round(_processor_time() - before, 1)
    if (work / "slowest").exists():
        report.slowest = float((work / "slowest").read_text())
    (work / "report.json").write_text(json.dumps(asdict(report), indent=2) + "\n", encoding="utf-8")
    return report


def _processor_time() -> float:
    """Seconds that the ended child processes have taken."""
    times = os.times()
    return times.children_user + times.children_system


def _run_engine(name: str, seconds: int, work: Path, seed: int, engine: str) -> tuple[int, str]:
    paths = f"import sys; sys.path[:0] = [{str(HERE.parent)!r}, {str(ROOT)!r}]; from fuzz.engine import main; main()"
    command = [
        sys.executable, "-c", paths, name, "--seconds", str(seconds), "--work", str(work), "--seed", str(seed),
        "--engine", engine,
    ]  # fmt: skip
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    try:
        with tempfile.TemporaryDirectory(prefix="atomr-fuzz-", dir=memory, ignore_cleanup_errors=True) as scratch:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds + _SPARE,
                check=False,
                env=os.environ | {"TMPDIR": scratch, "ATOMR_HOME": scratch},
            )
    except subprocess.TimeoutExpired as error:
        return -9, (error.stdout or b"").decode("utf-8", "replace")
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _inputs(said: str) -> int:
    if found := _UNITS.findall(said):
        return int(found[-1])
    if found := _STATUS.findall(said):
        return int(found[-1][0])
    found = re.findall(r'^\{"inputs": (\d+)\}', said, re.M)
    return int(found[-1]) if found else 0


def _last_words(said: str) -> str:
    lines = [line for line in said.splitlines() if "ERROR" in line or "SUMMARY" in line]
    return (lines or said.strip().splitlines() or ["nothing said"])[-1][:200]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--all", action="store_true", help="every target")
    parser.add_argument("--list", action="store_true", help="print the targets and end")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--work", type=Path, default=ROOT / "runs" / "fuzz", help="corpora and finds (runs/fuzz)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers; 0: another one each time")
    parser.add_argument("--engine", choices=("auto", "atheris", "hypothesis"), default="auto")
    parser.add_argument("--input", type=Path, help="check this one input")
    given = parser.parse_args()
    names = target_names()
    if given.list:
        print("\n".join(names))
        return 0
    if unknown := [name for name in given.targets if name not in names]:
        parser.error(f"no such target: {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = names if given.all else given.targets
    if not chosen:
        parser.error("name a target, or --all")
    if given.input is not None:
        from fuzz.engine import load_target

        load_target(chosen[0]).check(given.input.read_bytes())
        print(f"{chosen[0]}: nothing wrong with {given.input}")
        return 0
    engine = given.engine
    if engine == "auto":
        engine = "atheris" if importlib.util.find_spec("atheris") else "hypothesis"
        if engine == "hypothesis":
            print(
                "atheris is not installed: hypothesis makes the inputs, without looking at the code they reach.\n"
                "For coverage-guided fuzzing: pip install 'atomr-local[fuzz]'",
                file=sys.stderr,
            )
    failed = False
    for name in chosen:
        report = fuzz(name, given.seconds, given.work, given.seed or random.SystemRandom().getrandbits(31), engine)
        failed = failed or bool(report.finds)
        print(report.line(), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
