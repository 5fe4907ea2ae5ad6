"""The ledger of a build: its inputs, settings and progress, so that a killed build can resume.

It lies in the build's hidden directory (:func:`publishing.resumable`) and is replaced as a whole with every commit: it
names the last state that is surely on the disk, never a later one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing.builds.publishing import LEDGER, LOCK, resumable
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.store import IndexKind, InputFile
from atomr_local.input_files import open_regular
from atomr_local.output_files import put
from atomr_local.sanitize import sanitize_line

SCHEMA = 1
_CHUNK = 4 << 20


@dataclass
class Ledger:
    """An open ledger. The state is what the builder committed last; {} when nothing is done yet.

    Attributes:
        inputs: the files as a manifest names them, hashed when the ledger was opened.
        state: JSON values only.
        resumed: an earlier, unfinished run of this build was found, and `state` is where it stopped.
        note: why an earlier, unfinished build was discarded, in words for the user; "" when none was.
    """

    directory: Path
    kind: IndexKind
    inputs: list[InputFile]
    settings: dict[str, Any]
    state: dict[str, Any] = field(default_factory=dict)
    resumed: bool = False
    note: str = ""
    _stamps: list[int] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        directory: Path,
        kind: IndexKind,
        files: Sequence[Path],
        settings: Mapping[str, Any],
        *,
        cancellation: Cancellation | None = None,
        hashing: Callable[[int], None] | None = None,
    ) -> Ledger:
        """The ledger in `directory`, which the caller holds by :func:`publishing.resumable`.

        Without one that fits these files (by content, in this order) and settings, the directory is emptied and the
        build starts over; `note` tells so. Nothing is written before the first :meth:`commit`.

        Args:
            settings: all that decides what is built, as JSON values.
            hashing: called with the bytes hashed so far, of all files together.

        Raises:
            InputError: a file cannot be read.
            Cancelled: `cancellation` was thrown while files were hashed.
        """
        wanted = json.loads(json.dumps(dict(settings)))
        old, problem = _read(directory, kind)
        stamps = [_stamp(file) for file in files]
        inputs = _described(files, stamps, old, cancellation or Cancellation(), hashing or (lambda _: None))
        if old is not None:
            same_files = [(i.size, i.sha256) for i in old.inputs] == [(i.size, i.sha256) for i in inputs]
            if same_files and old.settings == wanted:
                return cls(directory, kind, inputs, wanted, old.state, resumed=True, _stamps=stamps)
            what = "settings" if same_files else "input files"
            problem = f"an unfinished build with other {what} was discarded; this one starts over"
        empty(directory)
        return cls(directory, kind, inputs, wanted, note=problem, _stamps=stamps)

    def commit(self, state: Mapping[str, Any]) -> None:
        """Make `state` the last state, surely on the disk on return; on an error the one before stays.

        Raises:
            OSError: it cannot be written.
        """
        kept = dict(state)
        inputs = [
            asdict(item) | {"modified": stamp} for item, stamp in zip(self.inputs, self._stamps, strict=True)
        ]  # fmt: skip
        document = {
            "schema": SCHEMA, "kind": self.kind, "inputs": inputs, "settings": self.settings, "state": kept,
        }  # fmt: skip
        put(self.directory / LEDGER, json.dumps(document, ensure_ascii=True).encode())
        self.state = kept

    @contextlib.contextmanager
    def given_up_without_input(self) -> Iterator[None]:
        """Around the reading of the inputs: where what they hold cannot be used, no later run could go on, so that the
        build is given up. Where they only could not be read this time, it stays.

        Raises:
            InputError: passed on.
        """
        try:
            yield
        except InputError as error:
            cause = error.__cause__
            if not (isinstance(cause, OSError) and cause.errno):
                (self.directory / LEDGER).unlink(missing_ok=True)
            raise

    def nothing_in(self, what: str, skipped: Skipped, passed_over: Mapping[str, int] | None = None) -> InputError:
        """Give the build up: its inputs hold nothing to put into an index, so that no later run could go on.

        Args:
            what: what they should hold, such as "articles".
            skipped: the records that could not be used.
            passed_over: how much of what was read and no index is built of.
        """
        (self.directory / LEDGER).unlink(missing_ok=True)
        whys = [f"{number} {kind} were passed over" for kind, number in (passed_over or {}).items() if number]
        if skipped.samples:
            whys.insert(0, f"{skipped.count} records could not be used: {skipped.samples[0][2]}")
        why = f" ({'; '.join(whys)})" if whys else ""
        return InputError(
            f"no {what} in {', '.join(sanitize_line(item.path) for item in self.inputs)}{why}",
            hint="Nothing was changed. Is it the right file, and does --format name what it holds?",
        )

    def check_inputs(self) -> None:
        """Make sure that no input was changed while it was read.

        Raises:
            InputError: one was.
        """
        for item, stamp in zip(self.inputs, self._stamps, strict=True):
            if _stamp(Path(item.path)) != stamp or Path(item.path).stat().st_size != item.size:
                raise InputError(
                    f"{item.path} was changed while it was read",
                    hint="Run the build again when the file stays as it is.",
                )


def read_ledger(directory: Path) -> Ledger | None:
    """The ledger of an unfinished build, to look at; None if none can be read."""
    for kind in ("text", "graph"):
        found, _ = _read(directory, kind)
        if found is not None:
            return found
    return None


@contextlib.contextmanager
def changing(kind: IndexKind, name: str) -> Iterator[Path]:
    """An empty directory for a change of the index `name` that takes one run, held as by :func:`publishing.resumable`.

    Raises:
        KnowledgeIndexError: an unfinished build would be lost, or another process is building this index.
        OSError: the directory cannot be made.
    """
    with resumable(kind, name) as scratch:
        if read_ledger(scratch) is not None:
            raise would_be_lost(kind, name)
        empty(scratch)  # of what a run left that was killed
        yield scratch


def would_be_lost(kind: IndexKind, name: str) -> KnowledgeIndexError:
    """The error to raise where an unfinished build stands in the way of a change."""
    return KnowledgeIndexError(
        f"an unfinished build of the {kind} index {name!r} would be lost",
        hint="Run the command that started it again, or drop it with "
        f"`atomr indexes remove {kind} {name} --unfinished`.",
    )


def _read(directory: Path, kind: IndexKind) -> tuple[Ledger | None, str]:
    """The ledger there, or why there is none ("" where nothing was begun)."""
    try:
        data = json.loads((directory / LEDGER).read_bytes())
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError, RecursionError):
        return None, "an unfinished build whose ledger cannot be read was discarded; this one starts over"
    try:
        if (data["schema"], data["kind"]) != (SCHEMA, kind):
            return None, "an unfinished build of another version was discarded; this one starts over"
        inputs = [InputFile(str(i["path"]), int(i["size"]), str(i["sha256"])) for i in data["inputs"]]
        stamps = [int(i["modified"]) for i in data["inputs"]]
        settings, state = dict(data["settings"]), dict(data["state"])
    except (KeyError, TypeError, ValueError):
        return None, "an unfinished build whose ledger is damaged was discarded; this one starts over"
    return Ledger(directory, kind, inputs, settings, state, _stamps=stamps), ""


def _stamp(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error


def _described(
    files: Sequence[Path],
    stamps: Sequence[int],
    old: Ledger | None,
    cancellation: Cancellation,
    hashing: Callable[[int], None],
) -> list[InputFile]:
    """The files with their hashes; one that was not touched since the old ledger is not hashed again."""
    known: dict[tuple[str, int, int], InputFile] = {}
    if old is not None:
        known = {(i.path, i.size, stamp): i for i, stamp in zip(old.inputs, old._stamps, strict=True)}
    found = []
    done = 0
    for file, stamp in zip(files, stamps, strict=True):
        path = str(file.absolute())  # an index is looked at from other folders than it was built in
        try:
            size = file.stat().st_size
            item = known.get((path, size, stamp))
            if item is None:
                digest = hashlib.sha256()
                with open_regular(file) as stream:
                    while chunk := stream.read(_CHUNK):
                        cancellation.check()
                        digest.update(chunk)
                        hashing(done + stream.tell())
                item = InputFile(path, size, digest.hexdigest())
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from error
        done += size
        found.append(item)
    return found


def empty(directory: Path) -> None:
    """Remove all that the directory of an unfinished build holds but the file that holds it."""
    for item in directory.iterdir():
        if item.name == LOCK:
            continue
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink()
