"""The compact notation of trees: read or refused, and what is read can be written and read again."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.tree.compact import parse_compact, split_compact, to_compact
from atomr_local.tree.errors import MAX_CHARACTERS, TreeError, is_hidden
from atomr_local.tree.nodes import Tree
from atomr_local.tree.paper import parse_paper, published, to_paper
from atomr_local.tree.validation import validate
from fuzz.properties import as_text, expect

INSTRUMENTED = ("atomr_local.tree",)
DICTIONARY = (
    b"0. ", b"1. ", b" 3. ", b"9999. ", b" = ", b"Search(", b"Relate(", b"Filter(", b"Direct(", b"Answer(", b"several", b"Compare(", b"Is(", b"among", b"[1]", b"[1, 2]",
    b'"', b'\\"', b"\\u0041", b"\\U0001f600", b"\\[", b"\\=", b"\\\\", b")", b", ", b"\n", b"\n ", b" + ", b"[", b"(",
    b'Filter(Relate([2], "a"), "b")', "\u2028".encode(), "\u200d".encode(), "\u0661".encode(), b"\xed\xa0\x80", b"\t",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield (
        b"0. Who is the father-in-law of Queen Hyojeong?\n1. Who is Queen Hyojeong's husband?\n"
        b' 3. Who is Queen Hyojeong? = Search("Queen Hyojeong")\n 4. Who is [3]\'s husband? = Relate([3], "husband")\n'
        b'2. Who is the father of [1]? = Relate([1], "father")'
    )
    yield b'1. Which of [2, 3] are tall? = Filter([2, 3], "over 2 m")\n2. a = Direct("b")\n3. [1] older than [2]?'
    yield (
        b'0. Which is older? = Answer(work, several)\n1. a = Relate("Hamlet (1948 film)", "date")\n'
        b'2. b = Relate("x", "date")\n3. c = Compare([1], [2], "earlier")\n4. d = Select([3], "1820", "earlier")\n'
        b'5. e = Difference([1], [2], "years")\n6. f = Top([1], "larger", "3")\n7. g = Each([3], [5])'
    )
    yield b'0. x = Search("Hamilton "Tony" James", "politician")'
    yield b'0. q\\=\\[\\u0041\n1. "capital in " = Relate("capital in " + [2], "x")\n2. d'


def check(data: bytes) -> None:
    text = as_text(data)
    parts = split_compact(text)
    expect(all(number >= 1 for number, _ in parts), "split lines are numbered from 1")
    for question in (None, "Which question?"):
        try:
            tree = parse_compact(text, question)
        except TreeError as error:
            expect(not any(map(is_hidden, str(error))), "messages are clean", str(error))
            continue
        use(tree)


def use(tree: Tree) -> None:
    """What must hold of every tree that a parser gives."""
    written = to_compact(tree, with_root=True)
    expect(not any(is_hidden(c) and c != "\n" for c in written), "what is written is clean", written)
    if len(written) <= MAX_CHARACTERS:  # hidden characters are written out, which can pass the bound of what is read
        expect(parse_compact(written) == tree, "compact round trip", written)
    for problem in validate(tree):
        expect(bool(problem.message), "problems are told")
    try:
        entries = to_paper(tree)
    except TreeError:
        return
    expect(parse_paper(entries) == published(tree), "published round trip", written)
