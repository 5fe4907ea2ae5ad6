"""The protocol of strategies: answer a question with the given tools and emit events."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from atomr_local.language.referring import Reference, references
from atomr_local.models.protocol import Backbone
from atomr_local.models.templates import Style
from atomr_local.reasoning.asking.asking import Asking
from atomr_local.reasoning.asking.writer import Writer
from atomr_local.reasoning.collection import collection_reader
from atomr_local.reasoning.confidence import Calibration
from atomr_local.reasoning.conversation import Conversation, counts, resolved
from atomr_local.reasoning.operators import Operators
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.reading.reader import Reader, SpanJudge
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.retrieval import Retriever
from atomr_local.reasoning.revision import ResultCache, Revision
from atomr_local.reasoning.source_access import SourcesAtHand, fact_reader, graph_access, page_reader
from atomr_local.reasoning.sparql.writer import QueryWriter, RelationQueries
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace.events import Event, ModelCalled, QuestionUnderstood, TextGenerated, WarningRaised
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import HasCollection, KnowledgeSource, SourceName
from atomr_local.strategies.options import NoOptions, StrategyOptions
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Tree

Need = Literal["graph", "pages", "text"]
_LOCAL = (SourceName.TEXT, SourceName.GRAPH)


@dataclass(frozen=True)
class ModelSkills:
    """The skills of a model; by default of one without an adapter.

    Attributes:
        style: the form of prompts that the adapter was trained on.
        calibration: what the model's confidences are worth.
        verifies: whether the model can be asked if the evidence says what it answered: any that is instructed, and an
            adapter that was trained for it.
        rewrites: whether it can be asked what a follow-up question means, likewise.
        points: whether it can be asked for the sentences that answer, likewise.
        knows_next: whether an adapter has learnt to write the next question from answered steps.
    """

    style: Style = "full"
    calibration: Calibration = field(default_factory=Calibration)
    verifies: bool = True
    rewrites: bool = True
    knows_next: bool = False
    points: bool = True


class QuestionContext:
    """Everything that a strategy may use for one question. Model and sources are reached through these tools alone.
    Whoever makes it closes it when the question has ended.

    Whatever asks the model or a source raises AtomrError if that fails or no model call is left, and Cancelled once the
    question is cancelled.

    Attributes:
        asking: calls the model, fits prompts to its window and counts the calls.
        writer: has the model fill in a form.
        steps: adds steps to the tree of the trace and tells what they did.
        reader: has the model read evidence.
        retriever: asks the sources.
        operators: runs the atomic operators.
        planner: decomposes a question.
        recorder: takes events.
        options: the strategy's own, checked.
        calibration: what the model's confidences are worth.
        revision: the user's corrections of an earlier answer, for a strategy that `revises`.
        earlier: the cache of the run that gave that answer; empty if it is not available.
        cache: receives the results of this run.
        conversation: the turns before this question.
        pages: opens pages; None if no source at hand can.
        graph: looks around in the graph; None if it is not at hand.
        collection: answers questions about all documents together; None if no source at hand is made of documents.
        facts: finds facts as text; None if no graph at hand has them.
        sparql: has the model write queries of the graph; None if it is not at hand.
        ranking: orders evidence of several sources.
        withheld: private indexes that this question does not read; nothing that may quote them is shown to the model.
        aside: gives the tools for another question that a step of this one asks on the way. It has a trace and limits
            of its own, and nothing goes to the web; its model calls are told as those of the step, and the model reads
            as for this question. Close them when they are done with.
    """

    def __init__(
        self,
        backbone: Backbone,
        sources: Mapping[str, KnowledgeSource],
        planner: Planner,
        recorder: Recorder,
        cancellation: Cancellation,
        settings: Settings,
        *,
        skills: ModelSkills,
        options: StrategyOptions | None = None,
        revision: Revision | None = None,
        earlier: ResultCache | None = None,
        span_reader: SpanJudge | None = None,
        conversation: Conversation | None = None,
        ranking: Ranking | None = None,
        withheld: frozenset[str] = frozenset(),
    ) -> None:
        """Make the tools; `span_reader` judges what the model reads, None if there is none."""
        features = settings.features
        self.planner = planner
        self.recorder = recorder
        self.cancellation = cancellation
        self.settings = settings
        self.options = options or NoOptions()
        self.calibration = skills.calibration
        self.revision = revision
        self.earlier = earlier or ResultCache()
        self.cache = ResultCache()
        self.conversation = conversation or Conversation()
        collections = (source.collection() for source in sources.values() if isinstance(source, HasCollection))
        has_documents = any(collection is not None for collection in collections)
        self.asking = Asking(backbone, recorder, cancellation, settings, skills.style)
        self.writer = Writer(self.asking)
        self.reader = Reader(
            self.asking,
            verify=features.verify and skills.verifies,
            knows_next=features.follow_ups and skills.knows_next,
            points=features.pointing
            and skills.points
            and (has_documents or self.calibration.settled_articles is not None),
            span_reader=span_reader if features.span_reader else None,
        )
        if revision is not None:
            self.cache.allowed = {
                node_id: frozenset(map(str, sources)).intersection(names) for node_id, names in revision.sources.items()
            }
        self.steps = Steps(recorder, cancellation)
        allowed = dict(self.cache.allowed)
        self.retriever = Retriever(sources, self.reader, recorder, cancellation, settings, allowed)
        at_hand = SourcesAtHand(sources, recorder, cancellation, allowed)
        self.pages, self.graph, self.facts = page_reader(at_hand), graph_access(at_hand), fact_reader(at_hand)
        self.collection = collection_reader(at_hand) if features.collections else None
        self.sparql = QueryWriter(self.graph, self.writer) if self.graph is not None else None
        if features.write_queries and self.sparql is not None:
            self.retriever.asked_again = RelationQueries(self.sparql, self.asking)
        self.ranking = ranking or Ranking()
        self.withheld = withheld

        def aside(question: str, node_id: int, cancellation: Cancellation) -> QuestionContext:
            def tell(event: Event) -> None:
                if isinstance(event, ModelCalled | TextGenerated):
                    recorder.emit(replace(event, node_id=node_id))

            own = Recorder(question, recorder.trace.strategy, {}, tell)
            local = {name: source for name, source in sources.items() if name in _LOCAL}
            tools = QuestionContext(
                backbone,
                local,
                planner,
                own,
                cancellation,
                settings,
                skills=skills,
                span_reader=span_reader,
                ranking=self.ranking,
                withheld=withheld,
            )
            self._closing.callback(tools.close)
            return tools

        self.aside = aside
        self._closing = ExitStack()
        if self.graph is not None:
            self._closing.callback(self.graph.close)
        entity = self.conversation.entity if self.conversation.turns else None
        self.operators = Operators(self.retriever, self.reader, settings, entity)

    def close(self) -> None:
        """End what was kept for this question and those asked aside. Idempotent."""
        self._closing.close()


class Strategy(Protocol):
    """A reasoning method. Ours inherit what they do not say of themselves.

    Attributes:
        summary: one line for `atomr strategies`.
        paper: where the method was published; empty if nowhere.
        needs: what it cannot do without; see :mod:`atomr_local.strategies.registry`.
        options: what can be set of it; :class:`NoOptions` if nothing can.
        uses_sources: whether it retrieves.
        revises: whether it executes plans and can keep the results that a revision does not affect.
        takes_plans: whether it executes a plan that it is given.
    """

    name: str
    summary: str = ""
    paper: str = ""
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = NoOptions
    uses_sources: bool = True
    revises: bool = False
    takes_plans: bool = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        """Answer the question, emitting `PlanReady` first and events for every step.

        Args:
            plan: a plan to execute; None for a strategy that takes none.

        Raises:
            Cancelled: the question was cancelled.
            AtomrError: the whole question failed.
        """
        ...


# Puts a follow-up question so that it stands alone, before any strategy sees it.

_AS_TYPED = "The follow-up could not be understood from the conversation, so it was taken as typed."


class Unclear(Exception):
    """The question refers to something that neither it nor the conversation tells."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(reference.words)
        self.reference = reference


