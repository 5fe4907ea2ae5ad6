"""Formats and highlights SPARQL."""

from __future__ import annotations

import re

from rich.text import Text

from atomr_local.sanitize import sanitize

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
