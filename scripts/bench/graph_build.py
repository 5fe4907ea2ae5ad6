"""Graph build against pyoxigraph's bulk load of the same file, side by side in one run, with the peak memory of each.

    python scripts/bench/graph_build.py --triples 400000 2000000

Each build has a process and a fresh directory of its own. "bare" is Store.bulk_load of the whole file and a flush: no
names, no search, nothing to go on from after a kill. The file is made like Wikidata's truthy dump: labels, aliases,
descriptions, types and many facts, deterministic by --seed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_ENTITY, _DIRECT = "http://www.wikidata.org/entity/Q", "http://www.wikidata.org/prop/direct/P"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_LABEL, _ALIAS = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#altLabel"
_DESCRIPTION = "http://schema.org/description"
_BARE = """
from pyoxigraph import RdfFormat, Store
store = Store(folder + "/bare")
store.bulk_load(path=file, format=RdfFormat.N_TRIPLES)
store.flush()
"""
_OURS = """
from pathlib import Path
from atomr_local.indexing.graph_index.index import build_graph_index
build_graph_index([Path(file)], "bench")
"""
_TIMED = """
import json, resource, sys, time
file, folder = sys.argv[1:]
started = time.perf_counter()
{work}
seconds = time.perf_counter() - started
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({{"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024}}))
"""


def truthy_lines(triples: int, seed: int) -> Iterator[str]:
    """So many lines of N-Triples about items one after the other, about 14 an item."""
    rng = random.Random(seed)
    syllables = [first + second for first in "bcdfghklmnprstvwz" for second in ("a", "an", "el", "in", "o", "or", "u")]
    words = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(5000)]
    items = max(triples // 14, 50)

    def name() -> str:
        return " ".join(word.capitalize() for word in rng.choices(words, k=rng.randint(1, 3)))

    def value() -> str:
        kind = rng.random()
        if kind < 0.72:
            return f"<{_ENTITY}{1 + int(items * rng.random() ** 3)}>"
        if kind < 0.82:
            day = f"{rng.randint(1200, 2024)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
            return f'"{day}T00:00:00Z"^^<{_XSD}dateTime>'
        return f'"+{rng.randint(1, 10**6)}"^^<{_XSD}decimal>' if kind < 0.9 else f'"{rng.getrandbits(40):x}"'

    def item(number: int) -> Iterator[str]:
        subject = f"<{_ENTITY}{number}>"
        yield f'{subject} <{_LABEL}> "{name()}"@en .\n'
        for _ in range(rng.choice((0, 0, 0, 1, 1, 3))):
            yield f'{subject} <{_ALIAS}> "{name()}"@en .\n'
        if rng.random() < 0.8:
            yield f'{subject} <{_DESCRIPTION}> "{rng.choice(words)} of {name()}"@en .\n'
        yield f"{subject} <{_DIRECT}31> <{_ENTITY}{1 + rng.randrange(300)}> .\n"
        for _ in range(rng.randint(5, 15)):
            yield f"{subject} <{_DIRECT}{int(rng.paretovariate(0.8)) % 1500 + 32}> {value()} .\n"

    made = number = 0
    while made < triples:
        number += 1
        for line in item(number):
            yield line
            made += 1
            if made == triples:
                return


def measured(work: str, file: Path, folder: Path) -> dict[str, float]:
    """Seconds, processor seconds and peak memory (bytes) of a build in a process of its own."""
    environment = os.environ | {"ATOMR_HOME": str(folder / "home")}
    process = subprocess.run(
        [sys.executable, "-c", _TIMED.format(work=work), str(file), str(folder)],
        env=environment, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return dict(json.loads(process.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, nargs="+", default=[400_000, 2_000_000])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=1, help="each builds both; the best time of each counts")
    given = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print("| triples | build | seconds | triples/s | CPU s | peak MB | ratio |\n|---|---|---|---|---|---|---|")
    for triples in given.triples:
        best: dict[str, dict[str, float]] = {}
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "truthy.nt"
            with file.open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(truthy_lines(triples, given.seed))
            for _ in range(given.rounds):
                for name, work in (("bare", _BARE), ("ours", _OURS)):
                    with tempfile.TemporaryDirectory(dir=scratch) as folder:
                        found = measured(work, file, Path(folder))
                    if name not in best or found["seconds"] < best[name]["seconds"]:
                        best[name] = found
        for name, found in best.items():
            ratio = best["bare"]["seconds"] / found["seconds"]
            print(
                f"| {triples:,} | {name} | {found['seconds']:.1f} | {triples / found['seconds']:,.0f} "
                f"| {found['cpu']:.1f} | {found['peak'] / 1e6:.0f} | {ratio:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
