"""Facts about a page's subject, from its passages: in infoboxes, by labels and set phrases, and by the model where two
readers agree.

The embedder chooses the relations whose questions are nearest to a passage's sentences. For each of them the span
reader, which takes milliseconds, judges whether the passage answers the question at all. Of several questions with one
answer only the surest is kept: "Its area is 468 square kilometres" tells no length. Then the model reads the answer,
under a grammar that allows words of the passage alone. A fact counts if both read the same,
in a sentence about the page's subject.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.language.names import name_key, split_qualifier
from atomr_local.language.sentences import sentences
from atomr_local.page_facts.infobox_facts import infobox_facts
from atomr_local.page_facts.labelled import labelled_facts
from atomr_local.page_facts.passages import PagePassage
from atomr_local.page_facts.stated import OF_A_LIFE, about_subject, short_answer, stated_facts, usable_name
from atomr_local.page_facts.wordings import Wording, asked_relations, known_property, mention
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence, SourceName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.reasoning.reading.reader import Reader, SpanJudge
    from atomr_local.reasoning.reading.reading import Reading

How = Literal["infobox", "phrase", "labelled", "model"]
SURE = 0.85
_DATES = frozenset({"time"})
_NUMBERS = frozenset({"quantity"})
_NAMES = frozenset({"person", "place", "city", "country", "org", "work"})
_NEAREST = 12  # relations that a passage is asked for
_SENTENCES = 40
# "is an American band": only a person is a citizen.
_CITIZENSHIP, _ORIGIN = "country of citizenship", "country of origin"
_PERSON = re.compile(r"\b(?:[Hh]e|[Ss]he|[Hh]is|[Hh]er)\b")
_ITS = re.compile(r"(?:Its|His|Her|Their)\b")
_SAID = 400  # characters of a sentence that is kept


@dataclass(frozen=True, slots=True)
class PassageFact:
    """A fact with the passage that states it. Untrusted.

    Attributes:
        subject: the page's title, or what a row of a table names.
        relation: the label of a property.
        value: as the passage writes it.
        passage: id of the passage in its text index.
        said: the sentence.
        how: stated by an infobox, found by a set phrase or by a label before the value, or read by the model.
        sure: the least of the probabilities that its readers give, 0 to 1; None if the model did not read it.
        page: the title of the page, where that is not the subject.
    """

    subject: str
    relation: str
    value: str
    passage: str
    said: str
    how: How
    sure: float | None = None
    page: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A line of facts as `atomr graph build` reads them, with where the fact is stated."""
        bare = split_qualifier(self.subject)[0]
        known = known_property(self.relation)
        return {
            "s": self.subject,
            **({"s_aliases": [bare]} if bare != self.subject else {}),
            "p": self.relation,
            **({"p_id": known.id} if known is not None else {}),
            "o": self.value,
            "stated": {"title": self.page or self.subject, "passage": self.passage, "said": self.said},
            "how": self.how,
            **({"sure": round(self.sure, 3)} if self.sure is not None else {}),
        }


@dataclass(frozen=True)
class ModelReading:
    """The model and the span reader, which read passages for one question each.

    Attributes:
        near: chooses the relations that a passage may tell.
        judge: the span reader.
        reader: gives the model's reader for a question.
        sure: the probability that either reader must reach, 0 to 1.
    """

    near: NearRelations
    judge: SpanJudge
    reader: Callable[[str], Reader]
    sure: float = SURE

    def read(
        self, title: str, passage: PagePassage, known: Mapping[str, str], check: Callable[[], None]
    ) -> Iterator[tuple[str, str, float]]:
        """(relation, value, how sure it is) of what the passage surely states, one value of a relation.

        Args:
            known: values by relation that the page has told; neither is told again.
        """
        spans: dict[str, tuple[float, Wording]] = {}
        taken = {name_key(value) for value in known.values()}
        for relation in self.near.of(passage.text):
            if relation.relation in known:
                continue
            check()
            judged = self.judge.judge(relation.asks(mention(title)), [f"{title}: {passage.text}"], [])
            if judged is None or judged.answerable < self.sure or not _can_be(relation.relation, title, judged.best):
                continue
            key = name_key(judged.best)
            if key in taken:
                continue
            spans[key] = max(spans.get(key, (0.0, relation)), (judged.answerable, relation), key=lambda one: one[0])
        for _, relation in spans.values():
            check()
            question = relation.asks(mention(title))
            evidence = Evidence(SourceName.TEXT, title, passage.text, 1.0, question, {"passage": passage.id})
            agreed = self._agreed(
                relation, title, passage, self.reader(question).from_evidence(None, question, [evidence])
            )
            if agreed is not None:
                yield relation.relation, *agreed

    def _agreed(
        self, relation: Wording, title: str, passage: PagePassage, reading: Reading
    ) -> tuple[str, float] | None:
        if len(reading.answers) != 1 or reading.confidence is None or reading.verdict is None:
            return None
        [value] = reading.answers
        [share] = reading.verdict.answers
        sure = min(reading.verdict.answerable, share or 0.0, reading.confidence)
        if sure < self.sure or value not in passage.text or not _can_be(relation.relation, title, value):
            return None
        return value, sure


