"""Self-Ask: the model asks itself simpler questions, one after another (Press et al., Findings of EMNLP 2023).

Each follow-up is searched and read; the next one is written from the questions and answers so far, never from passages.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain, repeat

from pydantic import Field

from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.reasoning.asking.forms import Branch, Form, Line, worked_examples
from atomr_local.reasoning.asking.writer import Written
from atomr_local.reasoning.operations.computed_nodes import evidence_of
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.asked_before import asked_before
from atomr_local.strategies.closing import closed, final_values, result_of
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, Toolbox
from atomr_local.strategies.searching import searched
from atomr_local.tree.nodes import ROOT_ID, Tree

_PACKAGE = "atomr_local.strategies"
_NEEDED, _NEXT, _FOLLOW_UP, _ANSWER, _TOLD = "Needed", "Next", "Follow-up", "Answer", "Intermediate answer"
# What the model chooses first, and after every intermediate answer: to ask on, or to end.
_CHOICES = {_NEEDED: ("yes", "no"), _NEXT: ("another follow-up", "the answer")}
_FORM = Form(_PACKAGE, "self_ask", (Line(_FOLLOW_UP),), worked_examples(_PACKAGE, "self_ask_examples"), stop=(_TOLD,))
OWN = "nothing was found: this is the model's own knowledge"
UNTOLD = "what was found does not tell: this is the model's own knowledge"
ALL_OWN = "no step was answered from evidence: this is the model's own knowledge"
NO_LOOK_UP = "nothing was looked up: this is the model's own knowledge"
LIMIT = "the limit of model calls was reached: answered from the steps so far"


class SelfAskOptions(StrategyOptions):
    """Where and how often is looked up."""

    source: str = Field(
        "all",
        pattern=r"^[\w.-]+$",
        description="What follow-ups are searched in: all, or one source such as text; published: web.",
    )
    follow_ups: int = Field(6, ge=0, le=20, description="The most follow-up questions.")
    k: int = Field(3, ge=1, le=20, description="Pieces of evidence per follow-up and source.")


class SelfAsk:
    name = "self-ask"
    summary = "ask simpler follow-up questions one after another, look each up, then answer"
    paper = "Press et al.: Measuring and Narrowing the Compositionality Gap in Language Models, Findings of EMNLP 2023"
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = SelfAskOptions
    uses_sources = True
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        options = SelfAskOptions.of(tools.options)
        sources = tools.retriever.names if options.source == "all" else (options.source,)
        if not set(sources) <= set(tools.retriever.names):
            raise InputError(
                f"strategies.self-ask.source: the source {options.source} is not at hand",
                hint=f"Turn it on, or choose one of: {', '.join(('all', *tools.retriever.names))}.",
            )
        tools.steps.begin(question)
        asked = _SelfAsk(question, tools, options, sources)
        asked.ask()
        with tools.steps.root(question) as root, tools.asking.concluding():
            result = closed(tools, question, asked.concluded())
            result.dropped = [*asked.notes, *result.dropped]
            root.result = result
        return root.result


class _SelfAsk:
    """The transcript: follow-ups with their answers."""

    def __init__(self, question: str, tools: Toolbox, options: SelfAskOptions, sources: tuple[str, ...]) -> None:
        self.notes: list[str] = []
        self._question = question
        self._tools = tools
        self._options = options
        self._where = sources
        self._steps: list[tuple[str, Result]] = []
        self._final: Written | None = None  # the turn that gave the final answer

    def ask(self) -> None:
        """Write follow-ups and answer them, until none is needed, one repeats, or a limit is reached."""
        while len(self._steps) < self._options.follow_ups:
            if not (follow_up := self._next()):
                return
            with self._tools.steps.open(follow_up, label="follow-up") as step:
                step.result = self._answered(step.id, follow_up)
            self._steps.append((follow_up, step.result))
        self.notes.append(f"no more than {self._options.follow_ups} follow-up questions")

    def concluded(self) -> Result:
        """The final answer: the one that the transcript ends with, or else one that is asked for outright."""
        answered = [result for _, result in self._steps if result.values]
        own = all(result.method == "closed_book" for result in answered)
        evidence, cited = evidence_of([result for _, result in self._steps])
        if self._final is not None and self._final[_ANSWER]:
            result = self._written(self._final)
        elif answered:
            pairs = [(asked, result.answer) for asked, result in self._steps]
            reading = self._tools.reader.from_steps(ROOT_ID, self._question, pairs)
            result = result_of(reading, "child", ())
        else:
            result = result_of(self._tools.reader.from_memory(ROOT_ID, self._question), "closed_book", ())
        result.evidence = evidence
        if result.values and own:
            result.method = "closed_book"
            result.dropped.append(ALL_OWN if self._steps else NO_LOOK_UP)
        elif result.values:
            result.cited = cited
        return result

    def _next(self) -> str:
        """The next follow-up; "" if there is none."""
        if not self._tools.asking.calls_left:
            self.notes.append(LIMIT)
            return ""
        try:
            label, written = self._turn()
        except Cancelled:
            raise
        except AtomrError as error:
            if not self._steps:
                raise
            self.notes.append(f"no further follow-up: {error.message}")
            return ""
        self.notes.extend(note for note in written.dropped if note not in self.notes)
        if written.problem is not None:
            self.notes.append(f"no further follow-up: {written.problem}")
            return ""
        if _CHOICES[label][1] == written[label]:
            self._final = written
            return ""
        follow_up = written[_FOLLOW_UP]
        if asked_before(follow_up, [asked for asked, _ in self._steps], self._tools):
            self.notes.append(f"the model asked again: {follow_up}")
            return ""
        return follow_up

    def _turn(self) -> tuple[str, Written]:
        """What the model writes next, and the label of its choice."""
        label = _NEXT if self._steps else _NEEDED
        on, end = _CHOICES[label]
        # A model that has learnt to combine the answers of steps does so in a call of its own.
        last = (Line(_ANSWER),) if self._tools.asking.style == "full" else ()
        form = replace(_FORM, fields=(Branch(label, {on: (Line(_FOLLOW_UP),), end: last}),))
        turns = [
            (f"{choice}: {_CHOICES[choice][0]}\n{_FOLLOW_UP}: {asked}", f"{_TOLD}: {result.answer}")
            for choice, (asked, result) in zip(chain((_NEEDED,), repeat(_NEXT)), self._steps, strict=False)
        ]
        [written] = self._tools.writer.write(ROOT_ID, "follow-up", form, turns=turns, question=self._question)
        return label, written

    def _answered(self, node_id: int, follow_up: str) -> Result:
        """The answer to a follow-up from what is found, or else from the model's memory."""
        evidence, notes = self._search(node_id, follow_up)
        result = Result(evidence=evidence)
        if evidence:
            reading = self._tools.reader.from_evidence(node_id, follow_up, evidence)
            result = result_of(self._tools.reader.checked(node_id, reading), "direct_rag", evidence)
        if not result.values:
            own = result_of(self._tools.reader.from_memory(node_id, follow_up), "closed_book", evidence)
            unread = [result.error["message"]] if result.error else []
            told = [UNTOLD if evidence else OWN] if own.values else []
            own.dropped = [*result.dropped, *unread, *own.dropped, *told]
            result = own
        result.dropped = [*notes, *result.dropped]
        return result

    def _search(self, node_id: int, follow_up: str) -> tuple[list[Evidence], list[str]]:
        """What the sources have, and notes."""
        shown = [result.answer for _, result in self._steps]
        request = Request(follow_up, follow_up, top_k=self._options.k)
        found = searched(self._tools, node_id, request, self._question, answers=shown, sources=self._where)
        return found.evidence, [*found.dropped, *found.problems]

    def _written(self, final: Written) -> Result:
        """The final answer of the transcript: no surer than the least sure answer before it."""
        values, mean = final_values(final[_ANSWER]), final.logprob(_ANSWER)
        if not values:
            return Result()
        own = None if mean is None else math.exp(mean)
        known = [sure for sure in (own, *(result.confidence for _, result in self._steps)) if sure is not None]
        return Result(values, "child", min(known, default=None) if own is not None else None)
