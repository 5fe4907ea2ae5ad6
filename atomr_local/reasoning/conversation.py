"""A follow-up question put so that it stands alone: whether a model's version counts, and what grammar alone can do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import count
from typing import Any

from atomr_local.language.names import country_named, name_key, words
from atomr_local.language.question import read_question
from atomr_local.language.question_kind import defined_topic, expected_type
from atomr_local.language.referring import Reference, content_words, references, without_opening
from atomr_local.language.words import any_of, english, number_words, referring_words, stem
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.tree.calls import AnswerType, Expects
from atomr_local.tree.nodes import ROOT_ID, Node, NodeKind, References, Tree, renumbered, with_references
from atomr_local.tree.operations import Operation, OperationCall

# Earlier turns of a conversation: what a follow-up question may refer to.


# Earlier turns that a follow-up question is read with.
MOST_TURNS = 3
_MOST_ANSWER_WORDS = 40
_UNANSWERED = "Unknown"  # as the adapters learn it
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.)+[^\W\d_]?\b")
_APOSTROPHE = re.compile(r"['\u2019]")


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """One question and its answer.

    Attributes:
        trace_id: of the trace that holds it.
        question: as it was understood.
        answer: the answers, joined by semicolons; the best guess if nothing was found; "" if there is neither.
        entities: graph entity by the normal form of its name, for all answers of its steps.
        settings: those of the trace, with the indexes that it read.
    """

    trace_id: str
    question: str
    answer: str
    entities: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns of one conversation, oldest first.

    Attributes:
        id: the trace id of its first question; "" before that.
        turns: the questions with their answers.
    """

    id: str = ""
    turns: tuple[EarlierTurn, ...] = ()

    def __bool__(self) -> bool:
        """Whether there was a question before."""
        return bool(self.id or self.turns)

    @classmethod
    def of(cls, traces: Iterable[Trace]) -> Conversation:
        """The conversation of these questions, oldest first; cancelled and failed ones are left out.

        What was not looked up, because it was no question or not clear, belongs to it but is no turn.
        """
        kept = counting(traces)
        if not kept:
            return cls()
        asked = [one for one in kept if one.nodes or one.answers or one.understood_as not in ("", one.question)]
        return cls(kept[0].conversation or kept[0].id, tuple(map(turn_of, asked)))

    def lines(self) -> list[str]:
        """The latest turns as a prompt shows them: `Q: …` and `A: …`."""
        shown = []
        for turn in self.turns[-MOST_TURNS:]:
            answer = " ".join(turn.answer.split()[:_MOST_ANSWER_WORDS]) or _UNANSWERED
            shown += [f"Q: {turn.question}", f"A: {answer}"]
        return shown

    def entity(self, name: str) -> str | None:
        """The graph entity of the name in an earlier turn, the latest first."""
        key = name_key(name)
        return next((found for turn in reversed(self.turns) if (found := turn.entities.get(key))), None)

    def taken(self, question: str, understood: str) -> tuple[str, ...]:
        """Trace ids of the turns that supplied words of the question as understood that the typed one lacks.

        The latest turn that has a word counts as its origin. Stop words are ignored.
        """
        missing = _words(understood) - _words(question) - english().stop
        taken: list[str] = []
        for turn in reversed(self.turns[-MOST_TURNS:]):
            told = missing & _words(f"{turn.question} {turn.answer}")
            if told:
                taken.append(turn.trace_id)
                missing -= told
        return tuple(reversed(taken))

    def unfounded(self, question: str, understood: str) -> tuple[str, ...]:
        """Names and numbers of the question as understood that neither the typed one nor any turn contains.

        A word counts as a name if it is capitalised and does not begin the text.
        """
        known = said(question, self) | english().stop
        written = understood.split()
        names = [
            word for place, word in enumerate(written) if (place and word[:1].isupper()) or any(map(str.isdigit, word))
        ]
        return tuple(name for name in names if words(name) and not forms(name) & known)


def said(question: str, conversation: Conversation) -> set[str]:
    """The words that the question or a turn contains, in all their forms."""
    return forms(" ".join([question, *(f"{turn.question} {turn.answer}" for turn in conversation.turns)]))


