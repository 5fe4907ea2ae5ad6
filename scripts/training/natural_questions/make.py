"""The questions of all kinds in their shares, checked, none of a template too often. Run by `build.py`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from training.natural_questions import (
    kinds_amounts,
    kinds_compare,
    kinds_lookup,
    kinds_members,
    kinds_other,
    kinds_sets,
    kinds_spoken,
    kinds_spoken_pairs,
    kinds_values,
)
from training.natural_questions.check import problem
from training.natural_questions.questions import Question
from training.natural_questions.world import Pool, starter, two_wiki

Maker = Callable[[Pool], Question | None]
# How many of each kind in 8,000.
_SHARES: dict[str, tuple[Maker, int]] = {
    "single": (kinds_lookup.single, 900),
    "single_kind": (kinds_lookup.single_kind, 330),
    "list": (kinds_lookup.inverse, 480),
    "missing": (kinds_lookup.wrong_role, 330),
    "yes_no": (kinds_lookup.yes_no, 300),
    "before": (kinds_lookup.before, 150),
    "two_hops": (lambda pool: kinds_lookup.hops(pool, 2), 640),
    "three_hops": (lambda pool: kinds_lookup.hops(pool, 3), 200),
    "inverse_hop": (kinds_lookup.inverse_hop, 220),
    "described": (kinds_lookup.described, 300),
    "compare_2": (lambda pool: kinds_compare.compare(pool, 2), 380),
    "compare_3": (lambda pool: kinds_compare.compare(pool, 3), 230),
    "bridge": (kinds_compare.bridge, 220),
    "age_compared": (kinds_compare.age_at_death, 130),
    "same": (kinds_compare.same, 240),
    "both": (kinds_compare.both, 200),
    "difference_of_dates": (kinds_amounts.difference_of_dates, 200),
    "difference": (lambda pool: kinds_amounts.arithmetic(pool, "Difference"), 100),
    "ratio": (lambda pool: kinds_amounts.arithmetic(pool, "Ratio"), 80),
    "sum": (lambda pool: kinds_amounts.arithmetic(pool, "Sum"), 100),
    "average": (lambda pool: kinds_amounts.arithmetic(pool, "Average"), 70),
    "age": (kinds_amounts.age, 170),
    "superlative": (kinds_sets.superlative, 340),
    "ranked": (kinds_sets.ranked, 230),
    "select": (kinds_members.chosen, 300),
    "select_same": (kinds_members.dated, 130),
    "in_year": (kinds_lookup.in_year, 130),
    "filter": (kinds_members.filtered, 180),
    "count": (kinds_members.counted, 200),
    "count_select": (lambda pool: kinds_members.chosen(pool, count=True), 110),
    "count_filter": (lambda pool: kinds_members.filtered(pool, count=True), 70),
    "joined": (kinds_members.joined, 240),
    "member": (kinds_members.member, 150),
    "ordinal": (kinds_sets.ordinal, 150),
    "totalled": (kinds_sets.totalled, 110),
    "is_extreme": (kinds_sets.is_extreme, 110),
    "date_part": (kinds_values.date_part, 240),
    "convert": (kinds_values.converted, 150),
    "each": (kinds_other.each, 300),
    "summary": (kinds_other.summary, 300),
    "phrase": (kinds_other.phrase, 330),
    "nothing": (kinds_other.nothing, 170),
    "language": (kinds_other.language, 250),
}
# Of these kinds some stand on 2WikiMultihopQA's facts alone.
_ON_PASSAGES: dict[str, tuple[Maker, int]] = {
    "single": (kinds_lookup.single, 130),
    "two_hops": (lambda pool: kinds_lookup.hops(pool, 2), 130),
    "compare_2": (lambda pool: kinds_compare.compare(pool, 2), 60),
    "bridge": (kinds_compare.bridge, 70),
    "same": (kinds_compare.same, 60),
    "yes_no": (kinds_lookup.yes_no, 50),
    "age_compared": (kinds_compare.age_at_death, 30),
    "age": (kinds_amounts.age, 30),
    "both": (kinds_compare.both, 20),
    "difference_of_dates": (kinds_amounts.difference_of_dates, 30),
}
# The same shapes in the words of people who do not write test questions, beside the others.
_SPOKEN: dict[str, tuple[Maker, int]] = {
    "ask": (kinds_spoken.ask, 700),
    "two_hops": (lambda pool: kinds_spoken.hops(pool, 2), 330),
    "three_hops": (lambda pool: kinds_spoken.hops(pool, 3), 130),
    "of_year": (kinds_spoken.of_year, 130),
    "compare": (kinds_spoken_pairs.compare, 330),
    "superlative": (kinds_spoken.superlative, 300),
    "ranked": (kinds_spoken.ranked, 170),
    "select": (kinds_spoken.chosen, 260),
    "count": (kinds_spoken.counted, 130),
    "list": (kinds_spoken.listed, 150),
    "limit": (kinds_spoken_pairs.limit, 190),
    "amounts": (kinds_spoken_pairs.amounts, 200),
    "gap": (kinds_spoken_pairs.gap, 90),
    "age": (kinds_spoken_pairs.age, 150),
    "joined": (kinds_spoken_pairs.joined, 130),
    "same": (kinds_spoken_pairs.same, 120),
    "of_country": (kinds_spoken_pairs.of_country, 130),
    "each": (kinds_spoken_pairs.each, 160),
    "topic": (kinds_spoken.topic, 200),
    "nothing": (kinds_spoken.no_question, 170),
    "language": (kinds_spoken.other_language, 230),
}
_MOST_OF_ONE_TEMPLATE = 0.012
_TRIES = 300


def build(
    data: Path, home: Path, total: int, seed: int, *, spoken: bool = False
) -> tuple[list[dict[str, object]], Counter[str]]:
    """The lines, and what was refused by reason. `spoken`: those of `kinds_spoken` and no others."""
    rng = random.Random(seed)
    pool = Pool(rng, {"starter": starter(home), "2wiki": two_wiki(data)})
    lines: list[dict[str, object]] = []
    seen: set[str] = set()
    templates: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    shares = [("", *row) for row in _SHARES.items()] + [("2wiki", *row) for row in _ON_PASSAGES.items()]
    if spoken:
        shares = [("", *row) for row in _SPOKEN.items()]
    whole = sum(share for _, _, (_, share) in shares)
    most = max(2, int(total * _MOST_OF_ONE_TEMPLATE))
    for pool.only, kind, (make, share) in shares:
        wanted = round(total * share / whole)
        made, tries = 0, 0
        while made < wanted and tries < wanted * _TRIES:
            tries += 1
            question = make(pool)
            if question is None or (pool.only and not question.answers):
                continue
            line = question.line()
            template = line.pop("template")
            key = line["question"].casefold().strip(" ?.!")
            if key in seen or len(line["question"]) > 330 or templates[template] >= most:
                refused["twice or too often"] += 1
                continue
            wrong = problem(line)
            if wrong:
                refused[f"{kind}: {wrong[:90]}"] += 1
                continue
            # Of what is known to be missing, about a third of what is known at all is kept.
            if not line["answerable"] and rng.random() < 0.6 and kind != "missing":
                continue
            seen.add(key)
            templates[template] += 1
            made += 1
            lines.append(line)
    rng.shuffle(lines)
    word = "spoken" if spoken else "natural"
    return [{"id": f"{word}-{number:05d}", **line} for number, line in enumerate(lines)], refused
