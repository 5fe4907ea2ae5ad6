"""Sources of other packages: the documentation's worked example, and packages that fail."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import plugins
from support.ann_lee import answer_with, assistant_of
from support.fake_parts import FakeBackbone, FakeSource, passages, reply
from support.plugins import module, offer
from support.tui.fake_assistant import FakeAssistant
from support.tui.settings_form import settle
from textual.pilot import Pilot

from atomr_local.assistant.history.trace_import import parse_trace
from atomr_local.cli.commands.ask import ask, sources
from atomr_local.cli.doctor import outgoing_data
from atomr_local.errors import SettingsError
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.settings.schema import load_settings
from atomr_local.sources import registry
from atomr_local.system.plugins import SOURCE_GROUP
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.widgets.status_line import SourceSwitches

QUESTION = "Who painted The Harbour?"
OTHERS = """
from atomr_local.sources.protocol import Evidence, Retrieval
from atomr_local.sources.registry import SourceType

asked = []


class Source:
    name = "text"  # its package's name counts

    def __init__(self, found):
        self._found = found

    def retrieve(self, request, cancellation):
        asked.append(request.query)
        return self._found()

    def close(self):
        asked.append("closed")


def page(locator):
    return Retrieval((Evidence("text", "The Harbour", "Rosa painted The Harbour.", 1.0, "q", locator),))


def wiki():
    return SourceType("Wiki", lambda _: Source(lambda: page({"url": "https://wiki.example/h"})), "wiki.example")


def fails():
    return SourceType("Fails", lambda _: Source(lambda: 1 / 0), ready=lambda _: 1 / 0)


def odd():
    return SourceType("Odd", lambda _: Source(lambda: page({"passage": object()})))


def never_opens():
    return SourceType("Never", lambda _: 1 / 0)
"""


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, monkeypatch, "notes_source", plugins.example("source"))
    offer(monkeypatch, SOURCE_GROUP, {"notes": "notes_source:notes"})
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "The Harbour.txt").write_text("Rosa Ferrer painted The Harbour.")
    (folder / "Ships.txt").write_text("Ships sail.")
    monkeypatch.setenv("NOTES_FOLDER", str(folder))


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the sources of a package are asked."""
    module(tmp_path, monkeypatch, "other_sources", OTHERS)
    names = ("wiki", "fails", "odd", "never_opens")
    values = {name: f"other_sources:{name}" for name in names} | {"absent": "no_such_module:made"}
    offer(monkeypatch, SOURCE_GROUP, values)
    asked: list[str] = importlib.import_module("other_sources").asked
    return asked


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Trace]:
    """Asks the question of one source after the other; the model reads what was found."""

    def answered(*names: str, web: bool = False, text: bool = True) -> Trace:
        found = [FakeSource("text", {QUESTION: passages(("The Harbour", "Rosa painted The Harbour."))})] if text else []
        model = FakeBackbone(reply("Rosa", evidence=[1]))
        with assistant_of(model, *found, strategy="rag", sources=names) as assistant:
            list(assistant.ask(QUESTION, web=web))
            assert assistant.last_trace is not None
            return assistant.last_trace

    # Nothing is searched on the web itself.
    monkeypatch.setattr("atomr_local.sources.web.WebSource._duckduckgo", lambda *_: [])
    return answered


def test_the_worked_example_answers_and_its_trace_opens(example: None, answer: Callable[..., Trace]) -> None:
    trace = answer("notes", text=False)
    assert trace.answers == ["Rosa"]
    assert [(item.source, item.title, item.locator) for item in trace.evidence] == [
        ("notes", "The Harbour", {"passage": "The Harbour.txt"})
    ]
    assert trace.totals.retrievals == {"text": 0, "graph": 0, "web": 0, "notes": 1}
    assert parse_trace(json.loads(json.dumps(trace.to_dict()))) == trace


def test_the_worked_example_runs_from_the_command_line(example: None, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, FakeBackbone(reply("Rosa", evidence=[1])))
    run = CliRunner().invoke(ask, [QUESTION, "--strategy", "rag", "--sources", "notes"], standalone_mode=False)
    assert "The answer is Rosa." in run.output and "[e1] notes: The Harbour" in run.output
    run = CliRunner().invoke(ask, [QUESTION, "--sources", "nots"])
    assert run.exit_code == 2 and "'nots' is not a list of text, graph and notes" in run.output


def test_sources_are_listed_with_what_they_use(example: None) -> None:
    run = CliRunner().invoke(sources, [])
    assert run.output.splitlines()[-2:] == [
        "off  notes        2 notes",
        "off  web          DuckDuckGo (queries go to html.duckduckgo.com)",
    ]
    listed = json.loads(CliRunner().invoke(sources, ["--json"]).output)
    assert [(item["name"], item["used"]) for item in listed] == [
        ("text", True), ("graph", True), ("notes", False), ("web", False),
    ]  # fmt: skip


