"""Correcting: the plan as text, one step, other sources, an answer of one's own; examples kept and removed."""

from __future__ import annotations

import pytest
from support.tui.fake_assistant import PLAN, QUESTION, FakeAssistant
from support.tui.screens import answered, check_labels, done, screen_text, until
from textual.widgets import Checkbox, Input, Select, TextArea

from atomr_local.reasoning.planning.examples import read_examples
from atomr_local.reasoning.trace.events import planned
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.natural import is_natural
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.question.state import NodeView
from atomr_local.tui.screens.ask.plan_editor import NodeEditor, PlanEditor, StepChange
from atomr_local.tui.screens.examples import ExamplesScreen

SIZE = (120, 40)


async def test_the_plan_is_edited_with_live_validation_and_run() -> None:
    fake = FakeAssistant()
    async with answered(fake, size=SIZE) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PlanEditor))
        editor = app.screen.query_one(TextArea)
        assert editor.text == PLAN.rstrip()
        editor.load_text(PLAN.replace("Relate([3]", "Relate([7]"))
        await until(pilot, lambda: "✗" in screen_text(app))
        await pilot.press("ctrl+s")  # does nothing while the plan is wrong
        await pilot.pause()
        assert isinstance(app.screen, PlanEditor)
        editor.load_text(PLAN.replace("place of birth", "country of birth"))
        await until(pilot, lambda: "✓ 5 steps" in screen_text(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(fake.questions) == 2 and done(app))
        extras = fake.extras[1]
        assert "country of birth" in to_compact(extras["plan"])
        assert extras["plan_origin"] == "user"
        assert extras["revision"].rerun == frozenset()


@pytest.mark.slow
async def test_leaving_a_changed_plan_is_asked_about() -> None:
    fake = FakeAssistant()
    async with answered(fake, size=SIZE) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PlanEditor))
        app.screen.query_one(TextArea).insert("x")
        await pilot.press("escape")
        await until(pilot, lambda: "Leave the plan as it was?" in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, PlanEditor))
        await pilot.press("escape", "y")
        await until(pilot, lambda: app.screen is app.ask_screen)
        assert len(fake.questions) == 1


@pytest.mark.slow
async def test_one_step_is_edited_on_a_small_terminal_its_sources_and_answer_too() -> None:
    fake = FakeAssistant()
    async with answered(fake) as (app, pilot):
        app.ask_screen.view.select(4)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NodeEditor))
        screen = app.screen
        check_labels(app)
        assert screen.query_one("#step-arguments", Input).value == '[3], "director"'
        screen.query_one("#step-arguments", Input).value = "[3"
        await until(pilot, lambda: "✗" in screen_text(app))
        await pilot.press("ctrl+s")
        assert app.screen is screen
        screen.query_one("#step-arguments", Input).value = '[3], "screenwriter"'
        screen.query_one("#step-source-graph", Checkbox).value = False
        screen.query_one("#step-answer", Input).value = "Thea von Harbou; Fritz Lang"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(fake.questions) == 2 and done(app))
        revision = fake.extras[1]["revision"]
        assert '"screenwriter"' in to_compact(fake.extras[1]["plan"])
        assert revision.sources == {4: ("text",)}
        assert revision.answers == {4: ("Thea von Harbou", "Fritz Lang")}
        assert revision.rerun == frozenset({4})


async def test_a_plan_of_questions_alone_offers_no_operators() -> None:
    """Methods with such plans drop operators."""
    plan = "1. Who directed Metropolis?\n2. Where was [1] born?"
    app = AtomrApp(FakeAssistant())
    changes: list[StepChange | None] = []
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.ask_screen.loading_stage == "")
        tree = parse_compact(plan, QUESTION)
        limits = load_settings().limits
        app.push_screen(
            NodeEditor(tree, NodeView(tree.node(1), planned(tree, tree.node(1))), limits, ["text"]), changes.append
        )
        await until(pilot, lambda: "✓ can be run" in screen_text(app))
        assert not app.screen.query(Select) and "What the step does" not in screen_text(app)
        app.screen.query_one("#step-question", Input).value = "Who made Metropolis?"
        await pilot.pause()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(changes))
    [change] = changes
    assert change is not None and is_natural(change.tree)
    assert change.tree.node(1).question == "Who made Metropolis?"


@pytest.mark.slow
async def test_the_operator_of_a_step_can_be_changed() -> None:
    fake = FakeAssistant()
    async with answered(fake, size=SIZE) as (app, pilot):
        app.ask_screen.view.select(2)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NodeEditor))
        app.screen.query_one(Select).value = "Filter"
        app.screen.query_one("#step-arguments", Input).value = '[1], "born in Vienna"'
        await pilot.pause()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(fake.questions) == 2 and done(app))
        assert 'Filter([1], "born in Vienna")' in to_compact(fake.extras[1]["plan"])


@pytest.mark.slow
async def test_a_step_is_run_again() -> None:
    fake = FakeAssistant()
    async with answered(fake, size=SIZE) as (app, pilot):
        app.ask_screen.view.select(2)
        await pilot.press("r")
        await until(pilot, lambda: len(fake.questions) == 2 and done(app))
        assert fake.extras[1]["revision"].rerun == frozenset({2})
        assert fake.extras[1]["plan"] == parse_compact(PLAN, QUESTION)


@pytest.mark.slow
async def test_a_corrected_plan_is_kept_as_an_example_and_removed() -> None:
    fake = FakeAssistant()
    fake.trace_settings = {"text_index": "wiki,notes", "graph_index": "facts"}
    async with answered(fake, size=SIZE) as (app, pilot):
        await pilot.press("p", "f10")
        await until(pilot, lambda: len(read_examples(paths.examples_file())[0]) == 1)
        assert read_examples(paths.examples_file())[0][0].indexes == ("facts", "notes", "wiki")
        await pilot.press("escape", "f6")
        await until(pilot, lambda: isinstance(app.screen, ExamplesScreen) and QUESTION in screen_text(app))
        assert "Search" in screen_text(app)
        await pilot.press("d")
        await until(pilot, lambda: "Remove this example?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "None yet" in screen_text(app))
        assert read_examples(paths.examples_file())[0] == []
