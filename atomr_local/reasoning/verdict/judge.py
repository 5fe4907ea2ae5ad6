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
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.language.literals import parse_date
from atomr_local.language.names import words
from atomr_local.language.question_kind import Kind, leaning
from atomr_local.language.referring import Reference
from atomr_local.reasoning.confidence import POINTED
from atomr_local.reasoning.reading.checks import is_sentence
from atomr_local.reasoning.trace import Outcome
from atomr_local.reasoning.trace.events import AnswerReady, WarningRaised
from atomr_local.reasoning.trace.schema import Basis, Guess, NodeTrace, Status, Trace, taken_from_step
from atomr_local.reasoning.trace.telling import Advice, advice_texts
from atomr_local.reasoning.verdict.reasons import also_close, closest, inputs, is_phrase, mentioned, named, step_reason
from atomr_local.sources.protocol import Evidence
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tree.operations import Operation

# Whether an answer only repeats a name from the question.


def repeats(question: str, answers: Sequence[str], names: Sequence[str] = ()) -> bool:
    """Whether the answers only repeat the question; never one that it offers to choose ("A or B", "A and B").

    The whole choice, "A or B", chooses nothing and is a repetition. A part of a longer name is none: Mexico, as the
    country of Mexico City.

    Args:
        names: names that the plan takes from the question.
    """
    asked = words(question)
    offers = "or" in asked
    if not answers:
        return False

    def repeated(answer: str) -> bool:
        said = words(answer)
        if offers and "or" not in said:
            return False
        places = [at for at in range(len(asked) - len(said) + 1) if asked[at : at + len(said)] == said] if said else []
        if not places or _chosen(question, answer):
            return False
        return not _part_of_name(question, answer) and not any(_inside(said, words(name)) for name in names)

    return all(map(repeated, answers))


def _chosen(question: str, answer: str) -> bool:
    """Whether the question offers the answer as one of several choices: "A and B", "A, B and C", "A vs. B"."""
    name = re.escape(answer)
    if not re.search(r"\b(?:and|vs\.?|versus)(?!\w)", question, re.IGNORECASE):
        return False  # a comma alone ends a clause: "In A, which …"
    between = r"\b(?:and|vs\.?|versus)"
    return bool(
        re.search(rf"(?:,|{between}) {name}(?!\w)|(?<!\w){name}(?:,| {between}(?!\w))", question, re.IGNORECASE)
    )


