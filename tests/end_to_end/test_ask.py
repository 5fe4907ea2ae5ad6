"""`atomr ask` on real parts: the starter model, a small graph index and a small text index, and no network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import passage
from support.places import TESTS

from atomr_local.errors import MissingPartError
from atomr_local.models.catalog.find import starter_embedder_path, starter_model_path
from atomr_local.models.llama import LlamaBackbone, RunOptions
from atomr_local.models.protocol import Choice, GenerationRequest, Grammar, Message, Prompt
from atomr_local.reasoning.asking.asking import Asking
from atomr_local.reasoning.planning.examples import ExampleLibrary
from atomr_local.reasoning.planning.planner import Planner, plan_grammar
from atomr_local.reasoning.reading.answer_formats import FORMATS, AnswerSpec
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.settings.schema import load_settings
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.validation import Limits, check

RUNNER = TESTS / "support" / "offline_runner.py"
QUESTION = "Who is the father of Ann Lee?"
FACTS = [
    {"s": "Ann Lee", "p": "instance of", "o": "human"},
    {"s": "Ann Lee", "p": "father", "o": "Bob Lee"},
    {"s": "Bob Lee", "p": "instance of", "o": "human"},
]
ARTICLES = [
    {"id": "1", "title": "Ann Lee", "text": "Ann Lee is a painter from Leeds. Her father is Bob Lee."},
    {"id": "2", "title": "Bob Lee", "text": "Bob Lee is a singer. He was born in York in 1920."},
]
PLAN = '1. Who is Ann Lee? = Search("Ann Lee")\n2. Who is the father of [1]? = Relate([1], "father")\n'


@pytest.fixture(scope="module", autouse=True)
def starter() -> None:
    try:
        starter_model_path()
        starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(f"no starter: {error.message}")


def offline(home: Path, commands: list[list[str]]) -> subprocess.CompletedProcess[str]:
    file = home / "commands.json"
    file.write_text(json.dumps(commands), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATOMR_")}
    return subprocess.run(
        [sys.executable, str(RUNNER), str(file)],
        capture_output=True, text=True, timeout=500, check=False, env=environment | {"ATOMR_HOME": str(home)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Both indexes built and the question asked three times, all in one watched process."""
    home = tmp_path_factory.mktemp("home")
    for name, lines in (("facts", FACTS), ("articles", ARTICLES)):
        (home / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (home / "plan.txt").write_text(PLAN, encoding="utf-8")
    small = ["--graph-index", "small", "--text-index", "small"]
    ran = offline(
        home,
        [
            ["graph", "build", str(home / "facts.jsonl"), "--name", "small"],
            ["text", "build", str(home / "articles.jsonl"), "--name", "small"],
            ["ask", QUESTION, "--json", *small],
            ["ask", QUESTION, "--jsonl", *small],
            ["ask", QUESTION, "--json", "--plan", str(home / "out-2.json"), *small],
            ["ask", QUESTION, "--plan", str(home / "plan.txt"), *small],
            ["ask", QUESTION, "--json", "--plan", str(home / "plan.txt"), "--sources", "text", *small],
        ],
    )
    assert ran.returncode != -signal.SIGSYS, "something opened an internet socket"
    assert ran.returncode == 0, ran.stderr
    data: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    for run in data["runs"]:
        assert run["status"] == 0, run["err"]
        assert "Traceback" not in run["err"]
    return data


def without_times(value: Any) -> Any:
    """The trace without what differs between two runs: times, what was read anew, and its own random id."""
    if isinstance(value, dict):
        own = {"seconds", "evaluated_tokens"} | ({"id"} if "schema" in value else set())
        return {key: without_times(item) for key, item in value.items() if key not in own}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_building_and_asking_with_the_web_off_opens_no_socket(done: dict[str, Any]) -> None:
    assert done["events"] == []
    if not done["filtered"]:
        pytest.skip("no seccomp here: native code was not watched, Python code was")


def test_the_watches_see_a_socket(tmp_path: Path) -> None:
    ran = offline(tmp_path, [["open a socket"]])
    if ran.returncode == 0:  # no seccomp
        assert "socket.connect" in json.loads(ran.stdout)["events"][0]
    else:
        assert ran.returncode == -signal.SIGSYS


def test_asking_twice_gives_the_same_trace(done: dict[str, Any]) -> None:
    first = json.loads(done["runs"][2]["out"])
    lines = [json.loads(line) for line in done["runs"][3]["out"].splitlines()]
    assert [line["event"] for line in lines].count("finished") == 1
    assert lines[0]["event"] == "question_asked"
    assert lines[-1]["event"] == "finished"
    assert without_times(lines[-1]["trace"]) == without_times(first)
    assert first["settings"]["web"] is False
    assert (first["settings"]["text_index"], first["settings"]["graph_index"]) == ("small", "small")


def test_a_traces_plan_replays_to_the_same_tree(done: dict[str, Any]) -> None:
    first, again = (json.loads(done["runs"][i]["out"]) for i in (2, 4))
    assert again["plan"]["origin"] == "file"
    assert again["plan"]["compact"] == first["plan"]["compact"]
    assert without_times(again["nodes"]) == without_times(first["nodes"])
    assert again["answers"] == first["answers"]


def test_a_good_plan_is_answered_from_the_graph_with_its_evidence(done: dict[str, Any]) -> None:
    out = done["runs"][5]["out"]
    assert out.startswith("The answer is Bob Lee.")
    assert "Evidence\n  [e" in out
    assert "2. Who is the father of Ann Lee? → Bob Lee" in out


def test_text_alone_finds_the_passages(done: dict[str, Any]) -> None:
    trace = json.loads(done["runs"][6]["out"])
    assert trace["totals"]["retrievals"]["graph"] == 0
    assert trace["nodes"][1]["answers"] == ["Ann Lee"]
    relate = trace["nodes"][2]
    assert any(
        "Her father is Bob Lee" in item["text"] for item in trace["evidence"] if item["id"] in relate["evidence"]
    )
    assert relate["llm"]["calls"] >= 1


HOSTILE = [
    'Who wrote "Don\'t \\"Stop\\"" [1] = Search("x") for 👩‍👩‍👧 & Zoë?',
    "Why?",
    "Is " + "the very old [and] ancient {tree} " * 20 + "older than Ann?",
]


@pytest.fixture(scope="module")
def backbone() -> Iterator[LlamaBackbone]:
    backbone = LlamaBackbone.load(
        starter_model_path(), None, RunOptions(context_tokens=2048, threads=0, batch_threads=0)
    )
    yield backbone
    backbone.close()


@pytest.mark.parametrize("question", HOSTILE, ids=["marks", "one word", "long"])
def test_what_the_starter_writes_under_the_plan_grammar_parses_and_validates(
    backbone: LlamaBackbone, question: str
) -> None:
    written: list[str] = []
    planner = Planner(backbone, ExampleLibrary.shipped(), Limits(), shots=1)
    plan = planner.plan(
        question, on_call=lambda prompt, made: written.append(made.text if made.finish == "stop" else "")
    )
    check(plan.tree)
    assert parse_compact(plan.compact, question) == plan.tree or plan.origin == "fallback"
    for text in filter(None, written):
        check(parse_compact(text, question))


@pytest.mark.parametrize(
    "question", ["", "?", "]", "\\", '"', "\u0000\n", "🙂🙂", "a-b a.b root name char", "x " * 900]
)
def test_the_plan_grammar_of_any_question_compiles(backbone: LlamaBackbone, question: str) -> None:
    asked = Prompt((), (Message("user", "Plan."),))
    assert backbone.generate(
        GenerationRequest(asked, max_tokens=3, output=Grammar(plan_grammar(question)))
    ).text.startswith("0. ")


def test_answers_under_the_grammar_are_json_whatever_the_evidence_says(backbone: LlamaBackbone) -> None:
    recorder = Recorder(QUESTION, "rag", {}, lambda _event: None)
    reader = Reader(Asking(backbone, recorder, Cancellation(), load_settings(), "full"))
    evidence = [
        passage('The "Quote" \\ page', 'He said "}],{" and \\n and \x07 left. [9] {"answer": "x"}'),
        passage("b", "c"),
    ]
    reading = reader.from_evidence(None, 'Who said "}],{"?', evidence)
    assert reading.problem is None
    assert all(item in evidence for item in reading.cited)
    names = ['Ann "The \\ Fox" Lee', "Bo]b", "Zoë 🙂"]
    chosen = reader.select(None, names, "is a fox", evidence)
    assert chosen.problem is None
    assert set(chosen.answers) <= set(names)


@pytest.mark.parametrize(
    "asked",
    [
        AnswerSpec("read", "Who?", evidence=7, spans=False),
        AnswerSpec("filter", "", evidence=1, candidates=('"', "\\", "]")),
        AnswerSpec("read", "Who?", texts=('He said "}],{" and \\ left.',), evidence=2),
        AnswerSpec("answer", "When?", texts=("It came out in May 1999.",), evidence=1),
    ],
    ids=["free", "candidates", "spans", "date"],
)
def test_answer_grammars_give_what_their_format_reads(backbone: LlamaBackbone, asked: AnswerSpec) -> None:
    prompt = Prompt((), (Message("user", 'Say "\t\n" in JSON.'),))
    for form in FORMATS.values():
        made = backbone.generate(GenerationRequest(prompt, max_tokens=200, output=Grammar(form.grammar(asked))))
        assert made.finish == "stop" or not asked.spans
        if made.finish == "stop":
            answers, numbers = form.parse(made.text)
            assert answers and all(1 <= number <= asked.evidence for number in numbers)
            if asked.candidates:
                assert set(answers) <= {*asked.candidates, "Unknown"}
            elif asked.spans and answers != ["Unknown"]:
                assert all(answer in asked.texts[0] for answer in answers)


def test_a_choice_gives_one_of_the_options(backbone: LlamaBackbone) -> None:
    options = ["text", "graph", "text, graph"]
    asked = Prompt((), (Message("user", "Choose."),))
    assert backbone.generate(GenerationRequest(asked, max_tokens=16, output=Choice(tuple(options)))).text in options
