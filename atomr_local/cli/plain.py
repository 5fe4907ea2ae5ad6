"""A session of plain mode: reads lines, answers questions, carries out commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.assistant.history.export import to_markdown, unkept
from atomr_local.assistant.history.pending import pending_question
from atomr_local.assistant.history.store import History, history_file, record_trace
from atomr_local.cli.output import announce_remote, interrupt
from atomr_local.errors import AtomrError, InputError
from atomr_local.reasoning.confidence import NOT_FOUND, confidence_text, confidence_word, status_word
from atomr_local.reasoning.conversation import Conversation, counting
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace import StepEnd, telling
from atomr_local.reasoning.trace.events import Event, NodeAdded, NodeFinished, NodeStarted, PlanReady, StageChanged
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.system.files import write_output
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import ROOT_ID, Tree

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant


# What plain mode prints: whole sentences, one fact a line, no box drawing, no colour. All of it is sanitised.

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
    what = ": ".join(filter(None, (telling.kind_text(event.label, "step"), _clean(event.question))))
    return f"Step {event.node_id} is added{part}: {what}"


def ended_step(event: NodeFinished, question: str, label: str = "") -> str:
    """One line for a step that has ended.

    Args:
        label: what the step is to its method.
    """
    stage = telling.is_stage(event, label, question)
    ended = "" if stage else _ended(event, given=event.by_user)
    return " ".join(filter(None, (f"Step {event.node_id}: {telling.step_title(event, label, question)}", ended)))


def answer_lines(trace: Trace, earlier: Mapping[str, str]) -> list[str]:
    """The answer and what it rests on, or why there is none.

    Args:
        earlier: questions of the conversation by trace id.
    """
    lines = []
    if trace.plan.origin == "example":
        lines.append("The plan is one that you kept for this question.")
    if meant := telling.understood(trace):
        lines.append(f"Understood as: {meant}")
        lines += [f"Taken from: {question}" for question in telling.taken_from(trace, earlier)]
    lines += [line for part in telling.told_answer(trace, "plain") for line in _lines(part, trace)]
    if trace.status == "answered":
        own = [node.id for node in trace.nodes if node.by_user]
        lines += [
            "It is your answer." if number == ROOT_ID else f"It rests on your answer to step {number}."
            for number in own
        ]
    lines += [f"Note: {_clean(telling.warning_text(warning))}" for warning in dict.fromkeys(trace.warnings)]
    return lines + list(filter(None, [telling.departures_text(trace)]))


def _lines(part: telling.Part, trace: Trace) -> Iterator[str]:
    """A part of the answer."""
    match part.role:
        case "answer" if trace.status != "answered":
            lead = f"{NOT_FOUND.capitalize()}: " if trace.status == "unknown" else ""  # by an earlier version
            yield f"{lead}{_clean(part.text)}"
        case "answer" | "quotation":
            quoted = part.role == "quotation"
            yield from ["Quotation:"] if quoted else []
            yield from filter(None, map(_clean, sanitize(part.text).splitlines() if quoted else [part.text]))
            if part.confidence is not None and not trace.by_user:
                yield f"How sure: {confidence_text(part.confidence)}."
            yield from _rests(trace, ROOT_ID)
        case "passages" if part.text:
            yield f"{part.text}:"
            yield from (line for passage in part.passages for line in (f"{passage.source}:", *passage.lines))
        case "passages":
            yield from (f"The passage says: {' '.join(passage.lines)}" for passage in part.passages)
        case "advice":
            yield from (f"You can: {_clean(item)}" for item in part.items)
        case "guess":
            yield "There is a guess: /guess tells it."
        case _:
            yield part.line


def guess_lines(trace: Trace) -> list[str]:
    guess = telling.told_guess(trace)
    if guess is None:
        return ["There is no guess."]
    return [f"{guess.line}{_how_sure(guess.confidence)}", *_rests(trace, ROOT_ID)]


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
    lines += [f"{name.capitalize()}: {text}" for name, text in telling.step_details(node)]
    if node.sources:
        lines.append(f"Sources: {', '.join(map(_clean, node.sources))}.")
    if node.computation:
        lines.append(f"Computed: {_clean(telling.computation_text(node.computation))}")
    if node.supported is not None:
        lines.append(f"Check: {telling.check_text(node)}.")
    if node.misfit:
        lines.append(f"Check: {telling.MISFIT}.")
    lines += _rests(trace, node.id)
    if node.evidence:
        lines.append(f"Evidence found: {len(node.evidence)}, cited: {len(node.cited)}. /evidence {node.id} reads it.")
    return lines


def evidence_lines(trace: Trace, node: NodeTrace) -> list[str]:
    """The step's evidence in full, what it cites first."""
    wanted = [*node.cited, *(item for item in node.evidence if item not in node.cited)]
    lines = []
    for place, item in enumerate(telling.pieces(trace, wanted), start=1):
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
    return telling.step_title(node, node.label, node.resolved_question or node.question)


