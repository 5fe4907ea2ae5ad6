"""Front matter of notes, and the marks of programs for notes: what of them is kept."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from pathlib import PurePosixPath
from typing import Any

from atomr_local.indexing.readers.documents.document import Document, names_of, short_line
from atomr_local.indexing.readers.known import known

_LINK = re.compile(r"\[\[([^\[\]|\n]*)(?:\|[^\[\]\n]*)?\]\]")
_YAML = re.compile(r"---[ \t]*\n(?:(.*?)\n)??(?:---|\.\.\.)[ \t]*(?:\n|$)", re.S)
_TOML = re.compile(r"\+\+\+[ \t]*\n(?:(.*?)\n)??\+\+\+[ \t]*(?:\n|$)", re.S)
_AFTER_JSON = re.compile(r"[ \t]*(?:\n|$)")
_MOST_FRONT = 64 << 10
# A field with the indented lines and items of lists that belong to it.
_ENTRY = re.compile(r"(?m)^(?=[^\s#\-:][^:\n]*:(?:\s|$))")
# A value on a line that YAML may take for something else than a text: (what stands before it, value).
_UNQUOTED = re.compile(
    r"""(?m)^([ \t]*(?:-[ \t]+)*(?:[^\s:\-"'\[{#][^:\n]*:[ \t]+)?)(?!["'|>{#]|[^\n]*:[ \t]*$)(\S[^\n]*?)[ \t]*$"""
)
_MISREAD = re.compile(r"\[\[|[-+.]?\d[\w.:+]*$")
TAGS = frozenset({"tags", "tag"})
NO_FIELDS = TAGS | {"title", "aliases", "alias", "description", "taxonomies"}
# Fields of front matter that are kept for facts; they are stored with every passage.
_MOST_FIELDS = 40
_LONGEST_FIELD = 120
_MOST_VALUES = 10
_MOST_TAGS = 50


def take_front_matter(document: Document, text: str) -> int:
    """Title, aliases, tags and the like of a note, put into the document.

    Returns:
        The offset at which the text begins, behind the front matter; 0 if there is none.
    """
    fields: dict[str, Any] = {}
    if (front := _YAML.match(text)) and len(front[0]) <= _MOST_FRONT:
        source = front[1] or ""
        if not _ENTRY.search(source) and any(not line.startswith("#") for line in source.split("\n") if line.strip()):
            return 0  # it is text between two lines
        fields, end = _of_yaml(document, source), front.end()
    elif (front := _TOML.match(text)) and len(front[0]) <= _MOST_FRONT:
        end = front.end()
        try:
            fields = tomllib.loads(front[1] or "")
        except (ValueError, RecursionError):
            document.notes.append("its front matter is no TOML")
    elif re.match(r'\{\s*"', text):
        try:
            found, end = json.JSONDecoder().raw_decode(text[:_MOST_FRONT])
        except (ValueError, RecursionError):
            return 0
        if not (after := _AFTER_JSON.match(text, end)):
            return 0
        fields, end = found, after.end()
    else:
        return 0
    take_fields(document, fields)
    return end


def _of_yaml(document: Document, source: str) -> dict[str, Any]:
    """The fields; where it is no YAML as a whole, those that are."""
    try:
        return _loaded(source)
    except ValueError:
        fields: dict[str, Any] = {}
    lost = False
    for entry in _ENTRY.split(source):
        for attempt in (entry, _UNQUOTED.sub(_quoted, entry)):
            try:
                fields |= _loaded(attempt)
                break
            except ValueError:
                continue
        else:
            lost = True
    if lost:
        document.notes.append("its front matter is no YAML" if not fields else "a field of its front matter is no YAML")
    return fields


def _loaded(source: str) -> dict[str, Any]:
    """Raises ValueError where it is no YAML."""
    import yaml

    # To YAML, an unquoted link to a note is a list in a list, 18:30 and 01234 are other numbers, and 1.50 is 1.5.
    source = _UNQUOTED.sub(
        lambda found: _quoted(found) if found[1].strip() and _MISREAD.match(found[2]) else found[0], source
    )
    try:
        found = yaml.safe_load(source)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError from error
    return found if isinstance(found, dict) else {}


def _quoted(found: re.Match[str]) -> str:
    """A value in quotation marks, and several links as a list; what opens another list stays."""
    value = found[2]
    if value.startswith("[") and not value.startswith("[["):
        return found[0]
    return f"{found[1]}{json.dumps(_linked(value), ensure_ascii=False)}"


def _linked(value: str) -> str | list[str]:
    """The names of several links, where a value is nothing else."""
    links = _LINK.findall(value)
    return links if len(links) > 1 and not _LINK.sub("", value).strip(", []") else value


def take_fields(document: Document, found: dict[str, Any]) -> None:
    """Take the fields of front matter, or of the head of a note: title, aliases, tags and the like, and others."""
    fields = {str(key).casefold(): value for key, value in list(found.items())[:100] if isinstance(key, str)}
    if isinstance(within := fields.get("taxonomies"), dict):  # of Zola
        fields = {**within, **fields}
    titles = _names(fields.get("title", ""))
    document.title = titles[0] if titles else document.title
    aliases = fields.get("aliases", fields.get("alias", []))
    document.aliases += _names(_listed(aliases))
    for label in sorted(TAGS & fields.keys()):
        add_tags(document, fields[label])
    for name in ("author", "date", "description"):
        value = fields.get(name)
        text = value.isoformat() if isinstance(value, date) else ", ".join(_names(value or []))
        if text:
            document.details[name] = text
    for label, value in fields.items():
        if label not in NO_FIELDS:
            add_field(document, label, value)


def add_tags(document: Document, value: Any) -> None:
    """Add tags: a list, or a text with commas or blanks between them; what is there already is not added again."""
    if isinstance(value, str) and not set(",#[") & set(value.strip().lstrip("#")):
        value = value.split()
    kept = [tag for tag in document.details.get("tags", "").split(", ") if tag]
    added = [name.strip("# ").replace(",", " ") for name in _names(_listed(value))]
    if tags := list(dict.fromkeys(tag for tag in (*kept, *added) if tag))[:_MOST_TAGS]:
        document.details["tags"] = ", ".join(tags)


def _listed(value: Any) -> Any:
    """A text with commas, or of links, as a list."""
    value = _linked(value) if isinstance(value, str) else value
    return re.split(r",|\s+(?=#)", value) if isinstance(value, str) else value


def add_field(document: Document, label: str, value: Any) -> None:
    """Keep a field, if its label and its values are short, and there are not too many.

    Its values are texts, numbers and dates; what is nested, or says yes or no, is left out.
    """
    value = _linked(value) if isinstance(value, str) else value
    items = (value if isinstance(value, list) else [value])[:_MOST_VALUES]
    dated = [item.isoformat() if isinstance(item, date) else item for item in items if not isinstance(item, bool)]
    kept = [name for name in _names(dated) if len(name) <= _LONGEST_FIELD]
    if kept and len(label) <= _LONGEST_FIELD // 2 and len(document.fields) < _MOST_FIELDS:
        document.fields.setdefault(label, kept)


def _names(value: Any) -> list[str]:
    """As of :func:`names_of`, links without their brackets: the name of the note."""
    return [_LINK.sub(lambda link: link[1].partition("#")[0] or link[1], name) for name in names_of(value)]


# Marks of programs for notes in Markdown: those of Obsidian with Dataview, of Logseq, Roam and Bear.

_PICTURES = frozenset({".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".avif", ".tif", ".tiff"})
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MARK = re.compile(known("documents/markup.toml")["notes"]["marks"], re.M | re.X)
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
