"""The tables of a matrix of runs as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atomr_local.evaluation.markdown import table
from atomr_local.evaluation.matrix_table import compared_pairs
from atomr_local.evaluation.stages import Stage
from atomr_local.sanitize import sanitize_line

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
            table(_head(f"− {name}" for name in baselines), [_line(row, baselines) for row in rows]),
        ]
    if ablations:
        sections += [
            f"Ablations, each against its strategy; Holm over {_tests(ablations)}.",
            table(
                _head(["− strategy", "changed"]), [[*_line(row, [row["strategy"]]), _changed(row)] for row in ablations]
            ),
        ]
    every = [*rows, *(row for row in ablations if "changed" in row)]
    shown = [stage for stage in Stage if any(row["stages"][stage] for row in every)]
    sections += [
        "Where wrong answers went wrong (rules: `atomr_local/evaluation/diagnosis.py`)",
        table(
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
        sections.append(table(("name", "note"), notes))
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
        *(_difference(row["against"].get(name), row["n"]) for name in against),
    ]


def _difference(item: Mapping[str, Any] | None, n: int) -> str:
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
