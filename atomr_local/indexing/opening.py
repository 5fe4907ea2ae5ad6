"""Quick checks of an index when it is opened.

The first time, and whenever one of its files has been written since, the file is compared with its recorded checksum;
what was compared is remembered in the cache by size, time and number of the file. Very large files are left to
`atomr indexes verify`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds import publishing as digests
from atomr_local.indexing.builds.ledger import damage_hint
from atomr_local.indexing.store import MANIFEST, IndexKind
from atomr_local.system import paths
from atomr_local.system.files import put

# Bytes that are hashed at most when an index is opened: about half a second, at the same time as the model loads.
BUDGET = 256 << 20
_Stamp = tuple[int, int, int]


def require_unchanged(kind: IndexKind, directory: Path) -> None:
    """Make sure that the index in `directory` holds what was built, as far as a quick check can show.

    Raises:
        KnowledgeIndexError: a file is damaged, missing, or was put there by something else.
    """
    if problem := opening_problem(directory):
        raise KnowledgeIndexError(
            f"the {kind} index in {directory} cannot be opened: {problem}", hint=damage_hint(kind, directory)
        )


def opening_problem(directory: Path) -> str:
    """The first difference between the index's files and what was recorded of them; "" where none was found.

    An index of an earlier version, which has no record, has no problem.
    """
    try:
        recorded = digests.read_record(directory)
        if recorded is None:
            return ""
        there = dict(digests.listed(directory))
    except KnowledgeIndexError as error:
        return error.message
    except OSError:  # told by whoever opens the index, with what to do about permissions
        return ""
    memory = _memory(directory)
    known = _remembered(memory)
    compared: dict[str, _Stamp] = {}
    left = BUDGET
    problem = ""
    # The manifest first: what is wrong with it explains the rest.
    for name, wanted in sorted(recorded.files.items(), key=lambda item: (item[0] != MANIFEST, item[0])):
        path = there.pop(name, None)
        if path is None:
            problem = problem or f"{name} is missing"
            continue
        try:
            found = path.stat()
            stamp = (found.st_size, found.st_mtime_ns, found.st_ino)
            if known.get(name) == stamp:
                compared[name] = stamp
                continue
            whole = found.st_size == wanted.size
            if whole and wanted.size <= left:
                left -= wanted.size
                whole = digests.digest_of(path) == wanted
                compared[name] = stamp
            if not whole:
                compared.pop(name, None)
                problem = problem or f"the content of {name} is not what was built"
        except OSError:
            continue
    if there and not problem:
        problem = f"{min(there)} was not built with it"
    if compared != known:
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time only
            memory.parent.mkdir(parents=True, exist_ok=True)
            put(memory, json.dumps(compared).encode())
    return problem


def _memory(directory: Path) -> Path:
    named = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:24]
    return paths.cache_dir() / "indexes" / f"{named}.json"


def _remembered(file: Path) -> dict[str, _Stamp]:
    try:
        data = json.loads(file.read_bytes())
        return {str(name): (int(stamp[0]), int(stamp[1]), int(stamp[2])) for name, stamp in data.items()}
    except (OSError, ValueError, TypeError, AttributeError, IndexError, RecursionError):
        return {}
