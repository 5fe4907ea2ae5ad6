"""What plain mode prints: whole sentences, one fact a line, no box drawing, no colour. All of it is sanitised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_text, confidence_word, status_word
from atomr_local.reasoning.trace.events import NodeAdded, NodeFinished, PlanReady
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace, left_machine, taken_from, understood
from atomr_local.reasoning.trace.step_details import is_stage, step_details, step_title
from atomr_local.reasoning.trace.words import MISFIT, check_text, computation_text, kind_text, warning_text
from atomr_local.sanitize import sanitize_line
from atomr_local.tree.nodes import ROOT_ID

COMMANDS = {
    "/tree": "List the steps with their answers.",
    "/step N": "Tell all about step N: question, sources, answer, confidence.",
    "/evidence": "Read the evidence that the answer rests on.",
    "/evidence N": "Read the evidence that step N found.",
    "/guess": "Tell the best guess, if the answer was not found.",
    "/correct N TEXT": "Give step N an answer of your own (several separated by ;) and answer again.",
    "/rerun": "Answer the last question again.",
    "/rerun N": "Run step N again, and what depends on it.",
    "/plan": "Print the plan.",
    "/edit": "Type a new plan, one step a line; a line with a single dot runs it.",
    "/new": "Begin a new conversation. Without it, a question may refer to the ones before.",
    "/web on, /web off": "Turn web search on or off.",
    "/history": "List the latest questions with their numbers.",
    "/open N": "Open question N of the history, to read it and to continue from it.",
    "/export FILE": "Write the last answer with its evidence as Markdown.",
    "/help": "List these commands.",
    "/quit": "End the program.",
}


def help_lines() -> list[str]:
    lines = ["Type a question and press Enter. A line that begins with a slash is a command:"]
    return lines + [f"{command}: {what}" for command, what in COMMANDS.items()]


def plan_lines(event: PlanReady) -> list[str]:
    """How many steps there are; the steps themselves are told as they end."""
    if event.origin == "steps":
        return ["There is no plan: each step follows from the ones before."]
    steps = len(event.tree) - 1
    if not steps:
        return ["The question is answered in one step."]
    return [f"The question is broken down into {steps} step{'s' if steps > 1 else ''}."]


def added_step(event: NodeAdded) -> str:
    """One line for a step that no plan has, as it is added."""
    part = "" if event.parent == ROOT_ID else f", part of step {event.parent}"
    what = ": ".join(filter(None, (kind_text(event.label, "step"), _clean(event.question))))
    return f"Step {event.node_id} is added{part}: {what}"


def ended_step(event: NodeFinished, question: str, label: str = "") -> str:
    """One line for a step that has ended.

    Args:
        label: what the step is to its method.
    """
    title = f"Step {event.node_id}: {step_title(event, label, question)}"
    if event.error is not None:
        return f"{title} Failed: {_clean(event.error['message'])}"
    if is_stage(event, label, question):
        return title
    if not event.answers:
        return f"{title} {NOT_FOUND.capitalize()}."
    if event.by_user:
        return f"{title} Your answer: {_clean(event.answer)}."
    return f"{title} Answer: {_clean(event.answer)}{_how_sure(event.confidence)}"


def answer_lines(trace: Trace, earlier: Mapping[str, str]) -> list[str]:
    """The answer and what it rests on, or why there is none.

    Args:
        earlier: questions of the conversation by trace id.
    """
    lines = []
    if trace.plan.origin == "example":
        lines.append("The plan is one that you kept for this question.")
    if meant := understood(trace):
        lines.append(f"Understood as: {meant}")
        lines += [f"Taken from: {question}" for question in taken_from(trace, earlier)]
    if trace.status == "answered":
        lines.append(_clean(trace.answer))
        if trace.confidence is not None and not trace.by_user:
            lines.append(f"How sure: {confidence_text(trace.confidence)}.")
        lines += [f"It rests on {_source(item)}." for item in _cited(trace, ROOT_ID)]
        own = [node.id for node in trace.nodes if node.by_user]
        lines += [
            "It is your answer." if number == ROOT_ID else f"It rests on your answer to step {number}."
            for number in own
        ]
    elif trace.status == "unknown":
        lines.append(f"{NOT_FOUND.capitalize()}: {_clean(trace.reason or trace.answer)}")
        lines += [f"You can: {_clean(item)}" for item in trace.advice]
        if trace.guess is not None and trace.guess.answers:
            lines.append("There is a guess: /guess tells it.")
    else:
        lines.append(_clean(trace.answer))
    lines += [f"Note: {_clean(warning_text(warning))}" for warning in dict.fromkeys(trace.warnings)]
    if sent := _clean(left_machine(trace.left_machine)):
        lines.append(f"Left the machine: {sent}")
    return lines


def guess_lines(trace: Trace) -> list[str]:
    if trace.guess is None or not trace.guess.answers:
        return ["There is no guess."]
    whence = " from the model's own knowledge" if trace.guess.basis == "model" else ""
    lines = [f"A guess{whence}, not an answer: {_clean(trace.guess.text)}{_how_sure(trace.guess.confidence)}"]
    return lines + [f"It rests on {_source(item)}." for item in _cited(trace, ROOT_ID)]


def tree_lines(trace: Trace) -> list[str]:
    """Each step on a line, parents before children, with the step that it belongs to."""
    lines = []
    for node in trace.nodes:
        if node.id != ROOT_ID:
            part = "" if node.parent in (None, ROOT_ID) else f", part of step {node.parent}"
            lines.append(f"Step {node.id}{part}: {_title(node)} {_outcome(trace, node)}".rstrip())
    return lines or ["The question was answered in one step."]


def step_lines(trace: Trace, node: NodeTrace) -> list[str]:
    """All that is known of one step."""
    lines = [f"Step {node.id}: {_title(node)}", *filter(None, [_outcome(trace, node)])]
    lines += [f"{name.capitalize()}: {text}" for name, text in step_details(node)]
    if node.sources:
        lines.append(f"Sources: {', '.join(map(_clean, node.sources))}.")
    if node.computation:
        lines.append(f"Computed: {_clean(computation_text(node.computation))}")
    if node.supported is not None:
        lines.append(f"Check: {check_text(node.supported, node.cited)}.")
    if node.misfit:
        lines.append(f"Check: {MISFIT}.")
    lines += [f"It rests on {_source(item)}." for item in _cited(trace, node.id)]
    if node.evidence:
        lines.append(f"Evidence found: {len(node.evidence)}, cited: {len(node.cited)}. /evidence {node.id} reads it.")
    return lines


def evidence_lines(trace: Trace, node: NodeTrace) -> list[str]:
    """The step's evidence in full, what it cites first."""
    by_id = {item.id: item for item in trace.evidence}
    wanted = [*node.cited, *(item for item in node.evidence if item not in node.cited)]
    lines = []
    for place, item in enumerate((by_id[name] for name in wanted if name in by_id), start=1):
        cited = ", cited" if item.id in node.cited else ""
        index = f", index {_clean(str(item.locator['index']))}" if item.locator.get("index") else ""
        lines.append(f"Evidence {place} of {len(wanted)}{cited}, from the {_source(item)}{index}.")
        lines.append(_clean(item.text))
        if url := item.locator.get("url"):
            lines.append(f"Address: {_clean(str(url))}")
    return lines or ["No evidence was found."]


