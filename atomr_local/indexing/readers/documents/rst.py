"""reStructuredText, by docutils: its tree as text; nothing in a file is run, included or fetched."""

from __future__ import annotations

import re
from typing import Any, BinaryIO

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives
from docutils.parsers.rst.states import Inliner
from docutils.utils import Reporter, new_document, unescape

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer, short_line, write_table
from atomr_local.indexing.readers.documents.symbols import joined, mark_of
from atomr_local.indexing.readers.documents.text_file import paragraphs_of, read_text, titled_by_heading
from atomr_local.indexing.readers.known import known
from atomr_local.indexing.readers.tables import Cell, Names, cell_of_lines, markup_spans

_KNOWN = known("documents/markup.toml")["rst"]
_HEADER = re.compile(r"(?:[A-Z][\w-]{1,30}: +\S.*\n(?:[ \t]+\S.*\n)*){2}")  # of proposals, as of mail
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|\n]+\| +)?([\w.:+-]+?) ?::(?=\s)")
_OPTION = re.compile(r"(?m)^:([\w -]+):(?:[ \n]+(.*(?:\n[ \t]+.*)*)|$)")
_TARGET = re.compile(r"(?:(?<!\s)\s+|(?<=\S))<[^<>]+>$")
_MARK = re.compile(r"[*`|_]")
_MOST_MARKS = 1_000  # of a paragraph: docutils looks for the end of each
_MOST_NAMES = 500  # of directives, in a file
_LONGEST = 1_000  # characters of what a name stands for


def parse_rst(stream: BinaryIO) -> Document:
    """Text of directives and roles without their names; comments, targets and tables of contents are left out.

    What docutils fails over is read as paragraphs, with its markup.
    """
    source = read_text(stream)
    for name in list(dict.fromkeys(found[1].lower() for found in _DIRECTIVE.finditer(source)))[:_MOST_NAMES]:
        if name not in _KNOWN["ours"]:
            directives.register_directive(name, _Told)
    settings = get_default_settings(Parser)
    settings.report_level = settings.halt_level = Reporter.SEVERE_LEVEL + 1
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.line_length_limit = len(source) + 1
    inliner = Inliner()  # no class of ours: it takes its patterns from its own
    parse, inliner.interpreted = inliner.parse, _role
    inliner.parse = lambda text, *where: (
        ([nodes.Text(text)], []) if len(_MARK.findall(text)) > _MOST_MARKS else parse(text, *where)
    )
    tree = new_document("", settings)
    try:
        Parser(rfc2822=_HEADER.match(source) is not None, inliner=inliner).parse(source, tree)
        return titled_by_heading(_Tree(tree, source).document())
    except (MemoryError, UnreadableError):
        raise
    except Exception:  # whatever damaged markup leads to
        document = paragraphs_of(source)
        document.notes.append("its markup is damaged, or nested too deeply, and is kept")
        return document


def _role(source: str, text: str, name: str, _line: int) -> tuple[list[nodes.Node], list[Any]]:
    """A role that nobody has to know: it says its text."""
    told, name = unescape(text), name.lower().rpartition(":")[2]
    if name not in {"math", "code", "kbd", "samp"}:
        told = _TARGET.sub("", told).lstrip("~!")
    if name in {"pep", "rfc"} and told.isdecimal():
        told = f"{name.upper()} {told}"
    small = {"sub": nodes.subscript, "sup": nodes.superscript}.get(re.sub("(er)?script$", "", name), nodes.inline)
    return [small(source, told)], []


