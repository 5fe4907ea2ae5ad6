"""Sections that point elsewhere: which are left out whole, and what of others is said about the subject.

A section of references or links says nothing itself. One of notes, sources or a bibliography may: remarks in sentences,
and works of the page's subject. Those lines are kept; citations and lists of links are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from atomr_local.language.scripts import unspaced

# The second line is the Simple English Wikipedia's.
_LEFT_OUT = frozenset(
    {"references", "external links", "see also", "further reading", "footnotes", "citations", "notes and references"}
    | {"other websites", "related pages", "more reading", "other reading", "other pages"}
    | {"einzelnachweise", "weblinks", "siehe auch", "literatur"}
    | {"références", "notes et références", "liens externes", "voir aussi", "articles connexes"}
    | {"referencias", "véase también", "enlaces externos", "referências", "ver também"}
    | {"ligações externas", "voci correlate", "altri progetti", "collegamenti esterni"}
    | {"externe links", "zie ook", "referenties", "przypisy", "zobacz też", "linki zewnętrzne"}
    | {"литература", "ссылки", "см. также", "посилання", "див. також", "література"}
    | {"външни препратки", "вижте също", "externa länkar", "referenser", "se även"}
    | {"外部链接", "外部連結", "参见", "參見", "関連項目", "外部リンク"}
    | {"같이 보기", "외부 링크", "참고 문헌", "مراجع", "وصلات خارجية", "انظر أيضًا"}
    | {"קישורים חיצוניים", "ראו גם", "kaynakça", "dış bağlantılar", "ayrıca bakınız", "tham khảo", "liên kết ngoài"}
)
_NOTES = frozenset(
    {"notes", "note", "explanatory notes", "sources", "anmerkungen", "quellen", "notas", "fuentes", "fontes", "fonti"}
    | {"bronnen", "noten", "uwagi", "źródła", "примечания", "примітки", "источники", "джерела", "бележки", "източници"}
    | {"källor", "noter", "kilder", "viitteet", "lähteet", "poznámky", "zdroje", "jegyzetek", "források", "notlar"}
    | {
        "ghi chú",
        "注释",
        "註釋",
        "脚注",
        "出典",
        "来源",
        "注解",
        "각주",
        "출처",
        "ملاحظات",
        "مصادر",
        "הערות שוליים",
        "הערות",
        "מקורות",
    }
)
_WORKS = frozenset(
    {"bibliography", "bibliographie", "bibliografía", "bibliografia", "bibliografie", "bibliografi", "библиография"}
    | {"бібліографія", "βιβλιογραφία", "bibliyografya", "参考文献", "參考文獻", "ببليوغرافيا", "ביבליוגרפיה"}
)
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
