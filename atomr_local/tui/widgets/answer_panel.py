"""The answer panel: the answer, its evidence and its confidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.message import Message

from atomr_local.reasoning.confidence import CONFIDENCE_WORDS, NOT_FOUND, confidence_symbol, confidence_word
from atomr_local.reasoning.trace import telling
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.rendering import plain

if TYPE_CHECKING:
    from textual.widgets import Markdown

    from atomr_local.reasoning.trace.schema import Trace

_SCHEME = "evidence:"
_LONG = 120  # characters of an answer, after which a doubt below it might not be seen
_SUPPORTS = (*CONFIDENCE_WORDS, NOT_FOUND, telling.YOUR_ANSWER)


class AnswerPanel(VerticalScroll):
    """Its citations are links to the evidence."""

    BORDER_TITLE = "Answer"
    DEFAULT_CSS = """
    AnswerPanel { border: round $border-blurred; }
    AnswerPanel.-well-supported { border: round $success; }
    AnswerPanel.-probably { border: round $accent; }
    AnswerPanel.-not-sure, AnswerPanel.-your-answer { border: round $warning; }
    AnswerPanel.-not-found { border: round $secondary; }
    """

    @dataclass
    class CitationChosen(Message):
        """The user wants to see this evidence."""

        evidence_id: str

    def __init__(self) -> None:
        super().__init__(id="answer")
        self._source = ""
        self._text: Markdown | None = None

    def show(self, state: QuestionState) -> None:
        """Show the answer as far as it goes."""
        source = answer_of(state)
        for name in _SUPPORTS:
            self.set_class(name == _support(state), f"-{name.replace(' ', '-')}")
        self.display = bool(source)
        if source == self._source or not self.is_attached:  # gone when the program is being left
            return
        self._source = source
        if self._text is None:
            from textual.widgets import Markdown  # takes a while to import: not before the first frame

            self._text = Markdown(source, id="answer-text", open_links=False)
            self.mount(self._text)
        else:
            # In its own turn: what comes before it is mounted would be lost to its first text.
            self._text.call_later(self._text.update, source)
        self.scroll_home(animate=False)

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        if event.href.startswith(_SCHEME):
            self.post_message(self.CitationChosen(event.href.removeprefix(_SCHEME)))


def _support(state: QuestionState) -> str:
    """How well the answer is supported, one of `_SUPPORTS`; "" while that is not known."""
    answer, root = state.answer, state.nodes.get(ROOT_ID)
    if answer is None or answer.status not in {"answered", "unknown"}:
        return ""
    if answer.status == "unknown":
        return NOT_FOUND
    if root is not None and root.by_user:
        return telling.YOUR_ANSWER
    if answer.confidence is None:
        return ""
    return CONFIDENCE_WORDS[-1] if any(_doubts(state)) else confidence_word(answer.confidence)


def answer_of(state: QuestionState) -> str:
    """The answer with citations, confidence, basis and warnings, as Markdown; outside text is escaped.

    Where the question was declined: why, what to do about it, and the guess once the user asks for it.
    """
    answer = state.answer
    blocks: list[str] = []
    if answer is None:
        if state.draft.strip():
            blocks.append(f"*{plain(state.draft)} …*")
    else:
        parts = list(telling.told_answer(answer, "terminal", web_key=state.web_key.upper()))
        parts.sort(key=lambda part: part.role != "guess")  # the user asked for it: it is seen without scrolling
        blocks += [text for part in parts for text in _blocks(part, answer, state)]
        doubts = list(_doubts(state))
        blocks = [*doubts, *blocks] if len(answer.answer) > _LONG else [*blocks, *doubts]
        if rests := _rests_on(state):
            blocks.append(f"{'Rests' if answer.status == 'answered' else 'The guess rests'} on {rests}.")
        if answer.basis == "model" and answer.answers:
            blocks.append("⚠ This is the model's own knowledge: no evidence supports it.")
        if state.plan_failed:
            blocks.append("⚠ The question could not be broken down; it was answered in one step.")
        if state.record.plan.origin == "example":
            blocks.append("The plan is the one that you kept for this question (F6 lists kept plans).")
    others = [text for text in state.record.warnings if answer is None or telling.warning_text(text) == text]
    blocks.extend(f"⚠ {plain(warning)}" for warning in telling.gathered(others))
    if text := telling.left_machine(state.record.left_machine):
        blocks.append(f"Left the machine: {plain(text)}")
    return "\n\n".join(blocks)


def _blocks(part: telling.Part, answer: Trace, state: QuestionState) -> Iterable[str]:
    """A part of the answer with links to what it cites; a quotation keeps its lines."""
    links = "".join(map(_link, state.citations))
    match part.role:
        case "answer":
            said = plain(part.text or answer.reason)
            shown = f"**{said}**" if answer.status == "answered" else f"*{said}*"
            yield f"{shown}{links or ' '}{_how_sure(state, answer)}".strip()
        case "quotation":
            yield telling.block(f"**{plain(line)}**" for line in part.text.splitlines())
            yield f"{plain(part.source)}{links or ' '}{_how_sure(state, answer)}".strip()
        case "not found":
            yield f"**? {part.lead}.** {plain(part.text)}"
            if answer.guess is not None and not state.guess_shown:
                yield f"*There is a guess: {state.guess_key} shows it.*"
        case "guess" if state.guess_shown:
            yield f"{part.lead}: *{plain(part.text)}*{links or ' '}{_sure(part.confidence)}"
        case "guess":
            pass  # that there is one is told with the reason
        case _:
            yield from telling.in_markdown(part, plain, lambda passage: _link(passage.evidence))


def _doubts(state: QuestionState) -> Iterable[str]:
    """What the answer may not fit, beside it."""
    yield from (f"⚠ {plain(telling.warning_text(text).capitalize())}." for text in _left_out(state.record.warnings))
    root = state.nodes.get(ROOT_ID)
    result = root.result if root is not None and state.answer and state.answer.status == "answered" else None
    if result is not None and result.misfit:
        yield f"⚠ This is {telling.MISFIT}."
    if result is not None and result.supported is False:
        yield f"⚠ {telling.check_text(result).capitalize()}."


def _left_out(warnings: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(warnings) if telling.warning_text(text) != text]


def _rests_on(state: QuestionState) -> str:
    """The cited pieces, and the answers that the user gave; "" if there are none."""
    answer, found = state.answer, state.evidence
    cited = [f"{plain(found[item].title)} ({found[item].source})" for item in state.citations]
    if answer is None or not (answer.status == "answered" or state.guess_shown):
        return ""
    given = [number for number, view in state.nodes.items() if view.ended and view.step.by_user]
    own = [f"✎ {telling.YOUR_ANSWER}" + ("" if number == ROOT_ID else f" to step {number}") for number in given]
    return ", ".join([*cited, *own])


def _link(name: str) -> str:
    return f" [\\[{name}\\]]({_SCHEME}{name})"


def _how_sure(state: QuestionState, answer: Trace) -> str:
    root = state.nodes.get(ROOT_ID)
    return f"  ✎ {telling.YOUR_ANSWER}" if root is not None and root.by_user else _sure(answer.confidence)


def _sure(confidence: float | None) -> str:
    if confidence is None:
        return ""
    return f"  {confidence_symbol(confidence)} {confidence_word(confidence)} ({confidence:.2f})"
