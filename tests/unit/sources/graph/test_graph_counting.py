from __future__ import annotations

from pathlib import Path

import pytest
from support.graph_world import Asker, open_world

from atomr_local.sources.graph.relate.values import counted
from atomr_local.sources.protocol import Value, ValueKind

FILMS = """
Ann Lens | instance of | human
Big Sea | director | Ann Lens
Big Sea | instance of | silent short film
Small Sea | director | Ann Lens
Small Sea | instance of | film
Long Sea | director | Ann Lens
Long Sea | instance of | television series
Dry Sea | director | Ann Lens
"""


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many films did Ann Lens direct?", "3"),
        ("How many short films were directed by Ann Lens?", "3"),
        ("What is the number of films directed by Ann Lens?", "3"),
        ("How many television series did Ann Lens direct?", "2"),
        ("How many works did Ann Lens direct?", "4"),
        ("How many operas did Ann Lens direct?", "1"),
        ("How many film prizes did Ann Lens win?", "4"),
    ],
)
def test_only_the_kind_that_is_asked_for_is_counted(tmp_path: Path, question: str, number: str) -> None:
    source = open_world(tmp_path, FILMS)
    assert Asker(source).relate("Ann Lens", "films directed", question) == [number]
    source.close()


TYPES = {
    "a": ["novel"], "b": ["play"], "c": ["literary work"], "d": [], "e": ["film"], "f": ["film", "literary work"],
    "g": ["album"], "h": ["television series episode"], "i": ["video game"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "kept", "kind"),
    [
        ("How many books did she write?", "abcdf", "book"),
        ("How many plays did she write?", "bcdf", "play"),
        ("How many songs has she written?", "cdf", "song"),
        ("How many series is she in?", "cdfh", "series"),
        ("How many games are by her?", "cdfi", "game"),
        ("How many children did she have?", "abcdefghi", ""),
        ("Which books did she write?", "abcdefghi", ""),
        ("", "abcdefghi", ""),
    ],
)
def test_what_is_left_out_is_surely_something_else(question: str, kept: str, kind: str) -> None:
    values = [Value(name, ValueKind.ENTITY, name) for name in TYPES]
    found = counted(values, question, TYPES.__getitem__)
    assert ("".join(value.text for value in found[0]), found[1]) == (kept, kind)


def test_where_nothing_is_of_the_kind_all_are_counted() -> None:
    values = [Value(name, ValueKind.ENTITY, name) for name in "eg"]
    assert counted(values, "How many paintings did she make?", TYPES.__getitem__) == (values, "")
