"""`atomr questions`: make, check and review questions that need a text and a graph index."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.assistant.wishes import flag, option, parameters
from atomr_local.cli.completion import graph_indexes, text_indexes
from atomr_local.cli.options import ModelChoice, command, overrides
from atomr_local.cli.output import announce_remote, note, print_json
from atomr_local.errors import Cancelled, WebDisabledError
from atomr_local.system.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atomr_lab.question_making.hops import Line
    from atomr_lab.question_making.knowledge import WebSearch
    from atomr_lab.question_making.making import Decisions, Step, Yield
    from atomr_lab.question_making.reviewing import Decision, Review
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.settings.schema import Settings
    from atomr_local.system.cancellation import Cancellation


# `atomr questions review`: one question after the other in the terminal, line by line.

_KEYS = "a accept · r revise · x reject · s skip · b back · q quit"


def run_review(file: Path, *, again: bool) -> None:
    """Review the questions of a file.

    Raises:
        InputError: the file, or the decisions beside it, cannot be read or written.
    """
    from atomr_lab.question_making.hops import questions_of
    from atomr_lab.question_making.reviewing import reviewing

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
    from atomr_lab.question_making.reviewing import Decision

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
    from atomr_lab.question_making.reviewing import GROUNDS, Decision

    click.echo(" · ".join(f"{number} {ground}" for number, ground in enumerate(GROUNDS, 1)))
    said = sanitize_line(click.prompt("Reason (a number or words)", default="", show_default=False))
    reason = {str(number): ground for number, ground in enumerate(GROUNDS, 1)}.get(said, said)
    if not reason:
        click.echo("A rejected question needs a reason.")
        return None
    return Decision(line.id, "rejected", reason)


def _revised(line: Line, review: Review) -> Decision | None:
    """Other words for the question, and other answers; None if they are no good."""
    from atomr_lab.question_making.hops import outdated
    from atomr_lab.question_making.reviewing import Decision, revision_problem

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


_FILE = click.Path(path_type=Path)
_BRIDGES = ("text-graph", "graph-text", "graph-web", "text-web")
_FORMS = ("short", "yes/no", "count")
_LOCAL = 2  # of the bridges
_OFTEN = 10


def _some(known: Sequence[str]) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...]]:
    def read(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...]:
        named = tuple(dict.fromkeys(part.strip() for part in (value or "").split(",") if part.strip()))
        if value is not None and (not named or any(name not in known for name in named)):
            raise click.BadParameter(f"{value!r:.80} is not a list of {', '.join(known)}")
        return named

    return read


@click.group()
def questions() -> None:
    """Make, check and review questions that need both text and graph.

    Example: atomr questions make --out mine --number 50
    """


@parameters
class MakeWish:
    """Which questions are made, of what, and where they are kept."""

    out: Path = option("Directory of the questions; an existing run is resumed.", required=True)
    number: int = option("How many.", type=click.IntRange(1, 10_000), default=50, metavar="N")
    bridges: tuple[str, ...] = option(
        "text-graph, graph-text; with --web also graph-web, text-web. Default: all of them.",
        metavar="LIST", callback=_some(_BRIDGES),
    )  # fmt: skip
    forms: tuple[str, ...] = option(
        "short, yes/no, count. Default: all of them.", metavar="LIST", callback=_some(_FORMS)
    )
    seed: int = option("Which pages come first.", type=click.IntRange(min=0), default=0, show_default=True)
    pages: int = option("Pages read at most.", type=click.IntRange(min=1), default=20_000, metavar="N")
    per_relation: int = option(
        "So many questions may have the same relation, even if that is more than a tenth of them.",
        type=click.IntRange(min=1), default=3, metavar="N",
    )  # fmt: skip
    rephrase: bool = flag("Have the model put questions in other words that pass the checks.")
    chosen: ModelChoice
    text_index: str | None = option("Text index.", metavar="NAME", shell_complete=text_indexes)
    graph_index: str | None = option("Graph index.", metavar="NAME", shell_complete=graph_indexes)
    web: bool | None = option("Search the web for names from your indexes.")
    as_json: bool = flag("Print the counts as JSON.", "--json")


@command(questions)
def make(wish: MakeWish) -> None:
    """Make questions whose answer needs both indexes.

    Each is made of a fact that a page states and a triple of the graph that share an entity. Kept are those that the
    model answers with both sources, and not with one of them or without any. Run the same command again to resume.

    Example: atomr questions make --out mine --text-index papers --graph-index people --number 100
    """
    from atomr_lab.question_making.hops import WEB_BRIDGES
    from atomr_lab.question_making.knowledge import NearValues
    from atomr_lab.question_making.making import QUESTIONS_FILE, Making, Trials, Wanted, deciding, trial_settings
    from atomr_lab.question_making.reviewing import description, nearness_by, open_knowledge
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.cli.output import interrupt
    from atomr_local.settings.schema import load_settings
    from atomr_local.system.cancellation import Cancellation

    read = {"text_index": wish.text_index, "graph_index": wish.graph_index, "sources": ("text", "graph")}
    settings = trial_settings(load_settings(**overrides(**vars(wish.chosen), **read, web=wish.web)))
    asked: Any = wish.bridges or (_BRIDGES if wish.web else _BRIDGES[:_LOCAL])
    if set(WEB_BRIDGES) & set(asked) and not settings.web.enabled:
        raise WebDisabledError("graph-web and text-web search the web", hint="Add --web, or leave them out.")
    forms: Any = wish.forms or _FORMS
    wanted = Wanted(wish.number, tuple(asked), tuple(forms), wish.seed, wish.pages, wish.per_relation)
    _check_indexes(settings)
    announce_remote(settings)
    cancellation = Cancellation()
    with Assistant.open(settings) as assistant:

        def stop() -> None:
            cancellation.cancel()
            assistant.cancel()

        with interrupt(stop):
            assistant.preload(lambda stage: note(f"… {stage}"))
            names = assistant.parts.index_names
            knowledge = open_knowledge(names["text"], names["graph"])
            try:
                with deciding(wish.out, description(settings, wanted, rephrase=wish.rephrase)) as decisions:
                    told = _telling_queries(decisions)
                    trials = Trials(assistant, on_warning=_repeated(_warn), on_web_query=told)
                    searched = _web(assistant, cancellation, told) if set(WEB_BRIDGES) & set(asked) else None
                    alike = nearness_by(assistant.parts.ranking(assistant.parts.sources))
                    near = NearValues(knowledge, lambda: knowledge.passages.openings(wish.seed, wish.pages), alike)
                    making = Making(
                        knowledge,
                        trials,
                        near,
                        wanted,
                        decisions,
                        web=searched.facts if searched is not None else None,
                        rephrase=_rephrasing(assistant) if wish.rephrase else None,
                        on_step=_show,
                        cancellation=cancellation,
                    )
                    if decisions.kept or decisions.dropped:
                        note(f"{len(decisions.kept)} questions are made and {len(decisions.dropped)} ruled out already")
                    found = making.run()
            except Cancelled:
                note("What was decided is kept. Run the same command again to resume.")
                raise
            finally:
                knowledge.close()
    if wish.as_json:
        print_json(found.to_dict(wish.number))
    else:
        _tell(found, wish.number)
    note(f"The questions are in {wish.out / QUESTIONS_FILE}")


@questions.command()
@click.argument("file", type=_FILE)
@click.option(
    "--text-index",
    metavar="NAME",
    shell_complete=text_indexes,
    help="Text index (default: the one that they were made from).",
)
@click.option(
    "--graph-index",
    metavar="NAME",
    shell_complete=graph_indexes,
    help="Graph index (default: the one that they were made from).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(file: Path, text_index: str | None, graph_index: str | None, as_json: bool) -> int:
    """Tell which questions the indexes no longer support. Exit status 1 if there are any.

    A page or triple may be gone, or say something else since an index was built again. What the web said is not looked
    for again. A question that was revised so that its facts do not answer it has none to check.

    Example: atomr questions check mine/questions.jsonl
    """
    from atomr_lab.question_making.hops import questions_of
    from atomr_lab.question_making.reviewing import index_names_beside, open_knowledge, unsupported
    from atomr_local.settings.schema import load_settings

    lines = questions_of(file)
    made_from = index_names_beside(file)
    settings = load_settings()
    text = text_index or made_from.get("text") or settings.text_index
    graph = graph_index or made_from.get("graph") or settings.graph_index
    knowledge = open_knowledge(text, graph)
    try:
        found = list(unsupported(lines, knowledge))
    finally:
        knowledge.close()
    bare = sum(not line.hops for line in lines)
    if as_json:
        told = [{"id": one.line.id, "question": one.line.question, "problems": list(one.problems)} for one in found]
        print_json({"questions": len(lines), "unsupported": told, "without_facts": bare})
    else:
        for one in found:
            click.echo(sanitize_line(f"✗ {one.line.id} {one.line.question}"))
            for problem in one.problems:
                click.echo(f"    {sanitize_line(problem)}")
        click.echo(f"{len(lines) - len(found) - bare} of {len(lines)} questions are supported.")
        if bare:
            click.echo(f"Without facts to check, since they were revised: {bare}.")
    return 1 if found else 0


@questions.command()
@click.argument("file", type=_FILE)
@click.option("--again", is_flag=True, help="Begin with the first question, also where it was decided.")
def review(file: Path, again: bool) -> None:
    """Go through the questions: accept, revise or reject each.

    Decisions are kept beside FILE at once, and the next review goes on where this one ends.
    What was accepted is written beside it: questions.accepted.jsonl for questions.jsonl.

    Example: atomr questions review mine/questions.jsonl
    """
    run_review(file, again=again)


def _check_indexes(settings: Settings) -> None:
    """Tell of an index that is not there, or that is private, before a model is loaded.

    Raises:
        KnowledgeIndexError: there is none of this name, or it is not clear which is meant.
        InputError: one is private, and its words would leave this machine.
    """
    from atomr_local.sources.privacy import check_private
    from atomr_local.sources.registry import find_source

    for name in settings.sources:
        find_source(name).readiness(settings)
    check_private(settings, settings.sources, web=settings.web.enabled)


def _telling_queries(decisions: Decisions) -> Callable[[str, str], None]:
    """Shows a query of the web and keeps it beside the questions."""

    def tell(to: str, query: str) -> None:
        note(sanitize_line(f"web query → {to}: {query}"))
        decisions.searched(to, query)

    return tell


def _web(assistant: Assistant, cancellation: Cancellation, on_web_query: Callable[[str, str], None]) -> WebSearch:
    from atomr_lab.question_making.knowledge import WebSearch
    from atomr_local.sources.web import SEARCH_HOST

    note(f"Names from your indexes leave this machine → {SEARCH_HOST} (--web).")
    source = assistant.parts.chosen((), True, lambda _what, to, query: on_web_query(to, query or ""))["web"]
    return WebSearch(source, cancellation)


def _rephrasing(assistant: Assistant) -> Callable[..., str]:
    from atomr_lab.question_making.reviewing import Rephrasing
    from atomr_local.errors import InputError

    if assistant.parts.skills.style == "lean":
        raise InputError(
            "the model's adapter was trained on other tasks: it cannot rephrase questions",
            hint="Leave --rephrase out, or choose a larger model, or --adapter none.",
        )
    return Rephrasing(assistant.model_tools, lambda question: assistant.plan(question).tree)


def _warn(warning: str) -> None:
    note(sanitize_line(f"! {warning}"))


def _repeated(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Tells a warning once, when it has come so often that it is not about one question: a part that is missing."""
    counts: Counter[str] = Counter()

    def count(text: str) -> None:
        counts[text] += 1
        if counts[text] == _OFTEN:
            tell(text)

    return count


def _show(step: Step) -> None:
    """A line for each question that was asked about."""
    what = f"dropped, {step.reason}" if step.reason else "kept"
    note(f"[{step.kept}/{step.wanted}] {step.asked} asked · {what}: {step.question} → {step.answers[0]}")


def _tell(found: Yield, number: int) -> None:
    """The counts, for people."""
    from atomr_lab.question_making.making import RELATION_FULL

    told = found.to_dict(number)
    lines = [f"{told['kept']} of {number} questions made"]
    for title, name in (("made", "forms"), ("across", "kinds"), ("dropped", "dropped"), ("left out", "left out")):
        for what, count in told[name].items():
            lines.append(f"  {title:9} {count:>6}  {what}")
    lines.append(f"  {'of':9} {sum(told['candidates'].values()):>6}  candidates")
    click.echo(sanitize("\n".join(lines)))
    if found.left_out[RELATION_FULL] and found.forms.total() < number:
        note("A larger --per-relation allows more questions of one relation.")
