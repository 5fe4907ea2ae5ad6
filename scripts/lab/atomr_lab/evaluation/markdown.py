"""Reports as Markdown. Text from outside is sanitised and cannot break a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.diagnosis import Stage
from atomr_lab.evaluation.runs import program_text, programs_of, write_file
from atomr_local.system.sanitize import sanitize_line

REPORT_FILE = "report.md"
_CHANGES_SHOWN = 20
_METRIC_NAMES = {
    "em": "EM",
    "cover_em": "cover-EM",
    "f1": "F1",
    "guess_f1": "F1 of guesses",
    "value_em": "EM, any form of date or number",
}
COST_NAMES = {
    "seconds": "seconds",
    "llm_calls": "LLM calls",
    "prompt_tokens": "prompt tokens",
    "evaluated_tokens": "evaluated tokens",
    "generated_tokens": "generated tokens",
}


def write_report(directory: Path, report: Mapping[str, Any]) -> Path:
    """Write the run's report.md and give its path."""
    path = directory / REPORT_FILE
    write_file(path, report_markdown(report))
    return path


def report_markdown(report: Mapping[str, Any]) -> str:
    """The whole report of one run."""
    run, cost, wrong = report["run"], report["cost"], report["diagnosis"]
    sections = [
        f"# Evaluation: {_cell(run['settings']['strategy'])}, {report['n']} questions",
        table(("what", "value"), _setting_rows(report)),
        "## Scores, in %, with 95% bootstrap intervals",
        table(
            ("metric", "value", "from", "to"),
            [
                (_METRIC_NAMES[metric], _figure(item["value"]), _figure(item["low"]), _figure(item["high"]))
                for metric, item in report["scores"].items()
            ],
        ),
        "## By type of question, in %",
        _by_table("type", report["by_type"]),
        *(["## By kind of question, in %", _by_table("kind", report["by_kind"])] if report["by_kind"] else []),
        "## What was answered, and what declined",
        table(("what", "figure"), _declining_rows(report)),
        *_plan_sections(report["plans"]),
        "## Cost, means a question",
        table(
            ("what", "mean"),
            [
                *((name, f"{cost[key]:,}") for key, name in COST_NAMES.items()),
                ("seconds, median", f"{cost['seconds_median']:,}"),
                ("seconds, longest", f"{cost['seconds_max']:,}"),
                *((f"retrievals, {source}", f"{count:,}") for source, count in cost["retrievals"].items()),
            ],
        ),
        "## What happened",
        table(
            ("what", "count"),
            [
                *((f"status: {name}", count) for name, count in report["status"].items()),
                *((f"answer rests on: {name}", count) for name, count in report["basis"].items()),
                *((f"plan: {name}", count) for name, count in report["plan_origin"].items()),
                *((f"nodes answered by: {name}", count) for name, count in report["nodes"]["methods"].items()),
                ("nodes with an error", report["nodes"]["errors"]),
                ("warnings", report["warnings"]["total"]),
            ],
        ),
        f"## Where the {wrong['wrong']} wrong answers went wrong",
        table(
            ("stage", "answers", "share"),
            [
                (stage, count, f"{100 * count / wrong['wrong']:.1f}%" if wrong["wrong"] else "–")
                for stage, count in wrong["stages"].items()
            ],
        ),
        "The rules are in `atomr_lab/evaluation/diagnosis.py`; each question's line is in diagnosis.jsonl.",
    ]
    if report["warnings"]["most_frequent"]:
        sections += [
            "## Most frequent warnings",
            table(("count", "warning"), [(n, text) for text, n in report["warnings"]["most_frequent"].items()]),
        ]
    return "\n\n".join(sections) + "\n"


def _by_table(head: str, figures: Mapping[str, Mapping[str, Any]]) -> str:
    names = ("em", "cover_em", "f1", "guess_f1", "precision", "coverage")
    return table(
        (head, "n", "EM", "cover-EM", "F1", "F1 of guesses", "precision", "coverage"),
        [(kind, item["n"], *(_figure(item[name]) for name in names)) for kind, item in figures.items()],
    )


def _declining_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    figures, told = report["declining"], report["confidence"]
    can, cannot = figures["answerable"], figures["unanswerable"]
    rows = [
        ("precision: F1 of the answers given, in %", with_interval(figures["precision"])),
        ("coverage: questions answered, in %", with_interval(figures["coverage"])),
        ("questions with an answer that were declined", f"{can['declined']} of {can['n']}"),
        ("right guesses that were declined", f"{can['right_declined']} of {can['right']} ({can['lost']:.1f}%)"),
    ]
    if cannot["n"]:
        share = f"{cannot['declined']} of {cannot['n']} ({cannot['share']:.1f}%)"
        rows.append(("questions without an answer that were declined", share))
    if told is not None:
        rows += [
            ("AUROC of confidence (right guesses against wrong ones)", with_interval(told["auroc"])),
            ("expected calibration error of confidence", with_interval(told["ece"])),
            ("coverage at 90% precision, in %", with_interval(told["coverage_at_90"])),
        ]
    return rows