def _outcome(trace: Trace, node: NodeTrace) -> str:
    """How the step ended; "" for one that needs no answer."""
    stage = telling.is_stage(node, node.label, node.question)
    return "" if stage else _ended(node, given=trace.is_given(node), reason=node.reason)


def _ended(step: StepEnd, *, given: bool, reason: str = "") -> str:
    if step.error:
        return f"Failed: {_clean(step.error['message'])}"
    if not telling.is_found(step):
        return f"{NOT_FOUND.capitalize()}{f': {_clean(reason)}' if reason else '.'}"
    if given:
        return f"Your answer: {_clean(step.answer)}."
    return f"Answer: {_clean(step.answer)}{_how_sure(step.confidence)}"


def _how_sure(confidence: float | None) -> str:
    return "." if confidence is None else f", {confidence_word(confidence)}."


def _rests(trace: Trace, node_id: int) -> list[str]:
    cited = next((node.cited for node in trace.nodes if node.id == node_id), [])
    return [f"It rests on {_source(item)}." for item in telling.pieces(trace, cited)]


def _source(item: EvidenceTrace) -> str:
    return f"{_clean(item.source)}: {telling.source_words(item)}"


def _clean(text: str) -> str:
    return sanitize_line(text)


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
            "/tree": lambda _: self._tell(tree_lines(self._last())),
            "/step": lambda rest: self._tell(step_lines(self._last(), self._node(rest))),
            "/evidence": self._evidence,
            "/guess": lambda _: self._tell(guess_lines(self._last())),
            "/correct": self._correct,
            "/rerun": self._rerun,
            "/plan": lambda _: self._tell(sanitize(self._last().plan.compact).splitlines() or ["There is no plan."]),
            "/edit": self._edit,
            "/new": self._new,
            "/web": self._web,
            "/history": self._history,
            "/open": self._open,
            "/export": self._export,
            "/help": lambda _: self._tell(help_lines()),
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
        self._tell(answer_lines(trace, {turn.id: turn.question for turn in self._turns}))
        self._tell(map(sanitize_line, notes))

    def _tell_event(self, event: Event) -> None:
        match event:
            case StageChanged():
                self._write(f"{sanitize_line(event.stage).capitalize()}.")
            case PlanReady():
                self._labels = {}
                self._tell(plan_lines(event))
            case NodeAdded():
                self._labels[event.node_id] = event.label
                self._write(added_step(event))
            case NodeStarted():
                self._questions[event.node_id] = event.resolved_question
            case NodeFinished() if event.node_id != ROOT_ID:
                question, label = self._questions.get(event.node_id, ""), self._labels.get(event.node_id, "")
                self._write(ended_step(event, question, label))

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
        self._tell(evidence_lines(trace, node))

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
        self._tell(turns_lines(found))

    def _open(self, rest: str) -> None:
        with History.open() as history:
            number = _number(rest, "Type the number of the question: /open 12")
            kept = history.get(number).trace
            self._turns = counting(item.trace for item in history.conversation(number) if item.summary.id <= number)
        self._shown = kept
        self._write(f"Question: {sanitize_line(kept.question)}")
        self._tell(answer_lines(kept, {turn.id: turn.question for turn in self._turns}))

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
