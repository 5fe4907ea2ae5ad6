"""`atomr history`: past questions, each with its whole trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from atomr_local.assistant.wishes import argument, flag, option, yes
from atomr_local.cli.options import AS_JSON, command
from atomr_local.cli.output import confirm, print_json
from atomr_local.errors import AtomrError
from atomr_local.system.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from atomr_local.assistant.history.database import StoredQuestion
    from atomr_local.assistant.history.store import History

_NUMBER = click.IntRange(min=1, max=2**63 - 1)
_NUMBERS = argument(metavar="[ID]...", type=_NUMBER)


@click.group()
def history() -> None:
    """Show, search, export and delete past questions.

    Questions are kept on this machine only. `atomr ask --no-history`, or `keep = false` under [history] in the
    settings file, keeps none.

    Example: atomr history list --search Frankenstein
    """


@contextmanager
def _opened() -> Iterator[History]:
    from atomr_local.assistant.history.store import History

    with History.open() as opened:
        try:
            yield opened
        finally:
            for note in opened.notes:
                click.echo(sanitize(note), err=True)


@command(history)
def list_(
    search: str | None = option(
        "Show only questions that contain all of these words (or beginnings of words).", metavar="TEXT"
    ),
    limit: int = option("", type=click.IntRange(min=1, max=1_000_000), default=20, metavar="N"),
    as_json: bool = AS_JSON,
) -> None:
    """List past questions, latest first. ↳ and a number mark a follow-up to that question.

    Example: atomr history list --search "mary shelley" --limit 5
    """
    from atomr_local.reasoning.confidence import status_word

    with _opened() as opened:
        found = opened.entries(search=search, limit=limit)
        kept = opened.count()
    if as_json:
        print_json([asdict(item) for item in found])
        return
    for item in found:
        answer = f" → {sanitize_line(item.answer)}" if item.answer else ""
        when = f"{item.local_time}  {status_word(item.status):<11}"
        after = f"↳ {item.follows}  " if item.follows is not None else ""  # of the conversation's first question
        click.echo(f"{item.id:>5}  {when}  {after}{sanitize_line(item.question)}{answer}")
    if not kept:
        click.echo("No questions are kept yet.", err=True)
    elif not found:
        click.echo(f"None of the {kept} kept questions contains these words.", err=True)
    elif len(found) == limit < kept:
        click.echo(f"Showing the latest {limit} of {kept}; --limit shows more.", err=True)


@command(history)
def show(
    number: int = argument(metavar="ID", type=_NUMBER),
    conversation: bool = flag("Show all questions of its conversation, in order."),
    verbose: bool = flag("Tell also what each step thought, did, saw and weighed."),
    as_json: bool = flag("Print the trace as JSON; of a conversation, JSON lines.", "--json"),
) -> None:
    """Print a past question as `atomr ask --guess` did: the answer, its citations, the tree.

    Example: atomr history show 12
    Example: atomr history show 12 --conversation
    """
    from atomr_local.assistant.history.export import to_json
    from atomr_local.cli.asking import answer_text
    from atomr_local.reasoning.confidence import status_word

    with _opened() as opened:
        found = opened.conversation(number) if conversation else [opened.get(number)]
        earlier = opened.named(name for kept in found for name in kept.trace.took_from)
    if as_json and conversation:
        click.echo(to_json(found, several=True), nl=False)
    elif as_json:
        print_json(found[0].document)
    else:
        for place, kept in enumerate(found):
            item = kept.summary
            how = "" if item.origin == "asked" else ", imported"
            label = f"{item.id}. " if conversation else ""
            if place:
                click.echo()
            click.echo(f"{label}{sanitize_line(kept.trace.question)}")
            click.echo(f"({item.local_time}, {status_word(item.status)}{how})\n")
            click.echo(sanitize(answer_text(kept.trace, guess=True, earlier=earlier, verbose=verbose)))


@command(history)
def export(
    numbers: tuple[int, ...] = _NUMBERS,
    everything: bool = flag("Export every kept question, oldest first.", "--all"),
    conversation: bool = flag("Export the whole conversation of each question, in order."),
    kind: Literal["markdown", "json"] = option(
        "markdown: readable, with numbered citations. json: the trace, to share; JSON lines for several.",
        "--format",
        default="markdown",
    ),
    out: Path | None = option("Write to this file instead of standard output (-).", metavar="FILE"),
) -> int:
    """Export past questions with their evidence. A JSON file can be opened elsewhere with `atomr history import`.

    Example: atomr history export 12 --format json --out frankenstein.json
    Example: atomr history export 12 --conversation --out frankenstein.md
    """
    from atomr_local.assistant.history.export import to_json, to_markdown
    from atomr_local.system.files import write_output

    _one_of(numbers, everything)
    if conversation and everything:
        raise click.UsageError("--conversation needs question numbers; --all already includes every conversation")
    with _opened() as opened:
        wanted = [item.id for item in reversed(opened.entries())] if everything else list(dict.fromkeys(numbers))
        if conversation and not everything:
            wanted = list(dict.fromkeys(kept.summary.id for number in wanted for kept in opened.conversation(number)))
        found, damaged = _readable(opened, wanted, skip=everything)
        earlier = opened.named(name for kept in found for name in kept.trace.took_from)
    several = everything or conversation or len(wanted) > 1
    if kind == "json":
        text = to_json(found, several=several)
    else:
        text = to_markdown(found, conversation=conversation and len(numbers) == 1, earlier=earlier)
    if out is not None:
        write_output(out, text)
        click.echo(f"{len(found)} exported to {sanitize_line(str(out))}", err=True)
    else:
        click.echo(text, nl=False)
    return 1 if damaged else 0


@command(history)
def import_(file: Path = argument()) -> None:
    """Import a trace file that another installation exported. Every field is checked first.

    Example: atomr history import frankenstein.json
    """
    from atomr_local.assistant.history.trace_import import read_traces

    traces = read_traces(file)
    with _opened() as opened:
        for trace in traces:
            number, new = opened.import_trace(trace)
            click.echo(f"{number:>5}  {'' if new else '(was here)  '}{sanitize_line(trace.question)}")


@command(history)
def delete(
    numbers: tuple[int, ...] = _NUMBERS,
    everything: bool = flag("Delete every kept question.", "--all"),
    yes: bool = yes(),
) -> None:
    """Delete past questions for good: their text is overwritten in the file.

    Example: atomr history delete 12 13 --yes
    """
    from atomr_local.assistant.history.opening import damaged_files

    _one_of(numbers, everything)
    what = "all past questions" if everything else f"{len(set(numbers))} of the past questions"
    confirm(yes, f"Delete {what} for good?", "deletion")
    with _opened() as opened:
        count, erased = opened.delete(None if everything else numbers)
        aside = damaged_files(opened.path) if everything else []
        directory = opened.path.parent
    click.echo(f"{count} deleted")
    if not erased:
        click.echo(
            "Another program has the history open. Their text is removed from the disk when that program closes.",
            err=True,
        )
    if aside:
        names = ", ".join(item.name for item in aside)
        click.echo(sanitize_line(f"Damaged files that were set aside are still in {directory}: {names}"), err=True)


@command(history)
def repair() -> int:
    """Check every kept question, and repair what is damaged.

    A damaged search index is rebuilt. If the file itself is damaged, every readable question is saved into a new file
    and the damaged one is kept beside it. Other commands do the same when they meet damage; this one looks
    for it. Exit status 1: some questions are damaged in themselves.

    Example: atomr history repair
    """
    with _opened() as opened:
        damaged = opened.check()
        kept = opened.count()
    click.echo(
        f"{kept} questions are kept, {'all of them intact' if not damaged else f'{len(damaged)} of them damaged'}."
    )
    if damaged:
        numbers = " ".join(map(str, damaged))
        click.echo(f"Damaged: {numbers}\n  → `atomr history delete {numbers} --yes` removes them.", err=True)
    return 1 if damaged else 0


def _one_of(numbers: Sequence[int], everything: bool) -> None:
    if bool(numbers) == everything:
        raise click.UsageError("give either numbers (see `atomr history list`) or --all")


def _readable(opened: History, wanted: Sequence[int], *, skip: bool) -> tuple[list[StoredQuestion], int]:
    """The questions; with `skip`, damaged ones are named on standard error and skipped."""
    found = []
    for number in wanted:
        try:
            found.append(opened.get(number))
        except AtomrError as error:
            if not skip:
                raise
            click.echo(sanitize(f"skipped: {error.message}"), err=True)
    return found, len(wanted) - len(found)
