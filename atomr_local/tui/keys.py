"""The keys of the main screen, and keys of the user's own (`ui.keys`): all ids, and what is wrong with an entry."""

from __future__ import annotations

import importlib
import pkgutil
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

from atomr_local import tui
from atomr_local.errors import InputError
from atomr_local.tui.question.state import LEAVE_A_PROCESS, QuestionState, why_no_plan

# The keys of the main screen, in the groups that the help shows, and why one of them does nothing now.

_STEP = 5  # percent that a key moves the bar between the panes
# Ids of keys that texts on the screen name.
GUESS_KEY, REWORD_KEY, WEB_KEY = "answer.guess", "question.reword", "web.toggle"
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
    Binding("c", "next_citation", "Citation", tooltip="Go to the next citation of the answer",
            id="citation.next"),
    Binding("g", "guess", "Guess", tooltip="Show or hide the guess, where the answer is not found", id=GUESS_KEY),
    Binding("u", "next_user", "Used by", tooltip="The next step that uses this evidence", id="evidence.users"),
    Binding("left_square_bracket", f"widen(-{_STEP})", "Narrower", show=False, tooltip="Make the tree smaller",
            id="panes.smaller"),
    Binding("right_square_bracket", f"widen({_STEP})", "Wider", show=False, tooltip="Make the tree larger",
            id="panes.larger"),
]  # fmt: skip
CONVERSATION = [
    Binding("ctrl+n", "new_conversation", "New", priority=True,
            tooltip="New conversation: the next question stands alone", id="conversation.new"),
    Binding("t", "focus_turns", "Turns", show=False, tooltip="Go to the earlier questions of the conversation",
            id="focus.turns"),
    Binding("ctrl+y", "limit", "Part", priority=True, show=False,
            tooltip="Ask only a part of the text index: a folder, a tag, a time", id="question.part"),
    Binding(REWORD, "reword", "Reword", show=False, tooltip="Say what the question means, and ask it again",
            id=REWORD_KEY),
]  # fmt: skip
CORRECTING = [
    Binding("e", "edit_step", "Edit step", tooltip="Edit the step: question, what it does, sources, answer",
            id="step.edit"),
    Binding("p", "edit_plan", "Edit plan", tooltip="Edit the plan as text", id="plan.edit"),
    Binding("r", "rerun", "Run again", tooltip="Run this step again, and what depends on it",
            id="step.rerun"),
    Binding(COMPARE, "ask_again_with", "Ask again", show=False,
            tooltip="Ask again with another strategy, and compare the answers", id=COMPARE_KEY),
    Binding("K", "keep_process", "Keep process", show=False,
            tooltip="Correct the steps of a tool-using answer, and keep them as a worked process", id="process.keep"),
    Binding("m", "open_calls", "Prompts", tooltip="What the model was shown for this step, and what it wrote",
            id="step.calls"),
    Binding("y", "copy('answer')", "Copy", tooltip="Copy the answer with its citations", id="copy.answer"),
    Binding("Y", "copy('evidence')", "Copy evidence", show=False,
            tooltip="Copy the evidence under the cursor", id="copy.evidence"),
    Binding("S", "copy('sparql')", "Copy SPARQL", show=False, tooltip="Copy the step's graph queries",
            id="copy.sparql"),
    Binding("x", "export", "Export", tooltip="Write the question with its steps and evidence to a file",
            id="trace.export"),
    Binding("ctrl+r", "recall", "Recall", priority=True, show=False,
            tooltip="Search the questions asked before", id="question.recall"),
    Binding("slash", "recall", "Search", show=False, tooltip="Search the questions asked before",
            id="question.search"),
]  # fmt: skip
GROUPS = {
    "Asking and looking": LOOKING,
    "The conversation": CONVERSATION,
    "Checking, correcting, keeping": CORRECTING,
}


