"""A session of plain mode: reads lines, answers questions, carries out commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.cli.output import announce_remote
from atomr_local.cli.plain import speech
from atomr_local.cli.terminal import interrupt
from atomr_local.errors import AtomrError, InputError
from atomr_local.history.files.export import to_markdown, unkept
from atomr_local.history.pending import pending_question
from atomr_local.history.recording import record_trace
from atomr_local.history.store import History, history_file
from atomr_local.output_files import write_output
from atomr_local.reasoning.conversation import Conversation, counting
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.events import Event, NodeAdded, NodeFinished, NodeStarted, PlanReady, StageChanged
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import ROOT_ID, Tree

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant

_PROMPT = "question> "
_PLAN_PROMPT = "plan> "
_END_OF_PLAN = "."
_LISTED = 20  # questions of the history


class PlainSession:
    """One conversation after the other over standard input and output.

    Args:
        assistant: answers; the caller closes it.
        read: gives the next line for a prompt; raises EOFError at the end of the input, as `input` does.
        write: prints one line.
    """

    def __init__(
        self, assistant: Assistant, read: Callable[[str], str] = input, write: Callable[[str], None] = print
    ) -> None:
        self._assistant = assistant
        self._read = read
        self._write = write
        self._turns: list[Trace] = []
        self._shown: Trace | None = None
        self._questions: dict[int, str] = {}  # of the steps that run
        self._labels: dict[int, str] = {}  # of those that no plan has
        self._commands: dict[str, Callable[[str], None]] = {
            "/tree": lambda _: self._tell(speech.tree_lines(self._last())),
            "/step": lambda rest: self._tell(speech.step_lines(self._last(), self._node(rest))),
            "/evidence": self._evidence,
            "/guess": lambda _: self._tell(speech.guess_lines(self._last())),
            "/correct": self._correct,
            "/rerun": self._rerun,
            "/plan": lambda _: self._tell(sanitize(self._last().plan.compact).splitlines() or ["There is no plan."]),
            "/edit": self._edit,
            "/new": self._new,
            "/web": self._web,
            "/history": self._history,
            "/open": self._open,
            "/export": self._export,
            "/help": lambda _: self._tell(speech.help_lines()),
        }

    def run(self) -> None:
        """Read and answer until /quit or the end of the input. Errors are printed; nothing of the session is lost."""
        announce_remote(self._assistant.settings)
        self._write("atomr-local, plain mode. Type a question and press Enter. /help lists the commands.")
        self._tell_web()
        while True:
            try:
                line = self._read(_PROMPT).strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                self._write("")
                self._write("/quit ends the program.")
                continue
            if line == "/quit":
                return
            try:
                self._take(line)
            except AtomrError as error:
                self._write(sanitize_line(f"{error.title}: {error.message}"))
                if error.hint:
                    self._write(f"You can: {sanitize_line(error.hint)}")

    def _take(self, line: str) -> None:
        if not line:
            self._write("Type a question, or /help.")
        elif not line.startswith("/"):
            self._ask(line, conversation=Conversation.of(self._turns))
        else:
            name, _, rest = line.partition(" ")
            command = self._commands.get(name)
            if command is None:
                raise InputError(f"there is no command {name}", hint="/help lists the commands.")
            command(rest.strip())

    # Asking

    def _ask(
        self,
        question: str,
        *,
        conversation: Conversation,
        plan: Tree | None = None,
        revision: Revision | None = None,
        understood: str | None = None,
    ) -> None:
        assistant = self._assistant
        events = assistant.ask(
            question,
            plan=plan,
            plan_origin="user",
            revision=revision,
            conversation=conversation,
            understood=understood,
        )
        keep = assistant.settings.history.keep
        with pending_question(question, assistant.settings.strategy, keep=keep) as pending:
            with interrupt(assistant.cancel):
                for event in events:
                    self._tell_event(event)
            trace = assistant.last_trace
            assert trace is not None
            self._shown = trace
            self._turns = counting([*self._turns, trace])
            notes = record_trace(trace, pending)[1] if keep else []
        self._tell(speech.answer_lines(trace, {turn.id: turn.question for turn in self._turns}))
        self._tell(map(sanitize_line, notes))

    def _tell_event(self, event: Event) -> None:
        match event:
            case StageChanged():
                self._write(f"{sanitize_line(event.stage).capitalize()}.")
            case PlanReady():
                self._labels = {}
                self._tell(speech.plan_lines(event))
            case NodeAdded():
                self._labels[event.node_id] = event.label
                self._write(speech.added_step(event))
            case NodeStarted():
                self._questions[event.node_id] = event.resolved_question
            case NodeFinished() if event.node_id != ROOT_ID:
                question, label = self._questions.get(event.node_id, ""), self._labels.get(event.node_id, "")
                self._write(speech.ended_step(event, question, label))

    def _again(self, *, plan: Tree | None = None, revision: Revision | None = None) -> None:
        """Ask the last question once more; its new answer takes the place of the old one."""
        last = self._last()
        before = [turn for turn in self._turns if turn.id != last.id]
        self._ask(
            last.question,
            plan=plan,
            revision=revision,
            conversation=Conversation.of(before),
            understood=last.understood_as or None,
        )

    # Commands

    def _evidence(self, rest: str) -> None:
        trace = self._last()
        node = self._node(rest) if rest else next((item for item in trace.nodes if item.id == ROOT_ID), None)
        if node is None:
            raise InputError("no step has run, so there is no evidence")
        self._tell(speech.evidence_lines(trace, node))

    def _correct(self, rest: str) -> None:
        number, _, text = rest.partition(" ")
        node = self._node(number)
        answers = tuple(part.strip() for part in text.split(";") if part.strip())
        if not answers:
            raise InputError("no answer is given", hint=f"Type it after the number: /correct {node.id} Paris")
        self._again(revision=Revision(self._last(), answers={node.id: answers}))

    def _rerun(self, rest: str) -> None:
        if rest:
            self._again(revision=Revision(self._last(), rerun=frozenset({self._node(rest).id})))
        else:
            self._again()

    def _edit(self, _: str) -> None:
        last = self._last()
        if last.plan.origin == "steps":
            raise InputError(
                "there is no plan to edit: each step followed from the ones before", hint="/rerun asks again."
            )
        self._write(
            f"Type the plan, one step a line. {_END_OF_PLAN} alone on a line runs it; an empty plan changes nothing."
        )
        lines = []
        while (line := self._read(_PLAN_PROMPT)).strip() != _END_OF_PLAN:
            lines.append(line)
        if not any(line.strip() for line in lines):
            self._write("The plan is unchanged.")
            return
        try:
            plan = parse_compact("\n".join(lines), last.understood_as or last.question)
        except TreeError as error:
            raise InputError(f"the plan cannot be read: {error}", hint="/plan prints the present one.") from error
        self._again(plan=plan, revision=Revision(last))

    def _new(self, _: str) -> None:
        self._turns = []
        self._shown = None
        self._write("New conversation.")

    def _web(self, rest: str) -> None:
        if rest not in ("", "on", "off"):
            raise InputError(f"web is on or off, not {rest}", hint="Type /web on or /web off.")
        if rest:
            self._assistant.set_web(rest == "on")
        self._tell_web()

    def _history(self, _: str) -> None:
        found = []
        if history_file().exists():
            with History.open() as history:
                found = [(item.id, item.question, item.status, item.answer) for item in history.entries(limit=_LISTED)]
        self._tell(speech.turns_lines(found))

    def _open(self, rest: str) -> None:
        with History.open() as history:
            number = _number(rest, "Type the number of the question: /open 12")
            kept = history.get(number).trace
            self._turns = counting(item.trace for item in history.conversation(number) if item.summary.id <= number)
        self._shown = kept
        self._write(f"Question: {sanitize_line(kept.question)}")
        self._tell(speech.answer_lines(kept, {turn.id: turn.question for turn in self._turns}))

    def _export(self, rest: str) -> None:
        if not rest:
            raise InputError("no file is named", hint="Type one: /export answer.md")
        write_output(Path(rest).expanduser(), to_markdown([unkept(self._last())]))
        self._write(f"Written to {sanitize_line(rest)}.")

    # What is at hand

    def _last(self) -> Trace:
        if self._shown is None:
            raise InputError("no question is open", hint="Ask one, or open one of the history with /open.")
        return self._shown

    def _node(self, text: str) -> NodeTrace:
        number = _number(text, "Type the number of a step; /tree lists them.")
        nodes = {node.id: node for node in self._last().nodes}
        if number not in nodes:
            raise InputError(f"there is no step {number}", hint="/tree lists the steps.")
        return nodes[number]

    def _tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._write(line)

    def _tell_web(self) -> None:
        if self._assistant.web_enabled:
            self._write("Web search is on: search words leave this machine.")
        else:
            self._write("Web search is off.")


def _number(text: str, hint: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputError(f"{sanitize_line(text)!r} is no number" if text else "a number is missing", hint=hint)
    return int(text)


def run_plain(assistant: Assistant) -> None:
    """Run a session on standard input and output."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    PlainSession(assistant, write=lambda line: print(line, flush=True)).run()
