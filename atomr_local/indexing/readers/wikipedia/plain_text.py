"""Words and headings of a page → one text with sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from atomr_local.indexing.readers.base import Cut, Section, SectionKind
from atomr_local.indexing.readers.wikipedia.link_sections import is_left_out, without_citations

_MOST_IN_BLOCKS = 400_000  # characters of a page
_LONGEST_TITLE = 200
_PLURALS: dict[SectionKind, str] = {"table": "tables", "infobox": "infoboxes", "code": "blocks of code"}
# Text that :func:`tidied` leaves as it is.
_WORDS_ALONE = re.compile(r"[^\W_]++(?: [^\W_]++)*+")
_QUOTES = re.compile(r"'{2,}")
_SWITCH = re.compile(r"__[^\W\d_a-z]{2,40}__")
_OTHER_SPACE = re.compile(r"[^\S\n ]")
_SPACES = re.compile(r" {2,}")
_SPACED_BREAK = re.compile(r" ?\n ?")
_AFTER_PARENTHESIS = re.compile(r"\((?:[ ,;:]|–|/(?=[ ,;:)]))+")
_BEFORE_PARENTHESIS = re.compile(r"(?<=[\w/\]\"'”.])[ ,;:]+\)")
_EMPTY_PARENTHESES = re.compile(r" ?\(\)")
_EMPTY_BRACKETS = re.compile(r"(?<=\s)\[ ?\] ?")
_SPACE_BEFORE_MARK = re.compile(r" (?=[,.](?:\s|$))")
_MARKS = re.compile(r"([,;])(?<![,;][,;])(?<![,;] [,;])(?: ?[,;])+(?= |$)", re.M)
_MARKS_BEFORE_STOP = re.compile(r"(?<![,;])(?<![,;] )[,;](?: ?[,;])*+(?=\.(?:\s|$))")
_FIRST_LINE_OF_MARKS = re.compile(r"[^\w\n]+(?=\n|\Z)")
_LINE_OF_MARKS = re.compile(r"\n[^\w\n]+(?=\n|\Z)")
_BREAKS = re.compile(r"\n{3,}")


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
    pieces: list[str] = []
    sections: list[Section] = []
    path: list[Heading] = []
    words: list[str] = []
    blocks: list[tuple[str, Block]] = []
    length = 0
    for part in [*parts, None]:
        if isinstance(part, str):
            words.append(part)
            continue
        if isinstance(part, Block):
            if not is_left_out([heading.title for heading in path]):
                blocks.append((" > ".join(heading.title for heading in path), part))
            continue
        titles = [heading.title for heading in path]
        prose = "" if is_left_out(titles) else without_citations(titles, cleaned("".join(words)))
        words = []
        if prose:
            if pieces:
                pieces.append("\n\n")
                length += 2
            if path or sections:
                sections.append(Section(length, " > ".join(heading.title for heading in path)))
            pieces.append(prose)
            length += len(prose)
        if part is not None:
            while path and path[-1].level >= part.level:
                path.pop()
            path.append(Heading(part.level, " ".join(cleaned(part.title).split())))
    return PlainText(*_with_blocks(pieces, sections, length, blocks, cleaned, Counter(lost or {})))


def _with_blocks(
    pieces: list[str],
    sections: list[Section],
    length: int,
    blocks: Sequence[tuple[str, Block]],
    cleaned: Callable[[str], str],
    lost: Counter[str],
) -> tuple[str, tuple[Section, ...], dict[str, int]]:
    """The text and its sections with the blocks behind them, infoboxes first; what the limit on all left out."""
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
        if pieces:
            pieces.append("\n\n")
            length += 2
        heading = " > ".join(filter(None, (path, title)))
        sections.append(Section(length, heading, block.kind, block.name or str(numbers[block.kind])))
        pieces.append(text)
        length += len(text)
    return "".join(pieces), tuple(sections), dict(+lost)


def tidied(text: str) -> str:
    """White space, quotes of emphasis and what dropped elements leave behind put in order."""
    if _WORDS_ALONE.fullmatch(text):
        return text
    text = text.replace("\x00", "")
    # Few texts hold much of this: to look for two characters is far quicker than to try a pattern at each place.
    if "''" in text:
        text = _QUOTES.sub("", text)
    if "__" in text:
        text = _SWITCH.sub("", text)
    text = _OTHER_SPACE.sub(" ", text)
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if " \n" in text or "\n " in text:
        text = _SPACED_BREAK.sub("\n", text)
    text = _without_remains(text)
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if "\n\n\n" in text:
        text = _BREAKS.sub("\n\n", text)
    return text.strip()


def _without_remains(text: str) -> str:
    """Without what a dropped template leaves behind, as in "( ; born 1912)", "()", "Paris , the".

    Args:
        text: with no white space but single spaces and line feeds.
    """
    if "(" in text:
        text = _AFTER_PARENTHESIS.sub("(", text)
    if " )" in text or ",)" in text or ";)" in text or ":)" in text:
        text = _BEFORE_PARENTHESIS.sub(")", text)
    if "()" in text:
        text = _EMPTY_PARENTHESES.sub("", text)
    if "[" in text:
        text = _EMPTY_BRACKETS.sub("", text)
    if " ," in text or " ." in text:
        text = _SPACE_BEFORE_MARK.sub("", text)
    text = _MARKS.sub(r"\1", text)
    if ",." in text or ";." in text:
        text = _MARKS_BEFORE_STOP.sub("", text)
    if of_marks := _FIRST_LINE_OF_MARKS.match(text):
        text = text[of_marks.end() :]
    return _LINE_OF_MARKS.sub("\n", text) if "\n" in text else text
