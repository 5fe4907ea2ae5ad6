"""The directory of an evaluation run, which survives being killed.

    run.json            what the run is: written first, compared on every resumption; names the version of the
                        program that began it, and each that has answered questions of it
    predictions.jsonl   one line a finished question; a question whose line is here is done
    traces.jsonl        its trace under the same id, written just before the prediction
    report.json, report.md, diagnosis.jsonl   made from the three above, at any time

A kill can cut the last line of either file short, or leave a trace without its prediction. Opening the directory
for writing repairs both.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.evaluation.datasets import Prediction, prediction_of
from atomr_local.evaluation.line_files import append_line, cut_torn_line, differences, json_line, locked
from atomr_local.evaluation.records import DatasetRecord, read_records
from atomr_local.indexing.store import KINDS, STARTER, IndexKind, index_names, index_path, read_manifest, resolve
from atomr_local.indexing.text_index.vector_state import vector_state
from atomr_local.input_files import open_regular, read_text
from atomr_local.output_files import not_written, put
from atomr_local.settings.old_names import renamed
from atomr_local.settings.schema import Settings
from atomr_local.strategies.options import options_of
from atomr_local.strategies.registry import find_strategy
from atomr_local.system.program_version import running_version

SCHEMA = "atomr.eval-run/1"
# Groups of settings that decide no answer: how the screen looks, what is kept of questions, how others are reached.
UNDECIDING = ("ui", "history", "network")
# In run.json: the version of the program that began the run, and each that has answered questions of it.
PROGRAMS = "programs"
RUN_FILE = "run.json"
PREDICTIONS_FILE = "predictions.jsonl"
TRACES_FILE = "traces.jsonl"
_LOCK_FILE = ".lock"
_RUN_BYTES = 64 << 20
_SHOWN_COMMIT = 12


def describe_run(settings: Settings, questions: Path, plans: Path | None = None) -> dict[str, Any]:
    """The run's description for run.json: the program's version, settings, what questions, plans and indexes hold.

    How many of the questions are asked is left out, so that a run can be extended, and so are settings that decide no
    answer. No secret is in it.

    Raises:
        InputError: a file cannot be read.
        SettingsError: the settings name no strategy, or an option that it does not take.
        KnowledgeIndexError: an index named in the settings is not built, or none is named where several are.
    """
    shown = settings.model_dump(mode="json", exclude=set(UNDECIDING))
    for name in ("api_key", "deadline", "allow_unencrypted_credentials"):
        shown["endpoint"].pop(name)
    # Of the strategies, the one that answers, and with the defaults that hold.
    shown.pop("strategies")
    if options := options_of(find_strategy(settings.strategy), settings).model_dump(mode="json"):
        shown["strategies"] = {settings.strategy: options}
    names: dict[IndexKind, str] = {"text": settings.text_index, "graph": settings.graph_index}
    return {
        "schema": SCHEMA,
        PROGRAMS: [running_version().to_dict()],
        "questions": _digest(questions),
        "plans": _digest(plans) if plans else None,
        "indexes": {kind: _index(kind, names[kind]) for kind in KINDS if kind in settings.sources},
        "settings": shown,
    }


def _digest(path: Path) -> dict[str, str]:
    try:
        with open_regular(path) as stream:
            return {"file": path.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _index(kind: IndexKind, configured: str) -> dict[str, Any]:
    name = resolve(kind, configured)
    if len(names := index_names(name)) > 1:
        return {"name": name, "indexes": [_index(kind, one) for one in names]}
    if name == STARTER:  # built on first use, perhaps by this very run
        return {"name": name}
    manifest = read_manifest(index_path(kind, name))
    found: dict[str, Any] = {
        "name": name,
        "counts": manifest.counts,
        "inputs": [item.sha256 for item in manifest.inputs],
    }
    if kind == "text" and (state := vector_state(manifest)).completeness != "all":
        found["vectors"] = state.embedded  # with more of them, other passages are found
    return found


class RunDirectory:
    """A run's directory, for reading; see :func:`writing` for adding to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.predictions_file = path / PREDICTIONS_FILE
        self.traces_file = path / TRACES_FILE

    def description(self) -> dict[str, Any]:
        """What the run is, as it was described when it began.

        Raises:
            InputError: the directory holds no run, or its description is damaged.
        """
        file = self.path / RUN_FILE
        try:
            described = json.loads(read_text(file, _RUN_BYTES))
        except FileNotFoundError as error:
            raise InputError(
                f"{self.path} contains no evaluation run ({RUN_FILE} is missing)",
                hint="Name a directory that `atomr eval run --out` has written.",
            ) from error
        except (OSError, ValueError) as error:
            raise InputError(f"{file} cannot be read: {error}") from error
        if not isinstance(described, dict):
            raise InputError(f"{file} is not a JSON object")
        return described

    def predictions(self) -> list[Prediction]:
        """The finished questions in the order they were answered; none where the run has not begun.

        Raises:
            InputError: naming file and line of what is wrong.
        """
        return [prediction_of(record) for record in _lines(self.predictions_file)]

    def traces(self) -> Iterator[dict[str, Any]]:
        """The finished questions' traces, each with its question's "id".

        Raises (while iterating):
            InputError: naming file and line of what is wrong.
        """
        for record in _lines(self.traces_file):
            record.text("id")
            yield record.fields