def comparison_markdown(first: str, second: str, compared: Mapping[str, Any]) -> str:
    """What `compare_runs` returned: the scores, by type of question, the wrong answers' stages, wins and losses."""
    stages = compared["diagnosis"]
    sections = [
        f"{compared['n']} questions in common; in %, the difference with its paired 95% bootstrap interval",
        table(("metric", first, second, "difference", "p"), [*_compared_rows(compared), *_answered_rows(compared)]),
    ]
    if len(compared["by_type"]) > 1:
        rows = [
            (kind, figures["n"], *row)
            for kind, figures in compared["by_type"].items()
            for row in _compared_rows(figures, ("em", "f1", "guess_f1"))
        ]
        sections += ["By type of question", table(("type", "n", "metric", first, second, "difference", "p"), rows)]
    shown = [stage for stage in Stage if any(stages[side]["stages"][stage] for side in stages)]
    sections += [
        "Where wrong answers went wrong",
        table(
            ("stage", first, second),
            [
                *((stage, *(stages[side]["stages"][stage] for side in stages)) for stage in shown),
                ("wrong", *(stages[side]["wrong"] for side in stages)),
            ],
        ),
    ]
    for name, sign in (("wins", "better"), ("losses", "worse")):
        changes = compared[name]
        if changes:
            title = f"{len(changes)} {sign} in {second}"
            left_out = f", the {_CHANGES_SHOWN} largest changes" if len(changes) > _CHANGES_SHOWN else ""
            sections += [f"{title}{left_out}", _changes_table(first, second, changes[:_CHANGES_SHOWN])]
    return "\n\n".join(sections) + "\n"


def _compared_rows(
    figures: Mapping[str, Any], metrics: Iterable[str] = tuple(_METRIC_NAMES)
) -> Iterator[tuple[str, ...]]:
    for metric in metrics:
        item = figures[metric]
        difference = item["difference"]
        values = (_figure(item["first"]), _figure(item["second"]), with_interval(difference))
        yield (_METRIC_NAMES[metric], *values, f"{difference['p']:.4f}")


def _answered_rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    coverage, precision = figures["coverage"], figures["precision"]
    difference = coverage["difference"]
    values = (_figure(coverage["first"]), _figure(coverage["second"]), with_interval(difference))
    yield ("coverage: questions answered", *values, f"{difference['p']:.4f}")
    told = ("–" if precision[side] is None else _figure(precision[side]) for side in ("first", "second"))
    yield ("precision: F1 of the answers given", *told, "–", "–")


def _changes_table(first: str, second: str, changes: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for change in changes:
        answers = [change[side] for side in ("first", "second")]
        said = [f"{answer['predicted'] or '–'} ({100 * answer['f1']:.0f})" for answer in answers]
        rows.append((change["type"], change["question"], " / ".join(change["gold"]), *said))
    return table(("type", "question", "gold", first, second), rows)


def _plan_sections(plans: Mapping[str, Any] | None) -> list[str]:
    if plans is None:
        return []
    rows = [
        (name, plans[over], with_interval(plans[key]))
        for key, name, over in (
            ("plans_valid", "valid", "n"),
            ("plans_valid_at_once", "valid at the first attempt", "n"),
            ("plan_structure_equal", "operators joined as in the gold plan", "with_gold"),
            ("plan_operators_equal", "operators as often as in the gold plan", "with_gold"),
        )
        if plans[key] is not None
    ]
    rows += [
        (f"operators joined as in the gold plan: {kind}", item["n"], with_interval(item["plan_structure_equal"]))
        for kind, item in (plans["by_type"].items() if len(plans["by_type"]) > 1 else ())
    ]
    return ["## Plans, in %, with 95% bootstrap intervals", table(("what", "plans", "share"), rows)]


def _setting_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    run = report["run"]
    programs = "; ".join(map(program_text, programs_of(run)))
    rows = [("program", programs), ("questions", _plain(run["questions"]))]
    rows.append(("plans", _plain(run["plans"] or "made by the model")))
    made_with = report["made_with"]
    for used in made_with:
        asked = f" ({used['questions']} questions)" if len(made_with) > 1 else ""
        rows += [(f"{key}{asked}", _plain(value)) for key, value in used.items() if key != "questions"]
    return rows


def _figure(value: float) -> str:
    return f"{value:.2f}"


def with_interval(item: Mapping[str, float]) -> str:
    """A value with the ends of its interval."""
    return f"{item['value']:.2f} [{item['low']:.2f}, {item['high']:.2f}]"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    return "–" if value is None or value == "" else str(value)


def _cell(value: Any) -> str:
    return sanitize_line(str(value))[:300].replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)
