"""What only asking can tell: whether one source is enough for a question, and whether both are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.evaluation.gold_chain import mentions
from atomr_local.evaluation.metrics import same_value
from atomr_local.question_making.checks import Reason
from atomr_local.question_making.composing import Composed
from atomr_local.question_making.hops import Source
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.trace.events import Event, Finished, LeavesMachine
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.tree.nodes import Tree

if TYPE_CHECKING:
    from atomr_local.settings.schema import Settings
    from atomr_local.strategies.protocol import Toolbox

TOP_K = 10
SAMPLES, TEMPERATURE = 3, 0.7
_ALONE = {"text": Reason.TEXT_ALONE, "graph": Reason.GRAPH_ALONE, "web": Reason.WEB_ALONE}
_CLOSED = frozenset({"yes", "no"})


class Asker(Protocol):
    """What trials need of an assistant."""

    def ask(
        self,
        question: str,
        *,
        plan: Tree | None = None,
        plan_origin: PlanOrigin = "user",
        strategy: str | None = None,
        sources: Sequence[str] | None = None,
        web: bool | None = None,
    ) -> Iterator[Event]: ...

    def model_tools(self, question: str) -> Toolbox: ...


Recall = Callable[[str], Sequence[str]]
"""What a model says of a question without looking anything up, several times."""


def from_memory(assistant: Asker) -> Recall:
    """Recall by sampling the assistant's model."""

    def recall(question: str) -> list[str]:
        tools = assistant.model_tools(question)

        def one(draw: int) -> str:
            reading = tools.reader.from_memory(None, question, draw=draw, temperature=TEMPERATURE)
            return ", ".join(reading.answers)

        return run_each(one, range(1, SAMPLES + 1), tools.settings.llm.parallel)

    return recall


def trial_settings(settings: Settings) -> Settings:
    """The settings that trials ask with: `rag` with ten passages; a gold plan by itself, nothing asked beside it."""
    strategies = {name: dict(options) for name, options in settings.strategies.items()}
    strategies["rag"] = strategies.get("rag", {}) | {"top_k": TOP_K}
    features = settings.features.model_copy(update={"rival": False, "ask_on": False})
    return settings.model_copy(update={"strategies": strategies, "features": features})


@dataclass(frozen=True, slots=True)
class Failed:
    """A question that did not pass: why, and what was answered."""

    reason: Reason
    answered: str


class Trials:
    """Asks about one question after the other."""

    def __init__(
        self,
        assistant: Asker,
        recall: Recall | None = None,
        on_warning: Callable[[str], None] = lambda _warning: None,
        on_web_query: Callable[[str, str], None] = lambda _to, _query: None,
    ) -> None:
        """Begin.

        Args:
            recall: what the model says from memory; by default the assistant's model is sampled.
            on_warning: hears the warnings of each answer.
            on_web_query: hears the host and the words of each search of the web.
        """
        self._assistant = assistant
        self._on_warning = on_warning
        self._on_web_query = on_web_query
        self._recall = recall or from_memory(assistant)

    def of(self, base: Composed) -> Failed | None:
        """The first trial that the question fails, the quick ones first; None if it needs both sources.

        Args:
            base: a short question or one for a number. A question for yes or no, which a coin answers half of the time,
                is tried as the short question that it is made of.
        """
        sides = base.candidate.sides
        if "graph" in sides and (found := self._planned(base, ("graph",))):
            return Failed(Reason.GRAPH_ALONE, found)
        for said in self._recall(base.question):
            if holds(said, base.answers):
                return Failed(Reason.CLOSED_BOOK, said)
        if (missed := self.missed(base)) is not None:
            return missed
        for side in sides:
            if side != "graph" and (found := self._planned(base, (side,))):
                return Failed(_ALONE[side], found)
        if "text" in sides:
            said = self._asked(base.question, None, "rag", ("text",))
            if holds(said, base.answers):
                return Failed(Reason.TEXT_ALONE, said)
        return None

    def missed(self, made: Composed) -> Failed | None:
        """Failed if both sources with the gold plan do not give the answer."""
        said = self._asked(made.question, made.plan, "atomr", made.candidate.sides)
        right = any(same_value(said, answer) for answer in made.answers)
        return None if right else Failed(Reason.NOT_BOTH, said)

    def _planned(self, base: Composed, sources: Sequence[Source]) -> str:
        """What the gold plan gives on these sources, if it holds the answer; else ""."""
        said = self._asked(base.question, base.plan, "atomr", sources)
        return said if holds(said, base.answers) else ""

    def _asked(self, question: str, plan: Tree | None, strategy: str, sources: Sequence[Source]) -> str:
        """The answer, or else the best guess; "" without either."""
        local = tuple(dict.fromkeys(source for source in sources if source != "web"))
        trace: Trace | None = None
        for event in self._assistant.ask(
            question, plan=plan, plan_origin="file", strategy=strategy, sources=local, web="web" in sources
        ):
            if isinstance(event, Finished):
                trace = event.trace
            elif isinstance(event, LeavesMachine) and event.query is not None:
                self._on_web_query(event.to, event.query)
        if trace is None:
            raise AtomrError("the assistant ended without a trace")
        if trace.status == "cancelled":
            raise Cancelled()
        if trace.status == "failed":
            raise AtomrError(trace.warnings[-1] if trace.warnings else "a question failed", title="Trial failed")
        for warning in trace.warnings:
            self._on_warning(warning)
        return ", ".join(trace.answers) or (trace.guess.text if trace.guess is not None else "")


def holds(said: str, answers: Iterable[str]) -> bool:
    """Whether what was said is, or holds, a right answer as whole words; "no" in "no one" is none."""
    if not said.strip():
        return False
    return any(
        same_value(said, answer) or (answer.casefold() not in _CLOSED and mentions(said, answer)) for answer in answers
    )
