"""The work of `atomr questions make`: candidate after candidate, the cheap checks first, until there are enough.

    make.json          what is made of what: written first, compared on every resumption
    questions.jsonl    the questions that were kept
    dropped.jsonl      those that asking has ruled out, each with the reason and what was answered
    web_queries.jsonl  with web search, each query, written as it is sent

A question in one of the middle two is decided and is not asked about again. An interrupted run goes through the
candidates from the start and takes these decisions as they come, so that it ends with what a run in one go would have.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from io import FileIO
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from atomr_lab.evaluation.datasets import DatasetRecord, read_records
from atomr_lab.evaluation.diagnosis import mentions
from atomr_lab.evaluation.metrics import same_value
from atomr_lab.evaluation.runs import append_line, cut_torn_line, differences, write_file
from atomr_lab.question_making.hops import (
    Bridge,
    Candidate,
    Composed,
    Form,
    Line,
    Source,
    composed,
    confirming,
    line_in,
    line_of,
    read_lines,
)
from atomr_lab.question_making.knowledge import (
    Knowledge,
    NearValues,
    Reason,
    WebFacts,
    first_problem,
    graph_to_text,
    graph_to_web,
    leaks,
    text_to_graph,
    text_to_web,
)
from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.page_facts.passages import PagePassage
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.trace.events import Event, Finished, LeavesMachine
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import locked, read_text
from atomr_local.tree.nodes import Tree

if TYPE_CHECKING:
    from atomr_local.settings.schema import Settings
    from atomr_local.strategies.protocol import QuestionContext


# What only asking can tell: whether one source is enough for a question, and whether both are.

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

    def model_tools(self, question: str) -> QuestionContext: ...


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


# How many questions of what kind are made: at most a tenth from one relation, one for a bridge, the forms in turn.

SHARE = 10
"""At most one in so many of the questions that are kept has the same relation, as first or as second fact."""
PER_RELATION = 3
"""So many may have it in any case: a tenth of a few questions is none."""

BRIDGE_USED = "the bridge has a question already"
RELATION_FULL = "the relation has its share of the questions already"
FORM_FULL = "questions of the form are not asked for"


class Kept:
    """What has been kept so far. The limits hold after each question, so also where a run is stopped.

    Args:
        per_relation: how many questions may have the same relation in any case.
    """

    def __init__(self, forms: Sequence[Form], per_relation: int = PER_RELATION) -> None:
        self._per_relation = per_relation
        self._forms = tuple(forms)
        self._relations: Counter[str] = Counter()
        self._bridges: set[str] = set()
        self._by_form: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self.lines: list[Line] = []

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self._relations.update(dict.fromkeys(line.relations, 1))
        self._bridges.add(line.bridge_key)
        self._by_form[line.form] += 1
        if line.form == "yes/no":
            self._verdicts[line.answers[0]] += 1

    def full(self, candidate: Candidate) -> str:
        """Why no question like this one is made now; "" if one is. RELATION_FULL may pass when more are kept."""
        if candidate.counted and "count" not in self._forms:
            return FORM_FULL
        if not candidate.counted and not {"short", "yes/no"} & set(self._forms):
            return FORM_FULL
        if candidate.bridge_key in self._bridges:
            return BRIDGE_USED
        relations = {candidate.first.relation, candidate.second.relation}
        most = max(self._per_relation, (len(self.lines) + 1) // SHARE)
        return RELATION_FULL if any(self._relations[one] >= most for one in relations) else ""

    def next_form(self, candidate: Candidate) -> Form:
        """The form that a question of this candidate takes: of those that it can, the one with the fewest so far."""
        if candidate.counted:
            return "count"
        forms: list[Form] = [form for form in self._forms if form != "count"]
        return min(forms, key=lambda form: self._by_form[form])

    @property
    def next_verdict(self) -> bool:
        """Whether the right answer of the next question for yes or no is yes: half of them are no."""
        return self._verdicts["yes"] <= self._verdicts["no"]


NOT_CONFIRMED = "no question for yes or no can be made of it"

Rephrase = Callable[[Composed], str]
"""Other words for a question; "" where none were found that pass the checks."""


class Journal(Protocol):
    """Where decisions are kept: each is on the disk when the method returns."""

    @property
    def kept(self) -> Sequence[Line]: ...

    @property
    def dropped(self) -> Mapping[str, Reason]: ...

    def keep(self, fields: dict[str, Any]) -> Line: ...

    def drop(self, fields: dict[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be made.

    Attributes:
        number: how many questions.
        pages: how many pages of the text index are read.
        per_relation: how many questions may have the same relation, whatever a tenth of them is.
    """

    number: int
    bridges: tuple[Bridge, ...]
    forms: tuple[Form, ...]
    seed: int = 0
    pages: int = 20_000
    per_relation: int = PER_RELATION


