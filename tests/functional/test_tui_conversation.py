"""Questions that go on with one another: what the next one follows, how it was understood, looking back, beginning anew."""

from __future__ import annotations

import pytest
from support.history_fakes import a_trace
from support.tui.fake_assistant import PLAN, QUESTION, FakeAssistant, script
from support.tui.screens import SIZES, ask, asking, done, opened, screen_text, until
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from atomr_local.assistant.history.store import History
from atomr_local.reasoning.trace.events import AnswerReady, Event, QuestionAsked, QuestionUnderstood
from atomr_local.settings.schema import Settings
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.screens.ask.windows import RewordScreen
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.welcome import Transcript, UnderstoodLine

STANDALONE = "Who is the mother of Fritz Lang?"


def follow_up(
    typed: str, meant: str, took: tuple[str, ...] = ("trace1",), answer: str = "Pauline", conversation: str = "trace1"
) -> list[Event]:
    answers = (answer,) if answer else ()
    return [
        QuestionAsked(question=typed, strategy="atomr", settings={}),
        QuestionUnderstood(understood_as=meant, took_from=took, conversation=conversation),
        *script(meant, PLAN)[2:-1],
        AnswerReady(status="answered" if answer else "unknown", answer=answer, answers=answers, confidence=None,
                    basis="evidence", reason="" if answer else "No page says so."),
    ]  # fmt: skip


async def turn(pilot: Pilot[None], question: str, events: list[Event] | None = None) -> None:
    app = pilot.app
    await until(pilot, lambda: app.ask_screen.widgets_mounted and app.ask_screen.loading_stage == "")
    if events is not None:
        app.assistant.events = events
    count = len(app.assistant.questions)
    await ask(pilot, question)
    await until(pilot, lambda: len(app.assistant.questions) > count and done(app))


async def two_turns(pilot: Pilot[None]) -> None:
    await turn(pilot, QUESTION)
    await turn(pilot, "and his mother?", follow_up("and his mother?", STANDALONE))


def transcript(app: AtomrApp) -> list[str]:
    """The lines of the conversation that are seen."""
    region = app.query_one(Transcript).region
    return screen_text(app).splitlines()[region.y : region.bottom]


@pytest.mark.parametrize("size", SIZES)
async def test_a_question_goes_on_with_the_conversation_and_says_what_it_took_from_where(size: tuple[int, int]) -> None:
    fake = FakeAssistant()
    async with opened(fake, size=size) as (app, pilot):
        await turn(pilot, QUESTION)
        assert fake.extras[0]["conversation"] is None
        assert not app.query_one(Transcript).display, "one answer is on the screen as it is"
        assert not app.query_one(UnderstoodLine).display
        await turn(pilot, "and his mother?", follow_up("and his mother?", STANDALONE))
        conversation = fake.extras[1]["conversation"]
        assert [(one.question, one.answer) for one in conversation.turns] == [(QUESTION, "Vienna")]
        text = " ".join(screen_text(app).split())
        assert f"Understood as: {STANDALONE} · from “{QUESTION}”" in text
        lines = transcript(app)
        assert "→ Vienna" in lines[0]
        assert lines[0].rstrip().endswith("answered"), "how it ended"
        assert "Where was the director" in lines[0]
        assert "▸" in lines[1]
        assert "→ Pauline" in lines[1]
        await turn(pilot, "How high is it?", follow_up("How high is it?", "How high is it?", (), ""))
        assert not app.query_one(UnderstoodLine).display, "a new topic needs no line"
        assert "→ not found" in transcript(app)[2]
        assert len(fake.extras[2]["conversation"].turns) == 2


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_a_long_conversation_leaves_the_answer_its_room(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        for number in range(7):
            await turn(pilot, f"Question {number} of a long line of words that does not end before the screen does?")
        lines = transcript(app)
        assert len(lines) == (3 if size[1] < 26 else 6)
        assert "▸" in lines[-1]
        assert all("→ Vienna" in line for line in lines)
        assert "The answer is Vienna" in screen_text(app)


@pytest.mark.slow
async def test_an_earlier_answer_opens_and_the_next_question_goes_on_with_all() -> None:
    fake = FakeAssistant()
    async with opened(fake) as (app, pilot):
        await two_turns(pilot)
        await pilot.press("t")
        assert app.focused is app.query_one(Transcript)
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.ask_screen.state.record.question == QUESTION)
        assert "The answer is Vienna. [e2]" in screen_text(app)
        assert not app.ask_screen.state.replayed, "what the model was shown is still at hand"
        assert "▸" in transcript(app)[0]
        assert str(app.query_one(QuestionBox).placeholder).startswith(f"Asked: {QUESTION} · ")
        await turn(pilot, "why?", follow_up("why?", "Why?"))
        assert len(fake.extras[-1]["conversation"].turns) == 2


async def test_a_running_question_stays_in_its_conversation() -> None:
    fake = FakeAssistant(hold=6)
    async with asking(fake) as (app, pilot):
        await pilot.press("ctrl+n")
        assert app.ask_screen.state.running
        await pilot.press("escape")
        await until(pilot, lambda: done(app))
        assert [turn.status for turn in app.ask_screen.conversation.turns] == ["cancelled"]
        assert app.ask_screen.conversation.context() is None, "what was cancelled has no answer to refer to"


