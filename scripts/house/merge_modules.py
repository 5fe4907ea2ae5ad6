#!/usr/bin/env python3
"""Merges modules of the package into one, and proves that no function changed.

    scripts/house/merge_modules.py PLAN            says what would come of it
    scripts/house/merge_modules.py PLAN --write    does it; format and sort the imports afterwards

A plan names each new module and the modules that it is made of, relative to `atomr_local`:

    # target: sources, in any order | docstring of the target
    reasoning.confidence: calibration signals words | How sure an answer is.
    rename strategies.cok.pairs _words _pair_words

Imports of the merged modules are rewritten in the package, the tests, the scripts, the plugins and the documentation.
Names that two sources bind are renamed in the later one. Every statement of the new module is compared with what it
was: the syntax trees must be equal but for imports of merged modules and renamed names, or nothing is written.
"""

from __future__ import annotations

import ast
import builtins
import re
import shutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from budget import PACKAGE, ROOT, modules

# Where modules of the package are named.
_CODE = (PACKAGE, "tests", "scripts", "plugins")
_TEXTS = (
    "pyproject.toml",
    "README.md",
    "DEVELOPERS.md",
    "CONTRIBUTING.md",
    "mkdocs.yml",
    ".ci/run",
    "docs",
    "scripts",
    "tests",
    "plugins",
    PACKAGE,
)
_VERBS = frozenset(
    [
        "add",
        "ask",
        "build",
        "by",
        "check",
        "close",
        "collect",
        "compile",
        "count",
        "draw",
        "find",
        "get",
        "give",
        "has",
        "is",
        "join",
        "keep",
        "list",
        "load",
        "make",
        "merge",
        "move",
        "open",
        "parse",
        "print",
        "put",
        "read",
        "remove",
        "run",
        "save",
        "say",
        "score",
        "send",
        "set",
        "show",
        "split",
        "start",
        "take",
        "tell",
        "try",
        "wait",
        "without",
        "write",
    ]
)
_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__package__", "__spec__"}

_WIDTH = 118

Position = tuple[int, int]


@dataclass
class Edit:
    """A piece of a file, from `start` to `end` (line, column in bytes), and what takes its place."""

    start: Position
    end: Position
    text: str


def applied(text: str, edits: list[Edit]) -> str:
    """The text with all edits made."""
    lines = text.encode().splitlines(keepends=True)
    for edit in sorted(edits, key=lambda item: item.start, reverse=True):
        (first, column), (last, end) = edit.start, edit.end
        head = lines[first - 1][:column]
        tail = lines[last - 1][end:]
        lines[first - 1 : last] = [head + edit.text.encode() + tail]
    return b"".join(lines).decode()


