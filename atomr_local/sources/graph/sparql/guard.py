"""Refuses user queries that send network requests (SERVICE, LOAD) or write (updates).

Decided on SPARQL's own tokens (SPARQL 1.1, section 19.8), so that neither a string nor a comment can hide a keyword
or be mistaken for one.
"""

from __future__ import annotations

import re

from atomr_local.errors import QueryError

_REFUSED = {
    "SERVICE": "it would ask another server",
    "LOAD": "it would fetch a file and change the graph",
    **dict.fromkeys(
        ("INSERT", "DELETE", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD"), "it would change the graph"
    ),
}
# The parser and the evaluation go down some levels of their stack for each; 8 MiB hold at least ten times this.
MOST_NESTED = 200
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_CODEPOINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
  | (?P<string>'{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3} | "{3}(?:"{0,2}(?:[^"\\]|\\.))*"{3}
      | '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*")
  | (?P<iri><(?:[^<>"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
  | (?P<variable>[?$]\w+)
  | (?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<prefixed>(?:[^\W\d][\w.\-]*)?:(?:[\w.\-:]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])*)
  | (?P<word>[^\W\d]\w*)
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def checked_query(text: str) -> str:
    """The query as it may be run: line ends made uniform, which Oxigraph and we could otherwise see differently.

    Raises:
        QueryError: it holds an update, would leave this machine, or is nested too deeply.
    """
    query = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    # SPARQL lets \u escapes stand anywhere; whichever way the engine reads them, neither reading may be refused.
    for reading in (query, _CODEPOINT.sub(_decoded, query)):
        depth = 0
        for match in _TOKEN.finditer(reading):
            if (other := match["other"]) is not None:
                depth += (other in _OPENING) - (other in _CLOSING)
                if depth > MOST_NESTED:
                    raise QueryError(
                        f"groups and brackets are nested more than {MOST_NESTED} deep",
                        hint="Take out brackets that are not needed, or ask in several queries.",
                    )
            word = match["word"]
            if word is not None and word.upper() in _REFUSED:
                raise QueryError(
                    f"{word.upper()} is not allowed: {_REFUSED[word.upper()]}",
                    hint="Only SELECT, ASK, CONSTRUCT and DESCRIBE over the local graph can be run.",
                )
    return query


def _decoded(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