def counting(traces: Iterable[Trace]) -> list[Trace]:
    """The questions that later ones may refer to, oldest first.

    Cancelled and failed ones are left out. If a question was asked again right away, for example with a correction, the
    last answer counts.
    """
    kept: list[Trace] = []
    for trace in traces:
        if trace.status not in ("answered", "unknown"):
            continue
        if kept and " ".join(kept[-1].question.split()) == " ".join(trace.question.split()):
            kept.pop()
        kept.append(trace)
    return kept


def turn_of(trace: Trace) -> EarlierTurn:
    """A finished question as a turn for the next one."""
    answers: Sequence[str] = trace.answers or (trace.guess.answers if trace.guess is not None else ())
    entities = {
        name_key(text): iri
        for node in trace.nodes
        for text, iri in zip(node.answers, node.entities, strict=False)
        if iri
    }
    return EarlierTurn(trace.id, trace.understood_as or trace.question, "; ".join(answers), entities, trace.settings)


def forms(text: str) -> set[str]:
    """The words of a text and their stems, with each letter of initials: "J. R. R.", "J.R.R." and "JRR" share one."""
    found = _words(text)
    found.update(letter for initials in _INITIALS.findall(text.casefold()) for letter in initials if letter.isalpha())
    found.update(key for token in text.split() for key in words(token))
    return found | set(map(stem, found))


def _words(text: str) -> set[str]:
    """The words; a word with an apostrophe also without the part after it: "Ann's" may be Ann."""
    bare = (_APOSTROPHE.split(word, maxsplit=1)[0] for word in text.split())
    return {*words(text), *words(" ".join(bare))}


# What answers are that nothing can be asked about.
_NO_NAMES = frozenset({"date", "year", "number", "quantity", "yes/no", "phrase", "summary"})
_MOST_NAME_WORDS = 8
_MISSPELT = 0.75
# "[1]", "Answer(person)": how plans are written.
_NOTATION = re.compile(r"[\[\]=]|\b\w+\(")
_EDGES = " \t.,;:!?\"“”'‘’"
# Question words that may stand for each other before an auxiliary.
_ADVERBIAL = frozenset({"when", "where", "why", "how"})
_ALIKE = {"what": "which", "whom": "who"}


def counts(question: str, written: str, found: Sequence[Reference], conversation: Conversation) -> bool:
    """Whether what a model wrote is the typed follow-up question, put so that it stands alone.

    It keeps each word of content that was typed, adds none that nobody said, is one whole question, and refers to
    nothing outside itself.

    Args:
        found: what the typed question refers back to.
    """
    if not written or not _is_whole(question, written, conversation):
        return False
    # A fragment has no verb: the model adds one.
    missing = any(one.kind == "fragment" and not one.bare for one in found)
    added = _added(question, written, conversation)
    if len(added) > missing or forms(" ".join(conversation.unfounded(question, written))).intersection(added):
        return False
    return not _lost(_without(question, found), written) and _means(question, written, found, conversation)


def resolved(question: str, found: Sequence[Reference], conversation: Conversation) -> str:
    """The follow-up question with its pronouns replaced, or the last question with what was typed in its place.

    Args:
        found: what the question refers back to.

    Returns:
        The question; "" if it is not clear what is meant.
    """
    turn = conversation.turns[-1]
    if any(one.kind == "fragment" for one in found):
        opened = without_opening(question)
        put = _exchanged(opened.strip(_EDGES), turn.question, noun=opened != question)
    else:
        put = _parallel(question, found, turn) or _replaced(question, found, conversation)
    if not put or any(one.sure for one in references(put)):
        return ""
    return put[:1].upper() + put[1:]


def same_subject(first: str, second: str, found: Sequence[Reference]) -> str:
    """The second of two questions with the subject of the first for its pronouns; "" if that is not clear.

    Args:
        found: what the second one refers to.
    """
    kind = expected_type(first).type
    named = kind not in _NO_NAMES and not defined_topic(first)
    if any(named and (one.kind in (kind, "any") or (one.kind == "thing" and kind != "person")) for one in found):
        return ""  # the answer to the first may be meant
    put = _replaced(second, found, Conversation("", (EarlierTurn("", first, ""),)))
    return put if not any(one.sure for one in references(put)) else ""


