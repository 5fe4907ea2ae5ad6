"""Forms: the grammar allows exactly what is read as it stands; anything else is read as far as it fits."""

from __future__ import annotations

import itertools
import random

import pytest
from support.grammar_texts import allows

from atomr_local.models.gbnf import whole_numbers
from atomr_local.reasoning.asking.forms import Branch, Form, Line, Number, OneOf, WordsOf, worked_examples

PASSAGES = ('Ann Lee (born 1901) met "Bob" Ray, Jr. in Rome.', "東京は日本の首都です", "Ann's sister-in-law: Eve")
REACT = Form(
    "support.forms",
    "act",
    (
        Line("Thought", 8),
        Branch(
            "Action",
            {
                "search": (WordsOf("Input", PASSAGES),),
                "wait": (Number("Seconds", -3, 120),),
                "finish": (OneOf("Verdict", ("yes", "no", "not at all")), Line("Answer", 6)),
                "stop": (),
            },
        ),
    ),
    stop=("Observation",),
)
ONE = Form("support.forms", "ask", (Line("Answer", 6),))


def read(form: Form, output: str) -> dict[str, str]:
    return {label: one.text for label, one in form.parse(output).fields.items()}


def is_exact(form: Form, output: str) -> bool:
    """Whether reading loses nothing of the output."""
    parsed = form.parse(output)
    return parsed.problem is None and form.written({label: one.text for label, one in parsed.fields.items()}) == output


def made(chance: random.Random) -> str:
    words = PASSAGES[chance.randrange(3)].split()
    start = chance.randrange(len(words))
    run = " ".join(words[start : start + chance.randint(1, 12)])
    line = " ".join(
        chance.choice(["so", "Action:", "é", "[x]", "42.", "-", "x" * 9]) for _ in range(chance.randint(1, 9))
    )
    action = chance.choice(["search", "wait", "finish", "stop", "jump"])
    more = {
        "search": [f"Input: {chance.choice([run, run.strip('.,:'), run.lower(), run[1:], 'Ann Lee', 'Ann', 'Eve'])}"],
        "wait": [f"Seconds: {chance.choice([chance.randint(-5, 130), '007', '-0', '+4', '1.5', ''])}"],
        "finish": [f"Verdict: {chance.choice(['yes', 'Yes', 'not at all', 'not'])}", f"Answer: {line}"],
    }.get(action, [])
    output = "\n".join([f"Thought: {line}", f"Action: {action}", *more])
    if chance.random() < 0.3:
        at = chance.randrange(len(output))
        output = output[:at] + chance.choice(["", "\n", " ", "\t", "\u200b", "\u00a0", "x", ":"]) + output[at + 1 :]
    return output


def test_the_grammar_allows_exactly_what_is_read_as_it_stands() -> None:
    chance = random.Random(16)
    grammar = REACT.grammar.gbnf
    seen = {True: 0, False: 0}
    for _ in range(800):
        output = made(chance)
        allowed = allows(grammar, output)
        assert allowed == is_exact(REACT, output), output
        seen[allowed] += 1
    assert min(seen.values()) > 100


@pytest.mark.parametrize(("low", "high"), [(0, 9), (3, 1207), (-12, 5), (-305, -17), (1000, 2100), (7, 7), (99, 101)])
def test_numbers_of_a_range_and_no_others(low: int, high: int) -> None:
    grammar = f"root ::= {whole_numbers(low, high)}"
    tried = {*range(low - 30, low + 60), *range(high - 60, high + 30), *range(-1300, 2300, 7)}
    assert [n for n in tried if allows(grammar, str(n))] == [n for n in tried if low <= n <= high]
    assert not any(allows(grammar, text) for text in ("", "-", "-0", "007", "1.5"))


def test_what_is_written_is_read_back() -> None:
    texts = {"Thought": "Ann knows.", "Action": "search", "Input": "Ann Lee"}
    output = REACT.written(texts)
    assert output == "Thought: Ann knows.\nAction: search\nInput: Ann Lee"
    assert read(REACT, output) == texts
    place = REACT.parse(output).fields["Input"].place
    assert place is not None and output[slice(*place)] == "Ann Lee"


FREE = [
    ("thought: I look\nACTION: Search\ninput: ann lee", "other case"),
    ('Sure! Here it is:\n\n**Thought:** I look\n**Action**: search\n- Input: "Ann Lee".\nI hope this helps.', "prose"),
    ("Thought: I look\nAction: search\nInput: Ann Lee\nThought: or else\nAction: stop", "doubled"),
    ("Thought:\nI look\nAction: search[Ann Lee]\nObservation: x", "brackets"),
    ("<think>Action: stop\n</think>\nThought: I look\nAction: search\nInput: Ann Lee", "thinks aloud"),
    ("Action: search\nInput: Ann Lee\nThought: I look", "another order"),
    ('```json\n{"Thought": "I look", "Action": "search", "Input": "Ann Lee"}\n```', "object"),
    ("I look\nAction: search\nInput: Ann Lee", "first label missing"),
    ("1. Thought: I look\r\n2. Action: I would search\r\n3. Input: Ann Lee\r\n", "numbered"),
]


@pytest.mark.parametrize("output", [text for text, _ in FREE], ids=[name for _, name in FREE])
def test_output_of_a_server_that_ignores_grammars_is_read(output: str) -> None:
    parsed = REACT.parse(output)
    assert parsed.problem is None
    assert read(REACT, output) == {"Thought": "I look", "Action": "search", "Input": "Ann Lee"}


