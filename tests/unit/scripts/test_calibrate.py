"""Fitting confidences: what is learnt from rows, and what becomes of it in a card."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from training.calibration import fitting, report
from training.calibration import rows as measuring

from atomr_local.reasoning.confidence import Calibration, LogisticModel

Row = dict[str, Any]


def row(number: int, source: random.Random) -> Row:
    """Verify tells right from wrong, the reading hardly does; direct RAG is right more seldom."""

    def answer(share: float, **more: Any) -> Row:
        right = source.random() < share
        verify = min(max(source.gauss(0.75 if right else 0.3, 0.15), 0.01), 0.99)
        signals = {"reading": source.random(), "verify": verify, "leaves": source.random(), "named": 0.0}
        signals |= {"link": source.random()} if number % 2 else {}
        return {"answer": "a", "f1": float(right), "right": right, "signals": signals, **more}

    tree = answer(0.6)
    direct = answer(0.4, same=tree["right"] and source.random() < 0.5)
    return {
        "question": f"q{number}", "mix": "x@text", "kind": "", "answerable": True, "way": "tree",
        "tree": tree, "direct": direct, "steps": [],
    }  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    source = random.Random(1)
    return [row(number, source) for number in range(160)]


def test_what_tells_right_from_wrong_is_weighed_and_survives_a_card(rows: list[Row]) -> None:
    fitted = fitting.calibration(rows)
    weights = {term.name: term.coefficient for term in fitted.tree.terms}
    assert weights["verify"] > 0.5
    assert all(weight >= 0 for name, weight in weights.items() if name in {"reading", "leaves", "link", "rival"})
    assert "named" not in weights  # always alike
    read = LogisticModel.from_card(fitting.written(fitted.tree))
    assert read is not None
    signals = rows[0]["tree"]["signals"]
    assert read.probability(signals) == pytest.approx(fitted.tree.probability(signals), abs=0.01)
    assert fitted.step == Calibration().step  # nothing to learn them from


def test_the_cross_validated_report_sees_the_signal_and_ablation_misses_it(rows: list[Row]) -> None:
    folded = fitting.cross_validated(rows)
    assert len(folded) == len(rows)
    whole = fitting.of_outcomes(fitting.outcomes(folded, 0.7))
    without = fitting.cross_validated(rows, frozenset({"verify", "verified"}))
    assert whole.auroc > 0.9 > 0.75 > fitting.of_outcomes(fitting.outcomes(without, 0.7)).auroc
    assert whole.ece < 0.12
    assert fitting.alone(rows, "tree", "verify") > 0.9
    assert fitting.alone(rows, "tree", "named") is None


def test_at_the_bound_declined_right_answers_and_given_wrong_ones_are_fewest() -> None:
    right, wrong = [(0.4, True), (0.62, True), (0.8, True), (0.9, True)], [(0.1, False), (0.3, False), (0.58, False)]
    assert fitting.accepted(right + wrong) == 0.35  # as good as 0.6, and declines less
    assert fitting.accepted([*right, *wrong, (0.57, False)]) == 0.6
    assert fitting.accepted(right) == 0.0


def test_a_fit_keeps_what_another_script_has_in_the_card(
    tmp_path: Path, rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter, kept = tmp_path / "a.gguf", tmp_path / "rows.jsonl"
    adapter.write_bytes(b"weights")
    pointed = {"features": ["null"], "coefficients": [-1.0], "intercept": 0.5}
    card = {"calibration": {"model": {"pointed": pointed, "tree": {}}, "accept": 0.1, "accept_pointed": 0.7}}
    adapter.with_suffix(".json").write_text(json.dumps(card), encoding="utf-8")
    kept.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["calibrate.py", "--adapter", str(adapter), "--rows", str(kept)])
    report.main()
    written = json.loads(adapter.with_suffix(".json").read_text("utf-8"))["calibration"]
    assert (written["model"]["pointed"], written["accept_pointed"]) == (pointed, 0.7)
    assert written["model"]["tree"]["features"] and written["accept"] != 0.1


def test_the_likelier_answer_stands_and_without_an_answer_there_is_no_confidence(rows: list[Row]) -> None:
    by = fitting.calibration(rows, sure=2.0)
    good, bad = {"verify": 0.97, "reading": 0.5, "leaves": 0.5}, {"verify": 0.05, "reading": 0.5, "leaves": 0.5}
    one = rows[0] | {
        "tree": {"answer": "a", "f1": 0.0, "right": False, "signals": bad},
        "direct": {"answer": "b", "f1": 1.0, "right": True, "signals": good, "same": False},
    }
    assert fitting.outcome(one, by).right
    swapped = one | {"tree": one["tree"] | {"signals": good}, "direct": one["direct"] | {"signals": bad}}
    assert not fitting.outcome(swapped, by).right
    nothing = one | {"way": "nothing", "tree": one["tree"] | {"answer": ""}}
    assert not fitting.outcome(nothing, by).answered


def test_knots_are_monotone_and_a_card_takes_them(rows: list[Row]) -> None:
    fitted = fitting.calibration(rows)
    told = [(fitted.tree.probability(s), right) for s, right, _ in fitting.samples(rows, "tree")]
    model = fitting.isotonic(fitted.tree, told)
    assert LogisticModel.from_card(fitting.written(model)) is not None
    shares = [y for _, y in model.knots]
    assert shares == sorted(shares) and shares[0] < 0.3 < 0.8 < shares[-1]


def test_sets_name_their_index_and_sources(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "a?", "corpus": "one"}\n{"question": "b?", "corpus": "two"}\n', encoding="utf-8")
    parse = measuring.QuestionSet.parse
    assert {index: len(found) for index, found in parse(str(path)).groups(9).items()} == {"one": 1, "two": 1}
    only = parse(f"{path}:two@graph+text")
    assert list(only.groups(9)) == ["two"] and only.sources_of("two") == ("graph", "text")


def test_every_answer_to_an_unanswerable_question_is_wrong() -> None:
    assert measuring.gold_of({"answers": ["x"], "answerable": False}) == []
    assert measuring.judged("x", []) == {"answer": "x", "f1": 0.0, "right": False}
    assert measuring.judged("", ["x"])["right"] is False
    assert measuring.judged("6 May 1912", ["1912-05-06"])["right"]
    all_ = measuring.gold_of({"kind": "lists", "answers": ["Ann", "Bob", "Cy"]})
    assert measuring.judged("Ann, Bob, Cy", all_)["f1"] == 1.0
    assert measuring.judged("Ann", all_)["f1"] == 0.5