def understand(
    question: str, tools: QuestionContext, *, given: str | None, rewrites: bool, asks_back: bool = True
) -> str:
    """The question to answer; emitted as an event, with the turns it refers to.

    A question that refers back to nothing stays as it is. What the model makes of another one counts only if it keeps
    what was typed and adds nothing that nobody said; if not, grammar replaces what it can.

    Args:
        given: the user's own version of the question.
        rewrites: whether the model can rewrite follow-up questions.
        asks_back: whether a question that stays unclear is one for the user; if not, it is taken as it was typed.

    Raises:
        Unclear: it is not clear what the question refers to.
        ModelError: the model failed.
        Cancelled: the question was cancelled.
    """
    conversation = tools.conversation
    understood, open_ = given or question, None
    found = references(question) if given is None and conversation.turns else []
    if found:
        written = tools.reader.standalone(question, conversation.lines()) if rewrites else ""
        if not counts(question, written, found, conversation):
            written = resolved(question, found, conversation)
        open_ = None if written else next((one for one in found if one.sure), None)
        understood = written or question
    taken = conversation.taken(question, understood)
    tools.recorder.emit(QuestionUnderstood(understood_as=understood, took_from=taken, conversation=conversation.id))
    if open_ is not None:
        if asks_back:
            raise Unclear(open_)
        tools.recorder.emit(WarningRaised(message=_AS_TYPED))
    return understood
