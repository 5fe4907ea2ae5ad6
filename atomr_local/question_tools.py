"""What a strategy works with for one question, made of the parts that are loaded."""

from __future__ import annotations

from collections.abc import Mapping

from atomr_local import paths
from atomr_local.backbone.announced import announced
from atomr_local.cancellation import Cancellation
from atomr_local.parts import Parts
from atomr_local.planning.examples import ExampleLibrary
from atomr_local.planning.planner import Planner
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.result_reuse import ResultCache
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.sources.privacy import withheld_indexes
from atomr_local.sources.protocol import KnowledgeSource
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Toolbox


def tools_for(
    parts: Parts,
    sources: Mapping[str, KnowledgeSource],
    recorder: Recorder,
    cancellation: Cancellation,
    *,
    options: StrategyOptions | None = None,
    revision: Revision | None = None,
    earlier: ResultCache | None = None,
    conversation: Conversation | None = None,
    withheld: frozenset[str] | None = None,
) -> Toolbox:
    """The tools; the model is loaded. What the model is sent, if it is elsewhere, is told to the recorder.

    Args:
        sources: those that the question may use.
        options, revision, earlier, conversation: see :class:`Toolbox`.
        withheld: see :class:`Toolbox`; None: the private indexes that are not among the sources.

    Raises:
        InputError: the user's example plans cannot be read.
    """
    assert parts.backbone is not None
    settings = parts.settings
    withheld = withheld_indexes(settings, sources) if withheld is None else withheld
    planner = Planner(
        announced(parts.backbone, "question", recorder.leaves),
        ExampleLibrary.load(paths.examples_file(), withheld),
        settings.limits.of_plans(),
        seed=settings.llm.seed,
        style=parts.style,
    )
    return Toolbox(
        announced(parts.backbone, "question, evidence" if sources else "question", recorder.leaves),
        sources,
        planner,
        recorder,
        cancellation,
        settings,
        style=parts.style,
        options=options,
        calibration=parts.calibration,
        revision=revision,
        earlier=earlier,
        verifies=parts.verifies,
        knows_next=parts.knows_next,
        span_reader=parts.span_reader,
        conversation=conversation,
        ranking=parts.ranking(sources),
        withheld=withheld,
    )