# -- a model's version


def _is_whole(question: str, written: str, conversation: Conversation) -> bool:
    """Whether it is one question to its end, not much longer than what was said, and refers to nothing outside it."""
    if _NOTATION.search(written) or "?" in written.rstrip("? ") or _is_cut_off(question, written):
        return False
    run = written.split()
    longest = max(len(f"{turn.question} {turn.answer}".split()) for turn in conversation.turns[-MOST_TURNS:])
    too_long = len(run) > len(question.split()) + longest
    return not too_long and not _repeats_itself(run) and not any(one.sure for one in references(written))


def _means(question: str, written: str, found: Sequence[Reference], conversation: Conversation) -> bool:
    """Whether it is about what the pronouns stand for, as far as that is clear."""
    turn = conversation.turns[-1]
    telling = [one for one in found if one.kind == "person" or _of_several(one, turn)]
    subjects = [] if _parallel(question, found, turn) else [_subject(one, conversation) for one in telling]
    if not all(_is_about(written, subject, turn) for subject in subjects if subject):
        return False
    return all(one.kind == "fragment" for one in found) or _goes_on(question, written, turn)


def _is_cut_off(question: str, written: str) -> bool:
    """Whether the end is missing: "… of the company that owns"."""
    *before, last = written.split()
    if last.endswith("?"):
        return False
    empty = referring_words().empty
    relative = bool(before) and before[-1].casefold() in referring_words().relating
    return (last.casefold() in empty or relative) and last.casefold() != question.rstrip("? ").rsplit(maxsplit=1)[
        -1
    ].casefold()


def _repeats_itself(said: Sequence[str]) -> bool:
    """Whether three words come again: a small model has run in a circle."""
    runs = [tuple(name_key(word) for word in said[at : at + 3]) for at in range(len(said) - 2)]
    return len(set(runs)) < len(runs)


def _without(question: str, found: Sequence[Reference]) -> str:
    """What was typed, without what stands for something else and without "what about"."""
    kept = question
    for one in reversed(found):
        if one.kind != "fragment":
            kept = f"{kept[: one.start]} {kept[one.end :]}"
    return without_opening(kept)


def _added(question: str, written: str, conversation: Conversation) -> list[str]:
    """Words of the model's version that nobody said, but for inflection and a misspelling put right."""
    known, typed = said(question, conversation), content_words(question)
    return [
        word
        for word in content_words(written)
        if word not in referring_words().asking
        and not forms(word) & known
        and (any(map(str.isdigit, word)) or not get_close_matches(word, typed, 1, _MISSPELT))
    ]


def _lost(typed: str, written: str) -> list[str]:
    """Words of what was typed that the model's version has not, but for inflection and spelling."""
    asking = {_ALIKE.get(word, word) for word in content_words(written)}
    kept, near = forms(written), [*words(written)]
    return [
        word
        for word in content_words(typed)
        if _ALIKE.get(word, word) not in asking
        and not forms(word) & kept
        and not any(word.isdigit() and other.isdigit() and other.endswith(word) for other in near)
        and (word in referring_words().asking or not get_close_matches(word, near, 1, _MISSPELT))
    ]


def _goes_on(question: str, written: str, turn: EarlierTurn) -> bool:
    """Whether it takes a word from the names of the last turn, if that has any: a pronoun means what was named last."""
    names = forms(" ".join([*read_question(turn.question).names, _answer(turn)[0]])) - forms(question)
    return not names or bool(names & forms(written))


def _is_about(written: str, subject: str, turn: EarlierTurn) -> bool:
    """Whether it names the subject, by a word that the last question has not if there is one."""
    own = set(words(subject)) - forms(turn.question)
    return bool(own & forms(written)) if own else name_key(subject) in name_key(written)


# -- grammar alone


