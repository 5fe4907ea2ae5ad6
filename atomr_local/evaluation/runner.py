"""Asks the questions of a set one by one and keeps every prediction and trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.evaluation.datasets import Question
from atomr_local.evaluation.metrics import Score, score_answer
from atomr_local.evaluation.run_directory import writing
from atomr_local.reasoning.trace.events import Event, Finished
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.tree.nodes import Tree

_FAILURES_IN_A_ROW = 5


class Asker(Protocol):
    """What the runner needs of an assistant."""

    def ask(self, question: str, *, plan: Tree | None = None, plan_origin: PlanOrigin = "user") -> Iterator[Event]: ...

    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """One question has been answered, the `done`-th of `total`; `resumed` of them were answered by an earlier run."""

    done: int
    total: int
    resumed: int
    question: Question
    trace: Trace
    predicted: str
    score: Score


def predicted_answer(trace: Trace) -> str:
    """What the published predictions would hold: the bare answers, joined; empty for Unknown and for failures."""
    return ", ".join(trace.answers)


def guessed_answer(trace: Trace) -> str:
    """The answer, or where the question was declined the best guess; empty if there is none."""
    return predicted_answer(trace) or (trace.guess.text if trace.guess is not None else "")


def run(
    assistant: Asker,
    questions: Sequence[Question],
    out_dir: Path,
    *,
    description: Mapping[str, Any],
    plans: Mapping[str, Tree] | None = None,
    before: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> int:
    """Answer every question that `out_dir` does not hold yet.

    A question that fails is kept as an empty prediction with status "failed", and the run continues; several failures
    in a row stop it, and none of them is kept. Interrupted at any point, the directory stays valid and the next run
    continues from there.

    Args:
        description: what decides the answers (strategy, settings, question file); see `run_directory.writing`.
        plans: by question id, plans to execute instead of planning.
        before: run once before the first question that is asked now, such as loading the model; what it raises
            leaves the directory resumable.

    Returns:
        How many questions were answered now.

    Raises:
        InputError: `out_dir` cannot be used.
        AtomrError: one question after the other failed.
        Cancelled: the user interrupted the run; the current question is not kept.
    """
    answered = 0
    failed: list[tuple[Question, Trace]] = []
    with writing(out_dir, description) as writer:
        waiting = [question for question in questions if question.id not in writer.done]
        resumed = len(questions) - len(waiting)
        if waiting:
            before()
        for number, question in enumerate(waiting, start=1):
            trace = _ask(assistant, question, (plans or {}).get(question.id))
            failed.append((question, trace))
            if trace.status == "failed" and number < len(waiting):
                if len(failed) == _FAILURES_IN_A_ROW:
                    raise _gave_up(trace)
                continue
            for item, item_trace in failed:
                predicted = predicted_answer(item_trace)
                score = score_answer(predicted, item.gold)
                prediction = _prediction(item, item_trace, predicted, score)
                writer.add(prediction, _kept_trace(item, item_trace))
                answered += 1
                on_progress(Progress(resumed + answered, len(questions), resumed, item, item_trace, predicted, score))
            failed.clear()
    return answered


def _ask(assistant: Asker, question: Question, plan: Tree | None) -> Trace:
    """The question's trace, also when it failed.

    Raises:
        Cancelled: the user interrupted.
    """
    trace: Trace | None = None
    problem = "the assistant ended without a trace"
    given: dict[str, Any] = {} if plan is None else {"plan": plan, "plan_origin": "file"}
    try:
        for event in assistant.ask(question.question, **given):
            if isinstance(event, Finished):
                trace = event.trace
    except KeyboardInterrupt:
        assistant.cancel()
        raise Cancelled("the evaluation was interrupted; run the same command again to resume") from None
    except Cancelled:
        raise
    except AtomrError as error:
        problem = str(error)
    except Exception as error:  # whatever one question meets, the others are still asked
        problem = f"{type(error).__name__}: {error}"
    if trace is None:
        trace = Trace(question=question.question, strategy="", settings={}, status="failed", warnings=[problem])
    if trace.status == "cancelled":
        raise Cancelled("the question was cancelled; run the same command again to resume")
    return trace


def _gave_up(last: Trace) -> AtomrError:
    reason = last.warnings[-1] if last.warnings else "no reason given"
    return AtomrError(
        f"{_FAILURES_IN_A_ROW} questions in a row failed, the last with: {reason}",
        title="Evaluation stopped",
        hint="None of them is recorded: fix the cause and run the same command again.",
    )


def _kept_trace(question: Question, trace: Trace) -> dict[str, Any]:
    """The trace under the question's id; its own is kept as "trace_id"."""
    document = trace.to_dict()
    own = document.pop("id")
    return {"id": question.id, **document, "trace_id": own}


def _prediction(question: Question, trace: Trace, predicted: str, score: Score) -> dict[str, Any]:
    guess = guessed_answer(trace)
    guess_score = score_answer(guess, question.gold)
    confidence = trace.guess.confidence if trace.guess is not None else trace.confidence
    return {
        "id": question.id,
        "question": question.question,
        "predicted": predicted,
        "gold": list(question.answers),
        "em": score.em,
        "cover_em": score.cover_em,
        "f1": round(score.f1, 4),
        "guess": guess,
        "guess_em": guess_score.em,
        "guess_f1": round(guess_score.f1, 4),
        "confidence": confidence,
        "reason": trace.reason,
        "status": trace.status,
        "seconds": trace.totals.seconds,
        **question.gold_fields(),
    }
