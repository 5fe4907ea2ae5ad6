"""The manual page atomr(1), made from the help of every command. `scripts/make_reference.py` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

_NAME = "ask questions on your own machine and check the answers"
_END = """\
.SH EXIT STATUS
.TP
.B 0
Done; an answer that was not found included.
.TP
.B 1
An error. Its title, message and what to do are on standard error.
.TP
.B 2
Wrong usage.
.TP
.B 3
Not found, with \\fB\\-\\-fail\\-if\\-unknown\\fR.
.TP
.B 130
Cancelled.
.SH ENVIRONMENT
.TP
.B ATOMR_HOME
One directory for everything that the program writes.
.TP
.B ATOMR_LOG_LEVEL
The level of the log file.
.TP
.B ATOMR_CONTACT
The contact that downloads from Wikimedia give.
.TP
.B ATOMR_\\fISETTING\\fR
A setting, such as \\fBATOMR_TOP_K=5\\fR or \\fBATOMR_LLM__THREADS=4\\fR. \\fBatomr config show\\fR lists the settings.
.TP
.B NO_COLOR
Print without colours.
.SH FILES
\\fBatomr config path\\fR prints the path of the settings file, and \\fBatomr doctor\\fR the places of everything else.
"""


def man_page(version: str) -> str:
    """The page in roff's man macros."""
    from atomr_local.cli.main import atomr

    root = click.Context(atomr, info_name="atomr")
    lines = [
        '.\\" Made by scripts/make_reference.py. Do not edit.',
        f'.TH ATOMR 1 "" "atomr\\-local {_text(version)}" "User Commands"',
        ".nh",
        ".ad l",
        ".SH NAME",
        f"atomr \\- {_NAME}",
        ".SH SYNOPSIS",
        *_synopsis(root),
        ".SH DESCRIPTION",
        *_help(atomr),
        ".SH OPTIONS",
        *_options(root),
        ".SH COMMANDS",
    ]
    for context in _below(root):
        lines += [f'.SS "{_text(context.command_path)}"', *_synopsis(context), ".PP", *_help(context.command)]
        lines += _options(context)
    return "\n".join(lines) + "\n" + _END


def _below(context: click.Context) -> Iterator[click.Context]:
    """Every command below this one, in the order of the help."""
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                found = click.Context(command, info_name=name, parent=context)
                yield found
                yield from _below(found)


def _synopsis(context: click.Context) -> list[str]:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return [f".B {_text(context.command_path)}", _line(pieces)]


def _help(command: click.Command) -> list[str]:
    """The paragraphs of a help text; examples on lines of their own."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        lines += [".PP"] if lines else []
        for line in paragraph.replace("\b\n", "").splitlines():
            if line.startswith(("Example: ", "Then: ")):
                lines.append(".br")
            lines.append(_line(line))
    return lines


def _options(context: click.Context) -> list[str]:
    lines = []
    for param in context.command.get_params(context):
        if (record := param.get_help_record(context)) is not None:
            lines += [".TP", f".B {_text(record[0])}", _line(" ".join(record[1].split()))]
    return lines


def _text(text: str) -> str:
    """Text that roff prints as it is, in ASCII alone."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("'", "\\(aq")
    text = text.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)


def _line(text: str) -> str:
    """A line of text that is no request, whatever it begins with."""
    text = _text(text.strip())
    return f"\\&{text}" if text.startswith(".") else text
