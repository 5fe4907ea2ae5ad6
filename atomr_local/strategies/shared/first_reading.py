"""The first reading: the passages nearest to a question are read before any plan is made. One look-up needs no tree."""

from __future__ import annotations

import time

from atomr_local.language.names import name_key, words
from atomr_local.language.question import read_question
from atomr_local.language.question_kind import expected_type
from atomr_local.language.words import referring_words
from atomr_local.reasoning.confidence import GUESS, QUOTED, Calibration
from atomr_local.reasoning.conversation import two_questions
from atomr_local.reasoning.operators import GUESSED
from atomr_local.reasoning.planning.planner import fallback_tree
from atomr_local.reasoning.reading.checks import about, are_verdicts, tells_kinship, told_of_namesake
from atomr_local.reasoning.results import Result, asked_about
from atomr_local.sources.protocol import SourceName
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import closed
from atomr_local.strategies.shared.plans import plan_ready
from atomr_local.tree.calls import NO_QUESTION, AnswerType
from atomr_local.tree.nodes import ROOT_ID, Tree


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
    bound = tools.calibration.settled if of_documents else tools.calibration.settled_articles
    more = _halved(question, result) if of_documents else _asks_more(question, result)
    sure = bool(result.values) and bound is not None and (result.confidence or 0.0) >= bound and not more
    if sure:
        tools.steps.report(ROOT_ID, result, time.perf_counter() - started)
    return result, sure


def of_articles(question: str, result: Result, calibration: Calibration) -> Result:
    """The result with its confidence, without its answer if that is from articles and may not be the answer: it is not
    sure, one of two, of the one who asks, or of another than the question names."""
    if not result.values or _of_documents(result):
        return result
    if _halved(question, result):
        return result.without_answer("one of two answers")
    if (result.confidence or 0.0) < calibration.accept_articles or _of_asker(question):
        return result.without_answer("not sure")
    return of_subject(question, result, fallback_tree(question))


def of_subject(question: str, result: Result, tree: Tree) -> Result:
    """The result, without its answer if that is from articles that clearly tell of another than the one named by the
    plan, or by the question: in any letters if a page so called was found."""
    if not result.values or _of_documents(result):
        return result
    if not tells_kinship(question, result.quoted):
        return result.without_answer("another relation")
    asked = f" {name_key(question)} "
    titles = [item.title for item in result.evidence if f" {name_key(item.title)} " in asked and " " in item.title]
    names = asked_about(tree) or tuple(sorted(titles, key=len)[-1:])
    if not names:
        return result
    another = about(names, result.texts, result.cited_evidence, result.evidence).subject is False
    if another or (not result.signals.get(QUOTED) and told_of_namesake(names[0], result.texts, result.quoted)):
        return result.without_answer(f"told of another than {names[0]}")
    return result


def _of_documents(result: Result) -> bool:
    """Whether all that is cited, or without an answer all that was read, is from people's own documents."""
    return all("file" in item.locator for item in result.cited_evidence or result.evidence)


def _asks_more(question: str, result: Result) -> bool:
    """Whether the passages about one thing may not be enough: several are asked for, two are compared, or the answer is
    yes or no, of which 9 of 15 were right in the passages of articles."""
    compares = "or" in words(question) and bool(read_question(question).directions)
    return are_verdicts(result.texts) or compares or (len(result.values) < 2 and expected_type(question).several)


def _halved(question: str, result: Result) -> bool:
    """Whether one answer is given to two questions, whole ones or a second one about the first one's answer ("… and
    when was he born")."""
    if len(result.values) > 1:
        return False
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
