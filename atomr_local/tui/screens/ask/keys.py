"""The keys of the main screen, in the groups that the help shows; when they do something, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.actions import parse
from textual.binding import Binding

from atomr_local.tui.question.strategies import LEAVE_A_PROCESS, why_no_plan

if TYPE_CHECKING:
    from atomr_local.tui.question.state import QuestionState
    from atomr_local.tui.screens.ask.screen import AskScreen

_STEP = 5  # percent that a key moves the bar between the panes
GUESS_KEY, REWORD_KEY = "answer.guess", "question.reword"  # ids of keys that texts on the screen name
COMPARE_KEY = "question.compare"
REWORD, COMPARE = "w", "a"
NOT_IN_PLAN = "This step is not in the plan: it followed from the ones before. Edit the plan, or ask again."
BUSY, STARTING = "A question is being answered.", "The program is starting."

LOOKING = [
    Binding("escape", "cancel", "Cancel", priority=True, tooltip="Stop the running question", id="ask.cancel"),
    Binding("ctrl+l", "focus_question", "Question", priority=True, tooltip="Go to the question box",
            id="focus.question"),
    Binding("ctrl+t", "focus_tree", "Tree", priority=True, tooltip="Go to the reasoning tree", id="focus.tree"),
    Binding("ctrl+o", "focus_evidence", "Evidence", priority=True, tooltip="Go to the evidence of the step",
            id="focus.evidence"),
    Binding("c", "view('next_citation')", "Citation", tooltip="Go to the next citation of the answer",
            id="citation.next"),
    Binding("g", "guess", "Guess", tooltip="Show or hide the guess, where the answer is not found", id=GUESS_KEY),
    Binding("u", "next_user", "Used by", tooltip="The next step that uses this evidence", id="evidence.users"),
    Binding("left_square_bracket", f"view('widen', -{_STEP})", "Narrower", show=False, tooltip="Make the tree smaller",
            id="panes.smaller"),
    Binding("right_square_bracket", f"view('widen', {_STEP})", "Wider", show=False, tooltip="Make the tree larger",
            id="panes.larger"),
]  # fmt: skip
CONVERSATION = [
    Binding("ctrl+n", "new_conversation", "New", priority=True,
            tooltip="New conversation: the next question stands alone", id="conversation.new"),
    Binding("t", "focus_turns", "Turns", show=False, tooltip="Go to the earlier questions of the conversation",
            id="focus.turns"),
    Binding(REWORD, "window('reword')", "Reword", show=False, tooltip="Say what the question means, and ask it again",
            id=REWORD_KEY),
]  # fmt: skip
CORRECTING = [
    Binding("e", "window('edit_step')", "Edit step", tooltip="Edit the step: question, what it does, sources, answer",
            id="step.edit"),
    Binding("p", "window('edit_plan')", "Edit plan", tooltip="Edit the plan as text", id="plan.edit"),
    Binding("r", "window('rerun')", "Run again", tooltip="Run this step again, and what depends on it",
            id="step.rerun"),
    Binding(COMPARE, "window('ask_again_with')", "Ask again", show=False,
            tooltip="Ask again with another strategy, and compare the answers", id=COMPARE_KEY),
    Binding("K", "window('keep_process')", "Keep process", show=False,
            tooltip="Correct the steps of a tool-using answer, and keep them as a worked process", id="process.keep"),
    Binding("m", "window('open_calls')", "Prompts", tooltip="What the model was shown for this step, and what it wrote",
            id="step.calls"),
    Binding("y", "window('copy', 'answer')", "Copy", tooltip="Copy the answer with its citations", id="copy.answer"),
    Binding("Y", "window('copy', 'evidence')", "Copy evidence", show=False,
            tooltip="Copy the evidence under the cursor", id="copy.evidence"),
    Binding("S", "window('copy', 'sparql')", "Copy SPARQL", show=False, tooltip="Copy the step's graph queries",
            id="copy.sparql"),
    Binding("x", "window('export')", "Export", tooltip="Write the question with its steps and evidence to a file",
            id="trace.export"),
    Binding("ctrl+r", "window('recall')", "Recall", priority=True, show=False,
            tooltip="Search the questions asked before", id="question.recall"),
    Binding("slash", "window('recall')", "Search", show=False, tooltip="Search the questions asked before",
            id="question.search"),
]  # fmt: skip
GROUPS = {
    "Asking and looking": LOOKING,
    "The conversation": CONVERSATION,
    "Checking, correcting, keeping": CORRECTING,
}


def possible(action: str, screen: AskScreen) -> bool | None:
    """Whether the action does something now: None dims its key, False hides it."""
    state = screen.state
    ended = state.trace is not None
    nothing = None if state.question else False  # no question to do it with: the key is not shown at all
    can_correct = state.can_correct or nothing
    in_plan = can_correct and (_in_plan(screen) or None)
    return {
        "cancel": state.running,
        "focus_tree": screen.has_question or None,
        "focus_evidence": screen.has_question or None,
        "focus_turns": screen.has_turns,
        "new_conversation": bool(state.question or screen.conversation.turns) and (not state.running or None),
        "next_citation": bool(state.citations),
        "next_user": screen.focused is not None and screen.focused.id == "evidence",
        "guess": state.has_guess,
        "reword": ended,
        "edit_step": in_plan,
        "edit_plan": can_correct,
        "rerun": in_plan,
        "ask_again_with": ended or nothing,
        "keep_process": (ended and state.strategy in LEAVE_A_PROCESS) or nothing,
        "copy": ended or nothing,
        "export": ended or nothing,
        "open_calls": state.tree is not None or nothing,
    }.get(action, True)


def _in_plan(screen: AskScreen) -> bool:
    """Whether the step that is shown is one of the plan's; others were added while the question was answered."""
    tree, selected = screen.state.tree, screen.view.selected
    return tree is not None and any(node.id == selected for node in tree.nodes())


