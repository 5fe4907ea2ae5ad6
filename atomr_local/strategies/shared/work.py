"""The course of a method that makes no plan: it begins with the root alone, adds steps as it goes, and concludes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from atomr_local.errors import InputError
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext, Strategy
from atomr_local.strategies.shared.closing import CALLS_USED, closed
from atomr_local.strategies.shared.tasks import Tasks
from atomr_local.strategies.shared.trained import tasks_of
from atomr_local.tree.nodes import Tree

Options = TypeVar("Options", bound=StrategyOptions)


@dataclass(eq=False)
class Work(Generic[Options]):
    """A method at work on one question.

    Attributes:
        notes: of the way, told before those of the answer.
    """

    question: str
    tools: QuestionContext
    options: Options
    notes: list[str] = field(default_factory=list, init=False)

    @cached_property
    def tasks(self) -> Tasks:
        return tasks_of(self.question, self.tools)

    def go(self) -> None:
        """Find what there is to find, in steps.

        Raises:
            AtomrError: the whole question failed.
            Cancelled: the question was cancelled.
        """
        raise NotImplementedError

    def conclude(self) -> Result:
        """The answer from what was found; raises what :meth:`go` raises."""
        raise NotImplementedError

    def may_ask(self) -> bool:
        """Whether a model call is left; noted if none is."""
        if self.tools.asking.calls_left:
            return True
        if CALLS_USED not in self.notes:
            self.notes.append(CALLS_USED)
        return False


class StepwiseStrategy(Strategy):
    """A strategy whose tree grows as it goes; `work` is what it does for a question."""

    work: type[Work[Any]]

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        self.check(tools)
        tools.steps.begin(question)
        work = self.work(question, tools, self.options.of(tools.options))
        work.go()
        # A few calls over the limit are left for the answer.
        with tools.steps.root(question) as root, tools.asking.concluding():
            result = closed(tools, question, work.conclude())
            result.dropped = [*work.notes, *result.dropped]
            root.result = result
        return root.result

    def check(self, tools: QuestionContext) -> None:
        """Refuse a question for which something is not at hand.

        Raises:
            InputError: what is missing.
        """
        if "pages" in self.needs and tools.pages is None:
            raise InputError(
                f"the strategy {self.name} needs pages of a text index", hint="Build a text index: `atomr text build`."
            )
