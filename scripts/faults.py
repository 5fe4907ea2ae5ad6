"""Meet the program with faults, and see that nothing is lost.

Every operation that changes files (asking, building, adding, fetching, the history, settings, examples, evaluation)
runs again and again, each time met by one fault:

    kills     SIGKILL at random moments
    writes    SIGKILL in the middle of the nth write, for every n
    errors    ENOSPC, EIO and EROFS from the nth write on, for every n (scripts/fault_injection/shim.c, LD_PRELOAD)
    twice     two processes do the same at once, and one of them is killed
    clock     the wall clock is years off, or jumps while the operation runs

After each: an error is told in words, without a traceback or a signal; what was acknowledged is there; what changes as
a whole is as before or as after; the same command run again ends as if nothing had happened, and leaves no temporary
files.

With --edits nothing of this runs, but a folder of documents is edited at random and its index synced by a process that
is killed at random moments; every sync that ends has to leave the index of a fresh build.

The exit status is 1 if anything failed. Model and embedder are fakes: they write nothing that has to last.

    python scripts/faults.py --kills 300 --log faults.jsonl        everything
    python scripts/faults.py --quick                               about 20 seconds
    python scripts/faults.py --edits 200 --seed 3 [--words]        a folder and its syncs
"""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fault_injection import operations as ops
from fault_injection.processes import Child, Ended, Fault, compile_shim, run

ERRORS = ("ENOSPC", "EIO", "EROFS")
DAYS = 86_400
CLOCKS = (-3650 * DAYS, -DAYS, 40 * DAYS, 3650 * DAYS)
_ERROR = re.compile(r"[A-Z][\w ,']{3,50}: \S")


class Bench:
    """One operation: its states before and after, and what it does when it is met by a fault."""

    def __init__(self, operation: ops.Operation, folder: Path, inputs: Path, log: Callable[[dict[str, Any]], None]):
        self.operation = operation
        self.inputs = inputs
        self.home = folder / "home"
        self.template = folder / "template"
        self.template.mkdir(parents=True)
        self._log = log
        self.failures: list[str] = []
        made = run(self.template, lambda: operation.prepare(self.template, inputs))
        if made.status:
            raise RuntimeError(f"{operation.name}: cannot be prepared: {made.err}")
        self.before = self._state(self.template)
        ops.copy_home(self.template, self.home)
        ended = run(self.home, self._work, Fault("none", 0))
        if ended.status:
            raise RuntimeError(f"{operation.name}: fails undisturbed: {ended.err}")
        self.after = self._state(self.home)
        if self.before == self.after and operation.name not in ("history migration",):
            raise RuntimeError(f"{operation.name}: changes nothing")
        self.seconds, self.calls = ended.seconds, ended.calls

    def _work(self) -> None:
        self.operation.work(self.home, self.inputs)

    def _state(self, home: Path) -> list[str]:
        ended = run(home, lambda: self.operation.state(home))
        if ended.status:
            raise RuntimeError(f"{self.operation.name}: its state cannot be read: {ended.err}")
        return list(ended.result)

    def meet(self, fault: Fault) -> Ended:
        """Run the operation in a fresh copy of the state before, and check everything."""
        ops.copy_home(self.template, self.home)
        ended = run(self.home, self._work, fault)
        self.check(str(fault), [ended], [fault])
        return ended

    def meet_twice(self, fault: Fault) -> None:
        """Two processes at once, the first of them met by the fault."""
        ops.copy_home(self.template, self.home)
        children = [Child(self.home, self._work, fault), Child(self.home, self._work, Fault())]
        ended = [child.wait() for child in children]
        self.check(f"two at once, {fault}", ended, [fault, Fault()])

    def check(self, what: str, several: list[Ended], faults: list[Fault]) -> None:
        problems = [f"{item}" for ended, fault in zip(several, faults, strict=True) for item in _told(ended, fault)]
        after = run(self.home, lambda: _after(self.operation, self.home, self.inputs))
        found: dict[str, Any] = after.result or {}
        if after.status or not found:
            problems.append(f"what is there cannot be read afterwards: {after.err[-600:]}")
        else:
            problems += self._lost(found, several)
        for problem in problems:
            self.failures.append(f"{self.operation.name}, {what}: {problem}")
        self._log(
            {
                "operation": self.operation.name,
                "fault": what,
                "status": [ended.status for ended in several],
                "seconds": round(sum(ended.seconds for ended in several), 3),
                "told": [ended.err.strip()[-400:] for ended in several],
                "problems": problems,
            }
        )

    def _lost(self, found: dict[str, Any], several: list[Ended]) -> Iterator[str]:
        state = list(found["state"])
        done = [ended for ended in several if ended.status == 0 and "was not kept" not in ended.err]
        if self.operation.gradual:
            promised = {line for ended in several for line in self.operation.acknowledged(ended.out)}
            if any("was not kept" in ended.err for ended in several):
                promised = set()
            if lost := sorted((promised | set(self.before)) - set(state)):
                yield f"lost: {lost}"
            if strange := sorted(set(state) - set(self.before) - set(self.after)):
                yield f"strange: {strange[:3]}"
            if done and set(state) != set(self.after):
                yield "it said that it was done, and it is not"
        else:
            if state not in (self.before, self.after):
                yield f"neither the old state nor the new one: {len(state)} lines, {str(state)[:300]}"
            if done and state != self.after:
                yield "it said that it was done, and it is not"
        if found["again"] not in self._endings(state):
            yield f"run again, it ends with {found['again']}: {found['told'][-600:]}"
        elif set(found["final"]) != set(self.after):
            yield "run again, it ends with another state"
        if found["leftovers"]:
            yield f"left behind: {found['leftovers']}"

    def _endings(self, state: list[str]) -> tuple[int, ...]:
        # What removes a thing has nothing to remove when it had succeeded.
        return (0, 1) if not self.operation.again and state == self.after else (0,)


