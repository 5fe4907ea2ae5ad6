"""How many questions of what kind are made: at most a tenth from one relation, one for a bridge, the forms in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from atomr_local.question_making.hops import Candidate, Form
from atomr_local.question_making.lines import Line

SHARE = 10
"""At most one in so many of the questions that are kept has the same relation, as first or as second fact."""
PER_RELATION = 3
"""So many may have it in any case: a tenth of a few questions is none."""

BRIDGE_USED = "the bridge has a question already"
RELATION_FULL = "the relation has its share of the questions already"
FORM_FULL = "questions of the form are not asked for"


class Kept:
    """What has been kept so far. The limits hold after each question, so also where a run is stopped.

    Args:
        per_relation: how many questions may have the same relation in any case.
    """

    def __init__(self, forms: Sequence[Form], per_relation: int = PER_RELATION) -> None:
        self._per_relation = per_relation
        self._forms = tuple(forms)
        self._relations: Counter[str] = Counter()
        self._bridges: set[str] = set()
        self._by_form: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self.lines: list[Line] = []

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self._relations.update(dict.fromkeys(line.relations, 1))
        self._bridges.add(line.bridge_key)
        self._by_form[line.form] += 1
        if line.form == "yes/no":
            self._verdicts[line.answers[0]] += 1

    def full(self, candidate: Candidate) -> str:
        """Why no question like this one is made now; "" if one is. RELATION_FULL may pass when more are kept."""
        if candidate.counted and "count" not in self._forms:
            return FORM_FULL
        if not candidate.counted and not {"short", "yes/no"} & set(self._forms):
            return FORM_FULL
        if candidate.bridge_key in self._bridges:
            return BRIDGE_USED
        relations = {candidate.first.relation, candidate.second.relation}
        most = max(self._per_relation, (len(self.lines) + 1) // SHARE)
        return RELATION_FULL if any(self._relations[one] >= most for one in relations) else ""

    def next_form(self, candidate: Candidate) -> Form:
        """The form that a question of this candidate takes: of those that it can, the one with the fewest so far."""
        if candidate.counted:
            return "count"
        forms: list[Form] = [form for form in self._forms if form != "count"]
        return min(forms, key=lambda form: self._by_form[form])

    @property
    def next_verdict(self) -> bool:
        """Whether the right answer of the next question for yes or no is yes: half of them are no."""
        return self._verdicts["yes"] <= self._verdicts["no"]
