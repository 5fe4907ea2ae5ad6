"""Questions of one fact, one after another: each is looked up before the next one is written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import name_key, names_in, words
from atomr_local.language.question import read_question
from atomr_local.language.question_kind import expected_type
from atomr_local.language.words import referring_words
from atomr_local.reasoning.asking.writer import FilledForm
from atomr_local.reasoning.confidence import GUESS, QUOTED, Calibration
from atomr_local.reasoning.conversation import two_questions
from atomr_local.reasoning.operators import GUESSED
from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.reading.checks import about, are_verdicts, supported, tells_kinship, told_of_namesake
from atomr_local.reasoning.results import Result, asked_about, citations_hold
from atomr_local.reasoning.verdict.reasons import mentioned
from atomr_local.sources.protocol import Evidence, Request, SourceName
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import CALLS_USED, OWN, UNTOLD, closed, result_of
from atomr_local.strategies.shared.loop import asked_before, same_question
from atomr_local.strategies.shared.plans import plan_ready
from atomr_local.strategies.shared.tasks import Tasks
from atomr_local.strategies.shared.tools import searched
from atomr_local.strategies.shared.trained import tasks_of
from atomr_local.tree.calls import NO_QUESTION, AnswerType
from atomr_local.tree.nodes import ROOT_ID, Tree

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
    cited = [item for item in result.evidence if item.id in result.cited]
    names = names_in([follow_up])
    return citations_hold(result) is not False and (
        not names or any(mentioned(name, cited, any_word=True) for name in names)
    )


# Reads the passages nearest to the question before any plan is made: one look-up needs no tree.


def read_first(question: str, tools: QuestionContext) -> tuple[Result | None, bool]:
    """A pointed reading of the passages nearest to the question, and whether it is sure enough to be the answer.

    It is told as the step of a tree that has no other, whose result is told only if it is the answer. Articles have a
    higher bound than people's own documents: more questions about them need several passages. None: the model cannot
    point, there are no passages to read, or the user keeps a plan for this question.
    """
    if not tools.reader.points or SourceName.TEXT not in tools.retriever.names:
        return None, False
    if tools.planner.examples.kept(question) is not None:
        return None, False
    started = time.perf_counter()
    result = pointed_alone(question, tools)
    of_documents = _of_documents(result)
    if tools.settings.features.guess and not result.values and of_documents:
        tools.operators.guess_pointed(ROOT_ID, question, result)
        result = closed(tools, question, result)
        if (result.confidence or 0.0) >= tools.calibration.accept_pointed:
            # More likely right than the model's own bound has it, which declines too often.
            result.signals.pop(GUESS, None)
            result.dropped = [note for note in result.dropped if note != GUESSED]
    result = of_articles(question, result, tools.calibration)
    confidence = result.confidence or 0.0
    halved = len(result.values) < 2 and _asks_twice(question)
    bound = tools.calibration.settled if of_documents else tools.calibration.settled_articles
    more = halved or (not of_documents and _asks_more(question, result))
    sure = bool(result.values) and bound is not None and confidence >= bound and not more
    if sure:
        tools.steps.report(ROOT_ID, result, time.perf_counter() - started)
    return result, sure


def of_articles(question: str, result: Result, calibration: Calibration) -> Result:
    """The result with its confidence, without its answer if that is from articles and may not be the answer: it is not
    sure, one of two, of the one who asks, or of another than the question names."""
    if not result.values or _of_documents(result):
        return result
    halved = len(result.values) < 2 and _asks_twice(question)
    if (result.confidence or 0.0) < calibration.accept_articles or halved or _of_asker(question):
        return _without_answer(result, "one of two answers" if halved else "not sure")
    return of_subject(question, result, fallback_tree(question))


def of_subject(question: str, result: Result, tree: Tree) -> Result:
    """The result, without its answer if that is from articles that clearly tell of another than the one named by the
    plan, or by the question: in any letters if a page so called was found."""
    if not result.values or _of_documents(result):
        return result
    cited = [item for item in result.evidence if item.id in result.cited]
    texts = {item.id: item.text for item in cited}
    quoted = " ".join(texts[quote.evidence][quote.start : quote.end] for quote in result.quotes)
    if not tells_kinship(question, quoted):
        return _without_answer(result, "another relation")
    asked = f" {name_key(question)} "
    titles = [item.title for item in result.evidence if f" {name_key(item.title)} " in asked and " " in item.title]
    names = tuple(name.rstrip("?!.") for name in asked_about(tree)) or tuple(sorted(titles, key=len)[-1:])
    if not names:
        return result
    another = about(names, result.texts, cited, result.evidence).subject is False
    if another or (not result.signals.get(QUOTED) and told_of_namesake(names[0], result.texts, quoted)):
        return _without_answer(result, f"told of another than {names[0]}")
    return result


def _without_answer(result: Result, reason: str) -> Result:
    dropped = [f"{reason}: {result.answer}"] if result.values else []
    return Result(evidence=result.evidence, dropped=[*result.dropped, *dropped])


def _of_documents(result: Result) -> bool:
    """Whether all that is cited, or without an answer all that was read, is from people's own documents."""
    cited = [item for item in result.evidence if item.id in result.cited]
    return all("file" in item.locator for item in cited or result.evidence)


def _asks_more(question: str, result: Result) -> bool:
    """Whether the passages about one thing may not be enough: several are asked for, two are compared, or the answer is
    yes or no, of which 9 of 15 were right in the passages of articles."""
    compares = "or" in words(question) and bool(read_question(question).directions)
    return are_verdicts(result.texts) or compares or (len(result.values) < 2 and expected_type(question).several)


def _asks_twice(question: str) -> bool:
    """Whether it is two questions, whole ones or a second one about the first one's answer ("… and when was he
    born")."""
    said, known = words(question), referring_words()
    rest = [said[at + 1 :] for at, word in enumerate(said) if word == "and"]
    openings = [after[1:2] if after[:1] and after[0] in known.prepositions else after[:1] for after in rest]
    return any(known.asking.intersection(opening) for opening in openings) or two_questions(question) is not None


def _of_asker(question: str) -> bool:
    """Whether it asks for something of the one who asks, which no article tells."""
    return not referring_words().own.isdisjoint(words(question))


def concludes(tree: Tree, result: Result, tools: QuestionContext) -> bool:
    """Whether what was read stands for the whole question, sure or not, since its plan could find no more.

    A plan that looks one thing up at most reads the same passages. Where a graph is at hand it is asked all the same
    for what a step looks up, unless documents told it. What articles did not tell is looked up, and a bare topic is
    answered by its page.
    """
    nodes = list(tree.nodes())
    asks = tree.expects is None or tree.expects.type not in NO_QUESTION
    looked_up = sum(node.call is not None for node in nodes)
    if not asks or looked_up > 1 or any(node.operation for node in nodes):
        return False
    told = bool(result.values) and GUESS not in result.signals
    alone = not looked_up or SourceName.GRAPH not in tools.retriever.names
    if _of_documents(result):
        return told or alone
    return told and alone and (tree.expects is None or tree.expects.type is not AnswerType.SUMMARY)


def pointed_alone(question: str, tools: QuestionContext) -> Result:
    """The pointed reading with its confidence, as the root of a tree without steps; its end is not reported.

    Raises what :func:`read_first` raises.
    """
    tools.steps.begin_tree(plan_ready(fallback_tree(question), "rule"))
    tools.steps.root(question).begin()
    return closed(tools, question, tools.operators.pointed(ROOT_ID, question))
