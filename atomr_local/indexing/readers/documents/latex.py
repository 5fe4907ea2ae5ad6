"""LaTeX: its blocks line by line, the words in them by pylatexenc; formulas stay as they are written."""

from __future__ import annotations

import logging
import re
from typing import Any, BinaryIO

from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db
from pylatexenc.latexwalker import LatexWalker, LatexWalkerError
from pylatexenc.latexwalker import get_default_latex_context_db as get_known
from pylatexenc.macrospec import MacroSpec

from atomr_local.indexing.readers.documents.document import Document, short_line, write_table
from atomr_local.indexing.readers.documents.light_markup import MARKUP, Line, Lines
from atomr_local.indexing.readers.documents.symbols import joined
from atomr_local.indexing.readers.documents.text_file import titled_by_heading
from atomr_local.indexing.readers.tables import Cell, cell_of_lines, markup_spans

logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # of damaged markup, each build would hear
_KNOWN = MARKUP["latex"]
_HEADINGS: list[str] = _KNOWN["headings"]
_LISTS = ("itemize", "enumerate", "description")
_VERBATIM = frozenset(_KNOWN["code"] + _KNOWN["formulas"] + _KNOWN["unseen"] + _KNOWN["tables"])
_COMMENT = re.compile(
    r"(\\(?:url|href|path)\s*\{[^{}\n]*\}|\\verb\*?([^a-zA-Z\s]).*?\2|\\.)|%.*"
)  # behind what is none
_TITLED = rf"\\({'|'.join((*_HEADINGS, 'title', 'author', 'date'))})\b\*?\s*(?:\[[^\]]*\])?\s*\{{"
_BLOCK = re.compile(rf"(?=\\(?:begin|end)\s*\{{|\\item\b|{_TITLED.replace('(', '(?:', 1)})")
_ENDS = re.compile(r"\\(begin|end)\s*\{([^{}]*)\}(.*)", re.S)
_TITLE = re.compile(_TITLED + r"((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}(.*)", re.S)
_LONGEST_TITLE = 5  # lines
_ITEM = re.compile(r"\\item\b\s*(?:\[([^\]]*)\])?(.*)", re.S)
_ARGUMENTS = re.compile(r"\A(?:\s*(?:\[[^\]]*\]|\{[^{}]*\}))+")
_MARK = re.compile(r"[\\{}$~`&]|--|''")
_LABEL = re.compile(r"\\(?:label|nonumber|notag)\b\s*(?:\{[^}]*\})?")
_RULE = re.compile(
    r"\\(?:[hc]line|(?:top|mid|bottom|cmid)rule|endhead|centering)(?![a-z])(?:\([a-z]*\))?(?:\{[^}]*\})?"
)
_MEANING = re.compile(r"(?m)^[ \t]*\\(?:(?:re)?newcommand\*?\s*\{?|def\s*)\\([a-zA-Z]+)\}?\s*\{(.{0,200})\}[ \t]*$")
_NAME = re.compile(r"\\([a-zA-Z]+)(?:\{\})?")
_LONGEST = 10_000  # characters in which names are replaced by what they stand for
_TIMES = 3  # that one of them may stand in another


def parse_latex(stream: BinaryIO) -> Document:
    """The text; comments, the preamble and drawings are left out."""
    return titled_by_heading(_Latex(stream).document())


def _without_comments(text: str) -> str:
    """The text; the percent signs of addresses, which are none, cannot be taken for them any more."""

    def kept(found: re.Match[str]) -> str:
        words = found[1] or ""
        return re.sub(r"(?<!\\)%", r"\%", words) if words.endswith("}") else words

    return _COMMENT.sub(kept, text)


