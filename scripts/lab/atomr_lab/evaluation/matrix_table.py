"""The figures of a matrix of runs: scores, paired differences to the baselines, cost, and stages of wrong answers.

A directory holds SET/ARM/run.json, as `atomr eval matrix` writes it. Without its cell.json a run's directory says set
and arm, and its description the strategy; it counts as whole then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atomr_lab.evaluation.datasets import Prediction
from atomr_lab.evaluation.diagnosis import Diagnosis, Stage, count_stages, diagnose
from atomr_lab.evaluation.markdown import table as markdown_table
from atomr_lab.evaluation.matrix import read_cell
from atomr_lab.evaluation.metrics import holm, mean_interval, paired_difference
from atomr_lab.evaluation.report import (
    Pair,
    Usage,
    checked_trace,
    metric_values,
    pairs_of,
    question_of_prediction,
    scored,
)
from atomr_lab.evaluation.runs import RUN_FILE, RunDirectory, program_text, programs_of
from atomr_local.errors import InputError
from atomr_local.system.sanitize import sanitize_line

SCHEMA = "atomr.eval-table/1"
BASELINES = ("rag", "atomr")
_SHOWN_METRICS = ("em", "f1", "guess_f1")
_LAST = 1_000_000  # place of a run that has none

Differences = dict[tuple[Path, Path], dict[str, Any] | None]
"""Differences of F1 by the runs that they are from and to."""


@dataclass(frozen=True)
class Run:
    """One run of the matrix.

    Attributes:
        asked: how many questions it is to answer; None if that is not known.
        changed: what an ablation changes; None for a strategy as it is.
    """

    path: Path
    set: str
    arm: str
    strategy: str
    asked: int | None
    changed: Mapping[str, Any] | None
    place: tuple[int, int]
    notes: tuple[str, str]
    description: Mapping[str, Any]


def matrix_figures(directory: Path, baselines: Sequence[str] = BASELINES) -> dict[str, Any]:
    """The figures of all runs in the directory that have answered something.

    Returns:
        {"schema", "programs", "baselines", "model", "sets": {name: {"note", "questions"}}, "notes": {arm: note},
        "rows", "ablations"}. "programs" has each version of the program, in words, with the number of runs that name
        it. A row has "set", "arm", "strategy", "n", "asked", "whole", "em", "f1", "guess_f1" (each value, low, high, in
        %), "cost" (means a question), "unknown" (share of questions, in %), "failed" (number), "supported" (share of
        the "checked" answers, in %; yes, no and what is computed cannot be checked so), "wrong", "stages", and
        "against": {baseline: None or {"n", "value", "low", "high", "p", "p_holm"}}: of F1, over the questions that both
        runs answered, p_holm corrected over the pairs of runs that "rows" compare. A pair of two baselines stands in
        both their rows, and counts once. In "ablations" a strategy stands before its ablations, and "against" is of the
        strategy itself, corrected over that table.

    Raises:
        InputError: there is no run, or one is damaged.
    """
    runs = sorted(find_runs(directory), key=lambda run: (run.place[0], run.set, run.place[1], run.arm))
    if not runs:
        raise InputError(
            f"{directory} contains no run that has answered a question",
            hint="Name a directory that `atomr eval matrix --out` has written.",
        )
    rows = {(run.set, run.arm): _row(run) for run in runs}
    full = [run for run in runs if run.changed is None]
    places = {(run.set, run.arm): run.path for run in full}
    main, ablated = [], []
    known: Differences = {}
    for run in full:
        others = {name: places.get((run.set, name)) for name in baselines}
        main.append({**rows[run.set, run.arm], "against": _against(run, others, known)})
    for run in full:
        below = [
            other for other in runs if (other.set, other.strategy) == (run.set, run.arm) and other.changed is not None
        ]
        if below:
            ablated.append({**rows[run.set, run.arm], "against": {}})
            ablated += [
                {
                    **rows[other.set, other.arm],
                    "changed": other.changed,
                    "against": _against(other, {run.arm: run.path}, known),
                }
                for other in below
            ]
    alone = [run for run in runs if run.changed is not None and (run.set, run.strategy) not in places]
    ablated += [{**rows[run.set, run.arm], "changed": run.changed, "against": {run.strategy: None}} for run in alone]
    for table in (main, ablated):
        _correct(table)
    return {
        "schema": SCHEMA,
        "programs": dict(Counter(text for run in runs for text in map(program_text, programs_of(run.description)))),
        "baselines": list(baselines),
        "model": _models(runs),
        "sets": {run.set: {"note": run.notes[0], "questions": run.description["questions"]} for run in runs},
        "notes": {run.arm: run.notes[1] for run in runs if run.notes[1]},
        "rows": main,
        "ablations": ablated,
    }


def find_runs(directory: Path) -> Iterator[Run]:
    """The runs that have answered something.

    Raises:
        InputError: one is damaged.
    """
    for file in sorted(directory.glob(f"*/*/{RUN_FILE}")):
        path = file.parent
        run, cell = RunDirectory(path), read_cell(path) or {}
        if not run.predictions_file.exists() or not run.predictions():
            continue
        description = run.description()
        try:
            strategy = str(description["settings"]["strategy"])
            row, column = cell.get("place", (_LAST, _LAST))
            changed = cell.get("ablation")
            yield Run(
                path,
                str(cell.get("set", path.parent.name)),
                str(cell.get("arm", path.name)),
                strategy,
                int(cell["asked"]) if "asked" in cell else None,
                changed if "arm" in cell else None if path.name == strategy else {},
                (int(row), int(column)),
                (str(cell.get("set_note", "")), str(cell.get("arm_note", ""))),
                description,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} holds no evaluation run that can be read ({error!r})") from error


def _row(run: Run) -> dict[str, Any]:
    directory = RunDirectory(run.path)
    predictions = directory.predictions()
    usage, diagnoses = _usage(directory, {item.id: item for item in predictions})
    figures = usage.to_dict()
    support = figures["support"]
    checked = support.get("supported", 0) + support.get("not supported", 0)
    can = scored(predictions)
    n = len(predictions)
    return {
        "set": run.set,
        "arm": run.arm,
        "strategy": run.strategy,
        "n": n,
        "asked": run.asked if run.asked is not None else n,
        "whole": run.asked is None or n >= run.asked,
        **{metric: asdict(mean_interval(metric_values(can, metric))) for metric in _SHOWN_METRICS},
        "cost": figures["cost"],
        "unknown": round(100 * figures["status"].get("unknown", 0) / n, 2),
        "failed": figures["status"].get("failed", 0),
        "supported": round(100 * support.get("supported", 0) / checked, 2) if checked else None,
        "checked": checked,
        "wrong": len(diagnoses),
        "stages": count_stages(diagnoses),
    }


def _usage(run: RunDirectory, predictions: Mapping[str, Prediction]) -> tuple[Usage, list[Diagnosis]]:
    usage, diagnoses = Usage(), list[Diagnosis]()
    for trace in run.traces():
        prediction = predictions.get(trace["id"])
        if prediction is None:
            continue
        with checked_trace(run, trace):
            usage.add(trace)
            found = diagnose(question_of_prediction(run.path, prediction), trace)
        if found is not None:
            diagnoses.append(found)
    return usage, diagnoses


def _against(run: Run, others: Mapping[str, Path | None], known: Differences) -> dict[str, dict[str, Any] | None]:
    """The difference of F1 to each of these runs; None for itself and for one that is not there.

    Args:
        known: differences between runs, which are added to: one of two baselines is resampled once, so that both rows
            show the same p.
    """
    found: dict[str, dict[str, Any] | None] = {}
    for name, path in others.items():
        if path is None or path == run.path:
            found[name] = None
        elif (run.path, path) in known:
            found[name] = _mirrored(known[run.path, path])
        else:
            found[name] = known[path, run.path] = _difference(path, run.path)
    return found


def _mirrored(item: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The difference seen from the other run."""
    if item is None:
        return None
    return {**item, "value": 0.0 - item["value"], "low": 0.0 - item["high"], "high": 0.0 - item["low"]}


