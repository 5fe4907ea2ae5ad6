"""`atomr questions`: make, check and review questions that need a text and a graph index."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atomr_local.cli.completion import graph_indexes, text_indexes
from atomr_local.cli.options import model_and_adapter, overrides
from atomr_local.cli.output import announce_remote, note, print_json
from atomr_local.cli.question_review import run_review
from atomr_local.errors import Cancelled, WebDisabledError
from atomr_local.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atomr_local.assistant import Assistant
    from atomr_local.cancellation import Cancellation
    from atomr_local.question_making.journal import Decisions
    from atomr_local.question_making.making import Step, Yield
    from atomr_local.question_making.web import WebSearch
    from atomr_local.settings.schema import Settings

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


@questions.command()
@click.option("--out", type=_FILE, required=True, help="Directory of the questions; an existing run is resumed.")
@click.option("--number", type=click.IntRange(1, 10_000), default=50, show_default=True, metavar="N", help="How many.")
@click.option(
    "--bridges", metavar="LIST", callback=_some(_BRIDGES),
    help="text-graph, graph-text; with --web also graph-web, text-web. Default: all of them.",
)  # fmt: skip
@click.option("--forms", metavar="LIST", callback=_some(_FORMS), help="short, yes/no, count. Default: all of them.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which pages come first.")
@click.option(
    "--pages", type=click.IntRange(min=1), default=20_000, show_default=True, metavar="N", help="Pages read at most."
)
@click.option(
    "--per-relation", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
    help="So many questions may have the same relation, even if that is more than a tenth of them.",
)  # fmt: skip
@click.option("--rephrase", is_flag=True, help="Have the model put questions in other words that pass the checks.")
@model_and_adapter
@click.option("--text-index", metavar="NAME", shell_complete=text_indexes, help="Text index.")
@click.option("--graph-index", metavar="NAME", shell_complete=graph_indexes, help="Graph index.")
@click.option("--web/--no-web", default=None, help="Search the web for names from your indexes.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def make(
    *,
    out: Path,
    number: int,
    bridges: tuple[str, ...],
    forms: tuple[str, ...],
    seed: int,
    pages: int,
    per_relation: int,
    rephrase: bool,
    web: bool | None,
    as_json: bool,
    **options: str | None,
) -> None:
    """Make questions whose answer needs both indexes.

    Each is made of a fact that a page states and a triple of the graph that share an entity. Kept are those that the
    model answers with both sources, and not with one of them or without any. Run the same command again to resume.

    Example: atomr questions make --out mine --text-index papers --graph-index people --number 100
    """
    from atomr_local.assistant import Assistant
    from atomr_local.cancellation import Cancellation
    from atomr_local.cli.terminal import interrupt
    from atomr_local.question_making.hops import WEB_BRIDGES
    from atomr_local.question_making.journal import QUESTIONS_FILE, deciding
    from atomr_local.question_making.making import Making, Wanted
    from atomr_local.question_making.near import NearValues
    from atomr_local.question_making.opening import description, nearness_by, open_knowledge
    from atomr_local.question_making.trials import Trials, trial_settings
    from atomr_local.settings.schema import load_settings

    settings = trial_settings(load_settings(**overrides(**options, web=web, sources=("text", "graph"))))
    asked: Any = bridges or (_BRIDGES if web else _BRIDGES[:_LOCAL])
    if set(WEB_BRIDGES) & set(asked) and not settings.web.enabled:
        raise WebDisabledError("graph-web and text-web search the web", hint="Add --web, or leave them out.")
    chosen: Any = forms or _FORMS
    wanted = Wanted(number, tuple(asked), tuple(chosen), seed, pages, per_relation)
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
                with deciding(out, description(settings, wanted, rephrase=rephrase)) as decisions:
                    told = _telling_queries(decisions)
                    trials = Trials(assistant, on_warning=_repeated(_warn), on_web_query=told)
                    searched = _web(assistant, cancellation, told) if set(WEB_BRIDGES) & set(asked) else None
                    alike = nearness_by(assistant.parts.ranking(assistant.parts.sources))
                    near = NearValues(knowledge, lambda: knowledge.passages.openings(seed, pages), alike)
                    making = Making(
                        knowledge,
                        trials,
                        near,
                        wanted,
                        decisions,
                        web=searched.facts if searched is not None else None,
                        rephrase=_rephrasing(assistant) if rephrase else None,
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
    if as_json:
        print_json(found.to_dict(number))
    else:
        _tell(found, number)
    note(f"The questions are in {out / QUESTIONS_FILE}")


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
    from atomr_local.question_making.lines import questions_of
    from atomr_local.question_making.opening import index_names_beside, open_knowledge
    from atomr_local.question_making.supported import unsupported
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
    from atomr_local.question_making.web import WebSearch
    from atomr_local.sources.web import SEARCH_HOST

    note(f"Names from your indexes leave this machine → {SEARCH_HOST} (--web).")
    source = assistant.parts.chosen((), True, lambda _what, to, query: on_web_query(to, query or ""))["web"]
    return WebSearch(source, cancellation)


def _rephrasing(assistant: Assistant) -> Callable[..., str]:
    from atomr_local.errors import InputError
    from atomr_local.question_making.rephrasing import Rephrasing

    if assistant.parts.style == "lean":
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
    from atomr_local.question_making.limits import RELATION_FULL

    told = found.to_dict(number)
    lines = [f"{told['kept']} of {number} questions made"]
    for title, name in (("made", "forms"), ("across", "kinds"), ("dropped", "dropped"), ("left out", "left out")):
        for what, count in told[name].items():
            lines.append(f"  {title:9} {count:>6}  {what}")
    lines.append(f"  {'of':9} {sum(told['candidates'].values()):>6}  candidates")
    click.echo(sanitize("\n".join(lines)))
    if found.left_out[RELATION_FULL] and found.forms.total() < number:
        note("A larger --per-relation allows more questions of one relation.")
