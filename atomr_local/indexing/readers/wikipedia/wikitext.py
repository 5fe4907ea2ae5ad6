"""Wikitext → plain text with sections, over the tokens of mwparserfromhell.

The tokens are walked directly: building the library's tree of nodes takes ten times as long as tokenising. References,
tables, pictures, categories and templates are dropped, but for a few templates that stand for words of the sentence.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection
from importlib import import_module
from typing import Any

from mwparserfromhell import parser
from mwparserfromhell.definitions import is_single

from atomr_local.indexing.readers.wikipedia.markup_names import KEPT, kept_text
from atomr_local.indexing.readers.wikipedia.plain_text import Heading, PlainText, assembled, tidied

# Their whole content goes, not only the tag.
_DROPPED_TAG = re.compile(
    r"ref|references|table|gallery|math|chem|ce|timeline|imagemap|score|hiero|graph|mapframe|maplink|templatedata"
    r"|includeonly|style|script|syntaxhighlight|source|inputbox|section|categorytree|indicator"
)
_BLOCK_TAG = re.compile(r"br|p|div|blockquote|center|[uod]l|li|d[dt]|hr|poem|pre|h[1-6]")
_LANGUAGE_LINK = re.compile(r"[a-z]{2,3}(-[a-z-]+)?:\S")
_LEFTOVER_LINE = re.compile(r"^[ \t]*(?:\||\{\{|\}\}|\{\|).*$", re.M)
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
_CLOSES = {"}}": "{{", "]]": "[[", "|}": "{|", "-->": "<!--", ">": "<", "/>": "<", "]": "["}
# The tokeniser reads on from every opening that is never closed: this many characters in all take some seconds.
_MAX_WORK = 50_000_000
_SAFE_LENGTH = 20_000


def plain_text(wikitext: str, dropped_links: Collection[str] = ()) -> PlainText:
    """The page's prose.

    Args:
        dropped_links: names of the namespaces, casefolded, whose links show no text (files and categories).

    Raises:
        ValueError: the markup is broken beyond reading; the message says how.
    """
    _must_be_bounded(wikitext)
    walker = _Walker(_tokenise(wikitext), dropped_links)
    walker.run()
    return assembled(walker.parts, _cleaned)


def _tokenise(wikitext: str) -> list[Any]:
    # The tokeniser in C is thirty times as fast; its twin in Python gives the same tokens.
    in_c = parser.CTokenizer  # type: ignore[attr-defined]
    tokenizer: Any = in_c or import_module("mwparserfromhell.parser.tokenizer").Tokenizer
    return list(tokenizer().tokenize(wikitext, 0, True))


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


class _Walker:
    """Tokens are well nested: whoever reads an opening reads on to its end."""

    def __init__(self, tokens: list[Any], dropped_links: Collection[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._dropped_links = dropped_links
        self.parts: list[str | Heading] = []

    def run(self) -> None:
        self._until(self.parts)

    def _until(self, out: list[Any], *stops: str) -> str:
        """Render into `out` up to one of `stops`, which is consumed; its name, or "" at the end."""
        tokens, count = self._tokens, len(self._tokens)
        while self._at < count:
            token = tokens[self._at]
            self._at += 1
            name = type(token).__name__
            if name == "Text":
                out.append(token["text"])
            elif name in stops:
                return name
            elif name in _SKIPPED:
                self._skip(name, _SKIPPED[name])
            elif (handler := _HANDLERS.get(name)) is not None:
                handler(self, token, out)
        return ""

    def _rendered(self, *stops: str) -> tuple[str, str]:
        out: list[Any] = []
        stop = self._until(out, *stops)
        return "".join(part for part in out if isinstance(part, str)), stop

    def _skip(self, opening: str, *closings: str) -> None:
        """Over the rest of an element whose opening was read, those of its kind inside included."""
        depth = 1
        while depth and self._at < len(self._tokens):
            name = type(self._tokens[self._at]).__name__
            self._at += 1
            if name == opening:
                depth += 1
            elif name in closings:
                depth -= 1

    def _template(self, _token: Any, out: list[Any]) -> None:
        following = self._tokens[self._at] if self._at < len(self._tokens) else {}
        name = str(following.get("text", "")).strip().replace("_", " ").casefold()
        if not (name in KEPT or name.startswith(("lang-", "formatnum:"))):
            self._skip("TemplateOpen", "TemplateClose")
            return
        positional: list[str] = []
        text, stop = self._rendered("TemplateParamSeparator", "TemplateClose")
        while stop == "TemplateParamSeparator":
            text, stop = self._rendered("TemplateParamSeparator", "TemplateParamEquals", "TemplateClose")
            if stop == "TemplateParamEquals":
                key = text.strip()
                text, stop = self._rendered("TemplateParamSeparator", "TemplateClose")
                if not (key.isdecimal() or key in {"text", "quote"}):
                    continue
            positional.append(text.strip())
        out.append(kept_text(name, positional))

    def _wikilink(self, _token: Any, out: list[Any]) -> None:
        title, stop = self._rendered("WikilinkSeparator", "WikilinkClose")
        prefix = title.partition(":")[0].strip().replace("_", " ").casefold() if ":" in title else ""
        if prefix and prefix in self._dropped_links:
            if stop == "WikilinkSeparator":
                self._skip("WikilinkOpen", "WikilinkClose")
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
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            name = type(token).__name__
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
        name, selfclosed = self._tag_head()
        if _DROPPED_TAG.fullmatch(name):
            if not selfclosed:
                self._skip("TagOpenOpen", "TagCloseClose", "TagCloseSelfclose")
        elif markup == ":":
            last = out[-1] if out else None
            out.append(": " if isinstance(last, str) and last.strip() and not last.endswith("\n") else "")
        elif not markup and _BLOCK_TAG.fullmatch(name):
            out.append("\n")

    def _tag_head(self) -> tuple[str, bool]:
        """The tag's name and whether it has no content, read past its attributes."""
        name, nested = "", 0
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            kind = type(token).__name__
            if kind == "Text" and not name:
                name = token["text"].strip().lower()
            elif kind == "TagOpenOpen":
                nested += 1
            elif kind in {"TagCloseClose", "TagCloseSelfclose"} and nested:
                nested -= 1
            elif kind in {"TagCloseOpen", "TagCloseSelfclose"} and not nested:
                return name, kind == "TagCloseSelfclose"
        return name, True

    def _tag_end(self, _token: Any, out: list[Any]) -> None:
        name, _ = self._rendered("TagCloseClose")
        if _BLOCK_TAG.fullmatch(name.strip().lower()):
            out.append("\n")


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
    return tidied(_LEFTOVER.sub(" ", _LEFTOVER_LINE.sub("", text)))