def _subject(reference: Reference, conversation: Conversation) -> str:
    """What a pronoun stands for: the one answer of the last turn, or the one name of its question; "" if not clear.

    A name that was talked of before the last question may be meant as well as its answer.
    """
    *before, turn = conversation.turns
    if picked := _of_several(reference, turn):
        return picked
    if reference.words.casefold() not in (referring_words().pronouns | {"there"}):
        return ""
    names, (answer, kind) = list(read_question(turn.question).names), _answer(turn)
    if reference.kind == kind and kind in ("person", "place"):
        told = " ".join(f"{one.question} {one.answer}" for one in before)
        return answer if not any(name in told for name in names) else ""
    if reference.kind == "person":
        names = [name for name in names if country_named(name) is None]
    fits = answer and (reference.kind == "any" or (reference.kind == "thing" and kind != "person"))
    candidates = [answer] * bool(fits) + [name for name in names if name_key(name) != name_key(answer)]
    return candidates[0] if len(candidates) == 1 else ""


def _of_several(reference: Reference, turn: EarlierTurn) -> str:
    """Which of several answers "the second one" or "the last" is; "" if it is none."""
    answers = [answer.strip() for answer in turn.answer.split(";")]
    for word in reference.words.casefold().split():
        place = len(answers) if word == "last" else number_words().ordinals.get(word, 0)
        if 0 < place <= len(answers) > 1 and reference.kind != "fragment":
            return answers[place - 1]
    return ""


def _answer(turn: EarlierTurn) -> tuple[str, str]:
    """The turn's answer if it is a single name, else "", and its kind: "" where that is open or no name."""
    read = read_question(turn.question)
    expected, answer = read.expected, turn.answer.strip(_EDGES)
    if not answer or read.topic in read.names or expected.type in _NO_NAMES or len(answer.split()) > _MOST_NAME_WORDS:
        return "", ""
    return "" if ";" in answer else answer, expected.type if expected.surely(expected.type) else ""


def _replaced(question: str, found: Sequence[Reference], conversation: Conversation) -> str:
    """The question with the subject of the last turn for each of its pronouns; "" if one of them stays open."""
    put, meant = question, dict[str, str]()
    for one in reversed(found):
        name = _subject(one, conversation)
        owned = one.words.casefold() in ("his", "hers", "theirs", "its", "their")
        if not name or (owned and not one.possessive) or meant.setdefault(name, one.kind) != one.kind:
            return ""
        before, after = put[: one.start], put[one.end :]
        if one.kind == "place" and (before.split() or [""])[-1].casefold() not in referring_words().prepositions:
            name = f"in {name}"
        put = f"{before}{name}'s{after}" if one.possessive else f"{before}{name}{after}"
    return _asked_for(without_opening(put)) if found[0].possessive else without_opening(put)


def _asked_for(phrase: str) -> str:
    """The question for what is only named: "Who is Ann Lee's wife?" for "Ann Lee's wife?"."""
    if not (referring_words().asking | referring_words().auxiliaries).isdisjoint(words(phrase)):
        return phrase
    thing = f"What is {phrase.strip(_EDGES)}?"
    return f"Who {thing.removeprefix('What ')}" if expected_type(thing).type == "person" else thing


def _parallel(question: str, found: Sequence[Reference], turn: EarlierTurn) -> str:
    """The last question with the noun of "and his mother?" for its own, as in "Who was Ann Lee's father?"; else ""."""
    opened = without_opening(question)
    if opened == question or len(found) != 1 or not found[0].possessive or not opened.startswith(found[0].words):
        return ""
    return _exchanged(f"the {opened.removeprefix(found[0].words).strip(_EDGES)}", turn.question, noun=True)


def _exchanged(fragment: str, last: str, *, noun: bool) -> str:
    """The last question with the fragment for the word of its kind: a name, a question word, or the noun of a name.

    Args:
        noun: whether a noun is taken for one.
    """
    parts = fragment.split()
    while parts and parts[-1].casefold() in referring_words().adverbs:
        parts.pop()
    if not parts:
        return ""
    asked, *rest = last.split(maxsplit=1) or [""]
    if len(parts) == 1 and parts[0].casefold() in _ADVERBIAL:
        helped = bool(rest) and rest[0].split()[0].casefold() in referring_words().auxiliaries
        return f"{parts[0]} {rest[0]}" if helped and asked.casefold() in _ADVERBIAL else ""
    if parts[0].casefold() == "in" and parts[-1].islower() and expected_type(last).surely("quantity"):
        return f"{last.rstrip(_EDGES)} {' '.join(parts)}?"
    if len(parts) > 1 and parts[0].casefold() in referring_words().prepositions:
        parts = parts[1:]
    name = " ".join(parts)
    held = []
    if name[0].isupper():
        held = list(read_question(last).names)
    elif name.isdigit():
        held = re.findall(r"\b\d+\b", last)
    elif noun and len(parts) == 1 + (parts[0].casefold() == "the"):
        name = parts[-1]
        held = re.findall(r"(?<=\bthe )[a-z]+(?= of [A-Z])|(?<=['’]s )[a-z]+(?=\W*$)", last)
    return last.replace(held[0], name) if len(held) == 1 and last.count(held[0]) == 1 else ""