def turns_lines(questions: Sequence[tuple[int, str, str, str]]) -> list[str]:
    """Questions of the history: number, question, status and answer."""
    lines = []
    for number, question, status, answer in questions:
        ended = _clean(answer) if answer and status == "answered" else f"{status_word(status).capitalize()}."
        lines.append(f"{number}. {_clean(question)} {ended}")
    return lines or ["No questions are kept yet."]


def _title(node: NodeTrace) -> str:
    return step_title(node, node.label, node.resolved_question or node.question)


def _outcome(trace: Trace, node: NodeTrace) -> str:
    """How the step ended; "" for one that needs no answer."""
    if is_stage(node, node.label, node.question):
        return ""
    if node.error:
        return f"Failed: {_clean(node.error['message'])}"
    if node.outcome == "not found" or not node.answers:
        reason = f": {_clean(node.reason)}" if node.reason else "."
        return f"{NOT_FOUND.capitalize()}{reason}"
    if trace.is_given(node):
        return f"Your answer: {_clean(node.answer)}."
    return f"Answer: {_clean(node.answer)}{_how_sure(node.confidence)}"


def _how_sure(confidence: float | None) -> str:
    return "." if confidence is None else f", {confidence_word(confidence)}."


def _cited(trace: Trace, node_id: int) -> list[EvidenceTrace]:
    by_id = {item.id: item for item in trace.evidence}
    cited = next((node.cited for node in trace.nodes if node.id == node_id), [])
    return [by_id[item] for item in cited if item in by_id]


def _source(item: EvidenceTrace) -> str:
    return f"{_clean(item.source)}: {_clean(item.title)}"


def _clean(text: str) -> str:
    return sanitize_line(text)