def reason(action: str, state: QuestionState) -> str:
    """Why the action does nothing with this question now, briefly; empty where nobody would wonder."""
    if action == "cancel":
        return ""
    if action in {"next_user", "focus_turns"}:
        return {"next_user": "Put the cursor on a piece of evidence first.",
                "focus_turns": "There is no earlier question in this conversation."}[action]  # fmt: skip
    if state.running:
        return "No steps yet." if action == "open_calls" else f"{BUSY} Escape stops it."
    if not state.record.question:
        return "Ask a question first."
    if action in {"edit_step", "edit_plan", "rerun"} and state.trace is not None and state.tree is not None:
        return (
            NOT_IN_PLAN
            if state.can_correct
            else why_no_plan(state.record.strategy, grown=state.record.plan.origin == "steps")
        )
    return {
        "keep_process": f"Only {' and '.join(sorted(LEAVE_A_PROCESS))} leave steps that can be kept as a process.",
        "next_citation": "The answer cites nothing.",
        "guess": "There is no guess to show.",
        "edit_step": "This question has no plan.",
        "edit_plan": "This question has no plan.",
        "rerun": "This question has no plan.",
        "open_calls": "This question has no plan.",
    }.get(action, "The question did not come to its end.")


def from_the_box(key: str) -> str:
    """How a key of the screen is pressed from wherever the focus is: in the question box, letters are letters."""
    return f"Esc, then {key}" if len(key) == 1 else key


# Ids of keys (`ui.keys`) that had another name once. Settings with the earlier id keep their effect.

FORMER_IDS = {
    "focus.slash": "focus.question",  # "/" searches everywhere now
    **{f"{name}.{way}": f"dialog.{way}" for name in ("confirm", "unsaved", "busy") for way in ("previous", "next")},
}


def current_keys(table: Mapping[str, str]) -> dict[str, str]:
    """The table with present ids; an entry under the present id wins over one under the earlier."""
    return {FORMER_IDS.get(name, name): keys for name, keys in table.items() if name in FORMER_IDS} | {
        name: keys for name, keys in table.items() if name not in FORMER_IDS
    }


_LONG = 40  # characters of an id or a key that are told; the longest of ours has fewer
_MODIFIERS = {"ctrl", "shift", "alt", "super", "hyper", "meta"}
_KEY_NAMES = {key.value.rpartition("+")[2] for key in Keys} | {f"f{number}" for number in range(1, 25)}


@cache
def binding_ids() -> frozenset[str]:
    """All of them. It imports every screen, a third of a second: call it from a worker first."""
    for module in pkgutil.walk_packages(tui.__path__, f"{tui.__name__}."):
        importlib.import_module(module.name)
    bindings = (binding for kind in _kinds(DOMNode) for binding in vars(kind).get("BINDINGS", ()))
    return frozenset(binding.id for binding in bindings if isinstance(binding, Binding) and binding.id)


def _kinds(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    yield kind
    for derived in kind.__subclasses__():
        yield from _kinds(derived)


def check_keys(table: Mapping[str, str]) -> None:
    """Refuse keys that no keyboard sends, and ids that there are not.

    Raises:
        InputError: such an entry; the message names it.
    """
    for problem in wrong_keys(table):
        raise InputError(problem)


def wrong_keys(table: Mapping[str, str]) -> list[str]:
    """What is wrong with each entry that no key or no action can be found for. Call it from a worker first."""
    ids, found = binding_ids(), list[str]()
    for name, keys in table.items():
        if name not in ids and name not in FORMER_IDS:
            near = _nearest(name, ids)
            found.append(f"{_short(name)}: nothing has this id{f'; did you mean {near}?' if near else ''}")
        for key in keys.split(","):
            *modifiers, last = key.split("+")
            if not set(modifiers) <= _MODIFIERS or not _is_key(last):
                such = "f5, ctrl+n, alt+up, question_mark"
                found.append(f"{_short(name)}: there is no key {_short(key)!r}; such are {such}")
    return found


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"


def _is_key(name: str) -> bool:
    if len(name) == 1 or name in _KEY_NAMES:
        return True
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        # Textual's shorter names of a few signs.
        return name in {"slash", "backslash", "at", "minus", "plus", "underscore"}
    return True


def _nearest(name: str, ids: frozenset[str]) -> str:
    from rapidfuzz import process

    found = process.extractOne(name, sorted(ids), score_cutoff=60)
    return found[0] if found else ""
