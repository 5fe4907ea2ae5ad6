"""Marks of programs for notes in Markdown: those of Obsidian with Dataview, of Logseq, Roam and Bear."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from atomr_local.indexing.readers.documents.document import Document, short_line
from atomr_local.indexing.readers.documents.front_matter import NO_FIELDS, TAGS, add_field, add_tags, take_fields

_PICTURES = frozenset({".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".avif", ".tif", ".tiff"})
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# Properties in which Logseq keeps what it needs itself.
_OWN = (
    r"(?:id|collapsed|heading|background-color|filters|created[-_]at|updated[-_]at|template(?:-including-parent)?"
    r"|exclude-from-graph-view|file-path|(?:ls|hl|card|query|logseq)[-.][\w.-]+)"
)
# As Obsidian and Bear take it: a digit in the name of a colour, or digits alone, make no tag.
_TAG = (
    r"(?!(?:[fF]{3}|[fF]{6}|(?=[a-fA-F]{0,7}\d)[0-9a-fA-F]{3,8})(?![\w/-]))"
    r"(?=\d{0,20}(?:[^\W\d]|[/_\-\u2190-\U0001faff]))[\w/\-\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]{1,100}(?<!/)"
)
# One of Bear that has blanks ends with another sign.
_LONG_TAG = r"(?P<long>[\w/-]+(?:[ ][\w/-]+){1,4})(?<!\b[A-Z])\#(?![\w#])"
# Code comes first: what is in it is no mark.
_MARK = re.compile(
    rf"""(?P<code>
        ^[ \t>*+-]*(?P<fence>`{{3,}}|~{{3,}})[^\n]*\n(?s:.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)
        | (?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S]){{1,1000}}?(?<!`)(?P=ticks)(?!`))
    | %%(?s:.*?)%% | ^%%[ \t]*$(?s:.*) | <!--(?s:.*?)--> | ^[ ]{{0,3}}<!--(?s:.*)  # comments
    | ^[ \t]*:LOGBOOK:[ \t]*$(?s:.{{0,4000}}?)^[ \t]*:END:[ \t]*$
    | \#\+BEGIN_QUERY\b(?s:.{{0,4000}}?)\#\+END_QUERY | \#\+(?:BEGIN|END)_[A-Z]+\b[^\n]*$
    | \{{\{{(?:query|renderer|function|namespace|table|cards|youtube-timestamp)\b[^{{}}\n]*\}}\}}
    | (?<=\))\{{:(?:height|width)\b[^{{}}\n]*\}}
    | \{{\{{(?:embed|cloze|video|youtube|tweet|twitter)[ ](?P<macro>[^{{}}\n]*)\}}\}}
    | (?:(?<=\s)|^)\^(?=[\w-]*[a-zA-Z]|\w{{4}})[\w-]{{3,}}[ \t]*$  # the id of a block
    | (?<!\S)\#(?:\[\[(?P<phrase>[^\[\]\n]{{1,100}})\]\]|{_LONG_TAG}|(?P<tag>{_TAG}))
    | !?\[\[(?P<link>[^\[\]|\n]*?)(?:\\?\|(?P<alias>[^\[\]\n]*))?\]\]
    | (?<![\w=])==(?=[^\s=])(?P<light>[^\n=]{{1,500}}?)(?<=[^\s=])==(?![\w=]) | \^\^(?P<marked>[^\n^]{{1,500}})\^\^
    | ^(?P<quoted>[ \t]*(?:>[ \t]*)+)\[!(?P<callout>[\w-]+)(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<untitled>$)?
    | ^(?P<bare>[ \t]*(?:[-*+>][ \t]+)*){_OWN}::(?:[ \t][^\n]*)?$
    | ^(?P<before>[ \t]*(?:[-*+>][ \t]+)*)[*_]{{0,2}}(?P<key>\w[\w \t-]{{0,58}}?)(?<=\w)[*_]{{0,2}}::[ \t]+(?=\S)
    | [\[(](?P<name>\w[\w \t-]{{0,58}}?)(?<=\w)::[ \t]+(?P<value>(?:[^\n\[\]()]|\[\[[^\[\]\n]*\]\])+)[\])]
    | ^\[(?P<foot>\^[^\]\s]+\]:)(?=[ \t])""",
    re.M | re.X,
)
_SIZE = re.compile(r"\d+(?:x\d+)?")  # of a picture, where a link has its other name
_COMMENT = re.compile("%%|<!--")
_WHOLE = "\ue000"  # stands in a line that no other is joined to, while marks are taken out
# The properties of a page, which may stand in its first block.
_HEAD = re.compile(r"\s*(?:- )?(?:[ \t]*[\w.-]+::(?:[ \t][^\n]*)?(?:\n|\Z))+")
# The first line of a block with the id by which other blocks name it, and how they do.
_BLOCK = re.compile(
    rf"(?m)^[ \t]*[-*] (?P<words>[^\n]*)\n(?:[ \t]*[\w.-]+::[^\n]*\n)*?[ \t]*id:: (?P<id>{_UUID})[ \t]*$"
)
_NAMED = re.compile(
    rf"\[(?P<label>[^\[\]\n]{{1,300}})\]\((?:\(\({_UUID}\)\)|\[\[[^\[\]\n]*\]\])\)|\(\((?P<block>{_UUID})\)\)"
)
# The list below a heading of Logseq, which stands further in; Markdown would take it for code.
_FURTHER_IN = re.compile(
    r"(?m)^((?:#{1,6} |[\w.-]+::)[^\n]*\n)((?:[ \t]*\n)*\t(?:[-*+]|\d+\.) [^\n]*(?:\n(?:\t[^\n]*|[ \t]*(?=\n)))*)"
)


def without_note_marks(text: str, document: Document) -> str:
    """Links, embeds, highlights, callouts, tags and fields of notes as their words; comments and ids of blocks go.

    The lines keep their numbers. Tags and fields are put into the document too.
    """
    blocks = {
        found["id"]: short_line(_NAMED.sub(r"\g<label>", found["words"]).replace("`", "").lstrip("# "))
        for found in _BLOCK.finditer(text)
    }
    text = _NAMED.sub(lambda found: found["label"] or blocks.get(found["block"], ""), text)
    text = _FURTHER_IN.sub(lambda found: found[1] + re.sub(r"(?m)^\t", "", found[2]), text)
    head = _HEAD.match(text)
    head_end = head.end() if head else 0

    def field(found: re.Match[str]) -> str:
        end = text.find("\n", found.end())
        value = _COMMENT.split(text[found.end() : end if end >= 0 else len(text)])[0].strip()
        if found.start() < head_end:
            take_fields(document, {found["key"]: value})
        elif not found["before"] or not found["before"].isspace():  # else it is said of a block
            _take_field(document, found["key"], value)
        return f"{found['before']}{_WHOLE}{found['key']}: "

    def words(found: re.Match[str]) -> str:
        told = found["code"] or found["bare"] or "\n" * found[0].count("\n")
        if found["link"] is not None:
            told = _link_words(found["link"], (found["alias"] or "").strip())
        elif part := found["light"] or found["marked"] or found["macro"]:
            told = without_note_marks(part, document)
        elif tag := found["phrase"] or found["long"] or found["tag"]:
            if not text.endswith(("\t", "    "), 0, found.start()):  # as code is indented
                add_tags(document, [tag])
            told = f"#{tag}#" if found["long"] else f"#{tag}"
        elif found["callout"]:
            told = f"{found['quoted']}{_WHOLE}{found['callout'].capitalize() if found['untitled'] is not None else ''}"
        elif found["key"]:
            told = field(found)
        elif found["name"]:
            value = without_note_marks(found["value"], document).strip()
            _take_field(document, found["name"], value)
            told = f"{found['name']}: {value}"
        elif found["foot"]:  # which Markdown would take for the address of a link
            told = rf"\[{found['foot']}"
        return told

    # Two blanks at its end keep the next line apart.
    return re.sub(f"{_WHOLE}([^\n]*)", r"\1  ", _MARK.sub(words, text))


def _take_field(document: Document, key: str, value: str) -> None:
    if key.casefold() in TAGS:
        add_tags(document, value)
    elif key.casefold() not in NO_FIELDS:
        add_field(document, key.casefold(), value)


def _link_words(link: str, alias: str) -> str:
    """What a link to a note, or an embedded one, says: its other name, or the note and the heading."""
    if alias and not _SIZE.fullmatch(alias):
        return alias
    name, *headings = (part.strip() for part in link.split("#"))
    if PurePosixPath(name).suffix.casefold() in _PICTURES:
        headings = []
    return " > ".join(part for part in (name, *headings) if part and not part.startswith("^"))