def check_resumable(path: Path, description: Mapping[str, Any]) -> None:
    """Refuse a directory whose run was begun with another description; one without a run is fine.

    Raises:
        InputError: it was, or its run.json is damaged.
    """
    if (path / RUN_FILE).exists():
        described: dict[str, Any] = json.loads(json.dumps(description))
        _check_same(path, RunDirectory(path).description(), described)


@dataclass(slots=True)
class RunWriter:
    """Appends finished questions; each is on the disk when :meth:`add` returns.

    Attributes:
        done: ids of the questions that were finished before.
        programs: the versions of the program that the run's description names.
    """

    directory: Path
    predictions: FileIO
    traces: FileIO
    done: frozenset[str]
    programs: Sequence[Any]

    def add(self, prediction: Mapping[str, Any], trace: Mapping[str, Any]) -> None:
        """Append a finished question, and tell in run.json which version of the program has answered it.

        Raises:
            InputError: run.json cannot be written.
            OSError: the question cannot be written.
        """
        if self.programs:
            _note_programs(self.directory, self.programs)
            self.programs = ()
        # In this order, so that a kill between the two leaves a question undone rather than without its trace.
        append_line(self.traces, trace)
        append_line(self.predictions, prediction)


@contextlib.contextmanager
def writing(path: Path, description: Mapping[str, Any]) -> Iterator[RunWriter]:
    """The run in `path` opened for adding questions: begun if new, repaired and resumed if not.

    Args:
        description: what decides the answers; a directory begun with another one is refused.

    Raises:
        InputError: the directory cannot be written, belongs to another run, is being written by another process,
            or holds a damaged line before the last.
    """
    described: dict[str, Any] = json.loads(json.dumps(description))
    try:
        _make_directory(path)
        with locked(path / _LOCK_FILE, path):
            done = _begin_or_resume(RunDirectory(path), described)
            # Without buffers: what a failed write leaves in one would be written when the file is closed.
            with (
                (path / PREDICTIONS_FILE).open("ab", buffering=0) as predictions,
                (path / TRACES_FILE).open("ab", buffering=0) as traces,
            ):
                yield RunWriter(path, predictions, traces, done, described.get(PROGRAMS, ()))
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be written: {error.strerror or error}") from error


