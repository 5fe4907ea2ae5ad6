"""Wikitext → plain text with sections, over the tokens of mwparserfromhell.

The tokens are walked directly: building the library's tree of nodes takes ten times as long as tokenising. References,
pictures, categories and templates are dropped, but for a few templates that stand for words of the sentence. Formulas
stay as TeX. Infoboxes, tables and source code stand behind the prose.
"""

from __future__ import annotations

import html
import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from mwparserfromhell import parser
from mwparserfromhell.definitions import is_single

from atomr_local.indexing.readers.wikipedia.infobox import (
    COORDINATES_LABEL,
    LEAST_FIELDS,
    infobox_lines,
    kind_named,
    says_infobox,
)
from atomr_local.indexing.readers.wikipedia.plain_text import (
    PAGE_FURNITURE,
    Block,
    Heading,
    Part,
    PlainText,
    assembled,
    tidied,
)
from atomr_local.indexing.readers.wikipedia.table_rows import (
    Table,
    TokenReader,
    attributes_of,
    read_table,
    table_block,
)
from atomr_local.indexing.readers.wikipedia.templates import (
    COORDINATES,
    coordinates,
    is_kept,
    is_power,
    kept_text,
    raised,
    value_text,
)

# Their whole content goes, not only the tag.
_DROPPED_TAG = re.compile(
    r"ref|references|gallery|timeline|imagemap|score|hiero|graph|mapframe|maplink|templatedata"
    r"|includeonly|style|script|inputbox|section|categorytree|indicator"
)
_CODE_TAG = re.compile(r"syntaxhighlight|source")
_NOTE_MARK = re.compile(r"[a-z*†‡]|\[\w+\]")
_MOST_CODE = 20_000  # characters of a block
_MOST_BEFORE_BOX = 200  # characters of prose before a template that may be an infobox: a note on namesakes
_FORMULA_TAG = re.compile(r"math|chem|ce")
_BLOCK_TAG = re.compile(r"br|p|div|blockquote|center|[uod]l|li|d[dt]|hr|poem|pre|h[1-6]")
_LANGUAGE_LINK = re.compile(r"[a-z]{2,3}(-[a-z-]+)?:\S")
_LEFTOVER_LINE = re.compile(r"^[ \t]*(?:(?:\||\{\{|\}\}|\{\|).*|!.*(?:!!|\|).*)$", re.M)
# Markup that the tokeniser leaves as words because its other half is missing.
_LEFTOVER = re.compile(
    r"</?(?:t[dhr]|table|caption|div|span|font|center|small|big|[biups]|br|li|[uod]l|d[dt]|su[bp]|ref|nowiki)\b[^<>]*>"
    r"|\[\[|\]\]|\{\{|\}\}",
    re.I,
)
_DELIMITER = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|<!--|-->|</?([a-zA-Z]+)|/?>|\[(?:https?:)?//|\]")
# Tokens that open an argument or a comment, which show nothing → those that close it.
_SKIPPED = {"ArgumentOpen": "ArgumentClose", "CommentStart": "CommentEnd"}
_SINGLE = "<single"
# Where a line opens a table or closes one, or is a heading.
_TABLE_LINE = re.compile(
    r"^[ \t:;*#]*+(?P<opens>\{\|)(?!\})|^[ \t]*+(?P<closes>\|\})(?!\})|^(?P<heading>=)[^\n]*=[ \t]*$", re.M
)
_ROW_LINE = re.compile(r"^[ \t]*+(?:\|(?!\})|!)", re.M)
_BLANK_LINE = re.compile(r"\n[ \t]*+\n")
_MOST_CLOSED = 20  # tables; a page with more that never end is no page of a wiki
_OPENING_LINE = re.compile(r"^[ \t:;*#]*+\{\|", re.M)
_CLOSES = {"}}": "{{", "]]": "[[", "|}": "{|", "-->": "<!--", ">": "<", "/>": "<", "]": "["}
# The tokeniser reads on from every opening that is never closed: this many characters in all take some seconds.
_MAX_WORK = 50_000_000
_SAFE_LENGTH = 20_000


def plain_text(wikitext: str, dropped_links: Collection[str] = ()) -> PlainText:
    """The page's prose, and behind it its infoboxes, tables and source code.

    Args:
        dropped_links: names of the namespaces, casefolded, whose links show no text (files and categories).

    Raises:
        ValueError: the markup is broken beyond reading; the message says how.
    """
    wikitext = _with_closed_tables(wikitext)
    _must_be_bounded(wikitext)
    walker = _Walker(_tokenise(wikitext), dropped_links)
    walker.run()
    words = "".join(part if isinstance(part, str) else "\n" for part in walker.parts)
    if unread := len(_OPENING_LINE.findall(words)):  # broken beyond that: the tokeniser took them for words
        walker.lost["tables with broken markup"] += unread
    return assembled(walker.parts, _cleaned, walker.lost)


def _tokenise(wikitext: str) -> list[Any]:
    # The tokeniser in C is thirty times as fast; its twin in Python gives the same tokens.
    in_c = parser.CTokenizer  # type: ignore[attr-defined]
    tokenizer: Any = in_c or import_module("mwparserfromhell.parser.tokenizer").Tokenizer
    return list(tokenizer().tokenize(wikitext, 0, True))


def _with_closed_tables(wikitext: str) -> str:
    """The page with an end for each table that has none: after the paragraph of its last row, but before the next
    heading. The tokeniser takes the rows of a table that never ends for words."""
    opened: list[int] = []
    headings: list[int] = []
    for match in _TABLE_LINE.finditer(wikitext):
        if match.lastgroup == "opens":
            opened.append(match.start())
        elif match.lastgroup == "heading":
            headings.append(match.start())
        elif opened:
            opened.pop()
    if len(opened) > _MOST_CLOSED:
        return wikitext
    pieces: list[str] = []
    at = 0
    for place in sorted(_end_of_table(wikitext, begin, headings) for begin in opened):
        pieces += (wikitext[at:place], "\n|}\n")
        at = place
    return "".join([*pieces, wikitext[at:]]) if pieces else wikitext


def _end_of_table(wikitext: str, begin: int, headings: Sequence[int]) -> int:
    """Where a table ends that begins there and has no end. `headings`: where the page's headings are."""
    following = bisect(headings, begin)
    most = headings[following] if following < len(headings) else len(wikitext)
    last = begin
    for row in _ROW_LINE.finditer(wikitext, begin, most):
        last = row.start()
    blank = _BLANK_LINE.search(wikitext, last, most)
    return blank.start() if blank is not None else most


def _must_be_bounded(wikitext: str) -> None:
    """Refuse what would keep the tokeniser busy for minutes: thousands of openings that nothing closes."""
    if len(wikitext) <= _SAFE_LENGTH:
        return
    open_now: list[str] = []
    for match in _DELIMITER.finditer(wikitext):
        token, name = match.group(), match.group(1)
        if name:
            name = name.lower()
            if token[1] == "/":
                if open_now and open_now[-1] == f"<{name}":
                    open_now.pop()
            elif is_single(name):
                open_now.append(_SINGLE)
            else:
                open_now += (f"<{name}", "<")  # the second until the tag itself ends
        elif opening := _CLOSES.get(token):
            top = open_now[-1] if open_now else ""
            if top == opening or (top == _SINGLE and opening == "<"):
                open_now.pop()
                if token == "/>" and top != _SINGLE:  # noqa: S105
                    open_now.pop()
        else:
            open_now.append("[" if token.endswith("//") else token)
    if len(open_now) * len(wikitext) > _MAX_WORK:
        raise ValueError(f"{len(open_now)} markup elements are opened and never closed")


class _Walker(TokenReader):
    def __init__(self, tokens: list[Any], dropped_links: Collection[str]) -> None:
        super().__init__(tokens)
        self._dropped_links = dropped_links
        self._tables: list[Table] = []  # that are open, the innermost last
        self._boxes = 0  # infoboxes that are open, or what may be one
        self._looked_at = 0  # parts that tell whether the prose has begun
        self._before_box = _MOST_BEFORE_BOX
        self._places: list[str] = []  # coordinates of the page's subject
        self.parts: list[Part] = []
        self.lost: Counter[str] = Counter()

    def run(self) -> None:
        self._until(self.parts)
        lines = [f"{COORDINATES_LABEL}: {place}" for place in dict.fromkeys(self._places)][:1]
        boxes = [place for place, part in enumerate(self.parts) if isinstance(part, Block) and part.kind == "infobox"]
        if not lines:
            return
        if not boxes:
            self.parts.insert(0, Block("infobox", lines[0], name=COORDINATES_LABEL))
            return
        box = self.parts[boxes[0]]
        assert isinstance(box, Block)
        if f"\n{COORDINATES_LABEL}: " not in f"\n{box.text}":
            self.parts[boxes[0]] = replace(box, text=f"{box.text}\n{lines[0]}")

    def _following(self, otherwise: str = "") -> str:
        """The text of the next token; `otherwise` if it has none."""
        following = self.tokens[self.at] if self.at < len(self.tokens) else {}
        return str(following.get("text", otherwise))

    def _until(self, out: list[Any], *stops: str, closing: str = "") -> str:
        """Render into `out` up to one of `stops`, which is consumed; its name, or "" at the end.

        Args:
            closing: stop only before this name of a tag.
        """
        for name, token in self.rest():
            if name == "Text":
                out.append(token["text"])
            elif name in stops and (not closing or self._following().strip().lower() == closing):
                return name
            elif name in _SKIPPED:
                self.skip(name, _SKIPPED[name])
            elif (handler := _HANDLERS.get(name)) is not None:
                handler(self, token, out)
        return ""

    def _rendered(self, *stops: str) -> tuple[str, str]:
        out: list[Any] = []
        stop = self._until(out, *stops)
        return "".join(part for part in out if isinstance(part, str)), stop

    def element(self, name: str) -> str:
        """The rendered content of an element whose head was read, up to its end."""
        out: list[Any] = []
        if self._until(out, "TagOpenClose", closing=name):
            self._until([], "TagCloseClose")
        return "".join(part for part in out if isinstance(part, str))

    def other(self, token: Any) -> None:
        """Go past what the token opens."""
        if (handler := _HANDLERS.get(type(token).__name__)) is not None:
            handler(self, token, [])

    def _template(self, _token: Any, out: list[Any]) -> None:
        name = self._following().strip().replace("_", " ").casefold()
        kept = is_kept(name)
        in_value = bool(self._tables or self._boxes)
        named_so = not kept and says_infobox(name)
        if named_so or (out is self.parts and not kept and name not in COORDINATES and self._may_be_box()):
            self._infobox(name)
            return
        if not (kept or in_value or name in COORDINATES):
            self.skip("TemplateOpen", "TemplateClose")
            return
        positional, named = self._arguments()
        named = {key.casefold(): value for key, value in named.items()}
        if name in COORDINATES:
            self._coordinates(coordinates(positional, named), name, named, out)
            return
        # In a cell more is shown, and the unit of a value.
        shown = value_text(name, positional, named) if in_value else ""
        out.append(shown or (kept_text(name, positional, named) if kept else ""))

    def _may_be_box(self) -> bool:
        """Whether a template here begins a line above the page's prose."""
        if self._before_box < 0 or self._tables or self._boxes:
            return False
        for part in self.parts[self._looked_at :]:
            if isinstance(part, Heading):
                self._before_box = -1
            elif isinstance(part, str):
                self._before_box -= len(part.strip())
        self._looked_at = len(self.parts)
        if self._before_box < 0:
            return False
        before = next((part for part in reversed(self.parts) if isinstance(part, str) and part), "\n")
        return before.endswith("\n")

    def _infobox(self, name: str) -> None:
        """Read a template that is an infobox by its name, or may be one by its place and its fields."""
        place = len(self.parts)
        self._boxes += 1
        _, named = self._arguments()
        self._boxes -= 1
        lost: Counter[str] = Counter()
        lines = infobox_lines(named, lost)
        if not says_infobox(name) and len(lines) < LEAST_FIELDS:
            del self.parts[place:]
            return
        self.lost.update(lost)
        if lines:
            self.parts.insert(place, Block("infobox", "\n".join(lines), name=kind_named(name)))

    def _coordinates(self, shown: str, name: str, named: dict[str, str], out: list[Any]) -> None:
        """Coordinates in their sentence; those that the page shows beside its title are its subject's."""
        display = named.get("display", "inline").lower()
        in_text = "inline" in display or display in {"i", "it", "ti"}
        # On a line of its own it belongs to no sentence.
        before = next((part for part in reversed(out) if isinstance(part, str) and part), "\n")
        alone = out is self.parts and before.endswith("\n") and self._following("\n").startswith("\n")
        if shown and out is self.parts and (alone or not in_text or name == "coordinate"):
            self._places.append(shown)
        elif in_text or out is not self.parts:
            out.append(shown)

    def _arguments(self) -> tuple[list[str], dict[str, str]]:
        """The arguments of a template whose opening was read: without a name or with a number, and with one."""
        positional: list[str] = []
        named: dict[str, str] = {}
        _, stop = self._rendered("TemplateParamSeparator", "TemplateClose")
        while stop == "TemplateParamSeparator":
            text, stop = self._rendered("TemplateParamSeparator", "TemplateParamEquals", "TemplateClose")
            key = ""
            if stop == "TemplateParamEquals":
                key = text.strip()
                text, stop = self._rendered("TemplateParamSeparator", "TemplateClose")
            if key and not (key.isdecimal() or key in {"text", "quote"}):
                named[key] = text.strip()
            else:
                positional.append(text.strip())
        return positional, named

    def _wikilink(self, _token: Any, out: list[Any]) -> None:
        title, stop = self._rendered("WikilinkSeparator", "WikilinkClose")
        prefix = title.partition(":")[0].strip().replace("_", " ").casefold() if ":" in title else ""
        if prefix and prefix in self._dropped_links:
            if stop == "WikilinkSeparator":
                self.skip("WikilinkOpen", "WikilinkClose")
            return
        if stop == "WikilinkSeparator":
            shown, _ = self._rendered("WikilinkClose")
            out.append(shown)
        elif not _LANGUAGE_LINK.match(title):
            out.append(title.removeprefix(":"))

    def _external_link(self, token: Any, out: list[Any]) -> None:
        _, stop = self._rendered("ExternalLinkSeparator", "ExternalLinkClose")
        if stop == "ExternalLinkSeparator":
            shown, _ = self._rendered("ExternalLinkClose")
            out.append(shown)

    def _entity(self, _token: Any, out: list[Any]) -> None:
        spelled = ""
        for name, token in self.rest():
            if name == "HTMLEntityEnd":
                break
            spelled += {"HTMLEntityNumeric": "#", "HTMLEntityHex": "x"}.get(name) or str(token.get("text", ""))
        out.append(html.unescape(f"&{spelled};"))

    def _heading(self, token: Any, out: list[Any]) -> None:
        title, _ = self._rendered("HeadingEnd")
        # Only the page's own headings make sections; one within a link or a template is words.
        out.append(Heading(token["level"], title) if out is self.parts else title)

    def _tag(self, token: Any, out: list[Any]) -> None:
        markup = token.get("wiki_markup")
        begin = self.at
        name, selfclosed = self.tag_head()
        if name == "table":
            if not selfclosed:
                self._table(attributes_of(self.tokens[begin : self.at]))
        elif _DROPPED_TAG.fullmatch(name):
            if not selfclosed:
                self.skip_element()
        elif name == "sup" and not selfclosed:
            self._superscript(out)
        elif _CODE_TAG.fullmatch(name):
            if not selfclosed:
                self._code(attributes_of(self.tokens[begin : self.at]), out)
        elif _FORMULA_TAG.fullmatch(name) and not selfclosed:
            out.append(self._formula())
        elif markup == ":":
            last = out[-1] if out else None
            out.append(": " if isinstance(last, str) and last.strip() and not last.endswith("\n") else "")
        elif not markup and _BLOCK_TAG.fullmatch(name):
            out.append("\n")

    def _superscript(self, out: list[Any]) -> None:
        """Powers, raised as they are written: "10⁹", "km²"; in a cell, marks of notes are left out."""
        text = self.element("sup")
        before = next((part for part in reversed(out) if isinstance(part, str) and part), "")
        if is_power(text.strip()) and before[-1:].isalnum():
            text = raised(text.strip())
        elif (self._tables or self._boxes) and _NOTE_MARK.fullmatch(text.strip()):
            text = ""
        out.append(text)

    def _table(self, given: dict[str, str]) -> None:
        """Read the table whose head was read; a block of its own stands where it begins."""
        place = len(self.parts)
        if self._tables:
            self._tables[-1].nest()
        table = Table(given)
        if not PAGE_FURNITURE.isdisjoint(table.classes):
            self.skip_element()
            return
        self._tables.append(table)
        read_table(self, table, self._table)
        self._tables.pop()
        block = table_block(table, self.lost)
        self.lost.update(table.lost)
        if block is not None:
            self.parts.insert(place, block)  # before the tables within it

    def _code(self, given: dict[str, str], out: list[Any]) -> None:
        """Source code as it is written: within a line in its sentence, else as a block of its own."""
        code = self._verbatim()
        if "inline" in given or out is not self.parts:
            out.append(code)
            return
        if len(code) > _MOST_CODE:
            code = code[:_MOST_CODE].rpartition("\n")[0] or code[:_MOST_CODE]
            self.lost["ends of blocks of code"] += 1
        self.parts.append(Block("code", code, name=given.get("lang", ""), verbatim=True))

    def _verbatim(self) -> str:
        """The words of an element whose head was read, entities as they are written."""
        words: list[str] = []
        for kind, token in self.rest():
            if kind == "TagOpenClose":
                self._until([], "TagCloseClose")
                break
            words.append(_SPELLED.get(kind, "") or str(token.get("text") or token.get("char") or ""))
        return "".join(words)

    def _formula(self) -> str:
        """The TeX of a formula whose opening was read, on one line."""
        tex: list[str] = []
        depth = 1
        for name, token in self.rest():
            depth += (name == "TagOpenOpen") - (name in {"TagCloseClose", "TagCloseSelfclose"})
            if not depth:
                break
            if name == "Text" and depth == 1 and type(self.tokens[self.at - 2]).__name__ != "TagOpenClose":
                tex.append(token["text"])
        # Braces that stand apart mean the same in TeX and are no markup of the wiki.
        return " ".join("".join(tex).split()).replace("{{", "{ {").replace("}}", "} }")

    def _tag_end(self, _token: Any, out: list[Any]) -> None:
        name, _ = self._rendered("TagCloseClose")
        if _BLOCK_TAG.fullmatch(name.strip().lower()):
            out.append("\n")


# Tokens of an entity that hold no text → what they stand for.
_SPELLED = {"HTMLEntityStart": "&", "HTMLEntityNumeric": "#", "HTMLEntityEnd": ";"}
_HANDLERS = {
    "TemplateOpen": _Walker._template,
    "WikilinkOpen": _Walker._wikilink,
    "ExternalLinkOpen": _Walker._external_link,
    "HTMLEntityStart": _Walker._entity,
    "HeadingStart": _Walker._heading,
    "TagOpenOpen": _Walker._tag,
    "TagOpenClose": _Walker._tag_end,
}


def _cleaned(text: str) -> str:
    # A page with an unclosed template keeps its lines as words; they are none.
    if "|" in text or "{{" in text or "}}" in text or "!!" in text:
        text = _LEFTOVER_LINE.sub("", text)
    if "<" in text or "[[" in text or "]]" in text or "{{" in text or "}}" in text:
        text = _LEFTOVER.sub(" ", text)
    return tidied(text)
