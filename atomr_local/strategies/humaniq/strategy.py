"""HumanIQ: solution processes of people as examples for tools over text and graph (Lehmann et al., TACL 2024)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from atomr_local import paths
from atomr_local.reasoning.asking.forms import Form, Line
from atomr_local.reasoning.asking.pairs import halves
from atomr_local.reasoning.reading.citation_verification import holds
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.humaniq.fixed_order import FixedOrder
from atomr_local.strategies.humaniq.response import Side, responded, same
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.processes.choice import Choice, chosen
from atomr_local.strategies.processes.store import at_hand
from atomr_local.strategies.protocol import Need, Toolbox
from atomr_local.strategies.shared.closing import closed, final_values
from atomr_local.strategies.shared.human_tools import HumanTools
from atomr_local.strategies.shared.loop import THOUGHT, Loop
from atomr_local.strategies.shared.page_tools import needed_pages
from atomr_local.strategies.shared.step_answers import Final
from atomr_local.tree.nodes import Tree

_FORM = Form("atomr_local.strategies.humaniq", "act", (Line(THOUGHT),))
_VERIFY = "verify"
CLOSED_TASKS = "this model has learnt closed tasks alone: the tools are used in a fixed order"
UNTOLD = "the process names an answer of the {0}, which gave none: it is left out"


class HumanIQOptions(StrategyOptions):
    """Which processes are shown, and who chooses the tools."""

    choose: Choice = Field(
        "dpp",
        description="Examples: relevant and diverse (dpp), by one of the two alone, or random; published: dpp.",
    )
    workflow: Literal["interactive", "static", "late"] = Field(
        "interactive",
        description="interactive: the model chooses each tool. static: text, then graph, in a fixed order. "
        "late: both by themselves, brought together in the final response.",
    )
    examples: int = Field(3, ge=0, le=10, description="Processes shown to the model; published: 3.")
    steps: int = Field(12, ge=1, le=30, description="The most uses of tools, those that verify included.")


class HumanIQ:
    name = "humaniq"
    summary = "follow worked processes of people: find it in the text, verify it in the graph, and say if both agree"
    paper = (
        "Lehmann et al.: Beyond Boundaries: A Human-like Approach for Question Answering over Structured and "
        "Unstructured Information Sources, TACL 2024"
    )
    needs: frozenset[Need] = frozenset({"pages"})
    options: type[StrategyOptions] = HumanIQOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        options = HumanIQOptions.of(tools.options)
        needed_pages(tools, self.name)
        tools.steps.begin(question)
        process = _Process(question, tools, options)
        text, graph = process.done()
        with tools.steps.root(question) as root, tools.asking.concluding():
            result = responded(root.id, question, text, graph, tools)
            result.evidence = process.evidence
            result.dropped = [*result.dropped, *process.notes]
            root.result = closed(tools, question, result)
        return root.result


class _Process:
    """The way to the answers of text and graph."""

    def __init__(self, question: str, tools: Toolbox, options: HumanIQOptions) -> None:
        self.notes: list[str] = []
        self._question = question
        self._tools = tools
        self._options = options
        self._at_hand = HumanTools(question, tools)
        self._order = FixedOrder(question, tools, self._at_hand, options.steps)

    @property
    def evidence(self) -> list[Evidence]:
        return self._at_hand.evidence

    def done(self) -> tuple[Side, Side]:
        """What the text answers, and what the graph does."""
        order, workflow = self._order, self._options.workflow
        lean = workflow == "interactive" and self._tools.asking.lean
        if workflow == "late":
            found = order.text(self._question), order.graph(self._question)
        elif workflow == "static" or (lean and not self._tools.reader.knows_next):
            text = order.text(self._question)
            found = text, order.graph(self._question, names=[order.page])
        elif lean:
            found = order.hops()
        else:
            return self._interactive()
        self.notes += [*([CLOSED_TASKS] if lean else []), *order.notes]
        return found

    def _interactive(self) -> tuple[Side, Side]:
        """The model uses the tools as the examples do; a source that it leaves out then verifies the other."""
        form = replace(_FORM, examples=self._examples())
        loop = Loop(self._question, self._tools, self._at_hand.at_hand(), form, self._options.steps)
        final = loop.run()
        self._order.taken = loop.taken
        self.notes += loop.notes
        text, graph = self._told(final)
        if text.values and not self._at_hand.queried_at_all:
            graph = self._order.graph(self._question, _VERIFY, names=list(self._at_hand.pages)[-1:])
        elif graph.values and not self._at_hand.read_at_all:
            text = self._order.text(self._question, _VERIFY)
        self.notes += self._order.notes
        return text, graph

    def _examples(self) -> tuple[str, ...]:
        """The processes that are shown, told in a step of their own."""
        options, tools = self._options, self._tools
        if not options.examples:
            return ()
        shown: tuple[str, ...] = ()
        with tools.steps.open("Which worked processes are shown?", label="examples") as step:
            processes, problems = at_hand(paths.processes_file(), HumanIQ.name, tools.withheld)
            picked = chosen(
                self._question, processes, options.examples, options.choose, tools.ranking, tools.cancellation,
                tools.settings.llm.seed,
            )  # fmt: skip
            shown = tuple(process.as_example() for process in picked)
            told = f"Shown, of {len(processes)}: {' '.join(process.question for process in picked)}"
            step.result = Result(observation=told, dropped=problems[:3])
        return shown

    def _told(self, final: Final | None) -> tuple[Side, Side]:
        """What the process ended with. An answer counts as that of a source only if the source gave something."""
        read, rows = self._at_hand.read, self._at_hand.rows
        if final is None:
            # Nothing was concluded: what was seen last stands.
            return Side("text", *(read[-1] if read else ((), []))), Side("graph", *(rows[-1] if rows else ((), [])))
        sides, given = list[Side](), list[bool]()
        for name, said, found, seen in zip(
            ("text", "graph"), halves(final.text), (read, rows), self._at_hand.by_source(), strict=True
        ):
            values = final_values(said)
            if values and not seen:
                self.notes.append(UNTOLD.format(name))
                values = ()
            known = next((one for one in reversed(found) if same(one[0], values)), None)
            sides.append(Side(name, *known) if known else Side(name, values, seen if values else []))
            given.append(known is not None or any(holds(value.text, item) for value in values for item in seen))
        if same(sides[0].values, sides[1].values) and given[0] != given[1]:
            # The model names the answer of both, and one of them never gave it.
            sides[given.index(False)].leans = True
        return sides[0], sides[1]