def _reason(action: str, state: QuestionState) -> str:
    """Why the action does nothing with this question now, briefly; empty where nobody would wonder."""
    if action == "cancel":
        return ""
    if action in {"next_user", "focus_turns"}:
        return {"next_user": "Put the cursor on a piece of evidence first.",
                "focus_turns": "There is no earlier question in this conversation."}[action]  # fmt: skip
    if state.running:
        return "No steps yet." if action == "open_calls" else f"{BUSY} Escape stops it."
    if not state.question:
        return "Ask a question first."
    if action in {"edit_step", "edit_plan", "rerun"} and state.trace is not None and state.tree is not None:
        return NOT_IN_PLAN if state.can_correct else why_no_plan(state.strategy, grown=state.origin == "steps")
    return {
        "keep_process": f"Only {' and '.join(sorted(LEAVE_A_PROCESS))} leave steps that can be kept as a process.",
        "next_citation": "The answer cites nothing.",
        "guess": "There is no guess to show.",
        "edit_step": "This question has no plan.",
        "edit_plan": "This question has no plan.",
        "rerun": "This question has no plan.",
        "open_calls": "This question has no plan.",
    }.get(action, "The question did not come to its end.")


def why_not(screen: AskScreen, key: str) -> str:
    """Why the key does nothing now, briefly; empty if it does something, or nobody would wonder."""
    told = ""
    for node, bindings in screen._binding_chain:
        for binding in bindings.key_to_bindings.get(key, ()):
            if screen.app._check_action_state(binding.action, node):
                return ""
            if node is screen:
                told = told or _reason(_name(binding), screen.state)
            elif node is screen.app:
                told = told or STARTING
    return told


def _name(binding: Binding) -> str:
    _, action, parameters = parse(binding.action)
    return action_name(action, parameters)


def action_name(action: str, parameters: tuple[object, ...]) -> str:
    """What is done: "window('edit_plan')" and "view('widen', 5)" say it by their first argument."""
    return str(parameters[0]) if action in {"window", "view"} else action
