"""A trace as text for a terminal: whatever it holds, nothing in it reaches the terminal as a control sequence."""

from __future__ import annotations

from support.grown_steps import grown_trace
from support.quoting_traces import closest_trace, quotation_trace, quoting_trace
from support.tui.fake_assistant import script

from atomr_local.cli.asking import StepNotes, answer_text
from atomr_local.reasoning.trace.events import Event
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanOrigin, PlanTrace, Trace

EVIL = "x\x1b]52;c;AAAA\x07\u202ey\nz"


def test_hostile_text_in_every_field_stays_text() -> None:
    trace = Trace(
        EVIL,
        strategy="atomr",
        settings={},
        answer=EVIL,
        answers=[EVIL],
        plan=PlanTrace("1. Who?", "model", 1),
        nodes=[
            NodeTrace(0, None, EVIL, "root", EVIL, answer=EVIL, cited=["e1"], method="symbolic", computation=EVIL),
            NodeTrace(1, 0, EVIL, "search", EVIL, answer=EVIL, error={"title": EVIL, "message": EVIL}),
        ],
        evidence=[EvidenceTrace("e1", "web", EVIL, EVIL, 1.0, EVIL, {"url": EVIL})],
        warnings=[EVIL],
    )
    text = answer_text(trace)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert len(text.splitlines()) == 9  # each field from outside is one line
    assert text.count("x") >= 9


def test_what_several_steps_met_is_told_once() -> None:
    warnings = ["step 1: Source failed: no connection", "the index is old", "step 3: Source failed: no connection"]
    trace = Trace("Who?", strategy="rag", settings={}, answer="Ann.", warnings=warnings)
    assert answer_text(trace).splitlines()[1:] == [
        "Note: steps 1, 3: Source failed: no connection",
        "Note: the index is old",
    ]


def test_the_question_as_understood_is_told_where_it_was_typed_otherwise() -> None:
    trace = Trace("who wrote emma", strategy="atomr", settings={}, answer="Jane Austen")
    assert "Understood" not in answer_text(trace)
    trace.understood_as = f"Who wrote Emma{EVIL}?"
    assert answer_text(trace).splitlines()[2].startswith("Understood as: Who wrote Emma")
    assert "\x1b" not in answer_text(trace)
    trace.understood_as = "who  wrote emma"
    assert "Understood" not in answer_text(trace)


def test_the_users_own_answers_are_marked_as_theirs() -> None:
    nodes = [
        NodeTrace(0, None, "Where was the director born?", "root", answer="Linz", answers=["Linz"], method="child"),
        NodeTrace(1, 0, "Who directed it?", "relate", "Who directed it?", answer="Thea", answers=["Thea"]),
        NodeTrace(2, 0, "Where was [1] born?", "relate", "Where was Thea born?", answer="Linz", answers=["Linz"],
                  method="operator"),
    ]  # fmt: skip
    trace = Trace("Where was the director born?", "atomr", {}, "answered", "The answer is Linz.", ["Linz"], nodes=nodes)
    lines = answer_text(trace).splitlines()
    assert "Your own answers: step 1" in lines
    assert "    1. Who directed it? → Thea  (✎ your answer)" in lines
    assert "    2. Where was Thea born? → Linz" in lines


def test_a_tree_that_grew_tells_its_steps_and_on_request_what_each_did() -> None:
    trace = grown_trace()
    lines = answer_text(trace).splitlines()
    start = lines.index("Tree") + 2
    assert lines[start : start + 3] == [
        "    1. round 1: search[Metropolis]",
        "      2. follow-up: Who directed Metropolis? → Fritz Lang [e1]",
        "    3. round 2: Where was Fritz Lang born? → Vienna  (from the text, rating -0.21) [e2]",
    ]
    told = answer_text(trace, verbose=True).splitlines()
    start = told.index("    1. round 1: search[Metropolis]") + 1
    assert [line.strip().partition(":")[0] for line in told[start : start + 3]] == ["thought", "action", "observation"]
    assert [line.strip() for line in told if "weighed" in line] == [
        "weighed: Vienna: from the text, rating -0.21",
        "weighed: Graz: the model's own knowledge, rating -1.50",
        "weighed: Unknown: from the steps below",
    ]


def test_hostile_text_of_a_step_stays_text() -> None:
    plain, hostile = answer_text(grown_trace(), verbose=True), answer_text(grown_trace(told=EVIL), verbose=True)
    assert not {"\x1b", "\x07", "\u202e"} & set(hostile)
    assert len(hostile.splitlines()) == len(plain.splitlines())