def _part_of_name(question: str, answer: str) -> bool:
    """Whether the answer always has a capitalised word next to it in the question."""
    found = list(re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", question, re.IGNORECASE))

    def beside(match: re.Match[str]) -> bool:
        before = re.search(r"(?<=\s)([A-Z]\w*) $", question[: match.start()])  # the first word is always capitalised
        return before is not None or re.match(r" [A-Z]\w", question[match.end() :]) is not None

    return bool(found) and all(map(beside, found))


def _inside(said: Sequence[str], name: Sequence[str]) -> bool:
    """Whether the words are a proper part of the name's."""
    size = len(said)
    return size < len(name) and any(list(name[at : at + size]) == list(said) for at in range(len(name) - size + 1))


# A date as the graph writes it, and a year before the first.
_ISO_DATE = re.compile(r"-?\d{4,6}-\d\d(?:-\d\d)?|-\d{4,6}")
_NO_QUESTION = "This is not a question that can be looked up."
_OTHER_LANGUAGE = "Only English is supported so far; this seems to be in another language."
_UNSUPPORTED = "no evidence supports what the model knows by itself."
_NOT_KNOWN = "the model does not know the answer by itself."
_PLANS = "atomr"
_USE_PLANS = Advice("planning")
_MOST_INDEXES = 3
# Methods that answer from everything found, so that no single step is needed.
_OVER_ALL = frozenset({"direct_rag", "tool", "vote", "aggregate"})
# Operations that still have a result if some of their operands have none.
_PARTIAL = frozenset({Operation.UNION, Operation.EACH})


@dataclass(frozen=True, slots=True)
class AvailableSources:
    """What was searched and what else could be, for the advice.

    Attributes:
        web: whether web search was allowed.
        local: the sources that were used besides the web.
        indexes: other whole indexes that are built, as (kind, name).
        private: whether what was searched is private, so that the web is no way to the answer.
    """

    web: bool = False
    local: tuple[str, ...] = ("text", "graph")
    indexes: tuple[tuple[str, str], ...] = ()
    private: bool = False


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """How the question ended; the fields are those of the trace.

    Attributes:
        nodes: the corrected outcome and the reason of every node that did not end as it reported.
    """

    status: Status
    reason: str = ""
    advised: tuple[Advice, ...] = ()
    guess: Guess | None = None
    nodes: Mapping[int, tuple[Outcome, str]] = field(default_factory=dict)
    closest: tuple[Mapping[str, Any], ...] = ()

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do, in the words of the command line."""
        return tuple(advice_texts([item.to_dict() for item in self.advised]))


def judge(
    trace: Trace,
    *,
    accept: float,
    at_hand: Callable[[], AvailableSources] = AvailableSources,
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
    def __init__(self, trace: Trace, accept: float, at_hand: Callable[[], AvailableSources], retrieves: bool) -> None:
        self._trace = trace
        self._accept = accept
        self._at_hand = at_hand
        self._retrieves = retrieves
        self._nodes = {node.id: replace(node) for node in trace.nodes}
        self._evidence: dict[str, Evidence] = {item.id: item for item in trace.evidence}
        self._root = next((node for node in self._nodes.values() if node.parent is None), None)

    def verdict(self, kind: Kind, decline: bool) -> AnswerVerdict:
        root = self._root
        if kind != "question" and decline:
            return self._no_question(kind)
        if root is None:
            return AnswerVerdict("unknown", "The question was not looked up.")
        if not decline and root.answers:
            return AnswerVerdict("answered")
        changed = dict(self._terms_without_evidence()) if decline and self._retrieves else {}
        for node_id, (outcome, _) in changed.items():
            self._nodes[node_id].outcome = outcome
        if (cause := self._cause(root)) is None:
            return AnswerVerdict("answered")
        return self._declined(root, cause)

    def _no_question(self, kind: Kind) -> AnswerVerdict:
        reason, advice = (
            (_NO_QUESTION, Advice("example")) if kind == "nothing" else (_OTHER_LANGUAGE, Advice("english"))
        )
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
        often than its calibration says, so only half of the usual doubt is accepted. Not so where the model pointed at
        the sentences: that was measured without any plan.
        """
        around = (
            root.method == "direct_rag"
            and POINTED not in root.signals
            and any(
                node.outcome == "not found" and node.kind in {"search", "relate", "filter"}
                for node in self._nodes.values()
            )
        )
        return (1.0 + self._accept) / 2 if around else self._accept

    def _declined(self, root: NodeTrace, cause: str) -> AnswerVerdict:
        if cause == "repeats":
            reason = f"The only answer found, “{', '.join(root.answers)}”, just repeats the question."
            nodes: dict[int, tuple[Outcome, str]] = {root.id: ("not found", reason)}
            return AnswerVerdict("unknown", reason, self._advice(None), None, nodes, closest(self._trace))
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
        nodes = {}
        failed = end.error is not None and not end.answers
        for node in self._nodes.values():
            if node.outcome == "not found" and node.id not in (root.id, end.id) and not _is_stage(node):
                nodes[node.id] = ("not found", step_reason(node, self._nodes, self._evidence))
        if not failed:
            nodes[end.id] = ("not found", reason)
        nodes[root.id] = ("not found", reason)
        unasked = failed and not any(node.evidence for node in self._nodes.values())
        guess = self._guess(sure=cause == "unsure")
        known_empty = root.outcome == "computed" and not root.answers
        near = () if unasked or known_empty else closest(self._trace)
        return AnswerVerdict("failed" if unasked else "unknown", reason, self._advice(end), guess, nodes, near)

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
            passed = taken_from_step(node.computation)  # the end of a chain, which has all before it as inputs
            below = [i for i in inputs(node, self._nodes) if i not in needed and passed in (None, i)]
            if node.operation in _PARTIAL and any(self._nodes[i].answers for i in below):
                below = [i for i in below if self._nodes[i].outcome != "not found"]
            needed.update(below)
            open_nodes += [self._nodes[i] for i in below]
        return needed

    def _terms_without_evidence(self) -> Iterator[tuple[int, tuple[Outcome, str]]]:
        """Look-ups that have an answer without a basis.

        Either neither the evidence nor the graph has the name that was looked up, or the cited evidence contains no
        word of what the step is about, or it clearly tells the answer of another. The latter holds of an answer to the
        whole question too.
        """
        for node in self._nodes.values():
            if node.off_subject and (node.method == "direct_rag" or node.kind in {"search", "relate"}):
                yield node.id, ("not found", step_reason(node, self._nodes, self._evidence))
                continue
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
        if root.off_subject and root.method == "direct_rag":
            return root
        weakest = min(steps, key=_lowest_signal, default=root)
        return weakest if _lowest_signal(weakest) < max(self._accept, _lowest_signal(root)) else root

    def _advice(self, end: NodeTrace | None) -> tuple[Advice, ...]:
        if self._chose_not_to:
            return (_USE_PLANS,)
        if end is not None and end.outcome == "computed" and not end.answers and len(self._nodes) == 1:
            return ()  # all documents were looked at: no other source knows more of them
        at_hand, advice = self._at_hand(), list[Advice]()
        if end is not None and end.error is not None and not end.answers:
            advice.append(Advice("again"))
        found = [self._evidence[item] for item in end.evidence if item in self._evidence] if end is not None else []
        if end is not None and end.kind in {"search", "relate"} and not end.linked:
            names = [name for name in named(end, self._nodes) if is_phrase(name) and not mentioned(name, found)]
            advice += [Advice("spelling", (name,)) for name in names[:1]]
        if not (at_hand.web or at_hand.private):
            advice.append(Advice("web"))
        missing = [source for source in ("text", "graph") if source not in at_hand.local]
        if missing:
            wanted = dict.fromkeys(("text", "graph", *at_hand.local))
            advice.append(Advice("sources", tuple(missing), (f"--sources {','.join(wanted)}",)))
        others = [(kind, name) for kind, name in at_hand.indexes if kind in at_hand.local][:_MOST_INDEXES]
        if others:
            options = tuple(f"--{kind}-index {name}" for kind, name in others)
            advice.append(Advice("indexes", tuple(dict.fromkeys(name for _, name in others)), options))
        if not any("file" in item.locator for item in self._evidence.values()):
            advice.append(Advice("knowledge"))  # of their own documents people know what there is
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


# Years that a step looked up and that nothing which its answer cites mentions: a relation of the graph has no year.

_YEAR = re.compile(r"(?<![\d.,])(?:1\d|20)\d\d(?![\d.,]*\d)")


def unmentioned_years(trace: Trace) -> tuple[str, ...]:
    """The years, in the order of the steps; steps that computed something, or that the user answered, do not count."""
    texts = {item.id: f"{item.title} {item.text}" for item in trace.evidence}
    missing: dict[str, None] = {}
    for node in trace.nodes:
        if node.operation is not None or node.by_user or not node.answers or not node.cited:
            continue
        cited = " ".join(texts.get(item, "") for item in node.cited)
        wanted = " ".join(item for item in node.arguments if isinstance(item, str))
        missing.update(dict.fromkeys(year for year in _YEAR.findall(wanted) if year not in cited))
    return tuple(missing)


# The answer to the whole question as a sentence, or the reason why there is none.

_FAILED = "The question could not be answered."


def planned_kind(trace: Trace) -> Kind:
    """What the input is, as the plan understands it."""
    kind = (trace.expects or {}).get("type")
    if trace.nodes and trace.node(ROOT_ID).answers:
        return "question"  # the name of a page is a topic
    if kind == "language" and leaning(trace.question) != kind:
        return "question"  # a small model takes English for another language now and then
    return kind if kind in ("nothing", "language") else "question"


def asked_back(reference: Reference) -> AnswerReady:
    """The answer to a question that refers to something unknown: the user is to name it."""
    words = sanitize_line(reference.words)
    if reference.kind == "fragment":
        reason, advice = f"It is not clear what “{words}” asks about.", "Ask the whole question, with the names."
    else:
        reason, advice = f"It is not clear who or what “{words}” refers to.", f"Write the name instead of “{words}”."
    return AnswerReady(status="unknown", answer="", reason=reason, advice=(advice,))


def conclusion(trace: Trace, verdict: AnswerVerdict) -> AnswerReady:
    """The root's answer as a sentence, or the verdict on a question without an answer."""
    if verdict.status != "answered":
        return AnswerReady(
            status=verdict.status,
            answer="" if verdict.status == "unknown" else _FAILED,
            reason=verdict.reason,
            advice=verdict.advice,
            advised=tuple(item.to_dict() for item in verdict.advised),
            guess=verdict.guess,
            closest=verdict.closest,
        )
    root = trace.node(ROOT_ID)
    basis: Basis = "model" if root.method == "closed_book" or root.outcome == "memory" else "evidence"
    quoted = is_quotation(trace, root)
    # What a rule has computed for the question alone tells the rule itself.
    told = root.computation if root.method == "computed" and len(trace.nodes) == 1 else None
    return AnswerReady(
        status="answered",
        answer=told or _both(trace) or ("\n".join(root.answers) if quoted else _sentence(root.answers, basis)),
        answers=tuple(root.answers),
        confidence=root.confidence,
        basis=basis,
        answer_kind="quotation" if quoted else "value",
        closest=also_close(trace, root),
    )


def is_quotation(trace: Trace, node: NodeTrace) -> bool:
    """Whether the node's answers are just what it quotes, and no values from it."""
    texts = {item.id: item.text for item in trace.evidence}
    quoted = [texts.get(quote["evidence"], "")[slice(*quote["span"])] for quote in node.quotes]
    return bool(quoted) and " ".join(quoted).split() == " ".join(node.answers).split()


def _both(trace: Trace) -> str:
    """Each of two questions that were asked at once with its answer; "" for any other question."""
    last = next((node for node in trace.nodes if node.parent == ROOT_ID and node.operation == Operation.EACH), None)
    parts = [trace.node(i) for i in last.refs] if last is not None else []
    if not parts or any(part.kind not in ("parent", "direct") for part in parts):
        return ""
    told = [_listed(part.answers) if part.outcome != "not found" and part.answers else "Not found" for part in parts]
    return " ".join(f"{part.question} {text.removesuffix('.')}." for part, text in zip(parts, told, strict=True))


def _listed(answers: Sequence[str]) -> str:
    *others, last = map(_spoken, answers)
    return f"{', '.join(others)} and {last}" if others else last


def _spoken(answer: str) -> str:
    """The answer; a date of the graph as it is said."""
    date = parse_date(answer) if _ISO_DATE.fullmatch(answer) else None
    return answer if date is None else date.spoken


def _sentence(answers: Sequence[str], basis: Basis) -> str:
    *others, last = answers
    listed = _listed(answers)
    if basis == "model":
        return f"From the model's own knowledge, not from evidence: {listed.removesuffix('.')}."
    if listed.casefold() in {"yes", "no"}:
        return f"{listed.capitalize()}."
    if not others and is_sentence(last):
        return last
    return f"The answer is {listed}." if not others else f"The answers are {listed}."


def failure(error: BaseException) -> tuple[WarningRaised, AnswerReady]:
    """The events for a question that failed. An error that is not an AtomrError is an internal one."""
    if not isinstance(error, AtomrError):
        error = AtomrError(f"{type(error).__name__}: {error}", title="Internal error")
    return WarningRaised(message=error.in_full()), AnswerReady(status="failed", answer=_FAILED)
