"""A field of two texts on one line, such as a page and a question about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from atomr_local.backbone.gbnf import literal
from atomr_local.reasoning.asking.fields import Field, Line
from atomr_local.sanitize import sanitize_line

BAR = " | "


@dataclass(frozen=True)
class Pair:
    """Two texts with a bar between them: "Hamlet | Who wrote it?". The first one holds no bar.

    Attributes:
        otherwise: stands for the second where none was written without the grammar; "" refuses that.
    """

    label: str
    first: Field
    second: Line
    otherwise: str = ""

    @property
    def most_tokens(self) -> int:
        return self.first.most_tokens + 2 + self.second.most_tokens

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def add_rule(self, rules: dict[str, str], name: str) -> None:
        self.first.add_rule(rules, f"{name}-first")
        self.second.add_rule(rules, f"{name}-second")
        rules[name] = f"{name}-first {literal(BAR)} {name}-second"

    def accepts(self, text: str) -> bool:
        first, second = halves(text)
        return self.first.accepts(first) and self.second.accepts(second)

    def read(self, raw: str) -> str | None:
        first, _, second = sanitize_line(raw).partition(BAR.strip())
        read = self.first.read(first), self.second.read(second) or self.otherwise
        return f"{read[0]}{BAR}{read[1]}" if read[0] and read[1] else None

    def refusal(self, raw: str) -> str:
        first = sanitize_line(raw).partition(BAR.strip())[0].strip()
        return self.first.refusal(first) if self.first.read(first) is None else "nothing stands behind the bar"


def halves(text: str) -> tuple[str, str]:
    """The two texts of a pair; the second is empty where there is no bar."""
    first, _, second = text.partition(BAR)
    return first, second