def _make_directory(path: Path) -> None:
    """Make the directory; refuse one whose files are devices, pipes or directories, which could block or lose lines."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(
            f"{error.filename or path} cannot be written: it is not a directory",
            hint="A run is written into a directory: name another --out.",
        ) from error
    for name in (_LOCK_FILE, RUN_FILE, PREDICTIONS_FILE, TRACES_FILE):
        file = path / name
        if file.exists() and not file.is_file():
            raise InputError(f"{file} is not a regular file", hint="Remove it, or name another --out directory.")


def write_file(path: Path, text: str) -> None:
    """Put `text` at `path`, whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    try:
        put(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise not_written(path, error) from error


def _begin_or_resume(run: RunDirectory, described: dict[str, Any]) -> frozenset[str]:
    if not (run.path / RUN_FILE).exists():
        if run.predictions_file.exists() or run.traces_file.exists():
            raise InputError(
                f"{run.path} holds predictions or traces but no {RUN_FILE}, so it cannot be resumed",
                hint="Name another --out directory.",
            )
        write_file(run.path / RUN_FILE, json.dumps(described, ensure_ascii=False, indent=1) + "\n")
        return frozenset()
    _check_same(run.path, run.description(), described)
    cut_torn_line(run.predictions_file)
    cut_torn_line(run.traces_file)
    done = [prediction.id for prediction in run.predictions()]
    traced = [trace["id"] for trace in run.traces()]
    if missing := set(done).difference(traced):
        raise InputError(
            f"{run.traces_file} lacks the trace of {min(missing)!r}, which {PREDICTIONS_FILE} has",
            hint="Restore the file or name another --out directory.",
        )
    if len(traced) > len(done):
        kept = {trace["id"]: trace for trace in run.traces() if trace["id"] in set(done)}
        write_file(run.traces_file, "".join(f"{json_line(trace)}\n" for trace in kept.values()))
    return frozenset(done)


def _note_programs(path: Path, programs: Sequence[Any]) -> None:
    """Add these versions of the program to run.json, where it does not name them yet."""
    described = RunDirectory(path).description()
    known = programs_of(described)
    if new := [program for program in programs if program not in known]:
        described[PROGRAMS] = [*known, *new]
        write_file(path / RUN_FILE, json.dumps(described, ensure_ascii=False, indent=1) + "\n")


def programs_of(description: Mapping[str, Any]) -> list[Any]:
    """The versions of the program that a run's description names; None stands for one that did not name itself."""
    found = description.get(PROGRAMS)
    return found if isinstance(found, list) else [None]


def program_text(program: Any) -> str:
    """A version of the program in words: "0.1.0, commit 67f63a5c1d2e"."""
    if not isinstance(program, Mapping):
        return "not recorded"
    commit = str(program.get("commit") or "")
    changed = " with changes" if program.get("changed") else ""
    return f"{program.get('version')}" + (f", commit {commit[:_SHOWN_COMMIT]}{changed}" if commit else "")


def _check_same(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    changed = list(differences(_deciding(old), _deciding(new)))
    if changed:
        shown = "; ".join(f"{key} was {was}, is now {now}" for key, was, now in changed[:5])
        more = f"; and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise InputError(
            f"{path} was begun with other settings: {shown}{more}",
            hint="Use the same settings to resume, or name another --out directory.",
        )


def _deciding(description: Mapping[str, Any]) -> dict[str, Any]:
    """A description without what decides no answer, by today's names; a run begun by an earlier version may have it.

    A run may go on with another version of the program, which run.json then names beside the first.
    """
    kept = {name: value for name, value in description.items() if name != PROGRAMS}
    settings = kept.get("settings")
    if not isinstance(settings, Mapping):
        return kept
    settings = renamed(settings)
    return {**kept, "settings": {name: value for name, value in settings.items() if name not in UNDECIDING}}


def _lines(path: Path) -> Iterator[DatasetRecord]:
    """The file's records, without a last line that a kill has cut short."""
    if not path.exists():
        return
    last = 0
    try:
        for record in read_records(path):
            yield record
            last = record.line
    except InputError:
        if not _is_torn(path, last):
            raise


def _is_torn(path: Path, whole: int) -> bool:
    """Whether all that follows the first `whole` lines is one without a line feed."""
    with path.open("rb") as stream:
        left = [line for line in itertools.islice(stream, whole, None) if line.strip()]
    return len(left) == 1 and not left[0].endswith(b"\n")
