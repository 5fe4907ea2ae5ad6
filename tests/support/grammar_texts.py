"""Which texts a GBNF grammar without recursion allows: the grammar as a regular expression of Python."""

from __future__ import annotations

import re

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+(?:,\d*)?\}|[()|?*+]|[a-zA-Z][\w-]*')


def allows(gbnf: str, text: str) -> bool:
    return re.fullmatch(_pattern(gbnf), text) is not None


def _pattern(gbnf: str) -> str:
    rules = dict(line.split(" ::= ", 1) for line in gbnf.splitlines())

    def expanded(name: str) -> str:
        parts = []
        for part in _PART.findall(rules[name]):
            if part[0] == '"':
                parts.append(f"(?:{re.escape(_unescaped(part[1:-1]))})")
            elif part[0] == "(":
                parts.append("(?:")
            elif part[0].isalpha():
                parts.append(f"(?:{expanded(part)})")
            else:
                parts.append(part)
        return "".join(parts)

    return expanded("root")


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if code[0] in "xuU" and len(code) > 1 else {"n": "\n", "r": "\r"}.get(code, code)

    return re.sub(r"\\(U[0-9A-F]{8}|u[0-9A-F]{4}|x[0-9A-F]{2}|.)", one, text)
