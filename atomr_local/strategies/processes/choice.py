"""Which processes are shown for a question: relevant to it, and different from each other.

Lehmann et al., TACL 2024: L[i, j] = q[i] · S[i, j] · q[j], where q is the similarity of the questions and S that of the
actions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

from rapidfuzz.distance import Levenshtein

from atomr_local.cancellation import Cancellation
from atomr_local.planning.dpp import greedy
from atomr_local.planning.examples import shape_terms
from atomr_local.reasoning.ranking import Ranking
from atomr_local.strategies.processes.process import Process

Choice = Literal["dpp", "relevance", "diversity", "random"]
LEAST_RELEVANCE = 0.01
# Two processes that act alike make S singular, and it need not be positive semidefinite.
RIDGE = 0.05
# Of more than these, only those with the likest wording are compared: what is compared grows with their square.
MOST_COMPARED = 200


def chosen(
    question: str,
    processes: Sequence[Process],
    count: int,
    how: Choice,
    ranking: Ranking,
    cancellation: Cancellation,
    seed: int = 0,
) -> list[Process]:
    """At most `count` processes, in the order of the choice.

    Args:
        ranking: its embedder says how alike questions are; without one their words do.
        seed: of a random choice, together with the question.

    Raises:
        ModelError: the embedder cannot be used.
        Cancelled: `cancellation` was thrown.
    """
    if not processes or count < 1:
        return []
    if how != "random" and len(processes) > MOST_COMPARED:
        likest = sorted(range(len(processes)), key=lambda i: -shared_shape(question, processes[i].question))
        processes = [processes[i] for i in sorted(likest[:MOST_COMPARED])]
    if how == "random":
        places = range(len(processes))
        order = random.Random(f"{seed}:{question}").sample(places, min(count, len(places)))  # noqa: S311
    else:
        quality = [1.0] * len(processes)
        if how != "diversity":
            asked = [process.question for process in processes]
            known = ranking.cosines(question, asked, cancellation)
            quality = known if known is not None else [shared_shape(question, other) for other in asked]
        order = chosen_places(quality, [process.actions for process in processes], count, how)
    return [processes[place] for place in order]


def chosen_places(
    relevance: Sequence[float], actions: Sequence[Sequence[str]], count: int, how: Choice = "dpp"
) -> list[int]:
    """The places of the chosen ones, by how relevant they are and what they do."""
    quality = [max(value, LEAST_RELEVANCE) for value in relevance]
    if how == "relevance":
        return sorted(range(len(quality)), key=lambda i: (-quality[i], i))[:count]
    alike = usable([[likeness(one, other) for other in actions] for one in actions])
    diagonal = [value * alike[i][i] * value for i, value in enumerate(quality)]
    return greedy(diagonal, lambda i, j: quality[i] * alike[i][j] * quality[j], count)


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """1 - Levenshtein distance of the actions / the longer number of them."""
    longer = max(len(one), len(other))
    return 1.0 - Levenshtein.distance(one, other) / longer if longer else 1.0


def usable(similarity: Sequence[Sequence[float]]) -> list[list[float]]:
    """The matrix with its negative eigenvalues at 0, and a little more on its diagonal."""
    import numpy as np

    values, vectors = np.linalg.eigh(np.asarray(similarity, dtype=np.float64))
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    # Rounded, so that what is equal stays equal on every processor.
    made: list[list[float]] = np.round(clipped + RIDGE * np.eye(len(clipped)), 9).tolist()
    return made


def shared_shape(question: str, other: str) -> float:
    """How alike two questions are in their words, names masked: a cosine."""
    one, two = shape_terms(question), shape_terms(other)
    return len(one.keys() & two.keys()) / math.sqrt(len(one) * len(two)) if one and two else 0.0
