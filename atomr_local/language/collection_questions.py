"""Questions about a collection of documents as a whole: how many, which, the latest of them.

A grammar of closed classes: an opening ("how many", "list", "which", "the latest"), a noun for documents, and
conditions that it knows ("mention …", "about …", "since May"). It refuses a question with any other word, for that asks
what the documents say ("How many hens may I keep?", "List the steps to reset").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any, Literal

from atomr_local.language.literals import BEGIN_WHEN, END_WHEN, Period, period_of
from atomr_local.language.words import any_of, english, word_lists

Form = Literal["count", "list", "newest", "oldest", "sum", "average", "declined"]


@dataclass(frozen=True, slots=True)
class CollectionQuestion:
    """A question about documents as a whole.

    Attributes:
        noun: in the singular, as the lists of nouns have it.
        called: the words before the noun, in order.
        folder: words that should name a folder; "" if none are said.
        mention: what the text holds.
        about: what the document is about.
        changed: whether the time when the file was changed is meant, not the document's own date.
        column: of a sum or an average; `table` names the file.
        loosely: whether it opens as questions about contents do ("what …").
        problem: why a question of this family cannot be answered.
    """

    form: Form
    noun: str = "file"
    called: tuple[str, ...] = ()
    folder: str = ""
    mention: str = ""
    about: str = ""
    tag: str = ""
    period: Period | None = None
    changed: bool = False
    column: str = ""
    table: str = ""
    loosely: bool = False
    problem: str = ""


@cache
def collection_words() -> dict[str, Any]:
    """Nouns for documents, words for their dates, and words that open a clause."""
    return word_lists("collections")


def plural(noun: str) -> str:
    """Of a regular noun in the singular."""
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


@cache
def _nouns() -> dict[str, tuple[str, bool]]:
    """Form → (singular, whether the form is a plural)."""
    data = collection_words()
    singular = [*data["documents"], *data["endings"], *data["named"]]
    return {noun: (noun, False) for noun in singular} | {plural(noun): (noun, True) for noun in singular}


_DETERMINERS = r"(?:(?:of|all|every|each|any|the|my|our|your|these|those|this|different|single)\s+)*"
_COUNT = re.compile(rf"(?:how many|(?:what is |what's )?the number of|number of|count)\s+{_DETERMINERS}", re.I)
_LIST = re.compile(
    r"(?:(?:please|can you|could you)\s+)?(?:(?:in|on|under)\s+(?=which|what))?"
    r"(?:list|show(?: me)?|find(?: me)?|give me(?: a list of)?|name|tell me|what are|which are|which|what)\s+"
    rf"{_DETERMINERS}",
    re.I,
)
_LOOSE = re.compile(r"what |which are |name |tell me ", re.I)
_NEWEST = re.compile(
    r"(?:(?:what|which)(?:\s+is|\s+was|['’]s)?\s+|(?:show(?: me)?|find(?: me)?|give me|open)\s+)?(?:(?:the|my|our)\s+)?"
    r"(?P<end>latest|newest|most recent|last|oldest|earliest)\s+",
    re.I,
)
_OLDEST = frozenset({"oldest", "earliest", "first"})
_COLLECTION = r"(?:collection|index|folder|library|archive|vault|documents|files|notes|knowledge base)"
_HERE = rf"(?:in|of|from|among|inside|into)\s+(?:(?:the|this|these|my|our|your|all|of)\s+)+{_COLLECTION}"
_COPULA = re.compile(r"^(?:(?:that|which) )?(?:is|are|was|were)$", re.I)
_OVERVIEW = re.compile(
    rf"(?:what(?:'s|’s| is)|show me what is)\s+{_HERE}|what (?:do you have|have you got|is (?:in )?here)", re.I
)
_EXIST = (
    r"(?:(?:are|is) there|(?:do|did) (?:i|we|you) have|have (?:i|we|you) got|(?:that )?(?:i|we|you) have|there are|"
    r"exist)"
)
_FILLER = re.compile(rf"(?:{_EXIST}|{_HERE}|here|in total|in all|altogether|stored|indexed)(?=\s|$)\s*", re.I)
_END_FILLER = re.compile(rf"\s*(?:\b{_HERE}|\bhere|\bin total|\bin all|\baltogether)$", re.I)
_PLACE = r"(?:the |my |our |your )?(?P<folder>[^\s,]+(?: [^\s,]+){0,2}?)(?P<said> folder| directory)?"
_FOLDER = re.compile(rf"(?:are |is |lie |lies )?(?:in|of|from|under|inside|within)\s+{_PLACE}(?=\s|$)\s*", re.I)
_END_FOLDER = re.compile(rf"\s*\b(?:in|of|from|under|inside|within)\s+{_PLACE}$", re.I)
_THAT = r"(?:(?:that|which|where|with|the ones? that|(?:is|are) the ones? that)\s+)?(?:do |does |did )?"
_MENTION = re.compile(
    rf"{_THAT}(?:mentions?|mentioned|mentioning|contains?|containing|includes?|including|(?:refers?|referring) to|"
    r"(?:talks?|talking|speaks?|writes?|says? (?:something|anything)) about|(?:have|has|having|use|uses|using|with)"
    r"(?= the (?:words?|terms?|names?|phrases?)\b))\s+(?P<term>.+)",
    re.I,
)
_ABOUT = re.compile(
    r"(?:that\s+|which\s+)?(?:(?:is|are|was|were)\s+)?(?:the ones? (?:that (?:is|are) )?)?"
    r"(?:about|regarding|concerning|on the subject of|(?:dealing|deals?) with|on)\s+(?P<term>.+)",
    re.I,
)
_WHERE = re.compile(
    r"where (?:is|are|was|were) (?P<term>.+?) mentioned|where do (?:i|we) mention (?P<mine>.+)"
    r"|where does (?P<word>the (?:word|term|name|phrase) .+?) (?:appear|occur|stand)",
    re.I,
)
_TAGGED = re.compile(
    r"(?:(?:that|which) )?(?:are |is |were )?(?:tagged|labelled|labeled)(?: with| as)?\s+(?P<value>.+)", re.I
)
_DATED_WORD = any_of([*collection_words()["dated"], *collection_words()["changed"]])
_VERB_DATED = rf"(?:(?:that|which)\s+)?(?:(?:was|were|is|are|has been|have been)\s+)?(?P<dated>{_DATED_WORD})"
_DATED = re.compile(_VERB_DATED, re.I)
_PICKED = re.compile(
    rf"(?:{_VERB_DATED}\s+|(?:is|was)\s+(?:the\s+)?)"
    r"(?P<end>most recently|latest|last|newest|most recent|oldest|earliest|first)",
    re.I,
)
_EXCLUDED = re.compile(r"\b(?:but (?:not|no)|without|except|do not|don['’]t|does not|doesn['’]t|never|not)\b", re.I)
_SIZES = re.compile(
    r"(?:(?:what|which)(?: is| are|['’]s)? )?(?:the |my )?(?:largest|biggest|longest|shortest|smallest) "
    rf"{any_of(collection_words()['documents'])}(?:\s+{_HERE})?",
    re.I,
)
_SUMMARY = re.compile(
    r"(?:summari[sz]e|(?:give me |write )?(?:a |an )?(?:summary|overview) of|"
    r"what (?:are|is) the (?:main |most important )?(?:themes?|topics?|points?|subjects?) (?:of|in))\s+"
    rf"(?:(?:all|of|the|this|these|my|our|your)\s+)+{_COLLECTION}",
    re.I,
)
_OF_COLUMN = (
    r"(?:of|for)\s+(?:all\s+)?(?:the\s+)?(?:values (?:of|in) (?:the )?)?(?:column\s+)?"
    r"[\"“”'‘’]?(?P<column>.+?)[\"“”'‘’]?"
    r"(?P<said>\s+(?:column|values))?"
)
_COMPUTED = re.compile(
    r"(?:(?:what(?: is| was|['’]s)|give me|compute|calculate)\s+)?(?:the\s+)?(?P<what>sum|total|average|mean)\s+"
    rf"(?:{_OF_COLUMN}|(?P<short>[\w -]+?)(?P<said2>\s+column)?)"
    r"(?:\s+(?:in|of|from)\s+(?:the\s+)?(?:file |table |spreadsheet )?[\"“”'‘’]?(?P<table>[^\"“”]+?)[\"“”'‘’]?)?",
    re.I,
)
_IN_TERM = frozenset({"in", "of", "on", "during"})  # before a date that may belong to what is mentioned
_MOST_CALLED = 4
_MOST_TERM = 8
_EDGES = " \t?!.,;:"
_KNOWN = "How many or which files mention something, are about it, come from a time, or are the latest can be told."


def collection_question(question: str, is_folder: Callable[[str], bool], today: date) -> CollectionQuestion | None:
    """The question's reading as one about a collection as a whole; None if it is another one.

    Args:
        is_folder: whether a folder, or a part of its path, has this name.
        today: what "last week" counts from.
    """
    return _Reading(is_folder, today).of(" ".join(question.split()).strip(_EDGES))


class _Reading:
    """Reads one question."""

    def __init__(self, is_folder: Callable[[str], bool], today: date) -> None:
        self._is_folder = is_folder
        self._today = today

    def of(self, asked: str) -> CollectionQuestion | None:
        if (problem := _impossible(asked)) or _OVERVIEW.fullmatch(asked):
            return _declined(problem) if problem else CollectionQuestion("list")
        if found := _WHERE.fullmatch(asked):
            term = found["term"] or found["mine"] or found["word"]
            return _of_term(CollectionQuestion("list"), "mention", term)
        for opening, form in _OPENINGS:
            found = opening.match(asked)
            if found is not None and (read := self._documents(form, asked, found)) is not None:
                return read
        return _computed(asked)

    def _documents(self, form: Form, asked: str, opening: re.Match[str]) -> CollectionQuestion | None:
        """A noun for documents with the words before it, and what is said of them."""
        if (opening.groupdict().get("end") or "").casefold() in _OLDEST:
            form = "oldest"
        loosely = form == "list" and _LOOSE.match(asked) is not None
        parts = asked[opening.end() :].split()
        spans = ((at, at + size) for at in range(min(len(parts), _MOST_CALLED + 1)) for size in (2, 1))
        noun, begin, end = next(
            (
                (_nouns()[words], *span)
                for span in spans
                if (words := " ".join(parts[slice(*span)]).casefold()) in _nouns()
            ),
            (("", False), 0, 0),
        )
        called = tuple(parts[:begin])
        if not end or any(one.casefold() in english().stop or not one.replace("-", "").isalnum() for one in called):
            return None
        # "report files", "PDF documents": the last noun, where the first only says which.
        following = _nouns().get(parts[end].casefold()) if end < len(parts) else None
        if following is not None and following[0] in collection_words()["documents"] and not noun[1]:
            noun, end = (noun[0], following[1]), end + 1
        read = CollectionQuestion(form, noun[0], called, loosely=loosely)
        found = self._conditions(read, " ".join(parts[end:]), several=noun[1])
        return None if found is None or (loosely and not self._says_more(found)) else found

    def _says_more(self, read: CollectionQuestion) -> bool:
        """Whether a question that opens as one about contents does ask for documents: "What are the plans?" is of what
        is planned, "What are log files?" of what they are."""
        plain = read.noun not in collection_words()["named"] and all(map(self._is_folder, read.called))
        return plain or bool(read.mention or read.about or read.tag)

    def _conditions(self, read: CollectionQuestion, said: str, *, several: bool) -> CollectionQuestion | None:
        """The question with what is said behind the noun; None if not all of it is understood."""
        if read.form == "count" and not several:
            return None
        before = None
        while said and said != before:
            before = said
            read, said = self._opened(read, said)
        said = _END_FILLER.sub("", said)
        if not read.folder and (found := _END_FOLDER.search(said)) and (folder := self._folder_of(found)):
            read, said = replace(read, folder=folder), said[: found.start()].strip()
        if read.period is None and (found := END_WHEN.search(said)) and not _in_term(said, found):
            read, said = replace(read, period=period_of(found, self._today)), said[: found.start()]
            if read.period is None:
                return None
        said = _COPULA.sub("", said.strip(_EDGES))
        # "Which people report about …": the noun may be a verb.
        verb = read.form == "list" and not several and bool(read.called)
        if verb and (_ABOUT.match(said) if said else not (read.folder or read.period)):
            return _said(read, said) if said.casefold().startswith(("is ", "was ", "that ")) else None
        return _said(read, said) if said else read

    def _opened(self, read: CollectionQuestion, said: str) -> tuple[CollectionQuestion, str]:
        """The question with a place or a time that the words begin with, and the words without it."""
        if found := _FILLER.match(said):
            return read, said[found.end() :]
        if read.period is None and (found := BEGIN_WHEN.match(said)) and (period := period_of(found, self._today)):
            return replace(read, period=period), said[found.end() :]
        if not read.folder and (found := _FOLDER.match(said)) and (folder := self._folder_of(found)):
            return replace(read, folder=folder), said[found.end() :]
        return read, said

    def _folder_of(self, found: re.Match[str]) -> str:
        """The folder that is named; words that name none are left, unless they say that they do."""
        return found["folder"] if found["said"] or self._is_folder(found["folder"]) else ""


def _impossible(asked: str) -> str:
    """Why a question about all documents together cannot be answered; "" if that is not known."""
    if _SUMMARY.fullmatch(asked):
        return "all documents cannot be summed up at once: the model reads a few passages at a time"
    return "documents are not compared by size" if _SIZES.fullmatch(asked) else ""


def _in_term(said: str, when: re.Match[str]) -> bool:
    """Whether a time at the end may belong to what is mentioned: "the flood of 1953"."""
    how = (when["how"] or when["since"] or "").casefold()
    return how in _IN_TERM and any(pattern.match(said) for pattern in (_MENTION, _ABOUT))


def _declined(problem: str) -> CollectionQuestion:
    return CollectionQuestion("declined", problem=f"{problem[0].upper()}{problem[1:]}. {_KNOWN}")


def _said(read: CollectionQuestion, said: str) -> CollectionQuestion | None:
    """The question with its one condition on what the documents say."""
    for pattern, take in _TAKEN:
        if (found := pattern.fullmatch(said)) is not None and (taken := take(read, found)) is not None:
            return taken
    return None


def _picked(read: CollectionQuestion, found: re.Match[str]) -> CollectionQuestion | None:
    end: Form = "oldest" if found["end"].casefold() in _OLDEST else "newest"
    return replace(read, form=end, changed=_is_change(found)) if read.form == "list" else None


def _of_date(read: CollectionQuestion, found: re.Match[str]) -> CollectionQuestion | None:
    return replace(read, changed=_is_change(found)) if read.period is not None else None


def _is_change(found: re.Match[str]) -> bool:
    return (found["dated"] or "").casefold() in collection_words()["changed"]


def _tagged(read: CollectionQuestion, found: re.Match[str]) -> CollectionQuestion | None:
    return replace(read, tag=found["value"].strip("\"“”'‘’")) if len(found["value"].split()) <= _MOST_CALLED else None


def _of_term(read: CollectionQuestion, kind: Literal["mention", "about"], term: str) -> CollectionQuestion | None:
    term = term.strip(_EDGES)
    if _EXCLUDED.search(term):
        return _declined(f"files that do not hold a word cannot be asked for (“{term}”)")
    quoted = term[0] in "\"“'‘" if term else False
    if not term or len(term.split()) > _MOST_TERM:
        return None
    if not quoted and not set(collection_words()["clause_words"]).isdisjoint(term.casefold().split()):
        return None  # the question goes on: "on the island did he live"
    return replace(read, mention=term) if kind == "mention" else replace(read, about=term)


def _computed(asked: str) -> CollectionQuestion | None:
    found = _COMPUTED.fullmatch(asked)
    if found is None:
        return None
    form: Form = "sum" if found["what"].casefold() in ("sum", "total") else "average"
    column = found["column"] or found["short"] or ""
    said = found["said"] or found["said2"]
    if not column or not (said or found["table"]):
        return None
    return CollectionQuestion(form, column=column.strip(), table=found["table"] or "", noun="table")


_OPENINGS: tuple[tuple[re.Pattern[str], Form], ...] = ((_COUNT, "count"), (_NEWEST, "newest"), (_LIST, "list"))
_TAKEN: tuple[tuple[re.Pattern[str], Callable[[CollectionQuestion, re.Match[str]], CollectionQuestion | None]], ...] = (
    (_PICKED, _picked),
    (_DATED, _of_date),
    (_MENTION, lambda read, found: _of_term(read, "mention", found["term"])),
    (_TAGGED, _tagged),
    (_ABOUT, lambda read, found: _of_term(read, "about", found["term"])),
)
