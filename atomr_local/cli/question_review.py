"""`atomr questions review`: one question after the other in the terminal, line by line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atomr_local.cli.output import note
from atomr_local.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from atomr_local.question_making.lines import Line
    from atomr_local.question_making.reviewing import Decision, Review

_KEYS = "a accept · r revise · x reject · s skip · b back · q quit"


def run_review(file: Path, *, again: bool) -> None:
    """Review the questions of a file.

    Raises:
        InputError: the file, or the decisions beside it, cannot be read or written.
    """
    from atomr_local.question_making.lines import questions_of
    from atomr_local.question_making.reviewing import reviewing

    lines = questions_of(file)
    with reviewing(file, lines) as review:
        place = 0 if again else review.place
        if 0 < place < len(lines):
            note(f"Going on with question {place + 1} of {len(lines)}.")
        elif place == len(lines):
            note("Every question is decided; --again begins with the first.")
        try:
            while place < len(lines):
                line = lines[place]
                click.echo(question_text(line, place, len(lines), review.decisions.get(line.id)))
                move = _decide(line, review)
                if move is None:
                    break
                place = max(0, place + move)
        except (click.Abort, EOFError):
            click.echo()
        finally:
            written = review.write_accepted()
        counts = review.counts()
        click.echo(" · ".join(f"{count} {verdict}" for verdict, count in counts.items()))
        note(f"Accepted questions are in {written}")


def question_text(line: Line, place: int, number: int, decision: Decision | None) -> str:
    """The question with both facts and where they stand, sanitised."""
    parts = ["", f"── {place + 1} of {number} · {line.form} · {line.bridge} · {line.id}"]
    parts += [f"   {line.question}", f"   → {' | '.join(line.answers)}"]
    for count, hop in enumerate(line.hops, 1):
        parts.append(f"   {count}. {hop.source}: {hop.head} — {hop.relation}: {', '.join(hop.tails)}")
        if hop.source != "graph":
            parts.append(f"      “{hop.said}”")
        parts.append(
            f"      {hop.evidence[0]}" + (f" and {len(hop.evidence) - 1} more" if len(hop.evidence) > 1 else "")
        )
    if decision is not None:
        said = f"   decided: {decision.verdict}"
        parts.append(said + (f" ({decision.reason})" if decision.reason else ""))
        if decision.verdict == "revised":
            parts.append(f"   now: {decision.question} → {' | '.join(decision.answers)}")
    return "\n".join(sanitize_line(part) if not part.startswith(" ") else _indented(part) for part in parts)


def _indented(part: str) -> str:
    depth = len(part) - len(part.lstrip())
    return " " * depth + sanitize_line(part)


def _decide(line: Line, review: Review) -> int | None:
    """Ask for a decision and keep it; how many questions to go on, None to end."""
    from atomr_local.question_making.reviewing import Decision

    while True:
        key = click.prompt(_KEYS, default="", show_default=False, prompt_suffix="\n> ").strip().lower()[:1]
        if key == "a":
            review.decide(Decision(line.id, "accepted"))
            return 1
        if key in ("x", "r"):
            try:
                decision = _rejected(line) if key == "x" else _revised(line, review)
            except click.Abort:  # Ctrl-C leaves the decision open; a second one ends the review
                click.echo("\nNothing is decided.")
                continue
            if decision is not None:
                review.decide(decision)
                return 1
        elif key == "s":
            return 1
        elif key == "b":
            return -1
        elif key == "q":
            return None
        else:
            click.echo("Type one of the letters.")


def _rejected(line: Line) -> Decision | None:
    from atomr_local.question_making.reviewing import GROUNDS, Decision

    click.echo(" · ".join(f"{number} {ground}" for number, ground in enumerate(GROUNDS, 1)))
    said = sanitize_line(click.prompt("Reason (a number or words)", default="", show_default=False))
    reason = {str(number): ground for number, ground in enumerate(GROUNDS, 1)}.get(said, said)
    if not reason:
        click.echo("A rejected question needs a reason.")
        return None
    return Decision(line.id, "rejected", reason)


def _revised(line: Line, review: Review) -> Decision | None:
    """Other words for the question, and other answers; None if they are no good."""
    from atomr_local.question_making.reviewing import Decision, revision_problem
    from atomr_local.question_making.revised import outdated

    earlier = review.decisions.get(line.id)
    question, answers = line.question, line.answers
    if earlier is not None and earlier.verdict == "revised":
        question, answers = earlier.question, earlier.answers
    asked = sanitize_line(_edited("Question", sanitize_line(question)))
    told = _edited("Answers, with | between them", sanitize_line(" | ".join(answers)))
    given = tuple(answer for part in told.split("|") if (answer := sanitize_line(sanitize(part))))
    if (asked, given) == (line.question, line.answers):
        click.echo("Nothing is changed: accept the question with a.")
        return None
    reason = sanitize_line(click.prompt("Why (may be empty)", default="", show_default=False))
    if problem := revision_problem(line, asked, given):
        click.echo(sanitize_line(f"Not kept: {problem}."))
        return None
    if changed := outdated(line, asked, given):
        click.echo(sanitize_line(f"The gold plan and the facts are left out of the accepted question: {changed}."))
    return Decision(line.id, "revised", reason, asked, given)


def _edited(label: str, text: str) -> str:
    """The text as the user leaves it: in the line to be edited where the terminal can, else as the default."""
    try:
        import readline
    except ImportError:  # Windows
        return str(click.prompt(label, default=text))
    if not sys.stdin.isatty():
        return str(click.prompt(label, default=text))
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return str(click.prompt(label, default=text, show_default=False))
    finally:
        readline.set_startup_hook()
