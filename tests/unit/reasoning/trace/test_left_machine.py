"""What leaves the machine is told before it does, and stands in the trace, the history and every export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomr_local import Assistant
from atomr_local.assistant.history.export import to_markdown, unkept
from atomr_local.assistant.history.store import History
from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.cli.asking import answer_text
from atomr_local.cli.doctor import outgoing_data
from atomr_local.errors import AtomrError
from atomr_local.models.openai.address import checked_endpoint
from atomr_local.models.protocol import BackboneInfo
from atomr_local.reasoning.trace.events import Event, LeavesMachine
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import Departure, Trace
from atomr_local.reasoning.trace.telling import left_machine
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Request
from atomr_local.sources.web import SEARCH_HOST, WebSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.credentials import SecretUrl
from atomr_local.tui.question.correction import replay
from atomr_local.tui.widgets.answer_panel import answer_of


class Told(Exception):
    """The model has been called."""


class Elsewhere:
    """A fake of a model on another machine, which knows what was told before it was called."""

    def __init__(self, host: str | None = "api.example.org") -> None:
        self.info = BackboneInfo("fake", None, 4096, host)
        self.told: list[Event] = []
        self.before: list[int] = []

    def count_tokens(self, prompt: Any) -> int:
        return 10

    def generate(self, request: Any) -> Any:
        self.before.append(sum(isinstance(event, LeavesMachine) for event in self.told))
        raise AtomrError("this fake model says nothing")

    def close(self) -> None:
        """Nothing is open."""


def ask(model: Elsewhere, strategy: str) -> Trace:
    with Assistant(load_settings(sources=("text",)), model) as assistant:
        assistant.parts.sources = {}
        assistant.parts.load = lambda *_, **__: None  # type: ignore[method-assign]
        assistant.parts.chosen = lambda *_: {}  # type: ignore[method-assign]
        for event in assistant.ask("Who wrote Ivanhoe?", strategy=strategy):
            model.told.append(event)
        assert assistant.last_trace is not None
        return assistant.last_trace


@pytest.mark.parametrize("strategy", ["closed-book", "atomr"])
def test_a_model_on_another_machine_is_named_once_before_it_is_called(strategy: str) -> None:
    model = Elsewhere()
    trace = ask(model, strategy)
    assert model.before, "the model was never called"
    named = [event for event in model.told if isinstance(event, LeavesMachine)]
    assert [(event.what, event.to) for event in named] == [("question", "api.example.org")]
    assert named[0].to_dict()["event"] == "leaves_machine"
    assert [(item.what, item.to, item.query) for item in trace.left_machine] == [("question", "api.example.org", None)]
    assert trace.left_machine[0].when.endswith("+00:00")


def test_nothing_leaves_for_a_model_on_this_machine() -> None:
    model = Elsewhere(host=None)
    assert ask(model, "closed-book").left_machine == []
    assert not any(isinstance(event, LeavesMachine) for event in model.told)


def test_a_question_whose_evidence_goes_too_is_one_entry() -> None:
    told: list[Event] = []
    recorder = Recorder("Who?", "atomr", {}, told.append)
    for what in ("question", "question", "question, evidence", "question, evidence", "question"):
        recorder.leaves(what, "a.example")
    for query in ("x", "y", "x"):
        recorder.leaves("web query", "b.example", query)
    assert [(item.what, item.to, item.query) for item in recorder.trace.left_machine] == [
        ("question, evidence", "a.example", None), ("web query", "b.example", "x"), ("web query", "b.example", "y"),
    ]  # fmt: skip
    assert sum(isinstance(event, LeavesMachine) for event in told) == 4


def test_a_web_query_is_told_before_it_is_sent_and_none_that_is_refused() -> None:
    told: list[tuple[str, ...]] = []

    def search(query: str, count: int) -> list[dict[str, Any]]:
        assert told == [("web query", SEARCH_HOST, query)]
        return []

    source = WebSource(enabled=True, search=search, leaves=lambda *sent: told.append(sent))
    source.retrieve(Request("q", "lake\x1b[2J como"), Cancellation())
    assert told == [("web query", SEARCH_HOST, "lake como")]
    with pytest.raises(AtomrError):
        WebSource(enabled=False, search=search, leaves=lambda *sent: told.append(sent)).retrieve(
            Request("q", "x"), Cancellation()
        )
    assert len(told) == 1


DEPARTURES = [
    Departure("question, evidence", "api.example.org", "2026-01-01T00:00:00+00:00"),
    *(Departure("web query", SEARCH_HOST, "2026-01-01T00:00:00+00:00", f"q{number}\x1b[2J") for number in range(5)),
]


def test_the_line_names_what_went_where() -> None:
    assert left_machine([]) == ""
    assert (
        left_machine(DEPARTURES[:2]) == f"question, evidence → api.example.org; web query “q0\x1b[2J” → {SEARCH_HOST}"
    )
    assert left_machine(DEPARTURES).endswith(f"“q2\x1b[2J” and 2 more → {SEARCH_HOST}")


def test_every_form_of_a_trace_tells_it(tmp_path: Path) -> None:
    trace = Trace("Who?", "atomr", {}, status="answered", answer="Scott.", left_machine=list(DEPARTURES))
    data = json.loads(json.dumps(trace.to_dict()))
    assert data["left_machine"][0] == {
        "what": "question, evidence", "to": "api.example.org", "when": "2026-01-01T00:00:00+00:00", "query": None,
    }  # fmt: skip
    again = parse_trace(data)
    assert again.left_machine == DEPARTURES
    with History.open(tmp_path / "history.sqlite") as history:
        kept = history.get(history.record(trace))
    assert kept.trace.left_machine == DEPARTURES
    assert "Left the machine: question, evidence → api.example.org; web queries “q0”" in answer_text(kept.trace)
    assert "- left the machine: question, evidence → api.example.org" in to_markdown([unkept(kept.trace)])
    assert "Left the machine: question, evidence → api" in answer_of(replay(kept.trace)).replace("\\", "")
    del data["left_machine"]  # of before this was kept: nothing is said of it
    old = parse_trace(data)
    assert old.left_machine == []
    assert "the machine" not in answer_text(old) + to_markdown([unkept(old)])


@pytest.mark.parametrize("entry", [7, {}, {"what": "x"}, {"what": "x", "to": 7}, {"what": "x", "to": "y", "query": []}])
def test_a_file_from_elsewhere_is_checked(entry: Any) -> None:
    data = Trace("Who?", "atomr", {}, status="unknown").to_dict() | {"left_machine": [entry]}
    with pytest.raises(AtomrError, match="left_machine"):
        parse_trace(data)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("", ""),
        ("http://127.0.0.1:8080/v1", ""),
        ("http://localhost:8080/v1", ""),
        ("http://LOCALHOST./v1", ""),
        ("http://[::1]/v1", ""),
        ("http://127。0。0。1/v1", ""),
        ("https://user:p%40ss@API.example.org/v1?k=v", "api.example.org"),
        ("https://api.example.org:443/v1", "api.example.org"),
        ("https://api.example.org:8443/v1", "api.example.org:8443"),
        ("https://bücher.example/v1", "xn--bcher-kva.example"),
        ("https://localhost.example.org/v1", "localhost.example.org"),
        ("https://[2001:db8::1]:8443/v1", "[2001:db8::1]:8443"),
        ("https://127.0.0.1.example.org/v1", "127.0.0.1.example.org"),
    ],
)
def test_the_machine_that_is_named_is_the_one_that_is_asked(url: str, host: str) -> None:
    assert SecretUrl(url).remote_host() == host
    if url:
        address = checked_endpoint(url)
        assert ("" if address.loopback else address.host) == host
    told = outgoing_data(load_settings(endpoint={"url": url}, web={"enabled": True}))
    assert told == (f"question, evidence → {host}; " if host else "") + f"web queries → {SEARCH_HOST}"
    assert outgoing_data(load_settings()).startswith("nothing")