@pytest.mark.slow
async def test_a_whole_conversation_goes_on_with_what_was_reworded_and_ends_with_a_new_one() -> None:
    fake = FakeAssistant()
    async with opened(fake) as (app, pilot):
        assert not app.ask_screen.check_action("new_conversation", ())
        await two_turns(pilot)
        text = " ".join(screen_text(app).split())
        assert f"Understood as: {STANDALONE} · from “{QUESTION}”" in text
        assert "press Esc, then w to reword" in text
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, RewordScreen))
        line = app.screen.query_one(Input)
        assert line.value == STANDALONE
        await pilot.press("backspace", "?")  # what stands there is edited, not typed over
        assert line.value == STANDALONE
        line.value = meant = "Who is the mother of Thea von Harbou?"
        fake.events = follow_up("and his mother?", meant, (), answer="Clotilde")
        await pilot.press("enter")
        await until(pilot, lambda: len(fake.questions) == 3 and done(app))
        assert fake.questions[2] == "and his mother?"
        assert fake.extras[2]["understood"] == meant
        assert [one.answer for one in fake.extras[2]["conversation"].turns] == ["Vienna"]
        assert f"Understood as: {meant}" in " ".join(screen_text(app).split())
        assert len(transcript(app)) == 2, "it takes the place of what it was before"
        assert "→ Clotilde" in transcript(app)[1]
        await pilot.press("w", "escape")
        await pilot.pause()
        assert len(fake.questions) == 3
        await turn(pilot, "when?", follow_up("when?", "When was Clotilde born?", ("trace3",), "1863"))
        earlier = fake.extras[3]["conversation"]
        assert [one.question for one in earlier.turns] == [QUESTION, meant], "as it was reworded"
        assert [one.answer for one in earlier.turns] == ["Vienna", "Clotilde"]
        assert fake.extras[3].get("understood") is None, "what was said of one question is not said of the next"
        await pilot.press("ctrl+n")
        assert not app.query_one(UnderstoodLine).display
        assert not app.query_one(Transcript).display
        assert app.focused is app.query_one(QuestionBox)
        assert app.query_one(QuestionBox).value == ""
        assert app.ask_screen.conversation.turns == []
        await turn(pilot, "and hers?", script("and hers?"))
        assert fake.extras[4]["conversation"] is None
        assert not app.query_one(UnderstoodLine).display
        await turn(pilot, "why?", follow_up("why?", "Why hers?", ("trace5",), conversation="trace5"))
        afresh = fake.extras[5]["conversation"]
        assert (afresh.id, len(afresh.turns)) == ("trace5", 1), "the earlier conversation is not gone on with"


@pytest.mark.slow
async def test_a_corrected_step_keeps_what_was_understood() -> None:
    fake = FakeAssistant()
    async with opened(fake) as (app, pilot):
        await two_turns(pilot)
        await pilot.press("r")
        await until(pilot, lambda: len(fake.questions) == 3 and done(app))
        assert fake.extras[2]["understood"] == STANDALONE
        assert len(fake.extras[2]["conversation"].turns) == 1
        assert len(app.ask_screen.conversation.turns) == 2


@pytest.mark.slow
async def test_every_question_may_stand_alone() -> None:
    fake = FakeAssistant()
    fake.settings = Settings(conversation={"follow": False})
    async with opened(fake) as (app, pilot):
        await turn(pilot, QUESTION)
        await turn(pilot, "and his mother?")
        assert fake.extras[1]["conversation"] is None
        assert not app.query_one(Transcript).display


@pytest.mark.slow
@pytest.mark.parametrize("key", ["enter", "a"])
async def test_a_kept_question_goes_on_with_its_conversation(key: str) -> None:
    with History.open() as history:
        history.record(a_trace("Who wrote Emma?", id="a", answers=["Jane Austen"]))
        history.record(a_trace("Another topic?", id="z"))
        history.record(
            a_trace("and Persuasion?", id="b", conversation="a", took_from=["a"], understood_as="Who wrote Persuasion?")
        )
    fake = FakeAssistant(follow_up("and Persuasion?", "Who wrote Persuasion?", ("a",), conversation="a"))
    fake.settings = Settings(history={"keep": False})
    async with opened(fake, size=(120, 40)) as (app, pilot):
        await pilot.press("f3")
        await until(
            pilot,
            lambda: bool(app.screen.query("#list")) and app.screen.query_one("#list", OptionList).option_count == 3,
        )
        assert "↳ 1 and Persuasion?" in screen_text(app)
        await until(pilot, lambda: "Goes on with the conversation of question 1" in screen_text(app))
        await pilot.press(key)
        await until(pilot, lambda: done(app))
        assert app.ask_screen.state.record.took_from == ["a"]
        text = screen_text(app)
        assert "Understood as: Who wrote Persuasion? · from “Who wrote Emma?”" in text
        assert "→ Jane Austen" in transcript(app)[0]
        if key == "a":
            assert [one.trace_id for one in fake.extras[0]["conversation"].turns] == ["a"]
            assert len(transcript(app)) == 2
        await turn(pilot, "why?", follow_up("why?", "Why?", ("b",), conversation="a"))
        assert fake.extras[-1]["conversation"].id == "a"
        assert len(fake.extras[-1]["conversation"].turns) == 2


@pytest.mark.slow
async def test_hostile_words_stay_words() -> None:
    bad = "Who [red]is\x1b[2J\u202e it?\nAnd [link=x]?"
    async with opened(FakeAssistant(follow_up(bad, bad + "!", (), bad, "a"))) as (app, pilot):
        await turn(pilot, "one?")
        await turn(pilot, "two?")
        text = screen_text(app)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[red]is" in text
