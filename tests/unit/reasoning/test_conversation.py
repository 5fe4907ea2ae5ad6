"""A follow-up question is put so that it stands alone, from what was said before and nothing else."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone, FakeSource, entity, reply, rows, toolbox

from atomr_local.assistant.assistant import Assistant
from atomr_local.reasoning.conversation import Conversation, EarlierTurn
from atomr_local.reasoning.trace.events import Finished
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.strategies.protocol import Unclear, understand

EARLIER = Conversation(
    "t1",
    (
        EarlierTurn("t1", "Who painted The Harbour?", "Rosa Ferrer", {"rosa ferrer": "urn:x:1"}),
        EarlierTurn("t2", "Where was Rosa Ferrer born?", "Girona", {"girona": "urn:x:2"}),
    ),
)


def understood(question: str, *replies: str, given: str | None = None, rewrites: bool = True) -> tuple[str, Trace]:
    backbone = FakeBackbone(*replies)
    tools = toolbox(question, backbone)
    tools.conversation = EARLIER
    text = understand(question, tools, given=given, rewrites=rewrites)
    assert not backbone.replies
    return text, tools.recorder.trace


def test_the_model_sees_the_turns_and_what_it_writes_is_the_question() -> None:
    backbone = FakeBackbone("Who was Rosa Ferrer's mother?")
    tools = toolbox("and her mother?", backbone)
    tools.conversation = EARLIER
    assert understand("and her mother?", tools, given=None, rewrites=True) == "Who was Rosa Ferrer's mother?"
    shown = backbone.prompts[0].messages[-1].content
    assert "Q: Who painted The Harbour?\nA: Rosa Ferrer\nQ: Where was Rosa Ferrer born?\nA: Girona\nQ: and her" in shown
    trace = tools.recorder.trace
    assert (trace.understood_as, trace.conversation) == ("Who was Rosa Ferrer's mother?", "t1")
    assert trace.took_from == ["t2"], "the latest turn that names her"


@pytest.mark.parametrize("written", ["Who was Ada Lovelace's mother?", "Who was Rosa Ferrer's mother in 1931?", ""])
def test_what_nobody_said_is_not_taken(written: str) -> None:
    text, trace = understood("and her mother?", written)
    assert text == "Who is Rosa Ferrer's mother?", "grammar does without the model's version"
    assert (trace.took_from, trace.warnings) == (["t2"], [])


def test_a_pronoun_that_stays_open_is_never_planned() -> None:
    with pytest.raises(Unclear) as raised:
        understood("how long is it?", "How long is the Nile?")
    assert raised.value.reference.words == "it"
    backbone = FakeBackbone("How long is the Nile?")
    tools = toolbox("how long is it?", backbone)
    tools.conversation = EARLIER
    assert understand("how long is it?", tools, given=None, rewrites=True, asks_back=False) == "how long is it?"
    [warning] = tools.recorder.trace.warnings
    assert warning == "The follow-up could not be understood from the conversation, so it was taken as typed."


@pytest.mark.parametrize(
    "typed",
    [
        "Who was the paternal grandfather of Charles Darwin?",
        "which planet is the biggest?",
        "what is 17 * 23",
        "🇫🇷 capital? 🗼",
        "summarise Marie Curie",
        "Alice owes Bob 20 euros. Bob owes Carol 10 euros. Who owes most?",
        "Who was Charles Darwin and when was he born?",
    ],
)
def test_a_complete_question_is_not_put_to_the_model(typed: str) -> None:
    text, trace = understood(typed)
    assert (text, trace.took_from, trace.conversation) == (typed, [], "t1")


def test_a_change_of_topic_takes_nothing() -> None:
    text, trace = understood("How deep is Lake Arn?")
    assert (text, trace.took_from, trace.warnings) == ("How deep is Lake Arn?", [], [])


def test_what_a_person_says_is_meant_is_not_put_to_the_model() -> None:
    text, trace = understood("and her mother?", given="Who was the mother of Rosa Ferrer?")
    assert text == trace.understood_as == "Who was the mother of Rosa Ferrer?"


def test_an_adapter_that_has_not_learnt_it_is_not_asked() -> None:
    text, trace = understood("and her mother?", rewrites=False)
    assert (text, trace.warnings) == ("Who is Rosa Ferrer's mother?", [])


def test_names_keep_the_entity_they_stood_for() -> None:
    assert EARLIER.entity("rosa FERRER") == "urn:x:1"
    assert EARLIER.entity("Rosa") is None


def test_a_conversation_is_made_of_what_was_answered() -> None:
    root = NodeTrace(0, None, "q", "root", answers=["Girona"], entities=["urn:x:2"])
    first = Trace("where?", "atomr", {}, status="answered", answers=["Girona"], nodes=[root], id="a")
    failed = Trace("?", "atomr", {}, status="failed", id="b", conversation="a")
    unknown = Trace("why?", "atomr", {}, status="unknown", id="c", conversation="a", understood_as="Why Girona?")
    made = Conversation.of([first, failed, unknown])
    assert made.id == "a"
    assert [turn.trace_id for turn in made.turns] == ["a", "c"]
    assert made.lines() == ["Q: where?", "A: Girona", "Q: Why Girona?", "A: Unknown"]
    assert made.entity("Girona") == "urn:x:2"


def test_what_was_not_looked_up_is_no_turn_but_belongs_to_the_conversation() -> None:
    hello = Trace("hello", "atomr", {}, status="unknown", id="a")
    back = Trace("who is he?", "atomr", {}, status="unknown", id="b", conversation="a", understood_as="who is he?")
    made = Conversation.of([hello, back])
    assert (made.id, made.turns, bool(made), bool(Conversation())) == ("a", (), True, False)
    trace, _ = asked("Who painted The Harbour?", reply("Rosa Ferrer"), conversation=made)
    assert (trace.answers, trace.conversation) == (["Rosa Ferrer"], "a")


def test_the_assistant_goes_on_and_the_graph_is_asked_for_the_same_entity() -> None:
    plan = '1. Who is Rosa Ferrer? = Search("Rosa Ferrer")\n2. Who is the mother of [1]? = Relate([1], "mother")'
    graph = FakeSource(
        "graph",
        {
            "Rosa Ferrer": rows("Rosa Ferrer", entity("Rosa Ferrer")),
            "Rosa Ferrer mother": rows("Rosa Ferrer", entity("Ana Ferrer")),
        },
    )
    backbone = FakeBackbone("Who is Rosa Ferrer's mother?", plan)
    with Assistant(load_settings(sources=("graph",), features={"rival": False}), backbone) as assistant:  # type: ignore[arg-type]
        assistant.parts.sources = {graph.name: graph}
        events = list(assistant.ask("and her mother?", conversation=EARLIER))
    finished = events[-1]
    assert isinstance(finished, Finished)
    trace = finished.trace
    assert (trace.status, trace.answers) == ("answered", ["Ana Ferrer"])
    assert trace.question == "and her mother?"
    assert trace.understood_as == "Who is Rosa Ferrer's mother?"
    assert trace.conversation == "t1"
    assert trace.nodes[0].entities == ["https://example.org/Ana_Ferrer"]
    asked = [request.arguments[0] for request in graph.requests]
    first = next(one for one in asked if one.text == "Rosa Ferrer")
    assert first.iri == "urn:x:1"


def test_a_first_question_is_read_as_ever() -> None:
    backbone = FakeBackbone(reply("Ann"))
    with Assistant(load_settings(), backbone) as assistant:  # type: ignore[arg-type]
        list(assistant.ask("Who painted The Harbour?", strategy="closed-book", conversation=Conversation()))
        assert assistant.last_trace is not None
        assert (assistant.last_trace.conversation, assistant.last_trace.took_from) == ("", [])
        assert len(assistant.last_trace.id) == 32


def test_a_first_question_may_be_said_to_mean_something_else() -> None:
    backbone = FakeBackbone(reply("Ann"))
    with Assistant(load_settings(), backbone) as assistant:  # type: ignore[arg-type]
        list(assistant.ask("hello", strategy="closed-book", understood="Who painted The Harbour?"))
        trace = assistant.last_trace
    assert trace is not None
    assert trace.question == "hello"
    assert trace.understood_as == "Who painted The Harbour?"
    assert trace.conversation == ""
    assert "The Harbour" in backbone.prompts[0].messages[-1].content


def asked(question: str, *replies: str, conversation: Conversation | None = EARLIER) -> tuple[Trace, FakeBackbone]:
    backbone = FakeBackbone(*replies)
    with Assistant(load_settings(sources=()), backbone) as assistant:  # type: ignore[arg-type]
        list(assistant.ask(question, strategy="closed-book", conversation=conversation))
        assert assistant.last_trace is not None
        return assistant.last_trace, backbone


@pytest.mark.parametrize("typed", ["what can you do?", "thanks", "מי כתב את המלט?", "Wo wurde er geboren?"])
def test_what_asks_nothing_is_declined_as_in_a_new_conversation(typed: str) -> None:
    first, _ = asked(typed, conversation=None)
    later, backbone = asked(typed)
    assert (later.status, later.reason) == (first.status, first.reason) == ("unknown", first.reason)
    assert (later.conversation, later.took_from, later.understood_as) == ("t1", [], typed)
    assert not backbone.prompts, "nothing is put to the model"


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("Who?", "It is not clear what “Who?” asks about."),
        ("why?", "It is not clear what “why?” asks about."),
        ("when was he born?", "It is not clear who or what “he” refers to."),
    ],
)
def test_without_a_turn_before_it_a_reference_is_asked_back(typed: str, reason: str) -> None:
    for conversation in (None, Conversation()):
        trace, backbone = asked(typed, conversation=conversation)
        assert (trace.status, trace.reason, backbone.prompts) == ("unknown", reason, [])
        assert not any("web" in one or "F2" in one for one in trace.advice)


def test_what_no_rewriting_makes_clear_is_asked_back() -> None:
    trace, backbone = asked("how long is it?", "How long is the Nile?")
    assert (trace.status, trace.reason) == ("unknown", "It is not clear who or what “it” refers to.")
    assert trace.advice == ["Write the name instead of “it”."]
    assert (len(backbone.prompts), trace.conversation, trace.nodes) == (1, "t1", [])


def test_of_a_question_asked_again_right_away_the_later_answer_counts() -> None:
    wrong = Trace("and hers?", "atomr", {}, status="answered", answers=["x"], id="a")
    right = Trace("and  hers?", "atomr", {}, status="answered", answers=["y"], id="b")
    other = Trace("why?", "atomr", {}, status="answered", answers=["z"], id="c")
    assert [turn.trace_id for turn in Conversation.of([wrong, right, other, right]).turns] == ["b", "c", "b"]