# Two questions asked at once ("Who was Ann Lee and when was she born?"): one plan that answers both.

_BOTH = "What are the answers?"
_ASKING = rf"(?:{any_of(referring_words().prepositions)} )?{any_of(referring_words().asking)}"
_JOINT = re.compile(rf"(?:\s*[,;?]\s*|\s+)(?:and|or|but)\s+(?={_ASKING}\b)|\s*\?\s+(?={_ASKING}\b)", re.IGNORECASE)
# "… or Rome?": both questions are about what follows.
_CHOICE = re.compile(r"[,:;–—].*\bor\b")
_HELPING = referring_words().auxiliaries | {"many", "much"}
_RELATIVE = frozenset({"who", "whom", "whose", "which", "that"})
_WORD = re.compile(r"[^\W_]+")


def two_questions(question: str) -> tuple[str, str] | None:
    """The two questions, each complete by itself; None if it is one, or the second is about the first one's answer."""
    joints = list(_JOINT.finditer(question))
    if len(joints) != 1 or _CHOICE.search(question):
        return None
    first, second = question[: joints[0].start()].strip(), question[joints[0].end() :].strip(" ?")
    if references(first) or not _asks(first) or not _asks(second) or _is_relative(first, second):
        return None
    found = references(second)
    if found:
        second = same_subject(first, second, found)
    return (f"{first}?", f"{second[:1].upper()}{second[1:]}?") if second else None


def _asks(text: str) -> bool:
    """Whether it opens as a question, with the verb where a question has it: "where Ann Lee was born" is none."""
    opening, *rest = [word.casefold() for word in _WORD.findall(text)] or [""]
    if opening in referring_words().prepositions and rest:
        opening, *rest = rest
    if opening in ("when", "where", "why", "how"):
        reach = 3 if opening == "how" else 1
        return not _HELPING.isdisjoint(rest[:reach])
    return bool(rest) and (opening in referring_words().asking or opening in referring_words().auxiliaries)


def _is_relative(first: str, second: str) -> bool:
    """Whether the second may go on with a clause of the first: "the man who wrote Emma and who …"."""
    within = {word.casefold() for word in _WORD.findall(first)[1:]}
    return not within.isdisjoint(_RELATIVE) and second.split(maxsplit=1)[0].casefold() in _RELATIVE


def answering_both(question: str, parts: Sequence[tuple[str, Tree]]) -> Tree:
    """The plan whose answer is those of both questions, given their plans."""
    numbers = count(1)
    nodes = [_part(text, tree, {node.id: next(numbers) for node in tree.nodes()}) for text, tree in parts]
    each = OperationCall(Operation.EACH, tuple(References((node.id,)) for node in nodes))
    both = Node(next(numbers), _BOTH, operation=each)
    return renumbered(Tree(Node(ROOT_ID, question, children=(*nodes, both), expects=Expects(AnswerType.THING, True))))


def _part(text: str, tree: Tree, numbers: dict[int, int]) -> Node:
    def again(node: Node) -> Node:
        changed = with_references(node, numbers)
        return replace(changed, id=numbers[node.id], children=tuple(map(again, node.children)))

    return replace(again(tree.root), question=text, expects=None)


def answers_both(tree: Tree) -> bool:
    """Whether it is a plan of :func:`answering_both`."""
    *parts, last = tree.root.children or (tree.root,)
    each = last.operation is not None and last.operation.operation is Operation.EACH
    return each and all(node.kind in (NodeKind.PARENT, NodeKind.DIRECT) for node in parts)