class _Told(Directive):  # type: ignore[misc]
    """Any directive: its arguments and its content are text, without its options."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.name.lower().rpartition(":")[2]
        if name in _KNOWN["unsaid"] or name.startswith("auto"):
            return []
        lines, begin = self.content, self.content_offset
        # Before the first blank line, if none comes before that: arguments, then options.
        head = next((i for i, line in enumerate(lines) if not line.strip()), len(lines)) if begin <= self.lineno else 0
        said = next((i for i in range(head) if _OPTION.match(lines[i])), head)
        options = dict(_OPTION.findall("\n".join(lines[said:head])))
        # A picture may stand for a name.
        told = [nodes.image("", alt=" ".join(options[key].split())) for key in ("caption", "alt") if key in options]
        for one in told:
            one.line = self.lineno
        first = int(name in _KNOWN["unnamed"] and begin < self.lineno)  # the line of the directive says no words
        if name in _KNOWN["code"]:
            code = [(at, line) for at, line in enumerate(lines) if first <= at < said or at >= head]
            block = nodes.literal_block("", "\n".join(line for _, line in code).strip("\n"))
            block.line = begin + 1 + next((at for at, line in code if line.strip()), 0)
            return [*told, block]
        if said > first and name in _KNOWN["versions"]:
            version, _, rest = lines[first].partition(" ")
            lines[first] = f"{_KNOWN['versions'][name]} {version}: {rest}".rstrip()
        if said > first:
            self.state.nested_parse(lines[first:said], begin + first)
        if not isinstance(self.state_machine.node, nodes.substitution_definition):
            self.state_machine.node += told
            told = []
        self.state.nested_parse(lines[head:], begin + head, match_titles=True)
        return told


class _Tree:
    """Writes what docutils made of a file."""

    def __init__(self, tree: nodes.document, source: str) -> None:
        self._writer, self._tree, self._source = Writer("line"), tree, source.split("\n")
        self._meanings: dict[str, str] = {}
        self._level = 0

    def document(self) -> Document:
        self._all(self._tree)
        return self._writer.done()

    def _all(self, node: nodes.Element, lead: str = "") -> None:
        """Write what is in a node; `lead` stands before its first words, which an end of line puts on their own."""
        for child in node.children:
            if not isinstance(child, nodes.Invisible | nodes.label | nodes.transition):
                self._write(child, child.tagname, lead)
                lead = ""

    def _write(self, node: nodes.Element, kind: str, lead: str) -> None:
        if node.line:
            self._writer.at(node.line)
        if kind == "section":
            self._level += 1
            self._all(node)
            self._level -= 1
        elif kind == "title" and self._level:
            self._writer.heading(self._level, self._words(node))
        elif kind == "enumerated_list":
            self._numbered(node)
        elif kind == "list_item":
            self._all(node, lead or "\n")
        elif kind in {"field", "definition_list_item", "option_list_item"}:
            self._defined(node, kind, lead)
        elif kind in {"footnote", "citation"}:
            auto = {1: f"#{''.join(node['names'])}", "*": "*"}.get(node.get("auto", 0))
            self._all(node, f"\n[{auto or node[0].astext()}] ")
        elif kind == "table":
            self._table(node)
        elif kind == "system_message":  # what was refused
            self._writer.at(node.get("line", 1))
            for block in node.findall(nodes.literal_block) if node["level"] >= Reporter.ERROR_LEVEL else ():
                self._write(block, "literal_block", "")
        elif isinstance(node, nodes.TextElement | nodes.image):
            self._text(node, kind, lead or "\n" * (kind == "line"))
        else:
            self._all(node, lead)

    def _text(self, node: nodes.Element, kind: str, lead: str) -> None:
        lines = (lead.lstrip("\n") + self._words(node)).split("\n")
        if kind in {"literal_block", "doctest_block", "math_block"}:
            for number, line in enumerate(lines, node.line or 0):
                if node.line:
                    self._writer.at(number)
                self._writer.line(line)
            return
        ends = [sum(len(line) + 1 for line in lines[:i]) for i in range(1, len(lines))]
        places = [*zip(ends, range((node.line or 0) + 1, (node.line or 0) + len(lines)), strict=True)]
        (self._writer.line if lead[:1] == "\n" else self._writer.paragraph)(
            " ".join(lines), places if node.line else ()
        )

    def _numbered(self, node: nodes.Element) -> None:
        """The items of a list with their numbers as they are written; those that are left to docutils are counted."""
        before, behind = node.get("prefix", ""), node.get("suffix", "")
        mark = re.compile(rf"\s*(?:[-*+|] +)*{re.escape(before)}(\w{{1,6}}){re.escape(behind)}(?=\s|$)")
        for number, item in enumerate(node.children, node.get("start", 1)):
            written = mark.match(self._source[item.line - 1]) if item.line else None
            self._write(item, "list_item", f"\n{before}{written[1] if written else number}{behind} ")

    def _defined(self, node: nodes.Element, kind: str, lead: str) -> None:
        *terms, said = node.children
        if kind == "definition_list_item":
            self._writer.paragraph(lead + " : ".join(map(self._words, terms)))
            self._all(said, "\n")
            return
        if kind == "field":
            name = f"{self._words(terms[0])}:"
        else:
            name = ", ".join("".join(part.astext() for part in option) for option in terms[0])
        self._all(said, f"\n{name} ") if said.children else self._writer.line(name)
        if not self._level and name == "Title:" and not self._writer.document.title:
            self._writer.document.title = short_line(said.astext())

    def _table(self, node: nodes.Element) -> None:
        rows, places = [], []
        for row in node.findall(nodes.row):
            rows.append([self._cell(entry, isinstance(row.parent, nodes.thead)) for entry in row])
            # The lines of values between commas are counted anew.
            places.append(max(next((one.line for one in row.findall(nodes.paragraph) if one.line), 0), node.line or 0))
        caption = "".join(self._words(title) for title in node.children if isinstance(title, nodes.title))
        names = Names.EXPECTED if any(cell.header for cell in rows[0]) else Names.UNLIKELY
        write_table(self._writer, rows, places=places if all(places) else (), names=names, caption=caption)

    def _cell(self, entry: nodes.Element, in_head: bool) -> Cell:
        outside, self._writer = self._writer, Writer()
        self._all(entry)
        inside, self._writer = self._writer.done(), outside
        spans = {"rowspan": str(entry.get("morerows", 0) + 1), "colspan": str(entry.get("morecols", 0) + 1)}
        return cell_of_lines(inside.text, in_head or bool(entry.get("stub")), *markup_spans(spans))

    def _words(self, node: nodes.Element) -> str:
        return joined(self._pieces(node))

    def _pieces(self, node: nodes.Node) -> list[str]:
        if isinstance(node, nodes.Text):
            return [node.astext()]
        if isinstance(node, nodes.footnote_reference | nodes.citation_reference):
            return [node.rawsource.rstrip("_")]
        if isinstance(node, nodes.substitution_reference):
            return [self._meant(node)]
        pieces = [piece for child in node.children for piece in self._pieces(child)]
        mark = mark_of(node.tagname) if node.tagname in {"subscript", "superscript"} else node.get("alt", "")
        return [mark, *pieces]

    def _meant(self, node: nodes.Element) -> str:
        """What a name between bars stands for; the name, if for nothing."""
        known, name = self._tree.substitution_defs, node["refname"]
        name = name if name in known else self._tree.substitution_names.get(name.lower(), name)
        if name not in self._meanings:
            self._meanings[name] = f"|{node.astext()}|"  # in what it stands for itself
            if name in known:
                self._meanings[name] = self._words(known[name])[:_LONGEST]
        return self._meanings[name]
