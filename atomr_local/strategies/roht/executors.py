"""RoHT's executors: what graph, text and sub-questions answer, each with its p (Zhang et al., 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.arguments import fill_question
from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.combinations import Combination
from atomr_local.reasoning.confidence.signals import worst
from atomr_local.reasoning.graph_program import GraphProgram
from atomr_local.reasoning.operations.computed_nodes import computed_node, computed_question, evidence_of
from atomr_local.reasoning.operators import values_read
from atomr_local.reasoning.results import Result, add_evidence, product_confidence
from atomr_local.reasoning.retrieval import Gathered
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.sources.protocol import Request, SourceName
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.roht.scheduler import Scheduler
from atomr_local.strategies.roht.text import TextExecutor
from atomr_local.strategies.shared.scored_answers import CHILDREN, COMPUTED, GRAPH, Scored, answer_p
from atomr_local.strategies.shared.searching import searched
from atomr_local.tree.hierarchy import ends_in_last, skeleton
from atomr_local.tree.nodes import Node, Tree

Found = list[tuple[int, Scored]]
"""Answers, each with the place of the combination that it was found for."""


@dataclass(frozen=True)
class Executors:
    """Answers the questions of one tree. Scores are those of the answers alone: p_parse, p_extract, or None.

    Attributes:
        question: the whole question.
        parse: how surely the planner wrote the operators; None if that is not known.
        asked: by node, the sources that it asked.
    """

    tools: Toolbox
    tree: Tree
    question: str
    parse: float | None
    scheduler: Scheduler
    reads: TextExecutor
    asked: dict[int, dict[str, None]] = field(default_factory=dict)

    @classmethod
    def made(
        cls,
        tools: Toolbox,
        tree: Tree,
        question: str,
        *,
        parse: float | None,
        gamma: float,
        relevant: float,
        schedule: bool,
        passages: int,
        samples: int,
    ) -> Executors:
        """With their parts; see :class:`RoHTOptions` for what can be set."""
        scheduler = Scheduler(tools, gamma, relevant, schedule)
        reads = TextExecutor(tools, tree, scheduler, question, passages, samples)
        return cls(tools, tree, question, parse, scheduler, reads)

    def graph(self, node: Node, step: Step, combined: Sequence[Combination], result: Result) -> Found:
        """The graph's answers: p_parse is the plan's probability times how surely links and relations match."""
        if SourceName.GRAPH not in self.tools.retriever.permitted(node.id):
            return []
        kind = skeleton(self.tree, node)
        if not kind:
            return []
        fit = self.scheduler.graph(kind)
        if not fit.asked:
            result.dropped.append(fit.note)
            return []

        self.asked.setdefault(node.id, {})[SourceName.GRAPH] = None

        def ask(request: Request) -> Gathered:
            return searched(self.tools, node.id, request, self.question, sources=[SourceName.GRAPH])

        settings = self.tools.settings
        program = GraphProgram(self.tree, ask, settings.limits.references, settings.top_k)
        found: Found = []
        for place, one in enumerate(combined):
            asked = self._filled(node, step, one)
            answer = program.answer(node, one.results, asked)
            add_evidence(result.evidence, answer.evidence)
            result.dropped += [note for note in answer.notes if note not in result.dropped]
            if answer.problem:
                continue
            if fit.sure and not answer.sure:
                result.dropped.append("the graph's answer was not used: it does not surely link name and relation")
                continue
            p = product_confidence(self.parse, answer.matched)
            candidate = Candidate(answer.values, p, GRAPH, tuple(answer.cited))
            found.append((place, Scored(candidate, signals=answer.signals, computation=answer.computation)))
        return found

    def text(self, node: Node, step: Step, combined: Sequence[Combination], result: Result, *, schedule: bool) -> Found:
        """The answers of passages: p_extract is that of the reading."""
        others = (name for name in self.tools.retriever.permitted(node.id) if name != SourceName.GRAPH)
        self.asked.setdefault(node.id, {}).update(dict.fromkeys(others))
        each = self.reads.answers(node, step, combined, result, schedule=schedule)
        return [(place, one) for place, scored in enumerate(each) for one in scored if one.found]

    def tell_sources(self, node: Node) -> None:
        """Say which sources the question asked, where it asked several one after the other."""
        asked = self.asked.get(node.id, {})
        if len(asked) > 1:
            told = tuple(name for name in self.tools.retriever.permitted(node.id) if name in asked)
            self.tools.recorder.emit(SourcesSelected(node_id=node.id, sources=told, reason="set by the method"))

    def passed_up(self, node: Node, results: Mapping[int, Result]) -> list[Scored] | None:
        """The last child's answers with their scores, if it rests on all others; else None."""
        if not ends_in_last(self.tree, node):
            return None
        last = node.children[-1]
        known = results.get(last.id, Result())
        if not known.values:
            return []
        below = worst([results[child.id].signals for child in node.children if results[child.id].values])
        told = f"answer of [{last.id}]"
        own = Candidate(known.values, known.confidence, CHILDREN, tuple(known.cited))
        first, *others = known.candidates or (own,)
        candidates = (replace(first, values=known.values), *others)
        return [
            Scored(
                replace(one, origin=CHILDREN),
                signals=below if place == 0 else {},
                computation=told if known.computed and place == 0 else "",
            )
            for place, one in enumerate(candidates)
        ]

    def symbolic(self, node: Node, step: Step, combined: Sequence[Combination], result: Result) -> Found | None:
        """The computed answers to a symbolic question; None where the question is to be asked of the sources."""
        if node.operation is not None:
            return self._computed([computed_node(self.tree, node, one.results) for one in combined], result)
        made = [computed_question(self.tree, node, list(node.references), one.results) for one in combined]
        if any(one is not None for one in made):
            return self._computed([one or Result() for one in made], result)
        if node.instruction:
            return self.together(node, step, list(node.references), combined, result)
        return None

    def together(
        self, node: Node, step: Step, ids: Sequence[int], combined: Sequence[Combination], result: Result
    ) -> Found:
        """The answer over these steps: computed where the question clearly asks for that; else the model combines the
        best answers."""
        made = [computed_question(self.tree, node, ids, one.results) for one in combined]
        if any(one is not None and one.values for one in made):
            return self._computed([one or Result() for one in made], result)
        known = {i: combined[0].results[i] for i in ids if i in combined[0].results}
        if not any(one.values for one in known.values()):
            return []
        steps = [
            (fill_question(self.tree, self.tree.node(i).question, combined[0].results), one.told)
            for i, one in known.items()
        ]
        try:
            reading = self.tools.reader.from_steps(node.id, step.question, steps)
        except Cancelled:
            raise
        except AtomrError as error:
            result.dropped.append(f"{CHILDREN}: {error.message}")
            return []
        result.dropped += [note for note in reading.dropped if note not in result.dropped]
        if reading.problem is not None:
            result.error = {"title": "Answer not readable", "message": reading.problem}
        _, cited = evidence_of(known.values())
        candidate = Candidate(values_read(reading), answer_p(reading), CHILDREN, tuple(cited))
        signals = worst([reading.signals, *(one.signals for one in known.values() if one.values)])
        return [(0, Scored(candidate, signals=signals, reading=None))] if reading.answers else []

    def _computed(self, made: Sequence[Result], result: Result) -> Found:
        found: Found = []
        for place, one in enumerate(made):
            add_evidence(result.evidence, one.evidence)
            result.dropped += [note for note in one.dropped if note not in result.dropped]
            if one.values:
                candidate = Candidate(one.values, None, COMPUTED, tuple(one.cited))
                told = one.computation or "computed"
                found.append((place, Scored(candidate, signals=one.signals, computation=told)))
        if not found and made:
            result.reason, result.none, result.computed = made[0].reason, made[0].none, True
        return found

    def _filled(self, node: Node, step: Step, one: Combination) -> str:
        if node is self.tree.root:
            return step.question
        return fill_question(self.tree, node.question, one.results)
