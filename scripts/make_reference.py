#!/usr/bin/env python3
"""Writes docs/reference from the code: settings, command line (with its manual page), trace (with its JSON Schema) and
Python API.

    scripts/make_reference.py [--check]

With --check nothing is written: the pages that are out of date are named, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
REFERENCE = ROOT / "docs" / "reference"
MADE = "<!-- Made by scripts/make_reference.py. Do not edit. -->\n\n"
WIDTH = 100
_WORDS = {
    "bool": "true or false", "str": "text", "int": "whole number", "float": "number", "Secret": "secret",
    "SecretUrl": "address",
}  # fmt: skip
_SETTINGS = """\
# Settings

A value given on the command line wins, then an environment variable, then the settings file, then the default.
`atomr config path` prints where the file is. `atomr config show --origins` prints every value and where it comes from.
The file is TOML:

```toml
top_k = 5

[llm]
threads = 4
```

The same as environment variables: `ATOMR_TOP_K=5` and `ATOMR_LLM__THREADS=4`. Lists and tables are written as JSON,
such as `ATOMR_SOURCES='["text"]'`.

Three more variables are not settings: `ATOMR_HOME` names one directory for everything the program writes,
`ATOMR_LOG_LEVEL` sets the level of the log file, and `ATOMR_CONTACT` is the contact that downloads from Wikimedia give.
"""
_STRATEGIES = """\
## `[strategies.NAME]`

Options of a strategy. `atomr strategies NAME` shows them with what holds now; `--set NAME.OPTION=VALUE` of `atomr ask`
and `atomr eval run` sets one for one command. An option that can be none takes the text `"none"` (`null` below). The
options of a strategy are checked when it is used: those of a strategy that is not installed are left alone.
"""
_CLI = """\
# Command line

Results go to standard output; progress, notes and errors go to standard error. `--json` prints JSON and nothing else.

Exit status: 0 done ("Not found" included), 1 an error, 2 wrong usage, 130 cancelled.
"""
_TRACE = """\
# Trace

A trace, `{schema}`, records everything that led to an answer. `atomr ask --json` prints it, and
`atomr history export --format json` exports it. [trace.schema.json](trace.schema.json) is its JSON Schema. The field
`schema` of a trace names this format. New fields may be added: ignore those that you do not know.
"""
_PYTHON = """\
# Python API

```python
from atomr_local import Assistant

with Assistant.open() as assistant:
    answer = assistant.answer("Who wrote Frankenstein?")
print(answer.text, answer.confidence)
```

[Use it from Python](../how-to/python.md) shows how. The names in `atomr_local.__all__` are the public interface: they
change only with the first number of the version. The [trace](trace.md) is the sum of the events. Every error that a
caller can cause or meet is an `AtomrError`.
"""
_BOUNDS = {"Ge": ("ge", "≥"), "Gt": ("gt", ">"), "Le": ("le", "≤"), "Lt": ("lt", "<")}


def pages() -> dict[str, str]:
    """The content of every generated file, by its name."""
    from man_page import man_page

    from atomr_local import __version__

    return {
        "settings.md": settings_page(),
        "cli.md": cli_page(),
        "atomr.1": man_page(__version__),
        "trace.schema.json": json.dumps(trace_schema(), indent=2, ensure_ascii=False) + "\n",
        "trace.md": trace_page(),
        "python.md": python_page(),
    }


def settings_page() -> str:
    from atomr_local.settings.schema import Settings

    parts = [_SETTINGS]
    top = {name: field for name, field in Settings.model_fields.items() if _group(field) is None}
    parts += ["## Top level\n", _settings_table("", top)]
    for name, field in Settings.model_fields.items():
        if (group := _group(field)) is not None:
            inherited = group.__doc__ == BaseModel.__doc__
            told = "" if inherited else inspect.cleandoc(group.__doc__ or "")
            parts += [f"## `[{name}]`\n", f"{told}\n" if told else "", _settings_table(f"{name}.", group.model_fields)]
    parts.append(_options())
    return MADE + "\n".join(part for part in parts if part)


def _options() -> str:
    from atomr_local.strategies.options import described
    from atomr_local.strategies.registry import STRATEGIES

    rows = [
        (f"`strategies.{name}.{item['name']}`", item["values"], f"`{json.dumps(item['default'])}`", item["description"])
        for name, strategy in STRATEGIES.items()
        for item in described(strategy.options)
    ]
    table = _table(("key", "values", "default", "what it does"), rows)
    return f"{_STRATEGIES}\n{table}"


def _group(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _settings_table(prefix: str, fields: dict[str, FieldInfo]) -> str:
    rows = []
    for name, field in fields.items():
        default = field.get_default(call_default_factory=True)
        shown = default if isinstance(default, str | int | float | tuple | dict) else str(default)
        value = f"`{json.dumps(shown, ensure_ascii=False)}`"
        rows.append((f"`{prefix}{name}`", _values(field), value, field.description or ""))
    return _table(("key", "values", "default", "what it does"), rows)


def _values(field: FieldInfo) -> str:
    bounds = [
        f"{sign} {getattr(item, attribute)}"
        for item in field.metadata
        for attribute, sign in [_BOUNDS.get(type(item).__name__, ("", ""))]
        if attribute
    ]
    return ", ".join([_kind(field.annotation), *bounds])


def _kind(kind: Any) -> str:
    """A setting's type in words."""
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) is Annotated:
        return _kind(get_args(kind)[0])
    if get_origin(kind) is tuple:
        return f"list of {_kind(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return "table of tables" if get_origin(get_args(kind)[1]) is dict else "table of texts"
    return _WORDS[kind.__name__]


