"""Text from outside as it is shown: short lines, Markdown, SPARQL, places of evidence. All of it is sanitised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from atomr_local.language.properties import PROPERTY, property_table
from atomr_local.sources.document_places import made_elsewhere, place_words
from atomr_local.system.sanitize import sanitize, sanitize_line

_LONGEST = 300  # characters of a text in one line; a trace from elsewhere may hold a million
_ROWS_SHOWN = 20
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&:=$^\"'])")
_PARTS = re.compile(
    r"(?P<string>\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<iri><[^<>\"{}|^`\\\s]*>)"
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<variable>[?$]\w+)"
    r"|(?P<prefixed>[A-Za-z][\w-]*:[\w.%-]*[\w%-]|[A-Za-z][\w-]*:|:[\w-]+)"
    r"|(?P<word>[A-Za-z_]+)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<open>\{)|(?P<close>\})|(?P<end>\.)|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)
_STYLES = {"string": "green", "iri": "blue", "comment": "dim", "variable": "yellow", "prefixed": "cyan",
           "number": "magenta"}  # fmt: skip
_CLAUSES = {"SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "WHERE", "FROM", "ORDER", "GROUP", "HAVING", "LIMIT", "OFFSET",
            "PREFIX", "BASE", "VALUES"}  # fmt: skip
# What begins a pattern of its own inside braces, and so a line.
_PATTERNS = {"FILTER", "OPTIONAL", "BIND", "VALUES", "GRAPH", "MINUS", "SERVICE"}
_KEYWORDS = _CLAUSES | _PATTERNS | {"UNION", "BY", "AS", "ASC", "DESC", "DISTINCT", "REDUCED", "NOT", "EXISTS", "IN",
            "LANG", "STR", "DATATYPE", "COUNT", "SUM", "AVG", "MIN", "MAX", "NAMED", "SILENT"}  # fmt: skip


def short_line(text: str, longest: int = _LONGEST) -> str:
    """The text on one line of at most `longest` characters."""
    return sanitize_line(text[: 2 * longest])[:longest]


def coloured(text: str, style: str) -> Text:
    """The text in a named colour of the theme: Textual takes the style of a whole text for one of the web's colours."""
    return Text.assemble((text, style))


def plain(text: str) -> str:
    """The text on one line, sanitised, with every character that Markdown could read escaped."""
    return _MARKUP.sub(r"\\\1", sanitize_line(text))


def _parts(sparql: str) -> list[tuple[str, str]]:
    return [(match.lastgroup or "other", match.group()) for match in _PARTS.finditer(sanitize(sparql))]


def formatted(sparql: str) -> str:
    """The query laid out; nothing but white space is changed, and comments keep their line."""
    lines: list[str] = []
    line: list[str] = []
    depth = 0
    pending_space = False

    def end_line() -> None:
        if "".join(line).strip():
            lines.append("  " * depth + "".join(line).strip())
        line.clear()

    for kind, text in _parts(sparql):
        if kind == "space":
            pending_space = True
            continue
        upper = text.upper() if kind == "word" else ""
        starts = depth == 0 and upper in _CLAUSES and upper not in {"WHERE", "FROM"}
        if starts or (depth > 0 and upper in _PATTERNS):
            end_line()
        if kind == "close":
            end_line()
            depth = max(0, depth - 1)
            line.append("}")
            end_line()
        elif kind == "open":
            line.append(" {" if line and not line[-1].endswith(" ") else "{")
            end_line()
            depth += 1
        else:
            if pending_space and line:
                line.append(" ")
            line.append(text)
            if kind == "comment" or (kind == "end" and depth > 0):
                end_line()
        pending_space = False
    end_line()
    return "\n".join(lines)


def highlighted(sparql: str) -> Text:
    """The query laid out and coloured, sanitised."""
    text = Text()
    for kind, part in _parts(formatted(sparql)):
        style = _STYLES.get(kind, "")
        if kind == "word" and part.upper() in _KEYWORDS:
            style = "bold"
        text.append(part, style)
    return text


def place_text(locator: Mapping[str, Any]) -> Text:
    """The place in words, sanitised; empty for a graph query."""
    index = f"index {sanitize_line(str(locator['index']))}, " if locator.get("index") else ""
    if words := place_words(locator):
        elsewhere = " (the file is not on this machine)" if made_elsewhere(locator) else ""
        return Text(f"{index}{sanitize_line(words)}{elsewhere}", "dim")
    if "passage" in locator:
        place = f"passage {sanitize_line(str(locator['passage']))}"
        span = locator.get("span")
        if isinstance(span, list | tuple) and len(span) == 2:
            place += f", characters {sanitize_line(str(span[0]))}–{sanitize_line(str(span[1]))}"
        return Text(f"{index}{place}", "dim")
    if "url" in locator:
        return coloured(sanitize_line(f"{locator['url']}, retrieved {locator.get('retrieved_at', '')}"), "blue")
    return Text()


