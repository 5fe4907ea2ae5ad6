"""Words and headings of a page → one text with sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atomr_local.indexing.readers.base import Section

# Sections that point elsewhere and say nothing themselves; the second line is the Simple English Wikipedia's.
_LINK_SECTIONS = frozenset(
    {"references", "external links", "see also", "further reading", "notes", "footnotes", "citations", "sources"}
    | {"notes and references", "other websites", "related pages", "more reading", "other reading", "other pages"}
)
# In this order: each works on what the ones before leave, runs of spaces of at most one among it.
_SMALL = [
    (re.compile(r"'{2,}"), ""),
    (re.compile(r"__[^\W\d_a-z]{2,40}__"), ""),
    (re.compile(r"[^\S\n]+"), " "),
    (re.compile(r" ?\n ?"), "\n"),
    # What a dropped template leaves behind: "( ; born 1912)", "()", "Paris , the".
    (re.compile(r"\((?:[ ,;:/]|–)+"), "("),
    (re.compile(r"(?<=\w)[ ,;:]+\)"), ")"),
    (re.compile(r" ?\( *\)"), ""),
    (re.compile(r" (?=[,.](?:\s|$))"), ""),
    (re.compile(r"^[^\w\n]+$", re.M), ""),
    (re.compile(r" {2,}"), " "),
    (re.compile(r"\n{3,}"), "\n\n"),
]


@dataclass(frozen=True, slots=True)
class PlainText:
    text: str
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    title: str


def assembled(parts: Sequence[str | Heading], cleaned: Callable[[str], str]) -> PlainText:
    """The text of `parts` in order, each section's words `cleaned`; sections without words are left out.

    Headings are kept beside the text only; sections that hold nothing but references and links are dropped.
    """
    pieces: list[str] = []
    sections: list[Section] = []
    path: list[Heading] = []
    words: list[str] = []
    length = 0
    for part in [*parts, None]:
        if isinstance(part, str):
            words.append(part)
            continue
        prose = cleaned("".join(words))
        words = []
        if prose and not any(heading.title.casefold() in _LINK_SECTIONS for heading in path):
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
    return PlainText("".join(pieces), tuple(sections))


def tidied(text: str) -> str:
    """White space, quotes of emphasis and what dropped elements leave behind put in order."""
    text = text.replace("\x00", "")
    for pattern, replacement in _SMALL:
        text = pattern.sub(replacement, text)
    return text.strip()
