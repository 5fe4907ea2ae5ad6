"""The ledger of a build: its inputs, settings and progress, so that a killed build can resume.

It lies in the build's hidden directory (:func:`publishing.resumable`) and is replaced as a whole with every commit: it
names the last state that is surely on the disk, never a later one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError, Cancelled, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing as digests
from atomr_local.indexing.builds.publishing import LEDGER, LOCK, resumable
from atomr_local.indexing.foreign_errors import library_line, panics_as_errors
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.readers.wikipedia.mediawiki import page_props_beside
from atomr_local.indexing.store import IndexKind, InputFile
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import open_regular, put
from atomr_local.system.sanitize import sanitize_line

# Raised for a kind when its builds keep another state.
SCHEMAS: dict[IndexKind, int] = {"text": 2, "graph": 1}
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
            "schema": SCHEMAS[self.kind], "kind": self.kind, "inputs": inputs, "settings": self.settings, "state": kept,
        }  # fmt: skip
        put(self.directory / LEDGER, json.dumps(document, ensure_ascii=True).encode())
        self.state = kept

    @contextlib.contextmanager
    def abandon_if_empty(self) -> Iterator[None]:
        """Around the reading of the inputs: where what they hold cannot be used, no later run could go on, so that the
        build is given up. Where they only could not be read this time, it stays.

        Raises:
            InputError: passed on.
        """
        try:
            yield
        except InputError as error:
            cause = error.__cause__
            if self.inputs and not (isinstance(cause, OSError) and cause.errno):
                (self.directory / LEDGER).unlink(missing_ok=True)
            raise

    def empty_input_error(
        self, what: str, skipped: Skipped, passed_over: Mapping[str, int] | None = None
    ) -> InputError:
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
            raise unfinished_build_error(kind, name)
        empty(scratch)  # of what a run left that was killed
        yield scratch


def unfinished_build_error(kind: IndexKind, name: str) -> KnowledgeIndexError:
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
        if (data["schema"], data["kind"]) != (SCHEMAS[kind], kind):
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


# The command that rebuilds an index, from its manifest.


# Stands for a file of titles or ids whose place no manifest of an earlier version holds.
_UNKNOWN = "FILE"


def rebuild_hint(entry: store.IndexEntry) -> str:
    """What to do about a damaged index."""
    if entry.name == store.STARTER:
        return repair_hint(entry)
    imported = _settings(entry).get("imported")
    if isinstance(imported, dict):
        return f"Import it again from {imported.get('file', 'its file')}: atomr indexes import FILE --replace"
    hint = f"Build it again: {rebuild_command(entry)}"
    change = _settings(entry).get("last_change")
    if isinstance(change, dict):
        hint += " (then repeat what was added to it or removed from it since)"
    return hint


def repair_hint(entry: store.IndexEntry) -> str:
    """What to do about a damaged index that needs nothing but what is there."""
    return f"`atomr indexes repair {entry.name}` repairs it."


def damage_hint(kind: store.IndexKind, directory: Path) -> str:
    """What to do about the index in `directory`, which proved to be damaged."""
    try:
        manifest = store.read_manifest(directory)
    except KnowledgeIndexError as error:
        return error.hint
    entry = store.IndexEntry(kind, directory.name, directory, manifest)
    if entry.name == store.STARTER:
        return store.permission_hint(directory) or repair_hint(entry)
    rebuild = rebuild_hint(entry)
    return store.permission_hint(directory) or (
        f"Run `atomr indexes repair {entry.name}`. If it cannot repair the index, {rebuild[0].lower()}{rebuild[1:]}"
    )


def rebuild_command(entry: store.IndexEntry) -> str:
    """The whole command, quoted for a shell; INPUT... where the inputs are not known.

    FILE stands for a list of titles, entities or properties that the index was built with and whose place is not known.
    """
    inputs, options = rebuild_words(entry)
    return f"atomr {entry.kind} build {shlex.join(inputs) or 'INPUT...'} {shlex.join(options)}"


def rebuild_words(entry: store.IndexEntry) -> tuple[list[str], list[str]]:
    """(inputs, options) of the command, each a word as a program is given it."""
    settings = _settings(entry)
    options = _text_options(settings) if entry.kind == "text" else _graph_options(settings)
    if entry.manifest is not None and "linearised" in entry.manifest.counts:
        options.append("--linearise")
    return _inputs(entry), ["--name", entry.name, *options]


def _inputs(entry: store.IndexEntry) -> list[str]:
    """The files that were given; the tables that were found beside them are no inputs of the command."""
    files = [item.path for item in entry.manifest.inputs] if entry.manifest else []
    first = _settings(entry).get("first_inputs")  # what was added later does not count
    if isinstance(first, int) and 0 < first <= len(files):
        files = files[:first]
    if entry.kind != "text":
        return files
    beside = {str(table) for file in files if (table := page_props_beside(Path(file))) is not None}
    return [file for file in files if file not in beside]


def _settings(entry: store.IndexEntry) -> dict[str, Any]:
    return entry.manifest.settings if entry.manifest else {}


def _text_options(settings: dict[str, Any]) -> list[str]:
    options: list[str] = []
    folders = settings.get("folders")
    if isinstance(folders, dict):
        for pattern in folders.get("exclude", ()):
            options += ["--exclude", str(pattern)]
        options += ["--hidden"] if folders.get("hidden") else []
        options += ["--gitignore"] if folders.get("gitignore") else []
        options += ["--ocr", str(folders["ocr"])] if folders.get("ocr") else []
        # Documents alone: by their content they may be files of articles too.
        if not any(Path(str(root)).is_dir() for root in folders.get("roots", ())):
            options += ["--format", "documents"]
        return [*options, "--vectors", "later"] if "vectors" in settings else options
    if (format_ := settings.get("format", "auto")) != "auto":
        options += ["--format", str(format_)]
    columns = settings.get("columns")
    for name in ("id", "title", "text"):
        if isinstance(columns, dict) and columns.get(name):
            options += [f"--{name}", str(columns[name])]
    options += ["--salvage"] if settings.get("salvage") is True else []
    if (limit := settings.get("limit")) is not None:
        options += ["--limit", str(limit)]
    if settings.get("titles") is not None:
        options += ["--titles", _given(settings, "titles")]
    if "vectors" in settings:
        options += ["--vectors", "later"]
    return options


def _graph_options(settings: dict[str, Any]) -> list[str]:
    options: list[str] = []
    if (format_ := _asked(settings).get("format", "auto")) != "auto":
        options += ["--format", str(format_)]
    text_index = settings.get("text_index")
    if isinstance(text_index, dict) and text_index.get("name"):
        options += ["--text-index", str(text_index["name"])]
    for name in ("entities", "properties"):
        if settings.get(name) is not None:
            options += [f"--{name}", _given(settings, name)]
    if (language := settings.get("language", "en")) != "en":
        options += ["--language", str(language)]
    return options


def _asked(settings: dict[str, Any]) -> dict[str, Any]:
    """What the build was asked for and the rest of the settings does not tell."""
    asked = settings.get("asked")
    return asked if isinstance(asked, dict) else {}


def _given(settings: dict[str, Any], name: str) -> str:
    return str(_asked(settings).get(name) or _UNKNOWN)


# What is found of one index when it is checked; errors of the libraries become problems in words.


@dataclass
class Report:
    """What was found of one index, or of an unfinished build.

    Attributes:
        state: whole, damaged, half-built, being built, set aside, or left over.
        problems: what is wrong, one thing each; empty for a whole index.
        notes: what is good to know and no damage.
        measured: figures, such as {"recall@10": 0.998}.
        hint: what to do about the problems; "" when there are none.
        files: how its files differ from those that were built.
    """

    kind: store.IndexKind
    name: str
    path: Path
    state: str = "whole"
    counts: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)
    hint: str = ""
    files: digests.Findings = field(default_factory=digests.Findings)

    @property
    def good(self) -> bool:
        return self.state in ("whole", "being built")


@contextlib.contextmanager
def damage(report: Report, what: str = "") -> Iterator[None]:
    """Whatever the libraries raise on damaged files becomes a problem of the report."""
    before = f"{what}: " if what else ""
    try:
        with panics_as_errors():
            yield
    except Cancelled:
        raise
    except AtomrError as error:
        report.problems.append(before + error.message)
    except Exception as error:
        report.problems.append(f"{before}{library_line(error, report.path)}")