def cli_page() -> str:
    from atomr_local.cli.main import atomr

    parts = [_CLI]
    for path, text in _commands("atomr", atomr, None):
        level = "##" if path.count(" ") < 2 else "###"
        parts.append(f"{level} `{path}`\n\n```text\n{text}\n```\n")
    return MADE + "\n".join(parts)


def _commands(name: str, command: click.Command, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """Every command below this one, itself first, with the text of its --help."""
    looks = {"terminal_width": WIDTH, "max_content_width": WIDTH, **command.context_settings}
    context = click.Context(command, info_name=name, parent=parent, **looks)
    lines = command.get_help(context).splitlines()
    yield context.command_path, "\n".join(line.rstrip() for line in lines).strip()
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            if (found := command.get_command(context, below)) is not None and not found.hidden:
                yield from _commands(below, found, context)


def trace_schema() -> dict[str, Any]:
    """JSON Schema of a trace as `Trace.to_dict` writes it."""
    from atomr_local.reasoning.trace.schema import SCHEMA, Trace

    schema = TypeAdapter(Trace).json_schema(mode="serialization")
    properties = {"schema": {"const": SCHEMA, "title": "Schema", "type": "string"}} | schema.pop("properties")
    required = ["schema", *(name for name in properties if name != "schema")]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:{SCHEMA.replace('/', ':')}"}
    return head | schema | {"properties": properties, "required": required}


def trace_page() -> str:
    from atomr_local.reasoning.trace import schema as trace
    from atomr_local.reasoning.trace.schema import SCHEMA

    classes = [
        found
        for _, found in inspect.getmembers(trace, inspect.isclass)
        if dataclasses.is_dataclass(found) and found.__module__ == trace.__name__
    ]
    classes.sort(key=lambda found: (found.__name__ != "Trace", found.__name__))
    parts = [_TRACE.format(schema=SCHEMA)]
    for found in classes:
        summary, described = _docstring(found)
        types = get_type_hints(found)
        rows = [
            (f"`{f.name}`", _type(f.type, types[f.name]), described.get(f.name, "")) for f in dataclasses.fields(found)
        ]
        parts += [f"## `{found.__name__}`\n", summary, _table(("field", "type", "what it holds"), rows)]
    return MADE + "\n".join(part for part in parts if part)


def _type(written: object, hint: Any) -> str:
    """A field's type as it is written; the values themselves where it is one of some texts."""
    values = [f"`{value}`" for literal in _literals(hint) for value in get_args(literal)]
    nothing = ["none"] if type(None) in get_args(hint) else []
    return " or ".join([*values, *nothing]) if values else f"`{written}`"


def _literals(hint: Any) -> list[Any]:
    if get_origin(hint) is Literal:
        return [hint]
    return [part for part in get_args(hint) if get_origin(part) is Literal]


def python_page() -> str:
    import atomr_local
    from atomr_local import Answer, Assistant, Conversation, Lookups, QuestionOptions, Revision, Step, errors
    from atomr_local.reasoning.trace import events

    options = QuestionOptions.__annotations__
    parts = [_PYTHON]
    for kind in (Assistant, Answer, Step, Lookups, Conversation, Revision):
        parts += [f"## `{kind.__name__}`\n", f"{_outline(kind)}\n"]
        for name, member in vars(kind).items():
            if name.startswith("_") or not (callable(member) or isinstance(member, property | classmethod)):
                continue
            told = _plain(inspect.getdoc(member))
            parts += [f"### `{name}`\n", _signature(name, member), f"```text\n{told}\n```\n" if told else ""]
    parts += [
        "## `QuestionOptions`\n",
        "The keyword arguments of `answer`, `stream`, `aanswer` and `astream`; `ask` explains them.\n",
        _table(("option", "type"), [(f"`{name}`", f"`{kind.__forward_arg__}`") for name, kind in options.items()]),
        "## `parse_plan`\n",
        _signature("parse_plan", atomr_local.parse_plan),
        f"```text\n{_plain(inspect.getdoc(atomr_local.parse_plan))}\n```\n",
        "## Values\n",
        "What answers, look-ups and plans consist of. [Trace](trace.md) explains the fields of a trace.\n",
    ]
    rows = []
    for name in atomr_local.__all__:
        found = getattr(atomr_local, name)
        if not dataclasses.is_dataclass(found) or found in (Answer, Step, Conversation, Revision):
            continue
        if isinstance(found, type) and not issubclass(found, events.Event):
            fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(found) if field.init)
            rows.append((f"`{name}`", fields, _docstring(found)[0].split("\n\n")[0].strip().replace("\n", " ")))
    parts += [
        _table(("class", "fields", "what it is"), rows),
        "## Events\n",
        "In `atomr_local`; `to_dict()` is what `atomr ask --jsonl` prints.\n",
    ]
    rows = []
    for name, found in vars(events).items():
        if inspect.isclass(found) and issubclass(found, events.Event) and found is not events.Event:
            fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(found))
            rows.append((f"`{name}`", fields, _docstring(found)[0].strip()))
    parts += [_table(("event", "fields", "what it tells"), rows)]
    parts += ["## Errors\n", "In `atomr_local.errors`; each has `title`, `message` and `hint`.\n"]
    kinds = [k for k in vars(errors).values() if inspect.isclass(k) and issubclass(k, errors.AtomrError)]
    parts.append(_table(("error", "when"), [(f"`{k.__name__}`", _docstring(k)[0].strip()) for k in kinds]))
    return MADE + "\n".join(part for part in parts if part)


