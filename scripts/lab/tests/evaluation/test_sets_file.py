"""The file of `atomr eval matrix`: what it means, and what is said where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from atomr_lab.evaluation.datasets import read_sets
from atomr_lab.evaluation.matrix import arms
from support.eval_fakes import write_lines
from support.places import SCRIPTS

from atomr_local.errors import AtomrError, InputError
from atomr_local.settings.schema import FeatureSettings
from atomr_local.strategies.options import checked_options
from atomr_local.strategies.registry import all_strategies

GOOD = """
[[sets]]
name = "one"
questions = "qa/questions.jsonl"
last_fifth = true
text_index = "wiki"
graph_index = "facts"
note = "a set"

[[sets]]
name = "two"
questions = "other.jsonl"
sources = ["text"]
offset = 1
limit = 2

[[ablations]]
name = "atomr-no-rival"
strategy = "atomr"
settings.features.rival = false
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_sets_and_ablations(tmp_path: Path) -> None:
    file = read_sets(write(tmp_path / "sets.toml", GOOD))
    one, two = file.sets
    assert (one.name, one.asked_sources, one.note) == ("one", ("text", "graph"), "a set")
    assert two.asked_sources == ("text",)
    assert [(item.name, item.settings) for item in file.ablations] == [
        ("atomr-no-rival", {"features": {"rival": False}})
    ]


def test_which_questions_are_asked(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "qa").mkdir(parents=True)
    lines = [{"id": f"q{n}", "question": f"Question {n}?", "answers": ["a"]} for n in range(11)]
    write_lines(data / "qa" / "questions.jsonl", *lines)
    write_lines(tmp_path / "other.jsonl", *lines)
    file = read_sets(write(tmp_path / "sets.toml", GOOD))
    one, two = file.sets
    path = file.questions_file(one, [tmp_path, data])
    assert path == data / "qa" / "questions.jsonl"
    assert one.first(path) == 8  # 11 * 4 // 5, as in scripts/bench
    assert [question.id for question in one.load(path)] == ["q8", "q9", "q10"]
    assert [question.id for question in one.load(path, 2)] == ["q8", "q9"]
    beside = file.questions_file(two)
    assert [question.id for question in two.load(beside, 5)] == ["q1", "q2"]
    with pytest.raises(InputError, match=r"the questions of the set one are not there: .*qa/questions\.jsonl"):
        file.questions_file(one)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no set"),
        ("[[sets]\n", "not valid TOML"),
        ('sets = "a"', "sets is no list of tables"),
        ("[[set]]\nname = 'a'", "'set' is unknown"),
        ("[[sets]]\nname = 'a'\ntext_index = 'x'", r"\[\[sets\]\] number 1 \(a\): questions: "),
        ("[[sets]]\nname = 'a'\nquestions = 'q'", r"number 1 \(a\): .*name a text_index, a graph_index or sources"),
        ("[[sets]]\nname = 'a/b'\nquestions = 'q'\ntext_index = 'x'", "cannot name a directory"),
        ("[[sets]]\nname = '..'\nquestions = 'q'\ntext_index = 'x'", "cannot name a directory"),
        ("[[sets]]\nname = 'a'\nquestions = 'q'\ntext = 'x'", "text: there is no such setting"),
        ("[[sets]]\nname = 'a'\nquestions = 'q'\nsources = ['paper']", "'paper' is none of"),
        ("[[sets]]\nname = 'a'\nquestions = 'q'\ntext_index = 'x'\noffset = -1", "offset: -1 is not usable"),
        ("[[sets]]\nname = 'a'\nquestions = 'q'\ntext_index = 'x'\n" * 2, r"number 2 \(a\): the name is there twice"),
        (GOOD + "[[ablations]]\nname = 'x'\nstrategy = 'rag'", "nothing is changed"),
        (GOOD + "[[ablations]]\nname = 'x'\nstrategy = 'rag'\nsettings.sources = []", "settings.sources cannot be"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(AtomrError, match=said):
        read_sets(write(tmp_path / "sets.toml", text))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_sets(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="cannot be read: it is a directory"):
        read_sets(tmp_path)


def test_the_sets_that_the_documentation_measures() -> None:
    file = read_sets(SCRIPTS / "bench" / "matrix.toml")
    assert [item.name for item in file.sets] == [
        "2wiki-text", "2wiki", "2wiki-split", "2wiki-split-one-side", "cross", "hotpot", "musique"
    ]  # fmt: skip
    found = all_strategies()
    for ablation in file.ablations:
        strategy = found.get(ablation.strategy)
        if strategy is not None:
            checked_options(strategy, ablation.options)
    arms(file, [item.name for item in file.ablations if item.strategy in found])


def test_every_switch_that_is_off_has_an_ablation_that_turns_it_on() -> None:
    file = read_sets(SCRIPTS / "bench" / "matrix.toml")
    switches = {name for name, field in FeatureSettings.model_fields.items() if field.default is False}
    turned_on = {
        name
        for ablation in file.ablations
        if ablation.strategy == "atomr"
        for name, on in ablation.settings.get("features", {}).items()
        if on
    }
    assert turned_on == switches == {"write_queries", "vote", "other_source"}
