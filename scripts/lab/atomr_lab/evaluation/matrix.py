"""Every strategy on every question set, one run directory each: OUT/SET/ARM.

An arm is a strategy, or an ablation of one. Beside a run's own files its directory holds cell.json: what set and arm it
is, and how many questions are asked. Nothing is shared between runs, so that the matrix can be killed anywhere,
extended, and asked in parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from atomr_lab.evaluation.datasets import Ablation, Question, QuestionSet, SetsFile
from atomr_lab.evaluation.markdown import write_report
from atomr_lab.evaluation.report import REPORT_FILE, build_report
from atomr_lab.evaluation.runs import Asker, Progress, RunDirectory, check_resumable, describe_run, run, write_file
from atomr_local.errors import AtomrError, Cancelled, InputError, MissingPartError, ModelError
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.store import KINDS, IndexKind, index_names, index_path, resolve
from atomr_local.settings.file import changed_settings
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import SourceName
from atomr_local.sources.registry import facts_missing, permitted
from atomr_local.strategies.names import known_names
from atomr_local.strategies.options import StrategyOptions, options_of
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.registry import check_needs, check_only_source, find_strategy, lacks_source
from atomr_local.system.files import read_text

# Whether every run of a matrix has what it asks of its sources, checked for all of them before a model is loaded.

_Problem = tuple[str, str]  # what is wrong, and what helps


class SourceCheck:
    """Gathers what is wrong with the sources of the runs, each problem once for a set."""

    def __init__(self) -> None:
        self._problems: dict[str, dict[_Problem, list[str]]] = {}
        self._indexes: dict[tuple[IndexKind, str], _Problem | None] = {}

    def run(self, set_name: str, arm: str, strategy: Strategy, settings: Settings) -> None:
        """Check one run. Of a strategy that needs a source that the set does not have, the other needs are not: it is
        left out there.

        Args:
            arm: the strategy, or the ablation of one.
            settings: those that the questions are asked with.
        """
        for problem in self._wrong(strategy, settings):
            arms = self._problems.setdefault(set_name, {}).setdefault(problem, [])
            arms += [arm] if arm not in arms else []

    def refuse(self) -> None:
        """Tell what was found to be wrong.

        Raises:
            InputError: something was; sets, strategies and what helps are named.
        """
        lines = [
            f"set {name}, {'strategies' if len(arms) > 1 else 'strategy'} {', '.join(arms)}: {what}"
            + (f" → {hint}" if hint else "")
            for name, problems in self._problems.items()
            for (what, hint), arms in problems.items()
        ]
        if lines:
            raise InputError(
                "\n  ".join(["some runs lack what they need; nothing was asked", *lines]),
                hint="Then run the same command again. --only and --strategies leave sets and strategies out.",
            )

    def _wrong(self, strategy: Strategy, settings: Settings) -> Iterator[_Problem]:
        if not strategy.uses_sources or lacks_source(strategy, settings.sources):
            return
        names = zip(KINDS, (settings.text_index, settings.graph_index), strict=True)
        indexes = [self._index(kind, name) for kind, name in names if kind in settings.sources]
        if any(indexes):
            yield from filter(None, indexes)
            return
        options = options_of(strategy, settings)
        try:
            check_needs(strategy, settings.sources, settings)
            _check_facts(strategy, options, settings.sources, settings)
            check_only_source(strategy, options, permitted(settings.sources, web=False))
        except AtomrError as error:
            yield error.message, error.hint

    def _index(self, kind: IndexKind, name: str) -> _Problem | None:
        """Why the index cannot be used; each is looked at once."""
        if (kind, name) not in self._indexes:
            self._indexes[kind, name] = None
            try:
                for one in index_names(resolve(kind, name)):
                    directory = index_path(kind, one)
                    if directory.exists():  # the starter is built on first use
                        require_unchanged(kind, directory)
            except AtomrError as error:
                self._indexes[kind, name] = error.message, error.hint
        return self._indexes[kind, name]


CELL_FILE = "cell.json"
SCHEMA = "atomr.eval-cell/1"
_CELL_BYTES = 1 << 20


class Assistant(Asker, Protocol):
    """What the matrix needs of an assistant."""

    def reconfigure(self, **changes: Any) -> None: ...

    def preload(self, on_stage: Callable[[str], None] | None = None) -> None: ...


@dataclass(frozen=True)
class Arm:
    """A column of the matrix: a strategy, with what an ablation changes of it.

    Attributes:
        place: among all strategies and ablations; tables are ordered by it.
    """

    name: str
    strategy: str
    place: int = 0
    ablation: Ablation | None = None


@dataclass(frozen=True)
class Cell:
    """One run: an arm on a set.

    Attributes:
        settings: those that the questions are asked with.
        description: what decides the answers; see :func:`describe_run`.
        place: of set and arm in the matrix, by which tables are ordered.
        offset: of the first question in its file.
        refused: why the arm cannot be asked this set; "" if it can.
    """

    set: QuestionSet
    arm: Arm
    directory: Path
    questions: Sequence[Question]
    settings: Settings
    description: Mapping[str, Any]
    place: tuple[int, int]
    offset: int
    refused: str = ""

    @property
    def name(self) -> str:
        return f"{self.set.name}/{self.arm.name}"

    def to_dict(self) -> dict[str, Any]:
        """What cell.json holds."""
        changed = self.arm.ablation
        return {
            "schema": SCHEMA,
            "set": self.set.name,
            "arm": self.arm.name,
            "strategy": self.arm.strategy,
            "ablation": None if changed is None else {"options": changed.options, "settings": changed.settings},
            "set_note": self.set.note,
            "arm_note": changed.note if changed else "",
            "sources": list(self.set.asked_sources),
            "offset": self.offset,
            "asked": len(self.questions),
            "place": list(self.place),
        }


def arms(file: SetsFile, names: Sequence[str]) -> list[Arm]:
    """The strategies and ablations of these names.

    Raises:
        InputError: a name is there twice, or an ablation has a strategy's name.
        SettingsError: there is no such strategy or ablation.
    """
    ablations = {ablation.name: ablation for ablation in file.ablations}
    if taken := ablations.keys() & set(known_names()):
        raise InputError(f"{file.path}: the ablation {min(taken)} has a strategy's name", hint="Give it another name.")
    if len(set(names)) < len(names):
        raise InputError(f"a strategy is named twice: {', '.join(names)}")
    order = [*known_names(), *ablations]
    found = []
    for name in names:
        ablation = ablations.get(name)
        if ablation is None and ablations and name not in known_names():
            raise InputError(
                f"there is no strategy and no ablation named {name[:40]!r}", hint=f"Known: {', '.join(order)}."
            )
        strategy = find_strategy(ablation.strategy if ablation else name)
        found.append(Arm(name, strategy.name, order.index(name), ablation))
    return found


def cells(
    file: SetsFile,
    asked: Sequence[Arm],
    out: Path,
    settings: Settings,
    *,
    sets: Sequence[QuestionSet] = (),
    folders: Sequence[Path] = (),
    limit: int | None = None,
) -> list[Cell]:
    """The matrix, set after set, checked as far as it can be without a model.

    Args:
        settings: what all runs share; the web is off in all of them.
        sets: of the file's sets only these.
        folders: where the questions are; see :meth:`SetsFile.questions_file`.
        limit: questions of each set at most.

    Raises:
        InputError: a questions file is missing or bad, a run was begun with other settings or questions, or an index
            is not there or lacks what a strategy needs of it.
        SettingsError: an option or setting is not usable.
    """
    found = []
    chosen = []
    checked = SourceCheck()
    for row, item in enumerate(file.sets):
        if sets and item not in sets:
            continue
        path = file.questions_file(item, folders)
        runs = [(arm, _settings(item, arm, settings)) for arm in asked]
        for arm, its_settings in runs:
            checked.run(item.name, arm.name, find_strategy(arm.strategy), its_settings)
        chosen.append((row, item, path, runs))
    checked.refuse()
    for row, item, path, runs in chosen:
        questions, offset = item.load(path, limit), item.first(path)
        for arm, its_settings in runs:
            cell = _cell(item, arm, out / item.name / arm.name, its_settings, path)
            cell = replace(cell, questions=questions, offset=offset, place=(row, arm.place))
            _check_offset(cell)
            found.append(cell)
    return found


def _settings(item: QuestionSet, arm: Arm, shared: Settings) -> Settings:
    """What the arm's questions of the set are asked with."""
    changed = arm.ablation
    options = {**shared.strategies.get(arm.strategy, {}), **(changed.options if changed else {})}
    settings = changed_settings(
        shared,
        {
            "strategy": arm.strategy,
            "strategies": {**shared.strategies, arm.strategy: options} if options else shared.strategies,
            "sources": item.asked_sources,
            "text_index": item.text_index,
            "graph_index": item.graph_index,
            "web": {"enabled": False},
        },
    )
    if changed:
        settings = changed_settings(settings, changed.settings)
    options_of(find_strategy(arm.strategy), settings)
    return settings


