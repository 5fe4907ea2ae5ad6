"""Runs: the questions of a set asked one by one, and the directory that keeps every prediction and trace."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Protocol

from atomr_lab.evaluation.datasets import DatasetRecord, Prediction, Question, prediction_of, read_records
from atomr_lab.evaluation.metrics import Score, score_answer
from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.indexing.store import KINDS, STARTER, IndexKind, index_names, index_path, read_manifest, resolve
from atomr_local.indexing.text_index.vectors import vector_state
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.settings.schema import Settings, renamed
from atomr_local.strategies.options import options_of
from atomr_local.strategies.registry import find_strategy
from atomr_local.system.files import json_line, locked, not_written, open_regular, put, read_text
from atomr_local.system.program_version import running_version
from atomr_local.tree.nodes import Tree

# Files that survive being killed: JSON lines that are added one by one, and the lock of whoever adds them.

_MISSING = "(not there)"


def differences(old: Any, new: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Where two descriptions differ: the dotted key, what it was and what it is, as JSON."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name, _MISSING), new.get(name, _MISSING), f"{key}.{name}" if key else name)
    elif old != new:
        yield key, _shown(old), _shown(new)


def _shown(value: Any) -> str:
    return _MISSING if value is _MISSING else json.dumps(value, ensure_ascii=False)


def append_line(stream: FileIO, fields: Mapping[str, Any]) -> None:
    """Add a line that is on the disk on return; on an error it is removed again, if the disk allows."""
    end = os.fstat(stream.fileno()).st_size
    left = memoryview(f"{json_line(fields)}\n".encode())
    try:
        while left:
            left = left[stream.write(left) :]
        os.fsync(stream.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(stream.fileno(), end)
        raise


def cut_torn_line(path: Path) -> None:
    """Cut off what follows the last line feed."""
    if not path.exists():
        return
    with path.open("rb+") as stream:
        end = whole = stream.seek(0, os.SEEK_END)
        while whole:
            start = max(0, whole - 65536)
            stream.seek(start)
            found = stream.read(whole - start).rfind(b"\n")
            if found >= 0:
                whole = start + found + 1
                break
            whole = start
        if whole < end:
            stream.truncate(whole)


# The directory of an evaluation run, which survives being killed.
#
#     run.json            what the run is: written first, compared on every resumption; names the version of the
#                         program that began it, and each that has answered questions of it
#     predictions.jsonl   one line a finished question; a question whose line is here is done
#     traces.jsonl        its trace under the same id, written just before the prediction
#     report.json, report.md, diagnosis.jsonl   made from the three above, at any time
#
# A kill can cut the last line of either file short, or leave a trace without its prediction. Opening the directory
# for writing repairs both.

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
        with locked(path / _LOCK_FILE, path, "another evaluation"):
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


# Asks the questions of a set one by one and keeps every prediction and trace.

_FAILURES_IN_A_ROW = 5


class Asker(Protocol):
    """What the runner needs of an assistant."""

    def ask(self, question: str, *, plan: Tree | None = None, plan_origin: PlanOrigin = "user") -> Iterator[Event]: ...

    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """One question has been answered, the `done`-th of `total`; `resumed` of them were answered by an earlier run."""

    done: int
    total: int
    resumed: int
    question: Question
    trace: Trace
    predicted: str
    score: Score


def predicted_answer(trace: Trace) -> str:
    """What the published predictions would hold: the bare answers, joined; empty for Unknown and for failures."""
    return ", ".join(trace.answers)


def guessed_answer(trace: Trace) -> str:
    """The answer, or where the question was declined the best guess; empty if there is none."""
    return predicted_answer(trace) or (trace.guess.text if trace.guess is not None else "")


def run(
    assistant: Asker,
    questions: Sequence[Question],
    out_dir: Path,
    *,
    description: Mapping[str, Any],
    plans: Mapping[str, Tree] | None = None,
    before: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> int:
    """Answer every question that `out_dir` does not hold yet.

    A question that fails is kept as an empty prediction with status "failed", and the run continues; several failures
    in a row stop it, and none of them is kept. Interrupted at any point, the directory stays valid and the next run
    continues from there.

    Args:
        description: what decides the answers (strategy, settings, question file); see `run_directory.writing`.
        plans: by question id, plans to execute instead of planning.
        before: run once before the first question that is asked now, such as loading the model; what it raises
            leaves the directory resumable.

    Returns:
        How many questions were answered now.

    Raises:
        InputError: `out_dir` cannot be used.
        AtomrError: one question after the other failed.
        Cancelled: the user interrupted the run; the current question is not kept.
    """
    answered = 0
    failed: list[tuple[Question, Trace]] = []
    with writing(out_dir, description) as writer:
        waiting = [question for question in questions if question.id not in writer.done]
        resumed = len(questions) - len(waiting)
        if waiting:
            before()
        for number, question in enumerate(waiting, start=1):
            trace = _ask(assistant, question, (plans or {}).get(question.id))
            failed.append((question, trace))
            if trace.status == "failed" and number < len(waiting):
                if len(failed) == _FAILURES_IN_A_ROW:
                    raise _gave_up(trace)
                continue
            for item, item_trace in failed:
                predicted = predicted_answer(item_trace)
                score = score_answer(predicted, item.gold)
                prediction = _prediction(item, item_trace, predicted, score)
                writer.add(prediction, _kept_trace(item, item_trace))
                answered += 1
                on_progress(Progress(resumed + answered, len(questions), resumed, item, item_trace, predicted, score))
            failed.clear()
    return answered


def _ask(assistant: Asker, question: Question, plan: Tree | None) -> Trace:
    """The question's trace, also when it failed.

    Raises:
        Cancelled: the user interrupted.
    """
    trace: Trace | None = None
    problem = "the assistant ended without a trace"
    given: dict[str, Any] = {} if plan is None else {"plan": plan, "plan_origin": "file"}
    try:
        for event in assistant.ask(question.question, **given):
            if isinstance(event, Finished):
                trace = event.trace
    except KeyboardInterrupt:
        assistant.cancel()
        raise Cancelled("the evaluation was interrupted; run the same command again to resume") from None
    except Cancelled:
        raise
    except AtomrError as error:
        problem = str(error)
    except Exception as error:  # whatever one question meets, the others are still asked
        problem = f"{type(error).__name__}: {error}"
    if trace is None:
        trace = Trace(question=question.question, strategy="", settings={}, status="failed", warnings=[problem])
    if trace.status == "cancelled":
        raise Cancelled("the question was cancelled; run the same command again to resume")
    return trace


def _gave_up(last: Trace) -> AtomrError:
    reason = last.warnings[-1] if last.warnings else "no reason given"
    return AtomrError(
        f"{_FAILURES_IN_A_ROW} questions in a row failed, the last with: {reason}",
        title="Evaluation stopped",
        hint="None of them is recorded: fix the cause and run the same command again.",
    )


def _kept_trace(question: Question, trace: Trace) -> dict[str, Any]:
    """The trace under the question's id; its own is kept as "trace_id"."""
    document = trace.to_dict()
    own = document.pop("id")
    return {"id": question.id, **document, "trace_id": own}


def _prediction(question: Question, trace: Trace, predicted: str, score: Score) -> dict[str, Any]:
    guess = guessed_answer(trace)
    guess_score = score_answer(guess, question.gold)
    confidence = trace.guess.confidence if trace.guess is not None else trace.confidence
    return {
        "id": question.id,
        "question": question.question,
        "predicted": predicted,
        "gold": list(question.answers),
        "em": score.em,
        "cover_em": score.cover_em,
        "f1": round(score.f1, 4),
        "guess": guess,
        "guess_em": guess_score.em,
        "guess_f1": round(guess_score.f1, 4),
        "confidence": confidence,
        "reason": trace.reason,
        "status": trace.status,
        "seconds": trace.totals.seconds,
        **question.gold_fields(),
    }