class NearRelations:
    """Which relations a passage may tell, by the similarity of their questions to its sentences.

    Args:
        encode: gives the unit vectors of texts (n, dimensions).
    """

    def __init__(self, encode: Callable[[Sequence[str]], NDArray[np.float32]]) -> None:
        self._encode = encode
        self._relations = asked_relations()
        self._vectors = encode([wording.asks("it") for wording in self._relations])

    def of(self, text: str) -> list[Wording]:
        """The nearest ones, nearest first."""
        parts = [text[begin:end] for begin, end in sentences(text)][:_SENTENCES]
        if not parts:
            return []
        nearest = (self._vectors @ self._encode(parts).T).max(axis=1)
        return [self._relations[place] for place in nearest.argsort()[::-1][:_NEAREST]]


def facts_of_page(
    title: str,
    passages: Sequence[PagePassage],
    model: ModelReading | None = None,
    *,
    check: Callable[[], None],
    left_out: Counter[str] | None = None,
) -> Iterator[PassageFact]:
    """The facts that a page's passages state of its subject, one of each relation: infoboxes, labels, then set phrases.

    A field of an infobox may have several values. Tables of documents also tell of what their rows name; those of wikis
    are left alone.

    Args:
        passages: in the order of the page.
        model: reads what set phrases do not tell; None for set phrases alone.
        check: called before each reading; raises to stop.
        left_out: counts values that became no facts (:func:`labelled_facts`), and fields of infoboxes as "field".

    Raises:
        ModelError: the model cannot be used.
    """
    found: dict[str, str] = {}
    left_out = Counter() if left_out is None else left_out
    for field in infobox_facts(title, passages, left_out):
        found.setdefault(field.relation, field.value)
        yield PassageFact(title, field.relation, field.value, field.passage, field.said[:_SAID], "infobox")
    passages = [passage for passage in passages if not passage.kind]
    for labelled in labelled_facts(title, passages, left_out):
        own = labelled.subject == title
        if own and labelled.relation in found:
            continue
        if own:
            found[labelled.relation] = labelled.value
        yield PassageFact(
            labelled.subject, labelled.relation, labelled.value, labelled.passage, labelled.said, "labelled",
            page="" if own else title,
        )  # fmt: skip
    if not passages or not usable_name(title):
        return
    stated = list(stated_facts(title, passages[0].text))
    is_person = _PERSON.search(passages[0].text) or any(fact.relation in OF_A_LIFE for fact in stated)
    for fact in stated:
        relation = fact.relation if is_person or fact.relation != _CITIZENSHIP else _ORIGIN
        if relation not in found and not fact.several:
            found[relation] = fact.value
            yield PassageFact(title, relation, fact.value, passages[0].id, fact.said[:_SAID], "phrase")
    if model is None:
        return
    for passage in passages:
        for relation, value, sure in model.read(title, passage, found, check):
            said = _said_of(title, relation, value, passage, opening=passage is passages[0])
            if said:
                found[relation] = value
                yield PassageFact(title, relation, value, passage.id, said, "model", sure)


def _can_be(relation: str, title: str, value: str) -> bool:
    """Whether a value can be the relation's: it is short, and of the kind of its values."""
    if not short_answer(value) or name_key(value) == name_key(split_qualifier(title)[0]):
        return False
    known = known_property(relation)
    kind = known.kind if known is not None else ""
    is_date = parse_date(value) is not None
    if kind in _DATES:
        return is_date
    if kind in _NUMBERS:
        return parse_quantity(value) is not None
    return kind not in _NAMES or (not is_date and value[0].isupper() and usable_name(value))


def _said_of(title: str, relation: str, value: str, passage: PagePassage, *, opening: bool) -> str:
    """The first sentence of the passage that says the value of the page's subject; "" if none does."""
    for begin, end in sentences(passage.text):
        at = passage.text.find(value, begin, end)
        if at < 0:
            continue
        before = passage.text[begin:at]
        first = (opening and begin == 0) or _ITS.match(before) is not None
        if about_subject(title, before, relation, lead=first):
            return sanitize_line(passage.text[begin:end])[:_SAID]
    return ""
