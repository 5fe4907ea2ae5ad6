"""The file of `atomr eval matrix`: question sets with the indexes that they are asked of, and ablations of strategies.

[[sets]]
name = "2wiki-text"                # the run's directory has this name
questions = "qa/questions.jsonl"   # below a --data folder, else beside this file
last_fifth = true                  # the development split; or offset and limit
text_index = "2wiki"               # and graph_index; at least one of them, or sources
note = "what the set is"

[[ablations]]
name = "atomr-no-rival"            # a name as in --strategies
strategy = "atomr"
settings = { features = { rival = false } }
options = {}                       # of the strategy, as in [strategies.NAME] of the settings
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from atomr_local.errors import InputError
from atomr_local.evaluation.datasets import Question, load_questions
from atomr_local.input_files import read_text
from atomr_local.settings.problems import problem
from atomr_local.settings.schema import SourceId
from atomr_local.settings.text import check_bounds, parse_toml

_MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,59}")


def _directory_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name[:40]!r} cannot name a directory: use letters, digits and . _ + -, beginning with a letter or digit"
        )
    return name


Name = Annotated[str, AfterValidator(_directory_name)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_max_length=4096, hide_input_in_errors=True)


class QuestionSet(_Part):
    """Questions, and what they are asked of.

    Attributes:
        questions: path of the file, below a data folder.
        sources: those that may be used; those with an index if none is named.
        last_fifth: ask the development split, the last fifth by file order.
        offset, limit: which of these questions are asked; all after the first `offset` without a limit.
        note: what the set is, for the table.
    """

    name: Name
    questions: str = Field(min_length=1)
    text_index: str = ""
    graph_index: str = ""
    sources: tuple[SourceId, ...] = ()
    last_fifth: bool = False
    offset: int = Field(0, ge=0)
    limit: int | None = Field(None, ge=1)
    note: str = ""

    @model_validator(mode="after")
    def _sources_known(self) -> QuestionSet:
        if not self.asked_sources:
            raise ValueError("name a text_index, a graph_index or sources")
        return self

    @property
    def asked_sources(self) -> tuple[str, ...]:
        """The sources that may be used."""
        indexes = {"text": self.text_index, "graph": self.graph_index}
        return self.sources or tuple(source for source, index in indexes.items() if index)

    def first(self, path: Path) -> int:
        """How many questions of the file are before the set's first.

        Raises:
            InputError: see :func:`load_questions`.
        """
        count = len(load_questions(path)) if self.last_fifth else 0
        return (count * 4 // 5 if self.last_fifth else 0) + self.offset

    def load(self, path: Path, limit: int | None = None) -> list[Question]:
        """The questions, at most `limit`.

        Raises:
            InputError: see :func:`load_questions`; or the set has no question.
        """
        limits = [number for number in (limit, self.limit) if number is not None]
        found = load_questions(path, offset=self.first(path), limit=min(limits, default=None))
        if not found:
            raise InputError(f"the set {self.name} has no question: {path} is too short")
        return found


class Ablation(_Part):
    """A strategy with other options or settings.

    Attributes:
        options: of the strategy.
        settings: others, nested as in the settings file.
        note: what is changed, for the table.
    """

    name: Name
    strategy: str = Field(min_length=1)
    options: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    note: str = ""

    @model_validator(mode="after")
    def _changes_something(self) -> Ablation:
        if not (self.options or self.settings):
            raise ValueError("give options or settings, for nothing is changed")
        if fixed := {"strategy", "strategies", "sources", "text_index", "graph_index", "web"}.intersection(
            self.settings
        ):
            raise ValueError(f"settings.{min(fixed)} cannot be changed by an ablation: the set and the strategy fix it")
        return self


Part = TypeVar("Part", QuestionSet, Ablation)


@dataclass(frozen=True)
class SetsFile:
    """What the file holds, checked; each name once."""

    path: Path
    sets: tuple[QuestionSet, ...]
    ablations: tuple[Ablation, ...]

    def questions_file(self, asked: QuestionSet, folders: Sequence[Path] = ()) -> Path:
        """The set's questions: in the first of the folders that has them, without folders beside the file.

        Raises:
            InputError: they are in none.
        """
        looked = [folder / asked.questions for folder in folders or (self.path.parent,)]
        for path in looked:
            if path.exists():
                return path
        raise InputError(
            f"the questions of the set {asked.name} are not there: {' or '.join(map(str, looked))}",
            hint="Name the folder of the data with --data; it may be given several times.",
        )


def read_sets(path: Path) -> SetsFile:
    """The file's sets and ablations.

    Raises:
        InputError: it cannot be read, has no set, or something in it is not usable; the message says which.
        SettingsError: it is not valid TOML.
    """
    try:
        text = read_text(path, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    check_bounds(text, str(path))
    values = parse_toml(text, str(path))
    if unknown := values.keys() - {"sets", "ablations"}:
        raise InputError(f"{path}: {min(unknown)[:40]!r} is unknown", hint="There are [[sets]] and [[ablations]].")
    sets = _parts(path, values, "sets", QuestionSet)
    if not sets:
        raise InputError(f"{path} has no set", hint="Begin each with [[sets]].")
    return SetsFile(path, sets, _parts(path, values, "ablations", Ablation))


def _parts(path: Path, values: dict[str, Any], key: str, kind: type[Part]) -> tuple[Part, ...]:
    given = values.get(key, [])
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise InputError(f"{path}: {key} is no list of tables", hint=f"Begin each with [[{key}]].")
    found: dict[str, Part] = {}
    for number, item in enumerate(given, 1):
        named = item.get("name")
        where = f"{path}: [[{key}]] number {number}" + (f" ({named[:40]})" if isinstance(named, str) else "")
        try:
            part = kind(**item)
        except (ValidationError, TypeError) as error:
            said = problem(error, kind) if isinstance(error, ValidationError) else str(error)
            raise InputError(f"{where}: {said.removeprefix(': ')}") from error
        if part.name in found:
            raise InputError(f"{where}: the name is there twice")
        found[part.name] = part
    return tuple(found.values())
