"""reStructuredText: its common constructs are put as Markdown, which is then read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, Writer, is_rule
from atomr_local.indexing.readers.documents.text_file import read_bytes, titled_by_heading, write_markdown
from atomr_local.indexing.readers.lines import decoded

_Numbered = tuple[int, str]  # a line with its number
_Row = tuple[int, list[str]]  # the cells of a row, with the number of its line

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*")
_EXPLICIT = re.compile(r"(?:\.\.|__)(?:\s+\[(?P<note>[^\]\s]+)\]|\s+(?P<name>[\w:+.-]+?)::)?(?:\s+(?P<rest>.*)|$)")
_FIELD = re.compile(r":([\w -]+):(?:\s+(.*)|$)")
_HEADER = re.compile(r"[A-Z][\w-]{1,30}: +(\S.*)")  # of proposals, as of mail
_GRID = re.compile(r"\s*\+(?:[-=]+\+)+\s*")
_COLUMNS = re.compile(r"=+(?: +=+)+\s*")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)]|#\.)\s")
_CODE = frozenset({"code", "code-block", "sourcecode", "parsed-literal", "prompt", "doctest", "productionlist"})
_UNSAID = frozenset({"toctree", "include", "contents", "raw", "meta", "index", "highlight", "role", "literalinclude"})
_INLINE = re.compile(
    r"(?::[\w:+.-]{1,60}:)?`(?P<said>[^`]*?)(?:(?:\s+|(?<=`))<(?P<target>[^`<>]+)>)?`(?::[\w:+.-]{1,60}:)?_{0,2}"
    r"|(?P<note>\[[#*]?\w*\])_|(?<![\w`.])(?P<word>[^\W_](?:[\w.-]*[^\W_])?)__?(?=[\s.,;:!?)]|$)"
)
_CODE_SPAN = re.compile(r"(``.+?``)")
_ROLE_END = re.compile(r"[^`]{0,200}`(?!`)(?::[\w:+.-]{1,60}:)?_{0,2}[.,;:!?)]*")
_FENCE = "~~~~~~~~"


def parse_rst(stream: BinaryIO) -> Document:
    """Text of directives and roles without their names; comments, targets and tables of contents are left out."""
    source = list(enumerate(decoded(read_bytes(stream)).expandtabs(8).split("\n"), 1))
    lines = list(_Markdown(source).lines())
    writer = Writer("line")
    titles = (text for _, text in takewhile(lambda line: _HEADER.match(line[1]), source) if text.startswith("Title:"))
    writer.document.title = next(titles, "").partition(":")[2].strip()[:300]
    write_markdown(writer, "\n".join(text for _, text in lines), [*(number for number, _ in lines), len(source)])
    return titled_by_heading(writer.done())


class _Markdown:
    def __init__(self, source: list[_Numbered]) -> None:
        self._waiting = list(reversed(source))
        self._levels: list[tuple[str, bool]] = []
        self._in_list = False

    def lines(self) -> Iterator[_Numbered]:
        constructs = (self._table, self._heading, self._explicit, self._text)
        while self._waiting:
            number, text = self._waiting.pop()
            if text.strip():
                yield from next(lines for one in constructs if (lines := one(number, text)) is not None)
            else:
                yield number, ""

    def _peek(self, lines: int = 1) -> str:
        return self._waiting[-lines][1].rstrip() if len(self._waiting) >= lines else ""

    def _indented(self, least: int) -> list[_Numbered]:
        """The block that follows, without its indentation, which is `least` or more."""
        block: list[_Numbered] = []
        while self._waiting and (not self._peek() or _indent(self._peek()) >= least):
            block.append(self._waiting.pop())
        while block and not block[-1][1].strip():
            self._waiting.append(block.pop())
        cut = min((_indent(text) for _, text in block if text.strip()), default=0)
        return [(number, text[cut:]) for number, text in block]

    def _heading(self, number: int, text: str) -> Iterable[_Numbered] | None:
        mark = _ADORNMENT.fullmatch(text)
        over = mark is not None and self._peek() != "" and self._peek(2) == text.rstrip()
        if mark and not over:
            return [(number, "")]  # a line between parts
        under = mark or _ADORNMENT.fullmatch(self._peek())
        if under is None or (not over and (_indent(text) or len(under[0].rstrip()) < min(4, len(text)))):
            return None
        at, title = self._waiting.pop() if over else (number, text)
        self._waiting.pop()
        if (kind := (under[1], over)) not in self._levels:
            self._levels.append(kind)
        return [(number, ""), (at, f"{'#' * min(6, self._levels.index(kind) + 1)} {_inline(title.strip())}")]

    def _explicit(self, number: int, text: str) -> Iterable[_Numbered] | None:
        """A directive, a footnote, a target or a comment; the text in it is put back, to be read as what follows."""
        if not (found := _EXPLICIT.match(text)):
            return None
        content = self._indented(1)
        name = (found["name"] or "").rpartition(":")[2]
        said = found["rest"] or ""
        if found["note"]:
            said = f"[{found['note']}] {said}"
        else:
            options = {}
            while content and (option := _FIELD.match(content[0][1])):
                options[option[1]] = option[2] or ""
                content.pop(0)
            if name in {"image", "figure"}:
                said = options.get("alt", "")
            if name in _CODE:
                return _fenced(content)
            if not name or name in _UNSAID or name.startswith("auto"):
                return [(number, "")]
        self._waiting += reversed([(number, said), *content, (number, "")])
        return [(number, "")]

    def _table(self, number: int, text: str) -> Iterable[_Numbered] | None:
        if _GRID.fullmatch(text):
            return _table(*self._grid())
        return _table(*self._simple(text)) if _COLUMNS.fullmatch(text) else None

    def _simple(self, border: str) -> tuple[list[_Row], bool]:
        """The rows of a table whose columns are told by lines of "=", and whether the first is its head."""
        starts = [found.start() for found in re.finditer("=+", border)]
        rows: list[_Row] = []
        head = 0
        while self._waiting:
            number, text = self._waiting.pop()
            if _COLUMNS.fullmatch(text):
                if not self._peek():
                    break
                head = len(rows)
            elif text.strip() and not is_rule(text):
                cells = [text[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
                _add(rows, number, cells, fresh=bool(cells[0]) or len(rows) == head)
        return rows, head == 1

    def _grid(self) -> tuple[list[_Row], bool]:
        """The rows of a drawn table, and whether the first is its head."""
        rows: list[_Row] = []
        fresh, head = True, False
        while self._peek().lstrip()[:1] in {"+", "|"}:
            number, text = self._waiting.pop()
            if _GRID.fullmatch(text):
                fresh, head = True, head or ("=" in text and len(rows) == 1)
            else:
                _add(rows, number, [cell.strip() for cell in text.strip().strip("|").split("|")], fresh=fresh)
                fresh = False
        return rows, head

    def _text(self, number: int, text: str) -> Iterable[_Numbered]:
        """A line of a paragraph, a list or a field; behind "::", code follows."""
        indent = _indent(text)
        text = self._whole_role(text)
        if text.lstrip().startswith(">>>"):
            session = [(number, text)]
            while self._peek():
                session.append(self._waiting.pop())
            return _fenced(session)
        self._in_list = _LIST_ITEM.match(text) is not None or (self._in_list and indent > 0)
        told = re.sub(r"^#\.", "1.", text.strip())
        is_literal = told.endswith("::")
        if is_literal:
            told = told[:-1].removesuffix(":") if told == "::" else told[:-1]
        if field := _FIELD.match(told):
            told = f"{field[1]}: {field[2] or ''}"
        ends_line = field is not None or told.startswith("| ") or _HEADER.match(told) is not None
        told = _inline(told.removeprefix("| ")) + "  " * ends_line
        line = (number, f"{' ' * indent if self._in_list else ''}{told}")
        return [line, (number, ""), *_fenced(self._indented(indent + 1))] if is_literal else [line]

    def _whole_role(self, text: str) -> str:
        """The line, with the rest of a role or reference that ends on the next one."""
        if _CODE_SPAN.sub("", text).count("`") % 2 and (end := _ROLE_END.match(self._peek())):
            at, following = self._waiting.pop()
            if rest := following[end.end() :].strip():
                self._waiting.append((at, following[: _indent(following)] + rest))
            return f"{text.rstrip()} {end[0].lstrip()}"
        return text


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _inline(text: str) -> str:
    """A line without the marks of roles, references and footnotes; what Markdown would take for a tag is escaped."""

    def words(found: re.Match[str]) -> str:
        return found["note"] or found["word"] or found["said"] or found["target"] or found[0]

    return "".join(
        part if part.startswith("``") else _INLINE.sub(words, part).replace("<", r"\<")
        for part in _CODE_SPAN.split(text)
    )


def _fenced(lines: Sequence[_Numbered]) -> list[_Numbered]:
    lines = list(dropwhile(lambda line: not line[1].strip(), lines))
    if not lines:
        return []
    last = lines[-1][0]
    return [(lines[0][0], _FENCE), *lines, (last, _FENCE), (last, "")]


def _add(rows: list[_Row], number: int, cells: list[str], *, fresh: bool) -> None:
    """Add a row, or what the cells of the last one have on another line."""
    if fresh or len(cells) != len(rows[-1][1]):
        rows.append((number, cells))
    else:
        rows[-1] = (rows[-1][0], [f"{before} {cell}" for before, cell in zip(rows[-1][1], cells, strict=True)])


def _table(rows: list[_Row], head: bool) -> Iterator[_Numbered]:
    """Rows as a table of Markdown; one without a head has an empty one."""
    width = max((len(cells) for _, cells in rows), default=0)
    if not head and rows:
        rows.insert(0, (rows[0][0], []))
    for i, (number, cells) in enumerate(rows):
        told = [_inline(" ".join(cell.split())).replace("|", r"\|") for cell in cells]
        yield number, f"| {' | '.join([*told, *[''] * (width - len(told))])} |"
        if i == 0:
            yield number, "|---" * width + "|"
    if rows:
        yield rows[-1][0], ""
