"""The table of operator skeletons: what counts as right, and how lines are added up."""

from __future__ import annotations

import json
from pathlib import Path

from support.fake_parts import FakeBackbone, FakeSource, entity, rows, toolbox
from support.script_loader import load_script

from atomr_local.strategies.registry import find_strategy
from atomr_local.strategies.roht.strategy import RoHTOptions, own_tables
from atomr_local.tree.compact import parse_compact

make_skeletons = load_script("make_skeletons")
QUESTION = "Where was the director of Emma Road born?"
PLAN = '1. Who directed Emma Road? = Relate("Emma Road", "director")\n2. Where was [1] born? = Relate([1], "place of birth")'
RECORD = {
    "question": QUESTION,
    "answers": ["York"],
    "evidences": [["Emma Road", "director", "Ann Lee"], ["Ann Lee", "place of birth", "York"]],
}


def test_the_graphs_answer_to_each_question_is_judged() -> None:
    found = {
        "Emma Road": rows("Emma Road", entity("Emma Road")),
        "Emma Road director": rows("Emma Road", entity("Ann Lee")),
        "Ann Lee place of birth": rows("Ann Lee", entity("Ulm")),
    }
    tools = toolbox(QUESTION, FakeBackbone(), FakeSource("graph", found), options=RoHTOptions(scheduler=False))
    find_strategy("roht").run(QUESTION, parse_compact(PLAN, QUESTION), "file", tools)
    tools.recorder.trace.settings.update(model="m", adapter=None)
    row = make_skeletons.row_of(tools.recorder.trace, RECORD)
    assert row["judged"] == [["Search-Relate-Relate", False], ["Search-Relate", True], ["Search-Relate", False]]
    assert (row["model"], row["adapter"]) == ("m", None)


def test_lines_add_up_beside_the_tables_of_other_models(tmp_path: Path) -> None:
    file = tmp_path / "tables.json"
    other = {"model": "other", "adapter": "a", "questions": 1, "note": "", "skeletons": {}}
    file.write_text(json.dumps({"tables": [other]}))
    judged = [["Search-Relate", True], ["Search-Relate", False], ["Search", True]]
    line = {"question": "Where?", "model": "m", "adapter": None, "judged": judged}
    make_skeletons.write_table([line, line | {"judged": judged[:1]}], "made so", file)
    made = json.loads(file.read_text())["tables"]
    assert made[0] == other and made[1]["questions"] == 2 and made[1]["note"] == "made so"
    assert made[1]["skeletons"] == {
        "Search-Relate": {"answered": 3, "right": 2}, "Search": {"answered": 1, "right": 1},
    }  # fmt: skip


def test_the_table_of_a_users_own_model_is_one_that_the_strategy_reads(tmp_path: Path) -> None:
    file = tmp_path / "models" / "skeletons.json"
    line = {"question": "Where?", "model": "m", "adapter": None, "judged": [["Search", True]] * 6}
    make_skeletons.write_table([line], "", file)
    assert own_tables(file)["m", None].precision("Search") == 1.0
