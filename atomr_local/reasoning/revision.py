"""Revision: the user's corrections of an answer, checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import SourceName
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import Tree

_LONGEST_ANSWER = 500
_MOST_ANSWERS = 100


@dataclass(frozen=True)
class Revision:
    """The user's corrections of an answered question. Nodes have the numbers of the new plan.

    Attributes:
        base: the trace of the corrected answer.
        sources: by node, the only sources that it may use, among those of the question.
        answers: answers given by the user; such a node does not run.
        rerun: nodes to run again although they did not change.
    """

    base: Trace
    sources: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    answers: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    rerun: frozenset[int] = frozenset()

    def checked(self, tree: Tree, available: Collection[str]) -> Revision:
        """The revision with its answers cleaned.

        Args:
            available: the sources that the question may use.

        Raises:
            InputError: it names an unknown node or source, or an answer is empty or too long.
        """
        known = {node.id for node in tree.nodes()}
        for node_id in (*self.sources, *self.answers, *self.rerun):
            if node_id not in known:
                raise InputError(
                    f"the plan has no step {node_id}", hint="Steps are named by their numbers in the plan."
                )
        for node_id, names in self.sources.items():
            for name in names:
                if name not in {*SourceName, *available}:
                    raise InputError(f"step {node_id}: there is no source named {sanitize_line(str(name))!r}")
            if not set(names) & set(available):
                raise InputError(
                    f"step {node_id} may use {', '.join(names) or 'nothing'}, and the question may not use that",
                    hint="Switch the source on, or let the step use others.",
                )
        return replace(self, answers={i: _answers(i, given) for i, given in self.answers.items()})

    @property
    def named(self) -> frozenset[int]:
        """The nodes that a correction names."""
        return frozenset({*self.sources, *self.answers, *self.rerun})

    @property
    def plan(self) -> Tree:
        """The plan of the corrected answer.

        Raises:
            InputError: the trace holds no whole plan.
        """
        if self.base.plan.origin == "steps":
            raise InputError(
                "the answer has no plan: each of its steps followed from the ones before",
                hint="Ask the question again.",
            )
        try:
            return parse_compact(self.base.plan.compact, self.base.question)
        except TreeError as error:
            raise InputError(f"the answer's plan cannot be read: {error.message}", hint="Give the plan.") from error


def _answers(node_id: int, given: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, str):
        given = (given,)
    texts = tuple(dict.fromkeys(text for item in given if (text := sanitize_line(item))))
    if not texts:
        raise InputError(f"the answer given for step {node_id} is empty")
    if len(texts) > _MOST_ANSWERS or any(len(text) > _LONGEST_ANSWER for text in texts):
        raise InputError(
            f"the answer given for step {node_id} is too long",
            hint=f"At most {_MOST_ANSWERS} answers of {_LONGEST_ANSWER} characters each.",
        )
    return texts