@dataclass
class Yield:
    """What came of it: counts by reason, and of those left out because there were enough of them."""

    candidates: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    asked: int = 0

    def to_dict(self, number: int) -> dict[str, Any]:
        """The counts as JSON holds them."""
        return {
            "wanted": number,
            "kept": self.forms.total(),
            "forms": dict(sorted(self.forms.items())),
            "kinds": dict(sorted(self.kinds.items())),
            "candidates": dict(sorted(self.candidates.items())),
            "dropped": {str(reason): self.dropped[reason] for reason in Reason if self.dropped[reason]},
            "left out": dict(self.left_out.most_common()),
        }


@dataclass(frozen=True, slots=True)
class Step:
    """A candidate that a model was asked about: what became of it."""

    kept: int
    wanted: int
    asked: int
    question: str
    answers: tuple[str, ...]
    reason: str = ""


class _Outcome(Enum):
    """What became of a candidate: decided by asking, now or before; passed over without; or put off."""

    TRIED = 1
    PASSED_OVER = 2
    WAITS = 3


class Making:
    """One run. Args: see the attributes of the same names; `on_step` hears what became of each trial."""

    def __init__(
        self,
        knowledge: Knowledge,
        trials: Trials,
        near: NearValues,
        wanted: Wanted,
        journal: Journal,
        *,
        web: WebFacts | None = None,
        rephrase: Rephrase | None = None,
        on_step: Callable[[Step], None] = lambda _step: None,
        cancellation: Cancellation | None = None,
    ) -> None:
        self._knowledge, self._trials, self._near = knowledge, trials, near
        self._wanted, self._journal, self._web = wanted, journal, web
        self._rephrase = rephrase
        self._on_step = on_step
        self._cancellation = cancellation or Cancellation()
        self.kept = Kept(wanted.forms, wanted.per_relation)
        self.found = Yield()
        self._earlier: dict[str, Line] = {}  # kept by an earlier run, and not met again yet
        self._sound: set[str] = set()  # ids of those that have passed the checks and wait

    def run(self) -> Yield:
        """Make the questions; fewer than wanted where the indexes give no more.

        Raises:
            AtomrError: an index or the model failed; what was decided is kept.
            Cancelled: the user interrupted.
        """
        self._earlier = {line.id: line for line in self._journal.kept}
        if len(self._earlier) < self._wanted.number:
            later, tried = self._take_turns(self._counted(self._candidates()))
            while tried and not self._enough:
                later, tried = self._take_turns(later)
            self.found.left_out.update(full for candidate in later if (full := self.kept.full(candidate)))
        self._add_earlier()
        return self.found

    @property
    def _enough(self) -> bool:
        return len(self.kept) >= self._wanted.number

    def _counted(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        for candidate in candidates:
            self.found.candidates[candidate.bridge] += 1
            yield candidate

    def _take_turns(self, candidates: Iterable[Candidate]) -> tuple[list[Candidate], bool]:
        """Try one candidate of each bridge, which has one question at most.

        Returns:
            Those that are left for the next turn: the others of a bridge, and those whose relation has its share until
            more questions are kept; and whether any was tried, without which a next turn would be the same.
        """
        tried: set[str] = set()
        later: list[Candidate] = []
        for candidate in candidates:
            self._cancellation.check()
            if self._enough:
                break
            outcome = _Outcome.WAITS if candidate.bridge_key in tried else self._try(candidate)
            if outcome is _Outcome.WAITS:
                later.append(candidate)
            elif outcome is _Outcome.TRIED:
                tried.add(candidate.bridge_key)
        return later, bool(tried)

    def _try(self, candidate: Candidate) -> _Outcome:
        """Decide about a candidate, or take the decision of an earlier run."""
        if self._decided_before(candidate):
            return _Outcome.TRIED
        base = composed(candidate)
        if (outcome := self._without_asking(base)) is not None:
            return outcome
        made = self._formed(base)
        if made is None:
            self.found.left_out[NOT_CONFIRMED] += 1
            return _Outcome.PASSED_OVER
        if self._earlier:  # the program gives other candidates than before: what it kept counts from here on
            self._add_earlier()
            return self._try(candidate)
        self._ask(base, made)
        return _Outcome.TRIED

    def _decided_before(self, candidate: Candidate) -> bool:
        if line := self._earlier.pop(candidate.id, None):
            self._add(line)
        elif earlier := self._journal.dropped.get(candidate.id):
            self.found.dropped[earlier] += 1
        else:
            return False
        return True

    def _without_asking(self, base: Composed) -> _Outcome | None:
        """Why no model is asked about a question now; None if one is."""
        candidate = base.candidate
        if candidate.id not in self._sound and (problem := first_problem(base, self._knowledge)) is not None:
            self.found.dropped[problem[0]] += 1
            return _Outcome.PASSED_OVER
        full = self.kept.full(candidate)
        if full == RELATION_FULL:
            self._sound.add(candidate.id)
            return _Outcome.WAITS
        if full:
            self.found.left_out[full] += 1
            return _Outcome.PASSED_OVER
        return None

    def _ask(self, base: Composed, made: Composed) -> None:
        """Try a question, and keep or drop it."""
        self.found.asked += 1
        made, failed = self._tried(base, made)
        if failed is not None:
            self.found.dropped[failed.reason] += 1
            told = {"id": base.candidate.id, "reason": str(failed.reason), "question": made.question}
            self._journal.drop(told | {"answers": list(made.answers), "answered": failed.answered})
            self._report(made, str(failed.reason))
            return
        worded = self._rephrase(made) if self._rephrase is not None else ""
        self._add(self._journal.keep(line_of(made, worded=worded, rephrased=bool(worded))))
        self._report(made)

    def _formed(self, base: Composed) -> Composed | None:
        """The question in the form that is due; None where it cannot be asked so and may not be asked otherwise."""
        if self.kept.next_form(base.candidate) != "yes/no":
            return base
        made = self._confirming(base.candidate)
        return made if made is not None or "short" not in self._wanted.forms else base

    def _tried(self, base: Composed, made: Composed) -> tuple[Composed, Failed | None]:
        """The question that is left after the trials, and the one that it failed. What both sources do not confirm is
        asked for as it was tried."""
        failed = self._trials.of(base)
        if failed is not None or made is base:
            return base, failed
        missed = self._trials.missed(made)
        return (base, None) if missed is not None and "short" in self._wanted.forms else (made, missed)

    def _confirming(self, candidate: Candidate) -> Composed | None:
        """The question for yes or no that is due; None where the candidate makes none."""
        right = self.kept.next_verdict
        value = candidate.second.tail if right else self._near.of(candidate)
        made = confirming(candidate, value, right=right) if value else None
        return made if made is not None and not leaks(made.question, candidate.names) else None

    def _add_earlier(self) -> None:
        for line in self._earlier.values():
            self._add(line)
        self._earlier = {}

    def _add(self, line: Line) -> None:
        self.kept.add(line)
        self.found.forms[line.form] += 1
        self.found.kinds[line.bridge] += 1

    def _report(self, made: Composed, reason: str = "") -> None:
        step = Step(len(self.kept), self._wanted.number, self.found.asked, made.question, made.answers, reason)
        self._on_step(step)

    def _candidates(self) -> Iterator[Candidate]:
        """Those of every kind in turn, each in the order of the seed."""
        knowledge, wanted = self._knowledge, self._wanted
        kinds: list[Iterator[Candidate]] = []
        if "text-graph" in wanted.bridges:
            if {"short", "yes/no"} & set(wanted.forms):
                kinds.append(text_to_graph(knowledge, self.openings(), counted=False))
            if "count" in wanted.forms:
                kinds.append(text_to_graph(knowledge, self.openings(), counted=True))
        if {"short", "yes/no"} & set(wanted.forms):
            if "graph-text" in wanted.bridges:
                kinds.append(graph_to_text(knowledge, self.openings()))
            if self._web is not None and "graph-web" in wanted.bridges:
                kinds.append(graph_to_web(knowledge, self.openings(), self._web))
            if self._web is not None and "text-web" in wanted.bridges:
                kinds.append(text_to_web(knowledge, self.openings(), self._web))
        seen: set[str] = set()
        for turn in zip_longest(*kinds):
            for candidate in turn:
                if candidate is not None and candidate.id not in seen:
                    seen.add(candidate.id)
                    yield candidate

    def openings(self) -> Iterable[PagePassage]:
        return self._knowledge.passages.openings(self._wanted.seed, self._wanted.pages)


# The directory that questions are made into. It survives being killed, and an interrupted run goes on from it.

SCHEMA = "atomr.questions/1"
ABOUT_FILE = "make.json"
QUESTIONS_FILE = "questions.jsonl"
DROPPED_FILE = "dropped.jsonl"
WEB_FILE = "web_queries.jsonl"
_LOCK_FILE = ".lock"
_ABOUT_BYTES = 16 << 20


@dataclass
class Decisions:
    """What was decided, and files to add to it; each decision is on the disk when the method returns.

    Attributes:
        kept: the questions that were kept, in order.
        dropped: reasons by id.
    """

    path: Path
    questions: FileIO
    losses: FileIO
    kept: list[Line] = field(default_factory=list)
    dropped: dict[str, Reason] = field(default_factory=dict)

    def keep(self, fields: dict[str, Any]) -> Line:
        append_line(self.questions, fields)
        line = line_in(DatasetRecord(self.path / QUESTIONS_FILE, len(self.kept) + 1, fields))
        self.kept.append(line)
        return line

    def drop(self, fields: dict[str, Any]) -> None:
        append_line(self.losses, fields)
        self.dropped[fields["id"]] = Reason(fields["reason"])

    def searched(self, to: str, query: str) -> None:
        """Keep a query of the web: the host that it goes to, its words, and when.

        Raises:
            OSError: it cannot be written.
        """
        when = datetime.now(UTC).isoformat(timespec="seconds")
        with (self.path / WEB_FILE).open("ab", buffering=0) as stream:
            append_line(stream, {"time": when, "to": to, "query": query})


@contextlib.contextmanager
def deciding(path: Path, description: Mapping[str, Any]) -> Iterator[Decisions]:
    """The directory, opened for adding to it: begun if it is new, resumed if not.

    Raises:
        InputError: it cannot be written, was begun with another description, is being written by another process, or
            holds a damaged line before the last.
    """
    described: dict[str, Any] = json.loads(json.dumps(description))
    try:
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is not a directory", hint="Name another --out.")
        path.mkdir(parents=True, exist_ok=True)
        for name in (_LOCK_FILE, ABOUT_FILE, QUESTIONS_FILE, DROPPED_FILE, WEB_FILE):
            if (path / name).exists() and not (path / name).is_file():
                raise InputError(f"{path / name} is not a regular file", hint="Remove it, or name another --out.")
        with locked(path / _LOCK_FILE, path, "another process"):
            _begin_or_resume(path, described)
            cut_torn_line(path / QUESTIONS_FILE)
            cut_torn_line(path / DROPPED_FILE)
            cut_torn_line(path / WEB_FILE)
            with (
                (path / QUESTIONS_FILE).open("ab", buffering=0) as questions,
                (path / DROPPED_FILE).open("ab", buffering=0) as losses,
            ):
                kept = list(read_lines(path / QUESTIONS_FILE))
                yield Decisions(path, questions, losses, kept, _dropped(path / DROPPED_FILE))
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be written: {error.strerror or error}") from error


def _dropped(path: Path) -> dict[str, Reason]:
    found = {}
    for record in read_records(path):
        try:
            found[record.text("id")] = Reason(record.text("reason"))
        except ValueError as error:
            raise record.error('"reason" is none of those that questions are dropped for') from error
    return found


def _begin_or_resume(path: Path, described: dict[str, Any]) -> None:
    file = path / ABOUT_FILE
    if not file.exists():
        if (path / QUESTIONS_FILE).exists() or (path / DROPPED_FILE).exists():
            raise InputError(
                f"{path} holds questions but no {ABOUT_FILE}, so it cannot be resumed", hint="Name another --out."
            )
        write_file(file, json.dumps(described, ensure_ascii=False, indent=1) + "\n")
        return
    try:
        before = json.loads(read_text(file, _ABOUT_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="Name another --out.") from error
    changed = list(differences(before, described))
    if changed:
        shown = "; ".join(f"{key} was {was}, is now {now}" for key, was, now in changed[:5])
        raise InputError(
            f"{path} was begun with other settings: {shown}",
            hint="Use the same settings to go on, or name another --out.",
        )