async def switches(pilot: Pilot[None], *expected: str) -> None:
    """Wait until the switches show this; sources of packages are found on a thread."""
    shown: list[str] = []
    for _ in range(100):
        await settle(pilot)
        shown = [str(switch.render()) for switch in pilot.app.screen.query_one(SourceSwitches).query("Static")]
        if shown == list(expected):
            return
        await asyncio.sleep(0.02)
    assert shown == list(expected)


async def test_the_worked_example_has_a_switch_and_a_command(example: None, own_home: Path) -> None:
    assistant = FakeAssistant()
    app = AtomrApp(assistant)  # type: ignore[arg-type]
    async with app.run_test(size=(140, 40)) as pilot:
        await switches(pilot, "[x] Text", "[x] Graph", "[ ] Notes", "[ ] Web")
        await pilot.click("#source-notes")
        await switches(pilot, "[x] Text", "[x] Graph", "[x] Notes", "[ ] Web")
        assert assistant.settings.sources == ("text", "graph", "notes")
        assert 'sources = ["text", "graph", "notes"]' in (own_home / "config.toml").read_text()
        assert "Turn Notes on or off" in [command.title for command in app.get_system_commands(app.screen)]


async def test_a_switched_on_source_that_waits_for_the_web_is_shown_so(others: list[str]) -> None:
    assistant = FakeAssistant()
    assistant.settings = load_settings(sources=("text", "wiki"))
    app = AtomrApp(assistant)  # type: ignore[arg-type]
    async with app.run_test(size=(140, 40)) as pilot:
        await switches(pilot, "[x] Text", "[ ] Graph", "[-] Wiki", "[ ] Fails", "[ ] Odd", "[ ] Never", "[ ] Web")
        assert "queries go to wiki.example" in str(app.screen.query_one("#source-wiki").tooltip)
        await pilot.press("f2")
        await switches(pilot, "[x] Text", "[ ] Graph", "[x] Wiki", "[ ] Fails", "[ ] Odd", "[ ] Never", " [x] WEB ON ")


def test_a_source_that_uses_the_network_is_not_asked_while_the_web_is_off(
    others: list[str], answer: Callable[..., Trace]
) -> None:
    trace = answer("text", "wiki")
    assert trace.answers == ["Rosa"] and others == [] and trace.left_machine == []
    assert trace.warnings[0].startswith("Source failed: wiki was not asked: it uses the network\n→ Turn web search on")
    trace = answer("wiki")
    assert trace.status == "failed" and others == []


def test_a_source_that_uses_the_network_is_reported_before_it_is_asked(
    others: list[str], answer: Callable[..., Trace]
) -> None:
    trace = answer("wiki", web=True, text=False)
    assert others == [QUESTION, "closed"]
    assert ("web query", "wiki.example", QUESTION) in [(item.what, item.to, item.query) for item in trace.left_machine]
    assert [item.source for item in trace.evidence] == ["wiki"]
    on = load_settings(sources=("text", "wiki"), web={"enabled": True})
    assert outgoing_data(on) == "web queries → html.duckduckgo.com; web queries → wiki.example"
    assert "wiki" not in outgoing_data(load_settings(sources=("text", "wiki")))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("absent", "the source 'absent' cannot be loaded: ModuleNotFoundError"),
        ("never_opens", "the source 'never_opens' cannot be opened: ZeroDivisionError"),
        ("fails", "the source 'fails' failed: ZeroDivisionError"),
        ("odd", "the source 'odd' failed: TypeError"),
    ],
)
def test_a_source_that_fails_is_told_and_breaks_no_other(
    others: list[str], answer: Callable[..., Trace], name: str, told: str
) -> None:
    trace = answer("text", name)
    assert trace.status == "answered" and trace.answers == ["Rosa"]
    assert any(told in warning for warning in trace.warnings)


def test_what_cannot_be_loaded_is_listed_with_its_reason(others: list[str]) -> None:
    listed = {item["name"]: item for item in json.loads(CliRunner().invoke(sources, ["--json"]).output)}
    assert "ModuleNotFoundError" in listed["absent"]["problem"]
    assert "ZeroDivisionError" in listed["fails"]["problem"]
    assert "absent" not in registry.all_sources() and "fails" in registry.all_sources()


def test_no_package_replaces_a_source_of_ours_or_has_another_kind_of_name(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, SOURCE_GROUP, dict.fromkeys(("text", "web", "a b", "Web, text"), "no_such:made"))
    assert registry.find_source("text") is registry.SOURCES["text"]
    assert registry.switched_names() == ["text", "graph"]
    with pytest.raises(SettingsError, match=r"sources\.0: 'a b' is none of text, graph"):
        load_settings(sources=("a b",))
    with pytest.raises(SettingsError, match=r"sources\.0: 'web' is none of"):
        load_settings(sources=("web",))
    with pytest.raises(SettingsError, match="no source named 'a b'") as told:
        registry.find_source("a b")
    assert told.value.hint == "Known: text, graph."
