"""Model calls of one question: recorded, seeded, counted, limited, fitted, cancelled."""

from __future__ import annotations

import pytest
from support.fake_parts import UNKNOWN, FakeBackbone, FakeSource, Run, passage, passages, reply, toolbox

from atomr_local.errors import CallLimitError, Cancelled, ModelError
from atomr_local.models.protocol import Message, Prompt
from atomr_local.reasoning.asking.asking import CALLS_TO_CONCLUDE, Asking
from atomr_local.reasoning.trace.events import Event, ModelCalled, TextGenerated, WarningRaised
from atomr_local.strategies.single import Rag
from atomr_local.system.cancellation import Cancellation

PROMPT = Prompt((Message("system", "Be brief."),), (Message("user", "Say it."),))


def asking(backbone: FakeBackbone, **settings: object) -> Asking:
    return toolbox("Who?", backbone, **settings).asking


def ask(model: Asking) -> str:
    return model.generate(0, "say", PROMPT, None, 20).text


def test_a_call_is_recorded_streamed_and_passed_on_as_it_was_asked() -> None:
    events: list[Event] = []
    backbone = FakeBackbone("two words")
    model = toolbox("Who?", backbone, sink=events.append, llm={"seed": 7}).asking
    made = model.generate(3, "say", PROMPT, None, 20, temperature=0.7, draw=2, stop=("\nStop:",))
    assert made.text == "two words"
    [request] = backbone.requests
    assert (request.temperature, request.seed, request.stop, request.max_tokens) == (0.7, 9, ("\nStop:",), 20)
    assert [event.text for event in events if isinstance(event, TextGenerated)] == ["two words"]
    [called] = [event for event in events if isinstance(event, ModelCalled)]
    assert (called.node_id, called.purpose, called.prompt) == (3, "say", "system: Be brief.\n\nuser: Say it.")


def test_the_limit_ends_calls_and_a_few_more_are_left_to_conclude() -> None:
    model = asking(FakeBackbone(*["x"] * 20), limits={"calls": 2})
    assert model.calls_left == 2 and model.spares(2)
    ask(model), ask(model)
    assert model.calls_left == 0
    with pytest.raises(CallLimitError, match="all of its 2 model calls") as raised:
        ask(model)
    assert "limits.calls" in raised.value.hint
    with model.concluding():
        assert model.calls_left == CALLS_TO_CONCLUDE
        assert not model.spares(1)
        for _ in range(CALLS_TO_CONCLUDE):
            ask(model)
        with pytest.raises(CallLimitError):
            ask(model)
    with pytest.raises(CallLimitError):
        ask(model)


def test_a_call_made_elsewhere_counts() -> None:
    model = asking(FakeBackbone("x"), limits={"calls": 2})
    model.count_call()
    assert model.calls_left == 1


def test_a_cancelled_question_asks_nothing_more() -> None:
    cancellation = Cancellation()
    backbone = FakeBackbone("x")
    model = toolbox("Who?", backbone, cancellation=cancellation).asking
    cancellation.cancel()
    with pytest.raises(Cancelled):
        ask(model)
    assert backbone.requests == []


def test_the_weakest_evidence_is_left_out_until_the_prompt_fits() -> None:
    model = asking(FakeBackbone(context_tokens=30))
    found = [passage(name, "five words are in here") for name in "ABC"]

    def render(shown: object) -> Prompt:
        return Prompt((), (Message("user", " ".join(item.text for item in shown)),))  # type: ignore[attr-defined]

    shown, prompt, notes = model.fit(render, found, 20)
    assert [item.title for item in shown] == ["A", "B"]
    assert model.count_tokens(prompt) == 10
    assert len(notes) == 1 and "left out of the prompt: no room" in notes[0]


def test_what_does_not_fit_without_evidence_is_an_error() -> None:
    model = asking(FakeBackbone(context_tokens=21))
    with pytest.raises(ModelError, match="needs 4 prompt tokens"):
        model.fit(lambda _shown: PROMPT, [], 20)


FATHERS = (
    '1. Who is the father of Ann? = Relate("Ann", "father")\n2. Who is the father of Bob? = Relate("Bob", "father")\n'
)


def fathers() -> FakeSource:
    return FakeSource(
        "text",
        {
            "Ann father": passages(("Ann", "Ann is Cid's child.")),
            "Bob father": passages(("Bob", "Bob is Dan's child.")),
        },
    )


def test_a_step_without_a_call_left_has_that_error_and_the_root_concludes_from_the_other_steps() -> None:
    backbone = FakeBackbone(reply("Cid", evidence=[1]), reply("Cid"))
    run = Run(
        "What have the fathers in common?", FATHERS, backbone, fathers(), limits={"calls": 1}, llm={"parallel": 1}
    )
    assert run.node(1).answers == ["Cid"]
    assert (run.node(2).error or {})["title"] == "Call limit reached"
    assert run.result.texts == ("Cid",)  # combined from the steps with a call over the limit
    assert "1. Who is the father of Ann? Cid" in backbone.asked[-1]
    assert any("all of its 1 model calls" in note for note in run.node(0).dropped)
    assert any("all of its 1 model calls" in event.message for event in run.of_type(WarningRaised))
    assert run.node(0).error is None


def test_the_end_of_a_chain_needs_no_call_and_no_note() -> None:
    plan = '1. Who is the father of Ann? = Relate("Ann", "father")'
    run = Run(
        "Who is the father of Ann?", plan, FakeBackbone(reply("Cid", evidence=[1])), fathers(), limits={"calls": 1}
    )
    assert run.result.texts == ("Cid",)
    assert run.trace.warnings == []


def test_where_no_step_was_answered_the_root_concludes_from_the_evidence() -> None:
    backbone = FakeBackbone(UNKNOWN, reply("Dan", evidence=[1]))
    run = Run(
        "What have the fathers in common?", FATHERS, backbone, fathers(), limits={"calls": 1}, llm={"parallel": 1},
        features={"rival": False, "beam": False, "guess": True, "page_alone": False},
    )  # fmt: skip
    assert run.result.texts == ("Dan",)
    assert run.result.outcome == "not found"  # a guess
    assert "Ann is Cid's child." in backbone.asked[-1] and "Bob is Dan's child." in backbone.asked[-1]


def test_what_would_only_make_an_answer_surer_is_left_out_when_no_call_is_left() -> None:
    text = FakeSource("text", {"Who is it?": passages(("Ann", "It is Ann."))})
    tools = toolbox("Who is it?", FakeBackbone(reply("Ann", evidence=[1])), text, verifies=True, limits={"calls": 1})
    result = Rag().run("Who is it?", None, "fallback", tools)
    assert result.texts == ("Ann",)
    assert "not verified: the question's model calls are used" in result.dropped


def test_a_single_node_gives_its_answer_also_over_the_limit() -> None:
    text = FakeSource("text", {"Who is it?": passages(("Ann", "It is Ann."))})
    backbone = FakeBackbone(UNKNOWN, reply("Ann", evidence=[1]))
    tools = toolbox("Who is it?", backbone, text, limits={"calls": 1}, features={"guess": True})
    assert Rag().run("Who is it?", None, "fallback", tools).texts == ("Ann",)
