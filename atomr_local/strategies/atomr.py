"""The strategy `atomr`: plans an atomic reasoning tree and executes it bottom-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from atomr_local.reasoning.answer_selection import AnswerSelection
from atomr_local.reasoning.confidence import GUESS
from atomr_local.reasoning.conversation import answers_both
from atomr_local.reasoning.executor import Executor
from atomr_local.reasoning.planning.coverage import left_out, unpicked
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.revision import ReusedResults
from atomr_local.reasoning.trace.events import WarningRaised
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.reasoning.verdict.judge import unmentioned_years
from atomr_local.sources.unlabelled import unlabelled, unlabelled_note
from atomr_local.strategies.protocol import QuestionContext, Strategy
from atomr_local.strategies.shared.closing import as_tree, from_answered, noting
from atomr_local.strategies.shared.first_reading import concludes, of_articles, of_subject, read_first
from atomr_local.strategies.shared.follow_ups import FollowUps
from atomr_local.strategies.shared.plans import plan_ready, planned, rule_plan
from atomr_local.tree.nodes import ROOT_ID, Tree

_FEWEST = 2  # follow-up questions that make an answer of their own


class AtomR(Strategy):
    name = "atomr"
    summary = "plan a tree of atomic operations and answer it bottom-up (the default)"
    paper = "AtomR: Atomic Operator-Empowered Large Language Models for Heterogeneous Knowledge Reasoning, KDD 2025"
    revises = True
    takes_plans = True

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        pointed = None
        if plan is not None:
            ready = plan_ready(plan, origin)
        else:
            by_rule = rule_plan(question, tools)
            if by_rule is None:
                pointed, sure = read_first(question, tools)
                if pointed is not None and sure:
                    return pointed
            ready = by_rule or planned(question, tools)
            if pointed is not None:
                pointed = of_subject(question, pointed, ready.tree)
            if pointed is not None and concludes(ready.tree, pointed, tools):
                tools.steps.report(ROOT_ID, pointed, 0.0)
                return pointed
            if pointed is not None and GUESS in pointed.signals:
                pointed = Result(evidence=pointed.evidence)
        features = tools.settings.features
        judged = features.judge_plans and ready.origin == "model"
        wish = unpicked(ready.tree, question) if judged else ()
        left = (*(left_out(ready.tree, question) if judged else ()), *wish)
        if left:
            ready = replace(ready, problems=(*ready.problems, f"left out: {', '.join(left)}"))
        tools.steps.begin_tree(ready)
        if left:
            tools.recorder.emit(WarningRaised(message=f"the plan leaves out {', '.join(left)}"))
        reused = None
        if tools.revision is not None:
            reused = ReusedResults(ready.tree, tools.revision, tools.earlier, tools.retriever.names)
        # A direct answer to two questions at once tells one of them.
        whole = not answers_both(ready.tree)
        selection = AnswerSelection(
            tools.operators,
            tools.reader,
            tools.calibration,
            direct=whole and features.rival and bool(tools.retriever.names),
            ask_on=_asking_on(tools) if whole and features.ask_on else None,
            guess=features.guess,
            pointed=pointed,
            checked=partial(of_articles, calibration=tools.calibration),
            corrected=reused is not None and reused.corrected,
            unpicked=bool(wish),
        )
        executor = Executor(
            ready.tree,
            tools.operators,
            tools.reader,
            tools.recorder,
            tools.steps,
            selection,
            tools.settings,
            reused,
            tools.cache,
            tools.collection,
        )
        result = executor.execute()
        years = unmentioned_years(tools.recorder.trace) if features.judge_plans and result.values else ()
        if years:
            tools.recorder.emit(WarningRaised(message=f"the evidence does not mention {', '.join(years)}"))
        for note in unlabelled_note(unlabelled(result.values), str(tools.recorder.trace.settings.get("graph_index"))):
            tools.recorder.emit(WarningRaised(message=note))
        return result


def _asking_on(tools: QuestionContext) -> Callable[[str], Result] | None:
    """A function that answers the whole question by follow-ups; None if the model has not learnt to write them."""
    if not tools.reader.knows_next or not tools.retriever.names:
        return None

    def ask_on(question: str) -> Result:
        trace = tools.recorder.trace
        root, *others = trace.nodes
        # One question alone is a direct answer again, and what a step of the plan did not find is not found otherwise.
        barred = [question, root.question, *(node.resolved_question for node in others if not node.answers)]
        followed = FollowUps(question, tools, memory=False, barred=barred)
        failed: list[str] = []
        with noting(failed, "no follow-up question"):  # the answer that there is stands
            followed.ask()
        if failed:
            return Result(dropped=failed)
        if len(followed.steps) < _FEWEST or not followed.complete:
            return Result(dropped=followed.notes)
        result = from_answered(tools, question, followed.steps)
        if result.values:
            result.method = "aggregate"  # it rests on the follow-up questions, not on the plan's steps
        if left := left_out(as_tree(question, followed.steps)[0], question):
            result.confidence = 0.0  # the answer to another question
            result.dropped.append(f"the follow-up questions leave out {', '.join(left)}")
        return result

    return ask_on