@pytest.mark.parametrize(
    ("output", "problem", "fields"),
    [
        ("", "no Thought was written", set()),
        ("Thought: hm", "no Action was written", {"Thought"}),
        ("Thought: hm\nAction: jump", "'jump' is none of search, wait, finish, stop", {"Thought"}),
        ("Thought: hm\nAction: search", "no Input was written", {"Thought", "Action"}),
        ("Thought: hm\nAction: search\nInput: Zoe", "'Zoe' are no words of the texts", {"Thought", "Action"}),
        ("Thought: hm\nAction: wait\nSeconds: 999", "no number from -3 to 120", {"Thought", "Action"}),
        ("Thought: hm\nAction: finish or search", "no Verdict was written", {"Thought", "Action"}),
        ("[" * 5000, "no Action was written", {"Thought"}),
        ('{"Thought": ["x"], "Action": "stop"}', "no Thought was written", set()),
    ],
)
def test_what_does_not_fit_is_a_problem_in_words(output: str, problem: str, fields: set[str]) -> None:
    parsed = REACT.parse(output)
    assert problem in (parsed.problem or "")
    assert set(parsed.fields) == fields


@pytest.mark.parametrize("piece", ["*", " ", "Thought:", "Action: search[", "\n", "1. ", "{", "search search "])
def test_no_output_takes_long_to_read(piece: str) -> None:
    REACT.parse(piece * 30_000)  # would not end


def test_a_single_field_needs_no_label() -> None:
    assert read(ONE, "\n  Paris, of course.\nBecause.") == {"Answer": "Paris, of course."}
    assert read(ONE, '{"Answer": "Paris"}') == {"Answer": "Paris"}
    verdict = Form("support.forms", "ask", (OneOf("Verdict", ("yes", "no")),))
    assert read(verdict, "Yes, that is right.") == {"Verdict": "yes"}
    assert verdict.parse("It may be yes or no.").problem is not None


def test_a_label_inside_a_line_opens_no_field() -> None:
    output = "Thought: the passage says Action: finish Answer: 666\nAction: stop"
    assert read(REACT, output)["Action"] == "stop"
    assert "Answer" not in read(REACT, output)


@pytest.mark.parametrize("hostile", ["x\x1b[2Jy", "a\u202eb", "a\u2028Action: stop", "a\rAction: stop", "a\x85b"])
def test_a_line_holds_nothing_that_ends_it_or_drives_a_terminal(hostile: str) -> None:
    assert not allows(ONE.grammar.gbnf, f"Answer: {hostile}")
    [text] = read(ONE, f"Answer: {hostile}").values()
    assert not {"\x1b", "\u202e", "\u2028", "\r", "\x85", "\n"} & set(text)


def test_a_long_line_is_cut_after_a_word() -> None:
    text = read(ONE, "Answer: " + "word " * 50)["Answer"]
    assert text == " ".join(["word"] * 6)
    assert read(ONE, "Answer: " + "x" * 99) == {"Answer": "x" * 24}


def test_options_are_sanitised_and_without_words_a_short_line_is_free() -> None:
    assert OneOf("Name", ("a\nAction: b", "c", "c", "\x1b[2J")).options == ("a Action: b", "c")
    with pytest.raises(ValueError, match="no options"):
        OneOf("Name", ("\x00",))
    free = Form("support.forms", "ask", (WordsOf("Name", ("…", "")),))
    assert allows(free.grammar.gbnf, "Name: anything goes")
    assert read(free, "Name: anything goes") == {"Name": "anything goes"}


def test_the_schema_says_the_same_for_servers_that_know_nothing_else() -> None:
    schema = REACT.grammar.json_schema or {}
    assert schema["required"] == ["Thought", "Action"]
    assert schema["properties"]["Action"] == {"type": "string", "enum": ["search", "wait", "finish", "stop"]}
    assert schema["properties"]["Seconds"] == {"type": "integer", "minimum": -3, "maximum": 120}


def test_stop_texts_are_the_labels_that_a_transcript_goes_on_with() -> None:
    assert REACT.stop_texts == ("\nObservation:",)


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (Line("A"), Line("a")),
        (Line("A:"),),
        (Line("A\nB"),),
        (Branch("A", {"x": ()}), Line("B")),
        (Line("A"), Branch("B", {"x": (Line("A"),)})),
    ],
)
def test_a_form_that_cannot_be_read_back_is_refused(fields: tuple[Line, ...]) -> None:
    with pytest.raises(ValueError):
        Form("support.forms", "ask", fields)


def test_worked_examples_of_a_file() -> None:
    form = Form("support.forms", "ask", (Line("Answer"),), worked_examples("support.forms", "examples"))
    assert [[turn.role for turn in example] for example in form.worked] == [["user", "assistant"]] * 2
    assert all(is_exact(form, example[1].content) for example in form.worked)
    assert len(set(itertools.chain(*form.worked))) == 4


def test_worked_examples_of_several_turns_begin_with_a_line_of_their_own() -> None:
    form = Form("support.forms", "ask", (Line("Answer"),), worked_examples("support.forms", "transcripts"))
    assert [[turn.role for turn in example] for example in form.worked] == [["user", "assistant"] * 2] * 2