def _outline(kind: type) -> str:
    """A class's docstring, its attributes as a list."""
    told = re.sub(r"^([A-Z][\w ()]*:)$", r"\1\n", _plain(inspect.getdoc(kind)), flags=re.M)
    return re.sub(r"^    (\w+): ", r"- `\1`: ", told, flags=re.M)


def _plain(docstring: str | None) -> str:
    """A docstring with Sphinx's roles taken out."""
    return re.sub(r":\w+:(`[^`]+`)", r"\1", docstring or "")


def _signature(name: str, member: Any) -> str:
    if isinstance(member, property):
        return f"```python\n{name}: {inspect.signature(member.fget).return_annotation}\n```\n" if member.fget else ""
    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    shown = re.sub(r"\bself, |\bself\b|\bcls, |\bcls\b", "", str(inspect.signature(function)), count=1)
    shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", shown)
    return f"```python\n{name}{shown}\n```\n"


def _docstring(found: type) -> tuple[str, dict[str, str]]:
    """What stands before "Attributes:" in a class's docstring, and each attribute's description."""
    text = inspect.cleandoc(found.__doc__ or "")
    if text.startswith(f"{found.__name__}("):  # made by dataclass
        return "", {}
    summary, _, attributes = text.partition("Attributes:")
    described: dict[str, str] = {}
    for line in attributes.splitlines():
        if named := re.match(r"(?: {4})?(\w+): (.*)", line):
            described[named[1]] = named[2]
        elif described and line.strip():
            described[list(described)[-1]] += f" {line.strip()}"
    return summary.strip() + "\n" if summary.strip() else "", described


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), "|" + " --- |" * len(head), *map(line, rows)]) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; say what is out of date")
    check = parser.parse_args(arguments).check
    for name in [name for name in os.environ if name.startswith("ATOMR_")]:
        del os.environ[name]  # a setting of the machine must not appear in the pages
    outdated = []
    for name, text in pages().items():
        path = REFERENCE / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            outdated.append(name)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for name in outdated:
        print(f"docs/reference/{name}: {'out of date; run scripts/make_reference.py' if check else 'written'}")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
