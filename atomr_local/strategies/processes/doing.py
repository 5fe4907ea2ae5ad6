"""Does a process again: its observations are made anew, and what a person read or sketched is checked."""

from __future__ import annotations

from dataclasses import dataclass

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.capitalised import names_in
from atomr_local.reasoning.question_names import named_in
from atomr_local.reasoning.results import Action, Result
from atomr_local.sanitize import sanitize_line
from atomr_local.strategies.processes.process import FINISH, Process, ProcessStep
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.human_tools import NONE, NOT_A_QUERY, NOT_ON_PAGE, HumanTools
from atomr_local.strategies.shared.loop import Observed, Tool
from atomr_local.strategies.shared.page_tools import PageTools

_LONGEST = 1500


@dataclass(frozen=True)
class Done:
    """A process with the observations of now, and what does not hold of it, in words."""

    process: Process
    problems: tuple[str, ...] = ()


def needs_model(process: Process) -> bool:
    """Whether a step of it is one that a model does."""
    return any(step.action in {"read", "query"} and not step.by_hand for step in process.steps)


def done_again(process: Process, tools: Toolbox) -> Done:
    """Use the tools as the process does. Each step stands in the trace.

    Raises:
        Cancelled: the question was cancelled.
    """
    tools.steps.begin(process.question)
    human = HumanTools(process.question, tools)
    at_hand: tuple[Tool, ...] = human.at_hand()
    if process.method == "react" and tools.pages is not None:
        at_hand = PageTools(tools.pages).at_hand()
    by_name = {tool.name: tool for tool in at_hand}
    names = dict.fromkeys(named_in(process.question))
    steps, problems = list[ProcessStep](), list[str]()
    for number, step in enumerate(process.steps, 1):
        seen = Observed("")
        tool = by_name.get(step.action)
        if tool is None:
            problems.append(f"step {number}: {step.action} needs a source that is not at hand")
        elif problem := _refused(tool, tuple(names), step.input):
            problems.append(f"step {number}: {problem}")
        elif step.action != FINISH:
            with tools.steps.open(process.question, label=f"step {number}") as opened:
                seen = _used(tool, human, opened.id, step)
                opened.result = Result(
                    evidence=list(seen.evidence),
                    thought=step.thought,
                    action=Action(step.action, step.input),
                    observation=seen.text,
                )
            if step.by_hand not in {"", NONE} and seen.text.startswith((NOT_ON_PAGE, NOT_A_QUERY)):
                problems.append(f"step {number}: {seen.text}")
        names |= dict.fromkeys((*seen.names, *names_in([item.text for item in seen.evidence])))
        told = f"{seen.title}: {seen.text}" if seen.title else seen.text
        steps.append(step.model_copy(update={"observation": sanitize_line(told)[:_LONGEST]}))
    return Done(process.model_copy(update={"steps": tuple(steps)}), tuple(problems))


def _used(tool: Tool, human: HumanTools, node_id: int, step: ProcessStep) -> Observed:
    """What the tool gives; a failure of its source is an observation, as in the loop."""
    try:
        if step.by_hand:
            return human.use(node_id, step.action, step.input, step.by_hand)
        assert tool.use is not None
        return tool.use(node_id, step.input)
    except Cancelled:
        raise
    except AtomrError as error:
        return Observed(f"this failed: {error.message}")


def _refused(tool: Tool, names: tuple[str, ...], given: str) -> str:
    """Why the model could not have written this input; "" if it could."""
    field = tool.field(names)
    if field is None:
        return f"{tool.name}[{given}]: no earlier step has shown anything that it could be used on"
    return "" if field.accepts(given) else f"{tool.name}[{given}]: {field.refusal(given)}"
