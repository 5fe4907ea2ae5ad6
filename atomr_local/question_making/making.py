"""The work of `atomr questions make`: candidate after candidate, the cheap checks first, until there are enough.

    make.json          what is made of what: written first, compared on every resumption
    questions.jsonl    the questions that were kept
    dropped.jsonl      those that asking has ruled out, each with the reason and what was answered
    web_queries.jsonl  with web search, each query, written as it is sent

A question in one of the middle two is decided and is not asked about again. An interrupted run goes through the
candidates from the start and takes these decisions as they come, so that it ends with what a run in one go would have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from typing import Any, Protocol

from atomr_local.cancellation import Cancellation
from atomr_local.page_facts.passages import PagePassage
from atomr_local.question_making.bridges import WebFacts, graph_to_text, graph_to_web, text_to_graph, text_to_web
from atomr_local.question_making.checks import Reason, first_problem, leaks
from atomr_local.question_making.composing import Composed, composed, confirming
from atomr_local.question_making.hops import Bridge, Candidate, Form
from atomr_local.question_making.knowledge import Knowledge
from atomr_local.question_making.limits import PER_RELATION, RELATION_FULL, Kept
from atomr_local.question_making.lines import Line, line_of
from atomr_local.question_making.near import NearValues
from atomr_local.question_making.trials import Failed, Trials

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
