#!/usr/bin/env python3
"""Damage what the program keeps, at random, and see that no damage kills it, hangs it or changes a result in silence.

    python scripts/damages.py                            200 damages over all parts
    python scripts/damages.py --parts text --count 50    over one part
    python scripts/damages.py --only 137                 one damage of the run again, with all that was said

A small world is built once: a text index, a graph index, a history, settings, exported traces, and a build of each
index that was stopped. For each damage it is copied, one file of one part is damaged (bits flipped, cut short, emptied,
blocks zeroed or exchanged, bytes added, deleted, exchanged with another file, its beginning overwritten), and a
process of its own runs the commands that read them, `indexes verify` last. The outcome is one of

    same       the results are those of the undamaged files
    told       an error or a note says that something is wrong
    verify     the results differ, and `indexes verify` finds the damage
    edited     a text for people to edit (settings, a trace file) says something else and is taken at its word
    silent     the results differ and nothing says so                                                   a failure
    traceback, signal, hang                                                                             a failure

Exit status 1 if there is a failure. The model is not run: weights and their cache have a script of their own.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,}")
FAULT = "Internal error"
FAILURES = ("silent", "traceback", "signal", "hang")
# Of a fault that nobody expected: `atomr` keeps its traceback in a file and says where.
_BAD_SIGNS = ("Traceback (most recent call last)", "panicked at", FAULT)
_VOLATILE = re.compile(r'"(?:seconds|bytes|built_at|path|problem|asked_at)": [^\n]*')


_ALL_FACTS = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p ?o"


@dataclass(frozen=True)
class Part:
    """One kind of file that is damaged.

    Attributes:
        share: how often it is chosen.
        files: what is damaged: globs below the home directory.
        commands: what is run; the last is the one that verifies, where there is one.
        editable: what the files say is for people to change.
        preparing: so many of the first commands are not asked for results.
    """

    share: int
    files: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    verified: bool = False
    editable: bool = False
    preparing: int = 0


PARTS = {
    "text": Part(
        6, ("indexes/text/t/**/*",),
        (("text", "search", "mill of Town 7", "--text-index", "t", "--json"),
         ("text", "search", "river 3 people", "--text-index", "t", "--json", "-k", "20"),
         ("text", "search", "1644 people", "--text-index", "t", "--json"),
         ("indexes", "verify", "t", "--json")), verified=True,
    ),
    "graph": Part(
        6, ("indexes/graph/g/**/*",),
        (("graph", "find", "Town 7", "--graph-index", "g", "--json"),
         ("graph", "find", "Towm 12", "--graph-index", "g", "--json"),
         ("graph", "query", _ALL_FACTS, "--graph-index", "g", "--json"),
         ("indexes", "verify", "g", "--json")), verified=True,
    ),
    "history": Part(
        4, ("history/history.sqlite*",),
        (("history", "list", "--json", "--limit", "100"), ("history", "list", "--search", "town", "--json"),
         ("history", "export", "--all", "--format", "json")),
    ),
    "settings": Part(1, ("config.toml",), (("config", "show"), ("config", "path")), editable=True),
    "traces": Part(
        2, ("traces.jsonl",),
        (("history", "import", "{home}/traces.jsonl"), ("history", "export", "--all", "--format", "json")),
        editable=True,
    ),
    "text-build": Part(
        1, ("indexes/text/.*/*.json", "indexes/text/.*/ledger*"),
        (("text", "build", "{home}/corpus.jsonl", "--name", "u"),
         ("text", "search", "mill of Town 7", "--text-index", "u", "--json"),
         ("indexes", "verify", "u", "--json")), verified=True, preparing=1,
    ),
    "graph-build": Part(
        1, ("indexes/graph/.*/**/*",),
        (("graph", "build", "{home}/facts.jsonl", "--name", "h"),
         ("graph", "find", "Town 7", "--graph-index", "h", "--json"),
         ("graph", "query", _ALL_FACTS, "--graph-index", "h", "--json"),
         ("indexes", "verify", "h", "--json")), verified=True, preparing=1,
    ),
}  # fmt: skip


@dataclass
class Said:
    """What one command said."""

    status: int
    out: str
    err: str

    @property
    def told(self) -> bool:
        """Whether it said that something is wrong: an error, or a note beside its results."""
        return self.status != 0 or bool(self.err.strip())


# -- the world


def make_world(home: Path, parts: Sequence[str]) -> None:
    """Build what the parts need below `home`."""
    home.mkdir(parents=True)
    towns = range(1, 61)
    corpus = [
        {"id": str(n), "title": f"Town {n}",
         "text": f"Town {n} lies on the river {n % 7}. It has {n * 137} people and a mill of {1500 + n}."}
        for n in towns
    ]  # fmt: skip
    facts = [
        fact for n in towns for fact in (
            {"s": f"Town {n}", "p": "country", "o": f"Land {n % 5}"},
            {"s": f"Town {n}", "p": "population", "o": str(n * 137), "o_type": "quantity"},
        )
    ]  # fmt: skip
    for name, lines in (("corpus.jsonl", corpus), ("facts.jsonl", facts)):
        (home / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (home / "traces.jsonl").write_text("".join(json.dumps(_trace(n)) + "\n" for n in range(1, 9)), encoding="utf-8")
    (home / "config.toml").write_text(
        '# my settings\nsources = ["text", "graph"]\ntop_k = 5\n\n[limits]\nnodes = 20\n\n[web]\nenabled = false\n',
        encoding="utf-8",
    )
    for part, command in (
        ("text", ("text", "build", f"{home}/corpus.jsonl", "--name", "t")),
        ("graph", ("graph", "build", f"{home}/facts.jsonl", "--name", "g")),
        ("history", ("history", "import", f"{home}/traces.jsonl")),
    ):
        if part not in parts:
            continue
        [said] = run_commands(home, [command], limit=600)[1]
        if said.status:
            raise SystemExit(f"{' '.join(command)} failed: {said.err}")
    for kind, source, name in (("text", "corpus", "u"), ("graph", "facts", "h")):
        if f"{kind}-build" in parts:
            _stop_build(home, kind, source, name)


def _trace(number: int) -> dict[str, Any]:
    node = {"id": 0, "parent": None, "question": f"Who leads town {number}?", "kind": "root", "answer": f"Ann {number}"}
    evidence = {"id": "e1", "source": "text", "title": f"Town {number}", "text": "Ann. " * 60, "score": 1.0}
    return {
        "schema": "atomr.trace/1", "question": f"Who leads town {number}?", "strategy": "atomr", "status": "answered",
        "answer": f"Ann {number}", "answers": [f"Ann {number}"], "confidence": 0.5, "nodes": [node],
        "evidence": [evidence],
    }  # fmt: skip


def _stop_build(home: Path, kind: str, source: str, name: str) -> None:
    """Begin a build and kill it as soon as it has a ledger."""
    pid = _forked(home, [(kind, "build", f"{home}/{source}.jsonl", "--name", name)], home / "ignored")
    ended = 0
    while not ended and not list((home / "indexes" / kind).glob(f".{name}*/ledger*")):
        time.sleep(0.0005)
        ended, _ = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    (home / "ignored").unlink()


# -- commands in a process of their own


def import_for(parts: Sequence[str]) -> None:
    """Import once what each child needs; they begin as copies of this process."""
    names = ["pyoxigraph", "atomr_local.cli.main"]
    names += [f"atomr_local.cli.commands.{name}" for name in ("graph", "history", "indexes", "text")]
    names += [
        "atomr_local.assistant.history.trace_import",
        "atomr_local.assistant.history.store",
        "atomr_local.indexing.verify",
    ]
    if any("text" in part for part in parts):
        names += ["lancedb", "onnxruntime", "tokenizers"]
        names += ["atomr_local.indexing.text_index.index", "atomr_local.indexing.text_index.verify"]
        # LanceDB makes its threads anew in a copy of the process; nothing is at work here when one is made.
        warnings.filterwarnings("ignore", message="lancedb fork support")
    for name in names:
        importlib.import_module(name)


def run_commands(home: Path, commands: Sequence[Sequence[str]], limit: float) -> tuple[str, list[Said]]:
    """Run the commands one after the other in one child; ("", "signal N" or "hang"), and what each command said."""
    found = home.with_name(home.name + ".said")
    pid = _forked(home, commands, found)
    ends = time.monotonic() + limit
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < ends:
        time.sleep(0.02)
        ended, status = os.waitpid(pid, os.WNOHANG)
    how = ""
    if not ended:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        how = "hang"
    elif os.WIFSIGNALED(status):
        how = f"signal {os.WTERMSIG(status)}"
    said = [Said(**json.loads(line)) for line in found.read_text(encoding="utf-8").splitlines()]
    found.unlink()
    return how, said


def _forked(home: Path, commands: Sequence[Sequence[str]], found: Path) -> int:
    found.write_text("")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        _child(home, commands, found)
        status = 0
    finally:
        os._exit(status)


def _child(home: Path, commands: Sequence[Sequence[str]], found: Path) -> None:
    from atomr_local.cli.main import main

    for name in [name for name in os.environ if name.startswith("ATOMR_")]:
        del os.environ[name]
    os.environ["ATOMR_HOME"] = str(home)
    with found.open("a", encoding="utf-8") as stream:
        for command in commands:
            # Rust writes its panics to the descriptor, past sys.stderr.
            with tempfile.TemporaryFile() as native:
                os.dup2(native.fileno(), 2)
                out, err = io.StringIO(), io.StringIO()
                status = 0
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    try:
                        main([part.replace("{home}", str(home)) for part in command])
                    except SystemExit as stop:
                        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
                    except BaseException:
                        status = 99
                        traceback.print_exc(file=err)
                for details in home.rglob("fault.txt"):
                    err.write(details.read_text(encoding="utf-8")[-1200:])
                    details.unlink()
                native.seek(0)
                said = {
                    "status": status,
                    "out": out.getvalue(),
                    "err": err.getvalue() + native.read().decode(errors="replace"),
                }
            stream.write(json.dumps(said) + "\n")
            stream.flush()


# -- damages


def _flip_bits(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _empty(data: bytearray, _rng: random.Random) -> None:
    data.clear()


def _zero_block(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice((16, 512, 4096)))
    data[start:end] = bytes(end - start)


def _exchange_blocks(data: bytearray, rng: random.Random) -> None:
    size = rng.choice((16, 256, 4096))
    one, other = sorted(rng.randrange(len(data)) for _ in range(2))
    size = min(size, other - one, len(data) - other)
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]


def _add_bytes(data: bytearray, rng: random.Random) -> None:
    data += rng.randbytes(rng.choice((1, 100, 5000)))


def _overwrite_beginning(data: bytearray, rng: random.Random) -> None:
    data[:16] = rng.randbytes(min(16, len(data)))


_CONTENT: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip_bits, _flip_bits, _flip_bits, _cut, _empty, _zero_block, _exchange_blocks, _add_bytes, _overwrite_beginning,
)  # fmt: skip


def _stable_name(file: Path) -> str:
    """The path without what LanceDB draws at random, so that a damage hits the same file in every run."""
    return _RANDOM.sub("*", str(file))


def damage(home: Path, part: Part, rng: random.Random) -> str:
    """Damage one file of the part; what was done, "" where it changed nothing."""
    files = sorted({file for glob in part.files for file in home.glob(glob) if file.is_file()}, key=_stable_name)
    if not files:
        raise SystemExit(f"nothing to damage: {', '.join(part.files)}")
    file = rng.choice(files)
    name = str(file.relative_to(home))
    kind = rng.randrange(len(_CONTENT) + 2)
    if kind == len(_CONTENT):
        file.unlink()
        return f"delete {name}"
    if kind == len(_CONTENT) + 1:
        other = rng.choice(files)
        one, two = file.read_bytes(), other.read_bytes()
        file.write_bytes(two)
        other.write_bytes(one)
        return "" if one == two else f"exchange {name} and {other.relative_to(home)}"
    before = file.read_bytes()
    if not before and _CONTENT[kind] is not _add_bytes:
        return ""
    data = bytearray(before)
    _CONTENT[kind](data, rng)
    file.write_bytes(data)
    return "" if data == before else f"{_CONTENT[kind].__name__.strip('_')} {name}"


@dataclass(frozen=True)
class Outcome:
    """What came of one damage."""

    number: int
    part: str
    done: str
    kind: str
    detail: str


def judge(part: Part, how: str, said: Sequence[Said], wanted: Sequence[Said]) -> tuple[str, str]:
    """(kind of outcome, what shows it)."""
    if how:
        command = part.commands[min(len(said), len(part.commands) - 1)]
        return how.partition(" ")[0], f"{how} in {' '.join(command)}"
    for one in said:
        if one.status == 99 or any(sign in one.err for sign in _BAD_SIGNS):
            return "traceback", one.err[-1500:]
    last = -1 if part.verified else None
    results, expected = said[part.preparing : last], wanted[part.preparing : last]
    commands = part.commands[part.preparing : last]
    differs = [
        index for index, (one, other) in enumerate(zip(results, expected, strict=True)) if _plain(one) != _plain(other)
    ]
    if not differs:
        return "same", "" if not part.verified or said[-1].status == 0 else "verify finds it"
    # A command whose results differ must say so itself, or verify must.
    unsaid = [index for index in differs if not results[index].told or results[index].err == expected[index].err]
    if not unsaid:
        return "told", results[differs[0]].err.strip().splitlines()[0][:200]
    if part.verified and said[-1].status != 0:
        return "verify", said[-1].out[-200:]
    told = [one for one, other in zip(results, expected, strict=True) if one.told and one.err != other.err]
    if told and not part.verified:
        return "told", told[0].err.strip().splitlines()[0][:200]
    if part.editable:
        return "edited", " ".join(commands[unsaid[0]])
    return "silent", f"{' '.join(commands[unsaid[0]])}: {results[unsaid[0]].out[:600]}"


def _plain(said: Said) -> tuple[int, str]:
    return said.status, _VOLATILE.sub("", said.out)


class Run:
    """All damages of a run; each depends on the seed and its number alone."""

    def __init__(self, directory: Path, seed: int, parts: Sequence[str], limit: float) -> None:
        self._directory = directory
        self._seed = seed
        self._parts = list(parts)
        self._limit = limit
        self._world = directory / "world"
        make_world(self._world, parts)
        self._expected = {name: self._commands_on_a_copy(name, None)[1][1] for name in self._parts}

    def one(self, number: int) -> tuple[Outcome, list[Said]]:
        """The damage with this number."""
        rng = random.Random(f"{self._seed} {number}")
        name = rng.choices(self._parts, [PARTS[part].share for part in self._parts])[0]
        done, (how, said) = self._commands_on_a_copy(name, rng)
        kind, detail = judge(PARTS[name], how, said, self._expected[name])
        return Outcome(number, name, done, kind, detail), said

    def _commands_on_a_copy(self, name: str, rng: random.Random | None) -> tuple[str, tuple[str, list[Said]]]:
        # The same path each time: some files name it.
        home = self._directory / "home"
        try:
            shutil.copytree(self._world, home, symlinks=True)
            if name == "traces":
                for file in home.glob("history/history.sqlite*"):
                    file.unlink()
            done = ""
            while rng is not None and not done:
                done = damage(home, PARTS[name], rng)
            return done, run_commands(home, PARTS[name].commands, self._limit)
        finally:
            shutil.rmtree(home)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds after which the commands count as hung (30)")
    parser.add_argument("--only", type=int, help="this damage alone, with what was said")
    parser.add_argument("--out", type=Path, help="a JSON line for each damage")
    given = parser.parse_args()
    parts = given.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    import_for(parts)
    tally: dict[str, collections.Counter[str]] = {part: collections.Counter() for part in parts}
    with tempfile.TemporaryDirectory(prefix="atomr-damages-") as place, contextlib.ExitStack() as stack:
        stream = stack.enter_context(given.out.open("w", encoding="utf-8")) if given.out else None
        run = Run(Path(place), given.seed, parts, given.limit)
        for number in [given.only] if given.only is not None else range(given.count):
            outcome, said = run.one(number)
            tally[outcome.part][outcome.kind] += 1
            if stream:
                stream.write(json.dumps(asdict(outcome)) + "\n")
                stream.flush()
            if outcome.kind in FAILURES or given.only is not None:
                print(f"{number}: {outcome.part}: {outcome.done}: {outcome.kind}: {outcome.detail}", flush=True)
            if given.only is not None:
                for one in said:
                    print(f"exit {one.status}\n{one.out[:3000]}{one.err[:3000]}")
    for part, counts in tally.items():
        if counts:
            print(f"{part:12} {', '.join(f'{count} {kind}' for kind, count in counts.most_common())}")
    failed = sum(counts[kind] for counts in tally.values() for kind in FAILURES)
    print(f"{sum(sum(counts.values()) for counts in tally.values())} damages, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
