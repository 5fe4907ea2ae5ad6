"""References of a question to earlier text: a pronoun without an antecedent, or a fragment ("and where?").

Grammar decides, by closed classes of words and their places (Reinhart, 1983: a pronoun that is an object is never the
subject of its own clause). Where it leaves that open, the reference is not sure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from atomr_local.language.words import number_words, picks_out, referring_words

_WORDS = referring_words()
# Words of content with which a question says enough though it has a pronoun.
_ENOUGH = 3
_EMPTY = _WORDS.empty
_NO_CONTENT = _EMPTY | _WORDS.asking
_SUBJECTS = frozenset({"he", "she", "they"})
_OBJECTS = frozenset({"him", "them", "her", "hers", "theirs"})
_RELATIVE = frozenset({"who", "whom", "whose", "which", "that", "what"})
_BEING = frozenset({"is", "are", "was", "were", "be", "been"})
_ONES = frozenset({"one", "ones"})
_OTHERS = frozenset({"former", "latter", "other", "others", "next"})
# A pictogram says something too: "🇫🇷 capital".
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*|[\u2600-\u27bf\U0001f000-\U0001faff]+")
_CHOICE = re.compile(r"[,:;–—-].*\bor\b")
_BREAK = re.compile(r"[,;:.?!–—]")
_MOST_FRAGMENT = 4  # words of a noun phrase that is a fragment for sure

Kind = Literal["person", "thing", "place", "any", "fragment"]


@dataclass(frozen=True, slots=True)
class Reference:
    """Words of a question that refer to something before it.

    Attributes:
        words: as typed: "he", "that film"; the whole text where something is left out.
        start, end: where they stand in the question.
        kind: what they stand for.
        possessive: whether they stand before what belongs to it ("his").
        sure: whether nothing in the question itself can be meant.
        bare: whether the question names nothing but this.
    """

    words: str
    start: int
    end: int
    kind: Kind
    possessive: bool = False
    sure: bool = True
    bare: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int
    clause: int

    @property
    def word(self) -> str:
        """In small letters, without what follows an apostrophe ("who's")."""
        return re.split("['’]", self.text.casefold(), maxsplit=1)[0]

    @property
    def owns(self) -> bool:
        return self.text.casefold().endswith(("'s", "’s", "s'", "s’"))

    @property
    def named(self) -> bool:
        """Whether a capital inside the text makes a name of it."""
        return self.start > 0 and self.text[0].isupper() and self.text != "I"

    @property
    def content(self) -> bool:
        return self.named or self.word not in _NO_CONTENT

    @property
    def helps(self) -> bool:
        """Whether it is an auxiliary, or a question word with one ("who's")."""
        return self.word in _WORDS.auxiliaries or (self.word in _WORDS.asking and self.word != self.text.casefold())


def references(question: str) -> list[Reference]:
    """The words of the question that refer back, in order; none if it is complete."""
    tokens = _tokens(question.casefold() if question.isupper() else question)
    found = [one for place in range(len(tokens)) if (one := _reference(question, tokens, place)) is not None]
    if (sure := _fragment(question, tokens)) is not None and not any(one.sure for one in found):
        text = question.strip()
        start = question.find(text)
        bare = not any(token.content for token in tokens)
        return [Reference(text, start, start + len(text), "fragment", sure=sure, bare=bare)]
    return found


def refers_out(question: str) -> Reference | None:
    """The first reference that a question asked alone leaves open: a pronoun, or all of it ("why?").

    "It" and "they" may mean what the rest describes ('it says "the vault is locked"'): a few words will do.
    """
    told = [word for word in content_words(question) if word not in _WORDS.asking]
    found = references(question)
    personal = (one for one in found if one.words.casefold() in _WORDS.pronouns or one.bare)
    return next(
        (one for one in personal if one.sure and (one.bare or one.kind == "person" or len(told) < _ENOUGH)), None
    )


def content_words(text: str) -> list[str]:
    """The words that say something, in small letters; question words among them."""
    return [token.word for token in _tokens(text) if token.word not in _EMPTY]


def without_opening(question: str) -> str:
    """The question without the conjunction or "what about" that ties it to the one before."""
    tokens = _tokens(question)
    place = _opening(tokens)
    return question[tokens[place].start :] if place < len(tokens) else question


def _tokens(question: str) -> list[_Token]:
    """The words; a new clause begins at a mark, or at a conjunction before a question word or an auxiliary."""
    tokens: list[_Token] = []
    clause, last = 0, 0
    found = list(_TOKEN.finditer(question))
    for place, match in enumerate(found):
        following = found[place + 1][0].casefold() if place + 1 < len(found) else ""
        opens = following in _WORDS.asking or following in _WORDS.auxiliaries
        if tokens and (_BREAK.search(question, last, match.start()) or (match[0] in ("and", "or", "but") and opens)):
            clause += 1
        tokens.append(_Token(match[0], match.start(), match.end(), clause))
        last = match.end()
    return tokens


# -- pronouns


def _reference(question: str, tokens: Sequence[_Token], place: int) -> Reference | None:
    token = tokens[place]
    word, before = token.word, tokens[:place]
    if token.named:
        return None
    if word in _WORDS.pronouns:
        return _pronoun(question, tokens, place)
    earlier = any(one.content and one.clause < token.clause for one in before)
    if word == "there":
        told = earlier or any(one.content and one.text[0].isupper() for one in before)
        return None if told or _exists(tokens, place) else Reference(token.text, token.start, token.end, "place")
    last = _demonstrated(tokens, place) if word in _WORDS.demonstratives else _picked(tokens, place)
    if last is None or earlier or _CHOICE.search(question, last.end):
        return None
    return Reference(question[token.start : last.end], token.start, last.end, "thing" if last is token else "any")


def _pronoun(question: str, tokens: Sequence[_Token], place: int) -> Reference | None:
    token = tokens[place]
    word, after = token.word, _clause_after(tokens, place)
    if word == "it" and _is_empty_it(tokens, place):
        return None
    possessive = word in _WORDS.determiners and bool(after) and (word != "her" or after[0].content)
    lone = word in _OBJECTS or (word == "it" and not after)
    bound = _bound(tokens[:place], token, possessive=possessive, lone=lone and not possessive)
    if bound is True:
        return None
    end = token.start + len(word)
    kind: Kind = "person" if word in _WORDS.persons else "thing" if word in _WORDS.things else "any"
    return Reference(question[token.start : end], token.start, end, kind, possessive, bound is False)


def _clause_after(tokens: Sequence[_Token], place: int) -> list[_Token]:
    return [one for one in tokens[place + 1 :] if one.clause == tokens[place].clause]


def _bound(before: Sequence[_Token], token: _Token, *, possessive: bool, lone: bool) -> bool | None:
    """Whether words before the pronoun can be its antecedent; None if that is open.

    Args:
        lone: it is an object.
    """
    clause = [one for one in before if one.clause == token.clause]
    if any(one.content for one in before if one.clause < token.clause):
        return True
    if not any(one.content for one in clause):
        return False
    name = any(one.named for one in clause)
    related = max((at for at, one in enumerate(clause) if at and one.word in _WORDS.relating), default=0)
    follows = related == len(clause) - 1
    if (lone or possessive) and follows and clause[-1].word in _WORDS.prepositions:
        related = 0  # "before him", "after his death"
    if related and any(one.content for one in clause[:related]):
        # What is relative to a noun is not about another: "the film that he made", "the man who knew him".
        return name or clause[related].word not in _RELATIVE or not (follows or lone)
    if clause[-1].helps:
        return False  # it is the subject: what stands before it is what is asked for
    if token.word in _SUBJECTS and clause[-1].content:
        return name  # "the film he made"
    return _bound_in_clause(clause, possessive=possessive)


def _bound_in_clause(clause: Sequence[_Token], *, possessive: bool) -> bool | None:
    """The same for what belongs to something ("his"), or is an object, in the main clause."""
    helped = next((at for at, one in enumerate(clause) if one.helps), len(clause))
    held = [at for at, one in enumerate(clause) if one.named or (one.content and at > helped)]
    if possessive:
        return True if held else None
    # The subject itself is not meant ("Did Einstein know him?"), but what is inside it may be.
    if any(clause[at].owns or (at and clause[at - 1].word in _WORDS.prepositions) for at in held):
        return True
    asks = clause[0].word in _WORDS.asking or clause[0].helps
    return False if asks or sum(one.content for one in clause) <= clause[-1].content else None  # "describe it"


def _is_empty_it(tokens: Sequence[_Token], place: int) -> bool:
    """Whether "it" stands for a clause or nothing: "is it true that", "how far is it from", "does it take to"."""
    before = [one.word for one in tokens[max(0, place - 3) : place]]
    after = [one.word for one in tokens[place + 1 : place + 4]]
    if before[-1:] and before[-1] in _WORDS.auxiliaries and after[1:2] == ["that"]:
        return True
    if "to" in after[1:] and "how" in before:
        return True
    if len(before) < 3 or before[2] not in _WORDS.auxiliaries or not after:
        return False
    far = before[0] == "how" and after[0] in ("from", "to")
    return far or (before[0] == "what" and before[1] in _WORDS.now and after[0] in _WORDS.prepositions)


def _exists(tokens: Sequence[_Token], place: int) -> bool:
    """Whether "there" says that something is: "are there", "there is"."""
    near = [tokens[at].word for at in (place - 1, place + 1) if 0 <= at < len(tokens)]
    return any(word in _BEING for word in near)


def _demonstrated(tokens: Sequence[_Token], place: int) -> _Token | None:
    """The last word of what the demonstrative at this place points to: itself or a noun; None if to nothing."""
    token, rest = tokens[place], _clause_after(tokens, place)
    following = rest[0].word if rest else ""
    noun = rest[0] if rest and (rest[0].content or following in _ONES) else None
    if following in _WORDS.now or following in _WORDS.relating or (token.word == "those" and following == "of"):
        return None
    if token.word != "that":
        return noun or token
    before = tokens[place - 1] if place else None
    heads = before is None or not before.content
    if before is not None and before.word in _WORDS.asking and not before.helps:  # "which that …"
        return None
    if noun is None:
        return token if heads or not rest else None
    phrase = any(one.word in _WORDS.articles for one in tokens[max(0, place - 3) : place])
    return noun if heads or (tokens[-1] is noun and not phrase) else None


def _picked(tokens: Sequence[_Token], place: int) -> _Token | None:
    """The last word of "the other one", "which one" or "the second" at this place; None if it picks none of several."""
    token, rest = tokens[place], _clause_after(tokens, place)
    if token.word not in ("the", "which"):
        return None
    for at, one in enumerate(rest[:3]):
        after = rest[at + 1] if at + 1 < len(rest) else None
        if one.word in _ONES:
            return one if (at or token.word == "which") and (after is None or after.word != "of") else None
        ordinal = one.word in _OTHERS or one.word in number_words().ordinals
        if token.word == "which" or not (ordinal or picks_out([one.word])):
            break
        ends = after is None or after.word in _WORDS.auxiliaries
        heads = not place or not tokens[place - 1].content  # not "Charles the second"
        if ordinal and ends and heads and not any(later.content for later in tokens[place + at + 2 :]):
            return one
    return None


# -- fragments


def _opening(tokens: Sequence[_Token]) -> int:
    """How many words tie the question to the one before."""
    place = 0
    while place < len(tokens) and tokens[place].word in _WORDS.conjunctions:
        place += 1
    if [one.word for one in tokens[place : place + 2]] in (["what", "about"], ["how", "about"], ["what", "of"]):
        place += 2
    return place


def _fragment(question: str, tokens: Sequence[_Token]) -> bool | None:
    """Whether the question is no whole one: True, False if that is open; None if it is whole."""
    opening = _opening(tokens)
    rest = [one for one in tokens[opening:] if one.word not in _WORDS.adverbs]
    content = [one for at, one in enumerate(rest) if one.content and not (at and rest[at - 1].word == "how")]
    if not content:
        return True if rest or opening else None
    asking = any(one.word in _WORDS.asking for one in rest)
    helped = any(one.helps for one in rest)
    about = bool(opening) and tokens[opening - 1].word in _WORDS.prepositions
    within = any(one.named or one.word in _WORDS.prepositions or one.word == "or" for one in rest)
    which = rest[0].word == "which" and len(rest) > 1 and rest[1].helps and not within
    alone = len(content) == 1 and not content[0].named and (bool(opening) or (asking and not helped))
    if about or which or alone:
        return True  # "what about Verdi", "which is longer", "and who directed", "how many moons"
    if asking or helped or (not opening and rest[0] is not tokens[0]):
        return None
    return len(rest) <= _MOST_FRAGMENT if opening else _phrase(question, rest, content)


def _phrase(question: str, rest: Sequence[_Token], content: Sequence[_Token]) -> bool | None:
    """The same for a question without a verb or a question word. A topic is whole: "Marie Curie", "capital of Peru"."""
    if rest[0].word in _WORDS.prepositions:  # "in metres", and not "On the Road"
        return rest[0].text[0].islower() and len(rest) < _MOST_FRAGMENT
    if rest[-1].word in _ONES:
        return True
    asked = question.rstrip().endswith("?") and content[0].text[0].isalnum()
    picks = any(one.word in number_words().ordinals for one in content)
    noun = content[-1].text[0].islower() or content[-1].text[0].isdigit()
    short = len(content) == 1 and (asked or noun)
    return False if short or (len(content) == len(rest) == 2 and noun and (asked or picks)) else None