def _cell(item: QuestionSet, arm: Arm, directory: Path, settings: Settings, path: Path) -> Cell:
    strategy = find_strategy(arm.strategy)
    described = settings if strategy.uses_sources else settings.model_copy(update={"sources": ()})
    description = describe_run(described, path)
    check_resumable(directory, description)
    refused = ""
    try:
        check_needs(strategy, item.asked_sources, settings)
    except InputError as error:
        refused = error.message
    return Cell(item, arm, directory, (), settings, description, (0, 0), 0, refused)


def _check_offset(cell: Cell) -> None:
    before = read_cell(cell.directory)
    if before is not None and before.get("offset") != cell.offset:
        raise InputError(
            f"{cell.directory} was begun with the questions from number {before.get('offset')} on, now from "
            f"{cell.offset}",
            hint="Use the same part of the questions, or name another --out directory.",
        )


def read_cell(directory: Path) -> dict[str, Any] | None:
    """What cell.json says; None where there is none.

    Raises:
        InputError: it is damaged.
    """
    file = directory / CELL_FILE
    try:
        found = json.loads(read_text(file, _CELL_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{file} is not a JSON object")
    return found


def waiting(cell: Cell) -> int:
    """How many of the cell's questions are not answered yet."""
    done = {prediction.id for prediction in RunDirectory(cell.directory).predictions()}
    return sum(question.id not in done for question in cell.questions)


def run_cells(
    assistant: Assistant,
    matrix: Sequence[Cell],
    *,
    on_cell: Callable[[Cell], None] = lambda _: None,
    on_stage: Callable[[str], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Iterator[tuple[Cell, AtomrError]]:
    """Ask what is not answered yet. A run that cannot go on is given, with its error, and the next one begins.

    Raises (while iterating):
        Cancelled: the user interrupted.
        ModelError, MissingPartError: the model cannot be used; no other run could begin.
    """
    for cell in matrix:
        try:
            _run_cell(assistant, cell, on_cell, on_stage, on_progress)
        except (Cancelled, ModelError, MissingPartError):
            raise
        except AtomrError as error:
            yield cell, error


def _run_cell(
    assistant: Assistant,
    cell: Cell,
    on_cell: Callable[[Cell], None],
    on_stage: Callable[[str], None],
    on_progress: Callable[[Progress], None],
) -> None:
    on_cell(cell)
    try:
        cell.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{cell.directory} cannot be written: {error.strerror or error}") from error
    write_file(cell.directory / CELL_FILE, json.dumps(cell.to_dict(), ensure_ascii=False, indent=1) + "\n")

    def before() -> None:
        assistant.reconfigure(**cell.settings.model_dump())
        assistant.preload(on_stage)

    answered = run(
        assistant,
        cell.questions,
        cell.directory,
        description=cell.description,
        before=before,
        on_progress=on_progress,
    )
    if answered or not (cell.directory / REPORT_FILE).exists():
        write_report(cell.directory, build_report(cell.directory))


def _check_facts(strategy: Strategy, options: StrategyOptions, sources: Collection[str], settings: Settings) -> None:
    """Refuse to measure a strategy without the facts as text that it is set to search. A question is answered without.

    Args:
        sources: those that the questions may use.

    Raises:
        InputError: the graph index has no facts as text.
        KnowledgeIndexError: it is not whole.
    """
    if SourceName.GRAPH in sources and options.searches_facts() and (missing := facts_missing(settings)):
        what, _, hint = missing.partition(". ")
        raise InputError(f"the strategy {strategy.name} searches facts as text: {what}", hint=hint)