def _told(ended: Ended, fault: Fault) -> Iterator[str]:
    """What is wrong with how the process ended."""
    killed = fault.kind in ("kill", "moment")
    if ended.hung:
        yield "it hung"
    elif ended.status < 0 and not (killed and ended.status == -9):
        yield f"it died of signal {-ended.status}: {ended.err[-600:]}"
    elif ended.status not in (0, 1) and ended.status >= 0:
        yield f"exit status {ended.status}: {ended.err[-600:]}"
    for mark in ("Traceback (most recent", "panicked at", "Fatal Python error", "Exception ignored"):
        if mark in ended.err:
            yield f"{mark}: {ended.err[-1500:]}"
    if ended.status == 1:
        # Progress goes to standard error too; what is told last is the error, and what to do about it.
        lines = [line for line in ended.err.splitlines() if line.strip() and not line.startswith(" ")]
        if not lines or not _ERROR.match(lines[-1]):
            yield f"it failed without one clear error: {ended.err[-600:]!r}"


def _after(operation: ops.Operation, home: Path, inputs: Path) -> dict[str, Any]:
    """In a process of its own: what is there, then the same command again, then what is there."""
    state = operation.state(home)
    again = 0
    try:
        operation.work(home, inputs)
    except SystemExit as stop:
        again = stop.code if isinstance(stop.code, int) else 0
    sys.stderr.flush()
    told = Path("err").read_text(errors="replace")
    return {
        "state": state, "again": again, "final": operation.state(home), "leftovers": ops.leftovers(home), "told": told
    }  # fmt: skip