def rows_of(locator: Mapping[str, Any]) -> RenderableType | None:
    """The rows of a graph query as a table; None if it has none."""
    names, rows = table_of(locator.get("rows", ()))
    return _table(names, rows) if rows else None


def table_of(rows: Iterable[object]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a locator's rows, in the order in which the names appear."""
    kept = [row for row in rows if isinstance(row, Mapping)]
    names = list(dict.fromkeys(str(name) for row in kept for name in row))
    return names, [[str(row.get(name, "")) for name in names] for row in kept]


def rows_text(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def same_rows(columns: Sequence[str], rows: Iterable[Sequence[str]], before: Iterable[object]) -> bool:
    """Whether the rows of a query are those of the locator, in any order and in the columns that both have."""
    names, old = table_of(before)
    both = [name for name in names if name in columns]
    places, old_places = [list(columns).index(name) for name in both], [names.index(name) for name in both]
    now = {tuple(row[place] for place in places) for row in rows}
    return bool(both) and now == {tuple(row[place] for place in old_places) for row in old}


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    table = Table(show_edge=False, pad_edge=False)
    for name in names:
        table.add_column(Text(sanitize_line(name)), overflow="fold")
    for row in rows[:_ROWS_SHOWN]:
        table.add_row(*(Text(sanitize_line(value)) for value in row))
    if len(rows) > _ROWS_SHOWN:
        return Group(table, Text(f"… and {len(rows) - _ROWS_SHOWN} more rows", "dim"))
    return table


# A graph query as a person would say it, such as "father of Alexandre Dumas fils".

_LONGEST_QUERY = 120
_PREPOSITION = re.compile(r"\b(?:as|at|by|for|from|in|into|of|on|over|through|to|with)$")
_ALL_OF_IT = re.compile(r"<[^<>\s]+> \?property \?value\b")
_RELATION = re.compile(r"<[^<>\s]+> \?relation <[^<>\s]+>")
_PROPERTY = re.compile(r"<http://www\.wikidata\.org/prop/(?:direct/|statement/)?(P\d+)>")


def query_in_words(locator: Mapping[str, Any], title: str, text: str) -> str:
    """What the query of a piece of evidence asked, on one line, sanitised; the sketch that it was made of if it was.

    Args:
        title: of the piece, the thing that was asked about.
        text: of the piece; its first sentence names the property as the index does.
    """
    sparql, name = str(locator.get("sparql", "")), sanitize_line(title)
    if sketch := sanitize_line(str(locator.get("sketch", ""))[:2_000]):
        said = sketch
    elif _ALL_OF_IT.search(sparql):
        said = f"everything about {name}"
    elif _RELATION.search(sparql):
        said = f"how {name} is related to another"
    elif label := _label_before(name, sanitize_line(text)):
        said = _of(label, name)
    elif label := _label_after(name, sanitize_line(text)):
        said = f"what has {name} as its {label}"
    else:
        labels = list(dict.fromkeys(property_labels(sparql).values()))
        said = _of(", ".join(labels), name) if labels else f"a query about {name}"
    return said if len(said) <= _LONGEST_QUERY else f"{said[: _LONGEST_QUERY - 1]}…"


def _of(label: str, name: str) -> str:
    """ "father of Emma", but "Emma: shares border with", which has its own preposition."""
    return f"{name}: {label}" if _PREPOSITION.search(label) else f"{label} of {name}"


def property_labels(sparql: str) -> dict[str, str]:
    """The labels of the query's properties, by P-number, as far as the program knows them."""
    known = property_table().by_iri
    found = ((number, known.get(PROPERTY + number)) for number in dict.fromkeys(_PROPERTY.findall(sparql)))
    return {number: item.label for number, item in found if item is not None}


def _label_before(name: str, text: str) -> str:
    """The property in "name — property: value."; "" if the text does not begin like that."""
    start, _, rest = text.partition(" — ")
    label, colon, _ = rest.partition(": ")
    return label if start == name and colon else ""


def _label_after(name: str, text: str) -> str:
    """The property in "value — property: name."; "" if the text is not like that."""
    if not text.endswith((f": {name}.", "more")) or " — " not in text:
        return ""
    label, colon, rest = text.partition(" — ")[2].partition(": ")
    return label if colon and rest.startswith(name) else ""
