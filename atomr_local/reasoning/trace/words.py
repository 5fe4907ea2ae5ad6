"""What the fields of a trace are called for people. The fields themselves keep their names: the trace is a format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from atomr_local.sanitize import sanitize_line

METHODS = {
    "operator": "read from the evidence",
    "child": "from the steps below",
    "sibling": "from earlier steps",
    "symbolic": "computed",
    "computed": "computed",
    "direct_rag": "answered directly from what was found",
    "closed_book": "the model's own knowledge, no evidence",
    "tool": "found step by step with searches",
    "sparql": "found by a graph query",
    "vote": "the most frequent of several answers",
    "aggregate": "the best of several ways to answer",
}
# What a step's signals measure, by name: shares from 0 to 1, but for the counts.
MEASURES = {
    "reading": "sure of what it read",
    "null": "saw no answer there",
    "verify": "confirmed when asked again",
    "link": "name found in the graph",
    "relation": "relation found in the graph",
    "type_fit": "fits the kind of answer asked for",
    "agree": "found in several places",
    "support": "contained in the cited passage",
    "mentioned": "words of the question in the passage",
    "answerable": "the passage answers the question",
    "span": "the passage gives this answer",
    "guess": "had to name something",
    "memory": "from the model's own knowledge",
    "failed_source": "a source failed",
    "leaves": "all steps together",
    "verified": "all steps confirmed when asked again",
    "computed": "computed",
    "fallback": "steps answered directly from what was found",
    "unfinished": "steps without an answer",
    "steps": "steps looked up",
    "answers": "answers",
    "named": "only repeats the question",
    "rival": "another way to the answer agrees",
}
COUNTS = {"steps", "answers"}
# Where an answer comes from that was weighed against others.
ORIGINS = {
    "text": "from the text",
    "graph": "from the graph",
    "web": "from the web",
    "children": "from the steps below",
    "model": "the model's own knowledge",
}
# What methods call their steps, where that is no word that everybody knows.
LABELS = {"vote": "several tries"}
RATING_MEANS = "larger is better; compare within this step only"
YOUR_ANSWER = "your answer"
OWN = f"✎ {YOUR_ANSWER}"
MISFIT = "not the kind of answer asked for"
_CHECKED = {True: "the cited passage contains this answer", False: "the cited passage does not contain this answer"}
_LONGEST_NAME = 60  # characters of a name that another version or package has given
_PLAIN_KINDS = {"root", "parent", "step", "direct"}
_TAKEN = re.compile(r"\banswer of \[(\d+)\]")
_LEFT_OUT = re.compile(r"^the plan leaves out (.+)$", re.DOTALL)
_UNMENTIONED = re.compile(r"^the evidence does not mention (.+)$", re.DOTALL)
_RIVALS = re.compile(r"^tree: (.*?); direct: (.*)$", re.DOTALL)


def method_text(method: str) -> str:
    """How an answer came about; a method that this version does not know by its name."""
    return METHODS.get(method) or sanitize_line(method[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]


def kind_text(label: str, kind: str) -> str:
    """What a step is: what its method calls it, else a kind that says more than that it is a step."""
    name = LABELS.get(label, label) or ("" if kind in _PLAIN_KINDS else kind)
    return sanitize_line(name[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]


def origin_text(origin: str) -> str:
    """Where an answer that was weighed comes from."""
    return ORIGINS.get(origin) or sanitize_line(origin[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]


def rating_text(score: float | None) -> str:
    """A rating as a figure: "-0.21"; "–" if it is not known."""
    return "–" if score is None else f"{score:z.2f}"  # z: no minus before a zero


def action_text(action: Mapping[str, str], longest: int = 300) -> str:
    """The use of a tool on one line: "search[Metropolis]"."""
    name, given = (sanitize_line(action.get(key, "")[: 2 * longest]) for key in ("name", "input"))
    return f"{name[:_LONGEST_NAME]}[{given[:longest]}{'…' if len(given) > longest else ''}]"


def correction_text(corrected_from: str, longest: int = 120) -> str:
    """What evidence has done to what the model had written; "" stands for that it did not know."""
    if not corrected_from:
        return "completed: the model did not know"
    was = sanitize_line(corrected_from[: 2 * longest])
    return f"corrected: the model had “{was[:longest]}{'…' if len(was) > longest else ''}”"


def whence_text(candidate: Mapping[str, Any]) -> str:
    """Where a weighed answer comes from, and its rating: "from the text, rating -0.21"."""
    score = candidate.get("score")
    parts = (origin_text(str(candidate.get("origin", ""))), "" if score is None else f"rating {rating_text(score)}")
    return ", ".join(filter(None, parts))


def weighed_text(candidate: Mapping[str, Any]) -> str:
    """An answer that was weighed, on one line: "Vienna: from the text, rating -0.21"."""
    told = whence_text(candidate)
    return sanitize_line(str(candidate.get("answer", ""))) + (f": {told}" if told else "")


def taken_from_step(computation: str | None) -> int | None:
    """The number of the step that an answer was taken from as it is."""
    found = _TAKEN.fullmatch(computation or "")
    return int(found[1]) if found is not None else None


def check_text(supported: bool, cited: Sequence[str]) -> str:
    """What the check of the citations has found.

    Args:
        cited: what the answer cites.
    """
    return _CHECKED[supported] if supported or cited else "no passage is cited for this answer"


def computation_text(computation: str) -> str:
    """A recorded computation: "answer of [5]" as "taken from step 5"."""
    said = _TAKEN.sub(r"taken from step \1", computation)
    return _RIVALS.sub(r"step by step: \1; directly from what was found: \2", said)


def measures_text(signals: Mapping[str, float]) -> str:
    """What was measured of an answer, most telling first; names that have no words here are left out."""
    return " · ".join(
        f"{words} {signals[name]:.0f}" if name in COUNTS else f"{words} {signals[name]:.0%}"
        for name, words in MEASURES.items()
        if name in signals
    )


def warning_text(warning: str) -> str:
    """A warning as it is shown: what of the question is left out, and what that means."""
    warning = _UNMENTIONED.sub(r"the cited evidence does not mention \1: the answer may not fit it", warning)
    return _LEFT_OUT.sub(r"no step asks about \1: the answer may not fit it", warning)
