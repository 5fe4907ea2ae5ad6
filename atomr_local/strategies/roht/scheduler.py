"""RoHT's scheduler: which of graph, text and sub-questions suit a question (Zhang et al., 2023, section 3.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from atomr_local import paths
from atomr_local.errors import InputError
from atomr_local.input_files import read_text
from atomr_local.reasoning.operators import overlap_coefficient
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import Toolbox

_FILE = Path(__file__).with_name("skeletons.json")
_FILE_BYTES = 4 << 20
_LEAST_ANSWERED = 5  # questions from which a precision is one
_REMEDY = "Make it again with scripts/make_skeletons.py, or remove it: then the table that ships is used."


@dataclass(frozen=True)
class SkeletonTable:
    """How often the graph's answer to questions of an operator skeleton was right.

    Attributes:
        counts: by skeleton, the questions that the graph answered, and those of them that it answered rightly.
    """

    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def precision(self, skeleton: str) -> float | None:
        """The share of right answers; None where too few are known."""
        answered, right = self.counts.get(skeleton, (0, 0))
        return right / answered if answered >= _LEAST_ANSWERED else None


Tables = Mapping[tuple[str, str | None], SkeletonTable]
"""By model and adapter. `scripts/make_skeletons.py` makes them."""


@cache
def shipped_tables() -> Tables:
    return _read(_FILE.read_text("utf-8"))


def own_tables(file: Path) -> Tables:
    """The user's tables; none if there is no such file.

    Raises:
        InputError: the file cannot be read, or holds no tables.
    """
    try:
        return _read(read_text(file, _FILE_BYTES))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}", hint=_REMEDY) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{file} holds no tables of operator skeletons", hint=_REMEDY) from error


def _read(text: str) -> Tables:
    given: list[dict[str, Any]] = json.loads(text)["tables"]
    return {
        (one["model"], one["adapter"]): SkeletonTable(
            {name: (int(counts["answered"]), int(counts["right"])) for name, counts in one["skeletons"].items()}
        )
        for one in given
    }


@dataclass(frozen=True)
class GraphFit:
    """Whether a question suits the graph.

    Attributes:
        asked: whether to ask at all.
        sure: whether only a sure answer counts.
        note: why it is not asked, or ""."""

    asked: bool
    sure: bool = False
    note: str = ""


@dataclass(frozen=True)
class Scheduler:
    """Decides for one question.

    Attributes:
        gamma: the precision above which a skeleton suits the graph.
        relevant: the score of the reranker from which a passage suits a question.
        on: without it everything suits.
    """

    tools: Toolbox
    gamma: float
    relevant: float
    on: bool

    @cached_property
    def _table(self) -> SkeletonTable:
        """That of the model: the user's own before the one that ships."""
        key = (self.tools.asking.info.name, self.tools.asking.info.adapter)
        own = own_tables(paths.skeletons_file())
        return own[key] if key in own else shipped_tables().get(key, SkeletonTable())

    def graph(self, skeleton: str) -> GraphFit:
        """Whether questions of this skeleton suit the graph: by the table made for this model, else by the answer.

        Raises:
            InputError: the user's table cannot be used.
        """
        if not self.on:
            return GraphFit(True)
        precision = self._table.precision(skeleton)
        if precision is None:
            return GraphFit(True, sure=True)
        if precision > self.gamma:
            return GraphFit(True)
        return GraphFit(False, note=f"the graph was not asked: {skeleton} was right {precision:.2f} of the time")

    def passages(self, question: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The passages that suit the question: by the reranker, or else those that have enough of its words.

        Raises:
            ModelError: the reranker cannot be used.
            Cancelled: the question was cancelled.
        """
        if not self.on:
            return list(evidence)
        scores = self.tools.ranking.relevance(question, evidence, self.tools.cancellation)
        if scores is not None:
            return [item for item, score in zip(evidence, scores, strict=True) if score >= self.relevant]
        least = self.tools.settings.filter_overlap
        return [item for item in evidence if overlap_coefficient(question, f"{item.title} {item.text}") >= least]