def test_on_request_the_graph_query_of_the_evidence_is_told() -> None:
    where = {"sparql": f"ASK {{\n}} {EVIL}", "rows": [{"x": "1"}], "sketch": "ask: Ann | knows | Bob"}
    found = EvidenceTrace("e1", "graph", str(where["sketch"]), "Yes.", 1.0, str(where["sketch"]), where)
    node = NodeTrace(0, None, "Does she?", "root", "Does she?", answer="yes", answers=["yes"], cited=["e1"])
    trace = Trace("Does she?", "cok", {}, "answered", "Yes.", ["yes"], nodes=[node], evidence=[found])
    assert "  [e1] graph: ask: Ann | knows | Bob: Yes." in answer_text(trace).splitlines()
    assert "query:" not in answer_text(trace)
    told = answer_text(trace, verbose=True).splitlines()
    assert [line.strip() for line in told if line.startswith("       ")] == ["query: ASK { } xy z", "rows: 1"]


def test_only_a_plan_that_was_tried_can_have_failed() -> None:
    def told(strategy: str, origin: PlanOrigin, attempts: int) -> bool:
        plan = PlanTrace("0. Who was Ann Lee?", origin, attempts, [])
        trace = Trace("Who was Ann Lee?", strategy, {}, status="answered", answer="A painter.", plan=plan)
        return "No valid plan was found" in answer_text(trace)

    assert told("atomr", "fallback", 2)
    assert told("probtree", "fallback", 1)
    assert not told("rag", "fallback", 0), "it makes no plan"
    assert not told("atomr", "rule", 0)
    assert not told("atomr", "model", 1)


def test_an_answer_shows_the_sentence_it_rests_on() -> None:
    assert answer_text(quoting_trace()).splitlines() == [
        "The answer is cash.  (well supported, confidence 0.90)",
        "",
        "Evidence",
        "  [e1] text: Permits (permits.pdf, p. 4, Fees)",
        "       The office is open from 9 to 17. »Permits are paid in cash.«",
        "       Bring the following: …",
    ]


def test_a_quotation_keeps_its_lines_and_names_its_source() -> None:
    assert answer_text(quotation_trace()).splitlines() == [
        "  │ Bring the following:",
        "  │ passport",
        "  │ two photos",
        "  Permits (permits.pdf, p. 4, Fees)  (well supported, confidence 0.90)",
        "",
        "Evidence",
        "  [e1] text: Permits (permits.pdf, p. 4, Fees)",
    ]


def test_without_an_answer_the_closest_passages_are_shown() -> None:
    assert answer_text(closest_trace()).splitlines() == [
        "Not found: Nothing in the text says it.",
        "",
        "Not answered; closest in your documents",
        "  Permits (permits.pdf, p. 4, Fees)",
        "    The office is open from 9 to 17. »Permits are paid in cash.«",
        "    Bring the following: …",
        "  Permits (other.md, line 7)",
        "    »Permits are nice.«",
        "",
        "  → Turn web search on: --web.",
        "  → Search the graph too: --sources text,graph.",
        "  → Add knowledge: `atomr fetch wikipedia`, or your own files with `atomr text build`.",
    ]


def test_hostile_passages_stay_text() -> None:
    for trace in (quoting_trace(EVIL * 20, EVIL), quotation_trace(EVIL, EVIL, EVIL), closest_trace(EVIL * 20, EVIL)):
        assert not {"\x1b", "\x07", "\u202e"} & set(answer_text(trace))


# What is told of the steps while they run.


def told(events: list[Event]) -> list[str]:
    notes = StepNotes()
    return [line for event in events for line in notes.of(event)]


def test_steps_that_no_plan_has_are_told_as_they_end() -> None:
    events: list[Event] = []
    grown_trace(sink=events.append)
    assert told(events) == [
        "… reasoning",
        "… [1] round 1: search[Metropolis]",
        "… [2] follow-up: Who directed Metropolis? → Fritz Lang",
        "… [3] round 2: Where was Fritz Lang born? → Vienna",
        "… [0] Where was the director of Metropolis born?",
    ]


def test_steps_of_a_plan_are_told_as_they_begin() -> None:
    assert told(script())[0] == "… [3] What is Metropolis?"


def test_hostile_text_of_a_step_is_one_harmless_line() -> None:
    events: list[Event] = []
    grown_trace(sink=events.append, told="\x1b[2J\u202e\n[bold]")
    lines = told(events)
    assert len(lines) == 5
    assert not any(character in line for line in lines for character in "\x1b\n\u202e")