def spread(count: int, most: int) -> list[int]:
    """1 … count; at most `most` of them, evenly apart, the first and the last among them."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / max(1, most - 1)) for i in range(most)})


def faults_of(
    bench: Bench, given: argparse.Namespace, chance: random.Random, kills: int
) -> Iterator[tuple[str, Fault]]:
    """The faults to be made in one operation, with the group that each is of."""
    if given.quick:
        yield "kills", Fault("moment", after=chance.uniform(0.0, bench.seconds))
        if chance.random() < 0.5:
            yield "writes", Fault("kill", chance.randint(1, bench.calls))
        else:
            name = chance.choice(ERRORS)
            yield "errors", Fault(name, chance.randint(1, bench.calls), getattr(errno, name), sticky=name != "EIO")
        return
    for _ in range(kills):
        yield "kills", Fault("moment", after=chance.uniform(0.0, bench.seconds * 1.05))
    for nth in spread(bench.calls, given.writes):
        yield "writes", Fault("kill", nth)
    for name in ERRORS:
        number = getattr(errno, name)
        for nth in spread(bench.calls, given.errors):
            yield "errors", Fault(name, nth, number, sticky=name != "EIO")
    for shift in CLOCKS[: given.clocks]:
        yield "clock", Fault("clock", shift)
        yield "clock", Fault("clock", shift, after=max(0.01, chance.uniform(0.1, 0.9) * bench.seconds))


def serve(folder: Path) -> tuple[str, int]:
    """A server laid out like a hub of data sets, in a process of its own: its address and process id."""
    import hashlib

    import pyarrow as pa
    from pyarrow import parquet

    revision, name = "0123456789" * 4, "20231101.simple/train-00000-of-00001.parquet"
    file = folder / f"datasets/wikimedia/wikipedia/resolve/{revision}/{name}"
    file.parent.mkdir(parents=True)
    count = 400
    chance = random.Random(4)
    table = pa.table(
        {
            "id": [str(number) for number in range(count)],
            "url": [f"https://simple.wikipedia.org/wiki/Page_{number}" for number in range(count)],
            "title": [f"Page {number}" for number in range(count)],
            "text": [chance.randbytes(2000).hex() for _ in range(count)],
        }
    )
    parquet.write_table(table, file)
    body = file.read_bytes()
    api = "/api/datasets/wikimedia/wikipedia"
    lfs = {"oid": hashlib.sha256(body).hexdigest(), "size": len(body)}
    pages: dict[str, Any] = {
        api: {"sha": revision},
        f"{api}/tree/{revision}": [{"path": "20231101.simple"}],
        f"{api}/tree/{revision}/20231101.simple": [{"path": name, "lfs": lfs}],
    }

    class Hub(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # whoever asked has been killed
                self.close_connection = True

        def do_GET(self) -> None:
            if self.path not in pages:
                super().do_GET()
                return
            answer = json.dumps(pages[self.path]).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, directory=str(folder)))
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    pid = os.fork()
    if pid == 0:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        parent = os.getppid()
        while os.getppid() == parent:
            threading.Event().wait(0.5)
        os._exit(0)
    server.socket.close()
    return f"http://127.0.0.1:{server.server_port}", pid


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300, help="SIGKILLs at random moments, over all operations")
    parser.add_argument("--writes", type=int, default=60, help="SIGKILLs in writes, at most, an operation")
    parser.add_argument("--errors", type=int, default=1000, help="failing writes, at most, an operation and error")
    parser.add_argument("--twice", type=int, default=6, help="runs of two processes at once, an operation")
    parser.add_argument("--clocks", type=int, default=len(CLOCKS), help="clocks that are off, an operation")
    parser.add_argument("--only", action="append", metavar="NAME", help="this operation (may be repeated)")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--log", type=Path, help="a JSON line for each run")
    parser.add_argument("--quick", action="store_true", help="a few of everything")
    parser.add_argument("--edits", type=int, metavar="N", help="only so many edits of a folder, with its syncs killed")
    parser.add_argument("--words", action="store_true", help="with --edits: words first, and embedding is killed too")
    given = parser.parse_args()
    if given.quick:
        given.twice = 0
    return given


def main() -> int:
    given = options()
    folder = Path(tempfile.mkdtemp(prefix="atomr-faults-"))
    try:
        if given.edits:
            return _edit(given, folder)
        if "ATOMR_FAULTS_SHIM" not in os.environ:
            library = compile_shim(folder)
            if library is None:
                print("skipped: there is no C compiler, or this is not Linux", file=sys.stderr)
                return 77
            environment = os.environ | {
                "LD_PRELOAD": str(library),
                "ATOMR_FAULTS_SHIM": "1",
                "ATOMR_CONTACT": "me@example.org",
            }
            return os.spawnve(os.P_WAIT, sys.executable, [sys.executable, *sys.argv], environment)
        return _run(given, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _edit(given: argparse.Namespace, folder: Path) -> int:
    """Random edits of a folder, and its syncs."""
    # Of tests/.
    processes, killed = (importlib.import_module(f"support.{name}") for name in ("build_process", "killed_syncs"))

    _own_home(folder)
    begun = time.monotonic()
    builder = processes.BuildProcess()
    syncs = killed.KilledSyncs(builder, folder / "notes", random.Random(given.seed), words=given.words)
    try:
        syncs.run(given.edits)
    except AssertionError as error:
        print(f"FAILED (--seed {given.seed}): {error}")
        return 1
    finally:
        builder.close()
        print(
            f"{syncs.folder.made} edits ({syncs.folder.told()}), {syncs.kills} commands killed, {syncs.syncs} syncs "
            f"that ended compared with a fresh build, {time.monotonic() - begun:.0f} s"
        )
    return 0


def _own_home(folder: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ATOMR_") and name != "ATOMR_CONTACT"]:
        del os.environ[name]
    os.environ["ATOMR_HOME"] = str(folder)


def _run(given: argparse.Namespace, folder: Path) -> int:
    _own_home(folder)
    warnings.simplefilter("ignore", RuntimeWarning)  # lancedb warns of forks; nothing runs in it when this one forks
    hub, server = serve(folder / "hub")
    ops.warm()
    inputs = folder / "inputs"
    inputs.mkdir()
    ops.write_inputs(inputs)
    log = given.log.open("a", encoding="utf-8") if given.log else None

    def note(line: dict[str, Any]) -> None:
        if log is not None:
            log.write(json.dumps(line, ensure_ascii=False) + "\n")
            log.flush()

    chance = random.Random(given.seed)
    chosen = [item for item in ops.operations(hub) if not given.only or item.name in given.only]
    counts: Counter[str] = Counter()
    failures: list[str] = []
    try:
        for number, operation in enumerate(chosen):
            bench = Bench(operation, folder / f"bench{number}", inputs, note)
            kills = given.kills // len(chosen) + (number < given.kills % len(chosen))
            here: Counter[str] = Counter()
            for group, fault in faults_of(bench, given, chance, kills):
                bench.meet(fault)
                here[group] += 1
            for _ in range(given.twice):
                bench.meet_twice(Fault("moment", after=chance.uniform(0.0, bench.seconds * 1.05)))
                here["twice"] += 1
            counts += here
            done = ", ".join(f"{group} {count}" for group, count in here.items())
            print(f"{operation.name}: {bench.calls} writes; {done}; {len(bench.failures)} failures", flush=True)
            for failure in bench.failures[:20]:
                print(f"  - {failure}", flush=True)
            failures += bench.failures
            shutil.rmtree(folder / f"bench{number}", ignore_errors=True)
    finally:
        os.kill(server, 9)
        os.waitpid(server, 0)
        if log is not None:
            log.close()
    print(json.dumps({"runs": sum(counts.values()), **counts, "failures": len(failures)}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
