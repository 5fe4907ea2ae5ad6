"""The process that feeds one target until its time is up; started by run.py.

With atheris (libFuzzer) inputs are mutated towards new branches of the parser; without it hypothesis makes them from
the seeds, without looking at the code they reach. A fault does not end the run: the first input of each is kept.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from fuzz.properties import Broken, expanded, repeated

# Processor seconds that one input may take; instrumented code is several times as slow as it is for users.
SLOW = 6.0
# Seconds and MiB after which libFuzzer ends the process: a hang or a flood in C, which nothing else can stop. By
# the wall clock, so that a busy machine needs a wide margin.
_HANG = 300
_MEMORY = 3072
SEEDS = Path(__file__).parent / "seeds"


class Target(Protocol):
    """A module of fuzz.targets."""

    INSTRUMENTED: tuple[str, ...]
    """Packages whose branches guide the fuzzer."""
    DICTIONARY: tuple[bytes, ...]
    """Tokens of the format."""

    def seeds(self) -> Iterator[bytes]:
        """Inputs to begin with."""

    def check(self, data: bytes) -> None:
        """Give the input to the parser. Raises whatever must not come out of it."""


def load_target(name: str) -> Target:
    return cast(Target, importlib.import_module(f"fuzz.targets.{name}"))


def all_seeds(name: str, target: Target) -> Iterator[bytes]:
    """The target's own inputs, those in seeds/NAME, and its tokens repeated many times."""
    yield from target.seeds()
    for file in sorted((SEEDS / name).glob("*")):
        yield file.read_bytes()
    for token in target.DICTIONARY:
        yield repeated(token, 300)


@dataclass
class Finds:
    """The faults of a run, each kept once, as a file with the input and one that says what happened."""

    directory: Path
    inputs: int = 0
    slowest: float = 0.0
    seen: set[str] = field(default_factory=set)

    def feed(self, check: Callable[[bytes], None], data: bytes) -> None:
        """Check one input."""
        self.inputs += 1
        began = time.process_time()
        try:
            check(expanded(data))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            self._keep(signature(error), data, "".join(traceback.format_exception(error, limit=-15)))
        took = time.process_time() - began
        if took > self.slowest * 1.2:
            self.slowest = took
            (self.directory.parent / "slowest").write_text(f"{took:.2f}")
        if took > SLOW:
            self._keep(f"slow-{int(took).bit_length()}", data, f"{took:.1f} s of processor time")

    def _keep(self, name: str, data: bytes, told: str) -> None:
        if name in self.seen:
            return
        self.seen.add(name)
        stem = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:12]
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / f"{stem}.input").write_bytes(expanded(data))
        (self.directory / f"{stem}.txt").write_text(f"{name}\n\n{told}", encoding="utf-8", errors="backslashreplace")
        print(f"FIND {name}", file=sys.stderr, flush=True)


def signature(error: BaseException) -> str:
    """The same for the same fault: what was raised, and the places of our code that it passed."""
    if isinstance(error, Broken):
        return f"Broken {str(error).partition(':')[0]}"
    frames = [
        f"{Path(frame.filename).stem}.{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "atomr_local" in frame.filename
    ]
    # A recursion is the same fault at whatever depth it ends.
    return f"{type(error).__name__} in {' < '.join(dict.fromkeys(reversed(frames[-3:])))}"


def with_atheris(name: str, seconds: int, work: Path, seed: int) -> None:
    """Fuzz, guided by coverage; does not return."""
    import atheris

    module = importlib.import_module("fuzz.instrumented")
    target = module.load_instrumented(name)
    finds = Finds(work / "finds")
    corpus = work / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for data in all_seeds(name, target):
        (corpus / f"seed-{hashlib.sha1(data, usedforsecurity=False).hexdigest()[:16]}").write_bytes(data)
    words = work / "dictionary"
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in target.DICTIONARY))
    arguments = [
        "fuzz", f"-max_total_time={seconds}", f"-timeout={_HANG}", f"-rss_limit_mb={_MEMORY}", "-max_len=4096",
        f"-dict={words}", f"-artifact_prefix={work}/stopped-", "-print_final_stats=1", f"-seed={seed}", str(corpus),
    ]  # fmt: skip
    atheris.Setup(arguments, lambda data: finds.feed(target.check, data))
    atheris.Fuzz()


def with_hypothesis(name: str, seconds: int, work: Path, seed: int) -> None:
    """Feed inputs made from the seeds and the dictionary by hypothesis."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    _limit_memory()
    target = load_target(name)
    finds = Finds(work / "finds")
    seeds = list(all_seeds(name, target))
    for data in seeds:
        finds.feed(target.check, data)
    tokens = st.one_of(st.sampled_from(target.DICTIONARY), st.binary(max_size=8))
    change = st.tuples(st.floats(0, 1), st.integers(0, 24), tokens)

    @st.composite
    def inputs(draw: st.DrawFn) -> bytes:
        data = draw(st.sampled_from(seeds))
        for place, cut, put in draw(st.lists(change, max_size=8)):
            at = int(place * len(data))
            data = data[:at] + put + data[at + cut :]
        return data

    ends = time.monotonic() + seconds
    rounds = random.Random(seed)
    while time.monotonic() < ends:

        @seeded(rounds.getrandbits(32))
        @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(inputs())
        def one_round(data: bytes) -> None:
            if time.monotonic() < ends:
                finds.feed(target.check, data)

        one_round()
    print(json.dumps({"inputs": finds.inputs}), flush=True)


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY << 20, _MEMORY << 20))
    except (ImportError, ValueError, OSError):
        return


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--engine", choices=("atheris", "hypothesis"), required=True)
    given: Any = parser.parse_args()
    run = with_atheris if given.engine == "atheris" else with_hypothesis
    run(given.target, given.seconds, given.work, given.seed)


if __name__ == "__main__":
    main()
