"""Self-Ask: the model asks itself simpler questions, one after another (Press et al., Findings of EMNLP 2023).

Each follow-up is searched and read; the next one is written from the questions and answers so far, never from passages.
"""

from __future__ import annotations

from pydantic import Field

from atomr_local.errors import InputError
from atomr_local.reasoning.results import Result
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.follow_ups import FollowUps
from atomr_local.strategies.shared.work import StepwiseStrategy, Work


class SelfAskOptions(StrategyOptions):
    """Where and how often is looked up."""

    source: str = Field(
        "all",
        pattern=r"^[\w.-]+$",
        description="What follow-ups are searched in: all, or one source such as text; published: web.",
    )
    follow_ups: int = Field(6, ge=0, le=20, description="The most follow-up questions.")
    k: int = Field(3, ge=1, le=20, description="Pieces of evidence per follow-up and source.")

    def only_source(self) -> str | None:
        return None if self.source == "all" else self.source


class _Asked(Work[SelfAskOptions]):
    def go(self) -> None:
        only = self.options.only_source()
        where = self.tools.retriever.names if only is None else (only,)
        self._asked = FollowUps(self.question, self.tools, self.options.follow_ups, self.options.k, where)
        self.notes = self._asked.notes
        self._asked.ask()

    def conclude(self) -> Result:
        return self.tasks.concluded(self._asked.steps, self._asked.final)


class SelfAsk(StepwiseStrategy):
    name = "self-ask"
    summary = "ask simpler follow-up questions one after another, look each up, then answer"
    paper = "Press et al.: Measuring and Narrowing the Compositionality Gap in Language Models, Findings of EMNLP 2023"
    options = SelfAskOptions
    work = _Asked

    def check(self, tools: QuestionContext) -> None:
        only, names = SelfAskOptions.of(tools.options).only_source(), tools.retriever.names
        if only is not None and only not in names:
            raise InputError(
                f"strategies.self-ask.source: the source {only} is not at hand",
                hint=f"Turn it on, or choose one of: {', '.join(('all', *names))}.",
            )