def _difference(base: Path, path: Path) -> dict[str, Any] | None:
    try:
        pairs = pairs_of(base, path)
    except InputError:  # nothing in common, or other questions under the same ids
        return None
    with_answer: Sequence[Pair] = [pair for pair in pairs if pair[0].answerable] or pairs
    first, second = (metric_values([pair[side] for pair in with_answer], "f1") for side in (0, 1))
    return {"n": len(with_answer), **asdict(paired_difference(first, second))}


def compared_pairs(rows: Iterable[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
    """The differences of a table by the pair of runs that they compare: one of each, or one in each row of the pair."""
    pairs: dict[tuple[str, frozenset[str]], list[dict[str, Any]]] = {}
    for row in rows:
        for name, item in row["against"].items():
            if item is not None:
                pairs.setdefault((row["set"], frozenset((row["arm"], name))), []).append(item)
    return list(pairs.values())


def _correct(rows: Sequence[Mapping[str, Any]]) -> None:
    """Add each difference's p as corrected for the number of pairs that the table compares."""
    pairs = compared_pairs(rows)
    for items, level in zip(pairs, holm([items[0]["p"] for items in pairs]), strict=True):
        for item in items:
            item["p_holm"] = level


def _models(runs: Sequence[Run]) -> list[str]:
    """Model and adapter of the runs, each combination once."""
    found: dict[str, None] = {}
    for run in runs:
        settings = run.description["settings"]
        found[f"{settings.get('model')}, adapter {settings.get('adapter')}"] = None
    return list(found)


# The tables of a matrix of runs as Markdown.


# In the words of the methods that go step by step; the others' stages are in the reports of single runs, too.
_STAGES = {
    Stage.PLANNING: "no valid plan, or one that does not ask for a hop",
    Stage.STEP: "a wrong follow-up (self-ask), sentence (ircot), action (react), query (dsp, searchain), rationale "
    "(cok) or sub-question (probtree, roht)",
    Stage.STOPPED: "no step was taken, or none after the one that told the hop before",
    Stage.LINKING: "another entity was taken for the one in the question",
    Stage.RETRIEVAL: "it was asked for and not found",
    Stage.READING: "it was found and not read, or misread",
    Stage.REASONING: "every hop was right, what was made of them is not",
    Stage.FINAL: "every hop was told, the final answer is another",
    Stage.FORM: "right in another form, such as a date written otherwise",
    Stage.MODEL: "from the model's own knowledge",
    Stage.DECLINED: "the guess was right, and was not given",
    Stage.ANSWERED: "there is no answer, and one was given",
}


def matrix_markdown(figures: Mapping[str, Any]) -> str:
    """What `matrix_figures` returned."""
    rows, ablations, baselines = figures["rows"], figures["ablations"], figures["baselines"]
    programs = figures["programs"]
    told = [f"{text} ({_runs(count)})" if len(programs) > 1 else text for text, count in programs.items()]
    sections = [f"Program: {sanitize_line('; '.join(told))}", f"Model: {sanitize_line('; '.join(figures['model']))}"]
    if rows:
        sections += [
            "EM and F1 in %, with 95% bootstrap intervals. Differences are of F1, paired by question over those that "
            f"both runs answered; p is corrected after Holm over the {_tests(rows)} compared, the bare "
            "p in brackets. Calls, tokens, retrievals and seconds are means a question; unknown: share of the "
            "questions; supported: share of the checked answers that stand in the evidence they cite (yes, no and "
            "what is computed cannot be checked so).",
            markdown_table(_head(f"− {name}" for name in baselines), [_line(row, baselines) for row in rows]),
        ]
    if ablations:
        sections += [
            f"Ablations, each against its strategy; Holm over {_tests(ablations)}.",
            markdown_table(
                _head(["− strategy", "changed"]), [[*_line(row, [row["strategy"]]), _changed(row)] for row in ablations]
            ),
        ]
    every = [*rows, *(row for row in ablations if "changed" in row)]
    shown = [stage for stage in Stage if any(row["stages"][stage] for row in every)]
    sections += [
        "Where wrong answers went wrong (rules: `atomr_lab/evaluation/diagnosis.py`)",
        markdown_table(
            ("set", "strategy", "n", "wrong", *shown),
            [
                (row["set"], row["arm"], row["n"], row["wrong"], *(row["stages"][stage] for stage in shown))
                for row in every
            ],
        ),
    ]
    if legend := [f"{stage}: {_STAGES[stage]}" for stage in shown if stage in _STAGES]:
        sections.append("; ".join(legend) + ".")
    notes = [(name, item["note"]) for name, item in figures["sets"].items() if item["note"]]
    notes += list(figures["notes"].items())
    if notes:
        sections.append(markdown_table(("name", "note"), notes))
    if any(not row["whole"] for row in every):
        sections.append("Rows with “n of m” are incomplete: run the same command again to go on.")
    return "\n\n".join(sections) + "\n"


def _head(differences: Iterable[str]) -> list[str]:
    return [
        "set", "strategy", "n", "EM", "F1", "F1 of guesses", "LLM calls", "evaluated tokens", "generated tokens",
        "retrievals", "seconds", "unknown", "supported", *differences,
    ]  # fmt: skip


def _line(row: Mapping[str, Any], against: Sequence[str]) -> list[str]:
    cost = row["cost"]
    return [
        row["set"],
        row["arm"],
        str(row["n"]) if row["whole"] else f"{row['n']} of {row['asked']}",
        _interval(row["em"]),
        _interval(row["f1"]),
        f"{row['guess_f1']['value']:.1f}",
        f"{cost['llm_calls']:.1f}",
        f"{cost['evaluated_tokens']:,.0f}",
        f"{cost['generated_tokens']:,.0f}",
        f"{sum(cost['retrievals'].values()):.1f}",
        f"{cost['seconds']:.1f}",
        f"{row['unknown']:.0f}%",
        "–" if row["supported"] is None else f"{row['supported']:.0f}% of {row['checked']}",
        *(_difference_cell(row["against"].get(name), row["n"]) for name in against),
    ]


def _difference_cell(item: Mapping[str, Any] | None, n: int) -> str:
    if item is None:
        return "–"
    over = "" if item["n"] == n else f", n {item['n']}"
    levels = f"p {_level(item['p_holm'])} ({_level(item['p'])})"
    return f"{item['value']:+.1f} [{item['low']:.1f}, {item['high']:.1f}], {levels}{over}"


def _level(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _interval(item: Mapping[str, float]) -> str:
    return f"{item['value']:.1f} [{item['low']:.1f}, {item['high']:.1f}]"


def _changed(row: Mapping[str, Any]) -> str:
    changed = row.get("changed")
    if changed is None:
        return "–"
    options = [f"{row['strategy']}.{key} = {_value(value)}" for key, value in changed.get("options", {}).items()]
    return "; ".join([*options, *_settings(changed.get("settings", {}))]) or "other settings"


def _settings(values: Mapping[str, Any], before: str = "") -> list[str]:
    found = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            found += _settings(value, f"{before}{key}.")
        else:
            found.append(f"{before}{key} = {_value(value)}")
    return found


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def _tests(rows: Iterable[Mapping[str, Any]]) -> str:
    number = len(compared_pairs(rows))
    return f"{number} pair{'s' if number != 1 else ''} of runs"
