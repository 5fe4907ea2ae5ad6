"""Words and headings of a page → one text with sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atomr_local.indexing.readers.base import Cut, Section, SectionKind
from atomr_local.indexing.readers.known import known
from atomr_local.language.sentences import unspaced

# Sections that point elsewhere: which are left out whole, and what of others is said about the subject.
#
# A section of references or links says nothing itself. One of notes, sources or a bibliography may: remarks in
# sentences, and works of the page's subject. Those lines are kept; citations and lists of links are not.

_NAMES: dict[str, list[str]] = known("wikipedia/wiki_names.toml")
_LEFT_OUT, _NOTES, _WORKS = (frozenset(_NAMES[kind]) for kind in ("left_out", "notes", "works"))
_YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-9]{2}\b")
_NUMBERED = re.compile(
    r"\b(?:ISBN|ISSN|OCLC|JSTOR|LCCN|PMID|PMC|S2CID|Bibcode|ASIN)\b|\b(?:doi|arXiv)\s*:|\bhttps?://|\bdoi\.org", re.I
)
_PAGES = re.compile(r"\b(?:pp?|ss?|vol|bd|nr|no|с|стр|т|str|lk|sid)\s?\.\s?\d", re.I)
_NAME = r"[^\W\d_a-zа-я][^\W\d_]*"
# "Smith, John", "Smith, J. K.", "Smith 1999", "Smith & Doe 1999", "Иванов, И. И.".
_AUTHOR_FIRST = re.compile(
    rf"{_NAME}(?:[-’' ][^\W\d_]+)?,\s(?:[^\W\d_]\.|{_NAME}[^\W\d_])"
    rf"|{_NAME}(?:\s(?:&|and|et)\s(?:al\.|{_NAME}))?,?\s(?:1[0-9]|20)\d{{2}}"
)
# "…, Rome, 1977", "(Baltimore: Johns Hopkins University Press, 2009)".
_PUBLISHED = re.compile(r"[,:(]\s?[^,:()]{2,60}[,:]\s(?:1[0-9]|20)\d{2}\)?[;.,]?(?:\s|$)")
_AGAIN = re.compile(r"[\^↑]|ibid\b|op\. ?cit", re.I)
_SENTENCE_END = re.compile(r"[.!?。！？।؟][)\]\"'”’»]?$")
_LEAST_WORDS = 6  # of a remark
_LEAST_CHARACTERS = 15  # of one in a script without spaces
_IN_LOWER_CASE = 0.5  # of the words of a remark; titles and names have capitals
_LONGEST_WORK = 300  # characters


def is_left_out(titles: Sequence[str]) -> bool:
    """Whether the section with this path of headings holds nothing but references and links."""
    return any(title.casefold() in _LEFT_OUT for title in titles)


def without_citations(titles: Sequence[str], text: str) -> str:
    """What a section's text says itself: all of it, unless its path says that it is one of notes, sources or works.

    Args:
        titles: the headings that the text stands under, the outermost first.
    """
    named = {title.casefold() for title in titles}
    of_works = not named.isdisjoint(_WORKS)
    if not text or (not of_works and named.isdisjoint(_NOTES)):
        return text
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    # Where most are citations, the others are too, in another style.
    of_works = of_works and 2 * sum(map(_is_citation, filled)) < len(filled)
    kept = [line for line in lines if not line.strip() or _is_remark(line) or (of_works and _is_work(line))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _is_citation(line: str) -> bool:
    return bool(
        _NUMBERED.search(line)
        or _PUBLISHED.search(line)
        or _PAGES.search(line)
        or _AGAIN.match(line)
        or _AUTHOR_FIRST.match(line.lstrip("*#• "))
    )


def _is_work(line: str) -> bool:
    """Whether it names a work with its year."""
    return len(line) <= _LONGEST_WORK and _YEAR.search(line) is not None and not _is_citation(line)


def _is_remark(line: str) -> bool:
    """Whether it is a sentence or more, and no citation."""
    line = line.strip()
    if _SENTENCE_END.search(line) is None or _is_citation(line):
        return False
    if unspaced(line):
        return len(line) >= _LEAST_CHARACTERS
    words = [word for word in line.split() if any(map(str.isalpha, word))]
    cased = [word for word in words if word.lower() != word.upper()]
    lower = sum(word.strip("\"'“‘(").islower() for word in cased)
    return len(words) >= _LEAST_WORDS and lower >= _IN_LOWER_CASE * len(cased)


_MOST_IN_BLOCKS = 400_000  # characters of a page
_LONGEST_TITLE = 200
_PLURALS: dict[SectionKind, str] = {"table": "tables", "infobox": "infoboxes", "code": "blocks of code"}
# Text that :func:`tidied` leaves as it is.
_WORDS_ALONE = re.compile(r"[^\W_]++(?: [^\W_]++)*+")
_OTHER_SPACE = re.compile(r"[^\S\n ]")
_FIRST_LINE_OF_MARKS = re.compile(r"[^\w\n]+(?=\n|\Z)")
_Step = tuple[tuple[str, ...], re.Pattern[str], str]  # what is replaced, where one of these signs is in the text
_SPACES: _Step = (("  ",), re.compile(r" {2,}"), " ")
_OF_MARKUP: tuple[_Step, ...] = (
    (("''",), re.compile(r"'{2,}"), ""),
    (("__",), re.compile(r"__[^\W\d_a-z]{2,40}__"), ""),
)
# White space, and what a dropped template leaves behind, as in "( ; born 1912)", "()", "Paris , the".
_OF_SPACES: tuple[_Step, ...] = (
    _SPACES,
    ((" \n", "\n "), re.compile(r" ?\n ?"), "\n"),
    (("(",), re.compile(r"\((?:[ ,;:]|–|/(?=[ ,;:)]))+"), "("),
    ((" )", ",)", ";)", ":)"), re.compile(r"(?<=[\w/\]\"'”.])[ ,;:]+\)"), ")"),
    (("()",), re.compile(r" ?\(\)"), ""),
    (("[",), re.compile(r"(?<=\s)\[ ?\] ?"), ""),
    ((" ,", " ."), re.compile(r" (?=[,.](?:\s|$))"), ""),
    (("",), re.compile(r"([,;])(?<![,;][,;])(?<![,;] [,;])(?: ?[,;])+(?= |$)", re.M), r"\1"),
    ((",.", ";."), re.compile(r"(?<![,;])(?<![,;] )[,;](?: ?[,;])*+(?=\.(?:\s|$))"), ""),
)
_OF_LINES: tuple[_Step, ...] = (
    (("\n",), re.compile(r"\n[^\w\n]+(?=\n|\Z)"), "\n"),
    _SPACES,
    (("\n\n\n",), re.compile(r"\n{3,}"), "\n\n"),
)


@dataclass(frozen=True, slots=True)
class PlainText:
    """The text of a page.

    Attributes:
        sections: in order: those of the prose, and behind them tables and what else is no prose.
        lost: how much of such the limits left out, by its name in the plural ("table rows").
        cut: its passages, where they were made with it, as :class:`Article` has them.
    """

    text: str
    sections: tuple[Section, ...] = ()
    lost: Mapping[str, int] = field(default_factory=dict)
    cut: tuple[Cut, ...] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Block:
    """What stands in a section and is no prose: lines of a table, fields of an infobox, source code.

    Attributes:
        title: as a heading below the section's; a table's caption.
        name: what it is within its kind; its number on the page if it has none.
        verbatim: its text is not cleaned.
    """

    kind: SectionKind
    text: str
    title: str = ""
    name: str = ""
    verbatim: bool = False


Part = str | Heading | Block


def assembled(parts: Sequence[Part], cleaned: Callable[[str], str], lost: Mapping[str, int] | None = None) -> PlainText:
    """The text of `parts` in order, each section's words `cleaned`; sections without words are left out.

    Headings are kept beside the text only; what is nothing but references and links is dropped. Blocks
    stand behind all prose, so that this is the same with them and without.

    Args:
        lost: what limits left out before, as :class:`PlainText` has it.
    """
    pieces: list[tuple[str, Section | None]] = []
    path: list[Heading] = []
    words: list[str] = []
    blocks: list[tuple[str, Block]] = []
    for part in [*parts, None]:
        if isinstance(part, str):
            words.append(part)
            continue
        titles = [heading.title for heading in path]
        if isinstance(part, Block):
            if not is_left_out(titles):
                blocks.append((" > ".join(titles), part))
            continue
        prose = "" if is_left_out(titles) else without_citations(titles, cleaned("".join(words)))
        words = []
        if prose:
            pieces.append((prose, Section(0, " > ".join(titles)) if path else None))
        if part is not None:
            while path and path[-1].level >= part.level:
                path.pop()
            path.append(Heading(part.level, " ".join(cleaned(part.title).split())))
    left_out = Counter(lost or {})
    pieces += _of_blocks(blocks, cleaned, left_out)
    sections: list[Section] = []
    length = 0
    for text, section in pieces:
        if section is not None:
            sections.append(replace(section, start=length))
        length += len(text) + 2
    return PlainText("\n\n".join(text for text, _ in pieces), tuple(sections), dict(+left_out))


def _of_blocks(
    blocks: Sequence[tuple[str, Block]], cleaned: Callable[[str], str], lost: Counter[str]
) -> Iterator[tuple[str, Section]]:
    """The texts of the blocks, infoboxes first, with their sections; what the limit on all left out is noted."""
    numbers: Counter[str] = Counter()
    room = _MOST_IN_BLOCKS
    for path, block in sorted(blocks, key=lambda item: item[1].kind != "infobox"):
        numbers[block.kind] += 1
        text = block.text.strip("\n") if block.verbatim else cleaned(block.text)
        room -= len(text)
        if not text or room < 0:
            lost[_PLURALS[block.kind]] += bool(text)
            continue
        title = " ".join(cleaned(block.title).split())[:_LONGEST_TITLE] if block.title else ""
        heading = " > ".join(filter(None, (path, title)))
        yield text, Section(0, heading, block.kind, block.name or str(numbers[block.kind]))


def tidied(text: str) -> str:
    """White space, quotes of emphasis and what dropped elements leave behind put in order."""
    if _WORDS_ALONE.fullmatch(text):
        return text
    text = _OTHER_SPACE.sub(" ", _replaced(text.replace("\x00", ""), _OF_MARKUP))
    text = _replaced(text, _OF_SPACES)
    if of_marks := _FIRST_LINE_OF_MARKS.match(text):
        text = text[of_marks.end() :]
    return _replaced(text, _OF_LINES).strip()


def _replaced(text: str, steps: Sequence[_Step]) -> str:
    # Few texts hold much of this: to look for two characters is far quicker than to try a pattern at each place.
    for signs, pattern, shown in steps:
        if any(map(text.__contains__, signs)):
            text = pattern.sub(shown, text)
    return text


# Names with a meaning in wiki markup: disambiguations, files and categories, and the furniture of pages.

PAGE_FURNITURE = frozenset(_NAMES["furniture"])
_DISAMBIGUATION_CALL = re.compile(
    r"\{\{\s*(?:"
    + "|".join(re.escape(name).replace("\\ ", "[ _]") for name in _NAMES["disambiguation"])
    + r")\s*[|}]|__DISAMBIG__",
    re.I,
)
_DISAMBIGUATION_TITLE = re.compile(rf"\((?:{'|'.join(_NAMES['of_disambiguation'])})\)$", re.I)
_FILES_AND_CATEGORIES = frozenset({"-2", "6", "14"})
_ALWAYS = frozenset(_NAMES["files_and_categories"])


def is_disambiguation(title: str, wikitext: str) -> bool:
    """Whether the page only says which pages a name may mean."""
    return bool(_DISAMBIGUATION_TITLE.search(title) or _DISAMBIGUATION_CALL.search(wikitext))


def dropped_link_names(namespaces: Mapping[str, str]) -> frozenset[str]:
    """The names, casefolded, of the namespaces of media, files and categories; `namespaces` by key."""
    return _ALWAYS | {name for key, name in namespaces.items() if key in _FILES_AND_CATEGORIES}
