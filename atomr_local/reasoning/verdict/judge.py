"""The verdict: whether to give the best answer; if not, the reason and what to do.

Execution always continues to the best guess, and the verdict looks at the trace alone. A question is declined if

- it is not a question,
- its answer only repeats it,
- its answer comes from the model's memory only,
- a step that the answer depends on was not found,
- or its confidence is below the limit in the model's card.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atomr_local.language.is_question import Kind
from atomr_local.reasoning.trace.schema import Basis, EvidenceTrace, Guess, NodeTrace, Outcome, Status, Trace
from atomr_local.reasoning.verdict.reasons import inputs, mentioned, named, step_reason
from atomr_local.reasoning.verdict.repetition import repeats
from atomr_local.tree.operations import Operation

EXAMPLE = "Who is the mother of the author of Frankenstein?"
_NO_QUESTION = "This is not a question that can be looked up."
_OTHER_LANGUAGE = "Only English is supported so far; this seems to be in another language."
_ASK = f"Ask something like: {EXAMPLE}"
_UNSUPPORTED = "no evidence supports what the model knows by itself."
_NOT_KNOWN = "the model does not know the answer by itself."
_PLANS = "atomr"
_USE_PLANS = "Use --strategy atomr."
_MOST_INDEXES = 3
# Methods that answer from everything found, so that no single step is needed.
_OVER_ALL = frozenset({"direct_rag", "tool", "vote", "aggregate"})
# Operations that still have a result if some of their operands have none.
_PARTIAL = frozenset({Operation.UNION, Operation.EACH})


@dataclass(frozen=True, slots=True)
class AtHand:
    """What was searched and what else could be, for the advice.

    Attributes:
        web: whether web search was allowed.
        local: the sources that were used besides the web.
        indexes: other whole indexes that are built, as (kind, name).
    """

    web: bool = False
    local: tuple[str, ...] = ("text", "graph")
    indexes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """How the question ended; the fields are those of the trace.

    Attributes:
        nodes: the corrected outcome and the reason of every node that did not end as it reported.
    """

    status: Status
    reason: str = ""
    advice: tuple[str, ...] = ()
    guess: Guess | None = None
    nodes: Mapping[int, tuple[Outcome, str]] = field(default_factory=dict)


def judge(
    trace: Trace,
    *,
    accept: float,
    at_hand: Callable[[], AtHand] = AtHand,
    kind: Kind = "question",
    retrieves: bool = True,
    decline: bool = True,
) -> AnswerVerdict:
    """The verdict over a trace whose nodes have all finished.

    Args:
        at_hand: returns what else could be searched; called only if the question is declined.
        accept: the lowest confidence (calibrated, 0 to 1) of an answer; one without a confidence passes.
        kind: what the input is; "nothing" and "language" (not English) are never answered.
        retrieves: whether the strategy looks things up. If not, the model's own knowledge is what the user asked for,
            and its confidence is not calibrated.
        decline: False: every answer stands, and only a question without any is "unknown".
    """
    return _Judge(trace, accept, at_hand, retrieves).verdict(kind, decline)


class _Judge:
    def __init__(self, trace: Trace, accept: float, at_hand: Callable[[], AtHand], retrieves: bool) -> None:
        self._trace = trace
        self._accept = accept
        self._at_hand = at_hand
        self._retrieves = retrieves
        self._nodes = {node.id: replace(node) for node in trace.nodes}
        self._evidence: dict[str, EvidenceTrace] = {item.id: item for item in trace.evidence}
        self._root = next((node for node in self._nodes.values() if node.parent is None), None)

    def verdict(self, kind: Kind, decline: bool) -> AnswerVerdict:
        root = self._root
        if kind != "question" and decline:
            return self._no_question(kind)
        if root is None:
            return AnswerVerdict("unknown", "The question was not looked up.")
        if not decline and root.answers:
            return AnswerVerdict("answered")
        changed = dict(self._unheard_of()) if decline and self._retrieves else {}
        for node_id, (outcome, _) in changed.items():
            self._nodes[node_id].outcome = outcome
        if (cause := self._cause(root)) is None:
            return AnswerVerdict("answered")
        return self._declined(root, cause)

    def _no_question(self, kind: Kind) -> AnswerVerdict:
        reason, advice = (_NO_QUESTION, _ASK) if kind == "nothing" else (_OTHER_LANGUAGE, "Ask it in English.")
        nodes: dict[int, tuple[Outcome, str]] = {self._root.id: ("not found", reason)} if self._root else {}
        return AnswerVerdict("unknown", reason, (advice,), self._guess() if kind == "language" else None, nodes)

    def _cause(self, root: NodeTrace) -> str | None:
        """Why the root's answer does not stand; None if it does."""
        if not root.answers or root.outcome == "not found":
            return "nothing"
        if root.outcome != "computed" and self._repeats(root):
            return "repeats"
        if not self._retrieves:
            return None
        if root.outcome == "memory" or root.method == "closed_book":
            return "memory"
        steps = (self._nodes[i] for i in self._rests_on(root))
        if any(node.outcome == "not found" and not _is_stage(node) for node in steps):
            return "step"
        return "unsure" if root.confidence is not None and root.confidence < self._needed(root) else None

    def _needed(self, root: NodeTrace) -> float:
        """The lowest confidence that the root's answer may have.

        An answer read for the whole question bypasses the steps. If one of them was not found, the answer is right less
        often than its calibration says, so only half of the usual doubt is accepted.
        """
        around = root.method == "direct_rag" and any(
            node.outcome == "not found" and node.kind in {"search", "relate", "filter"} for node in self._nodes.values()
        )
        return (1.0 + self._accept) / 2 if around else self._accept

    def _declined(self, root: NodeTrace, cause: str) -> AnswerVerdict:
        if cause == "repeats":
            reason = f"The only answer found, “{', '.join(root.answers)}”, just repeats the question."
            return AnswerVerdict("unknown", reason, self._advice(None), None, {root.id: ("not found", reason)})
        if not self._retrieves:
            reason = "The model does not know the answer, and this strategy looks nothing up."
            return AnswerVerdict("unknown", reason, (_USE_PLANS,), None, {root.id: ("not found", reason)})
        end = self._end_of_trail(root)
        if not self._searched:
            who = f"{self._trace.strategy} searched no source" if self._chose_not_to else "No source was searched"
            reason = f"{who}, and {_UNSUPPORTED if root.answers else _NOT_KNOWN}"
        elif cause == "memory" and root.method == "aggregate":
            end, reason = root, "The surest answer is the model's own knowledge, and no evidence supports it."
        else:
            clearly = bool(end.answers) and end.outcome != "not found"
            reason = step_reason(end, self._nodes, self._evidence, clearly=clearly or bool(end.signals.get("guess")))
        nodes: dict[int, tuple[Outcome, str]] = {}
        failed = end.error is not None and not end.answers
        for node in self._nodes.values():
            if node.outcome == "not found" and node.id not in (root.id, end.id) and not _is_stage(node):
                nodes[node.id] = ("not found", step_reason(node, self._nodes, self._evidence))
        if not failed:
            nodes[end.id] = ("not found", reason)
        nodes[root.id] = ("not found", reason)
        unasked = failed and not any(node.evidence for node in self._nodes.values())
        guess = self._guess(sure=cause == "unsure")
        return AnswerVerdict("failed" if unasked else "unknown", reason, self._advice(end), guess, nodes)

    @property
    def _searched(self) -> bool:
        trace = self._trace
        sources = any(node.sources for node in trace.nodes)
        return sources or bool(trace.evidence) or any(trace.totals.retrievals.values())

    @property
    def _chose_not_to(self) -> bool:
        """Whether the method asked none of the sources at hand: more of them would not help."""
        return not self._searched and self._trace.strategy != _PLANS and bool(self._at_hand().local)

    def _guess(self, *, sure: bool = False) -> Guess | None:
        """The root's answer as a guess; `sure`: with its own confidence.

        The confidence assumes that all steps were found. If one was not, it is scaled to stay below the limit of an
        answer: guesses keep their order, and none looks like an answer.
        """
        root = self._root
        if root is None or not root.answers or self._repeats(root):
            return None
        basis: Basis = "model" if root.method == "closed_book" or root.outcome == "memory" else "evidence"
        confidence = root.confidence
        if confidence is not None and not sure:
            confidence *= self._accept
        return Guess(list(root.answers), confidence, basis)

    def _repeats(self, root: NodeTrace) -> bool:
        names = [text for node in self._nodes.values() for text in node.arguments if isinstance(text, str)]
        return repeats(root.question, root.answers, names) or repeats(self._trace.question, root.answers, names)

    # -- steps

    def _order(self) -> Iterator[NodeTrace]:
        """The nodes, each after the ones it is answered from."""
        done: set[int] = set()

        def walk(node: NodeTrace) -> Iterator[NodeTrace]:
            if node.id in done:
                return
            done.add(node.id)
            for i in inputs(node, self._nodes):
                yield from walk(self._nodes[i])
            yield node

        for node in self._nodes.values():
            yield from walk(node)

    def _rests_on(self, root: NodeTrace) -> set[int]:
        """The steps that the root's answer depends on: none if it was read for the whole question."""
        needed: set[int] = set()
        open_nodes = [root]
        while open_nodes:
            node = open_nodes.pop()
            if node.method in _OVER_ALL and node.kind not in {"search", "relate", "filter"}:
                continue
            below = [i for i in inputs(node, self._nodes) if i not in needed]
            if node.operation in _PARTIAL and any(self._nodes[i].answers for i in below):
                below = [i for i in below if self._nodes[i].outcome != "not found"]
            needed.update(below)
            open_nodes += [self._nodes[i] for i in below]
        return needed

    def _unheard_of(self) -> Iterator[tuple[int, tuple[Outcome, str]]]:
        """Look-ups that have an answer without a basis.

        Either neither the evidence nor the graph has the name that was looked up, or the cited evidence contains no
        word of what the step is about.
        """
        for node in self._nodes.values():
            if node.kind not in {"search", "relate"} or not node.answers or node.outcome != "found":
                continue
            names = [name for name in (*named(node, self._nodes), *node.linked) if name]
            found = [self._evidence[item] for item in node.evidence if item in self._evidence]
            cited = [self._evidence[item] for item in node.cited if item in self._evidence]
            literal = bool(node.arguments) and isinstance(node.arguments[0], str)
            unheard = literal and not node.linked and found and not any(mentioned(name, found) for name in names)
            about = [*names, *_proper(node.arguments[1:])]
            elsewhere = cited and names and not any(mentioned(name, cited, any_word=True) for name in about)
            if unheard or elsewhere:
                yield node.id, ("not found", step_reason(node, self._nodes, self._evidence))

    def _end_of_trail(self, root: NodeTrace) -> NodeTrace:
        """The first step that was not found although its inputs were; otherwise the least certain step."""
        if root.outcome == "computed" and not root.answers:  # known to have no result
            return root
        steps = [node for node in self._order() if node is not root and node.kind != "parent" and not _is_stage(node)]
        for node in steps:
            ended = node.outcome == "not found" or (node.error is not None and not node.answers)
            if ended and all(self._nodes[i].answers for i in inputs(node, self._nodes)):
                return node
        weakest = min(steps, key=_lowest_signal, default=root)
        return weakest if _lowest_signal(weakest) < max(self._accept, _lowest_signal(root)) else root

    def _advice(self, end: NodeTrace | None) -> tuple[str, ...]:
        if self._chose_not_to:
            return (_USE_PLANS,)
        at_hand, advice = self._at_hand(), list[str]()
        if end is not None and end.error is not None and not end.answers:
            advice.append("Ask again when the source can be reached.")
        found = [self._evidence[item] for item in end.evidence if item in self._evidence] if end is not None else []
        if end is not None and end.kind in {"search", "relate"} and not end.linked:
            unknown = [name for name in named(end, self._nodes) if not mentioned(name, found)]
            advice += [f"Check the spelling of “{name}”." for name in unknown[:1]]
        if not at_hand.web:
            advice.append("Turn web search on: F2, or `--web` on the command line.")
        missing = [source for source in ("text", "graph") if source not in at_hand.local]
        if missing:
            names = dict.fromkeys(("text", "graph", *at_hand.local))
            advice.append(f"Search the {' and the '.join(missing)} too: --sources {','.join(names)}.")
        others = [f"--{kind}-index {name}" for kind, name in at_hand.indexes if kind in at_hand.local][:_MOST_INDEXES]
        if others:
            advice.append(f"Search another index: {' or '.join(others)}.")
        advice.append("Add knowledge: `atomr fetch wikipedia`, or your own files with `atomr text build`.")
        return tuple(advice)


def _is_stage(node: NodeTrace) -> bool:
    """Whether the step has ended as it should without an answer of its own: a thought, or the use of a tool."""
    without = not (node.answers or node.error or node.candidates)
    return without and node.kind == "step" and bool(node.action or node.thought or node.observation)


def _proper(arguments: Sequence[object]) -> list[str]:
    """The arguments that contain a name ("chief of staff of the Clinton Foundation")."""
    return [text for text in arguments if isinstance(text, str) and re.search(r"\b[A-Z]", text)]


def _lowest_signal(node: NodeTrace) -> float:
    """The lowest signal of the step's answer; 1 if there is none."""
    signals = node.signals
    parts = [signals[name] for name in ("verify", "link", "relation") if name in signals]
    parts += [1.0 - signals["null"]] if "null" in signals else []
    parts += [node.confidence] if node.confidence is not None else []
    return min(parts, default=1.0)
