"""The pane of a step begins with what its answer rests on; step numbers, the user's own answers and doubts are shown."""

from __future__ import annotations

from dataclasses import replace

from support.tui.fake_assistant import QUESTION, FakeAssistant, answered_trace, finished, passage, script
from support.tui.screens import SMALL, answered, ask, done, opened, screen_text, until

from atomr_local.reasoning.trace.events import AnswerReady, Event, EvidenceFound, WarningRaised
from atomr_local.sources.protocol import SourceName
from atomr_local.tui.question.correction import replay
from atomr_local.tui.widgets.answer_panel import AnswerPanel
from atomr_local.tui.widgets.node_panel import Fold, NodePanel, verdict

LONG = "It was made in Babelsberg. " * 12 + "Metropolis was directed by Fritz Lang. " + "It is long. " * 30


def with_results(*results: Event, before: int = -1) -> list[Event]:
    """The script with other results after its own."""
    events: list[Event] = script()
    events[before:before] = results
    return events


async def test_question_answer_and_first_evidence_are_seen_together_on_a_small_terminal() -> None:
    events = [
        replace(event, evidence=(passage("e1", LONG),))
        if isinstance(event, EvidenceFound) and event.node_id == 3
        else event
        for event in script()
    ]
    async with opened(FakeAssistant(events)) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: done(app) and "The answer is Vienna." in screen_text(app))
        for number, sentence in ((0, "Fritz Lang — place of birth: Vienna."), (4, "directed by Fritz Lang.")):
            app.ask_screen.view.select(number)
            await pilot.pause()
            text = screen_text(app)
            assert QUESTION in text
            assert "The answer is Vienna." in text
            assert sentence in text
            pane = text[text.index("Evidence ·") :]
            assert pane.index(sentence) < pane.index("✓ well supported (0.90) · ")
            assert "▸ details" in pane
            assert "measured" not in pane
        assert "… Metropolis was directed by Fritz Lang. …" in text  # the one sentence, not the passage
        assert app.query_one(NodePanel).scroll_offset.y == 0


async def test_a_line_unfolds_and_folds_in_its_place() -> None:
    events = with_results(finished(2, "Vienna", ("e2",), signals={"link": 0.5}))
    async with answered(FakeAssistant(events), size=(120, 40)) as (app, pilot):
        app.ask_screen.view.select(2)
        panel = app.query_one(NodePanel)
        panel.focus()
        panel.go_to("e2")
        assert "SELECT ?value" not in screen_text(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "SELECT ?value" in screen_text(app))
        assert "▾ asked the graph for: place of birth of Fritz Lang" in screen_text(app)
        assert isinstance(panel.highlighted_option, Fold)
        await pilot.press("enter")
        await until(pilot, lambda: "SELECT ?value" not in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "measured: name found in the graph 50%" in screen_text(app))
        assert app.screen is app.ask_screen


async def test_steps_are_numbered_in_the_tree() -> None:
    async with answered(size=SMALL) as (app, _):
        for told in (
            "▼ ● Vienna",
            "1 ● Fritz Lang",
            "3 ● Search Metropolis",
            "4 ● Relate Fritz Lang",
            "2 ● Relate Vienna",
        ):
            assert told in screen_text(app)


async def test_used_by_follows_what_ends_after_the_step_that_is_shown() -> None:
    fake = FakeAssistant(with_results(finished(2, "Vienna", ("e2",)), before=-3), hold=len(script()) - 2)
    async with opened(fake, size=(120, 40)) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: 2 in app.ask_screen.state.nodes and bool(app.ask_screen.state.nodes[2].result))
        app.ask_screen.view.select(2)
        await pilot.pause()
        assert "used by" not in screen_text(app)
        fake.released.set()
        await until(pilot, lambda: done(app))
        assert "used by step 2 and the answer" in screen_text(app)


async def test_an_answer_of_the_users_own_is_marked_as_theirs_everywhere() -> None:
    own = finished(2, "Linz", ("e2",), method=None, confidence=1.0, supported=None, cited=())
    root = finished(0, "Linz", (), method="child", computation="answer of [2]", supported=None)
    async with answered(FakeAssistant([*script()[:-1], own, root, script()[-1]]), size=(120, 40)) as (app, pilot):
        app.ask_screen.view.select(2)
        await pilot.pause()
        text = screen_text(app)
        assert "2 ✎ Relate Linz (your answer)" in text
        assert "your answer: Linz" in text
        assert "✎ your answer" in text
        assert "Rests on ✎ your answer to step 2." in app.query_one(AnswerPanel)._source
        assert "Fritz Lang (graph)" not in app.query_one(AnswerPanel)._source
        assert app.query_one(AnswerPanel).has_class("-your-answer")
        app.ask_screen.view.select(0)
        await pilot.pause()
        assert "▼ ✎ Linz (your answer)" in screen_text(app)
        assert "✎ your answer · taken from step 2" in screen_text(app)
        trace = answered_trace()
        trace.nodes[0].computation, trace.nodes[0].cited = "answer of [2]", []
        given = next(node for node in trace.nodes if node.id == 2)
        given.method, given.cited = None, []
        assert replay(trace).nodes[0].by_user  # also where the root stands first
        assert app.query_one(AnswerPanel)._source.startswith("**The answer is Vienna\\.**   ✎ your answer")


async def test_doubts_stand_beside_the_answer() -> None:
    """What no step asks about, an answer of another kind, and a passage that does not contain it."""
    wrong = finished(0, "76 km", ("e2",), supported=False, signals={"type_fit": 0.0}, confidence=0.2)
    events = [*script()[:-1], WarningRaised(message="the plan leaves out 1927"), wrong,
              AnswerReady(status="answered", answer="The answer is 76 km.", answers=("76 km",), confidence=0.2,
                          basis="evidence")]  # fmt: skip
    async with answered(FakeAssistant(events), size=(120, 40)) as (app, _):
        said = app.query_one(AnswerPanel)._source.replace("\\", "").split("\n\n")
        assert said == [
            "**The answer is 76 km.** [[e2]](evidence:e2)  ⚠ not sure (0.20)",
            "⚠ No step asks about 1927: the answer may not fit it.",
            "⚠ This is not the kind of answer asked for.",
            "⚠ The cited passage does not contain this answer.",
            "Rests on Fritz Lang (graph).",
        ]
        told = verdict(app.ask_screen.state.nodes[0]).plain
        assert "⚠ not the kind of answer asked for · ✗ the cited passage does not contain this answer" in told
        assert "▼ ● 76 km ⚠" in screen_text(app)


async def test_other_pieces_come_after_with_their_rank() -> None:
    more = (replace(passage("e7", "Vienna is large."), score=0.2), replace(passage("e8", "Vienna is old."), score=0.4))
    found = EvidenceFound(node_id=2, source=SourceName.TEXT, evidence=more)
    result = finished(2, "Vienna", ("e2", "e7", "e8"), cited=("e2",))
    async with answered(FakeAssistant(with_results(found, result, before=-2)), size=(120, 40)) as (app, pilot):
        app.ask_screen.view.select(2)
        await pilot.pause()
        text = screen_text(app)
        assert text.index("place of birth: Vienna.") < text.index("ALSO FOUND: TEXT") < text.index("Vienna is large.")
        assert "rank 3" in text  # e1 and e8 stand before it for the same query
        assert "score" not in text
