"""The reader has a model that has learnt it write the next question of one hop."""

from __future__ import annotations

from support.fake_parts import FakeBackbone, toolbox

from atomr_local.reasoning.trace.events import Event, TextGenerated

QUESTION = "Who is the mother of the director of Emma Road?"
FIRST, SECOND = "Who directed Emma Road?", "Who is the mother of Ann Lee?"


def asked(backbone: FakeBackbone, *steps: tuple[str, str], draws: int = 1, temperature: float = 0.0) -> list[str]:
    tools = toolbox(QUESTION, backbone, style="lean", knows_next=True, llm={"parallel": 1})
    return tools.reader.follow_ups(0, QUESTION, steps, draws=draws, temperature=temperature)


def test_the_prompt_holds_the_steps_so_far_and_the_question() -> None:
    backbone = FakeBackbone(SECOND)
    assert asked(backbone, (FIRST, "Ann Lee")) == [SECOND]
    [prompt] = backbone.prompts
    assert prompt.static[0].content == "Next."
    assert prompt.dynamic[0].content == f"1. {FIRST} Ann Lee\n{QUESTION}"
    assert backbone.requests[0].temperature == 0.0


def test_done_and_a_question_of_the_steps_end_it() -> None:
    assert asked(FakeBackbone("Done"), (FIRST, "Ann Lee")) == []
    assert asked(FakeBackbone(FIRST), (FIRST, "Ann Lee")) == []


def test_samples_are_drawn_with_seeds_of_their_own_and_equal_ones_returned_once() -> None:
    backbone = FakeBackbone(FIRST, "Who made Emma Road?", FIRST, "Done")
    assert asked(backbone, draws=4, temperature=0.7) == [FIRST, "Who made Emma Road?"]
    assert [request.temperature for request in backbone.requests] == [0.7] * 4
    assert len({request.seed for request in backbone.requests}) == 4


def test_what_the_model_writes_is_sanitised() -> None:
    assert asked(FakeBackbone("Who directed \x1b[31mEmma\u202e Road?")) == ["Who directed Emma Road?"]


def test_it_is_off_where_the_setting_is() -> None:
    tools = toolbox(QUESTION, FakeBackbone(), style="lean", knows_next=True, features={"follow_ups": False})
    assert not tools.reader.knows_next


def test_a_question_written_for_the_root_is_no_draft_of_the_answer() -> None:
    streamed: list[int | None] = []

    def listen(event: Event) -> None:
        if isinstance(event, TextGenerated):
            streamed.append(event.node_id)

    tools = toolbox(QUESTION, FakeBackbone(FIRST, FIRST), style="lean", knows_next=True, sink=listen)
    tools.reader.follow_ups(0, QUESTION, ())
    assert streamed == []
    tools.reader.follow_ups(1, QUESTION, ())
    assert set(streamed) == {1}
