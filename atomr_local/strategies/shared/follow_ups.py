"""Questions of one fact, one after another: each is looked up before the next one is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import names_in
from atomr_local.reasoning.asking.writer import FilledForm
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.reading.checks import supported
from atomr_local.reasoning.results import Result, citations_hold
from atomr_local.reasoning.verdict.reasons import mentioned
from atomr_local.sources.protocol import Evidence, Request, SourceName
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import CALLS_USED, OWN, UNTOLD, result_of
from atomr_local.strategies.shared.loop import asked_before, same_question
from atomr_local.strategies.shared.tasks import Tasks
from atomr_local.strategies.shared.tools import searched
from atomr_local.strategies.shared.trained import tasks_of

_ELSEWHERE = "the cited passage tells something else"


@dataclass
class FollowUps:
    """The follow-up questions to one question, with their answers.

    Attributes:
        most: the most follow-up questions.
        k: pieces of evidence for each of them and each source.
        where: the sources that they are searched in; None: wherever the step may search.
        memory: whether the model's own knowledge stands in, and is told as such, where nothing is found. If not, only
            an answer that a passage about a name of the follow-up holds is one.
        barred: questions that are not asked; one of them ends it.
        steps: what was asked, with the results so far.
        notes: why no more was asked, where that was not the model's choice.
        complete: whether the model chose to ask no more.
        final: the answer that it ended with, if it did.
    """

    question: str
    tools: QuestionContext
    most: int = 6
    k: int = 3
    where: Sequence[str] | None = None
    memory: bool = True
    barred: Sequence[str] = ()
    steps: list[tuple[str, Result]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complete: bool = False
    final: FilledForm | None = None

    def ask(self) -> None:
        """Ask and answer, until no more is asked, one repeats, or a limit is reached. Without memory one that has no
        answer is the last, too.
        """
        tasks = tasks_of(self.question, self.tools)
        while len(self.steps) < self.most:
            if not (follow_up := self._next(tasks)):
                return
            with self.tools.steps.open(follow_up, label="follow-up") as step:
                step.result = self._answered(step.id, follow_up)
            self.steps.append((follow_up, step.result))
            if not self.memory and not step.result.values:
                return
        self.notes.append(f"no more than {self.most} follow-up questions")

    def _next(self, tasks: Tasks) -> str:
        """The next follow-up; "" if there is none."""
        if not self.tools.asking.calls_left:
            self.notes.append(CALLS_USED)
            return ""
        try:
            written = tasks.follow_up([(asked, result.told) for asked, result in self.steps])
        except Cancelled:
            raise
        except AtomrError as error:
            if not self.steps:
                raise
            self.notes.append(f"no further follow-up: {error.message}")
            return ""
        follow_up, self.final = written.question, written.final
        self.notes += [note for note in written.notes if note not in self.notes]
        if any(same_question(follow_up, barred) for barred in self.barred):
            self.notes.append(f"not asked again: {follow_up}")
            return ""
        self.complete = not follow_up
        if follow_up and asked_before(follow_up, [asked for asked, _ in self.steps], self.tools):
            self.notes.append(f"the model asked again: {follow_up}")
            return ""
        return follow_up

    def _answered(self, node_id: int, follow_up: str) -> Result:
        """The answer to a follow-up from what is found, or else, if that is allowed, from the model's memory."""
        shown = [result.answer for _, result in self.steps]
        request = Request(follow_up, follow_up, top_k=self.k)
        found = searched(self.tools, node_id, request, self.question, answers=shown, sources=self.where)
        evidence = found.evidence
        result = Result(evidence=evidence)
        if evidence:
            reading = _citing_facts(self.tools.reader.from_evidence(node_id, follow_up, evidence), evidence)
            result = result_of(self.tools.reader.checked(node_id, reading), "direct_rag", evidence)
            if not self.memory and result.values and not _told(follow_up, result):
                result = Result(evidence=evidence, dropped=[*result.dropped, f"{result.answer}: {_ELSEWHERE}"])
        if not result.values and self.memory:
            own = result_of(self.tools.reader.from_memory(node_id, follow_up), "closed_book", evidence)
            unread = [result.error["message"]] if result.error else []
            told = [UNTOLD if evidence else OWN] if own.values else []
            own.dropped = [*result.dropped, *unread, *own.dropped, *told]
            result = own
        result.dropped = [*found.dropped, *found.problems, *result.dropped]
        return result


def _citing_facts(reading: Reading, evidence: Sequence[Evidence]) -> Reading:
    """The reading with facts of the graph as its citations where they hold the answers and the cited passages do not.

    A small model finds the answer among facts and passages, and often gives it the number of a passage.
    """
    if not reading.answers or supported(reading.answers, reading.cited) is not False:
        return reading
    facts = [item for item in evidence if item.source == SourceName.GRAPH and supported(reading.answers, [item])]
    return replace(reading, cited=tuple(facts[:1])) if facts else reading


def _told(follow_up: str, result: Result) -> bool:
    """Whether the cited passages hold the answer, and have a word of a name that the question is about."""
    names = names_in([follow_up])
    return citations_hold(result) is not False and (
        not names or any(mentioned(name, result.cited_evidence, any_word=True) for name in names)
    )