class _Latex(Lines):
    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._words, self._known = _Words(latex_context=_said()), get_known()
        kinds = [(given, names.split()) for given, names in _KNOWN["silent"].items()] + [*_KNOWN["said"].items()]
        macros = [MacroSpec(name, given.strip()) for given, names in kinds for name in names]
        self._known.add_context_category("ours", macros=macros, prepend=True)
        source = _without_comments("\n".join(text for _, text in self._waiting))
        self._meanings = dict(_MEANING.findall(source))
        self._is_said = "\\begin{document}" not in source
        self._lists: list[tuple[int, str]] = []  # the number of the item that each is at, or -1, and its first letter

    def _line(self, number: int, text: str) -> None:
        text = _without_comments(text)
        first, *others = [piece for piece in _BLOCK.split(text) if piece.strip()] or [""]
        self._waiting += reversed([(number, piece) for piece in others])
        if found := _ENDS.match(first):
            self._close()
            (self._begin if found[1] == "begin" else self._end)(number, found[2], found[3])
        elif re.match(_TITLED, first):
            self._titled(number, first)
        elif found := _ITEM.match(first):
            self._close(number, f"{self._mark(found[1])}{found[2].lstrip()}")
        elif self._is_said and first:
            self._paragraph.append((number, first))

    def _begin(self, number: int, name: str, rest: str) -> None:
        lines = self._until(name, number, rest) if name in _VERBATIM else []
        if name == "document":
            self._is_said = True
        elif name in _KNOWN["code"]:
            self._coded(lines)
        elif name in _KNOWN["formulas"]:
            self._coded((at, self._meant(_LABEL.sub("", text))) for at, text in lines)
        elif name in _KNOWN["tables"]:
            self._table(lines)
        elif name in _LISTS:
            start, letter = (re.search(one, rest) for one in (r"start\s*=\s*(\d{1,9})", r"\\([aA])lph"))
            usual = "a" if any(count >= 0 for count, _ in self._lists) else ""
            count = int(start[1]) - 1 if start else 0
            self._lists.append((count if name == "enumerate" else -1, letter[1] if letter else usual))
        elif name not in _VERBATIM and rest.strip():
            self._waiting.append((number, _ARGUMENTS.sub("", rest, count=1) if name in _KNOWN["layout"] else rest))

    def _end(self, number: int, name: str, rest: str) -> None:
        if self._lists and name in _LISTS:
            self._lists.pop()
        self._is_said = self._is_said and name != "document"
        self._waiting.append((number, rest))

    def _until(self, name: str, number: int, rest: str) -> list[Line]:
        """The lines of an environment, without its arguments."""
        lines, text = [], _ARGUMENTS.sub("", rest, count=1)
        while True:
            inside, found, after = text.partition(f"\\end{{{name}}}")
            lines.append((number, inside))
            if found or not self._waiting:
                self._waiting.append((number, after))
                return lines
            number, text = self._waiting.pop()

    def _titled(self, number: int, text: str) -> None:
        """A heading, or what is said of the whole."""
        for _ in range(_LONGEST_TITLE):
            if _TITLE.match(text) or not self._waiting:
                break
            text += f" {self._waiting.pop()[1]}"
        name, title, rest = found.groups() if (found := _TITLE.match(text)) else ("", "", _NAME.sub("", text, count=1))
        if name == "title":
            self._writer.document.title = short_line(self._inline(title))
        elif name in _HEADINGS and self._is_said:
            self._headed(number, _HEADINGS.index(name) + 1, title)
        elif name not in {"", *_HEADINGS}:
            self._close(number, title)
        self._waiting.append((number, rest))

    def _mark(self, given: str | None) -> str:
        """What stands before the next item."""
        count, letter = self._lists.pop() if self._lists else (-1, "")
        is_counted = given is None and count >= 0
        self._lists.append((count + is_counted, letter))
        if not is_counted:
            return f"{given} " if given else ""
        return f"({chr(ord(letter) + count)}) " if letter and count < 26 else f"{count + 1}. "

    def _table(self, lines: list[Line]) -> None:
        rows: list[list[Cell]] = []
        places: list[int | str] = []
        ruled: set[int] = set()  # rows above lines
        row = ""
        for number, text in [*lines, (lines[-1][0], "\\\\")]:
            *ended, rest = re.split(r"\\\\(?:\s*\[[^\]]*\])?|\\tabularnewline\b", _without_comments(text))
            for part in ended:
                row += f" {part}"
                ruled |= {len(rows)} if _RULE.search(row) else set()
                cells = [self._cell(cell) for cell in re.split(r"(?<!\\)&", _RULE.sub("", row))]
                if any(cell.text for cell in cells):
                    rows.append(cells)
                    places.append(number)
                row = ""
            row += f" {rest}"
        if 1 in ruled and 2 not in ruled and len(rows) > 1:
            rows[0] = [Cell(cell.text, True, cell.rowspan, cell.colspan) for cell in rows[0]]
        if rows:
            write_table(self._writer, rows, places=places)

    def _cell(self, text: str) -> Cell:
        found = {what: re.search(rf"\\multi{what}\s*(?:\[\w*\])?\s*\{{(\d+)", text) for what in ("row", "column")}
        spans = {f"{what[:3]}span": one[1] for what, one in found.items() if one}
        return cell_of_lines(self._inline(text).strip(), False, *markup_spans(spans))

    def _meant(self, text: str) -> str:
        """The text with what the file says that names stand for."""
        for _ in range(_TIMES):
            if len(text) < _LONGEST:
                text = _NAME.sub(lambda found: self._meanings.get(found[1], found[0]), text)
        return text.replace("{,}", ",")

    def _inline(self, text: str) -> str:
        text = self._meant(text)
        if not _MARK.search(text):
            return text
        try:
            nodes = LatexWalker(text, latex_context=self._known, tolerant_parsing=True).get_latex_nodes()[0]
            text = self._words.nodelist_to_text(nodes)
        except (LatexWalkerError, RecursionError, LookupError, TypeError, ValueError, AttributeError):
            pass  # it stays as it is written
        return joined([re.sub(r"[ \t]+(?=[ \t\],])", "", text.replace("\xa0", " "))])


class _Words(LatexNodes2Text):  # type: ignore[misc]
    def math_node_to_text(self, node: Any) -> str:
        return re.sub(r"^(?:\$\$?|\\[\[(])\s*|\s*(?:\$\$?|\\[\])])$", "", node.latex_verbatim())

    def group_node_to_text(self, node: Any) -> str:
        """A blank between arguments of a macro that nobody knows."""
        follows = node.parsing_state.s.startswith("{", node.pos + node.len)
        return f"{super().group_node_to_text(node)}{' ' if follows else ''}"


def _said() -> Any:
    """What the words of macros are."""
    said = {name: "" for names in _KNOWN["silent"].values() for name in names.split()} | _KNOWN["symbols"]
    said |= {name: words or _citation for names in _KNOWN["said"].values() for name, words in names.items()}
    said["verb"] = lambda node: node.nodeargd.verbatim_text
    context = get_default_latex_context_db()
    macros = [MacroTextSpec(name, words) for name, words in said.items()]
    context.add_context_category("ours", macros=macros, prepend=True)
    context.set_unknown_macro_spec(MacroTextSpec("", discard=False))
    return context


def _citation(node: Any, l2tobj: LatexNodes2Text) -> str:
    given = [l2tobj.nodelist_to_text([one]) for one in reversed(node.nodeargd.argnlist) if one is not None]
    return f"[{', '.join(given)}]"