def of_node(node: ast.AST, text: str) -> Edit:
    return Edit((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text)  # type: ignore[attr-defined]


def is_type_block(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        and not node.orelse
    )


# Names and their scopes.


def _bound(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that these statements bind in their own scope."""
    names: set[str] = set()
    outer: set[str] = set()

    def target(node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            for item in node.decorator_list:
                target(item)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for inner in ast.walk(node):
                if isinstance(inner, ast.NamedExpr):
                    names.add(inner.target.id)
            return
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        for child in ast.iter_child_nodes(node):
            target(child)

    for node in nodes:
        target(node)
    return names - outer


class _Globals(ast.NodeVisitor):
    """All places where a module's global names are read or bound."""

    def __init__(self) -> None:
        self.places: dict[str, list[ast.AST]] = defaultdict(list)
        self._scopes: list[tuple[str, set[str]]] = []  # ("function" | "class", names)

    def _is_local(self, name: str) -> bool:
        for depth, (kind, names) in enumerate(reversed(self._scopes)):
            if kind == "class" and depth:
                continue
            if name in names:
                return True
        return False

    def _note(self, name: str, node: ast.AST) -> None:
        if not self._is_local(name):
            self.places[name].append(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._note(node.id, node)

    def visit_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self.places[name].append(node)

    def _arguments(self, arguments: ast.arguments) -> set[str]:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        return {item.arg for item in every if item}

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._note(node.name, node)
        for item in node.decorator_list:
            self.visit(item)
        arguments = node.args
        for default in [*arguments.defaults, *filter(None, arguments.kw_defaults)]:
            self.visit(default)
        for argument in [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]:
            if argument and argument.annotation:
                self.visit(argument.annotation)
        if node.returns:
            self.visit(node.returns)
        self._scopes.append(("function", self._arguments(arguments) | _bound(node.body)))
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        self._scopes.append(("function", self._arguments(node.args)))
        self.visit(node.body)
        self._scopes.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._note(node.name, node)
        for item in [*node.decorator_list, *node.bases]:
            self.visit(item)
        for keyword in node.keywords:
            self.visit(keyword.value)
        self._scopes.append(("class", _bound(node.body)))
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self.visit(node.generators[0].iter)
        names = {inner.id for item in node.generators for inner in ast.walk(item.target) if isinstance(inner, ast.Name)}
        self._scopes.append(("function", names))
        for index, item in enumerate(node.generators):
            if index:
                self.visit(item.iter)
            for test in item.ifs:
                self.visit(test)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self._scopes.pop()

    visit_ListComp = _comprehension
    visit_SetComp = _comprehension
    visit_GeneratorExp = _comprehension
    visit_DictComp = _comprehension

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname or "." not in alias.name:
                self._note(alias.asname or alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._note(alias.asname or alias.name, node)


def global_places(tree: ast.Module) -> dict[str, list[ast.AST]]:
    visitor = _Globals()
    visitor.visit(tree)
    return visitor.places


# The modules.


@dataclass
class Import:
    """One imported name of a module: `from module import name as bound`, or `import module`."""

    module: str
    name: str | None
    bound: str
    types: bool
    comment: str = ""

    def text(self) -> str:
        if self.name is None:
            plain = self.bound == self.module or self.bound == self.module.split(".")[0]
            text = f"import {self.module}" + ("" if plain else f" as {self.bound}")
        else:
            text = f"from {self.module} import {self.name}" + ("" if self.bound == self.name else f" as {self.bound}")
        return text + (f"  {self.comment}" if self.comment else "")


class Section:
    """A module that becomes a part of another."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.stem = name.rsplit(".", 1)[-1]
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.doc = ast.get_docstring(self.tree) or ""
        self.lines = self.text.splitlines(keepends=True)
        self.imports: list[Import] = []
        self.dropped: list[ast.stmt] = []  # statements at the top that the new module has once, at its top
        self.renamed: dict[str, str] = {}
        for statement in self.tree.body:
            if self._takes(statement, types=False):
                self.dropped.append(statement)
            elif isinstance(statement, ast.If) and is_type_block(statement):
                taken: list[ast.stmt] = [inner for inner in statement.body if self._takes(inner, types=True)]
                self.dropped += [statement] if len(taken) == len(statement.body) else taken
        if self.doc:
            self.dropped.append(self.tree.body[0])
        kept = [statement for statement in self.tree.body if statement not in self.dropped]
        for block in [item for item in kept if isinstance(item, ast.If) and is_type_block(item)]:
            kept += [inner for inner in block.body if inner not in self.dropped]
            kept.remove(block)
        self.defined = _bound(kept)
        self.places = global_places(self.tree)

    def _takes(self, statement: ast.stmt, *, types: bool) -> bool:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return False
        found = re.search(r"#.*$", self.lines[(statement.end_lineno or 0) - 1].rstrip("\n"))
        comment = found.group() if found else ""
        for alias in statement.names:
            if isinstance(statement, ast.ImportFrom):
                if statement.module == "__future__":
                    continue
                bound = alias.asname or alias.name
                self.imports.append(Import(statement.module or "", alias.name, bound, types, comment))
            else:
                self.imports.append(Import(alias.name, None, alias.asname or alias.name, types, comment))
        return True

    def runtime_uses(self, modules: set[str]) -> set[str]:
        """Those of the modules that this one imports when it is imported."""
        found = set()
        for item in self.imports:
            if item.types:
                continue
            full = f"{item.module}.{item.name}" if item.name else item.module
            found |= {full, item.module} & modules
        return found


@dataclass
class Merge:
    """One new module."""

    target: str
    sources: list[str]
    doc: str
    keep: str = ""


@dataclass
class Plan:
    merges: list[Merge] = field(default_factory=list)
    renames: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Raises ValueError for a line that cannot be read."""
        plan = cls()
        known_modules = modules()
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith("rename "):
                _, module, old, new = line.split()
                plan.renames[f"{PACKAGE}.{module}", old] = new
                continue
            head, _, doc = line.partition("|")
            target, colon, sources = head.partition(":")
            if not colon:
                raise ValueError(f"not a merge: {line}")
            full = f"{PACKAGE}.{target.strip()}"
            found = []
            for source in sources.split():
                parent = full.rsplit(".", 1)[0]
                options = [f"{full}.{source}", f"{parent}.{source}", f"{PACKAGE}.{source}"]
                if source == ".":
                    options = [full]
                known = next((name for name in options if name in known_modules), None)
                if known is None:
                    raise ValueError(f"{target.strip()}: there is no module {source}")
                if known in found:
                    raise ValueError(f"{target.strip()}: {source} is named twice")
                found.append(known)
            plan.merges.append(Merge(full, found, doc.strip()))
        named = [source for merge in plan.merges for source in merge.sources]
        twice = {name for name in named if named.count(name) > 1}
        if twice:
            raise ValueError(f"in two merges: {', '.join(sorted(twice))}")
        return plan


def _ordered(sections: list[Section]) -> list[Section]:
    """Each after those whose names it uses when it is imported."""
    names = {section.name for section in sections}
    left = list(sections)
    made: list[Section] = []
    while left:
        done = {section.name for section in made}
        free = next((s for s in left if not (s.runtime_uses(names) - done - {s.name})), None)
        if free is None:
            raise ValueError(f"these import each other: {', '.join(section.name for section in left)}")
        left.remove(free)
        made.append(free)
    return made


def _new_name(section: Section, name: str, taken: set[str]) -> str:
    private = "_" if name.startswith("_") else ""
    bare = name.lstrip("_")
    stem = section.stem.lstrip("_")
    if section.stem in {
        "strategy",
        "operator",
        "screen",
        "base",
        "protocol",
        "command",
        "process",
        "worker",
        "index",
        "build",
    }:
        stem = section.name.rsplit(".", 2)[-2]
    if bare.isupper() or re.fullmatch(r"[A-Z0-9_]+", bare):
        new = f"{private}{stem.upper()}_{bare}"
    elif bare[0].isupper():
        new = private + "".join(part.capitalize() for part in stem.split("_")) + bare
    elif bare.split("_")[0] in _VERBS:
        new = f"{private}{bare}_{stem}"
    else:
        new = f"{private}{stem}_{bare}"
    while new in taken:
        new += "_"
    return new


class Merger:
    """Makes one new module of its sections."""

    def __init__(self, merge: Merge, plan: Plan, targets: dict[str, str], modules: dict[str, Path]) -> None:
        self.merge, self.plan, self.targets, self.modules = merge, plan, targets, modules
        self.sections = _ordered([Section(name, modules[name]) for name in merge.sources])
        self.by_name = {section.name: section for section in self.sections}
        self.notes: list[str] = []

    def _internal(self, item: Import) -> tuple[Section, str | None] | None:
        """The section and its name that an import means; the name is None for the section itself."""
        if item.name is not None and item.module in self.by_name:
            return self.by_name[item.module], item.name
        full = f"{item.module}.{item.name}" if item.name is not None else item.module
        return (self.by_name[full], None) if full in self.by_name else None

    def resolve_names(self) -> None:
        """Settle what each section's names are called in the new module."""
        owner: dict[str, tuple[str, object]] = {}  # name: section, what it is
        every = set().union(*(section.places.keys() for section in self.sections))
        for section in self.sections:
            for (module, old), new in self.plan.renames.items():
                if module == section.name:
                    section.renamed[old] = new

        def identity(section: Section, name: str) -> object:
            # Two sections may define the same thing in the same words.
            for statement in section.tree.body:
                if isinstance(statement, (ast.Assign, ast.AnnAssign)) and _bound([statement]) == {name}:
                    value = ast.dump(statement)
                    free = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} - {name}
                    return ("same", value) if not free & section.defined else (section.name, name)
            return (section.name, name)

        # Definitions first: an imported name gives way to a defined one.
        for section in self.sections:
            for name in sorted(section.defined):
                called = section.renamed.get(name, name)
                what = identity(section, name)
                if called in owner and owner[called][1] != what:
                    called = _new_name(section, name, every | owner.keys())
                    section.renamed[name] = called
                    self.notes.append(f"  {section.name}: {name} is now {called}")
                owner[called] = (section.name, what)
        for section in self.sections:
            for item in section.imports:
                found = self._internal(item)
                bound = item.bound.split(".")[0] if item.name is None else item.bound
                if found is not None:
                    other, there = found
                    if there is not None:
                        section.renamed[bound] = other.renamed.get(there, there)
                    continue
                called = section.renamed.get(bound, bound)
                module = self.targets.get(item.module, item.module)
                full = f"{item.module}.{item.name}"
                name_there = self.plan.renames.get((item.module, item.name or ""), item.name)
                what = ("module", self.targets[full]) if full in self.targets else ("import", module, name_there)
                if item.name is None and "." in item.bound:
                    what = ("import", bound, None)
                if called in owner and owner[called][1] != what:
                    stem = item.module.rsplit(".", 1)[-1]
                    called = f"{stem}_{bound}" if item.name is not None else f"{bound}_module"
                    section.renamed[bound] = called
                    self.notes.append(f"  {section.name}: imported {bound} is now {called}")
                    if called in owner and owner[called][1] != what:
                        raise ValueError(f"{section.name}: no free name for {bound}")
                owner[called] = (section.name, what)
        # A builtin that another section hides.
        for section in self.sections:
            own = section.defined | {(i.bound.split(".")[0] if i.name is None else i.bound) for i in section.imports}
            for name in section.places.keys() & _BUILTINS - own:
                if name in owner and owner[name][0] != section.name and not name.startswith("__"):
                    raise ValueError(
                        f"{section.name} uses the builtin {name}, which {owner[name][0]} defines: rename it"
                    )
        # A local name that hides what is used there under a new name.
        for section in self.sections:
            for old, new in section.renamed.items():
                if old == new or old not in section.places:
                    continue
                if any(new in names for names in _local_names(section.tree)):
                    self.notes.append(f"  {section.name}: {new} is also a local name")

    def section_text(self, section: Section) -> str:
        edits: list[Edit] = []
        for statement in section.dropped:
            last = statement.end_lineno or 0
            edits.append(Edit((statement.lineno, 0), (last, len(section.lines[last - 1].encode())), ""))
        dropped = {id(node) for statement in section.dropped for node in ast.walk(statement)}
        members: dict[str, Section] = {}
        for item in section.imports:
            found = self._internal(item)
            if found and found[1] is None:
                members[item.bound] = found[0]
        edits += _member_edits(section.tree, section.places, members, dropped)
        for old, new in section.renamed.items():
            if old != new:
                edits += [
                    edit
                    for node in section.places.get(old, [])
                    if id(node) not in dropped
                    for edit in _rename(node, old, new, section.lines)
                ]
        edits += self._inner_imports(section)
        return applied(section.text, edits)

    def _inner_imports(self, section: Section) -> list[Edit]:
        """Imports inside functions: of what is now the same module, none."""
        edits = []
        top = {id(node) for statement in section.dropped for node in ast.walk(statement)}
        for node in ast.walk(section.tree):
            if not isinstance(node, (ast.Import, ast.ImportFrom)) or id(node) in top:
                continue
            left = []
            for alias in node.names:
                item = (
                    Import(node.module or "", alias.name, alias.asname or alias.name, False)
                    if isinstance(node, ast.ImportFrom)
                    else Import(alias.name, None, alias.asname or alias.name, False)
                )
                found = self._internal(item)
                if found is None:
                    left.append(item)
                    continue
                other, name = found
                if name is None:
                    raise ValueError(f"{section.name}:{node.lineno} imports {other.name} as a whole inside a function")
                if other.renamed.get(name, name) != item.bound:
                    raise ValueError(f"{section.name}:{node.lineno} imports {name} as {item.bound} inside a function")
            if len(left) == len(node.names):
                continue
            first, last = node.lineno, node.end_lineno or 0
            if left:
                indent = " " * node.col_offset
                text = f"\n{indent}".join(item.text() for item in left)
                edits.append(of_node(node, text))
            else:
                edits.append(Edit((first, 0), (last, len(section.lines[last - 1].encode())), ""))
        return edits

    def text(self) -> str:
        self.resolve_names()
        doc = self.merge.doc or max(self.sections, key=lambda item: len(item.text)).doc
        runtime: dict[str, Import] = {}
        types: dict[str, Import] = {}
        for section in self.sections:
            for item in section.imports:
                if self._internal(item) is not None:
                    continue
                bound = item.bound.split(".")[0] if item.name is None else item.bound
                renamed = section.renamed.get(bound, bound)
                made = Import(
                    item.module, item.name, item.bound if renamed == bound else renamed, item.types, item.comment
                )
                (types if item.types else runtime)[made.text()] = made
        held = {re.sub(r"\s*#.*", "", text) for text in runtime}
        types = {text: item for text, item in types.items() if re.sub(r"\s*#.*", "", text) not in held}
        quotes = 'r"""' if "\\" in doc else '"""'
        out = [
            f'{quotes}{doc}"""\n' if "\n" not in doc else f'{quotes}{doc}\n"""\n',
            "\nfrom __future__ import annotations\n\n",
        ]
        out += [f"{text}\n" for text in runtime]
        if types:
            if not any("import TYPE_CHECKING" in text for text in runtime):
                out.append("from typing import TYPE_CHECKING\n")
            out += ["\nif TYPE_CHECKING:\n"] + [f"    {text}\n" for text in types]
        seen: set[str] = set()
        for section in self.sections:
            body = self.section_text(section).strip("\n")
            body = self._without_repeated(body, seen)
            if not body.strip():
                continue
            heading = "" if section.doc == doc else _heading(section.doc)
            out.append(f"\n\n{heading}\n{body}\n")
        return "".join(out)

    @staticmethod
    def _without_repeated(body: str, seen: set[str]) -> str:
        """The body without assignments that an earlier section holds in the same words."""
        tree = ast.parse(body)
        lines = body.splitlines(keepends=True)
        edits = []
        for statement in tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                value = ast.dump(statement)
                if value in seen:
                    last = statement.end_lineno or 0
                    edits.append(Edit((statement.lineno, 0), (last, len(lines[last - 1].encode())), ""))
                seen.add(value)
        return applied(body, edits)


def _local_names(tree: ast.Module) -> Iterator[set[str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield _bound(node.body) | {
                item.arg for item in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            }


def _heading(doc: str) -> str:
    """The docstring of a section as a comment."""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        plain = not paragraph.startswith(" ") and any(len(line) > _WIDTH for line in paragraph.splitlines())
        made = textwrap.wrap(" ".join(paragraph.split()), _WIDTH) if plain else paragraph.splitlines()
        lines += [*([""] if lines else []), *made]
    lines = [f"# {line}".rstrip() for line in lines]
    return "\n".join(lines) + "\n\n" if lines else ""


def _rename(node: ast.AST, old: str, new: str, lines: list[str]) -> list[Edit]:
    if isinstance(node, ast.Name):
        return [of_node(node, new)]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        line = lines[node.lineno - 1].encode()
        at = re.compile(rb"\b" + old.encode() + rb"\b").search(line, node.col_offset)
        assert at, (old, line)
        return [Edit((node.lineno, at.start()), (node.lineno, at.end()), new)]
    if isinstance(node, ast.Global):
        return [of_node(node, "global " + ", ".join(new if name == old else name for name in node.names))]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return []  # the import of a merged name goes
    raise ValueError(f"cannot rename {old} at {ast.dump(node)[:60]}")


def _member_edits(
    tree: ast.Module, places: dict[str, list[ast.AST]], members: dict[str, Section], dropped: set[int]
) -> list[Edit]:
    """`module.name` as `name`, where the module is a section of the same new module."""
    edits = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in members:
            if id(node) in dropped or node.value not in places.get(node.value.id, []):
                continue
            other = members[node.value.id]
            edits.append(of_node(node, other.renamed.get(node.attr, node.attr)))
    return edits


# References elsewhere.


class References:
    """Rewrites imports of merged modules."""

    def __init__(self, targets: dict[str, str], renamed: dict[tuple[str, str], str]) -> None:
        self.targets, self.renamed = targets, renamed
        # A package whose every module went into one is that module.
        longest = sorted(targets, key=len, reverse=True)
        self._dotted = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, longest)) + r")(?![\w])")
        # Programs in strings, and what is named in prose, import too.
        name = r"\w+(?: as \w+)?"
        self._statement = re.compile(
            rf"from ({PACKAGE}[\w.]*) import ({name}(?:, {name})*)(?=$|[\s;\"'\\])", re.MULTILINE
        )
        paths = {f"{old.replace('.', '/')}.py": f"{new.replace('.', '/')}.py" for old, new in targets.items()}
        short = {old.removeprefix(f"{PACKAGE}/"): new.removeprefix(f"{PACKAGE}/") for old, new in paths.items()}
        paths |= {old: new for old, new in short.items() if "/" in old}
        self._paths = paths
        self._path = re.compile(
            r"(?<![\w/])(" + "|".join(map(re.escape, sorted(paths, key=len, reverse=True))) + r")(?!\w)"
        )

    def python(self, text: str, own: str | None = None) -> str:
        text = self._statement.sub(self._in_text, text)  # programs in strings too
        tree = ast.parse(text)
        edits = []
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                made = self._from(node)
                if made is not None:
                    edits.append(of_node(node, made.replace("\n", "\n" + " " * node.col_offset)))
        text = applied(text, edits)
        return self.plain(text)

    def _from(self, node: ast.ImportFrom) -> str | None:
        lines, changed, left = [], False, []
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            bound = alias.asname or alias.name
            if full in self.targets and (full != self.targets[full]):
                parent, last = self.targets[full].rsplit(".", 1)
                lines.append(f"from {parent} import {last}" + ("" if bound == last else f" as {bound}"))
                changed = True
            elif node.module in self.targets:
                name = self.renamed.get((node.module, alias.name), alias.name)
                module = self.targets[node.module]
                lines.append(f"from {module} import {name}" + ("" if bound == name else f" as {bound}"))
                changed = True
            else:
                left.append(alias.name + (f" as {alias.asname}" if alias.asname else ""))
        if not changed:
            return None
        if left:
            lines.append(f"from {node.module} import " + ", ".join(left))
        # One statement for what comes from one module.
        by_module: dict[str, list[str]] = {}
        for line in lines:
            module, _, names = line.removeprefix("from ").partition(" import ")
            by_module.setdefault(module, []).append(names)
        return "\n".join(f"from {module} import {', '.join(names)}" for module, names in by_module.items())

    def _in_text(self, found: re.Match[str]) -> str:
        made: dict[str, list[str]] = {}
        for item in found.group(2).split(", "):
            name, _, bound = item.partition(" as ")
            full = f"{found.group(1)}.{name}"
            module, called = (self.targets.get(full) or full).rsplit(".", 1)
            wanted = bound or name
            made.setdefault(module, []).append(called if called == wanted else f"{called} as {wanted}")
        lines = [f"from {module} import {', '.join(names)}" for module, names in made.items()]
        indented = found.string[: found.start()].rpartition("\n")[2] != ""
        return found.group() if indented and len(lines) > 1 else "\n".join(lines)

    def plain(self, text: str) -> str:
        text = self._dotted.sub(lambda found: self.targets[found.group(1)], text)
        return self._path.sub(lambda found: self._paths[found.group(1)], text)


# The proof.


class _Plain(ast.NodeTransformer):
    """Leaves out imports of the package inside functions, and gives renamed names their new name."""

    def __init__(self, places: dict[int, str]) -> None:
        self._places = places

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if (node.module or "").startswith(PACKAGE) else node

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return None if any(alias.name.startswith(PACKAGE) for alias in node.names) else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        new = self._places.get(id(node))
        if new is not None:
            if isinstance(node, ast.Name):
                node.id = new
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                node.name = new
            elif isinstance(node, ast.Attribute):
                return ast.copy_location(ast.Name(new, node.ctx), node)
        return super().generic_visit(node)


def _statements(tree: ast.Module) -> list[str]:
    kept = []
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or is_type_block(statement):
            continue
        if (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        ):
            continue
        dumped = ast.dump(statement)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and dumped in kept:
            continue
        kept.append(dumped)
    return kept


def proof(merger: Merger, new: str) -> list[str]:
    """What differs between the sections and the new module: nothing, or the merge is refused."""
    wanted: list[str] = []
    for section in merger.sections:
        tree = ast.parse(section.text)
        places = global_places(tree)
        by_node: dict[int, str] = {}
        members = {
            item.bound: found[0] for item in section.imports if (found := merger._internal(item)) and found[1] is None
        }
        for old, name in section.renamed.items():
            for node in places.get(old, []):
                if isinstance(node, ast.Global):
                    node.names = [name if item == old else item for item in node.names]
                else:
                    by_node[id(node)] = name
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in members:
                other = members[node.value.id]
                by_node[id(node)] = other.renamed.get(node.attr, node.attr)
        tree = _Plain(by_node).visit(tree)
        wanted += [
            item for item in _statements(tree) if not (item in wanted and item.startswith(("Assign", "AnnAssign")))
        ]
    made = _statements(_Plain({}).visit(ast.parse(new)))
    if made == wanted:
        return []
    return [f"  {merger.merge.target}: {item[:150]}" for item in wanted if item not in made][:4] or ["  another order"]


def main() -> None:
    plan = Plan.read(Path(sys.argv[1]))
    write = "--write" in sys.argv
    found = modules()
    targets = {source: merge.target for merge in plan.merges for source in merge.sources}
    made: dict[str, str] = {}
    renamed: dict[tuple[str, str], str] = {}
    failed = False
    for merge in plan.merges:
        try:
            merger = Merger(merge, plan, targets, found)
            text = merger.text()
            differences = proof(merger, text)
        except (ValueError, SyntaxError, AssertionError) as error:
            print(f"{merge.target}: {error}")
            failed = True
            continue
        length = len(text.splitlines())
        print(f"{merge.target}: {len(merge.sources)} modules, {length} lines")
        for note in [*merger.notes, *(f"DIFFERS {item}" for item in differences)]:
            print(note)
        failed |= bool(differences)
        made[merge.target] = text
        for section in merger.sections:
            renamed.update({(section.name, old): new for old, new in section.renamed.items() if old in section.defined})
    if failed:
        raise SystemExit("nothing is written")
    if not write:
        return
    references = References(targets, renamed)
    for source in targets:
        found[source].unlink()
    for target, text in made.items():
        path = ROOT / (target.replace(".", "/") + ".py")
        folder = path.with_suffix("")
        if folder.is_dir():
            (folder / "__init__.py").unlink(missing_ok=True)
            left = [item for item in folder.rglob("*") if item.is_file() and "__pycache__" not in item.parts]
            if left:
                raise SystemExit(f"{folder} still holds {left[0].name}")
            for item in sorted(folder.rglob("*"), reverse=True):
                item.unlink() if item.is_file() else item.rmdir()
            folder.rmdir()
        path.write_text(text, encoding="utf-8")
    for start in sorted((ROOT / PACKAGE).rglob("__init__.py"), reverse=True):
        inside = [item for item in start.parent.iterdir() if item.name not in {"__init__.py", "__pycache__"}]
        if not inside:
            shutil.rmtree(start.parent)
    for top in _TEXTS:
        place = ROOT / top
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if (
                path.suffix not in {".py", ".toml", ".md", ".sh", ".yml", ".txt", ".js", ".json", ""}
                or not path.is_file()
                or path == Path(__file__)
            ):
                continue
            if path.stat().st_size > 1 << 20 or "__pycache__" in path.parts:
                continue
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            new = references.python(text) if path.suffix == ".py" else references.plain(text)
            if new != text:
                path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
